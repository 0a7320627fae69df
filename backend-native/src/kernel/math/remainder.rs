//! The remainder of floats, which is exact.

use super::write::Writer;
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// `x - trunc(x / y) y`, with the sign of x: what is left of `|x|` loses a multiple of `|y|`, of at most 53 bits, until it
/// is less.
pub(super) fn fmod(w: &mut Writer<'_>, x: Val, y: Val) -> Val {
    if w.is_double() {
        return double(w, x, y);
    }
    // The remainder of two `f32` is one.
    let (x, y) = (w.cast(x, ScalarType::F64), w.cast(y, ScalarType::F64));
    let r = w.in_type(ScalarType::F64, |w| double(w, x, y));
    w.cast(r, ScalarType::F32)
}

fn double(w: &mut Writer<'_>, x: Val, y: Val) -> Val {
    let sign = w.sign(x);
    let (a, b) = (w.abs(x), w.abs(y));
    let [zero, infinity] = [0.0, f64::INFINITY].map(|c| w.c(c));
    // No remainder of an infinity, or by zero; the loop starts with none, and ends at once.
    let finite = w.lt(a, infinity);
    let divides = w.lt(zero, b);
    let proper = w.and(finite, divides);
    let start = w.select(proper, a, zero);
    let b_exponent = exponent(w, b);
    let one = w.c(1.0);
    let divisor = w.select(divides, b, one);
    let r = w.repeat(
        start,
        |w, r| {
            let more = w.binary(PrimOp::GeP, r, divisor);
            w.and(more, divides)
        },
        |w, r| {
            // t = b 2^k, not greater than r, and r / t below 2^53.
            let r_exponent = exponent(w, r);
            let above = w.sub(r_exponent, b_exponent);
            let most = w.i(52);
            let k = w.sub(above, most);
            let none = w.i(0);
            let k = w.binary(PrimOp::MaxP, k, none);
            let t = w.scale(divisor, k);
            let q = w.div(r, t);
            let q = w.unary(PrimOp::TruncP, q);
            let minus = w.neg(q);
            // Exact: a multiple of the last digit of t, and not much larger than it.
            let rest = w.fma(minus, t, r);
            let back = w.add(rest, t);
            let zero = w.c(0.0);
            let over = w.lt(rest, zero);
            w.select(over, back, rest)
        },
    );
    let none = w.nan();
    let nan = {
        let (p, q) = (w.unary(PrimOp::IsNanP, x), w.unary(PrimOp::IsNanP, y));
        w.or(p, q)
    };
    let r = w.select(proper, r, none);
    let r = w.with_sign(r, sign);
    w.select(nan, none, r)
}

/// The exponent of a number that is not negative, as it would be written if there were no subnormal ones.
fn exponent(w: &mut Writer<'_>, a: Val) -> Val {
    const UP: i64 = 54;
    let (least, zero) = (w.min_normal(), w.i(0));
    let small = w.lt(a, least);
    let larger = w.mul_c(a, 2f64.powi(UP as i32));
    let normal = w.select(small, larger, a);
    let (bits, digits, up) = (w.bits(normal), w.i(52), w.i(UP));
    let e = w.binary(PrimOp::ShrP, bits, digits);
    let less = w.select(small, up, zero);
    w.sub(e, less)
}
