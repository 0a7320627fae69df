//! Folds along the innermost dimension.

use crate::api::types::acc::{closed_exp, fun2};
use crate::api::{Acc, Array, DIM1, Elt, Exp, ExpOrd, Floating, IntoExp, Num, NumScalar, Reducible, Scalar, Shape};
use crate::builder::{AccOp, compose};
use crate::ir::{ArrayOp, Loc};

// `In: Shape` with `Reducible<Inner = In>` instead of `Sh: Reducible`: the bound is then checked late, and its own
// message is shown instead of "method not found".

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// Reduces the innermost dimension with an associative function; `init` is included once per row, on the left.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
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
        self.folded(Some(init), f)
    }

    /// Reduces the innermost dimension, which must have an element in every row; an empty row is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.fold1(|a, b| a.max(b)))?.to_vec(), [3, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold1<R: IntoExp<E>, In: Shape>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.folded(None::<Exp<E>>, f)
    }

    #[track_caller]
    fn folded<R: IntoExp<E>, In: Shape>(
        &self,
        init: Option<impl IntoExp<E>>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Array<In, E>> {
        let loc = Loc::caller();
        let init = init.map(|init| closed_exp(&loc, init));
        Acc::new(AccOp::Op(ArrayOp::Fold { f: fun2::<E, E, E, R>(&loc, f), init, xs: self.node.clone() }), loc)
    }

    /// Reduces all elements, in row-major order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.fold_all(0, |a, b| a + b))?.value(), 21);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold_all<R: IntoExp<E>>(
        &self,
        init: impl IntoExp<E>,
        f: impl FnOnce(E::Exp, E::Exp) -> R,
    ) -> Acc<Scalar<E>> {
        self.flatten().fold(init, f)
    }

    /// Reduces all elements, of which there must be one; an empty array is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.fold1_all(|a, b| a.min(b)))?.value(), 1);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn fold1_all<R: IntoExp<E>>(&self, f: impl FnOnce(E::Exp, E::Exp) -> R) -> Acc<Scalar<E>> {
        self.flatten().fold1(f)
    }

    /// The sums of the rows, of the element type: of integers they wrap in it.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.sum())?.to_vec(), [6, 15]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn sum<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: Num,
    {
        compose(&"sum", || self.fold(E::from_i64(0), |a, b| a + b))
    }

    /// The products of the rows, of the element type: of integers they wrap in it.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.product())?.to_vec(), [6, 120]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn product<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: Num,
    {
        compose(&"product", || self.fold(E::from_i64(1), |a, b| a * b))
    }

    /// The least elements of the rows, none of which may be empty; NaN if there is one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.minimum())?.to_vec(), [1, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn minimum<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        compose(&"minimum", || self.fold1(|a, b| E::lesser(a.into_exp(), b.into_exp())))
    }

    /// The greatest elements of the rows, none of which may be empty; NaN if there is one.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.maximum())?.to_vec(), [3, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn maximum<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: ExpOrd,
    {
        compose(&"maximum", || self.fold1(|a, b| E::greater(a.into_exp(), b.into_exp())))
    }

    /// The means of the rows: NaN of a row without elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1.0f64, 2.0, 6.0]));
    /// assert_eq!(Interpreter::new().run(xs.mean())?.value(), 3.0);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn mean<In: Shape>(&self) -> Acc<Array<In, E>>
    where
        Sh: Reducible<Inner = In>,
        E: Floating + NumScalar,
    {
        compose(&"mean", || {
            let n = self.extent().parts()[Sh::RANK - 1].to::<E>();
            self.sum().map(|sum| sum / n)
        })
    }

    /// Whether the predicate holds of all elements of a row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.all(|x| x.gt(0)))?.value(), true);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn all<In: Shape, R: IntoExp<bool>>(&self, p: impl FnOnce(E::Exp) -> R) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.map(p).fold(true, |a, b| a & b)
    }

    /// Whether the predicate holds of some element of a row.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.any(|x| x.gt(4)))?.value(), false);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn any<In: Shape, R: IntoExp<bool>>(&self, p: impl FnOnce(E::Exp) -> R) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.map(p).fold(false, |a, b| a | b)
    }

    /// The elements as a vector, in row-major order.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1i32, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(m.flatten())?.to_vec(), [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn flatten(&self) -> Acc<Array<DIM1, E>> {
        compose(&"flatten", || self.reshape(self.size()))
    }
}

impl<Sh: Shape> Acc<Array<Sh, bool>> {
    /// Whether all elements of a row are true; true of a row without elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[true, true], [true, false]]));
    /// assert_eq!(Interpreter::new().run(m.and())?.to_vec(), [true, false]);
    /// assert!(Interpreter::new().run(use_(&Vector::from([true; 0])).and())?.value());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and<In: Shape>(&self) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.fold(true, |a, b: Exp<bool>| a & b)
    }
    /// Whether some element of a row is true; false of a row without elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[false, false], [true, false]]));
    /// assert_eq!(Interpreter::new().run(m.or())?.to_vec(), [false, true]);
    /// assert!(!Interpreter::new().run(use_(&Vector::from([true; 0])).or())?.value());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn or<In: Shape>(&self) -> Acc<Array<In, bool>>
    where
        Sh: Reducible<Inner = In>,
    {
        self.fold(false, |a, b: Exp<bool>| a | b)
    }
}
