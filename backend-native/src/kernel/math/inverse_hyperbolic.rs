//! Inverse hyperbolic functions.
//!
//! Those of `f64` are logarithms of one and something. Those of `f32` are polynomials near 0, or near 1 of `acosh`, and
//! elsewhere `k ln 2 + 2 atanh s` with `s = (m - 1) / (m + 1)`, where `2^k m` is what to take the logarithm of; what it loses
//! when it is rounded goes into s. Polynomials of `f32` are minimax ones, by the algorithm of E. Ya. Remez.

use super::logarithmic::{LN_2_32, Parts, assemble, beside, take_apart};
use super::trigonometric::quick_two_sum;
use super::write::Writer;
use acc_core::ir::{PrimOp, Val};

/// Beyond this `x^2 + 1` is `x^2` and may be too large.
const LARGE_64: f64 = 268_435_456.0;
const LARGE_32: f64 = 4096.0;

/// `ln(1 + x)` for `x >= 0`: of the rounded sum, and what it lacks. Where the condition holds, `ln 2 a` of the other number.
fn ln_1p(w: &mut Writer<'_>, x: Val, beyond: Option<(Val, Val)>) -> Val {
    let u = w.add_c(x, 1.0);
    // What rounding took away: x - (u - 1), or 1 - (u - x) where x is the larger.
    let one = w.c(1.0);
    let (a, b) = (w.sub(u, one), w.sub(u, x));
    let (a, b) = (w.sub(x, a), w.sub(one, b));
    let small = w.lt(x, one);
    let lost = w.select(small, a, b);
    let u = match beyond {
        Some((beyond, a)) => w.select(beyond, a, u),
        None => u,
    };
    let p = take_apart(w, u, true);
    // Relative to the sum: a part of an ulp, of which few digits matter, so 1/m need not be more exact than this.
    let scale = one_over(w, p.exponent);
    let lost = w.mul(lost, scale);
    let over_m = w.poly(p.f, &[1.0, -1.0, 0.85]);
    let lost = w.mul(lost, over_m);
    // Where the sum is not scaled, x itself is f and nothing is lost.
    let zero = w.c(0.0);
    let plain = w.eq(p.k, zero);
    let f = w.select(plain, x, p.f);
    let lost = w.select(plain, zero, lost);
    let (k, lost) = match beyond {
        Some((beyond, _)) => {
            let more = w.select(beyond, one, zero);
            (w.add(p.k, more), w.select(beyond, zero, lost))
        }
        None => (p.k, lost),
    };
    let p = Parts { f, k, ..p };
    let rest = beside(w, p.f);
    assemble(w, &p, rest, Some(lost))
}

/// `2^-k`, of the bits of k as an exponent.
fn one_over(w: &mut Writer<'_>, exponent: Val) -> Val {
    let one = w.i(if w.is_double() { 1f64.to_bits() as i64 } else { i64::from(1f32.to_bits()) });
    let scale = w.sub(one, exponent);
    w.float_of(scale)
}

/// `y` of finite arguments; infinity and NaN are themselves.
fn of_finite(w: &mut Writer<'_>, a: Val, y: Val) -> Val {
    let infinity = w.c(f64::INFINITY);
    let finite = w.lt(a, infinity);
    w.select(finite, y, a)
}

/// `sign ln(1 + (|x| + x^2 / (1 + sqrt(1 + x^2))))`, and `ln |x| + ln 2` of large numbers.
pub(super) fn asinh(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let y = if w.is_double() {
        let limit = w.c(LARGE_64);
        let large = w.lt(limit, a);
        let one = w.c(1.0);
        let small = w.select(large, one, a);
        let square = w.mul(small, small);
        let root = w.add(square, one);
        let root = w.sqrt(root);
        let under = w.add(root, one);
        let rest = w.div(square, under);
        let sum = w.add(small, rest);
        ln_1p(w, sum, Some((large, a)))
    } else {
        asinh_single(w, a)
    };
    let y = of_finite(w, a, y);
    w.with_sign(y, sign)
}

/// `ln(1 + (t + sqrt(2 t + t^2)))` with `t = x - 1`, and `ln x + ln 2` of large numbers.
pub(super) fn acosh(w: &mut Writer<'_>, x: Val) -> Val {
    if !w.is_double() {
        let y = acosh_single(w, x);
        // What is below 1 is the root of a negative number, which is none.
        let infinity = w.c(f64::INFINITY);
        let endless = w.eq(x, infinity);
        return w.select(endless, x, y);
    }
    let (limit, one, two) = (w.c(LARGE_64), w.c(1.0), w.c(2.0));
    let large = w.lt(limit, x);
    let small = w.select(large, one, x);
    let t = w.sub(small, one);
    let inside = w.add(t, two);
    let inside = w.mul(inside, t);
    let root = w.sqrt(inside);
    let sum = w.add(t, root);
    let y = ln_1p(w, sum, Some((large, x)));
    let y = of_finite(w, x, y);
    let none = w.nan();
    let proper = w.binary(PrimOp::GeP, x, one);
    w.select(proper, y, none)
}

/// `sign ln(1 + 2 |x| / (1 - |x|)) / 2`
pub(super) fn atanh(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let one = w.c(1.0);
    let infinity = w.c(f64::INFINITY);
    let whole = w.eq(a, one);
    let y = if w.is_double() {
        let under = w.sub(one, a);
        let twice = w.add(a, a);
        // Of small numbers 2 x + 2 x^2 / (1 - x), which rounds less.
        let square = w.mul(twice, a);
        let half = w.lt_c(a, 0.5);
        let over = w.select(half, square, twice);
        let quotient = w.div(over, under);
        let near = w.add(twice, quotient);
        let t = w.select(half, near, quotient);
        let finite = w.select(whole, one, t);
        let y = ln_1p(w, finite, None);
        w.mul_c(y, 0.5)
    } else {
        atanh_single(w, a)
    };
    let y = w.select(whole, infinity, y);
    let none = w.nan();
    let proper = w.binary(PrimOp::LeP, a, one);
    let y = w.select(proper, y, none);
    w.with_sign(y, sign)
}

/// The bits of sign and exponent in an `f32`, and how many others there are.
const EXPONENT: i64 = 0xff80_0000_u32 as i32 as i64;
const DIGITS: i64 = 23;

/// A polynomial near 0; else the logarithm of `|x| + sqrt(x^2 + 1)`.
fn asinh_single(w: &mut Writer<'_>, a: Val) -> Val {
    let z = w.mul(a, a);
    let p = w.poly(
        z,
        &[
            -1.666_666_418e-1,
            7.499_816_269e-2,
            -4.459_843_412e-2,
            2.988_574_840e-2,
            -1.949_336_566e-2,
            8.483_853_191e-3,
        ],
    );
    let p = w.mul(z, p);
    let near = w.fma(a, p, a);
    let (limit, one) = (w.c(LARGE_32), w.c(1.0));
    let large = w.lt(limit, a);
    let small = w.select(large, limit, a);
    let square = w.fma(small, small, one);
    let root = w.sqrt(square);
    // What the sum lacks, and the root of it.
    let back = w.sub(square, one);
    let back = w.neg(back);
    let lost = w.fma(small, small, back);
    let minus = w.neg(root);
    let root_lost = w.fma(minus, root, square);
    let lost = w.add(root_lost, lost);
    // Quarters of both, so that the sum is not too large.
    let under = w.mul_c(root, 8.0);
    let lost = w.div(lost, under);
    let (root, a_quarter) = (w.mul_c(root, 0.25), w.mul_c(a, 0.25));
    let root = w.select(large, a_quarter, root);
    let (sum, sum_low) = quick_two_sum(w, root, a_quarter);
    let lost = w.add(sum_low, lost);
    let far = ln_4(w, sum, lost);
    let is_near = w.lt_c(a, 0.53);
    w.select(is_near, near, far)
}

/// With `t = x - 1`, `sqrt(2 t)` times a polynomial near 1; else the logarithm of `x + sqrt(x^2 - 1)`.
fn acosh_single(w: &mut Writer<'_>, x: Val) -> Val {
    let (limit, minus_one) = (w.c(LARGE_32), w.c(-1.0));
    let is_near = w.lt_c(x, 1.55);
    let t = w.add(x, minus_one);
    let twice = w.add(t, t);
    let large = w.lt(limit, x);
    let small = w.select(large, limit, x);
    let square = w.fma(small, small, minus_one);
    let square = w.select(is_near, twice, square);
    let root = w.sqrt(square);
    let minus = w.neg(root);
    let lost = w.fma(minus, root, square);
    let half = w.mul_c(lost, 0.5);
    // The root may be 0.
    let under = w.add_c(root, 1e-37);
    let lost = w.div(half, under);
    let p = w.poly(t, &[-8.333_315_700e-2, 1.874_530_129e-2, -5.539_260_339e-3, 1.737_982_035e-3, -3.939_595_772e-4]);
    let p = w.mul(t, p);
    let low = w.fma(root, p, lost);
    let near = w.add(root, low);
    let (root, quarter) = (w.mul_c(root, 0.25), w.mul_c(x, 0.25));
    let root = w.select(large, quarter, root);
    let (sum, sum_low) = quick_two_sum(w, quarter, root);
    let by = w.c(0.25);
    let lost = w.fma(lost, by, sum_low);
    let far = ln_4(w, sum, lost);
    w.select(is_near, near, far)
}

/// `ln(4 (x + low))` for normal numbers.
fn ln_4(w: &mut Writer<'_>, x: Val, low: Val) -> Val {
    // x = 2^k m, with m from 3/4 to 3/2.
    let least = w.i(i64::from(0.75f32.to_bits()));
    let (mask, digits, two) = (w.i(EXPONENT), w.i(DIGITS), w.i(2));
    let bits = w.bits(x);
    let above = w.sub(bits, least);
    let exponent = w.and(above, mask);
    let k = w.binary(PrimOp::ShrP, above, digits);
    let k = w.add(k, two);
    let float = w.float;
    let k = w.cast(k, float);
    let m = w.sub(bits, exponent);
    let m = w.float_of(m);
    let scale = one_over(w, exponent);
    let over = w.add_c(m, -1.0);
    let over = w.fma(low, scale, over);
    let under = w.add_c(m, 1.0);
    let s = w.div(over, under);
    let z = w.mul(s, s);
    let p = w.poly(z, &[3.333_347_738e-1, 1.997_849_196e-1, 1.518_988_013e-1]);
    let twice = w.add(s, s);
    let rest = w.mul(z, p);
    multiples(w, k, twice, rest, LN_2_32)
}

/// `k * unit + (s + s * rest)`, with the unit in two parts: the multiples of the first are exact.
fn multiples(w: &mut Writer<'_>, k: Val, s: Val, rest: Val, unit: [f64; 2]) -> Val {
    let [high, low] = unit.map(|c| w.c(c));
    let whole = w.mul(k, high);
    let (sum, sum_low) = quick_two_sum(w, whole, s);
    let lows = w.fma(k, low, sum_low);
    let lows = w.fma(s, rest, lows);
    w.add(sum, lows)
}

/// Below 1/2 a polynomial; else half the logarithm of `(1 + x) / (1 - x)`, which is `2^k m` with m from 3/4 to 3/2: then
/// `s = ((1 + x) - 2^k (1 - x)) / ((1 + x) + 2^k (1 - x))`, with one division.
fn atanh_single(w: &mut Writer<'_>, a: Val) -> Val {
    let (zero, one) = (w.c(0.0), w.c(1.0));
    let near = w.lt_c(a, 0.5);
    let (sum, sum_low) = quick_two_sum(w, one, a);
    let less = w.sub(one, a);
    // The difference of bits is nearly the logarithm to base 2, the exponents before the point.
    let (mask, half, digits) = (w.i(EXPONENT), w.i(1 << (DIGITS - 1)), w.i(DIGITS));
    let (sum_bits, less_bits) = (w.bits(sum), w.bits(less));
    let ratio = w.sub(sum_bits, less_bits);
    let ratio = w.add(ratio, half);
    let exponent = w.and(ratio, mask);
    let k = w.binary(PrimOp::ShrP, ratio, digits);
    let float = w.float;
    let k = w.cast(k, float);
    let scaled = w.add(less_bits, exponent);
    let scaled = w.float_of(scaled);
    let over = w.sub(sum, scaled);
    let over = w.add(over, sum_low);
    let under = w.add(sum, scaled);
    let s = w.div(over, under);
    let s = w.select(near, a, s);
    let k = w.select(near, zero, k);
    let z = w.mul(s, s);
    let p = w.poly(
        z,
        &[
            3.333_333_731e-1,
            1.999_962_181e-1,
            1.429_781_467e-1,
            1.092_940_196e-1,
            1.052_444_205e-1,
            1.696_207_747e-2,
            1.851_344_407e-1,
        ],
    );
    let rest = w.mul(z, p);
    multiples(w, k, s, rest, LN_2_32.map(|part| part / 2.0))
}
