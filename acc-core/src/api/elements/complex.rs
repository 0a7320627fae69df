//! `Complex` as an element type: real part, imaginary part.

use super::complex_functions::{Function, exchanged, over_i, times_i};
use crate::api::scalars::compare::choose;
use crate::api::types::exp::tuple_exp;
use crate::api::{
    ComplexPart, Elt, Exp, ExpEq, Floating, Fractional, FromScalar, IntoExp, Num, NumScalar, RealFloat, ScalarElt,
    Signed, constant,
};
use crate::data::{EltType, Lit};
use half::f16;
use num_complex::Complex;

impl<F: ScalarElt + Num> Elt for Complex<F> {
    type Exp = Exp<Self>;
    fn ty() -> EltType {
        EltType::tuple([F::ty(), F::ty()])
    }
    fn unlift(e: Exp<Self>) -> Exp<Self> {
        e
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        self.re.write(out);
        self.im.write(out);
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        let re = F::read(leaves);
        Complex::new(re, F::read(leaves))
    }
}

#[diagnostic::do_not_recommend]
impl<F: ScalarElt + Num> IntoExp<Self> for Complex<F> {
    #[track_caller]
    fn into_exp(self) -> Exp<Self> {
        constant(self)
    }
}

/// The complex number `re + i im`.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = use_(&Vector::from([1.0f64, 2.0]));
/// assert_eq!(Interpreter::new().run(xs.map(|x| complex(x, -x)))?.to_vec(), [Complex::new(1.0f64, -1.0), Complex::new(2.0f64, -2.0)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn complex<F: ScalarElt + Num>(re: impl IntoExp<F>, im: impl IntoExp<F>) -> Exp<Complex<F>> {
    let (re, im) = (re.into_exp(), im.into_exp());
    tuple_exp(&[re.r, im.r])
}

impl<F: ScalarElt + Num> Exp<Complex<F>> {
    #[track_caller]
    fn parts(self) -> (Exp<F>, Exp<F>) {
        (self.re(), self.im())
    }

    /// The real part.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(3.0f64, 4.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.re()))?.to_vec(), [3.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn re(self) -> Exp<F> {
        self.proj(0)
    }
    /// The imaginary part.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(3.0f64, 4.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.im()))?.to_vec(), [4.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn im(self) -> Exp<F> {
        self.proj(1)
    }
    /// The square of the absolute value.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(3.0f64, 4.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.norm_sqr()))?.to_vec(), [25.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn norm_sqr(self) -> Exp<F> {
        self.re() * self.re() + self.im() * self.im()
    }
    /// Both parts multiplied by a real number.
    ///
    /// A plain number stands on the right of `+ - * /` as it is, `z * 2.0`; a real expression in a sum or a quotient
    /// becomes complex by [`x.to::<Complex<f64>>()`](Exp::to).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let halves = use_(&Vector::from([2.0, 4.0])).map(|x| complex(1.0, -1.0).scale(x / 2.0));
    /// assert_eq!(Interpreter::new().run(halves)?.to_vec()[1], Complex::new(2.0, -2.0));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn scale(self, by: impl IntoExp<F>) -> Exp<Complex<F>> {
        let by = by.into_exp();
        complex(self.re() * by, self.im() * by)
    }
    /// The complex conjugate.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(3.0f64, 4.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.conj()))?.to_vec(), [Complex::new(3.0f64, -4.0)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn conj(self) -> Exp<Complex<F>> {
        complex(self.re(), -self.im())
    }
}

impl<F: Part> Num for Complex<F> {
    fn from_i64(x: i64) -> Self {
        Complex::new(F::from_i64(x), F::from_i64(0))
    }
    #[track_caller]
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() + b.re(), a.im() + b.im())
    }
    #[track_caller]
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() - b.re(), a.im() - b.im())
    }
    #[track_caller]
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() * b.re() - a.im() * b.im(), a.re() * b.im() + a.im() * b.re())
    }
    #[track_caller]
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        // The divisor times a number of its own size: neither can leave the range of floats where the quotient does not.
        let (x, y) = F::small(b.re(), b.im());
        let d = b.re() * x + b.im() * y;
        complex((a.re() * x + a.im() * y) / d, (a.im() * x - a.re() * y) / d)
    }
    #[track_caller]
    fn neg(a: Exp<Self>) -> Exp<Self> {
        complex(-a.re(), -a.im())
    }
}

/// Parts of complex numbers with arithmetic: scalar numbers.
///
/// ```
/// use acc_core::prelude::*;
/// fn square<F: Part>(z: Exp<Complex<F>>) -> Exp<Complex<F>> {
///     z * z
/// }
/// let zs = use_(&Vector::from([Complex::new(1i32, 2)]));
/// assert_eq!(Interpreter::new().run(zs.map(square))?.to_vec(), [Complex::new(-3, 4)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub trait Part: NumScalar {
    /// Both divided by a power of two, so that the greater is near 1; of integers, the same.
    #[doc(hidden)]
    fn small(x: Exp<Self>, y: Exp<Self>) -> (Exp<Self>, Exp<Self>);
}
macro_rules! parts {
    (|$x:ident, $y:ident| $small:expr; $($t:ty),*) => { $(
        impl Part for $t {
            #[track_caller]
            fn small($x: Exp<$t>, $y: Exp<$t>) -> (Exp<$t>, Exp<$t>) { $small }
        }
    )* };
}
parts!(|x, y| (x, y); i8, i16, i32, i64, u8, u16, u32, u64);
parts!(|x, y| { let k = greatest_exponent(x, y); (x.scale_float(-k), y.scale_float(-k)) }; f16, f32, f64);

/// The exponent of the greater of two magnitudes.
#[track_caller]
fn greatest_exponent<F: RealFloat>(x: Exp<F>, y: Exp<F>) -> Exp<i64> {
    x.abs().max(y.abs()).exponent()
}

impl<F: ScalarElt + Num + ExpEq> ExpEq for Complex<F> {
    #[track_caller]
    fn equal(a: Exp<Self>, b: Exp<Self>) -> Exp<bool> {
        a.re().eq(b.re()) & a.im().eq(b.im())
    }
}

impl<F: Part + FromScalar> FromScalar for Complex<F> {
    #[track_caller]
    fn from_scalar<T: NumScalar>(x: Exp<T>) -> Exp<Self> {
        complex(x.to::<F>(), F::from_i64(0))
    }
}

/// The complex number of this magnitude and phase, in radians.
///
/// ```
/// use acc_core::prelude::*;
/// let zs = use_(&Vector::from([0.0, std::f64::consts::PI])).map(|phase| mk_polar(2.0, phase));
/// assert_eq!(Interpreter::new().run(zs.map(|z| z.re()))?.to_vec(), [2.0, -2.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn mk_polar<F: Floating + ScalarElt>(magnitude: impl IntoExp<F>, phase: impl IntoExp<F>) -> Exp<Complex<F>> {
    let (r, phase) = (magnitude.into_exp(), phase.into_exp());
    complex(F::mul(r, phase.cos()), F::mul(r, phase.sin()))
}

/// The complex number of magnitude 1 and this phase, in radians: its cosine and its sine.
///
/// ```
/// use acc_core::prelude::*;
/// let zs = use_(&Vector::from([0.0, std::f64::consts::PI])).map(|phase| cis(phase));
/// assert_eq!(Interpreter::new().run(zs.map(|z| z.re()))?.to_vec(), [1.0, -1.0]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn cis<F: Floating + ScalarElt>(phase: impl IntoExp<F>) -> Exp<Complex<F>> {
    let phase = phase.into_exp();
    complex(phase.cos(), phase.sin())
}

impl<F: RealFloat> Exp<Complex<F>> {
    /// The absolute value, also where the squares of the parts are out of range.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(3e200f64, 0.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.magnitude()))?.to_vec(), [3e200]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn magnitude(self) -> Exp<F> {
        let (x, y) = self.parts();
        let k = greatest_exponent(x, y);
        let (x, y) = (x.scale_float(-k), y.scale_float(-k));
        let scaled = (x * x + y * y).sqrt().scale_float(k);
        let infinite = self.re().is_infinite() | self.im().is_infinite();
        choose(infinite, constant(F::from_f64(f64::INFINITY)), scaled)
    }
    /// The absolute value as the root of the sum of squares, which may be out of range (Accelerate's `magnitude'`).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(3.0f64, 4.0), Complex::new(3e200, 0.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.magnitude_unscaled()))?.to_vec(), [5.0, f64::INFINITY]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn magnitude_unscaled(self) -> Exp<F> {
        self.norm_sqr().sqrt()
    }
    /// The angle, from -pi (exclusive, but for a negative zero as imaginary part) to pi; of zeros 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(0.0f64, 2.0)]));
    /// assert_eq!(Interpreter::new().run(zs.map(|z| z.phase()))?.to_vec(), [std::f64::consts::FRAC_PI_2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn phase(self) -> Exp<F> {
        let (x, y, zero) = (self.re(), self.im(), F::from_i64(0));
        choose(x.eq(zero) & y.eq(zero), constant(zero), y.atan2(x))
    }
    /// Magnitude and phase: [`magnitude`](Exp::magnitude) and [`phase`](Exp::phase).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let zs = use_(&Vector::from([Complex::new(0.0f64, 2.0), Complex::new(0.0, 0.0)]));
    /// let result = Interpreter::new().run(zs.map(|z| z.polar()))?;
    /// assert_eq!(result.to_vec(), [(2.0, std::f64::consts::FRAC_PI_2), (0.0, 0.0)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn polar(self) -> (Exp<F>, Exp<F>) {
        (self.magnitude(), self.phase())
    }
}

impl<F: RealFloat + Part> Signed for Complex<F> {
    #[track_caller]
    fn abs_of(z: Exp<Self>) -> Exp<Self> {
        complex(z.magnitude(), F::from_i64(0))
    }
    #[track_caller]
    fn signum_of(z: Exp<Self>) -> Exp<Self> {
        let (r, zero) = (z.magnitude(), constant(Self::from_i64(0)));
        choose(z.eq(zero), zero, complex(z.re() / r, z.im() / r))
    }
}

impl<F: RealFloat + Part> Fractional for Complex<F> {
    fn from_ratio(numer: i64, denom: i64) -> Self {
        Complex::new(F::from_ratio(numer, denom), F::from_i64(0))
    }
}

impl<F: ComplexPart> Floating for Complex<F> {
    fn from_f64(x: f64) -> Self {
        Complex::new(F::from_f64(x), F::from_i64(0))
    }
    #[track_caller]
    fn powf_of(z: Exp<Self>, w: Exp<Self>) -> Exp<Self> {
        let number = |x: f64| constant(Self::from_f64(x));
        let (zero, infinity) = (number(0.0), number(f64::INFINITY));
        let nan = constant(Complex::new(F::from_f64(f64::NAN), F::from_f64(f64::NAN)));
        let by_sign =
            |more, less| choose(w.re().gt(F::from_i64(0)), more, choose(w.re().lt(F::from_i64(0)), less, nan));
        let infinite = z.re().is_infinite() | z.im().is_infinite();
        let usual = Self::exp_of(Self::ln_of(z) * w);
        let value = choose(infinite, by_sign(infinity, zero), usual);
        choose(w.eq(zero), number(1.0), choose(z.eq(zero), by_sign(zero, infinity), value))
    }
    #[track_caller]
    fn sqrt_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Sqrt, z)
    }
    #[track_caller]
    fn exp_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Exp, z)
    }
    #[track_caller]
    fn ln_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Ln, z)
    }
    #[track_caller]
    fn sin_of(z: Exp<Self>) -> Exp<Self> {
        over_i(F::apply(Function::Sinh, times_i(z)))
    }
    #[track_caller]
    fn cos_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Cosh, times_i(z))
    }
    #[track_caller]
    fn tan_of(z: Exp<Self>) -> Exp<Self> {
        over_i(F::apply(Function::Tanh, times_i(z)))
    }
    #[track_caller]
    fn asin_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Asin, z)
    }
    #[track_caller]
    fn acos_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Acos, z)
    }
    #[track_caller]
    fn atan_of(z: Exp<Self>) -> Exp<Self> {
        exchanged(F::apply(Function::Atanh, exchanged(z)))
    }
    #[track_caller]
    fn sinh_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Sinh, z)
    }
    #[track_caller]
    fn cosh_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Cosh, z)
    }
    #[track_caller]
    fn tanh_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Tanh, z)
    }
    #[track_caller]
    fn asinh_of(z: Exp<Self>) -> Exp<Self> {
        exchanged(F::apply(Function::Asin, exchanged(z)))
    }
    #[track_caller]
    fn acosh_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Acosh, z)
    }
    #[track_caller]
    fn atanh_of(z: Exp<Self>) -> Exp<Self> {
        F::apply(Function::Atanh, z)
    }
}
