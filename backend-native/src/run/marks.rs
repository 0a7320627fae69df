//! Marks, of which the places are kept alone: see `lower::marks`.

use super::launch::Context;
use crate::buffer::AnyBuffer;
use acc_core::Error;
use acc_core::data::{Column, ColumnElt, ScalarType};
use acc_core::ir::ArrayId;
use smallvec::SmallVec;
use std::ops::Range;

/// The places that are marked, in order, each at least once.
#[derive(Clone, Debug)]
pub(crate) struct Marks(Column);

/// Marks of places are kept as these if there are so many times as many truth values: then they take no more memory.
const RARE: usize = 8;
/// Truth values that are kept in a near cache as they are.
const FEW: usize = 1 << 16;

/// Whether marks at so many places at most, among so many truth values, are better kept as places.
pub(super) fn are_rare(places: usize, values: usize) -> bool {
    values > FEW && places <= values / RARE
}

impl Marks {
    /// Marks at these places, if they are in order, and all among so many values.
    pub(super) fn new(places: Column, values: usize) -> Option<Marks> {
        let all = i64::of_slice(places.slice())?;
        let inside = all.first().is_none_or(|&p| p >= 0) && all.last().is_none_or(|&p| (p as usize) < values);
        (inside && all.is_sorted()).then_some(Marks(places))
    }

    fn places(&self) -> &[i64] {
        i64::of_slice(self.0.slice()).unwrap_or(&[])
    }

    /// Sets the values of a range.
    fn spread(&self, range: Range<usize>, values: &mut [bool]) {
        values.fill(false);
        let places = self.places();
        let first = places.partition_point(|&p| (p as usize) < range.start);
        for &place in places[first..].iter().take_while(|&&p| (p as usize) < range.end) {
            if let Some(value) = values.get_mut(place as usize - range.start) {
                *value = true;
            }
        }
    }

    /// All values, in memory.
    pub(super) fn column(&self, values: usize, cx: Context<'_>) -> Result<Column, Error> {
        let mut column = AnyBuffer::new(cx.memory, ScalarType::Bool, values, cx.meter)?;
        if let crate::buffer::OutSlice::Bool(out) = column.as_out() {
            self.spread(0..values, out);
        }
        Ok(column.column())
    }
}

/// Marks of a few elements of a row, at hand.
#[derive(Clone, Default)]
pub(crate) struct Near {
    arrays: SmallVec<[NearMarks; 1]>,
    /// The elements.
    pub range: Range<usize>,
}

/// Those of one array.
#[derive(Clone)]
pub(crate) struct NearMarks {
    array: ArrayId,
    /// The extent of the array.
    pub extent: usize,
    /// Of the elements of the range.
    pub values: Vec<bool>,
}

impl Near {
    /// Takes the marks of these elements, from arrays with their extents.
    pub(super) fn fill(&mut self, marks: &[(ArrayId, &Marks, usize)], range: Range<usize>) {
        let none = || NearMarks { array: ArrayId(0), extent: 0, values: Vec::new() };
        self.arrays.resize_with(marks.len(), none);
        for (near, &(array, marks, extent)) in self.arrays.iter_mut().zip(marks) {
            (near.array, near.extent) = (array, extent);
            near.values.resize(range.len(), false);
            marks.spread(range.clone(), &mut near.values);
        }
        self.range = range;
    }

    /// Those of an array.
    pub(crate) fn of(&self, a: ArrayId) -> Option<&NearMarks> {
        self.arrays.iter().find(|near| near.array == a)
    }
}
