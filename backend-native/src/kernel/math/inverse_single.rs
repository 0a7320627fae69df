//! Inverse trigonometric functions of `f32`.
//!
//! As in FreeBSD's `s_atan.c` and `e_asin.c`, a result is one of 0, pi/2 and pi, and an angle that a polynomial approximates.
//! There are fewer pieces than there: one division or root brings the argument to `[0, 1]`, or `[0, 1/2]`, and what its
//! rounding loses is found by a fused multiply-add and added at the end (J.-M. Muller et al., "Handbook of Floating-Point
//! Arithmetic", 2nd ed., 4.7 and 5.1). Polynomials are minimax ones, by the algorithm of E. Ya. Remez, with coefficients
//! rounded one after the other.

use super::write::Writer;
use acc_core::ir::{PrimOp, Val};

/// pi/2 in two parts.
const HALF_PI: [f64; 2] = [1.570_796_370_506_286_6, -4.371_139_000_186_243e-8];

/// Less than what numbers that are rounded lose, and not 0: added to a divisor that may be.
const TINY: f64 = 1e-37;

/// `(atan t - t) / t` for `0 <= t <= 1`.
fn atan_rest(w: &mut Writer<'_>, t: Val) -> Val {
    let z = w.mul(t, t);
    let p = w.poly(
        z,
        &[
            -3.333_329_856e-1,
            1.999_852_955e-1,
            -1.426_401_436e-1,
            1.095_086_113e-1,
            -8.399_207_890e-2,
            5.787_887_052e-2,
            -3.109_353_408e-2,
            1.086_627_133e-2,
            -1.782_144_187e-3,
        ],
    );
    w.mul(z, p)
}

/// The derivative of the arc tangent, roughly, of its `atan_rest`: it multiplies what `t` lacks.
fn slope(w: &mut Writer<'_>, rest: Val) -> Val {
    let by = w.c(2.4);
    w.fma_c(by, rest, 1.0)
}

/// `(asin s - s) / s` of `z = s^2 <= 1/4`.
fn asin_rest(w: &mut Writer<'_>, z: Val) -> Val {
    let p = w.poly(z, &[1.666_675_210e-1, 7.495_306_432e-2, 4.546_977_207e-2, 2.418_076_992e-2, 4.216_643_050e-2]);
    w.mul(z, p)
}

/// What a divided by b loses when it is rounded to `quotient`: this, divided by b.
fn remainder(w: &mut Writer<'_>, a: Val, b: Val, quotient: Val) -> Val {
    let minus = w.neg(quotient);
    w.fma(minus, b, a)
}

/// `a` for all numbers up to a limit, and the limit beyond.
fn at_most(w: &mut Writer<'_>, a: Val, limit: f64) -> Val {
    let limit = w.c(limit);
    let beyond = w.lt(limit, a);
    w.select(beyond, limit, a)
}

/// Beyond 1 it is pi/2 less that of the reciprocal.
pub(super) fn atan(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let one = w.c(1.0);
    let large = w.lt(one, a);
    // Of infinity the reciprocal loses nothing.
    let finite = at_most(w, a, 1e20);
    let reciprocal = w.div(one, finite);
    let lost = remainder(w, one, finite, reciprocal);
    let lost = w.mul(lost, reciprocal);
    let t = w.select(large, reciprocal, a);
    let rest = atan_rest(w, t);
    let small = w.fma(t, rest, t);
    let [high, low] = HALF_PI.map(|c| w.c(c));
    let minus = w.neg(t);
    let (sum, sum_low) = super::trigonometric::quick_two_sum(w, high, minus);
    let by = slope(w, rest);
    let minus_lost = w.neg(lost);
    let lows = w.fma(minus_lost, by, low);
    let lows = w.add(sum_low, lows);
    let lows = w.fma(minus, rest, lows);
    let above = w.add(sum, lows);
    let y = w.select(large, above, small);
    w.with_sign(y, sign)
}

/// The angle of the point `(x, y)`: that of the smaller coordinate over the larger, added to or taken from a multiple of pi/2.
pub(super) fn atan2(w: &mut Writer<'_>, y: Val, x: Val) -> Val {
    let (sign_x, sign_y) = (w.sign(x), w.sign(y));
    let (a, b) = (w.abs(y), w.abs(x));
    let steep = w.lt(b, a);
    let (over, under) = (w.select(steep, b, a), w.select(steep, a, b));
    // Of two zeros the quotient is 0, of two infinities 1; beside an infinity any other number is 0, but for NaN.
    let (zero, one, infinity) = (w.c(0.0), w.c(1.0), w.c(f64::INFINITY));
    let endless = w.eq(under, infinity);
    let both_endless = w.eq(over, infinity);
    let nothing = w.mul(over, zero);
    let beside = w.select(both_endless, one, nothing);
    let over = w.select(endless, beside, over);
    let none = w.eq(under, zero);
    let plain = w.or(endless, none);
    let under = w.select(plain, one, under);
    // The angle is subtracted above the diagonal, or else in the left half-plane.
    let flipped = w.i(i64::from(i32::MIN));
    let upright = w.i(0);
    let flip = w.select(steep, flipped, upright);
    let flip = w.xor(flip, sign_x);
    let over = w.with_sign(over, flip);
    let t = w.div(over, under);
    let lost = remainder(w, over, under, t);
    let lost = w.div(lost, under);
    let rest = atan_rest(w, t);
    let [high, low] = HALF_PI;
    let (half_pi, pi) = (w.c(high), w.c(2.0 * high));
    let is_left = w.binary(PrimOp::NeP, sign_x, upright);
    let rotation = w.select(is_left, pi, zero);
    let rotation = w.select(steep, half_pi, rotation);
    let rotation_low = w.mul_c(rotation, low / high);
    let (sum, sum_low) = super::trigonometric::quick_two_sum(w, rotation, t);
    let by = slope(w, rest);
    let lows = w.fma(lost, by, rotation_low);
    let lows = w.add(sum_low, lows);
    let lows = w.fma(t, rest, lows);
    let angle = w.add(sum, lows);
    w.with_sign(angle, sign_y)
}

/// What `asin` and `acos` have in common. For `a < 1/2` it is `z = a^2`, else `z = (1 - a) / 2`; of its root s, the angle is `asin s`, or
/// `pi/2 - 2 asin s`. It is no number where `a > 1`.
struct Piece {
    near: Val,
    /// `2 s`, of the second.
    twice: Val,
    /// What that lacks.
    lost: Val,
    /// `(asin s - s) / s`
    rest: Val,
}

fn piece(w: &mut Writer<'_>, a: Val) -> Piece {
    let half = w.c(0.5);
    let near = w.lt(a, half);
    let square = w.mul(a, a);
    let minus_half = w.c(-0.5);
    let below = w.fma(a, minus_half, half);
    let z = w.select(near, square, below);
    let s = w.sqrt(below);
    let twice = w.add(s, s);
    let lost = remainder(w, below, s, s);
    let lost = w.add(lost, lost);
    let under = w.add_c(twice, TINY);
    let lost = w.div(lost, under);
    let rest = asin_rest(w, z);
    Piece { near, twice, lost, rest }
}

pub(super) fn asin(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let p = piece(w, a);
    let small = w.fma(a, p.rest, a);
    let [high, low] = HALF_PI.map(|c| w.c(c));
    let minus = w.neg(p.twice);
    let (sum, sum_low) = super::trigonometric::quick_two_sum(w, high, minus);
    let lows = w.sub(low, p.lost);
    let lows = w.add(sum_low, lows);
    let lows = w.fma(minus, p.rest, lows);
    let large = w.add(sum, lows);
    let y = w.select(p.near, small, large);
    w.with_sign(y, sign)
}

/// `pi/2 - asin x` near 0; else `2 asin s`, or pi less that.
pub(super) fn acos(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let p = piece(w, a);
    let [high, low] = HALF_PI;
    let (zero, half_pi, pi) = (w.c(0.0), w.c(high), w.c(2.0 * high));
    let upright = w.i(0);
    let is_left = w.binary(PrimOp::NeP, sign, upright);
    let rotation = w.select(is_left, pi, zero);
    let rotation = w.select(p.near, half_pi, rotation);
    let rotation_low = w.mul_c(rotation, low / high);
    // What is added to the multiple of pi/2.
    let size = w.select(p.near, a, p.twice);
    let flipped = w.i(i64::from(i32::MIN));
    let flip = w.select(p.near, flipped, upright);
    let flip = w.xor(flip, sign);
    let t = w.with_sign(size, flip);
    let lost = w.select(p.near, zero, p.lost);
    let lost = w.with_sign(lost, flip);
    let (sum, sum_low) = super::trigonometric::quick_two_sum(w, rotation, t);
    let lows = w.add(rotation_low, lost);
    let lows = w.add(sum_low, lows);
    let lows = w.fma(t, p.rest, lows);
    w.add(sum, lows)
}
