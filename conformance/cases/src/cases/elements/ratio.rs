//! Fractions of integers: `Ratio`.

use crate::cases::{Case, case};
use acc_core::prelude::*;

fn r<T>(numer: T, denom: T) -> Ratio<T> {
    Ratio { numer, denom }
}

pub fn cases() -> Vec<Case> {
    vec![
        case("ratio/E-TY-12-reduced", "RAT-01 RAT-02 RAT-03 RAT-04 RAT-05 E-TY-12", |t| {
            each!([i8, i16, i32, i64] T {
                t.table2(|n: Exp<T>, d: Exp<T>| ratio(n, d), &[
                    (6, -4, r(-3, 2)), (0, 5, r(0, 1)), (-6, -4, r(3, 2)), (7, 1, r(7, 1)), (12, 18, r(2, 3)),
                    // Without a fault.
                    (5, 0, r(1, 0)), (0, 0, r(1, 0)), (-5, 0, r(1, 0)),
                ]);
                t.table(|x: Exp<Ratio<T>>| (x.numer(), x.denom(), ratio_raw(x.denom(), x.numer())), &[(r(3, 4), (3, 4, r(4, 3)))]);
                t.equal((Ratio::<T>::new(6, -4), Ratio::<T>::new(5, 0), Ratio::<T>::new(0, 7)), (r(-3, 2), r(1, 0), r(0, 1)));
            });
            each!([u8, u16, u32, u64] T {
                t.table2(|n: Exp<T>, d: Exp<T>| ratio(n, d), &[(6, 4, r(3, 2)), (T::MAX, T::MAX, r(1, 1)), (5, 0, r(1, 0))]);
                t.equal(Ratio::<T>::new(6, 4), r(3, 2));
            });
        }),
        case("ratio/arithmetic", "NUM-02 NUM-03 NUM-04 NUM-05 NUM-06 NUM-07 FRC-03 FRC-04 FRC-05 FRC-06 RAT-01", |t| {
            each!([i8, i16, i32, i64] T {
                t.table2(|x: Exp<Ratio<T>>, y: Exp<Ratio<T>>| (x + y, x - y, x * y, x / y), &[
                    (r(1, 2), r(1, 3), (r(5, 6), r(1, 6), r(1, 6), r(3, 2))),
                    (r(-1, 4), r(1, 4), (r(0, 1), r(-1, 2), r(-1, 16), r(-1, 1))),
                    (r(1, 2), r(0, 1), (r(1, 2), r(1, 2), r(0, 1), r(1, 0))),
                ]);
                t.table(|x: Exp<Ratio<T>>| (-x, x.abs(), x.signum(), x.recip(), x + Ratio::<T>::from_i64(1)), &[
                    (r(-3, 4), (r(3, 4), r(3, 4), r(-1, 1), r(-4, 3), r(1, 4))),
                ]);
                t.table(|x: Exp<Ratio<T>>| (x.succ(), x.pred(), x.pow(2), x.powi(-1), x + from_rational(2, 4)), &[(r(1, 2), (r(3, 2), r(-1, 2), r(1, 4), r(2, 1), r(1, 1)))]);
            });
            each!([u8, u16, u32, u64] T {
                t.table2(|x: Exp<Ratio<T>>, y: Exp<Ratio<T>>| (x + y, x * y, x / y), &[(r(1, 2), r(1, 3), (r(5, 6), r(1, 6), r(3, 2)))]);
            });
            let halves: Vector<Ratio<i64>> = (1..=10).map(|k| Ratio::<i64>::new(1, k * (k + 1))).collect();
            t.gives(use_(&halves).sum(), Scalar::scalar(r(10, 11)));
        }),
        case("ratio/order", "EQO-02 EQO-03 EQO-05 EQO-06 EQO-07 EQO-08 EQO-09 EQO-10 RAT-01", |t| {
            t.table2(
                |x: Exp<Ratio<i32>>, y: Exp<Ratio<i32>>| {
                    ((x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y)), x.min(y), x.max(y))
                },
                &[
                    (r(1, 3), r(1, 2), ((false, true, true, true, false, false), r(1, 3), r(1, 2))),
                    (r(-1, 3), r(-1, 2), ((false, true, false, false, true, true), r(-1, 2), r(-1, 3))),
                    (r(2, 3), r(2, 3), ((true, false, false, true, false, true), r(2, 3), r(2, 3))),
                ],
            );
        }),
        case("ratio/E-TY-12-rounding", "RFR-02 RFR-03 RFR-04 RFR-05 RFR-06 RFR-07 RFR-08 RFR-09 E-TY-12", |t| {
            each!([i8, i16, i32, i64] T {
                t.table(|x: Exp<Ratio<T>>| (x.trunc_to::<i64>(), x.round_to::<i64>(), x.floor_to::<i64>(), x.ceil_to::<i64>()), &[
                    (r(-7, 2), (-3, -4, -4, -3)), (r(7, 2), (3, 4, 3, 4)), (r(5, 2), (2, 2, 2, 3)), (r(1, 3), (0, 0, 0, 1)), (r(-2, 3), (0, -1, -1, 0)), (r(4, 1), (4, 4, 4, 4)),
                ]);
            });
            t.table(
                |x: Exp<Ratio<i64>>| x.proper_fraction::<i32>(),
                &[(r(-7, 2), (-3, r(-1, 2))), (r(7, 3), (2, r(1, 3)))],
            );
            t.table2(
                |x: Exp<Ratio<i64>>, y: Exp<Ratio<i64>>| x.floor_div_mod::<i8>(y),
                &[(r(-7, 2), r(1, 1), (-4, r(1, 2))), (r(7, 2), r(2, 3), (5, r(1, 6)))],
            );
            let infinite: Vector<Ratio<i32>> = [r(1, 0)].into_iter().collect();
            t.faults(use_(&infinite).map(|x| x.floor_to::<i32>()), "division_by_zero");
        }),
        case("ratio/conversions", "CNV-01 CNV-02 RAT-01", |t| {
            t.table(
                |x: Exp<Ratio<i64>>| (x.to_float::<f64>(), x.to_float::<f32>(), x.to_float::<f16>()),
                &[
                    (r(-3, 4), (-0.75, -0.75, f16::from_f32(-0.75))),
                    (r(1, 0), (f64::INFINITY, f32::INFINITY, f16::INFINITY)),
                ],
            );
            t.table(|x: Exp<u8>| x.to_ratio::<i16>(), &[(200, r(200, 1))]);
        }),
    ]
}
