//! Rounding to integers, conversions, and the encoding of floats: `RealFrac`, `RealFloat`, `FromIntegral`, `ToFloating`.

use crate::cases::{Case, case};
use acc_core::prelude::*;

fn h(x: f64) -> f16 {
    f16::from_f64(x)
}

pub fn cases() -> Vec<Case> {
    vec![
        case(
            "real/E-CV-01-rounding",
            "RFR-01 RFR-03 RFR-04 RFR-05 RFR-06 E-CV-01 E-CV-02 E-CV-03 E-CV-04 E-CV-05",
            |t| {
                fn all<T: RealFrac, B: Integral>(x: Exp<T>) -> (Exp<B>, Exp<B>, Exp<B>, Exp<B>) {
                    (x.trunc_to(), x.round_to(), x.floor_to(), x.ceil_to())
                }
                each!([i8, i16, i32, i64] B {
                let rows = [
                        (0.5, (0, 0, 0, 1)),
                        (1.5, (1, 2, 1, 2)),
                        (2.5, (2, 2, 2, 3)),
                        (-0.5, (0, 0, -1, 0)),
                        (-1.5, (-1, -2, -2, -1)),
                        (-2.5, (-2, -2, -3, -2)),
                        (2.7, (2, 3, 2, 3)),
                        (-2.7, (-2, -3, -3, -2)),
                        (3.0, (3, 3, 3, 3)),
                    ];
                            t.table(all::<f64, B>, &rows);
                        t.table(all::<f32, B>, &rows.map(|(x, y)| (x as f32, y)));
                        t.table(all::<f16, B>, &rows.map(|(x, y)| (h(x), y)));
                    });
                each!([u8, u16, u32, u64] B {
                    t.table(all::<f64, B>, &[(2.7, (2, 3, 2, 3)), (200.5, (200, 200, 200, 201)), (-2.7, (0, 0, 0, 0))]);
                    t.table(all::<f32, B>, &[(2.7, (2, 3, 2, 3))]);
                    t.table(all::<f16, B>, &[(h(2.7), (2, 3, 2, 3))]);
                });
                t.table(
                    |x: Exp<f64>| (x.trunc(), x.round(), x.floor(), x.ceil(), x.round_half_away()),
                    &[(-0.5, (-0.0, -0.0, -1.0, -0.0, -1.0)), (2.5, (2.0, 2.0, 2.0, 3.0, 3.0))],
                );
            },
        ),
        case("real/E-CV-06-out-of-range", "RFR-03 RFR-04 E-CV-06 E-CV-07", |t| {
            t.table(
                |x: Exp<f64>| (x.trunc_to::<i64>(), x.round_to::<i32>(), x.floor_to::<u8>(), x.ceil_to::<u64>()),
                &[
                    (f64::NAN, (0, 0, 0, 0)),
                    (f64::INFINITY, (i64::MAX, i32::MAX, 255, u64::MAX)),
                    (f64::NEG_INFINITY, (i64::MIN, i32::MIN, 0, 0)),
                    (1e19, (i64::MAX, i32::MAX, 255, 10_000_000_000_000_000_000)),
                    (3e9, (3_000_000_000, i32::MAX, 255, 3_000_000_000)),
                    (300.7, (300, 301, 255, 301)),
                    (-1.7, (-1, -2, 0, 0)),
                ],
            );
        }),
        case("real/E-CV-08-proper-fraction", "RFR-02 E-CV-08", |t| {
            t.table(
                |x: Exp<f64>| x.proper_fraction::<i64>(),
                &[(3.75, (3, 0.75)), (-3.75, (-3, -0.75)), (0.5, (0, 0.5))],
            );
            t.table(|x: Exp<f32>| x.proper_fraction::<i8>(), &[(3.75, (3, 0.75)), (-3.75, (-3, -0.75))]);
            t.table(|x: Exp<f16>| x.proper_fraction::<u16>(), &[(h(3.75), (3, h(0.75)))]);
        }),
        case("real/E-CV-09-floored-division", "RFR-07 RFR-08 RFR-09 E-CV-09", |t| {
            t.table2(
                |x: Exp<f64>, y: Exp<f64>| (x.floor_div::<i64>(y), x.floor_mod(y)),
                &[(7.5, 2.0, (3, 1.5)), (-7.5, 2.0, (-4, 0.5)), (7.5, -2.0, (-4, -0.5))],
            );
            t.table2(
                |x: Exp<f32>, y: Exp<f32>| x.floor_div_mod::<i32>(y),
                &[(-7.5, 2.0, (-4, 0.5)), (1e20, 1e-10, (i32::MAX, 0.0))],
            );
            t.table2(|x: Exp<f16>, y: Exp<f16>| x.floor_div_mod::<i8>(y), &[(h(-7.5), h(2.0), (-4, h(0.5)))]);
        }),
        case("real/E-CV-10-conversions", "CNV-01 CNV-02 E-CV-10 E-CV-11 E-CV-12 E-CV-17", |t| {
            t.table(
                |x: Exp<i32>| (x.to::<u8>(), x.to::<i8>(), x.to::<u64>()),
                &[(300, (44, 44, 300)), (200, (200, -56, 200)), (-1, (255, -1, u64::MAX))],
            );
            t.table(
                |x: Exp<i64>| (x.to::<f32>(), x.to::<f64>(), x.to::<f16>()),
                &[(16_777_217, (16_777_216.0, 16_777_217.0, f16::INFINITY)), (2049, (2049.0, 2049.0, h(2048.0)))],
            );
            t.table(
                |x: Exp<u64>| (x.to::<f32>(), x.to::<f64>(), x.to::<f16>()),
                &[(u64::MAX, (u64::MAX as f32, u64::MAX as f64, f16::INFINITY)), (7, (7.0, 7.0, h(7.0)))],
            );
            t.table(
                |x: Exp<f64>| (x.to::<f32>(), x.to::<f16>(), x.to::<f64>()),
                &[
                    (1e300, (f32::INFINITY, f16::INFINITY, 1e300)),
                    (70_000.0, (70_000.0, f16::INFINITY, 70_000.0)),
                    (0.1, (0.1, h(0.1), 0.1)),
                ],
            );
            t.table(
                |x: Exp<f16>| (x.to::<f32>(), x.to::<f64>(), x.to::<i8>()),
                &[
                    (f16::MAX, (65504.0, 65504.0, 127)),
                    (f16::MIN_POSITIVE_SUBNORMAL, (2f32.powi(-24), 2f64.powi(-24), 0)),
                ],
            );
            t.table(
                |x: Exp<i16>| (x.to::<Complex<f32>>(), x.to_ratio::<i64>()),
                &[(-3, (Complex::new(-3.0, 0.0), Ratio { numer: -3, denom: 1 }))],
            );
        }),
        case("real/E-CV-13-bitcasts", "CVT-04 E-CV-13", |t| {
            t.table(
                |x: Exp<f32>| (bitcast::<_, u32>(x), bitcast::<_, i32>(x)),
                &[(1.0, (0x3F80_0000, 0x3F80_0000)), (-0.0, (1 << 31, i32::MIN))],
            );
            t.table(|x: Exp<i64>| bitcast::<_, f64>(x), &[(1, 5e-324), (0x3FF0_0000_0000_0000, 1.0)]);
            t.table(|x: Exp<u32>| bitcast::<_, f32>(x), &[(0x3F80_0000, 1.0)]);
            t.table(
                |x: Exp<u16>| (bitcast::<_, f16>(x), bitcast::<_, i16>(x)),
                &[(0x3C00, (h(1.0), 0x3C00)), (0x8000, (h(-0.0), i16::MIN))],
            );
            t.table(|x: Exp<i8>| bitcast::<_, u8>(x), &[(-1, 255)]);
            t.table(|x: Exp<u64>| (bitcast::<_, i64>(x), bitcast::<_, f64>(x)), &[(1 << 63, (i64::MIN, -0.0))]);
        }),
        case("real/E-CV-14-characters-and-bool", "CVT-01 CVT-02 CVT-03 E-CV-14 E-CV-15 E-TY-15 REX-18", |t| {
            t.table(
                |c: Exp<char>| (c.ord(), (c.ord() + 1).chr()),
                &[('a', (97, 'b')), ('λ', (955, 'μ')), (char::MAX, (0x10_FFFF, char::REPLACEMENT_CHARACTER))],
            );
            t.table(
                |x: Exp<u32>| x.chr(),
                &[(955, 'λ'), (u32::MAX, char::REPLACEMENT_CHARACTER), (0xD800, char::REPLACEMENT_CHARACTER)],
            );
            t.table(
                |b: Exp<bool>| (b.to_num::<i64>(), b.to_num::<u8>(), b.to_num::<f16>()),
                &[(true, (1, 1, h(1.0))), (false, (0, 0, h(0.0)))],
            );
        }),
        case("real/E-FP-17-kinds-of-floats", "RFL-01 RFL-10 RFL-11 RFL-12 RFL-13 RFL-14 E-FP-17 BUG-01", |t| {
            fn kinds<T: RealFloat>(x: Exp<T>) -> (Exp<bool>, Exp<bool>, Exp<bool>, Exp<bool>, Exp<bool>) {
                (x.is_nan(), x.is_infinite(), x.is_denormalized(), x.is_negative_zero(), x.is_ieee())
            }
            let number = (false, false, false, false, true);
            macro_rules! each_float {
                ($T:ty, $tiny:expr, $least:expr, $one:expr, $zero:expr) => {
                    t.table(
                        kinds::<$T>,
                        &[
                            (<$T>::NAN, (true, false, false, false, true)),
                            (<$T>::INFINITY, (false, true, false, false, true)),
                            (<$T>::NEG_INFINITY, (false, true, false, false, true)),
                            ($tiny, (false, false, true, false, true)),
                            (-$tiny, (false, false, true, false, true)),
                            ($least, number),
                            ($one, number),
                            ($zero, number),
                            (-$zero, (false, false, false, true, true)),
                            (<$T>::MAX, number),
                        ],
                    );
                };
            }
            each_float!(f16, f16::MIN_POSITIVE_SUBNORMAL, f16::MIN_POSITIVE, f16::ONE, f16::ZERO);
            each_float!(f32, f32::from_bits(1), f32::MIN_POSITIVE, 1.0f32, 0.0f32);
            each_float!(f64, f64::from_bits(1), f64::MIN_POSITIVE, 1.0f64, 0.0f64);
        }),
        case("real/E-FP-22-parameters", "RFL-02 RFL-03 RFL-04 RFL-14 E-FP-22", |t| {
            fn parameters<T: RealFloat>(x: Exp<T>) -> (Exp<i64>, Exp<i64>, (Exp<i64>, Exp<i64>)) {
                (x.float_radix(), x.float_digits(), x.float_range())
            }
            t.table(parameters::<f16>, &[(h(1.0), (2, 11, (-13, 16)))]);
            t.table(parameters::<f32>, &[(1.0, (2, 24, (-125, 128)))]);
            t.table(parameters::<f64>, &[(1.0, (2, 53, (-1021, 1024)))]);
        }),
        case("real/E-FP-19-decode", "RFL-05 E-FP-19 BUG-02", |t| {
            t.table(
                |x: Exp<f64>| x.decode_float(),
                &[
                    (1.0, (1 << 52, -52)),
                    (-3.75, (-8_444_249_301_319_680, -51)),
                    (0.0, (0, 0)),
                    (-0.0, (0, 0)),
                    // Of denormalised numbers the mantissa is normalised too.
                    (5e-324, (1 << 52, -1126)),
                    (-1.5e-323, (-(3 << 51), -1125)),
                    (f64::MAX, ((1 << 53) - 1, 971)),
                ],
            );
            t.table(
                |x: Exp<f32>| x.decode_float(),
                &[(1.0, (8_388_608, -23)), (f32::from_bits(1), (8_388_608, -172)), (-0.1, (-13_421_773, -27))],
            );
            t.table(
                |x: Exp<f16>| x.decode_float(),
                &[(h(1.0), (1024, -10)), (f16::MIN_POSITIVE_SUBNORMAL, (1024, -34)), (h(-65504.0), (-2047, 5))],
            );
        }),
        case("real/E-FP-20-encode", "RFL-06 E-FP-20 BUG-03", |t| {
            t.table2(
                |m: Exp<i64>, e: Exp<i64>| encode_float::<f64>(m, e),
                &[
                    (3, 4, 48.0),
                    (1, -1074, 5e-324),
                    (1 << 52, -1126, 5e-324),
                    (-1, -1074, -5e-324),
                    (1, -1075, 0.0),
                    (3, -1075, 1e-323),
                    (1, 1023, 2f64.powi(1023)),
                    (1, 1024, f64::INFINITY),
                    (-1, i64::MAX, f64::NEG_INFINITY),
                    (i64::MAX, i64::MIN, 0.0),
                    (0, i64::MAX, 0.0),
                    (i64::MIN, 0, -(2f64.powi(63))),
                    ((1 << 53) + 1, 0, 9_007_199_254_740_992.0),
                    ((1 << 53) + 3, 0, 9_007_199_254_740_996.0),
                    (i64::MAX, 0, 2f64.powi(63)),
                    ((1 << 53) - 1, 971, f64::MAX),
                    ((1 << 53) - 1, -1074, f64::from_bits((1 << 53) - 1 - (1 << 52) + (1 << 52))),
                ],
            );
            t.table2(
                |m: Exp<i64>, e: Exp<i64>| encode_float::<f32>(m, e),
                &[(3, 4, 48.0), (1, -149, f32::from_bits(1)), (16_777_217, 0, 16_777_216.0), (1, 128, f32::INFINITY)],
            );
            t.table2(
                |m: Exp<i64>, e: Exp<i64>| encode_float::<f16>(m, e),
                &[
                    (3, 4, h(48.0)),
                    (1, -24, f16::MIN_POSITIVE_SUBNORMAL),
                    (65_519, 0, f16::MAX),
                    (65_520, 0, f16::INFINITY),
                ],
            );
        }),
        case("real/E-FP-18-exponent-and-significand", "RFL-07 RFL-08 E-FP-18", |t| {
            let f = |x: Exp<f64>| (x.exponent(), x.significand());
            t.table(
                f,
                &[
                    (1.0, (1, 0.5)),
                    (1.5, (1, 0.75)),
                    (-3.75, (2, -0.9375)),
                    (0.0, (0, 0.0)),
                    (5e-324, (-1073, 0.5)),
                    (f64::MAX, (1024, 1.0f64.next_down())),
                ],
            );
            t.table(|x: Exp<f64>| x.significand(), &[(f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN)]);
            t.table(
                |x: Exp<f32>| (x.exponent(), x.significand()),
                &[(1.0, (1, 0.5)), (-3.75, (2, -0.9375)), (0.0, (0, 0.0)), (f32::from_bits(1), (-148, 0.5))],
            );
            t.table(
                |x: Exp<f16>| (x.exponent(), x.significand()),
                &[(h(1.0), (1, h(0.5))), (f16::MIN_POSITIVE_SUBNORMAL, (-23, h(0.5)))],
            );
        }),
        case("real/E-FP-21-scale", "RFL-09 E-FP-21", |t| {
            t.table2(
                |k: Exp<i64>, x: Exp<f64>| x.scale_float(k),
                &[
                    (3, 1.5, 12.0),
                    (-1080, 1.5, 0.0),
                    (2000, 1.5, f64::INFINITY),
                    (-1074, 1.0, 5e-324),
                    (-1075, 1.5, 5e-324),
                    (-1075, 1.0, 0.0),
                    (2098, 5e-324, f64::INFINITY),
                    (2097, 5e-324, 2f64.powi(1023)),
                    (-2097, 2f64.powi(1023), 5e-324),
                    (i64::MIN, 1.5, 0.0),
                    (i64::MAX, -1.5, f64::NEG_INFINITY),
                    (5, 0.0, 0.0),
                    (7, f64::NAN, f64::NAN),
                    (-9999, f64::INFINITY, f64::INFINITY),
                    // One rounding, to even: not first to fewer digits, and then again.
                    (-1030, f64::from_bits(0x3FF0_0000_0000_0FFF), f64::from_bits((1 << 44) + 16)),
                    (-1040, f64::from_bits((1023 << 52) + (1 << 17) + 1), f64::from_bits((1 << 34) + 1)),
                    (-1100, f64::from_bits((1083 << 52) + (1 << 17) + 1), f64::from_bits((1 << 34) + 1)),
                ],
            );
            t.table2(
                |k: Exp<i64>, x: Exp<f32>| x.scale_float(k),
                &[
                    (3, 1.5, 12.0),
                    (-149, 1.0, f32::from_bits(1)),
                    (276, f32::from_bits(1), 2f32.powi(127)),
                    (-300, f32::MAX, 0.0),
                ],
            );
            t.table2(
                |k: Exp<i64>, x: Exp<f16>| x.scale_float(k),
                &[
                    (3, h(1.5), h(12.0)),
                    (-24, h(1.0), f16::MIN_POSITIVE_SUBNORMAL),
                    (-25, h(1.5), f16::MIN_POSITIVE_SUBNORMAL),
                    (39, f16::MIN_POSITIVE_SUBNORMAL, h(32768.0)),
                    (40, f16::MIN_POSITIVE_SUBNORMAL, f16::INFINITY),
                ],
            );
        }),
        case("real/every-float-comes-back-from-its-parts", "RFL-05 RFL-06 RFL-07 RFL-08 RFL-09 BUG-02 BUG-03", |t| {
            // Every f16; f32 and f64 with their bits spread over all exponents.
            let halves: Vector<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| x.is_finite()).collect();
            t.gives(
                use_(&halves).map(|x| {
                    let (m, e) = x.decode_float();
                    encode_float::<f16>(m, e) + x.is_negative_zero().then_else(f16::NEG_ZERO, f16::NEG_ZERO)
                }),
                halves.to_vec().into_iter().map(|x| if x == f16::ZERO { f16::ZERO } else { x }).collect::<Vector<_>>(),
            );
            t.gives(use_(&halves).map(|x| x.significand().scale_float(x.exponent())), halves);
            let singles: Vector<f32> = (0..60_000u32)
                .map(|k| f32::from_bits(k.wrapping_mul(2_654_435_761)))
                .filter(|x| x.is_finite() && *x != 0.0)
                .collect();
            t.gives(
                use_(&singles).map(|x| {
                    let (m, e) = x.decode_float();
                    encode_float::<f32>(m, e)
                }),
                singles.clone(),
            );
            t.gives(use_(&singles).map(|x| x.significand().scale_float(x.exponent())), singles);
            let doubles: Vector<f64> = (0..60_000u64)
                .map(|k| f64::from_bits(k.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
                .filter(|x| x.is_finite() && *x != 0.0)
                .collect();
            t.gives(
                use_(&doubles).map(|x| {
                    let (m, e) = x.decode_float();
                    encode_float::<f64>(m, e)
                }),
                doubles.clone(),
            );
            t.gives(use_(&doubles).map(|x| x.significand().scale_float(x.exponent())), doubles);
        }),
        case("real/E-CV-16-to-rational", "FRC-01 FRC-02 E-CV-16", |t| {
            let r = |numer, denom| Ratio { numer, denom };
            let rows = [(0.75, r(3, 4)), (-2.5, r(-5, 2)), (8.0, r(8, 1)), (0.0, r(0, 1)), (12.0, r(12, 1))];
            t.table(|x: Exp<f64>| x.to_rational::<i64>(), &rows);
            t.table(
                |x: Exp<f64>| x.to_rational::<i64>(),
                &[(2f64.powi(-60), r(1, 1 << 60)), (2f64.powi(60), r(1 << 60, 1))],
            );
            t.table(|x: Exp<f32>| x.to_rational::<i64>(), &rows.map(|(x, y)| (x as f32, y)));
            t.table(|x: Exp<f16>| x.to_rational::<i64>(), &rows.map(|(x, y)| (h(x), y)));
            t.table(|x: Exp<f32>| x.to_rational::<i16>(), &[(0.75, Ratio { numer: 3, denom: 4 })]);
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                t.table(|x: Exp<T>| x.to_rational::<i64>(), &[(7, r(7, 1)), (0, r(0, 1))]);
            });
        }),
    ]
}
