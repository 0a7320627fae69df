//! Elementary functions of complex numbers, accurate for all arguments.
//!
//! Branch cuts, signed zeros, infinities and NaN are those of C99 (Annex G) and NumPy. The formulas of the inverse functions
//! are those of Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using exception
//! handling" (ACM TOMS 23, 1997), and of Kahan, "Branch cuts for complex elementary functions" (1987), which also has the
//! hyperbolic tangent.

use crate::api::scalars::compare::choose;
use crate::api::{Exp, Num, Part, RealFloat, complex, constant};
use half::f16;
use num_complex::Complex;

/// The functions from which all others follow by rotations of argument and result.
#[derive(Clone, Copy)]
pub enum Function {
    Sqrt,
    Exp,
    Ln,
    Sinh,
    Cosh,
    Tanh,
    Asin,
    Acos,
    Acosh,
    Atanh,
}

type C<F> = Exp<Complex<F>>;

/// Parts of complex numbers that have the elementary functions: floats.
///
/// ```
/// use acc_core::prelude::*;
/// fn root<F: ComplexPart>(x: Exp<F>) -> Exp<Complex<F>> {
///     complex(x, F::from_i64(0)).sqrt()
/// }
/// assert_eq!(Interpreter::new().run(use_(&Vector::from([-4.0f64])).map(root))?.to_vec(), [Complex::new(0.0, 2.0)]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub trait ComplexPart: RealFloat + Part {
    /// Applies a function.
    fn apply(function: Function, z: C<Self>) -> C<Self>;
}

/// Floats that the formulas are evaluated in.
trait Evaluated: RealFloat + Part {
    /// The distance from 1 to the next number.
    const EPSILON: f64;
    /// From here on `1 / z^2` is negligible beside 1.
    const MIN_NEGLIGIBLE_INVERSE_SQUARE: f64;
    /// From here on the real part of the hyperbolic tangent is 1.
    const TANH_IS_ONE: f64;
    /// `2^s + 1`, where `s` is half the number of digits, rounded up: it splits a number into two of half the digits.
    const SPLIT: f64;
}
impl Evaluated for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    const MIN_NEGLIGIBLE_INVERSE_SQUARE: f64 = (1u64 << 14) as f64;
    const TANH_IS_ONE: f64 = 11.0;
    const SPLIT: f64 = 4097.0;
}
impl Evaluated for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const MIN_NEGLIGIBLE_INVERSE_SQUARE: f64 = (1u64 << 29) as f64;
    const TANH_IS_ONE: f64 = 22.0;
    const SPLIT: f64 = 134_217_729.0;
}

impl ComplexPart for f32 {
    #[track_caller]
    fn apply(function: Function, z: C<f32>) -> C<f32> {
        apply(function, z)
    }
}
impl ComplexPart for f64 {
    #[track_caller]
    fn apply(function: Function, z: C<f64>) -> C<f64> {
        apply(function, z)
    }
}
impl ComplexPart for f16 {
    // In `f32`, and rounded once.
    #[track_caller]
    fn apply(function: Function, z: C<f16>) -> C<f16> {
        let wide = apply::<f32>(function, complex(z.re().to::<f32>(), z.im().to::<f32>()));
        complex(wide.re().to::<f16>(), wide.im().to::<f16>())
    }
}

#[track_caller]
fn apply<F: Evaluated>(function: Function, z: C<F>) -> C<F> {
    let (x, y) = (z.re(), z.im());
    match function {
        Function::Sqrt => sqrt(x, y),
        Function::Exp => exp(x, y),
        Function::Ln => ln(x, y),
        Function::Sinh => sinh(x, y),
        Function::Cosh => cosh(x, y),
        Function::Tanh => tanh(x, y),
        Function::Asin => {
            let arc = Arc::of(x.abs(), y.abs());
            complex(with_sign(arc.sine, x), with_sign(arc.log, y))
        }
        Function::Acos => {
            let arc = Arc::of(x.abs(), y.abs());
            complex(arc.cosine_of(x), with_sign(arc.log, -y))
        }
        // Of the two numbers `i acos z` and `-i acos z` the one to the right.
        Function::Acosh => {
            let arc = Arc::of(x.abs(), y.abs());
            complex(arc.log, with_sign(arc.cosine_of(x), y))
        }
        Function::Atanh => atanh(x, y),
    }
}

#[track_caller]
fn number<F: RealFloat>(x: f64) -> Exp<F> {
    constant(F::from_f64(x))
}

/// Whether the sign bit is set, of numbers.
#[track_caller]
fn is_negative<F: RealFloat>(x: Exp<F>) -> Exp<bool> {
    x.lt(number::<F>(0.0)) | x.is_negative_zero()
}

/// The magnitude of one number with the sign of another.
#[track_caller]
fn with_sign<F: RealFloat>(magnitude: Exp<F>, sign: Exp<F>) -> Exp<F> {
    choose(is_negative(sign), -magnitude.abs(), magnitude.abs())
}

#[track_caller]
fn is_finite<F: RealFloat>(x: Exp<F>) -> Exp<bool> {
    x.abs().lt(number::<F>(f64::INFINITY))
}

/// `ln(1 + x)` for `x` of -1 and more: the rounding error of the sum cancels (Kahan; see Higham, "Accuracy and Stability
/// of Numerical Algorithms", section 1.14.1).
#[track_caller]
fn ln_1p<F: RealFloat>(x: Exp<F>) -> Exp<F> {
    let one = number::<F>(1.0);
    let sum = x + one;
    choose(sum.eq(one), x, sum.ln() * x / (sum - one))
}

#[track_caller]
fn hypot<F: RealFloat>(x: Exp<F>, y: Exp<F>) -> Exp<F> {
    complex(x, y).magnitude()
}

/// The logarithm of the magnitude, of two magnitudes of which one may be huge.
#[track_caller]
fn ln_hypot<F: RealFloat>(x: Exp<F>, y: Exp<F>) -> Exp<F> {
    let quarter = number::<F>(0.25);
    hypot(x * quarter, y * quarter).ln() + number::<F>(2.0 * std::f64::consts::LN_2)
}

/// Kahan's square root, of a number scaled by a power of 4 so that nothing leaves the range of floats.
#[track_caller]
fn sqrt<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, half) = (number::<F>(0.0), number::<F>(0.5));
    let k = x.abs().max(y.abs()).exponent() >> 1;
    let (u, v) = (x.abs().scale_float(-(k + k)), y.abs().scale_float(-(k + k)));
    let length = choose(u.is_infinite(), u, (u * u + v * v).sqrt());
    let greater = ((length + u) * half).sqrt().scale_float(k);
    let lesser = choose(greater.eq(zero), zero, y.abs() / greater * half);
    let left = is_negative(x);
    let (re, im) = (choose(left, lesser, greater), choose(left, greater, lesser));
    let infinite = y.is_infinite();
    complex(choose(infinite, y.abs(), re), choose(infinite, y, with_sign(im, y)))
}

#[track_caller]
fn exp<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, infinity) = (number::<F>(0.0), number::<F>(f64::INFINITY));
    let whole = x.exp();
    let root = (x * number::<F>(0.5)).exp();
    let growth = Growth { whole, factors: (root, root), over: whole.is_infinite() & is_finite(x) };
    let (re, im) = (growth.times(y.cos()), growth.times(y.sin()));
    let im = choose(y.eq(zero), y, im);
    let vague = !is_finite(y) & x.is_infinite();
    let (vanished, grown) = (vague & x.lt(zero), vague & x.gt(zero));
    let re = choose(vanished, zero, choose(grown, infinity, re));
    complex(re, choose(vanished, zero, im))
}

/// An exponential, whole and as two factors, which are in range where the whole is not.
struct Growth<F: ?Sized> {
    whole: Exp<F>,
    factors: (Exp<F>, Exp<F>),
    /// Whether the whole is out of range.
    over: Exp<bool>,
}

impl<F: RealFloat> Growth<F> {
    #[track_caller]
    fn times(&self, factor: Exp<F>) -> Exp<F> {
        choose(self.over, self.factors.0 * factor * self.factors.1, self.whole * factor)
    }
}

#[track_caller]
fn ln<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, one, half) = (number::<F>(0.0), number::<F>(1.0), number::<F>(0.5));
    let (a, b) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    let length = hypot(x, y);
    // Near the unit circle from the distance of the squares to 1, with the errors of the squares.
    let ((a_sqr, a_error), (b_sqr, b_error)) = (square(a), square(b));
    let near = length.gt(half) & length.lt(number::<F>(2.0));
    let distance = ((a_sqr - one) + b_sqr) + (a_error + b_error);
    let from_distance = ln_1p(choose(near, distance, zero)) * half;
    let huge = length.gt(number::<F>(F::MIN_NEGLIGIBLE_INVERSE_SQUARE));
    let re = choose(near, from_distance, choose(huge, ln_hypot(x, y), length.ln()));
    complex(re, y.atan2(x))
}

/// The square, rounded, and what is missing (Dekker).
#[track_caller]
fn square<F: Evaluated>(x: Exp<F>) -> (Exp<F>, Exp<F>) {
    let shifted = x * number::<F>(F::SPLIT);
    let high = shifted - (shifted - x);
    let low = x - high;
    let square = x * x;
    (square, ((high * high - square) + (high * low + high * low)) + low * low)
}

/// A hyperbolic function of a large argument, `exp(|x|) / 2`.
#[track_caller]
fn half_growth<F: RealFloat>(x: Exp<F>, whole: Exp<F>) -> Growth<F> {
    let half = number::<F>(0.5);
    let root = (x.abs() * half).exp();
    Growth { whole, factors: (root, root * half), over: whole.is_infinite() & is_finite(x) }
}

#[track_caller]
fn sinh<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, vague) = (number::<F>(0.0), !is_finite(y));
    let re = half_growth(x, x.abs().sinh()).times(y.cos());
    let re = choose(is_negative(x), -re, re);
    let re = choose(vague & (x.eq(zero) | x.is_infinite()), x, re);
    let im = half_growth(x, x.cosh()).times(y.sin());
    complex(re, choose(y.eq(zero), y, im))
}

#[track_caller]
fn cosh<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, vague) = (number::<F>(0.0), !is_finite(y));
    let re = half_growth(x, x.cosh()).times(y.cos());
    let re = choose(vague & x.is_infinite(), x.abs(), re);
    let im = half_growth(x, x.abs().sinh()).times(y.sin());
    let im = choose(is_negative(x), -im, im);
    let im = choose(x.eq(zero) | y.eq(zero), choose(is_negative(x), -with_sign(zero, y), with_sign(zero, y)), im);
    complex(re, im)
}

/// Kahan's hyperbolic tangent.
#[track_caller]
fn tanh<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, one) = (number::<F>(0.0), number::<F>(1.0));
    let large = x.abs().gt(number::<F>(F::TANH_IS_ONE));
    let (t, s) = (y.tan(), choose(large, zero, x.sinh()));
    let beta = one + t * t;
    let rho = (one + s * s).sqrt();
    let below = one + beta * s * s;
    let falling = (-x.abs()).exp();
    let far = number::<F>(4.0) * y.sin() * y.cos() * falling * falling;
    let re = choose(large, with_sign(one, x), beta * rho * s / below);
    let im = choose(large, far, t / below);
    let im = choose(y.eq(zero), y, im);
    // Of an infinite imaginary part nothing is known but at 0 and at infinity.
    let (vague, nan) = (!is_finite(y), number::<F>(f64::NAN));
    let re = choose(vague & !x.is_infinite(), choose(x.eq(zero), x, nan), re);
    let im = choose(vague, choose(x.is_infinite(), with_sign(zero, y), nan), im);
    complex(re, im)
}

/// What inverse sines and cosines are made of, for a number in the first quadrant.
struct Arc<F: ?Sized> {
    /// The real part of the inverse sine.
    sine: Exp<F>,
    /// The real part of the inverse cosine.
    cosine: Exp<F>,
    /// The imaginary part of the inverse sine.
    log: Exp<F>,
}

impl<F: Evaluated> Arc<F> {
    #[track_caller]
    fn of(x: Exp<F>, y: Exp<F>) -> Arc<F> {
        let (zero, one, half) = (number::<F>(0.0), number::<F>(1.0), number::<F>(0.5));
        let large =
            x.gt(number::<F>(F::MIN_NEGLIGIBLE_INVERSE_SQUARE)) | y.gt(number::<F>(F::MIN_NEGLIGIBLE_INVERSE_SQUARE));
        // Distances from -1 and 1; `a` is the semi-major axis of the ellipse through the point with these foci.
        let (right, left) = (x + one, x - one);
        let (r, s) = (hypot(right, y), hypot(left, y));
        let a = (r + s) * half;
        let b = x / a;
        let inside = ((a + x) * half * (y * (y / (r + right)) + (s - left))).sqrt();
        let outside = y * ((a + x) * half * (one / (r + right) + one / (s + left))).sqrt();
        let d = choose(x.le(one), inside, outside);
        // The inverse sine of what is not near 1, else an inverse tangent.
        let steep = b.gt(number::<F>(0.6417));
        let sine = choose(large, x.atan2(y), choose(steep, x.atan2(d), b.asin()));
        let cosine = choose(large, y.atan2(x), choose(steep, d.atan2(x), b.acos()));

        // `a - 1`, without cancellation.
        let over = choose(x.lt(one), y * (y / (s - left)), s + left);
        let excess = (y * (y / (r + right)) + over) * half;
        let near = ln_1p(excess + (excess * (a + one)).sqrt());
        let far = (a + (a * a - one).sqrt()).ln();
        let flat = x.lt(one) & y.lt(number::<F>(F::EPSILON) * (one - x));
        let log = choose(a.le(number::<F>(1.5)), near, far);
        let log = choose(flat, y / (right * (one - x)).sqrt(), log);
        let log = choose(large, ln_hypot(x, y) + number::<F>(std::f64::consts::LN_2), log);
        Arc {
            sine: choose(x.eq(zero), x, sine),
            cosine: choose(x.eq(zero), number::<F>(std::f64::consts::FRAC_PI_2), cosine),
            log,
        }
    }

    /// The real part of the inverse cosine of a number whose real part is `x`.
    #[track_caller]
    fn cosine_of(&self, x: Exp<F>) -> Exp<F> {
        choose(is_negative(x), number::<F>(std::f64::consts::PI) - self.cosine, self.cosine)
    }
}

#[track_caller]
fn atanh<F: Evaluated>(x: Exp<F>, y: Exp<F>) -> C<F> {
    let (zero, one, half) = (number::<F>(0.0), number::<F>(1.0), number::<F>(0.5));
    let (a, b) = (x.abs(), y.abs());
    let flat = b.lt(number::<F>(F::EPSILON));
    let large =
        a.gt(number::<F>(F::MIN_NEGLIGIBLE_INVERSE_SQUARE)) | b.gt(number::<F>(F::MIN_NEGLIGIBLE_INVERSE_SQUARE));
    let infinite = a.is_infinite() | b.is_infinite();

    let to_pole = a - one;
    let quotient = number::<F>(4.0) * a / (to_pole * to_pole + b * b);
    let at_pole = (number::<F>(std::f64::consts::LN_2) - b.ln()) * half;
    let near = choose(a.eq(one) & flat, at_pole, ln_1p(quotient) * number::<F>(0.25));
    let length = hypot(a, b);
    let far = choose(infinite, zero, a / length / length);
    let re = choose(a.eq(zero), a, choose(large, far, near));

    let product = (one - a) * (one + a);
    let angle = (b + b).atan2(choose(flat, product, product - b * b));
    let angle = choose(a.eq(one), number::<F>(2.0).atan2(-b), angle) * half;
    let angle = choose(b.eq(zero) & a.le(one), zero, angle);
    let im = choose(large, choose(b.is_nan(), b, number::<F>(std::f64::consts::FRAC_PI_2)), angle);
    complex(with_sign(re, x), with_sign(im, y))
}

/// Multiplied by i.
#[track_caller]
pub(in crate::api) fn times_i<F: Num + crate::api::ScalarElt>(z: C<F>) -> C<F> {
    complex(-z.im(), z.re())
}

/// Divided by i.
#[track_caller]
pub(in crate::api) fn over_i<F: Num + crate::api::ScalarElt>(z: C<F>) -> C<F> {
    complex(z.im(), -z.re())
}

/// Parts exchanged: what multiplication by i becomes where a function is odd and respects conjugation.
#[track_caller]
pub(in crate::api) fn exchanged<F: Num + crate::api::ScalarElt>(z: C<F>) -> C<F> {
    complex(z.im(), z.re())
}
