//! Inverse trigonometric functions: for `f64` the approximations of FreeBSD's `e_asin.c` and `s_atan.c`.

use super::write::Writer;
use acc_core::ir::{PrimOp, Val};

const HALF_PI: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];

/// `(asin x - x) / x^3` of `z = x^2 <= 1/4`, times z.
fn rational(w: &mut Writer<'_>, z: Val) -> Val {
    let p = w.poly(
        z,
        &[
            1.666_666_666_666_666_574_15e-01,
            -3.255_658_186_224_009_154_05e-01,
            2.012_125_321_348_629_258_81e-01,
            -4.005_553_450_067_941_140_27e-02,
            7.915_349_942_898_145_321_76e-04,
            3.479_331_075_960_211_675_70e-05,
        ],
    );
    let q = w.poly(
        z,
        &[
            1.0,
            -2.403_394_911_734_414_218_78e+00,
            2.020_945_760_233_505_694_71e+00,
            -6.882_839_716_054_532_930_30e-01,
            7.703_815_055_590_193_527_91e-02,
        ],
    );
    let over = w.mul(z, p);
    w.div(over, q)
}

/// `2 asin(sqrt((1 - a) / 2))` in two parts, which is `acos a`, for `1/2 <= a <= 1`.
fn from_one(w: &mut Writer<'_>, a: Val) -> (Val, Val) {
    let one = w.c(1.0);
    let z = w.sub(one, a);
    let z = w.mul_c(z, 0.5);
    let s = w.sqrt(z);
    let r = rational(w, z);
    // What the root lacks: (z - s^2) / (2 s), and none where it is 0.
    let minus = w.neg(s);
    let lost = w.fma(minus, s, z);
    let twice = w.add(s, s);
    let zero = w.c(0.0);
    let none = w.eq(s, zero);
    let under = w.select(none, one, twice);
    let lost = w.div(lost, under);
    let low = w.fma(r, s, lost);
    (twice, w.add(low, low))
}

/// The difference of two numbers in two parts each, what the parts lose among it.
fn less(w: &mut Writer<'_>, [from, from_low]: [Val; 2], (high, low): (Val, Val)) -> Val {
    let rest = w.sub(from, high);
    let back = w.sub(from, rest);
    let lost = w.sub(back, high);
    let lows = w.sub(from_low, low);
    let lows = w.add(lows, lost);
    w.add(rest, lows)
}

pub(super) fn asin(w: &mut Writer<'_>, x: Val) -> Val {
    if !w.is_double() {
        return super::inverse_single::asin(w, x);
    }
    let sign = w.sign(x);
    let a = w.abs(x);
    let z = w.mul(a, a);
    let r = rational(w, z);
    let small = w.fma(a, r, a);
    let (high, low) = from_one(w, a);
    let half_pi = HALF_PI.map(|c| w.c(c));
    let large = less(w, half_pi, (high, low));
    let near = w.lt_c(a, 0.5);
    let y = w.select(near, small, large);
    let y = proper(w, a, y);
    w.with_sign(y, sign)
}

pub(super) fn acos(w: &mut Writer<'_>, x: Val) -> Val {
    if !w.is_double() {
        return super::inverse_single::acos(w, x);
    }
    let a = w.abs(x);
    let half_pi = HALF_PI.map(|c| w.c(c));
    // Near 0: pi/2 - (x + x R)
    let z = w.mul(x, x);
    let r = rational(w, z);
    let low = w.mul(x, r);
    let small = less(w, half_pi, (x, low));
    // Near 1, and near -1, where it is pi less that of 1.
    let (high, low) = from_one(w, a);
    let positive = w.add(high, low);
    let pi = half_pi.map(|part| w.add(part, part));
    let negative = less(w, pi, (high, low));
    let below = w.lt_c(x, 0.0);
    let large = w.select(below, negative, positive);
    let near = w.lt_c(a, 0.5);
    let y = w.select(near, small, large);
    proper(w, a, y)
}

/// `y` where `a <= 1`; there is no angle elsewhere.
fn proper(w: &mut Writer<'_>, a: Val, y: Val) -> Val {
    let one = w.c(1.0);
    let none = w.nan();
    let within = w.binary(PrimOp::LeP, a, one);
    w.select(within, y, none)
}

/// The arc tangent of a number that is not negative, in two parts.
fn positive_atan(w: &mut Writer<'_>, a: Val) -> (Val, Val) {
    // atan a = atan c + atan((a - c) / (1 + a c)), with c from 0, 1/2, 1, 3/2 and infinity.
    const ENDS: [f64; 4] = [7.0 / 16.0, 11.0 / 16.0, 19.0 / 16.0, 39.0 / 16.0];
    let zero = w.c(0.0);
    let one = w.c(1.0);
    let minus_one = w.c(-1.0);
    let centres: [(f64, f64, f64); 3] = [
        (0.5, 4.636_476_090_008_060_935_15e-01, 2.269_877_745_296_168_709_24e-17),
        (1.0, std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383_017_93e-17),
        (1.5, 9.827_937_232_473_290_540_82e-01, 1.390_331_103_123_099_845_16e-17),
    ];
    let (mut over, mut under, mut high, mut low) = (minus_one, a, w.c(HALF_PI[0]), w.c(HALF_PI[1]));
    for (k, (c, c_high, c_low)) in centres.into_iter().enumerate().rev() {
        let before = w.lt_c(a, ENDS[k + 1]);
        let c = w.c(c);
        let (o, u) = (w.sub(a, c), w.fma(a, c, one));
        let (c_high, c_low) = (w.c(c_high), w.c(c_low));
        over = w.select(before, o, over);
        under = w.select(before, u, under);
        high = w.select(before, c_high, high);
        low = w.select(before, c_low, low);
    }
    let before = w.lt_c(a, ENDS[0]);
    over = w.select(before, a, over);
    under = w.select(before, one, under);
    high = w.select(before, zero, high);
    low = w.select(before, zero, low);
    let t = w.div(over, under);
    let z = w.mul(t, t);
    let p = w.poly(
        z,
        &[
            3.333_333_333_333_293_180_27e-01,
            -1.999_999_999_987_648_324_76e-01,
            1.428_571_427_250_346_637_11e-01,
            -1.111_111_040_546_235_578_80e-01,
            9.090_887_133_436_506_561_96e-02,
            -7.691_876_205_044_829_994_95e-02,
            6.661_073_137_387_531_206_69e-02,
            -5.833_570_133_790_573_486_45e-02,
            4.976_877_994_615_932_360_17e-02,
            -3.653_157_274_421_691_552_70e-02,
            1.628_582_011_536_578_236_23e-02,
        ],
    );
    let cube = w.mul(z, t);
    let minus = w.neg(cube);
    let bent = w.fma(minus, p, low);
    let (sum, lost) = super::trigonometric::quick_two_sum(w, high, t);
    let rest = w.add(lost, bent);
    (sum, rest)
}

pub(super) fn atan(w: &mut Writer<'_>, x: Val) -> Val {
    if !w.is_double() {
        return super::inverse_single::atan(w, x);
    }
    let sign = w.sign(x);
    let a = w.abs(x);
    let (high, low) = positive_atan(w, a);
    let y = w.add(high, low);
    w.with_sign(y, sign)
}

/// The angle of the point `(x, y)`.
pub(super) fn atan2(w: &mut Writer<'_>, y: Val, x: Val) -> Val {
    if !w.is_double() {
        return super::inverse_single::atan2(w, y, x);
    }
    let (sign_x, sign_y) = (w.sign(x), w.sign(y));
    let (a, b) = (w.abs(y), w.abs(x));
    let (zero, infinity, one) = (w.c(0.0), w.c(f64::INFINITY), w.c(1.0));
    // The tangent; where both are zero 0, where both are infinite 1.
    let both_zero = {
        let (p, q) = (w.eq(a, zero), w.eq(b, zero));
        w.and(p, q)
    };
    let both_infinite = {
        let (p, q) = (w.eq(a, infinity), w.eq(b, infinity));
        w.and(p, q)
    };
    let t = w.div(a, b);
    let t = w.select(both_zero, zero, t);
    let t = w.select(both_infinite, one, t);
    let (high, low) = positive_atan(w, t);
    let right = w.add(high, low);
    // On the left side, pi less that.
    let [half_pi, half_pi_low] = HALF_PI.map(|c| w.c(c));
    let (pi, pi_low) = (w.add(half_pi, half_pi), w.add(half_pi_low, half_pi_low));
    let rest = w.sub(pi, high);
    let back = w.sub(pi, rest);
    let lost = w.sub(back, high);
    let lows = w.sub(pi_low, low);
    let lows = w.add(lows, lost);
    let left = w.add(rest, lows);
    let plain = w.i(0);
    let rightwards = w.eq(sign_x, plain);
    let angle = w.select(rightwards, right, left);
    let angle = w.with_sign(angle, sign_y);
    // NaN in either.
    let angle = super::logarithmic::nan_of(w, x, angle);
    super::logarithmic::nan_of(w, y, angle)
}
