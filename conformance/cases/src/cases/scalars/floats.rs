//! Fractions and floats: `Fractional`, `Floating`.

use crate::cases::{Case, case};
use crate::compare::Near;
use acc_core::prelude::*;
use std::f64::consts::{E, FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, FRAC_PI_6, LN_2, PI};

fn h(x: f64) -> f16 {
    f16::from_f64(x)
}

/// A function at points whose values are known, in every float type.
macro_rules! known {
    ($t:ident, |$x:ident| $f:expr, $pairs:expr) => {{
        fn f<T: Floating>($x: Exp<T>) -> Exp<T> {
            $f
        }
        let pairs: &[(f64, f64)] = &$pairs;
        $t.table(f::<f64>, pairs);
        $t.table(f::<f32>, &pairs.iter().map(|&(x, y)| (x as f32, y as f32)).collect::<Vec<_>>());
        $t.table(f::<f16>, &pairs.iter().map(|&(x, y)| (h(x), h(y))).collect::<Vec<_>>());
    }};
}

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

pub fn cases() -> Vec<Case> {
    vec![
        case("floats/E-FP-08-division", "FRC-01 FRC-03 FRC-04 FRC-05 E-FP-08", |t| {
            known!(t, |x| x.recip(), [(4.0, 0.25), (0.0, INF), (-0.0, -INF), (INF, 0.0), (NAN, NAN)]);
            t.table2(
                |x: Exp<f64>, y: Exp<f64>| x / y,
                &[(1.0, 0.0, INF), (-1.0, 0.0, -INF), (0.0, 0.0, NAN), (1.0, 3.0, 1.0 / 3.0), (7.5, 2.5, 3.0)],
            );
            t.table2(
                |x: Exp<f32>, y: Exp<f32>| x / y,
                &[(1.0, 0.0, f32::INFINITY), (0.0, 0.0, f32::NAN), (1.0, 3.0, 1.0 / 3.0)],
            );
            t.table2(
                |x: Exp<f16>, y: Exp<f16>| x / y,
                &[(h(1.0), h(3.0), f16::from_bits(0x3555)), (h(1.0), h(0.0), f16::INFINITY)],
            );
        }),
        case("floats/from-rational", "FRC-06", |t| {
            t.table(|x: Exp<f64>| x + from_rational::<f64>(3, -4), &[(1.0, 0.25)]);
            t.table(|x: Exp<f64>| x * from_rational::<f64>(i64::MAX, i64::MIN), &[(1.0, -1.0)]);
            t.table(|x: Exp<f64>| x * from_rational::<f64>(1, 3), &[(1.0, 1.0 / 3.0)]);
            t.table(|x: Exp<f32>| x * from_rational::<f32>(16_777_217, 1), &[(1.0, 16_777_216.0)]);
            // A hair above the middle between two numbers, which f64 cannot tell from the middle.
            t.table(|x: Exp<f32>| x * from_rational::<f32>((16_777_217 << 38) + 1, 1 << 38), &[(1.0, 16_777_218.0)]);
            t.table(|x: Exp<f16>| x * from_rational::<f16>(1, 3), &[(h(1.0), f16::from_bits(0x3555))]);
            t.table(|x: Exp<f16>| x + from_rational::<f16>(1, i64::MAX), &[(h(0.0), h(0.0))]);
            t.table(
                |x: Exp<f64>| (x + from_rational::<f64>(0, 5), x * from_rational::<f64>(2, 0)),
                &[(1.0, (1.0, INF))],
            );
        }),
        case("floats/pi", "FLO-01 FLO-02 REX-11", |t| {
            t.table(|x: Exp<f64>| x * pi(), &[(1.0, PI)]);
            t.table(|x: Exp<f32>| x * pi(), &[(1.0, std::f32::consts::PI)]);
            t.table(|x: Exp<f16>| x * pi(), &[(h(1.0), f16::PI)]);
        }),
        case("floats/trigonometry", "FLO-03 FLO-04 FLO-05", |t| {
            known!(
                t,
                |x| x.sin(),
                [
                    (0.0, 0.0),
                    (-0.0, -0.0),
                    (1.0, 0.841_470_984_807_896_5),
                    (-0.5, -0.479_425_538_604_203),
                    (INF, NAN),
                    (NAN, NAN)
                ]
            );
            known!(
                t,
                |x| x.cos(),
                [(0.0, 1.0), (1.0, 0.540_302_305_868_139_8), (-0.5, 0.877_582_561_890_372_8), (-INF, NAN)]
            );
            known!(
                t,
                |x| x.tan(),
                [(0.0, 0.0), (1.0, 1.557_407_724_654_902_3), (-0.5, -0.546_302_489_843_790_5), (INF, NAN)]
            );
        }),
        case("floats/E-FP-09-inverse-trigonometry", "FLO-06 FLO-07 FLO-08 E-FP-09", |t| {
            known!(t, |x| x.asin(), [(0.0, 0.0), (1.0, FRAC_PI_2), (0.5, FRAC_PI_6), (2.0, NAN), (-1.5, NAN)]);
            known!(t, |x| x.acos(), [(1.0, 0.0), (-1.0, PI), (0.5, FRAC_PI_3), (2.0, NAN)]);
            known!(t, |x| x.atan(), [(0.0, 0.0), (1.0, FRAC_PI_4), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (NAN, NAN)]);
        }),
        case("floats/hyperbolic", "FLO-09 FLO-10 FLO-11", |t| {
            known!(t, |x| x.sinh(), [(0.0, 0.0), (1.0, 1.175_201_193_643_801_4), (-INF, -INF)]);
            known!(t, |x| x.cosh(), [(0.0, 1.0), (1.0, 1.543_080_634_815_243_7), (-INF, INF)]);
            known!(t, |x| x.tanh(), [(0.0, 0.0), (1.0, 0.761_594_155_955_764_9), (INF, 1.0), (-INF, -1.0)]);
        }),
        case("floats/E-FP-14-inverse-hyperbolic", "FLO-12 FLO-13 FLO-14 E-FP-09 E-FP-14", |t| {
            known!(t, |x| x.asinh(), [(0.0, 0.0), (1.0, 0.881_373_587_019_543), (INF, INF), (-INF, -INF)]);
            known!(t, |x| x.acosh(), [(1.0, 0.0), (2.0, 1.316_957_896_924_816_6), (0.5, NAN), (INF, INF)]);
            known!(
                t,
                |x| x.atanh(),
                [(0.0, 0.0), (0.5, 0.549_306_144_334_054_8), (1.0, INF), (-1.0, -INF), (2.0, NAN)]
            );
        }),
        case("floats/E-FP-09-exponentials", "FLO-15 FLO-16 FLO-17 E-FP-09", |t| {
            known!(t, |x| x.exp(), [(0.0, 1.0), (1.0, E), (-INF, 0.0), (INF, INF), (NAN, NAN)]);
            known!(
                t,
                |x| x.sqrt(),
                [(2.25, 1.5), (0.0, 0.0), (-0.0, -0.0), (-1.0, NAN), (INF, INF), (2.0, std::f64::consts::SQRT_2)]
            );
            known!(t, |x| x.ln(), [(1.0, 0.0), (2.0, LN_2), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF)]);
        }),
        case("floats/E-FP-10-powers-and-logarithms", "FLO-18 FLO-19 E-FP-10 E-FP-12", |t| {
            t.table2(
                |x: Exp<f64>, y: Exp<f64>| x.powf(y),
                &[(0.0, 0.0, 1.0), (-8.0, 1.0 / 3.0, NAN), (2.0, 10.0, 1024.0), (2.0, -1.0, 0.5), (-2.0, 3.0, -8.0)],
            );
            t.table2(
                |x: Exp<f32>, y: Exp<f32>| x.powf(y),
                &[(0.0, 0.0, 1.0), (-8.0, 1.0 / 3.0, f32::NAN), (2.0, 0.5, std::f32::consts::SQRT_2)],
            );
            t.table2(
                |x: Exp<f16>, y: Exp<f16>| x.powf(y),
                &[(h(0.0), h(0.0), h(1.0)), (h(2.0), h(10.0), h(1024.0)), (h(2.0), h(0.5), f16::SQRT_2)],
            );
            t.table2(|x: Exp<f64>, b: Exp<f64>| x.log_base(b), &[(8.0, 2.0, 3.0), (1000.0, 10.0, 3.0)]);
            t.table2(|x: Exp<f32>, b: Exp<f32>| x.log_base(b), &[(8.0, 2.0, 3.0), (1000.0, 10.0, 3.0)]);
            t.table2(
                |x: Exp<f16>, b: Exp<f16>| x.log_base(b),
                &[(h(8.0), h(2.0), h(3.0)), (h(1000.0), h(10.0), h(3.0))],
            );
            t.table(|x: Exp<f64>| (x.log2(), x.log10()), &[(8.0, (3.0, 0.903_089_986_991_943_5)), (0.0, (-INF, -INF))]);
        }),
        case("floats/E-FP-13-atan2", "RFL-15 E-FP-13", |t| {
            t.table2(
                |y: Exp<f64>, x: Exp<f64>| y.atan2(x),
                &[
                    (0.0, -1.0, PI),
                    (-0.0, -1.0, -PI),
                    (0.0, 0.0, 0.0),
                    (1.0, 0.0, FRAC_PI_2),
                    (1.0, 1.0, FRAC_PI_4),
                    (-1.0, -1.0, -3.0 * FRAC_PI_4),
                ],
            );
            let pi = std::f32::consts::PI;
            t.table2(|y: Exp<f32>, x: Exp<f32>| y.atan2(x), &[(0.0, -1.0, pi), (-0.0, -1.0, -pi), (0.0, 0.0, 0.0)]);
            t.table2(
                |y: Exp<f16>, x: Exp<f16>| y.atan2(x),
                &[(h(0.0), h(-1.0), f16::PI), (h(-0.0), h(-1.0), -f16::PI)],
            );
        }),
        case("floats/E-FP-16-accurate-on-many-values", "FLO-03 FLO-15 FLO-17 E-FP-15 E-FP-16", |t| {
            // Identities hold whatever the library of elementary functions is.
            let xs: Vector<f64> = (1..2000).map(|k| f64::from(k) * 0.01).collect();
            let ones = fill(1999, 1.0f64);
            t.gives_within(
                (&use_(&xs).map(|x| x.sin() * x.sin() + x.cos() * x.cos()), &ones),
                (ones_of(1999), ones_of(1999)),
                Near::Ulp(20),
            );
            t.gives_within(use_(&xs).map(|x| x.ln().exp()), xs, Near::Ulp(40));
        }),
    ]
}

fn ones_of(n: usize) -> Vector<f64> {
    vec![1.0; n].into()
}
