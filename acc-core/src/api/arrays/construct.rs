//! Arrays from nothing: embedded data, generated and constant arrays.

use crate::api::types::acc::{closed_exp, closed_ix, fun_ix};
use crate::api::{Acc, Array, Elt, Exp, IntoExp, IntoIx, NumScalar, Scalar, Shape, constant, lift};
use crate::builder::{AccOp, Frozen, compose};
use crate::ir::{ArrayOp, Loc};

/// Embeds a host array.
///
/// ```
/// use acc_core::prelude::*;
/// let host = Vector::from([1i32, 2]);
/// assert_eq!(Interpreter::new().run(use_(&host).map(|x| x * 2))?.to_vec(), [2, 4]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn use_<Sh: Shape, E: Elt>(array: &Array<Sh, E>) -> Acc<Array<Sh, E>> {
    Acc::new(AccOp::Use(array.data().clone()), Loc::caller())
}

/// A scalar expression as an array of rank 0.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(unit(7))?.value(), 7);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn unit<E: Elt>(x: impl IntoExp<E>) -> Acc<Scalar<E>> {
    let loc = Loc::caller();
    let shape = closed_ix::<crate::api::DIM0>(&loc, ());
    Acc::new(AccOp::Op(ArrayOp::Generate { shape, f: closed_exp(&loc, x) }), loc)
}

/// An array of a shape, each element from its index.
///
/// ```
/// use acc_core::prelude::*;
/// let table = generate((2, 3), |(i, j)| i * 10 + j);
/// assert_eq!(Interpreter::new().run(table)?, Matrix::from([[0, 1, 2], [10, 11, 12]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn generate<Sh: Shape, E: Elt, R: IntoExp<E>>(
    shape: impl IntoIx<Sh>,
    f: impl FnOnce(Sh::Exp) -> R,
) -> Acc<Array<Sh, E>> {
    let loc = Loc::caller();
    let shape = closed_ix(&loc, shape);
    Acc::new(AccOp::Op(ArrayOp::Generate { shape, f: fun_ix::<Sh, E, R>(&loc, f) }), loc)
}

/// A constant array.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(fill(3, 1.5))?.to_vec(), [1.5; 3]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn fill<Sh: Shape, E: Elt>(shape: impl IntoIx<Sh>, x: impl IntoExp<E>) -> Acc<Array<Sh, E>> {
    let loc = Loc::caller();
    let shape = closed_ix(&loc, shape);
    let f = fun_ix::<Sh, E, Exp<E>>(&loc, |_| x.into_exp());
    Acc::new(AccOp::Op(ArrayOp::Generate { shape, f }), loc)
}

/// `start, start + 1, ...` in row-major order; integers wrap.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(enum_from(4, 10i64))?.to_vec(), [10, 11, 12, 13]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn enum_from<Sh: Shape, E: NumScalar>(shape: impl IntoIx<Sh>, start: impl IntoExp<E>) -> Acc<Array<Sh, E>> {
    compose(&"enum_from", || enum_from_step(shape, start, constant(E::from_i64(1))))
}

/// `start, start + step, start + 2 step, ...` in row-major order, each element computed on its own.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Interpreter::new().run(enum_from_step(3, 0.0, 0.5))?.to_vec(), [0.0, 0.5, 1.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn enum_from_step<Sh: Shape, E: NumScalar>(
    shape: impl IntoIx<Sh>,
    start: impl IntoExp<E>,
    step: impl IntoExp<E>,
) -> Acc<Array<Sh, E>> {
    let loc = Loc::caller();
    let shape = closed_ix(&loc, shape);
    // The row-major position needs the extents: those of an array of the same shape.
    let base = Acc::<Array<Sh, ()>>::new(
        AccOp::Op(ArrayOp::Generate { shape: shape.clone(), f: unit_fun::<Sh>(&loc) }),
        loc.clone(),
    );
    let f = fun_ix::<Sh, E, Exp<E>>(&loc, |ix| {
        let index = crate::api::types::shape::parts_of(ix.into_ix().0, Sh::RANK);
        let position = base.extent().parts().into_iter().zip(index).fold(lift(0i64), |k, (n, i)| k * n + i);
        position.to::<E>() * step + start
    });
    Acc::new(AccOp::Op(ArrayOp::Generate { shape, f }), loc)
}

fn unit_fun<Sh: Shape>(loc: &Loc) -> Frozen {
    fun_ix::<Sh, (), ()>(loc, |_| ())
}
