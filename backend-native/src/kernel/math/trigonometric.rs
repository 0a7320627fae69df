//! Sine, cosine and tangent.
//!
//! The angle is reduced to `[-pi/4, pi/4]` and a quadrant, with pi/2 in three parts and fused
//! multiply-adds, so that products are exact (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions",
//! 1980). Angles beyond [`LIMIT`] are multiplied with as many bits of 2/pi as matter, in integers (M. H. Payne and
//! R. N. Hanek, "Radian reduction for trigonometric functions", 1983). Polynomials: those of FreeBSD's `k_sin.c` and
//! `k_cos.c` for `f64`, of Cephes' `sinf.c` for `f32`.

use super::write::Writer;
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::sync::{Arc, LazyLock};

/// Angles up to here are reduced quickly; in `f32` and `f64`.
const LIMIT: (f64, f64) = (131_072.0, 1_073_741_824.0);

/// pi/2 in parts whose sum is exact to three times the digits of the type.
const HALF_PI_32: [f64; 3] = [1.570_796_370_506_286_6, -4.371_138_828_673_793e-8, -1.715_124_510_005_881_9e-15];
const HALF_PI_64: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// An angle of at most pi/4, what it lacks, and its quadrant, as an integer of the float's width.
struct Reduced {
    r: Val,
    tail: Val,
    quarters: Val,
}

pub(super) fn sin(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let q = reduce(w, a);
    let y = quarter(w, &q, 0);
    // The sign of the angle, with the zero's.
    w.with_sign(y, sign)
}

pub(super) fn cos(w: &mut Writer<'_>, x: Val) -> Val {
    let a = w.abs(x);
    let q = reduce(w, a);
    quarter(w, &q, 1)
}

pub(super) fn tan(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let q = reduce(w, a);
    let (s, c) = (sine(w, &q), cosine(w, &q));
    let odd = is_odd(w, &q, 0);
    let minus = w.neg(c);
    let (over, under) = (w.select(odd, minus, s), w.select(odd, s, c));
    let y = w.div(over, under);
    w.with_sign(y, sign)
}

/// The sine of an angle, some quadrants further.
fn quarter(w: &mut Writer<'_>, q: &Reduced, further: i64) -> Val {
    let (s, c) = (sine(w, q), cosine(w, q));
    let odd = is_odd(w, q, further);
    let y = w.select(odd, c, s);
    // Negative after two quarters: the second bit becomes the sign.
    let (further, two) = (w.i(further), w.i(2));
    let quarters = w.add(q.quarters, further);
    let second = w.and(quarters, two);
    let up = w.i(if w.is_double() { 62 } else { 30 });
    let sign = w.binary(PrimOp::ShlP, second, up);
    w.with_sign(y, sign)
}

fn is_odd(w: &mut Writer<'_>, q: &Reduced, further: i64) -> Val {
    let (one, even) = (w.i(1), w.i(1 - further % 2));
    let last = w.and(q.quarters, one);
    w.eq(last, even)
}

fn sine(w: &mut Writer<'_>, q: &Reduced) -> Val {
    let z = w.mul(q.r, q.r);
    let v = w.mul(z, q.r);
    if !w.is_double() {
        let p = w.poly(z, &[-1.666_665_461_1e-1, 8.332_160_873_6e-3, -1.951_529_589_1e-4]);
        return w.fma(v, p, q.r);
    }
    let p = w.poly(
        z,
        &[
            8.333_333_333_322_489_461_24e-3,
            -1.984_126_982_985_794_931_34e-4,
            2.755_731_370_707_006_767_89e-6,
            -2.505_076_025_340_686_341_95e-8,
            1.589_690_995_211_550_102_21e-10,
        ],
    );
    // r - ((z * (tail / 2 - v * p) - tail) + v / 6)
    let half = w.mul_c(q.tail, 0.5);
    let minus = w.neg(v);
    let inner = w.fma(minus, p, half);
    let minus_tail = w.neg(q.tail);
    let inner = w.fma(z, inner, minus_tail);
    let sixth = w.c(1.666_666_666_666_663_243_48e-1);
    let inner = w.fma(v, sixth, inner);
    w.sub(q.r, inner)
}

fn cosine(w: &mut Writer<'_>, q: &Reduced) -> Val {
    let z = w.mul(q.r, q.r);
    let one = w.c(1.0);
    let half = w.mul_c(z, 0.5);
    let rest = w.sub(one, half);
    // What the subtraction rounded away.
    let lost = w.sub(one, rest);
    let lost = w.sub(lost, half);
    let zz = w.mul(z, z);
    if !w.is_double() {
        let p = w.poly(z, &[4.166_664_568_298_827e-2, -1.388_731_625_493_765e-3, 2.443_315_711_809_948e-5]);
        let small = w.fma(zz, p, lost);
        return w.add(rest, small);
    }
    let p = w.poly(
        z,
        &[
            4.166_666_666_666_660_190_37e-2,
            -1.388_888_888_887_410_957_49e-3,
            2.480_158_728_947_672_941_78e-5,
            -2.755_731_435_139_066_330_35e-7,
            2.087_572_321_298_174_827_90e-9,
            -1.135_964_755_778_819_482_65e-11,
        ],
    );
    let minus_tail = w.neg(q.tail);
    let corrected = w.fma(minus_tail, q.r, lost);
    let small = w.fma(zz, p, corrected);
    w.add(rest, small)
}

/// Reduces an angle that is not negative.
fn reduce(w: &mut Writer<'_>, a: Val) -> Reduced {
    let limit = w.c(if w.is_double() { LIMIT.1 } else { LIMIT.0 });
    let far = w.lt(limit, a);
    let results = w.unlikely(
        far,
        |w| {
            let Reduced { r, tail, quarters } = if w.is_double() {
                reduce_far(w, a)
            } else {
                let float = w.float;
                let wide = w.cast(a, ScalarType::F64);
                let q = w.in_type(ScalarType::F64, |w| reduce_far(w, wide));
                let zero = w.c(0.0);
                Reduced { r: w.cast(q.r, float), tail: zero, quarters: w.cast(q.quarters, ScalarType::I32) }
            };
            vec![r, tail, quarters]
        },
        |w| {
            let Reduced { r, tail, quarters } = reduce_near(w, a);
            vec![r, tail, quarters]
        },
    );
    Reduced { r: results[0], tail: results[1], quarters: results[2] }
}

fn reduce_near(w: &mut Writer<'_>, a: Val) -> Reduced {
    let (n, quarters) = w.nearest_integer(a, std::f64::consts::FRAC_2_PI);
    let [p1, p2, p3] = (if w.is_double() { HALF_PI_64 } else { HALF_PI_32 }).map(|p| w.c(p));
    let minus = w.neg(n);
    // Exact: the difference is below 1 and a multiple of the last digit of both.
    let r = w.fma(minus, p1, a);
    if !w.is_double() {
        let r = w.fma(minus, p2, r);
        let r = w.fma(minus, p3, r);
        let tail = w.c(0.0);
        return Reduced { r, tail, quarters };
    }
    let product = w.mul(minus, p2);
    let negated = w.neg(product);
    let product_low = w.fma(minus, p2, negated);
    let (sum, low) = two_sum(w, r, product);
    let low = w.add(low, product_low);
    let low = w.fma(minus, p3, low);
    let (r, tail) = quick_two_sum(w, sum, low);
    Reduced { r, tail, quarters }
}

/// `a + b` rounded, and what that lacks (D. E. Knuth, "The Art of Computer Programming", vol. 2, 4.2.2).
pub(super) fn two_sum(w: &mut Writer<'_>, a: Val, b: Val) -> (Val, Val) {
    let s = w.add(a, b);
    let bb = w.sub(s, a);
    let aa = w.sub(s, bb);
    let (da, db) = (w.sub(a, aa), w.sub(b, bb));
    (s, w.add(da, db))
}

/// The same where `a` is at least as large as `b`, or zero (T. J. Dekker, "A floating-point technique for extending the
/// available precision", 1971).
pub(super) fn quick_two_sum(w: &mut Writer<'_>, a: Val, b: Val) -> (Val, Val) {
    let s = w.add(a, b);
    let bb = w.sub(s, a);
    (s, w.sub(b, bb))
}

/// 2/pi, 64 bits of zeros before it.
static TWO_OVER_PI: LazyLock<Arc<[u64]>> = LazyLock::new(|| {
    Arc::new([
        0x0000_0000_0000_0000,
        0xa2f9_836e_4e44_1529,
        0xfc27_57d1_f534_ddc0,
        0xdb62_9599_3c43_9041,
        0xfe51_63ab_debb_c561,
        0xb724_6e3a_424d_d2e0,
        0x0649_2eea_09d1_921c,
        0xfe1d_eb1c_b129_a73e,
        0xe882_35f5_2ebb_4484,
        0xe99c_7026_b45f_7e41,
        0x3991_d639_8353_39f4,
        0x9c84_5f8b_bdf9_283b,
        0x1ff8_97ff_de05_980f,
        0xef2f_118b_5a0a_6d1f,
        0x6d36_7ecf_27cb_09b7,
        0x4f46_3f66_9e5f_ea2d,
        0x7527_bac7_ebe5_f17b,
        0x3d07_39f7_8a52_92ea,
        0x6bfb_5fb1_1f8d_5d08,
        0x5603_3046_fc7b_6bab,
    ])
});

/// Reduces an `f64` from 2^20 on.
fn reduce_far(w: &mut Writer<'_>, a: Val) -> Reduced {
    use PrimOp as P;
    let bits = w.bitcast(a, ScalarType::U64);
    // a = m * 2^e, with an integer m of 53 bits.
    let digits = w.u(52);
    let biased = w.binary(P::ShrP, bits, digits);
    let (fraction, leading) = (w.u((1 << 52) - 1), w.u(1 << 52));
    let m = w.and(bits, fraction);
    let m = w.or(m, leading);
    // The first bit of 2/pi that matters: those before it contribute multiples of 2 pi.
    let start = w.u(1075 + 2 - 64);
    let start = w.sub(biased, start);
    let (six, low_bits, width) = (w.u(6), w.u(63), w.u(64));
    let word = w.binary(P::ShrP, start, six);
    let by = w.and(start, low_bits);
    let rest = w.sub(width, by);
    let mut words = Vec::new();
    for k in 0..4 {
        let k = w.u(k);
        let at = w.add(word, k);
        let at = w.cast(at, ScalarType::I64);
        words.push(w.table(&TWO_OVER_PI, at));
    }
    // 192 bits from there on.
    let mut window = Vec::new();
    for pair in words.windows(2) {
        let (high, low) = (w.binary(P::ShlP, pair[0], by), w.binary(P::ShrP, pair[1], rest));
        window.push(w.or(high, low));
    }
    // The fraction of a / (pi/2) / 4, of 192 bits.
    let (high2, p2) = wide_product(w, m, window[2]);
    let (high1, low1) = wide_product(w, m, window[1]);
    let p1 = w.add(low1, high2);
    let carried = w.binary(P::LtP, p1, high2);
    let carried = w.cast(carried, ScalarType::U64);
    let low0 = w.mul(m, window[0]);
    let p0 = w.add(low0, high1);
    let p0 = w.add(p0, carried);
    // The quarters, rounded to nearest, and what is left, as a signed fraction of a quarter.
    let (two, last, top) = (w.u(2), w.u(62), w.u(63));
    let shifted = |w: &mut Writer<'_>, high, low| {
        let (a, b) = (w.binary(P::ShlP, high, two), w.binary(P::ShrP, low, last));
        w.or(a, b)
    };
    let (f0, f1) = (shifted(w, p0, p1), shifted(w, p1, p2));
    let whole = w.binary(P::ShrP, p0, last);
    let up = w.binary(P::ShrP, f0, top);
    let quarters = w.add(whole, up);
    let quarters = w.cast(quarters, ScalarType::I64);
    // In parts that floats hold exactly.
    let f0 = w.cast(f0, ScalarType::I64);
    let (half, thirty_two) = (w.u(u64::from(u32::MAX)), w.i(32));
    let h3 = w.binary(P::ShrP, f0, thirty_two);
    let f0 = w.cast(f0, ScalarType::U64);
    let h2 = w.and(f0, half);
    let up = w.u(32);
    let h1 = w.binary(P::ShrP, f1, up);
    let h0 = w.and(f1, half);
    let mut part = |v: Val, exponent: i32| {
        let v = w.cast(v, ScalarType::F64);
        w.mul_c(v, 2f64.powi(exponent))
    };
    let [h3, h2, h1, h0] = [(h3, -32), (h2, -64), (h1, -96), (h0, -128)].map(|(v, e)| part(v, e));
    let (s, e) = two_sum(w, h3, h2);
    let low = w.add(h1, h0);
    let low = w.add(e, low);
    let (y, y_low) = quick_two_sum(w, s, low);
    // Times pi/2.
    let [p1, p2, _] = HALF_PI_64.map(|p| w.c(p));
    let high = w.mul(y, p1);
    let minus = w.neg(high);
    let low = w.fma(y, p1, minus);
    let low = w.fma(y, p2, low);
    let low = w.fma(y_low, p1, low);
    let (r, tail) = quick_two_sum(w, high, low);
    // An infinite angle has no sine.
    let nothing = w.sub(a, a);
    Reduced { r: w.add(r, nothing), tail, quarters }
}

/// The high and low words of the product of a number of 53 bits and one of 64.
fn wide_product(w: &mut Writer<'_>, m: Val, x: Val) -> (Val, Val) {
    use PrimOp as P;
    let (half, by) = (w.u(u64::from(u32::MAX)), w.u(32));
    let (ml, xl) = (w.and(m, half), w.and(x, half));
    let (mh, xh) = (w.binary(P::ShrP, m, by), w.binary(P::ShrP, x, by));
    let (ll, lh, hl, hh) = (w.mul(ml, xl), w.mul(ml, xh), w.mul(mh, xl), w.mul(mh, xh));
    let carry = w.binary(P::ShrP, ll, by);
    let lh_low = w.and(lh, half);
    let middle = w.add(hl, carry);
    let middle = w.add(middle, lh_low);
    let (a, b) = (w.binary(P::ShrP, lh, by), w.binary(P::ShrP, middle, by));
    let high = w.add(hh, a);
    (w.add(high, b), w.mul(m, x))
}
