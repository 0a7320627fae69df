//! Column memory: aligned, zero-initialised on first use, recycled through a bounded pool.
//!
//! Blocks are pooled by scalar type, so that a recycled block always holds valid values of its type.

mod block;

use block::{Block, size_class};

use crate::fork;
use acc_core::data::{Column, ColumnOwner, ColumnSlice, HasScalarType, ScalarType};
use acc_core::{Charge, Error, Meter};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use backend_native_lanes::all_types;
pub(crate) use backend_native_lanes::memory::{AlignedVec, OutSlice};
use half::f16;

/// Bytes of a cache line: the alignment of every column.
pub(crate) const CACHE_LINE_BYTES: usize = 64;
/// The most bytes that the pool retains.
const MAX_POOL_BYTES: usize = 1 << 30;

#[derive(Default)]
struct Free {
    blocks: BTreeMap<(ScalarType, usize), Vec<Block>>,
    held: usize,
}

/// A bounded pool of blocks.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Free>);

impl Pool {
    /// Allocates a column of `len` valid but arbitrary values.
    pub(crate) fn take<T: PoolElt>(self: &Arc<Self>, len: usize, meter: &Meter) -> Result<Buffer<T>, Error> {
        let full = || Error::no_memory(len, size_of::<T>());
        let class = len.checked_mul(size_of::<T>()).and_then(size_class).ok_or_else(full)?;
        let charge = meter.charge((len * size_of::<T>()) as u64)?;
        let recycled = self.free().and_then(|mut free| {
            let block = free.blocks.get_mut(&(T::TYPE, class)).and_then(Vec::pop)?;
            free.held -= class;
            Some(block)
        });
        let block = match recycled {
            Some(b) => b,
            None => Block::new(class).ok_or_else(full)?,
        };
        Ok(Buffer { block: Some(block), len, pool: self.clone(), charge, of: std::marker::PhantomData })
    }

    /// The free blocks. None if a thread that does not exist in this process may hold the lock: then blocks come from
    /// the system and go back to it.
    fn free(&self) -> Option<MutexGuard<'_, Free>> {
        if !fork::is_child() {
            return Some(self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.0.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn put(&self, ty: ScalarType, block: Block) {
        let Some(mut free) = self.free() else { return };
        if free.held + block.bytes > MAX_POOL_BYTES {
            // Frees all retained blocks, so that sizes used once do not crowd out the current ones.
            free.blocks.clear();
            free.held = 0;
        }
        if block.bytes <= MAX_POOL_BYTES / 2 {
            free.held += block.bytes;
            free.blocks.entry((ty, block.bytes)).or_default().push(block);
        }
    }

    /// Bytes retained for reuse.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).held
    }
}

/// Scalars that buffers hold. For each of them memory of zero bytes is a valid value.
pub(crate) trait PoolElt: HasScalarType + Copy + Send + Sync + 'static {
    /// The buffer as a column.
    fn column(buffer: Buffer<Self>) -> Column;
}

/// A column being filled; its memory returns to the pool when it, or the column made of it, is dropped.
pub(crate) struct Buffer<T: PoolElt> {
    /// `None` only while being dropped.
    block: Option<Block>,
    len: usize,
    pool: Arc<Pool>,
    charge: Charge,
    of: std::marker::PhantomData<T>,
}

impl<T: PoolElt> Buffer<T> {
    pub(crate) fn slice(&self) -> &[T] {
        match &self.block {
            // SAFETY: the block has room for `len` values (`take`), its start is aligned, and it holds valid values
            // of `T`: zeros or what was written through `slice_mut` of this type. The borrow of `self` guards it.
            Some(b) => unsafe { std::slice::from_raw_parts(b.start().cast::<T>(), self.len) },
            None => &[],
        }
    }

    /// Truncates to the first values; the others no longer count towards the run's memory.
    fn truncate(&mut self, len: usize, meter: &Meter) -> Result<(), Error> {
        self.len = self.len.min(len);
        self.charge = meter.charge(0)?;
        self.charge = meter.charge((self.len * size_of::<T>()) as u64)?;
        Ok(())
    }

    pub(crate) fn slice_mut(&mut self) -> &mut [T] {
        match &self.block {
            // SAFETY: as in `slice`; the unique borrow of `self` makes the access unique.
            Some(b) => unsafe { std::slice::from_raw_parts_mut(b.start().cast::<T>(), self.len) },
            None => &mut [],
        }
    }
}

impl<T: PoolElt> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(b) = self.block.take() {
            self.pool.put(T::TYPE, b);
        }
    }
}

macro_rules! buffers {
    ($(($V:ident, $t:ty)),*) => { $(
        impl PoolElt for $t {
            fn column(buffer: Buffer<$t>) -> Column {
                Column::from_owner(Arc::new(buffer))
            }
        }
        impl ColumnOwner for Buffer<$t> {
            fn slice(&self) -> ColumnSlice<'_> {
                ColumnSlice::$V(Buffer::slice(self))
            }
            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
            fn into_any(self: Arc<Self>) -> Option<Arc<dyn Any + Send + Sync>> {
                Some(self)
            }
        }
    )*

        /// A buffer of any scalar type.
        pub(crate) enum AnyBuffer { $($V(Buffer<$t>)),* }

        impl AnyBuffer {
            pub(crate) fn new(pool: &Arc<Pool>, ty: ScalarType, len: usize, meter: &Meter) -> Result<AnyBuffer, Error> {
                Ok(match ty { $(ScalarType::$V => AnyBuffer::$V(pool.take(len, meter)?)),* })
            }
            /// The memory of a column, for reuse; the column itself if it is shared or not from a pool.
            pub(crate) fn reclaim(column: Column) -> Result<AnyBuffer, Column> {
                match column.ty() { $(ScalarType::$V => column.into_owner().map(AnyBuffer::$V)),* }
            }
            /// Truncates to the first values.
            pub(crate) fn truncate(&mut self, len: usize, meter: &Meter) -> Result<(), Error> {
                match self { $(AnyBuffer::$V(b) => b.truncate(len, meter)),* }
            }
            pub(crate) fn column(self) -> Column {
                match self { $(AnyBuffer::$V(b) => <$t as PoolElt>::column(b)),* }
            }
            pub(crate) fn as_out(&mut self) -> OutSlice<'_> {
                match self { $(AnyBuffer::$V(b) => OutSlice::$V(b.slice_mut())),* }
            }
            pub(crate) fn as_slice(&self) -> ColumnSlice<'_> {
                match self { $(AnyBuffer::$V(b) => ColumnSlice::$V(b.slice())),* }
            }
        }
    };
}
all_types!(buffers);

impl AnyBuffer {
    /// The memory of an array's columns, for reuse; the columns if any of them is shared or not from a pool.
    pub(crate) fn reclaim_all<C: FromIterator<Column>>(
        columns: impl IntoIterator<Item = Column>,
    ) -> Result<Vec<AnyBuffer>, C> {
        let mut columns = columns.into_iter().map(AnyBuffer::reclaim);
        let mut buffers = Vec::new();
        let shared = columns.by_ref().find_map(|column| column.map(|b| buffers.push(b)).err());
        let Some(shared) = shared else { return Ok(buffers) };
        let before = buffers.into_iter().map(AnyBuffer::column).chain([shared]);
        let after = columns.map(|column| column.map_or_else(|own| own, AnyBuffer::column));
        Err(before.chain(after).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::RunLimits;

    #[test]
    fn memory_returns_to_the_pool_and_is_aligned() {
        let pool = Arc::new(Pool::default());
        let free = RunLimits::none().meter();
        let mut b = pool.take::<f32>(1000, &free).unwrap();
        b.slice_mut()[999] = 3.0;
        assert_eq!(b.slice().as_ptr().align_offset(CACHE_LINE_BYTES), 0);
        let at = b.slice().as_ptr();
        let column = f32::column(b);
        let copy = column.clone();
        drop(column);
        assert_eq!(pool.held(), 0);
        drop(copy);
        assert!(pool.held() >= 4000);
        let again = pool.take::<f32>(995, &free).unwrap();
        assert_eq!(again.slice().as_ptr(), at);
        assert_eq!(pool.held(), 0);
    }

    #[test]
    fn too_much_memory_is_an_error() {
        let pool = Arc::new(Pool::default());
        assert!(pool.take::<f64>(usize::MAX / 4, &RunLimits::none().meter()).is_err());
        assert!(pool.take::<u8>(isize::MAX as usize, &RunLimits::none().meter()).is_err());
    }
}
