//! Extents and elements of arrays, in scalar code and at array level.

use crate::api::{Acc, Array, Elt, Exp, ExpOrd, IntoExp, IntoIx, IxPart, RankZero, Scalar, Shape, ShapeOf, Vector};
use crate::builder::{self, AccOp};
use crate::data::EltType;
use crate::ir::{ArrayOp, Loc};

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The extent, usable wherever an extent is wanted.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(fill(m.extent(), true))?.shape(), Dim([2, 3]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn extent(&self) -> ShapeOf<Sh> {
        ShapeOf::new(self.node.clone())
    }
    /// The extent taken apart: `let (n, m) = xs.shape();` Extents are of type `i64`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// let (rows, columns) = m.shape();
    /// assert_eq!(Interpreter::new().run(unit(rows * 10 + columns))?.value(), 23);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn shape(&self) -> Sh::Exp {
        self.extent().unlift()
    }
    /// The number of elements, an `i64`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(unit(m.size()))?.value(), 6);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn size(&self) -> Exp<i64> {
        self.extent().size()
    }
    /// Whether there are no elements.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let odd = use_(&Vector::from([2i32, 4])).filter(|x| x.odd());
    /// assert!(Interpreter::new().run(unit(odd.is_empty()))?.value());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_empty(&self) -> Exp<bool> {
        self.size().eq(0)
    }
    /// Reads the element at a position in row-major order. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(unit(m.index_linear(4)))?.value(), 5);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn index_linear(&self, i: impl IxPart) -> E::Exp {
        self.flatten().index(i.part())
    }
    /// The same array, if a condition holds; else a fault with this message, which has no `{}`: see
    /// [`check_with`](Acc::check_with).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3]));
    /// let same = xs.check(xs.length().lt(3), "there are too many");
    /// assert!(Interpreter::new().run(same).unwrap_err().to_string().starts_with("there are too many"));
    /// ```
    #[track_caller]
    pub fn check(&self, ok: impl IntoExp<bool>, message: &str) -> Acc<Array<Sh, E>> {
        self.check_with(ok, message, &[])
    }
    /// As [`check`](Acc::check); each `{}` of the message stands for the next of the numbers, of which there are as
    /// many.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3]));
    /// let n = xs.length();
    /// let same = xs.check_with(n.lt(3), "{} are too many", &[n]);
    /// assert!(Interpreter::new().run(same).unwrap_err().to_string().starts_with("3 are too many"));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn check_with(&self, ok: impl IntoExp<bool>, message: &str, numbers: &[Exp<i64>]) -> Acc<Array<Sh, E>> {
        let loc = Loc::caller();
        let ok = builder::closed(loc.clone(), || {
            let parts: Vec<_> = std::iter::once(ok.into_exp().r).chain(numbers.iter().map(|n| n.r)).collect();
            let types = std::iter::once(bool::ty()).chain(numbers.iter().map(|_| i64::ty()));
            builder::tuple(&parts, EltType::tuple(types), &loc)
        });
        Acc::new(AccOp::Op(ArrayOp::Check { ok, message: message.into(), xs: self.node.clone() }), loc)
    }
    /// Reads one element, inside a scalar closure or at array level. Out of bounds is a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    /// assert_eq!(Interpreter::new().run(generate(2, |i| m.index((i, 2))))?.to_vec(), [3, 6]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn index(&self, ix: impl IntoIx<Sh>) -> E::Exp {
        let loc = Loc::caller();
        Exp::<E>::raw(builder::element(&self.node, ix.into_ix().0, E::ty(), &loc)).unlift()
    }
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The element of a rank-0 array.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * xs.sum().the()))?.to_vec(), [10, 20, 30, 40]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn the(&self) -> E::Exp
    where
        Sh: RankZero,
    {
        only_element(self).unlift()
    }
}

/// Comparisons of the element of a rank-0 array: conditions of [`acond`](crate::api::acond) and [`awhile`](crate::api::awhile).
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([3i32, -5]));
/// let positive = acond(xs.sum().gt(0), xs.map(|x| x + 1), xs.map(|x| -x));
/// assert_eq!(Interpreter::new().run(positive)?.to_vec(), [-3, 5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
impl<E: ExpOrd> Acc<Scalar<E>> {
    /// Whether the element equals another (of floats, a NaN equals nothing).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let nan = use_(&Scalar::scalar(f64::NAN));
    /// let equal = unit((use_(&Vector::from([3, -5])).sum().eq(-2), nan.eq(f64::NAN)));
    /// assert_eq!(Interpreter::new().run(equal)?.value(), (true, false));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn eq(&self, other: impl IntoExp<E>) -> Exp<bool> {
        E::equal(only_element(self), other.into_exp())
    }
    /// Whether the element differs from another (of floats, a NaN from everything).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let nan = use_(&Scalar::scalar(f64::NAN));
    /// let different = unit((use_(&Vector::from([3, -5])).sum().ne(-2), nan.ne(f64::NAN)));
    /// assert_eq!(Interpreter::new().run(different)?.value(), (false, true));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn ne(&self, other: impl IntoExp<E>) -> Exp<bool> {
        E::different(only_element(self), other.into_exp())
    }
    /// Whether the element is less.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let total = use_(&Vector::from([3, -5])).sum();
    /// assert_eq!(Interpreter::new().run(unit((total.lt(-2), total.lt(0))))?.value(), (false, true));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn lt(&self, other: impl IntoExp<E>) -> Exp<bool> {
        E::less(only_element(self), other.into_exp())
    }
    /// Whether the element is less or equal.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let total = use_(&Vector::from([3, -5])).sum();
    /// assert_eq!(Interpreter::new().run(unit((total.le(-2), total.le(-3))))?.value(), (true, false));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn le(&self, other: impl IntoExp<E>) -> Exp<bool> {
        E::less_or_equal(only_element(self), other.into_exp())
    }
    /// Whether the element is greater.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let total = use_(&Vector::from([3, -5])).sum();
    /// assert_eq!(Interpreter::new().run(unit((total.gt(-2), total.gt(-3))))?.value(), (false, true));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn gt(&self, other: impl IntoExp<E>) -> Exp<bool> {
        E::more(only_element(self), other.into_exp())
    }
    /// Whether the element is greater or equal.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let total = use_(&Vector::from([3, -5])).sum();
    /// assert_eq!(Interpreter::new().run(unit((total.ge(-2), total.ge(0))))?.value(), (true, false));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn ge(&self, other: impl IntoExp<E>) -> Exp<bool> {
        E::more_or_equal(only_element(self), other.into_exp())
    }
}

impl<E: Elt> Acc<Vector<E>> {
    /// The number of elements, an `i64`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, 2, 3, 4]));
    /// assert_eq!(Interpreter::new().run(unit(xs.length()))?.value(), 4);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn length(&self) -> Exp<i64> {
        self.shape()
    }
}

/// The element of an array of rank 0.
#[track_caller]
pub(in crate::api) fn only_element<Sh: Shape, E: Elt>(xs: &Acc<Array<Sh, E>>) -> Exp<E> {
    let loc = Loc::caller();
    let index = builder::tuple(&[], EltType::index(0), &loc);
    Exp::raw(builder::element(&xs.node, index, E::ty(), &loc))
}

// A rank-0 program used directly as a scalar: `x / &total`.
#[diagnostic::do_not_recommend]
impl<E: Elt> IntoExp<E> for Acc<Scalar<E>> {
    #[track_caller]
    fn into_exp(self) -> Exp<E> {
        only_element(&self)
    }
}
#[diagnostic::do_not_recommend]
impl<E: Elt> IntoExp<E> for &Acc<Scalar<E>> {
    #[track_caller]
    fn into_exp(self) -> Exp<E> {
        only_element(self)
    }
}
