//! Complex numbers.

use crate::cases::{Case, case};
use crate::compare::Near;
use acc_core::prelude::*;
use std::f64::consts::{FRAC_PI_2, PI};

fn c(re: f64, im: f64) -> Complex<f64> {
    Complex::new(re, im)
}
fn c32(z: Complex<f64>) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

/// A function at points whose values are known, in `f64` and `f32`.
macro_rules! known {
    ($t:ident, |$z:ident| $f:expr, $pairs:expr) => {{
        fn f<F: ComplexPart>($z: Exp<Complex<F>>) -> Exp<Complex<F>> {
            $f
        }
        let pairs: &[(Complex<f64>, Complex<f64>)] = &$pairs;
        $t.table_within(f::<f64>, pairs, Near::Absolute(1e-13));
        $t.table_within(
            f::<f32>,
            &pairs.iter().map(|&(x, y)| (c32(x), c32(y))).collect::<Vec<_>>(),
            Near::Absolute(2e-5),
        );
    }};
}

pub fn cases() -> Vec<Case> {
    vec![
        case("complex/parts", "CPX-01 CPX-02 CPX-03 CPX-10 EQO-02 EQO-03", |t| {
            macro_rules! each {
                ($($T:ty),*) => { $(
                    t.table(|z: Exp<Complex<$T>>| (z.re(), z.im(), complex(z.im(), z.re()), z.conj()), &[
                        (Complex::new(1 as $T, 2 as $T), (1 as $T, 2 as $T, Complex::new(2 as $T, 1 as $T), Complex::new(1 as $T, -(2 as $T)))),
                    ]);
                    t.table2(|z: Exp<Complex<$T>>, w: Exp<Complex<$T>>| (z.eq(w), z.ne(w)), &[
                        (Complex::new(1 as $T, 2 as $T), Complex::new(1 as $T, 2 as $T), (true, false)),
                        (Complex::new(1 as $T, 2 as $T), Complex::new(1 as $T, 3 as $T), (false, true)),
                    ]);
                )* };
            }
            each!(i8, i16, i32, i64, f32, f64);
            t.table(|z: Exp<Complex<f64>>| (z.eq(z), z.ne(z)), &[(c(f64::NAN, 0.0), (false, true))]);
        }),
        case("complex/E-TY-11-arithmetic", "NUM-02 NUM-03 NUM-04 NUM-05 FRC-04 FRC-05 CPX-01 E-TY-11", |t| {
            t.table2(
                |z: Exp<Complex<f64>>, w: Exp<Complex<f64>>| (z + w, z - w, z * w, -z),
                &[(c(1.0, 2.0), c(3.0, -1.0), (c(4.0, 1.0), c(-2.0, 3.0), c(5.0, 5.0), c(-1.0, -2.0)))],
            );
            t.table2(
                |z: Exp<Complex<i32>>, w: Exp<Complex<i32>>| (z + w, z - w, z * w, -z, z / w),
                &[
                    (
                        Complex::new(1, 2),
                        Complex::new(3, -1),
                        (
                            Complex::new(4, 1),
                            Complex::new(-2, 3),
                            Complex::new(5, 5),
                            Complex::new(-1, -2),
                            Complex::new(0, 0),
                        ),
                    ),
                    (
                        Complex::new(5, 5),
                        Complex::new(3, -1),
                        (
                            Complex::new(8, 4),
                            Complex::new(2, 6),
                            Complex::new(20, 10),
                            Complex::new(-5, -5),
                            Complex::new(1, 2),
                        ),
                    ),
                ],
            );
            let quotients = [
                (c(5.0, 5.0), c(3.0, -1.0), c(1.0, 2.0)),
                (c(1.0, 0.0), c(0.0, 1.0), c(0.0, -1.0)),
                // The squares of the divisor's parts would be out of range.
                (c(1e200, 1e200), c(1e200, 1e200), c(1.0, 0.0)),
                (c(1e-200, 0.0), c(2e-200, 0.0), c(0.5, 0.0)),
            ];
            t.table2_within(|z: Exp<Complex<f64>>, w: Exp<Complex<f64>>| z / w, &quotients, Near::Ulp(4));
            t.table2_within(
                |z: Exp<Complex<f32>>, w: Exp<Complex<f32>>| z / w,
                &[(c32(c(1e30, 1e30)), c32(c(1e30, 1e30)), c32(c(1.0, 0.0)))],
                Near::Ulp(4),
            );
            t.table_within(|z: Exp<Complex<f64>>| z.recip(), &[(c(3.0, 4.0), c(0.12, -0.16))], Near::Ulp(2));
            t.table(|z: Exp<Complex<f64>>| z + c(1.0, 0.5), &[(c(1.0, 0.0), c(2.0, 0.5))]);
        }),
        case("complex/abs-and-signum", "NUM-06 NUM-07", |t| {
            t.table_within(
                |z: Exp<Complex<f64>>| (z.abs(), z.signum()),
                &[(c(3.0, -4.0), (c(5.0, 0.0), c(0.6, -0.8))), (c(0.0, 0.0), (c(0.0, 0.0), c(0.0, 0.0)))],
                Near::Ulp(1),
            );
        }),
        case("complex/magnitude", "CPX-07 CPX-08", |t| {
            t.table_within(
                |z: Exp<Complex<f64>>| (z.magnitude(), z.magnitude_unscaled()),
                &[
                    (c(3.0, 4.0), (5.0, 5.0)),
                    (c(0.0, -7e-200), (7e-200, 0.0)),
                    (c(0.0, 0.0), (0.0, 0.0)),
                    (c(3e200, 4e200), (5e200, f64::INFINITY)),
                    (c(-3e-200, 4e-200), (5e-200, 0.0)),
                    (c(f64::INFINITY, 1.0), (f64::INFINITY, f64::INFINITY)),
                ],
                Near::Ulp(1),
            );
            t.table(|z: Exp<Complex<f32>>| z.magnitude(), &[(c32(c(3.0, 4.0)), 5.0), (c32(c(0.0, -7.0)), 7.0)]);
            t.table_within(|z: Exp<Complex<f32>>| z.magnitude(), &[(c32(c(3e30, 4e30)), 5e30)], Near::Ulp(1));
            let h = f16::from_f32;
            t.table(|z: Exp<Complex<f16>>| z.magnitude(), &[(Complex::new(h(300.0), h(400.0)), h(500.0))]);
        }),
        case("complex/polar-forms", "CPX-04 CPX-05 CPX-06 CPX-09 E-TY-11", |t| {
            t.table(
                |z: Exp<Complex<f64>>| z.phase(),
                &[
                    (c(0.0, 0.0), 0.0),
                    (c(-0.0, 0.0), 0.0),
                    (c(-1.0, 0.0), PI),
                    (c(-1.0, -0.0), -PI),
                    (c(0.0, 2.0), FRAC_PI_2),
                    (c(3.0, 0.0), 0.0),
                ],
            );
            t.table(|z: Exp<Complex<f64>>| z.polar(), &[(c(0.0, -2.0), (2.0, -FRAC_PI_2))]);
            t.table(|z: Exp<Complex<f32>>| z.polar(), &[(c32(c(0.0, -2.0)), (2.0, -std::f32::consts::FRAC_PI_2))]);
            t.table2_within(
                |r: Exp<f64>, p: Exp<f64>| mk_polar(r, p),
                &[(2.0, 0.0, c(2.0, 0.0)), (2.0, PI, c(-2.0, 0.0))],
                Near::Absolute(1e-15),
            );
            t.table_within(
                |p: Exp<f64>| cis(p),
                &[(0.0, c(1.0, 0.0)), (FRAC_PI_2, c(0.0, 1.0))],
                Near::Absolute(1e-15),
            );
            t.table_within(|p: Exp<f32>| cis(p), &[(0.0, c32(c(1.0, 0.0)))], Near::Absolute(1e-6));
        }),
        case("complex/E-TY-11-roots-and-powers", "FLO-16 FLO-18 E-TY-11", |t| {
            t.table(
                |z: Exp<Complex<f64>>| z.sqrt(),
                &[
                    (c(-4.0, 0.0), c(0.0, 2.0)),
                    (c(0.0, 0.0), c(0.0, 0.0)),
                    (c(3.0, -4.0), c(2.0, -1.0)),
                    (c(-3.0, 4.0), c(1.0, 2.0)),
                ],
            );
            t.table(|z: Exp<Complex<f32>>| z.sqrt(), &[(c32(c(-4.0, 0.0)), c32(c(0.0, 2.0)))]);
            let zero = c(0.0, 0.0);
            t.table2_within(
                |z: Exp<Complex<f64>>, w: Exp<Complex<f64>>| z.powf(w),
                &[
                    (zero, zero, c(1.0, 0.0)),
                    (zero, c(2.0, 1.0), zero),
                    (zero, c(-1.0, 0.0), c(f64::INFINITY, 0.0)),
                    (c(0.0, 1.0), c(2.0, 0.0), c(-1.0, 0.0)),
                    (c(f64::INFINITY, 0.0), c(-1.0, 0.0), zero),
                    (c(2.0, 0.0), c(3.0, 0.0), c(8.0, 0.0)),
                    (zero, c(0.0, 1.0), c(f64::NAN, f64::NAN)),
                ],
                Near::Absolute(1e-13),
            );
            t.table2_within(
                |z: Exp<Complex<f64>>, w: Exp<Complex<f64>>| z.log_base(w),
                &[(c(8.0, 0.0), c(2.0, 0.0), c(3.0, 0.0))],
                Near::Absolute(1e-13),
            );
            t.table2(|z: Exp<Complex<f64>>, n: Exp<i32>| z.pow(n), &[(c(1.0, 1.0), 4, c(-4.0, 0.0))]);
        }),
        // The values are those of the principal branches (NIST Digital Library of Mathematical Functions, 4.14 and 4.28).
        case("complex/elementary-functions", "FLO-03 FLO-04 FLO-05 FLO-09 FLO-10 FLO-11 FLO-15 FLO-17", |t| {
            let z = c(1.0, 2.0);
            known!(
                t,
                |z| z.exp(),
                [(z, c(-1.131_204_383_756_813_6, 2.471_726_672_004_819)), (c(0.0, PI), c(-1.0, 0.0))]
            );
            known!(
                t,
                |z| z.ln(),
                [(z, c(0.804_718_956_217_050_2, 1.107_148_717_794_090_4)), (c(-1.0, 0.0), c(0.0, PI))]
            );
            known!(t, |z| z.sin(), [(z, c(3.165_778_513_216_168, 1.959_601_041_421_605_8))]);
            known!(t, |z| z.cos(), [(z, c(2.032_723_007_019_665_5, -3.051_897_799_151_8))]);
            known!(t, |z| z.tan(), [(z, c(0.033_812_826_079_896_69, 1.014_793_616_146_633_5))]);
            known!(t, |z| z.sinh(), [(z, c(-0.489_056_259_041_293_7, 1.403_119_250_622_040_6))]);
            known!(t, |z| z.cosh(), [(z, c(-0.642_148_124_715_520_1, 1.068_607_421_382_778_4))]);
            known!(t, |z| z.tanh(), [(z, c(1.166_736_257_240_92, -0.243_458_201_185_725_23))]);
        }),
        case("complex/inverse-functions", "FLO-06 FLO-07 FLO-08 FLO-12 FLO-13 FLO-14", |t| {
            let z = c(1.0, 2.0);
            known!(t, |z| z.asin(), [(z, c(0.427_078_586_392_475_9, 1.528_570_919_480_998_2))]);
            known!(t, |z| z.acos(), [(z, c(1.143_717_740_402_420_6, -1.528_570_919_480_998_2))]);
            known!(t, |z| z.atan(), [(z, c(1.338_972_522_294_493_5, 0.402_359_478_108_525_1))]);
            known!(t, |z| z.asinh(), [(z, c(1.469_351_744_368_185_4, 1.063_440_023_577_752_2))]);
            known!(t, |z| z.acosh(), [(z, c(1.528_570_919_480_998_2, 1.143_717_740_402_420_6))]);
            known!(t, |z| z.atanh(), [(z, c(0.173_286_795_139_986_3, 1.178_097_245_096_172_4))]);
        }),
    ]
}
