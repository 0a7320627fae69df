//! The remainder of floats, which is exact.

use super::write::Writer;
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

/// `x - trunc(x / y) y`, with the sign of x. If the quotient has no more bits than the type has digits, one step is all.
pub(super) fn fmod(w: &mut Writer<'_>, x: Val, y: Val) -> Val {
    let sign = w.sign(x);
    let (a, b) = (w.abs(x), w.abs(y));
    let [zero, infinity] = [0.0, f64::INFINITY].map(|c| w.c(c));
    // No remainder of an infinity, or by zero; there is nothing to take from none.
    let finite = w.lt(a, infinity);
    let divides = w.lt(zero, b);
    let proper = w.and(finite, divides);
    let start = w.select(proper, a, zero);
    let one = w.c(1.0);
    let divisor = w.select(divides, b, one);
    let quotient = w.div(start, divisor);
    let first = rest(w, start, divisor, quotient);
    let exact = w.lt_c(quotient, 2f64.powi(if w.is_double() { 52 } else { 23 }));
    // Infinity takes nothing.
    let takes = w.binary(PrimOp::GeP, start, divisor);
    let exact = w.and(exact, takes);
    let start = w.select(exact, first, start);
    let more = w.binary(PrimOp::GeP, start, divisor);
    let results = w.unlikely(
        more,
        |w| {
            if w.is_double() {
                return vec![steps(w, start, divisor)];
            }
            // The remainder of two `f32` is one, and steps of `f64` are longer.
            let (start, divisor) = (w.cast(start, ScalarType::F64), w.cast(divisor, ScalarType::F64));
            let r = w.in_type(ScalarType::F64, |w| steps(w, start, divisor));
            vec![w.cast(r, ScalarType::F32)]
        },
        |_| vec![start],
    );
    let none = w.nan();
    let nan = {
        let (p, q) = (w.unary(PrimOp::IsNanP, x), w.unary(PrimOp::IsNanP, y));
        w.or(p, q)
    };
    let r = w.select(proper, results[0], none);
    let r = w.with_sign(r, sign);
    w.select(nan, none, r)
}

/// What is left of an `f64` that loses a multiple of the divisor, of at most 53 bits, until it is less.
fn steps(w: &mut Writer<'_>, start: Val, divisor: Val) -> Val {
    let b_exponent = exponent(w, divisor);
    w.repeat(
        start,
        |w, r| w.binary(PrimOp::GeP, r, divisor),
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
            rest(w, r, t, q)
        },
    )
}

/// What is left of r, given r / t rounded: the quotient, cut off, may be one too many.
fn rest(w: &mut Writer<'_>, r: Val, t: Val, quotient: Val) -> Val {
    let q = w.unary(PrimOp::TruncP, quotient);
    let minus = w.neg(q);
    // Exact: a multiple of the last digit of t, and not much larger than it.
    let rest = w.fma(minus, t, r);
    let back = w.add(rest, t);
    let over = w.lt_c(rest, 0.0);
    w.select(over, back, rest)
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
