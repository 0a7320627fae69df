//! Which flags are kept as positions, and dense flags in memory.

use super::Context;
use crate::bind::SparseFlags;
use crate::buffer::AnyBuffer;
use acc_core::Error;
use acc_core::data::{Column, ScalarType};

/// Flags are kept as positions if there are at least so many values per flag that is set: then positions (8 bytes) take
/// no more memory than values (1 byte).
const MIN_VALUES_PER_FLAG: usize = 8;
/// Arrays of at most so many flags are kept dense, since they fit the second-level cache.
const MAX_DENSE_VALUES: usize = 1 << 16;

/// Whether `places` set flags among `values` are better kept as positions.
pub(in crate::run) fn are_sparse(places: usize, values: usize) -> bool {
    values > MAX_DENSE_VALUES && places <= values / MIN_VALUES_PER_FLAG
}

/// All flags, dense in memory.
pub(in crate::run) fn column(flags: &SparseFlags, values: usize, cx: Context<'_>) -> Result<Column, Error> {
    let mut column = AnyBuffer::new(cx.memory, ScalarType::Bool, values, cx.meter)?;
    if let crate::buffer::OutSlice::Bool(out) = column.as_out() {
        flags.spread(0..values, out);
    }
    Ok(column.column())
}
