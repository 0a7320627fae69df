//! `Either` as an element type: a tag (`u8`, 0 for `Left`) and both sides, zero where not there.

use super::option::zero_exp;
use crate::api::types::exp::tuple_exp;
use crate::api::{Elt, Exp, ExpEq, ExpOrd, IntoExp, Match, SumElt, constant, write_zeros};
use crate::data::{EltType, Lit};
use either::Either;

impl<A: Elt, B: Elt> Elt for Either<A, B> {
    type Exp = Exp<Either<A, B>>;
    fn ty() -> EltType {
        EltType::tuple([u8::ty(), A::ty(), B::ty()])
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        match self {
            Either::Left(a) => {
                0u8.write(out);
                a.write(out);
                write_zeros::<B>(out);
            }
            Either::Right(b) => {
                1u8.write(out);
                write_zeros::<A>(out);
                b.write(out);
            }
        }
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        let tag = u8::read(leaves);
        let (a, b) = (A::read(leaves), B::read(leaves));
        if tag == 0 { Either::Left(a) } else { Either::Right(b) }
    }
}

#[diagnostic::do_not_recommend]
impl<A: Elt, B: Elt, X: IntoExp<A>, Y: IntoExp<B>> IntoExp<Either<A, B>> for Either<X, Y> {
    #[track_caller]
    fn into_exp(self) -> Exp<Either<A, B>> {
        match self {
            Either::Left(a) => left(a),
            Either::Right(b) => right(b),
        }
    }
}

impl<A: Elt, B: Elt> SumElt for Either<A, B> {
    type Case = Either<A::Exp, B::Exp>;
    const CASES: usize = 2;
    fn is_case(e: Exp<Self>, _: usize) -> Exp<bool> {
        e.is_left()
    }
    fn case(e: Exp<Self>, k: usize) -> Self::Case {
        if k == 0 { Either::Left(e.from_left()) } else { Either::Right(e.from_right()) }
    }
}

/// `Left(a)`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1, 2]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| left::<i32, bool>(x)))?.to_vec(), [Either::Left(1), Either::Left(2)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn left<A: Elt, B: Elt>(a: impl IntoExp<A>) -> Exp<Either<A, B>> {
    let a = a.into_exp();
    tuple_exp(&[constant(0u8).r, a.r, zero_exp::<B>().r])
}

/// `Right(b)`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1i32, -1]));
/// let signs = xs.map(|x| x.gt(0).then_else(left::<i32, char>(x), right::<i32, char>('-')));
/// assert_eq!(Interpreter::new().run(signs)?.to_vec(), [Either::Left(1), Either::Right('-')]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn right<A: Elt, B: Elt>(b: impl IntoExp<B>) -> Exp<Either<A, B>> {
    let b = b.into_exp();
    tuple_exp(&[constant(1u8).r, zero_exp::<A>().r, b.r])
}

impl<A: Elt, B: Elt> Exp<Either<A, B>> {
    /// Whether it is a `Left`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left(1), Either::Right('a')]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_left()))?.to_vec(), [true, false]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_left(self) -> Exp<bool> {
        self.proj::<u8>(0).eq(0)
    }
    /// Whether it is a `Right`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left(1), Either::Right('a')]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| x.is_right()))?.to_vec(), [false, true]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn is_right(self) -> Exp<bool> {
        self.proj::<u8>(0).ne(0)
    }
    /// The left value; unspecified, and no fault, where it is a `Right`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left(1), Either::Right('a')]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| cond(x.is_left(), x.from_left(), -1)))?.to_vec(), [1, -1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn from_left(self) -> A::Exp {
        self.proj::<A>(1).unlift()
    }
    /// The right value; unspecified, and no fault, where it is a `Left`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left(1), Either::Right('a')]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| cond(x.is_right(), x.from_right(), '-')))?.to_vec(), ['-', 'a']);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn from_right(self) -> B::Exp {
        self.proj::<B>(2).unlift()
    }
    /// `f` of the left value or `g` of the right one; only one of the two is evaluated.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left(3), Either::Right(true), Either::Right(false)]));
    /// let numbers = xs.map(|x| x.either(|n| n * 10, |yes: Exp<bool>| yes.to_num::<i32>()));
    /// assert_eq!(Interpreter::new().run(numbers)?.to_vec(), [30, 1, 0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn either<R: Elt, X: IntoExp<R>, Y: IntoExp<R>>(
        self,
        f: impl FnOnce(A::Exp) -> X,
        g: impl FnOnce(B::Exp) -> Y,
    ) -> R::Exp {
        let (l, r) = (f(self.from_left()).into_exp(), g(self.from_right()).into_exp());
        self.is_left().then_else(l, r)
    }
    /// `f` of a right value; a left one stays.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left('a'), Either::Right(2)]));
    /// let result = Interpreter::new().run(xs.map(|x| x.map(|n| n * 10)))?;
    /// assert_eq!(result.to_vec(), [Either::Left('a'), Either::Right(20)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn map<R: Elt, X: IntoExp<R>>(self, f: impl FnOnce(B::Exp) -> X) -> Exp<Either<A, R>> {
        self.and_then(|b| right::<A, R>(f(b)))
    }
    /// What `f` makes of a right value; a left one stays.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left('a'), Either::Right(2i32), Either::Right(0)]));
    /// let tens = xs.map(|x| x.and_then(|n| cond(n.eq(0), left::<char, i32>('0'), right::<char, i32>(10 / n))));
    /// assert_eq!(Interpreter::new().run(tens)?.to_vec(), [Either::Left('a'), Either::Right(5), Either::Left('0')]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and_then<R: Elt, X: IntoExp<Either<A, R>>>(self, f: impl FnOnce(B::Exp) -> X) -> Exp<Either<A, R>> {
        self.either(|a| left::<A, R>(a.into_exp()), f)
    }
    /// `other` where it is a `Right`, which is dropped; a left one stays.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([Either::Left('a'), Either::Right(2)]));
    /// let ys = xs.map(|x| x.and(right::<char, bool>(true)));
    /// assert_eq!(Interpreter::new().run(ys)?.to_vec(), [Either::Left('a'), Either::Right(true)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn and<R: Elt>(self, other: impl IntoExp<Either<A, R>>) -> Exp<Either<A, R>> {
        self.and_then(|_| other)
    }
}

/// Whether both are of the same side, and equal.
impl<A: ExpEq, B: ExpEq> ExpEq for Either<A, B> {
    #[track_caller]
    fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a, b).match_(|both| match both {
            (Either::Left(x), Either::Left(y)) => A::equal(x.into_exp(), y.into_exp()),
            (Either::Right(x), Either::Right(y)) => B::equal(x.into_exp(), y.into_exp()),
            (Either::Left(_), Either::Right(_)) | (Either::Right(_), Either::Left(_)) => constant(false),
        })
    }
}

/// Every `Left` comes before every `Right`.
impl<A: ExpOrd, B: ExpOrd> ExpOrd for Either<A, B> {
    #[track_caller]
    fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a, b).match_(|both| match both {
            (Either::Left(x), Either::Left(y)) => A::less(x.into_exp(), y.into_exp()),
            (Either::Right(x), Either::Right(y)) => B::less(x.into_exp(), y.into_exp()),
            (Either::Left(_), Either::Right(_)) => constant(true),
            (Either::Right(_), Either::Left(_)) => constant(false),
        })
    }
    #[track_caller]
    fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a, b).match_(|both| match both {
            (Either::Left(x), Either::Left(y)) => A::less_or_equal(x.into_exp(), y.into_exp()),
            (Either::Right(x), Either::Right(y)) => B::less_or_equal(x.into_exp(), y.into_exp()),
            (Either::Left(_), Either::Right(_)) => constant(true),
            (Either::Right(_), Either::Left(_)) => constant(false),
        })
    }
}
