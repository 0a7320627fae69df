//! Bits of integers and `bool`.

use crate::cases::{Case, case};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("bits/E-BT-14-logic", "BIT-01 BIT-02 BIT-03 BIT-04 BIT-07 E-BT-14", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                t.table2(|x: Exp<T>, y: Exp<T>| (x & y, x | y, x ^ y, !!x, zero_bits::<T>()), &[(12, 10, (8, 14, 6, 12, 0))]);
            });
            t.table(|x: Exp<u8>| !x, &[(0, 255)]);
            t.table(|x: Exp<i16>| !x, &[(0, -1)]);
            t.table2(
                |x: Exp<bool>, y: Exp<bool>| (x & y, x | y, x ^ y, !x, zero_bits::<bool>()),
                &[(true, false, (false, true, true, false, false))],
            );
        }),
        case(
            "bits/E-BT-01-shifts-saturate",
            "BIT-14 BIT-15 BIT-16 BIT-17 E-BT-01 E-BT-02 E-BT-03 E-BT-04 E-BT-06",
            |t| {
                each!([i8, i16, i32, i64] T {
                    let w = i64::from(T::BITS);
                    t.table2(|x: Exp<T>, k: Exp<i64>| (x.shift_left(k), x.shift_right(k)), &[
                        (1, w, (0, 0)), (1, w - 1, (T::MIN, 0)), (-8, 1, (-16, -4)), (-8, 100, (0, -1)), (8, 100, (0, 0)),
                        (-8, 256, (0, -1)), (8, -1, (0, 0)), (-8, -1, (0, -1)), (-8, i64::MIN, (0, -1)), (-8, i64::MAX, (0, -1)), (5, 0, (5, 5)),
                    ]);
                });
                each!([u8, u16, u32, u64] T {
                    let w = i64::from(T::BITS);
                    t.table2(|x: Exp<T>, k: Exp<i64>| (x.shift_left(k), x.shift_right(k)), &[
                        (1, w, (0, 0)), (1, w - 1, (1 << (T::BITS - 1), 0)), (T::MAX, w - 1, (1 << (T::BITS - 1), 1)),
                        (T::MAX, w, (0, 0)), (T::MAX, 256, (0, 0)), (T::MAX, -1, (0, 0)), (200, 3, (200 << 3, 25)),
                    ]);
                });
                t.table2(
                    |x: Exp<bool>, k: Exp<i64>| (x.shift_left(k), x.shift_right(k)),
                    &[(true, 0, (true, true)), (true, 1, (false, false)), (true, -1, (false, false))],
                );
                t.table(|x: Exp<i32>| (x << 31, x >> 1, x << 32, x >> 32, x << -1), &[(-8, (0, -4, 0, -1, 0))]);
            },
        ),
        case("bits/E-BT-05-shift-in-either-direction", "BIT-05 E-BT-05", |t| {
            each!([i8, i16, i32, i64] T {
                t.table2(|x: Exp<T>, k: Exp<i64>| x.shift(k), &[(8, -1, 4), (-8, -70, -1), (8, 1, 16), (1, 70, 0), (-8, i64::MIN, -1)]);
            });
            each!([u8, u16, u32, u64] T {
                t.table2(|x: Exp<T>, k: Exp<i64>| x.shift(k), &[(8, -1, 4), (T::MAX, -70, 0), (8, 1, 16), (1, 70, 0)]);
            });
            t.table2(|x: Exp<bool>, k: Exp<i64>| x.shift(k), &[(true, 0, true), (true, 1, false), (true, -1, false)]);
        }),
        case("bits/E-BT-07-rotations", "BIT-06 BIT-18 BIT-19 E-BT-07 E-BT-08", |t| {
            t.table2(
                |x: Exp<u8>, k: Exp<i64>| x.rotate_left(k),
                &[(0x81, 1, 3), (0x81, 9, 3), (0x81, -1, 0xC0), (0x81, 0, 0x81), (0x81, 8, 0x81)],
            );
            t.table2(|x: Exp<i8>, k: Exp<i64>| x.rotate_right(k), &[(-127, 1, -64), (-127, 9, -64), (-127, -1, 3)]);
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                let x = (0x0123_4567_89ab_cdef_u64 | 1) as T;
                let rows: Vec<(T, i64, (T, T, T))> = [0, 1, 3, 7, 8, 13, 31, 32, 63, 64, 100, -1, -5, -64, i64::MIN + 1]
                    .map(|k: i64| {
                        let (l, r) = (k.rem_euclid(i64::from(T::BITS)) as u32, (-k).rem_euclid(i64::from(T::BITS)) as u32);
                        (x, k, (x.rotate_left(l), x.rotate_left(r), x.rotate_left(l)))
                    })
                    .to_vec();
                t.table2(|x: Exp<T>, k: Exp<i64>| (x.rotate_left(k), x.rotate_right(k), x.rotate(k)), &rows);
            });
            t.table(
                |x: Exp<bool>| (x.rotate_left(5), x.rotate_right(5)),
                &[(true, (true, true)), (false, (false, false))],
            );
        }),
        case("bits/E-BT-09-single-bits", "BIT-08 BIT-09 BIT-10 BIT-11 BIT-12 E-BT-09 E-BT-10", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                t.table2(
                    |x: Exp<T>, k: Exp<i64>| (bit::<T>(k), x.set_bit(k), x.clear_bit(k), x.complement_bit(k), x.test_bit(k)),
                    &[
                        (5, 0, (1, 5, 4, 4, true)), (5, 1, (2, 7, 5, 7, false)), (5, 64, (0, 5, 5, 5, false)),
                        (5, -1, (0, 5, 5, 5, false)), (5, 256, (0, 5, 5, 5, false)),
                        (0, i64::from(T::BITS), (0, 0, 0, 0, false)), (5, 6, (64, 69, 5, 69, false)),
                    ],
                );
            });
            t.table(
                |x: Exp<i8>| (bit::<i8>(7), x.set_bit(7), x.test_bit(7)),
                &[(0, (-128, -128, false)), (-1, (-128, -1, true))],
            );
            t.table2(
                |x: Exp<bool>, k: Exp<i64>| {
                    (bit::<bool>(k), x.set_bit(k), x.clear_bit(k), x.complement_bit(k), x.test_bit(k))
                },
                &[(true, 0, (true, true, false, false, true)), (true, 1, (false, true, true, true, false))],
            );
        }),
        case("bits/E-BT-11-counts", "BIT-20 BIT-22 BIT-23 E-BT-11 E-BT-12 E-BT-13", |t| {
            each!([i8, i16, i32, i64, u8, u16, u32, u64] T {
                let f = |x: Exp<T>| (x.count_ones(), x.leading_zeros(), x.trailing_zeros());
                let w = T::BITS as i32;
                t.table(f, &[(0, (0, w, w)), (!0, (w, 0, 0)), (1, (1, w - 1, 0)), (T::MIN | 8, ((T::MIN | 8).count_ones() as i32, (T::MIN | 8).leading_zeros() as i32, 3))]);
            });
            t.table(|x: Exp<i8>| x.count_ones(), &[(-1, 8)]);
            t.table(|x: Exp<u32>| x.leading_zeros(), &[(1, 31)]);
        }),
        case("bits/E-BT-15-a-bool-is-one-bit", "BIT-13 BIT-20 BIT-21 BIT-22 BIT-23 E-BT-15", |t| {
            each!([i8, i16, i32, i64] T {
                t.table(|x: Exp<T>| (x.is_signed(), x.bit_size()), &[(1, (true, i64::from(T::BITS)))]);
            });
            each!([u8, u16, u32, u64] T {
                t.table(|x: Exp<T>| (x.is_signed(), x.bit_size()), &[(1, (false, i64::from(T::BITS)))]);
            });
            t.table(
                |x: Exp<bool>| (x.is_signed(), x.bit_size(), x.count_ones(), x.leading_zeros(), x.trailing_zeros()),
                &[(true, (false, 1, 1, 0, 0)), (false, (false, 1, 0, 1, 1))],
            );
        }),
    ]
}
