//! Array programs.

use crate::api::{Array, Elt, Exp, IntoExp, IntoIx, Shape};
use crate::builder::{self, AccFun, AccOp, AccRef, AccType, Frozen};
use crate::data::ArrayData;
use crate::error::Error;
use crate::ir::Loc;
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

/// Types of program arguments and results: an array, or a tuple or struct of these.
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
///
/// `#[derive(Arrays)]` makes a struct of arrays one:
///
/// ```
/// use acc_core::prelude::*;
/// #[derive(Arrays)]
/// struct Line {
///     slopes: Vector<f64>,
///     height: Scalar<f64>,
/// }
/// let line = Line { slopes: Vector::from([1.0, 2.0]), height: Scalar::scalar(0.5) };
/// // Closures receive a `LineAcc`, with the same fields.
/// let (slopes, height) = grad(&line, |line| line.slopes.map(|s| s * s).sum().zip_with(line.height, |a, b| a * b));
/// let (slopes, height) = Interpreter::new().run((slopes, height))?;
/// assert_eq!((slopes.to_vec(), height.value()), (vec![1.0, 2.0], 5.0));
/// let twice = |line: LineAcc| LineAcc { slopes: line.slopes.map(|s| s * 2.0), ..line };
/// let line: Line = Interpreter::new().run(twice((&line).into_acc().unlift()))?;
/// assert_eq!((line.slopes.to_vec(), line.height.value()), (vec![2.0, 4.0], 0.5));
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

/// No array: a function without residuals, say.
impl Arrays for () {
    type Acc = ();
    fn ty() -> AccType {
        AccType::Tuple(Vec::new())
    }
    fn unlift(_: Acc<()>) {}
    fn from_parts(_: &mut dyn Iterator<Item = ArrayData>) -> Result<(), Error> {
        Ok(())
    }
    fn push_parts(&self, _: &mut Vec<ArrayData>) {}
}
#[diagnostic::do_not_recommend]
impl IntoAcc<()> for () {
    #[track_caller]
    fn into_acc(self) -> Acc<()> {
        Acc::new(AccOp::Tuple(Vec::new()), Loc::caller())
    }
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
