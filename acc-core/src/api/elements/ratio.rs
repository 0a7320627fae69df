//! `Ratio` as an element type: fractions of integers.

use crate::api::scalars::compare::choose;
use crate::api::types::exp::tuple_exp;
use crate::api::{Elt, Exp, ExpEq, ExpOrd, Fractional, Integral, IntoExp, Num, RealFloat, RealFrac, Signed, constant};
use crate::data::{EltType, Lit};
use half::f16;
use std::fmt;

/// A fraction of two integers.
///
/// What arithmetic gives is reduced, with a denominator that is not negative. A denominator of 0 is no fault:
/// `x / 0` is `1 / 0`, whatever `x` is. Numerators and denominators wrap as integers do.
///
/// ```
/// use acc_core::prelude::*;
/// let halves = use_(&Vector::from([Ratio::<i64>::new(1, 2), Ratio::<i64>::new(1, 3)]));
/// let sum = Interpreter::new().run(halves.sum())?.value();
/// assert_eq!((sum.numer, sum.denom, sum.to_string().as_str()), (5, 6, "5/6"));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ratio<T> {
    /// The numerator.
    pub numer: T,
    /// The denominator.
    pub denom: T,
}

impl<T: fmt::Display> fmt::Display for Ratio<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numer, self.denom)
    }
}

/// Reduced fractions on the host.
macro_rules! host {
    ($($t:ty, $abs:ident, $signum:expr;)*) => { $(
        impl Ratio<$t> {
            /// The fraction, reduced; `1 / 0` where the denominator is 0.
            ///
            /// ```
            /// use acc_core::prelude::*;
            /// assert_eq!(Ratio::<i32>::new(6, -4), Ratio { numer: -3, denom: 2 });
            /// assert_eq!(Ratio::<i32>::new(7, 0), Ratio { numer: 1, denom: 0 });
            /// ```
            pub fn new(numer: $t, denom: $t) -> Ratio<$t> {
                if denom == 0 {
                    return Ratio { numer: 1, denom: 0 };
                }
                let sign: fn($t) -> $t = $signum;
                let (numer, denom) = (numer.wrapping_mul(sign(denom)), denom.$abs());
                let (mut a, mut b) = (numer, denom);
                while b != 0 {
                    (a, b) = (b, a.wrapping_rem(b));
                }
                let gcd = a.$abs();
                Ratio { numer: numer.wrapping_div(gcd), denom: denom.wrapping_div(gcd) }
            }
        }
        impl From<Ratio<$t>> for ($t, $t) {
            fn from(r: Ratio<$t>) -> ($t, $t) {
                (r.numer, r.denom)
            }
        }
    )* };
}
host! {
    i8, wrapping_abs, i8::signum;
    i16, wrapping_abs, i16::signum;
    i32, wrapping_abs, i32::signum;
    i64, wrapping_abs, i64::signum;
}
trait Magnitude: Copy {
    fn magnitude(self) -> Self;
}
macro_rules! magnitude {
    ($($t:ty),*) => { $(impl Magnitude for $t {
        fn magnitude(self) -> $t { self }
    })* };
}
magnitude!(u8, u16, u32, u64);
host! {
    u8, magnitude, |_| 1;
    u16, magnitude, |_| 1;
    u32, magnitude, |_| 1;
    u64, magnitude, |_| 1;
}

impl<T: Integral> Elt for Ratio<T> {
    type Exp = Exp<Self>;
    fn ty() -> EltType {
        EltType::tuple([T::ty(), T::ty()])
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        self.numer.write(out);
        self.denom.write(out);
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        let numer = T::read(leaves);
        Ratio { numer, denom: T::read(leaves) }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Integral> IntoExp<Self> for Ratio<T> {
    #[track_caller]
    fn into_exp(self) -> Exp<Self> {
        constant(self)
    }
}

fn int<T: Integral>(x: i64) -> Exp<T> {
    constant(T::from_i64(x))
}

/// The fraction, reduced, with a denominator that is not negative; `1 / 0` where the denominator is 0 (Accelerate's `%`).
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([6i64, 3]));
/// let ratios = Interpreter::new().run(xs.map(|x| ratio(x, -4)))?;
/// assert_eq!(ratios.to_vec(), [Ratio { numer: -3, denom: 2 }, Ratio { numer: -3, denom: 4 }]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn ratio<T: Integral>(numer: impl IntoExp<T>, denom: impl IntoExp<T>) -> Exp<Ratio<T>> {
    let (n, d) = (numer.into_exp(), denom.into_exp());
    let (n, positive) = (n * d.signum(), d.abs());
    let gcd = n.gcd(positive);
    choose(d.eq(int::<T>(0)), ratio_raw(int::<T>(1), int::<T>(0)), ratio_raw(n.quot(gcd), positive.quot(gcd)))
}

/// The fraction as it is, not reduced (Accelerate's `:%`).
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([6i64, 3]));
/// let ratios = Interpreter::new().run(xs.map(|x| ratio_raw(x, -4)))?;
/// assert_eq!(ratios.to_vec(), [Ratio { numer: 6, denom: -4 }, Ratio { numer: 3, denom: -4 }]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn ratio_raw<T: Integral>(numer: impl IntoExp<T>, denom: impl IntoExp<T>) -> Exp<Ratio<T>> {
    tuple_exp(&[numer.into_exp().r, denom.into_exp().r])
}

impl<T: Integral> Exp<Ratio<T>> {
    /// The numerator.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([6i32, -5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| ratio(x, 4).numer()))?.to_vec(), [3, -5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn numer(self) -> Exp<T> {
        self.proj(0)
    }
    /// The denominator.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([6i32, -5]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| ratio(x, 4).denom()))?.to_vec(), [2, 4]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn denom(self) -> Exp<T> {
        self.proj(1)
    }
    /// The quotient as a float; numerator, denominator and quotient are each rounded to its type.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([1i32, -6]));
    /// assert_eq!(Interpreter::new().run(xs.map(|x| ratio(x, 4).to_float::<f32>()))?.to_vec(), [0.25, -1.5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn to_float<F: RealFloat>(self) -> Exp<F> {
        F::div(self.numer().to::<F>(), self.denom().to::<F>())
    }
}

impl<T: Integral> Exp<T> {
    /// The integer as a fraction with the denominator 1; it wraps in a narrower type.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([3i32, 300]));
    /// let ratios = Interpreter::new().run(xs.map(|x| x.to_ratio::<u8>()))?.to_vec();
    /// assert_eq!(ratios, [Ratio { numer: 3, denom: 1 }, Ratio { numer: 44, denom: 1 }]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn to_ratio<U: Integral>(self) -> Exp<Ratio<U>> {
        ratio_raw(U::from_scalar(self), int::<U>(1))
    }
}

impl<T: Integral> Num for Ratio<T> {
    fn from_i64(x: i64) -> Self {
        Ratio { numer: T::from_i64(x), denom: T::from_i64(1) }
    }
    #[track_caller]
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        ratio(a.numer() * b.denom() + b.numer() * a.denom(), a.denom() * b.denom())
    }
    #[track_caller]
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        ratio(a.numer() * b.denom() - b.numer() * a.denom(), a.denom() * b.denom())
    }
    #[track_caller]
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        ratio(a.numer() * b.numer(), a.denom() * b.denom())
    }
    #[track_caller]
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        ratio(a.numer() * b.denom(), a.denom() * b.numer())
    }
    #[track_caller]
    fn neg(a: Exp<Self>) -> Exp<Self> {
        ratio_raw(-a.numer(), a.denom())
    }
}

impl<T: Integral> Signed for Ratio<T> {
    #[track_caller]
    fn abs_of(a: Exp<Self>) -> Exp<Self> {
        ratio_raw(a.numer().abs(), a.denom())
    }
    #[track_caller]
    fn signum_of(a: Exp<Self>) -> Exp<Self> {
        ratio_raw(a.numer().signum(), int::<T>(1))
    }
}

impl<T: Integral> Fractional for Ratio<T> {
    fn from_ratio(numer: i64, denom: i64) -> Self {
        let Ratio { numer, denom } = Ratio::<i64>::new(numer, denom);
        Ratio { numer: T::from_i64(numer), denom: T::from_i64(denom) }
    }
}

impl<T: Integral> ExpEq for Ratio<T> {
    #[track_caller]
    fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        a.numer().eq(b.numer()) & a.denom().eq(b.denom())
    }
}

/// By the cross products, which wrap.
impl<T: Integral> ExpOrd for Ratio<T> {
    #[track_caller]
    fn less(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a.numer() * b.denom()).lt(b.numer() * a.denom())
    }
    #[track_caller]
    fn less_or_equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        (a.numer() * b.denom()).le(b.numer() * a.denom())
    }
}

/// A denominator of 0 is a division by zero.
impl<T: Integral> RealFrac for Ratio<T> {
    #[track_caller]
    fn whole(x: Exp<Self>) -> Exp<Self> {
        x.numer().quot(x.denom()).to_ratio()
    }
    #[track_caller]
    fn down(x: Exp<Self>) -> Exp<Self> {
        x.numer().div_floor(x.denom()).to_ratio()
    }
    #[track_caller]
    fn up(x: Exp<Self>) -> Exp<Self> {
        let (quotient, rest) = x.numer().div_mod(x.denom());
        choose(rest.eq(int::<T>(0)), quotient, quotient.succ()).to_ratio()
    }
    #[track_caller]
    fn nearest(x: Exp<Self>) -> Exp<Self> {
        let (quotient, rest) = x.numer().div_mod(x.denom());
        // As far from the integer above as this; the double of the rest might wrap.
        let above = x.denom() - rest;
        let up = rest.gt(above) | (rest.eq(above) & quotient.odd());
        choose(up, quotient.succ(), quotient).to_ratio()
    }
    #[track_caller]
    fn integer<B: Integral>(x: Exp<Self>) -> Exp<B> {
        B::from_scalar(x.numer())
    }
}

/// Numbers that are fractions exactly: integers and floats.
///
/// ```
/// use acc_core::prelude::*;
/// fn numerator<T: Rational>(x: Exp<T>) -> Exp<i64> {
///     x.to_rational::<i64>().numer()
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([0.75f32, -2.5])).map(numerator))?.to_vec(), [3, -5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not a rational number (`Rational`)")]
pub trait Rational: Num + ExpOrd {
    /// The number as a fraction.
    fn rational<B: Integral>(x: Exp<Self>) -> Exp<Ratio<B>>;
}

macro_rules! rational {
    ($rational:ident; $($t:ty),*) => { $(
        impl Rational for $t {
            #[track_caller]
            fn rational<B: Integral>(x: Exp<$t>) -> Exp<Ratio<B>> { $rational(x) }
        }
    )* };
}
rational!(of_integer; i8, i16, i32, i64, u8, u16, u32, u64);
rational!(of_float; f16, f32, f64);

#[track_caller]
fn of_integer<T: Integral, B: Integral>(x: Exp<T>) -> Exp<Ratio<B>> {
    x.to_ratio()
}

#[track_caller]
fn of_float<T: RealFloat, B: Integral>(x: Exp<T>) -> Exp<Ratio<B>> {
    let (mantissa, exponent) = x.decode_float();
    // Powers of two are all that numerator and denominator can have in common.
    let spare = mantissa.trailing_zeros().to::<i64>().min(-exponent).max(0);
    let numer = mantissa.shift_right(spare).shift_left(exponent.max(0));
    let denom = constant(1i64).shift_left((-exponent - spare).max(0));
    let zero = mantissa.eq(0);
    ratio_raw(B::from_scalar(numer), choose(zero, int::<B>(1), B::from_scalar(denom)))
}

impl<T: Rational> Exp<T> {
    /// The number as a fraction, exactly where numerator and denominator fit `i64` and the type of the result.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = use_(&Vector::from([0.75f64, -2.0]));
    /// let ratios = Interpreter::new().run(xs.map(|x| x.to_rational::<i64>()))?.to_vec();
    /// assert_eq!(ratios, [Ratio { numer: 3, denom: 4 }, Ratio { numer: -2, denom: 1 }]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn to_rational<B: Integral>(self) -> Exp<Ratio<B>> {
        T::rational(self)
    }
}
