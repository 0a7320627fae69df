//! Logarithms.
//!
//! `x = 2^k m` with `m` from `sqrt(1/2)` to `sqrt(2)`, and `f = m - 1`. For `f64`, with `s = f / (2 + f)`, the logarithm of
//! `m` is `f - f^2/2 + s (f^2/2 + R(s^2))` with the polynomial `R` of FreeBSD's `k_log.h`; for `f32` a polynomial in `f`
//! (of Cephes' `logf.c`).

use super::write::Writer;
use acc_core::ir::{PrimOp, Val};

/// ln 2 in two parts; the multiples of the first by exponents are exact.
pub(super) const LN_2_32: [f64; 2] = [0.693_359_375, -2.121_944_400_5e-4];
const LN_2_64: [f64; 2] = [6.931_471_803_691_238_164_90e-01, 1.908_214_929_270_587_700_02e-10];

/// A positive number taken apart.
pub(super) struct Parts {
    /// `m - 1`
    pub f: Val,
    /// `k` as a float.
    pub k: Val,
    /// The bits of k as an exponent, before it is made less for a number that was not normal.
    pub exponent: Val,
}

/// Takes a number apart, which is normal if `normal` says so.
pub(super) fn take_apart(w: &mut Writer<'_>, x: Val, normal: bool) -> Parts {
    let (digits, root_half) = if w.is_double() {
        (52, std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64)
    } else {
        (23, i64::from(std::f32::consts::FRAC_1_SQRT_2.to_bits()))
    };
    let (x, less) = if normal {
        (x, None)
    } else {
        // A number too small to have all digits is made larger first.
        let least = w.min_normal();
        let small = w.lt(x, least);
        let larger = w.mul_c(x, 2f64.powi(digits as i32 + 2));
        let zero = w.c(0.0);
        let by = w.c(f64::from(digits as i32 + 2));
        (w.select(small, larger, x), Some(w.select(small, by, zero)))
    };
    let bits = w.bits(x);
    let (root_half, digits) = (w.i(root_half), w.i(digits));
    let above = w.sub(bits, root_half);
    let k = w.binary(PrimOp::ShrP, above, digits);
    let exponent = w.binary(PrimOp::ShlP, k, digits);
    let m = w.sub(bits, exponent);
    let m = w.float_of(m);
    let f = w.add_c(m, -1.0);
    let float = w.float;
    let k = w.cast(k, float);
    let k = match less {
        Some(less) => w.sub(k, less),
        None => k,
    };
    Parts { f, k, exponent }
}

/// `m - 1` and `k` of a positive number.
pub(super) fn mantissa(w: &mut Writer<'_>, x: Val) -> (Val, Val) {
    let Parts { f, k, .. } = take_apart(w, x, false);
    (f, k)
}

/// The logarithm of `1 + f` without `f` itself: `f` and this are its value.
pub(super) fn beside(w: &mut Writer<'_>, f: Val) -> Val {
    if !w.is_double() {
        let p = w.poly(
            f,
            &[
                3.333_333_117_4e-1,
                -2.499_999_399_3e-1,
                2.000_071_476_5e-1,
                -1.666_805_766_5e-1,
                1.424_932_278_7e-1,
                -1.242_014_084_6e-1,
                1.167_699_874e-1,
                -1.151_461_031e-1,
                7.037_683_629_2e-2,
            ],
        );
        let square = w.mul(f, f);
        let cube = w.mul(square, f);
        let p = w.mul(cube, p);
        let minus_half = w.c(-0.5);
        return w.fma(minus_half, square, p);
    }
    let under = w.add_c(f, 2.0);
    let s = w.div(f, under);
    let z = w.mul(s, s);
    let r = w.poly(
        z,
        &[
            6.666_666_666_666_735_130e-01,
            3.999_999_999_940_941_908e-01,
            2.857_142_874_366_239_149e-01,
            2.222_219_843_214_978_396e-01,
            1.818_357_216_161_805_012e-01,
            1.531_383_769_920_937_332e-01,
            1.479_819_860_511_658_591e-01,
        ],
    );
    let r = w.mul(z, r);
    let half = w.mul_c(f, 0.5);
    let half = w.mul(half, f);
    let sum = w.add(half, r);
    let product = w.mul(s, sum);
    w.sub(product, half)
}

/// The value for positive finite numbers, and what the others have.
fn ends(w: &mut Writer<'_>, x: Val, y: Val) -> Val {
    let (infinity, zero, least) = (w.c(f64::INFINITY), w.c(0.0), w.c(f64::NEG_INFINITY));
    let is_infinite = w.eq(x, infinity);
    let y = w.select(is_infinite, x, y);
    let is_zero = w.eq(x, zero);
    let y = w.select(is_zero, least, y);
    // Negative, or no number.
    let none = w.nan();
    let proper = w.binary(PrimOp::GeP, x, zero);
    w.select(proper, y, none)
}

/// `k * high + (f + (rest + (k * low + more)))`
pub(super) fn assemble(w: &mut Writer<'_>, p: &Parts, rest: Val, more: Option<Val>) -> Val {
    let [high, low] = (if w.is_double() { LN_2_64 } else { LN_2_32 }).map(|c| w.c(c));
    let lows = match more {
        Some(more) => w.fma(p.k, low, more),
        None => w.mul(p.k, low),
    };
    let rest = w.add(rest, lows);
    let sum = w.add(p.f, rest);
    w.fma(p.k, high, sum)
}

pub(super) fn ln(w: &mut Writer<'_>, x: Val) -> Val {
    let p = take_apart(w, x, false);
    let rest = beside(w, p.f);
    let y = assemble(w, &p, rest, None);
    ends(w, x, y)
}

/// A logarithm to another base: `k` times that of 2, and the natural one of `m` times that of e, both in two parts.
fn to_base(w: &mut Writer<'_>, x: Val, of_two: [f64; 2], of_e: [f64; 2]) -> Val {
    let p = take_apart(w, x, false);
    let rest = beside(w, p.f);
    // ln m in two parts.
    let (high, low) = super::trigonometric::quick_two_sum(w, p.f, rest);
    let [two, two_low] = of_two.map(|c| w.c(c));
    let [e, e_low] = of_e.map(|c| w.c(c));
    let product = w.mul(high, e);
    let minus = w.neg(product);
    let lows = w.fma(high, e, minus);
    let lows = w.fma(high, e_low, lows);
    let lows = w.fma(low, e, lows);
    let lows = w.fma(p.k, two_low, lows);
    let whole = w.mul(p.k, two);
    let (sum, lost) = super::trigonometric::two_sum(w, whole, product);
    let lows = w.add(lows, lost);
    let y = w.add(sum, lows);
    ends(w, x, y)
}

pub(super) fn log2(w: &mut Writer<'_>, x: Val) -> Val {
    let e = std::f64::consts::LOG2_E;
    let of_e = if w.is_double() { [e, 2.035_527_374_093_103_3e-17] } else { split(e) };
    to_base(w, x, [1.0, 0.0], of_e)
}

pub(super) fn log10(w: &mut Writer<'_>, x: Val) -> Val {
    let (two, e) = (std::f64::consts::LOG10_2, std::f64::consts::LOG10_E);
    let (of_two, of_e) = if w.is_double() {
        // The first part has trailing zeros, so that its multiples are exact.
        ([3.010_299_956_636_117_713_06e-01, 3.694_239_077_158_930_786_16e-13], [e, 1.098_319_650_216_765e-17])
    } else {
        ([3.007_812_5e-1, two - 3.007_812_5e-1], split(e))
    };
    to_base(w, x, of_two, of_e)
}

/// A number as two of `f32`.
fn split(x: f64) -> [f64; 2] {
    let high = f64::from(x as f32);
    [high, x - high]
}

/// `y`, or `x` where that is no number.
pub(super) fn nan_of(w: &mut Writer<'_>, x: Val, y: Val) -> Val {
    let none = w.unary(PrimOp::IsNanP, x);
    w.select(none, x, y)
}
