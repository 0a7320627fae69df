//! Indices and shapes as scalar values: plain tuples of `Exp<i64>`, outermost component first.

use super::shape::{index_of, parts_of};
use crate::api::scalars::compare::choose;
use crate::api::{DIM1, DIM2, DIM3, Exp, IntoExp, IntoIx, IxPart, Reducible, Shape, constant, fill};

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

/// The index of rank 0: `()`.
///
/// ```
/// use acc_core::prelude::*;
/// let x = use_(&Scalar::scalar(7));
/// assert_eq!(Interpreter::new().run(unit(x.index(index0())))?.value(), 7);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn index0() {}

/// An index of rank 1, of a `usize` or an integer expression.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2, 3]));
/// assert_eq!(Interpreter::new().run(unit(xs.index(index1(2))))?.value(), 3);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn index1(i: impl IxPart) -> Exp<i64> {
    i.part()
}

/// An index of rank 2, the outer component first.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// assert_eq!(Interpreter::new().run(unit(m.index(index2(1, 0))))?.value(), 4);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn index2(i: impl IxPart, j: impl IxPart) -> (Exp<i64>, Exp<i64>) {
    (i.part(), j.part())
}

/// An index of rank 3, the outermost component first.
///
/// ```
/// use acc_core::prelude::*;
/// let cube = generate(index3(2, 3, 4), |(i, j, k)| i * 100 + j * 10 + k);
/// assert_eq!(Interpreter::new().run(unit(cube.index(index3(1, 2, 3))))?.value(), 123);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn index3(i: impl IxPart, j: impl IxPart, k: impl IxPart) -> (Exp<i64>, Exp<i64>, Exp<i64>) {
    (i.part(), j.part(), k.part())
}

/// The component of an index of rank 1.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(generate(3, |ix: Exp<i64>| unindex1(ix) * 10))?.to_vec(), [0, 10, 20]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn unindex1(ix: impl IntoIx<DIM1>) -> Exp<i64> {
    index::<DIM1>(&parts(ix))
}

/// The components of an index of rank 2, the outer one first.
///
/// ```
/// use acc_core::prelude::*;
/// let (rows, columns) = unindex2((2, 3));
/// assert_eq!(Interpreter::new().run(unit(rows * 10 + columns))?.value(), 23);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn unindex2(ix: impl IntoIx<DIM2>) -> (Exp<i64>, Exp<i64>) {
    index::<DIM2>(&parts(ix))
}

/// The components of an index of rank 3, the outermost one first.
///
/// ```
/// use acc_core::prelude::*;
/// let (i, j, k) = unindex3([2, 3, 4]);
/// assert_eq!(Interpreter::new().run(unit((i, j, k)))?.value(), (2, 3, 4));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn unindex3(ix: impl IntoIx<DIM3>) -> (Exp<i64>, Exp<i64>, Exp<i64>) {
    index::<DIM3>(&parts(ix))
}

/// The innermost component of an index or a shape.
///
/// ```
/// use acc_core::prelude::*;
/// let columns = generate((2, 3), |ix| index_head(ix));
/// assert_eq!(Interpreter::new().run(columns)?, Matrix::from([[0, 1, 2], [0, 1, 2]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn index_head<Sh: Reducible>(ix: impl IntoIx<Sh>) -> Exp<i64> {
    parts(ix).pop().unwrap_or(constant(0))
}

/// All components of an index or a shape but the innermost.
///
/// ```
/// use acc_core::prelude::*;
/// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
/// assert_eq!(Interpreter::new().run(fill(index_tail(m.extent()), true))?.shape(), Dim([2]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn index_tail<Sh: Reducible>(ix: impl IntoIx<Sh>) -> <Sh::Inner as Shape>::Exp {
    let mut parts = parts(ix);
    parts.pop();
    index::<Sh::Inner>(&parts)
}

/// The component-wise minimum of two shapes.
///
/// ```
/// use acc_core::prelude::*;
/// let (rows, columns) = intersect((2, 5), (4, 3));
/// assert_eq!(Interpreter::new().run(unit((rows, columns)))?.value(), (2, 3));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn intersect<Sh: Shape>(a: impl IntoIx<Sh>, b: impl IntoIx<Sh>) -> Sh::Exp {
    let lesser: Vec<Exp<i64>> = parts(a).into_iter().zip(parts(b)).map(|(a, b)| a.min(b)).collect();
    index::<Sh>(&lesser)
}

/// The number of elements of an array of this shape.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit((shape_size((2, 3)), shape_size(()))))?.value(), (6, 1));
/// # Ok::<(), acc_core::Error>(())
/// ```
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
///
/// ```
/// use acc_core::prelude::*;
/// let indices = generate(4, |k| from_index((2, 3), k));
/// assert_eq!(Interpreter::new().run(indices)?.to_vec(), [(0, 0), (0, 1), (0, 2), (1, 0)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
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
