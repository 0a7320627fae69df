//! Memory of lanes.

use crate::all_types;
use acc_core::data::ColumnSlice;
use half::f16;

/// A cache line's worth of bytes times 64: never padded, whatever the scalar.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line<T>([T; 64]);

/// A vector whose first value lies at the start of a cache line, so that vector loads never straddle two.
#[derive(Clone, Debug)]
pub struct AlignedVec<T> {
    lines: Vec<Line<T>>,
    len: usize,
}

impl<T: Copy + Default> AlignedVec<T> {
    /// `len` zeros.
    pub fn new(len: usize) -> AlignedVec<T> {
        AlignedVec { lines: vec![Line([T::default(); 64]); len.div_ceil(64)], len }
    }

    /// The first value; there is memory up to a multiple of 64 values.
    pub fn padded(&mut self) -> *mut T {
        self.lines.as_mut_ptr().cast()
    }
}

impl<T> Default for AlignedVec<T> {
    fn default() -> Self {
        AlignedVec { lines: Vec::new(), len: 0 }
    }
}

impl<T> std::ops::Deref for AlignedVec<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        const { assert!(size_of::<Line<T>>() == 64 * size_of::<T>()) }
        // SAFETY: lines are 64 values each without padding (asserted), one after the other, and there are enough of
        // them for `len` values (`new`).
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<T>(), self.len) }
    }
}

impl<T> std::ops::DerefMut for AlignedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        const { assert!(size_of::<Line<T>>() == 64 * size_of::<T>()) }
        // SAFETY: as in `deref`; the unique borrow of `self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<T>(), self.len) }
    }
}

macro_rules! slices {
    ($(($V:ident, $t:ty)),*) => {
        /// Memory being filled, of any scalar type.
        pub enum OutSlice<'a> { $(#[doc = concat!("Of `", stringify!($t), "`.")] $V(&'a mut [$t])),* }

        impl<'a> OutSlice<'a> {
            /// The first `k` values, and the rest.
            pub fn split_at(self, k: usize) -> (OutSlice<'a>, OutSlice<'a>) {
                match self { $(OutSlice::$V(s) => {
                    let (a, b) = s.split_at_mut(k.min(s.len()));
                    (OutSlice::$V(a), OutSlice::$V(b))
                }),* }
            }
            /// The values, to read.
            pub fn as_slice(&self) -> ColumnSlice<'_> {
                match self { $(OutSlice::$V(s) => ColumnSlice::$V(s)),* }
            }
            /// A shorter-lived view of the same memory.
            pub fn reborrow(&mut self) -> OutSlice<'_> {
                match self { $(OutSlice::$V(s) => OutSlice::$V(s)),* }
            }
        }
    };
}
all_types!(slices);
