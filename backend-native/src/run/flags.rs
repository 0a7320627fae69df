//! Which marks are kept as places, and marks in memory.

use super::launch::Context;
use crate::bind::SparseFlags;
use crate::buffer::AnyBuffer;
use acc_core::Error;
use acc_core::data::{Column, ScalarType};

/// Marks of places are kept as these if there are so many times as many truth values: then they take no more memory.
const MIN_VALUES_PER_FLAG: usize = 8;
/// Truth values that are kept in a near cache as they are.
const MAX_DENSE_VALUES: usize = 1 << 16;

/// Whether marks at so many places at most, among so many truth values, are better kept as places.
pub(super) fn are_sparse(places: usize, values: usize) -> bool {
    values > MAX_DENSE_VALUES && places <= values / MIN_VALUES_PER_FLAG
}

/// All values of marks, in memory.
pub(super) fn column(flags: &SparseFlags, values: usize, cx: Context<'_>) -> Result<Column, Error> {
    let mut column = AnyBuffer::new(cx.memory, ScalarType::Bool, values, cx.meter)?;
    if let crate::buffer::OutSlice::Bool(out) = column.as_out() {
        flags.spread(0..values, out);
    }
    Ok(column.column())
}
