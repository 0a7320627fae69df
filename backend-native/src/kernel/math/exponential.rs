//! Exponentials, and the hyperbolic functions made of them.
//!
//! `x = n ln 2 + r` with `|r| <= ln 2 / 2`; `e^r` is a polynomial (of Cephes' `expf.c` for `f32`, the series for `f64`),
//! and `e^x = e^r 2^n`.

use super::write::Writer;
use acc_core::ir::Val;

/// ln 2 in two parts; the first has few enough digits that its multiples are exact in `f32`.
const LN_2_32: [f64; 2] = [0.693_359_375, -2.121_944_400_5e-4];
const LN_2_64: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];

/// `e^r` and `n`, a float: the exponential is `e^r 2^n`. Beyond `[low, high]` it is that of the bound. `low_part` is added to x.
pub(super) fn parts(w: &mut Writer<'_>, x: Val, low_part: Option<Val>) -> (Val, Val) {
    let (low, high) = if w.is_double() { (-746.0, 711.0) } else { (-104.0, 90.0) };
    let (low, high) = (w.c(low), w.c(high));
    let above = w.lt(high, x);
    let below = w.lt(x, low);
    let x = w.select(above, high, x);
    let x = w.select(below, low, x);
    let n = w.nearest(x, std::f64::consts::LOG2_E);
    let minus = w.neg(n);
    let [a, b] = (if w.is_double() { LN_2_64 } else { LN_2_32 }).map(|c| w.c(c));
    let r = w.fma(minus, a, x);
    let mut r = w.fma(minus, b, r);
    if let Some(low_part) = low_part {
        r = w.add(r, low_part);
    }
    (near_zero(w, r), n)
}

/// `e^r` for `|r| <= ln 2 / 2`.
fn near_zero(w: &mut Writer<'_>, r: Val) -> Val {
    let rest = rest_near_zero(w, r);
    w.add_c(rest, 1.0)
}

/// `e^r - 1` for `|r| <= ln 2 / 2`.
fn rest_near_zero(w: &mut Writer<'_>, r: Val) -> Val {
    let p = if w.is_double() {
        // 1/2!, 1/3!, ... 1/13!
        let mut c = vec![0.5f64];
        for k in 3..14 {
            c.push(c[c.len() - 1] / f64::from(k));
        }
        w.poly(r, &c)
    } else {
        w.poly(
            r,
            &[
                5.000_000_120_1e-1,
                1.666_666_545_9e-1,
                4.166_579_589_4e-2,
                8.333_451_907_3e-3,
                1.398_199_950_7e-3,
                1.987_569_15e-4,
            ],
        )
    };
    let square = w.mul(r, r);
    w.fma(square, p, r)
}

pub(super) fn exp(w: &mut Writer<'_>, x: Val) -> Val {
    let (y, n) = parts(w, x, None);
    w.scale_float(y, n)
}

/// `(e^|x| / 2, e^-|x| / 2)`, neither too large before the sum of both is.
fn halves(w: &mut Writer<'_>, a: Val) -> (Val, Val) {
    let (y, n) = parts(w, a, None);
    let less = w.add_c(n, -1.0);
    let grown = w.scale_float(y, less);
    // Of the reciprocal only what matters beside the other: nothing where that is large.
    let quarter = w.c(0.25);
    let shrunk = w.div(quarter, grown);
    (grown, shrunk)
}

/// Below 1 a polynomial, else half the difference of the exponentials.
pub(super) fn sinh(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let z = w.mul(a, a);
    let p = if w.is_double() {
        // 1/3!, 1/5!, ... 1/19!
        let mut c = vec![1.0 / 6.0];
        for k in 2..10 {
            c.push(c[c.len() - 1] / f64::from(2 * k * (2 * k + 1)));
        }
        w.poly(z, &c)
    } else {
        w.poly(z, &[1.666_671_602_11e-1, 8.330_283_762_39e-3, 2.037_219_129_45e-4])
    };
    let cube = w.mul(z, a);
    let small = w.fma(cube, p, a);
    let (grown, shrunk) = halves(w, a);
    let large = w.sub(grown, shrunk);
    let near = w.lt_c(a, 1.0);
    let y = w.select(near, small, large);
    w.with_sign(y, sign)
}

pub(super) fn cosh(w: &mut Writer<'_>, x: Val) -> Val {
    let a = w.abs(x);
    let (grown, shrunk) = halves(w, a);
    w.add(grown, shrunk)
}

/// Below 0.625 a rational function (of Cephes), else `1 - 2 / (e^2|x| + 1)`.
pub(super) fn tanh(w: &mut Writer<'_>, x: Val) -> Val {
    let sign = w.sign(x);
    let a = w.abs(x);
    let z = w.mul(a, a);
    let p = if w.is_double() {
        let over = w.poly(
            z,
            &[-1.614_687_684_417_084_479_52e3, -9.928_772_310_019_185_865_64e1, -9.643_991_794_250_522_386_28e-1],
        );
        let under = w.poly(
            z,
            &[4.844_063_053_251_254_860_48e3, 2.235_488_390_601_004_485_83e3, 1.128_116_784_916_329_314_02e2, 1.0],
        );
        w.div(over, under)
    } else {
        w.poly(
            z,
            &[
                -3.333_328_194_22e-1,
                1.333_144_220_36e-1,
                -5.373_971_555_31e-2,
                2.063_908_879_54e-2,
                -5.704_988_727_45e-3,
            ],
        )
    };
    let cube = w.mul(z, a);
    let small = w.fma(cube, p, a);
    let twice = w.add(a, a);
    let e = exp(w, twice);
    let under = w.add_c(e, 1.0);
    let two = w.c(2.0);
    let rest = w.div(two, under);
    let one = w.c(1.0);
    let large = w.sub(one, rest);
    let near = w.lt_c(a, 0.625);
    let y = w.select(near, small, large);
    w.with_sign(y, sign)
}
