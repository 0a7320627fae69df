//! Array programs.

use super::array::{Array, Scalar, Vector};
use super::elt::Elt;
use super::exp::{Exp, IntoExp};
use super::shape::{IntoIx, IxPart, RankZero, Shape, ShapeOf};
use crate::api::scalars::compare::ExpOrd;
use crate::builder::{self, AccFun, AccOp, AccRef, AccType, Frozen};
use crate::data::ArrayData;
use crate::error::Error;
use crate::ir::{ArrayOp, Loc};
use crate::limits::RunLimits;
use std::fmt;
use std::marker::PhantomData;

/// An array program that yields an `A`: an [`Array`] or a tuple of these.
///
/// Cheap to clone, `Send + Sync`; operations borrow it. A program used twice is computed once.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2, 3]));
/// let squares = xs.map(|x| x * x);
/// let (squares, total) = Interpreter::new().run((&squares, squares.sum()))?;
/// assert_eq!((squares.to_vec(), total.value()), (vec![1, 4, 9], 14));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Acc<A: ?Sized> {
    pub(crate) node: AccRef,
    _type: PhantomData<fn() -> A>,
}

impl<A: ?Sized> Clone for Acc<A> {
    fn clone(&self) -> Self {
        Acc { node: self.node.clone(), _type: PhantomData }
    }
}

impl<A: Arrays> Acc<A> {
    pub(crate) fn raw(node: AccRef) -> Self {
        Acc { node, _type: PhantomData }
    }
    pub(crate) fn new(op: AccOp, loc: Loc) -> Self {
        Self::raw(AccRef::new(op, A::ty(), loc))
    }
    /// Splits a program of a tuple of arrays into a tuple of programs; of one array, the program itself.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// let pair: Acc<(Vector<i32>, Scalar<i32>)> = (&xs, xs.sum()).into_acc();
    /// let (xs, total) = pair.unlift();
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x * total.the()))?.to_vec(), [6, 12, 18]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn unlift(&self) -> A::Acc {
        A::unlift(self.clone())
    }
    /// The untyped expression: the operation, its type, and where it was written.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use acc_core::builder::AccType;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// assert_eq!(xs.sum().untyped().ty, AccType::array(0, i32::ty()));
    /// ```
    pub fn untyped(&self) -> &AccRef {
        &self.node
    }
    /// The program as the core IR has it, without parameters of its own, and the data embedded in it. An error if it cannot
    /// be built.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let built = use_(&Vector::from([1, 2, 3])).map(|x| x + 1).program()?;
    /// assert_eq!(built.embedded.len(), 1);
    /// assert!(built.program.to_string().contains("map"));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn program(&self) -> Result<builder::Built, Error> {
        let built = self.built(&RunLimits::none());
        builder::program_built(builder::Purpose::Compile);
        built
    }
    fn built(&self, limits: &RunLimits) -> Result<builder::Built, Error> {
        let f = AccFun { lambda: builder::lambda_id(), params: Vec::new(), body: self.node.clone() };
        builder::build_within(&f, limits)
    }
    /// The program, to be run at once within limits.
    pub(crate) fn into_program(self, limits: &RunLimits) -> Result<builder::Built, Error> {
        let built = self.built(limits);
        // What this program alone holds is held no more.
        drop(self);
        builder::program_built(builder::Purpose::Run);
        built
    }
}

impl<A: Arrays> fmt::Debug for Acc<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.built(&RunLimits::none()) {
            Ok(p) => write!(f, "{}", p.program),
            Err(e) => write!(f, "{e}"),
        }
    }
}

/// Types of program arguments and results: an array, or a tuple of these.
///
/// ```
/// use acc_core::prelude::*;
/// fn twice<A: Arrays>(a: &Acc<A>) -> Acc<(A, A)> {
///     (a, a).into_acc()
/// }
/// let (a, b) = Interpreter::new().run(twice(&use_(&Vector::from([1, 2]))))?;
/// assert_eq!(a, b);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array or a tuple of arrays",
    note = "program arguments and results are `Array<Sh, E>` (`Scalar<E>`, `Vector<E>`, `Matrix<E>`) and tuples of these"
)]
pub trait Arrays: Sized + 'static {
    /// What array functions receive: `Acc<Self>` for an array, a tuple of these for a tuple.
    type Acc: IntoAcc<Self>;
    /// The dynamic type.
    fn ty() -> AccType;
    /// Splits a tuple of arrays.
    fn unlift(a: Acc<Self>) -> Self::Acc;
    /// Takes the host arrays of a result, left to right.
    fn from_parts(parts: &mut dyn Iterator<Item = ArrayData>) -> Result<Self, Error>;
    /// Hands over the host arrays, left to right.
    fn push_parts(&self, out: &mut Vec<ArrayData>);
}

impl<Sh: Shape, E: Elt> Arrays for Array<Sh, E> {
    type Acc = Acc<Self>;
    fn ty() -> AccType {
        AccType::array(Sh::RANK, E::ty())
    }
    fn unlift(a: Acc<Self>) -> Acc<Self> {
        a
    }
    fn from_parts(parts: &mut dyn Iterator<Item = ArrayData>) -> Result<Self, Error> {
        let Some(data) = parts.next() else {
            return Err(Error::defect("result", "an array is missing"));
        };
        Array::from_data(data).map_err(|e| Error::defect("result", e.to_string()))
    }
    fn push_parts(&self, out: &mut Vec<ArrayData>) {
        out.push(self.data().clone());
    }
}

/// What array functions receive for arguments of type `A`, as [`ExpOf`](crate::api::ExpOf) is for elements:
/// `AccOf<(Vector<f32>, Scalar<i64>)>` is `(Acc<Vector<f32>>, Acc<Scalar<i64>>)`.
///
/// ```
/// use acc_core::prelude::*;
/// fn scaled((xs, k): AccOf<(Vector<f32>, Scalar<f32>)>) -> Acc<Vector<f32>> {
///     xs.map(|x| x * k.the())
/// }
/// assert_eq!(Interpreter::new().run(scaled((use_(&Vector::from([1.0, 2.0])), unit(3.0))))?.to_vec(), [3.0, 6.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub type AccOf<A> = <A as Arrays>::Acc;

/// Anything usable as an array program of type `A`: `Acc<A>`, `&Acc<A>`, a host `&Array` (embedded as by
/// [`use_`](crate::api::use_)), tuples of these.
///
/// ```
/// use acc_core::prelude::*;
/// fn total(xs: impl IntoAcc<Vector<i32>>) -> Acc<Scalar<i32>> {
///     xs.into_acc().sum()
/// }
/// let xs = Vector::from([1, 2, 3]);
/// assert_eq!(Interpreter::new().run(total(&xs))?.value(), 6);
/// assert_eq!(Interpreter::new().run(total(use_(&xs).map(|x| x * x)))?.value(), 14);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "expected an array program of type `Acc<{A}>`, found `{Self}`",
    label = "rank or element type differs, or this is not an array program",
    note = "pass `&acc`, `acc` or a host `&Array` of that rank and element type"
)]
pub trait IntoAcc<A: Arrays> {
    /// The program.
    fn into_acc(self) -> Acc<A>;
}

#[diagnostic::do_not_recommend]
impl<A: Arrays> IntoAcc<A> for Acc<A> {
    fn into_acc(self) -> Acc<A> {
        self
    }
}
#[diagnostic::do_not_recommend]
impl<A: Arrays> IntoAcc<A> for &Acc<A> {
    fn into_acc(self) -> Acc<A> {
        self.clone()
    }
}
#[diagnostic::do_not_recommend]
impl<Sh: Shape, E: Elt> IntoAcc<Array<Sh, E>> for &Array<Sh, E> {
    #[track_caller]
    fn into_acc(self) -> Acc<Array<Sh, E>> {
        crate::api::use_(self)
    }
}

fn part(a: &AccRef, i: usize, ty: AccType, loc: Loc) -> AccRef {
    match &a.op {
        AccOp::Tuple(parts) => parts[i].clone(),
        _ => AccRef::new(AccOp::Proj(a.clone(), i), ty, loc),
    }
}

macro_rules! tuple_arrays {
    ($($A:ident $X:ident $i:tt),*) => {
        impl<$($A: Arrays),*> Arrays for ($($A,)*) {
            type Acc = ($($A::Acc,)*);
            fn ty() -> AccType { AccType::Tuple(vec![$($A::ty()),*]) }
            #[track_caller]
            fn unlift(a: Acc<Self>) -> Self::Acc {
                let loc = Loc::caller();
                ($(Acc::<$A>::raw(part(&a.node, $i, $A::ty(), loc.clone())).unlift(),)*)
            }
            fn from_parts(parts: &mut dyn Iterator<Item = ArrayData>) -> Result<Self, Error> {
                Ok(($($A::from_parts(parts)?,)*))
            }
            fn push_parts(&self, out: &mut Vec<ArrayData>) { $(self.$i.push_parts(out);)* }
        }
        #[diagnostic::do_not_recommend]
        impl<$($A: Arrays, $X: IntoAcc<$A>),*> IntoAcc<($($A,)*)> for ($($X,)*) {
            #[track_caller]
            fn into_acc(self) -> Acc<($($A,)*)> {
                Acc::new(AccOp::Tuple(vec![$(self.$i.into_acc().node),*]), Loc::caller())
            }
        }
    };
}
tuple_arrays!(A XA 0);
tuple_arrays!(A XA 0, B XB 1);
tuple_arrays!(A XA 0, B XB 1, C XC 2);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12, N XN 13);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12, N XN 13, O XO 14);
tuple_arrays!(A XA 0, B XB 1, C XC 2, D XD 3, E XE 4, F XF 5, G XG 6, H XH 7, I XI 8, J XJ 9, K XK 10, L XL 11, M XM 12, N XN 13, O XO 14, P XP 15);

impl<A: Arrays, B: Arrays> Acc<(A, B)> {
    /// The first component of a pair of arrays.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// let pair: Acc<(Vector<i32>, Scalar<i32>)> = (&xs, xs.sum()).into_acc();
    /// assert_eq!(Interpreter::new().run(pair.afst())?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn afst(&self) -> A::Acc {
        Acc::<A>::raw(part(&self.node, 0, A::ty(), Loc::caller())).unlift()
    }
    /// The second component of a pair of arrays.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1, 2, 3]));
    /// let pair: Acc<(Vector<i32>, Scalar<i32>)> = (&xs, xs.sum()).into_acc();
    /// assert_eq!(Interpreter::new().run(pair.asnd())?.value(), 6);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn asnd(&self) -> B::Acc {
        Acc::<B>::raw(part(&self.node, 1, B::ty(), Loc::caller())).unlift()
    }
}

// ---- access

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
            builder::tuple(&parts, crate::data::EltType::tuple(types), &loc)
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
    let index = builder::tuple(&[], crate::data::EltType::index(0), &loc);
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

// ---- freezing closures

/// A function of an index.
pub(crate) fn fun_ix<Sh: Shape, E: Elt, R: IntoExp<E>>(loc: &Loc, f: impl FnOnce(Sh::Exp) -> R) -> Frozen {
    builder::lambda(vec![crate::data::EltType::index(Sh::RANK)], loc.clone(), |p| {
        f(Sh::unlift_index(p[0])).into_exp().r
    })
}

/// A function of two elements.
pub(crate) fn fun2<A: Elt, B: Elt, E: Elt, R: IntoExp<E>>(loc: &Loc, f: impl FnOnce(A::Exp, B::Exp) -> R) -> Frozen {
    builder::lambda(vec![A::ty(), B::ty()], loc.clone(), |p| {
        f(Exp::<A>::raw(p[0]).unlift(), Exp::<B>::raw(p[1]).unlift()).into_exp().r
    })
}

/// A closed scalar.
pub(crate) fn closed_exp<E: Elt>(loc: &Loc, x: impl IntoExp<E>) -> Frozen {
    builder::closed(loc.clone(), || x.into_exp().r)
}

/// A closed extent or index.
pub(crate) fn closed_ix<Sh: Shape>(loc: &Loc, ix: impl IntoIx<Sh>) -> Frozen {
    builder::closed(loc.clone(), || ix.into_ix().0)
}
