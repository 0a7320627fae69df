//! Tensor expressions: `tensor!` and `einsum!`.

use super::{Acc, Array, Elt, Shape};
use crate::builder::compose;

/// An array from an expression of its elements by indices, with reductions over further indices, as in Susungi and others,
/// *Meta-programming for Cross-Domain Tensor Optimizations* (2018).
///
/// `tensor!([i, j] e)` is the array of the elements `e`, where `i` and `j`, of type `Exp<i64>`, are the indices along its axes,
/// outermost first. In `e`
///
/// * `a[i, j + 1]` reads the array in the variable `a`, an [`Acc`] of as many axes as there are indices;
/// * `sum[k](e)`, `product[k](e)`, `min[k](e)`, `max[k](e)`, `all[k](e)` and `any[k](e)` reduce over one or more indices, and
///   `fold[k](init, |a, b| .., e)` by an associative operator; the least and the greatest of nothing are a fault;
/// * everything else is Rust over scalar expressions.
///
/// An axis is as long as the arrays that are read at its index alone; arrays that differ there are a fault, with their names.
/// Where an index is part of a sum, `x[y + p]` or `x[2 * y + p]`, its axis is so long that all of the sums are within `x`; else its extent
/// is written, `[i in 0..n]`. A reduction is computed once for each of the indices around it that its term mentions.
///
/// The program is that of `generate` and folds. A product of three factors is summed at once; `tensor!` of an array that another
/// `tensor!` made says in which order else.
///
/// ```
/// use acc_core::prelude::*;
/// let (a, b) = (use_(&Matrix::from([[1, 2], [3, 4]])), use_(&Matrix::from([[0, 1], [1, 0]])));
/// let product = tensor!([i, j] sum[k](a[i, k] * b[k, j]));
/// assert_eq!(Interpreter::new().run(product)?, Matrix::from([[2, 1], [4, 3]]));
///
/// let (x, w) = (use_(&Vector::from([1, 2, 4, 8])), use_(&Vector::from([1, -1])));
/// let filtered = tensor!([y] 10 * sum[p](x[y + p] * w[p]));
/// assert_eq!(Interpreter::new().run(filtered)?.to_vec(), [-10, -20, -40]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[macro_export]
macro_rules! tensor {
    ($($tokens:tt)*) => { $crate::__tensor_of!($crate, $($tokens)*) };
}

/// A sum of products, by letters for indices: `einsum!("ij,jk->ik", a, b)`, as in NumPy.
///
/// The letters after `->` are the axes of the result; the products are summed over all others. Without `->` the result has the
/// letters that occur once, in alphabetical order. A letter that occurs twice in one array reads its diagonal. Products of more
/// than two arrays are summed from the left: over a letter as soon as no array further right has it. Extents of one
/// letter that differ are a fault.
///
/// ```
/// use acc_core::prelude::*;
/// let (a, x) = (use_(&Matrix::from([[1, 2], [3, 4]])), use_(&Vector::from([1, 10])));
/// assert_eq!(Interpreter::new().run(einsum!("ij,j->i", a, x))?.to_vec(), [21, 43]);
/// assert_eq!(Interpreter::new().run(einsum!("ii", a))?.value(), 5);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[macro_export]
macro_rules! einsum {
    ($($tokens:tt)*) => { $crate::__einsum_of!($crate, $($tokens)*) };
}

/// An array that `tensor!` reads, of so many axes.
#[doc(hidden)]
pub fn tensor_operand<Sh: Shape, E: Elt>(a: &Acc<Array<Sh, E>>) -> Acc<Array<Sh, E>> {
    a.clone()
}

/// What `tensor!` builds has its place and its name.
#[doc(hidden)]
#[track_caller]
pub fn tensor_scope<R>(name: &'static &'static str, f: impl FnOnce() -> R) -> R {
    compose(name, f)
}
