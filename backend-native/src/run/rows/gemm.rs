//! Calls of `gemm` that sum the terms of products as kernels do (`kernel::grouping`): each block of terms by one call, which sums from
//! +0, with one rounding for a product and its addition, and adds the sum to the result.
//!
//! It does so where it knows instructions for that, and with its own blocks of terms, which depend on the caches, larger than ours. Both
//! is [probed](is_usable) rather than taken for granted.

use crate::buffer::PoolElt;
use crate::kernel::grouping::{TERMS_PER_BLOCK, TermBlocks};
use acc_core::data::ColumnElt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Where the terms of both factors are contiguous, results that are no more than these are computed as sums across lanes.
pub(super) const MAX_RESULTS_SUMMED_BY_LANES: usize = 16 * 16;

/// A scalar type that `gemm` multiplies.
pub(in crate::run) trait Number:
    ColumnElt + PoolElt + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> + From<i16>
{
    const ZERO: Self;
    const ONE: Self;
    /// -0, which changes nothing that it is added to.
    const NEUTRAL: Self;

    /// `self * y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
}
macro_rules! number {
    ($t:ty) => {
        impl Number for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const NEUTRAL: $t = -0.0;

            fn mul_add(self, y: $t, z: $t) -> $t {
                <$t>::mul_add(self, y, z)
            }
        }
    };
}
number!(f32);
number!(f64);

/// A matrix: where it begins, and the strides along rows and columns, in elements.
type Matrix<T> = (*const T, [isize; 2]);

/// Adds a product of `extents` rows, columns and terms to a matrix.
///
/// # Safety
///
/// All elements at these extents are in memory, and nobody else uses those of the result.
unsafe fn add_product<T: Number>(
    [m, n, k]: [usize; 3],
    (out, [out_row, out_column]): (*mut T, [isize; 2]),
    (a, [a_row, a_term]): Matrix<T>,
    (b, [b_term, b_column]): Matrix<T>,
) {
    // SAFETY: the contract; the types are those that `gemm` supports.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out,
            out_column,
            out_row,
            true,
            a,
            a_term,
            a_row,
            b,
            b_column,
            b_term,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// The memory of a matrix whose blocks are computed by separate tasks.
pub(in crate::run) struct Target<'a, T> {
    start: *mut T,
    len: usize,
    init: T,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: tasks write through it to elements that no other task accesses (the contract of `block`), as if each had a
// unique borrow of them; `T: Send` lets values go to other threads.
unsafe impl<T: Send> Sync for Target<'_, T> {}

impl<'a, T: Number> Target<'a, T> {
    pub(in crate::run) fn new(memory: &'a mut [T], init: T) -> Target<'a, T> {
        Target { start: memory.as_mut_ptr(), len: memory.len(), init, of: PhantomData }
    }

    /// The memory of so many elements at an address.
    ///
    /// # Safety
    ///
    /// It is there as long as the target, and while a block is computed nobody else uses the elements of that block.
    pub(in crate::run) unsafe fn at(start: *mut T, len: usize, init: T) -> Target<'a, T> {
        Target { start, len, init, of: PhantomData }
    }

    /// Adds a product of `extents` rows, columns and terms to the initial value, and stores it from element `at[2]` on;
    /// the factors start at `at[0]` and `at[1]`. False if any element would be outside of its memory.
    ///
    /// # Safety
    ///
    /// No other thread uses the elements `at[2] + i * strides[2][0] + j * strides[2][1]` during the call, and they are
    /// distinct.
    pub(super) unsafe fn block(
        &self,
        a: &[T],
        b: &[T],
        at: [usize; 3],
        extents: [usize; 3],
        strides: &[[usize; 2]; 3],
    ) -> bool {
        let [m, n, k] = extents;
        if m == 0 || n == 0 || k == 0 {
            return false;
        }
        let last = |at: usize, counts: [usize; 2], s: [usize; 2]| at + (counts[0] - 1) * s[0] + (counts[1] - 1) * s[1];
        let inside = last(at[0], [m, k], strides[0]) < a.len()
            && last(at[1], [k, n], strides[1]) < b.len()
            && last(at[2], [m, n], strides[2]) < self.len;
        if !inside {
            return false;
        }
        let s = strides.map(|s| s.map(|s| s as isize));
        // SAFETY: all elements read and written are inside `a`, `b` and the target (checked above for the last one of
        // each, which is the farthest from the first, since strides are positive). Nobody else uses those written (the
        // contract).
        unsafe {
            let start = self.start.add(at[2]);
            for i in 0..m {
                for j in 0..n {
                    start.add(i * strides[2][0] + j * strides[2][1]).write(self.init);
                }
            }
            for terms in TermBlocks::of(&[k]).blocks(0..k) {
                let a = a.as_ptr().add(at[0] + terms.start * strides[0][1]);
                let b = b.as_ptr().add(at[1] + terms.start * strides[1][0]);
                add_product([m, n, terms.len()], (start, s[2]), (a, s[0]), (b, s[1]));
            }
        }
        true
    }
}

/// Whether `gemm` computes the bits that kernels do, found out once, by a few small products of each layout.
pub(in crate::run) fn is_usable() -> bool {
    #[cfg(test)]
    if tests::REFUSED.get() {
        return false;
    }
    static USABLE: OnceLock<bool> = OnceLock::new();
    *USABLE.get_or_init(|| is_exact::<f32>(add_product) && is_exact::<f64>(add_product))
}

/// Adds a product to a matrix.
type AddProduct<T> = unsafe fn([usize; 3], (*mut T, [isize; 2]), Matrix<T>, Matrix<T>);

/// Whether a function adds a block of terms as kernels do.
fn is_exact<T: Number>(add_product: AddProduct<T>) -> bool {
    let layouts = (0..8).map(|layout| [layout & 1 > 0, layout & 2 > 0, layout & 4 > 0]);
    let few = layouts.clone().map(|layout| ([20, 18, 5], layout));
    let block = layouts.map(|layout| ([19, 35, TERMS_PER_BLOCK + 2], layout));
    // Larger ones are divided by the sizes of caches.
    let large = [([70, 66, TERMS_PER_BLOCK + 2], [false; 3])];
    few.chain(block).chain(large).all(|(extents, layout)| adds_exactly(add_product, extents, layout))
}

/// The same of a product of one layout: of each matrix whether columns are contiguous rather than rows.
fn adds_exactly<T: Number>(add_product: AddProduct<T>, [m, n, k]: [usize; 3], layout: [bool; 3]) -> bool {
    // Results that are compared: each takes as many steps as there are terms.
    const COMPARED: usize = 7;
    let strides = |rows: usize, columns: usize, by_columns: bool| if by_columns { [1, rows] } else { [columns, 1] };
    let [sa, sb, sc] = [strides(m, k, layout[0]), strides(k, n, layout[1]), strides(m, n, layout[2])];
    // Numbers of both signs, most of whose products and sums are rounded.
    let number = |at: usize| T::from((at * 7919 % 16381) as i16 - 8190) * T::from((at * 31 % 1021) as i16 + 1);
    let numbers = |count: usize, first: usize| (first..first + count).map(number).collect::<Vec<T>>();
    let (a, b, mut c) = (numbers(m * k, 1), numbers(k * n, 5), numbers(m * n, 3));
    let before = c.clone();
    let signed = |s: [usize; 2]| s.map(|s| s as isize);
    // SAFETY: each matrix has so many elements in memory of its own.
    unsafe {
        add_product([m, n, k], (c.as_mut_ptr(), signed(sc)), (a.as_ptr(), signed(sa)), (b.as_ptr(), signed(sb)));
    }
    (0..COMPARED).all(|number| {
        let (i, j) = (number * (m - 1) / (COMPARED - 1), (COMPARED - 1 - number) * (n - 1) / (COMPARED - 1));
        let at = i * sc[0] + j * sc[1];
        let term = |sum: T, t: usize| a[i * sa[0] + t * sa[1]].mul_add(b[t * sb[0] + j * sb[1]], sum);
        c[at].to_bits64() == (before[at] + (0..k).fold(T::ZERO, term)).to_bits64()
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Whether products of this thread are computed without `gemm`.
        pub(in crate::run::rows) static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Sums as `gemm` would without instructions that multiply and add.
    unsafe fn with_two_roundings(
        [m, n, k]: [usize; 3],
        (out, so): (*mut f32, [isize; 2]),
        (a, sa): Matrix<f32>,
        (b, sb): Matrix<f32>,
    ) {
        for (i, j) in (0..m as isize).flat_map(|i| (0..n as isize).map(move |j| (i, j))) {
            // SAFETY: elements at these extents are in memory.
            unsafe {
                let term = |t: isize| *a.offset(i * sa[0] + t * sa[1]) * *b.offset(t * sb[0] + j * sb[1]);
                *out.offset(i * so[0] + j * so[1]) += (0..k as isize).map(term).sum::<f32>();
            }
        }
    }

    /// Sums in blocks of other sizes.
    unsafe fn with_smaller_blocks(
        [m, n, k]: [usize; 3],
        out: (*mut f32, [isize; 2]),
        (a, sa): Matrix<f32>,
        (b, sb): Matrix<f32>,
    ) {
        for t in (0..k).step_by(128) {
            // SAFETY: part of the same matrices.
            unsafe {
                let (a, b) = (a.offset(t as isize * sa[1]), b.offset(t as isize * sb[0]));
                add_product([m, n, 128.min(k - t)], out, (a, sa), (b, sb));
            }
        }
    }

    #[test]
    fn other_roundings_and_blocks_are_found() {
        assert!(!is_exact::<f32>(with_two_roundings));
        assert!(!is_exact::<f32>(with_smaller_blocks));
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("fma") {
            assert!(is_usable());
        }
    }
}
