//! Operators on arrays of numbers, element by element, and products of matrices.

use crate::api::types::access::only_element;
use crate::api::{Acc, All, Array, Elt, Exp, HasRem, IntoAcc, IntoExp, Matrix, Num, Part, Shape};
use crate::builder::{self, AccOp, compose};
use crate::ir::Loc;
use half::f16;
use num_complex::Complex;
use std::ops;

/// The right operand of an operator on arrays: an array of the same rank and element type (the result has the
/// intersection of the shapes), or a scalar, a constant or an expression.
///
/// ```
/// use acc_core::prelude::*;
/// let (xs, ys) = (use_(&Vector::from([1, 2, 3])), Vector::from([10, 20]));
/// assert_eq!(Interpreter::new().run(&xs + &ys)?.to_vec(), [11, 22]);
/// assert_eq!(Interpreter::new().run(&xs * 2)?.to_vec(), [2, 4, 6]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "no operator on an array program of rank {Sh} with elements of type `{E}` and `{Self}`",
    note = "the operand is `&acc`, `acc` or a host `&Array` of the same rank and element type, or a scalar of that type"
)]
pub trait ArrayOperand<Sh: Shape, E: Elt> {
    /// Applies an operator, this operand on the right.
    #[doc(hidden)]
    fn right_of<R: IntoExp<E>>(
        self,
        left: &Acc<Array<Sh, E>>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>;
}

macro_rules! array_operand {
    ($($(#[$m:meta])* $T:ty),*) => { $(
        $(#[$m])*
        impl<Sh: Shape, E: Elt> ArrayOperand<Sh, E> for $T {
            #[track_caller]
            fn right_of<R: IntoExp<E>>(
                self,
                left: &Acc<Array<Sh, E>>,
                f: impl FnOnce(E::Exp, E::Exp) -> R,
            ) -> Acc<Array<Sh, E>> {
                let right = self.into_acc();
                if is_element(left) || is_element(&right) {
                    return of_elements(left, only_element(&right), f);
                }
                left.zip_with(right, f)
            }
        }
    )* };
}
array_operand!(Acc<Array<Sh, E>>, &Acc<Array<Sh, E>>, &Array<Sh, E>);

#[track_caller]
fn with_scalar<Sh: Shape, E: Elt, R: IntoExp<E>>(
    left: &Acc<Array<Sh, E>>,
    right: impl IntoExp<E>,
    f: impl FnOnce(E::Exp, E::Exp) -> R,
) -> Acc<Array<Sh, E>> {
    if is_element(left) {
        return of_elements(left, right.into_exp(), f);
    }
    compose(&"map", || {
        let right = right.into_exp().unlift();
        left.map(|x| f(x, right))
    })
}

/// Whether this is the result of an operator inside scalar code, not an array.
fn is_element<Sh: Shape, E: Elt>(xs: &Acc<Array<Sh, E>>) -> bool {
    matches!(xs.node.op, AccOp::Element(_))
}

/// An operator inside scalar code on the element of a rank-0 array: the result is scalar code, too.
#[track_caller]
fn of_elements<Sh: Shape, E: Elt, R: IntoExp<E>>(
    left: &Acc<Array<Sh, E>>,
    right: Exp<E>,
    f: impl FnOnce(E::Exp, E::Exp) -> R,
) -> Acc<Array<Sh, E>> {
    let result = f(only_element(left).unlift(), right.unlift()).into_exp();
    Acc::new(AccOp::Element(result.r), Loc::caller())
}

/// Inside scalar code a rank-0 array on the left means its element, as it does on the right of an operator.
impl<Sh: Shape, E: Elt> ArrayOperand<Sh, E> for Exp<E> {
    #[track_caller]
    fn right_of<R: IntoExp<E>>(
        self,
        left: &Acc<Array<Sh, E>>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>> {
        if Sh::RANK == 0 && builder::in_scalar_code() {
            return of_elements(left, self, f);
        }
        with_scalar(left, self, f)
    }
}

impl<Sh: Shape, F: Part> ArrayOperand<Sh, Complex<F>> for Complex<F> {
    #[track_caller]
    fn right_of<R: IntoExp<Self>>(
        self,
        left: &Acc<Array<Sh, Self>>,
        f: impl FnOnce(Exp<Self>, Exp<Self>) -> R,
    ) -> Acc<Array<Sh, Self>> {
        with_scalar(left, self, f)
    }
}

macro_rules! operator {
    ($($Op:ident $op:ident $Class:ident;)*) => { $(
        impl<Sh: Shape, E: $Class, R: ArrayOperand<Sh, E>> ops::$Op<R> for &Acc<Array<Sh, E>> {
            type Output = Acc<Array<Sh, E>>;
            #[track_caller]
            fn $op(self, right: R) -> Acc<Array<Sh, E>> {
                let loc = Loc::caller();
                right.right_of(self, |a, b| loc.clone().at(|| ops::$Op::$op(a, b)))
            }
        }
        impl<Sh: Shape, E: $Class, R: ArrayOperand<Sh, E>> ops::$Op<R> for Acc<Array<Sh, E>> {
            type Output = Acc<Array<Sh, E>>;
            #[track_caller]
            fn $op(self, right: R) -> Acc<Array<Sh, E>> {
                ops::$Op::$op(&self, right)
            }
        }
    )* };
}
operator! {
    Add add Num;
    Sub sub Num;
    Mul mul Num;
    Div div Num;
    Rem rem HasRem;
}

impl<Sh: Shape, E: Num> ops::Neg for &Acc<Array<Sh, E>> {
    type Output = Acc<Array<Sh, E>>;
    #[track_caller]
    fn neg(self) -> Acc<Array<Sh, E>> {
        if is_element(self) {
            return Acc::new(AccOp::Element((-only_element(self)).r), Loc::caller());
        }
        self.map(|x| -x)
    }
}
impl<Sh: Shape, E: Num> ops::Neg for Acc<Array<Sh, E>> {
    type Output = Acc<Array<Sh, E>>;
    #[track_caller]
    fn neg(self) -> Acc<Array<Sh, E>> {
        -&self
    }
}

/// Host numbers beside arrays, on either side.
macro_rules! host_scalars {
    ($($Op:ident $op:ident),*; $types:tt) => {
        host_scalars!(@right $types);
        $(host_scalars!(@left $Op $op $types);)*
    };
    (@right ($($t:ty),*)) => { $(
        impl<Sh: Shape> ArrayOperand<Sh, $t> for $t {
            #[track_caller]
            fn right_of<R: IntoExp<$t>>(
                self,
                left: &Acc<Array<Sh, $t>>,
                f: impl FnOnce(Exp<$t>, Exp<$t>) -> R,
            ) -> Acc<Array<Sh, $t>> {
                with_scalar(left, self, f)
            }
        }
    )* };
    (@left $Op:ident $op:ident ($($t:ty),*)) => { $(
        impl<Sh: Shape> ops::$Op<&Acc<Array<Sh, $t>>> for $t {
            type Output = Acc<Array<Sh, $t>>;
            #[track_caller]
            fn $op(self, right: &Acc<Array<Sh, $t>>) -> Acc<Array<Sh, $t>> {
                let loc = Loc::caller();
                if is_element(right) {
                    return Acc::new(AccOp::Element(loc.clone().at(|| ops::$Op::$op(self, only_element(right))).r), loc);
                }
                right.map(|x| loc.at(|| ops::$Op::$op(self, x)))
            }
        }
        impl<Sh: Shape> ops::$Op<Acc<Array<Sh, $t>>> for $t {
            type Output = Acc<Array<Sh, $t>>;
            #[track_caller]
            fn $op(self, right: Acc<Array<Sh, $t>>) -> Acc<Array<Sh, $t>> {
                ops::$Op::$op(self, &right)
            }
        }
    )* };
}
host_scalars!(Add add, Sub sub, Mul mul, Div div, Rem rem; (i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64));

impl<E: Num> Acc<Matrix<E>> {
    /// The product of two matrices: rows of this one by columns of the other. Rows and columns that differ in
    /// length are a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let (a, b) = (Matrix::from([[1, 2], [3, 4]]), Matrix::from([[0, 1], [1, 0]]));
    /// assert_eq!(Interpreter::new().run(use_(&a).matmul(&b))?, Matrix::from([[2, 1], [4, 3]]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul(&self, other: impl IntoAcc<Matrix<E>>) -> Acc<Matrix<E>> {
        let other = other.into_acc();
        compose(&"matmul", || {
            let ((rows, inner), (inner_of_other, columns)) = (self.shape(), other.shape());
            let message = "matmul: rows of {} elements, but columns of {}";
            let own = self.check_with(inner.eq(inner_of_other), message, &[inner, inner_of_other]);
            let left = own.replicate((All, columns, All));
            let right = other.transpose().replicate((rows, All, All));
            left.zip_with(right, |a, b| a * b).sum()
        })
    }
}
