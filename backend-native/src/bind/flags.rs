//! Sparse flags: arrays of booleans stored as the positions of the true ones; see `lower::flags`.

use acc_core::data::{Column, ColumnElt};
use acc_core::ir::ArrayId;
use smallvec::SmallVec;
use std::ops::Range;

/// The positions of flags that are set, ascending; repetitions are allowed.
#[derive(Clone, Debug)]
pub(crate) struct SparseFlags(Column);

impl SparseFlags {
    /// Flags at these positions, if they are ascending and below the number of values.
    pub(crate) fn new(places: Column, values: usize) -> Option<SparseFlags> {
        let all = i64::of_slice(places.slice())?;
        let inside = all.first().is_none_or(|&p| p >= 0) && all.last().is_none_or(|&p| (p as usize) < values);
        (inside && all.is_sorted()).then_some(SparseFlags(places))
    }

    fn places(&self) -> &[i64] {
        i64::of_slice(self.0.slice()).unwrap_or(&[])
    }

    /// Expands a range to dense values.
    pub(crate) fn spread(&self, range: Range<usize>, values: &mut [bool]) {
        values.fill(false);
        let places = self.places();
        let first = places.partition_point(|&p| (p as usize) < range.start);
        for &place in places[first..].iter().take_while(|&&p| (p as usize) < range.end) {
            if let Some(value) = values.get_mut(place as usize - range.start) {
                *value = true;
            }
        }
    }
}

/// Dense flags of a window of a row.
#[derive(Clone, Default)]
pub(crate) struct FlagWindow {
    arrays: SmallVec<[WindowFlags; 1]>,
    /// The range of elements.
    pub range: Range<usize>,
}

/// The flags of one array.
#[derive(Clone)]
pub(crate) struct WindowFlags {
    array: ArrayId,
    /// The extent of the array.
    pub extent: usize,
    /// Over the range.
    pub values: Vec<bool>,
}

impl FlagWindow {
    /// Fills the window with this range, from arrays with their extents.
    pub(crate) fn fill(&mut self, flags: &[(ArrayId, &SparseFlags, usize)], range: Range<usize>) {
        let none = || WindowFlags { array: ArrayId(0), extent: 0, values: Vec::new() };
        self.arrays.resize_with(flags.len(), none);
        for (window, &(array, flags, extent)) in self.arrays.iter_mut().zip(flags) {
            (window.array, window.extent) = (array, extent);
            window.values.resize(range.len(), false);
            flags.spread(range.clone(), &mut window.values);
        }
        self.range = range;
    }

    /// The flags of an array.
    pub(crate) fn of(&self, a: ArrayId) -> Option<&WindowFlags> {
        self.arrays.iter().find(|window| window.array == a)
    }
}
