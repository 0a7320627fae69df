//! Indices and shapes as scalar values: plain tuples of `Exp<i64>`, outermost component first.

use super::compare::choose;
use super::construct::fill;
use super::exp::{Exp, IntoExp, constant};
use super::shape::{DIM1, DIM2, DIM3, IntoIx, IxPart, Reducible, Shape, index_of, parts_of};

/// The components of an index.
#[track_caller]
fn parts<Sh: Shape>(ix: impl IntoIx<Sh>) -> Vec<Exp<i64>> {
    parts_of(ix.into_ix().0, Sh::RANK)
}

/// The index of these components, as closures receive it.
#[track_caller]
fn index<Sh: Shape>(parts: &[Exp<i64>]) -> Sh::Exp {
    Sh::unlift_index(index_of(parts).0)
}

/// The index of rank 0.
pub fn index0() {}

/// An index of rank 1.
#[track_caller]
pub fn index1(i: impl IxPart) -> Exp<i64> {
    i.part()
}

/// An index of rank 2, the outer component first.
#[track_caller]
pub fn index2(i: impl IxPart, j: impl IxPart) -> (Exp<i64>, Exp<i64>) {
    (i.part(), j.part())
}

/// An index of rank 3, the outermost component first.
#[track_caller]
pub fn index3(i: impl IxPart, j: impl IxPart, k: impl IxPart) -> (Exp<i64>, Exp<i64>, Exp<i64>) {
    (i.part(), j.part(), k.part())
}

/// The component of an index of rank 1.
#[track_caller]
pub fn unindex1(ix: impl IntoIx<DIM1>) -> Exp<i64> {
    index::<DIM1>(&parts(ix))
}

/// The components of an index of rank 2, the outer one first.
#[track_caller]
pub fn unindex2(ix: impl IntoIx<DIM2>) -> (Exp<i64>, Exp<i64>) {
    index::<DIM2>(&parts(ix))
}

/// The components of an index of rank 3, the outermost one first.
#[track_caller]
pub fn unindex3(ix: impl IntoIx<DIM3>) -> (Exp<i64>, Exp<i64>, Exp<i64>) {
    index::<DIM3>(&parts(ix))
}

/// The innermost component.
#[track_caller]
pub fn index_head<Sh: Reducible>(ix: impl IntoIx<Sh>) -> Exp<i64> {
    parts(ix).pop().unwrap_or(constant(0))
}

/// All components but the innermost.
#[track_caller]
pub fn index_tail<Sh: Reducible>(ix: impl IntoIx<Sh>) -> <Sh::Inner as Shape>::Exp {
    let mut parts = parts(ix);
    parts.pop();
    index::<Sh::Inner>(&parts)
}

/// The component-wise minimum of two shapes.
#[track_caller]
pub fn intersect<Sh: Shape>(a: impl IntoIx<Sh>, b: impl IntoIx<Sh>) -> Sh::Exp {
    let lesser: Vec<Exp<i64>> = parts(a).into_iter().zip(parts(b)).map(|(a, b)| a.min(b)).collect();
    index::<Sh>(&lesser)
}

/// The number of elements of an array of this shape.
#[track_caller]
pub fn shape_size<Sh: Shape>(shape: impl IntoIx<Sh>) -> Exp<i64> {
    parts(shape).into_iter().product()
}

/// The row-major position of an index in an array of this shape. An index out of bounds is a fault (reported as a read
/// of an array without elements).
///
/// ```
/// use acc_core::prelude::*;
/// let positions = generate((2, 2), |ix| to_index((2, 3), ix));
/// assert_eq!(Interpreter::new().run(positions)?, Matrix::from([[0, 1], [3, 4]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn to_index<Sh: Shape>(shape: impl IntoIx<Sh>, ix: impl IntoIx<Sh>) -> Exp<i64> {
    let (shape, ix) = (parts(shape), parts(ix));
    let inside = shape.iter().zip(&ix).map(|(n, i)| i.ge(0) & i.lt(*n)).reduce(|a, b| a & b);
    let position = shape.iter().zip(&ix).fold(constant(0), |k, (n, i)| k * *n + *i);
    match inside {
        Some(inside) => checked::<Sh>(inside, position, &ix),
        None => position,
    }
}

/// The index at a row-major position in an array of this shape: the inverse of [`to_index`]. A position out of bounds is
/// a fault.
#[track_caller]
pub fn from_index<Sh: Shape>(shape: impl IntoIx<Sh>, position: impl IntoExp<i64>) -> Sh::Exp {
    let (shape, position) = (parts(shape), position.into_exp());
    let size: Exp<i64> = shape.iter().copied().product();
    let mut rest = checked::<DIM1>(position.ge(0) & position.lt(size), position, &[position]);
    let mut ix = Vec::new();
    for (k, n) in shape.iter().enumerate().rev() {
        // What is left for the outermost component is in its range.
        ix.push(if k == 0 { rest } else { rest % *n });
        rest = if k == 0 { rest } else { rest / *n };
    }
    ix.reverse();
    index::<Sh>(&ix)
}

/// The value, if the index is in range; else the fault of a read at it.
#[track_caller]
fn checked<Sh: Shape>(inside: Exp<bool>, value: Exp<i64>, ix: &[Exp<i64>]) -> Exp<i64> {
    let nothing = fill::<Sh, i64>(index::<Sh>(&vec![constant(0); Sh::RANK]), 0);
    choose(inside, value, nothing.index(index::<Sh>(ix)))
}
