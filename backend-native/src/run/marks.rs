//! Which marks are kept as places, and marks in memory.

use super::launch::Context;
use crate::bind::Marks;
use crate::buffer::AnyBuffer;
use acc_core::Error;
use acc_core::data::{Column, ScalarType};

/// Marks of places are kept as these if there are so many times as many truth values: then they take no more memory.
const RARE: usize = 8;
/// Truth values that are kept in a near cache as they are.
const FEW: usize = 1 << 16;

/// Whether marks at so many places at most, among so many truth values, are better kept as places.
pub(super) fn are_rare(places: usize, values: usize) -> bool {
    values > FEW && places <= values / RARE
}

/// All values of marks, in memory.
pub(super) fn column(marks: &Marks, values: usize, cx: Context<'_>) -> Result<Column, Error> {
    let mut column = AnyBuffer::new(cx.memory, ScalarType::Bool, values, cx.meter)?;
    if let crate::buffer::OutSlice::Bool(out) = column.as_out() {
        marks.spread(0..values, out);
    }
    Ok(column.column())
}
