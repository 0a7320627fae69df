//! Folds and scans along the innermost dimension.

use super::acc::{Acc, closed_exp, fun2};
use super::array::{Array, Scalar};
use super::class::Num;
use super::compare::ExpOrd;
use super::elt::Elt;
use super::exp::{Exp, IntoExp, constant};
use super::shape::{DIM1, Reducible, Shape};
use crate::build::{AccOp, Frozen};
use crate::ir::{Dir, Loc};

// `In: Shape` with `Reducible<Inner = In>` instead of `Sh: Reducible`: the bound is then checked late, and its own
// message is shown instead of "method not found".

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Reduces the innermost dimension with an associative function; `init` is included once per row, on the left.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.fold(0, |a, b| a + b))?.to_vec(), [6, 15]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        let init = Some(closed_exp(&loc, init));
        Acc::new(AccOp::Fold { f: fun2::<E, E, E, R>(&loc, f), init, xs: self.node.clone() }, loc)
    }

    /// Reduces the innermost dimension, which must have an element in every row; an empty row is a fault.
    #[track_caller]
    pub fn fold1<R: IntoExp<E>, In: Shape>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        Acc::new(AccOp::Fold { f: fun2::<E, E, E, R>(&loc, f), init: None, xs: self.node.clone() }, loc)
    }

    /// Reduces all elements, in row-major order.
    #[track_caller]
    pub fn fold_all<R: IntoExp<E>>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Scalar<E>> {
        self.flatten().fold(init, f)
    }

    /// Reduces all elements, of which there must be one; an empty array is a fault.
    #[track_caller]
    pub fn fold1_all<R: IntoExp<E>>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Scalar<E>> {
        self.flatten().fold1(f)
    }

    /// The sums of the rows.
    #[track_caller]
    pub fn sum<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: Num,
    {
        self.fold(E::from_i64(0), |a, b| a + b)
    }

    /// The products of the rows.
    #[track_caller]
    pub fn product<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: Num,
    {
        self.fold(E::from_i64(1), |a, b| a * b)
    }

    /// The least elements of the rows, none of which may be empty; NaN if there is one.
    #[track_caller]
    pub fn minimum<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        self.fold1(|a, b| E::lesser(a.into_exp(), b.into_exp()))
    }

    /// The greatest elements of the rows, none of which may be empty; NaN if there is one.
    #[track_caller]
    pub fn maximum<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        self.fold1(|a, b| E::greater(a.into_exp(), b.into_exp()))
    }

    /// Whether the predicate holds of all elements of a row.
    #[track_caller]
    pub fn all<In: Shape, R: IntoExp<bool>>(&self, p: impl FnOnce(E::Exp) -> R) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.map(p).fold(true, |a, b| a & b)
    }

    /// Whether the predicate holds of some element of a row.
    #[track_caller]
    pub fn any<In: Shape, R: IntoExp<bool>>(&self, p: impl FnOnce(E::Exp) -> R) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.map(p).fold(false, |a, b| a | b)
    }

    /// Left scan from `init`: each row becomes one longer, starting with `init`, ending with the row's reduction.
    #[track_caller]
    pub fn scanl<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        let init = Some(closed_exp(&loc, init));
        self.scan(Dir::Left, fun2::<E, E, E, R>(&loc, f), init, loc)
    }

    /// Inclusive left scan.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.scanl1(|a, b| a + b))?.to_vec(), [1, 3, 6, 10]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scanl1<R: IntoExp<E>, In: Shape>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        self.scan(Dir::Left, fun2::<E, E, E, R>(&loc, f), None, loc)
    }

    /// Right scan from `init`: each row becomes one longer, ending with `init`, starting with the row's reduction.
    #[track_caller]
    pub fn scanr<R: IntoExp<E>, In: Shape>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        let init = Some(closed_exp(&loc, init));
        self.scan(Dir::Right, fun2::<E, E, E, R>(&loc, f), init, loc)
    }

    /// Inclusive right scan.
    #[track_caller]
    pub fn scanr1<R: IntoExp<E>, In: Shape>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Array<Sh, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        let loc = Loc::caller();
        self.scan(Dir::Right, fun2::<E, E, E, R>(&loc, f), None, loc)
    }

    fn scan(&self, dir: Dir, f: Frozen, init: Option<Frozen>, loc: Loc) -> Acc<Array<Sh, E>> {
        Acc::new(AccOp::Scan { dir, f, init, xs: self.node.clone() }, loc)
    }

    /// The elements as a vector, in row-major order.
    #[track_caller]
    pub fn flatten(&self) -> Acc<Array<DIM1, E>> {
        self.reshape(self.size())
    }
}

impl<Sh: Shape> Acc<Array<Sh, bool>> {
    /// Whether all elements of a row are true.
    #[track_caller]
    pub fn and<In: Shape>(&self) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.fold(constant(true), |a, b: Exp<bool>| a & b)
    }
    /// Whether some element of a row is true.
    #[track_caller]
    pub fn or<In: Shape>(&self) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.fold(constant(false), |a, b: Exp<bool>| a | b)
    }
}
