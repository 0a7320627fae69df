//! Powers.
//!
//! `x^y = e^(y ln x)`, with the logarithm in two `f64` that together have some 65 digits, so that what is left after the
//! multiplication with `y` is right to the last digit. Of `f32` one is enough, and short polynomials are: minimax ones, by the
//! algorithm of E. Ya. Remez.

use super::exponential::parts;
use super::trigonometric::{quick_two_sum, two_sum};
use super::write::Writer;
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// ln 2 in two parts; the multiples of the first are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238_164_90e-01, 1.908_214_929_270_587_700_02e-10];

/// `log2((1 + s) / (1 - s)) / s` of `s^2`, for `|s| <= (sqrt 2 - 1) / (sqrt 2 + 1)`, to 42 digits.
const LOG_2: [f64; 6] = [
    2.885_390_081_778_407_7,
    0.961_796_693_225_961_2,
    0.577_078_174_043_327_5,
    0.412_187_814_563_684_2,
    0.320_721_338_829_539_86,
    0.271_987_461_884_173_9,
];

/// `2^r` for `|r| <= 1/2`, to 34 digits.
const EXP_2: [f64; 8] = [
    0.999_999_999_961_682_3,
    0.693_147_180_728_425,
    0.240_226_511_981_516_82,
    5.550_410_353_531_174e-2,
    9.618_027_254_494_638e-3,
    1.333_392_248_759_049_3e-3,
    1.546_929_026_217_857e-4,
    1.520_192_741_953_763_6e-5,
];

pub(super) fn pow(w: &mut Writer<'_>, x: Val, y: Val) -> Val {
    let a = w.abs(x);
    let magnitude = if w.is_double() {
        let magnitude = double(w, a, y);
        ends(w, y, a, magnitude)
    } else {
        single(w, a, y)
    };
    special(w, x, y, a, magnitude)
}

/// `2^(y log2 a)`: what is near 0 and 1 is taken apart in `f32`, which loses nothing, and the rest is computed in `f64`, to
/// some 40 digits.
fn single(w: &mut Writer<'_>, a: Val, y: Val) -> Val {
    let (f, k) = super::logarithmic::mantissa(w, a);
    // The logarithms of 0 and infinity are infinite, and so are their multiples: the powers are as they should be.
    let [zero, infinity, minus_infinity] = [0.0, f64::INFINITY, f64::NEG_INFINITY].map(|c| w.c(c));
    let is_zero = w.eq(a, zero);
    let k = w.select(is_zero, minus_infinity, k);
    let is_infinite = w.eq(a, infinity);
    let k = w.select(is_infinite, infinity, k);
    let [f, k, y] = [f, k, y].map(|v| w.cast(v, ScalarType::F64));
    let magnitude = w.in_type(ScalarType::F64, |w| {
        // log2 m = s Q(s^2) with s = f / (2 + f).
        let under = w.add_c(f, 2.0);
        let s = w.div(f, under);
        let z = w.mul(s, s);
        let q = w.poly(z, &LOG_2);
        let log = w.fma(s, q, k);
        let product = w.mul(y, log);
        // Beyond these powers of two there is no `f32`.
        let (low, high) = (w.c(-160.0), w.c(140.0));
        let above = w.lt(high, product);
        let below = w.lt(product, low);
        let product = w.select(above, high, product);
        let product = w.select(below, low, product);
        let (n, integer) = w.nearest_integer(product, 1.0);
        let r = w.sub(product, n);
        let e = w.poly(r, &EXP_2);
        // In `f64` the power is normal.
        let digits = w.i(52);
        let exponent = w.binary(PrimOp::ShlP, integer, digits);
        let bits = w.bits(e);
        let bits = w.add(bits, exponent);
        w.float_of(bits)
    });
    w.cast(magnitude, ScalarType::F32)
}

fn double(w: &mut Writer<'_>, a: Val, y: Val) -> Val {
    let (high, low) = ln(w, a);
    // y (high + low)
    let product = w.mul(y, high);
    let minus = w.neg(product);
    let lows = w.fma(y, high, minus);
    let lows = w.fma(y, low, lows);
    // Beyond the range of results only the sign of the exponent matters, and what is infinite has no low part.
    let size = w.abs(product);
    let far = w.c(1000.0);
    let near = w.lt(size, far);
    let zero = w.c(0.0);
    let lows = w.select(near, lows, zero);
    let (e, n) = parts(w, product, Some(lows));
    w.scale_float(e, n)
}

/// The logarithm of a positive number, normal or not, in two parts.
fn ln(w: &mut Writer<'_>, a: Val) -> (Val, Val) {
    let (f, k) = super::logarithmic::mantissa(w, a);
    // s = f / (2 + f), in two parts.
    let two = w.c(2.0);
    let (under, under_low) = two_sum(w, two, f);
    let s = w.div(f, under);
    let minus = w.neg(s);
    let rest = w.fma(minus, under, f);
    let rest = w.fma(minus, under_low, rest);
    let s_low = w.div(rest, under);
    // z = s^2, in two parts.
    let z = w.mul(s, s);
    let minus = w.neg(z);
    let z_low = w.fma(s, s, minus);
    let twice = w.add(s, s);
    let z_low = w.fma(twice, s_low, z_low);
    // ln m = 2 s + 2/3 s z + s z^2 P(z): the second term in two parts as well.
    let [third, third_low] = [6.666_666_666_666_666e-1, 3.700_743_415_417_188_3e-17].map(|c| w.c(c));
    let u = w.mul(z, third);
    let minus = w.neg(u);
    let u_low = w.fma(z, third, minus);
    let u_low = w.fma(z, third_low, u_low);
    let u_low = w.fma(z_low, third, u_low);
    let p = w.poly(
        z,
        &[2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0, 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0],
    );
    let zz = w.mul(z, z);
    let u_low = w.fma(zz, p, u_low);
    // s (2 + u)
    let v = w.mul(s, u);
    let minus = w.neg(v);
    let v_low = w.fma(s, u, minus);
    let v_low = w.fma(s, u_low, v_low);
    let v_low = w.fma(s_low, u, v_low);
    let twice_low = w.add(s_low, s_low);
    let (m, m_low) = quick_two_sum(w, twice, v);
    let m_low = w.add(m_low, twice_low);
    let m_low = w.add(m_low, v_low);
    // k ln 2
    let [high, low] = LN_2.map(|c| w.c(c));
    let whole = w.mul(k, high);
    let (sum, lost) = two_sum(w, whole, m);
    let lost = w.fma(k, low, lost);
    let lost = w.add(lost, m_low);
    quick_two_sum(w, sum, lost)
}

/// The powers of zero and infinity, and those whose exponents are infinite.
fn ends(w: &mut Writer<'_>, y: Val, a: Val, magnitude: Val) -> Val {
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|c| w.c(c));
    let rises = w.lt(zero, y);
    // Of 0 and infinity, 0 or infinity.
    let is_zero = w.eq(a, zero);
    let is_infinite = w.eq(a, infinity);
    let (of_zero, of_infinity) = (w.select(rises, zero, infinity), w.select(rises, infinity, zero));
    let r = w.select(is_zero, of_zero, magnitude);
    let r = w.select(is_infinite, of_infinity, r);
    // An infinite exponent: by whether the base is above 1.
    let size = w.abs(y);
    let endless = w.eq(size, infinity);
    let above = w.lt(one, a);
    let grows = w.eq(above, rises);
    let of_endless = w.select(grows, infinity, zero);
    w.select(endless, of_endless, r)
}

/// What IEEE 754 says of negative numbers, ones, and NaN.
fn special(w: &mut Writer<'_>, x: Val, y: Val, a: Val, r: Val) -> Val {
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|c| w.c(c));
    let size = w.abs(y);
    let endless = w.eq(size, infinity);
    // A negative base: the sign of odd integers, no number of others.
    let negative = {
        let sign = w.sign(x);
        let none = w.i(0);
        w.binary(PrimOp::NeP, sign, none)
    };
    let whole = w.unary(PrimOp::FloorP, y);
    let is_whole = w.eq(whole, y);
    let half = w.mul_c(y, 0.5);
    let half_floor = w.unary(PrimOp::FloorP, half);
    let is_even = w.eq(half_floor, half);
    let is_odd = w.not(is_even);
    let is_odd = w.and(is_odd, is_whole);
    let minus = w.neg(r);
    let flips = w.and(negative, is_odd);
    let r = w.select(flips, minus, r);
    let none = w.nan();
    let broken = {
        let fraction = w.not(is_whole);
        let below = w.lt(x, zero);
        let broken = w.and(fraction, below);
        let finite = w.lt(size, infinity);
        let base_finite = w.lt(a, infinity);
        let broken = w.and(broken, finite);
        w.and(broken, base_finite)
    };
    let r = w.select(broken, none, r);
    let r = super::logarithmic::nan_of(w, x, r);
    let r = super::logarithmic::nan_of(w, y, r);
    // 1 to any power, even none; -1 to an infinite one; anything to the power of 0.
    let size_one = w.eq(a, one);
    let minus_one = w.and(size_one, endless);
    let is_one = w.eq(x, one);
    let exponent_zero = w.eq(y, zero);
    let ones = w.or(is_one, exponent_zero);
    let ones = w.or(ones, minus_one);
    w.select(ones, one, r)
}
