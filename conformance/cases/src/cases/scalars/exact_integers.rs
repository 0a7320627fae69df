//! Integers are exact: every operation on every integer type, on extreme and random values, against 128-bit arithmetic.

use crate::cases::{Case, Check, case};
use acc_core::prelude::*;

/// Numbers that look random (Knuth's MMIX constants).
fn random(n: usize) -> impl Iterator<Item = u64> {
    let mut state = 2024u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    })
    .take(n)
}

fn floor_div(x: i128, y: i128) -> i128 {
    x / y - i128::from(x % y != 0 && (x < 0) != (y < 0))
}

fn shl(x: i128, by: i128, width: u32) -> i128 {
    if (0..i128::from(width)).contains(&by) { x << by } else { 0 }
}

fn shr(x: i128, by: i128, width: u32) -> i128 {
    if (0..i128::from(width)).contains(&by) { x >> by } else { -i128::from(x < 0) }
}

macro_rules! integers {
    ($($of:ident $t:ident),*) => { $(mod $of {
        use super::*;
        type T = $t;

        /// Values at and near the ends and the powers of two, and random ones of all sizes.
        fn values() -> Vec<T> {
            let mut out: Vec<T> = vec![0, 1, 2, 3, 7, 10, 100];
            for k in 0..T::BITS {
                let power = (1 as T) << k;
                out.extend([power, power.wrapping_sub(1), power.wrapping_neg()]);
            }
            out.extend([T::MIN, T::MAX, T::MIN.wrapping_add(1), T::MAX - 1, T::MAX / 2, (0 as T).wrapping_sub(1)]);
            out.extend(random(40).map(|r| (r >> (r % 64)) as T));
            out
        }

        fn pairs(zeros: bool) -> Vector<(T, T)> {
            let (values, small) = (values(), (0..=T::BITS).map(|k| k as T));
            let ys: Vec<T> = values.iter().copied().chain(small).filter(|&y| zeros || y != 0).collect();
            values.iter().flat_map(|&x| ys.iter().map(move |&y| (x, y))).collect()
        }

        fn want<R: Elt>(pairs: &Vector<(T, T)>, f: impl Fn(i128, i128) -> R) -> Vector<R> {
            pairs.to_vec().into_iter().map(|(x, y)| f(x as i128, y as i128)).collect()
        }

        /// The bits as an unsigned number.
        fn bits(x: i128) -> u64 {
            x as u64 & (u64::MAX >> (64 - T::BITS))
        }

        pub fn check(t: &mut Check<'_>) {
            let all = pairs(true);
            let w = T::BITS;
            t.gives(
                use_(&all).map(|(x, y)| (x + y, x - y, x * y, x.min(y), x.max(y), x & y, x | y, x ^ y, x << y, x >> y)),
                want(&all, |x, y| (
                    (x + y) as T, (x - y) as T, x.wrapping_mul(y) as T, x.min(y) as T, x.max(y) as T, (x & y) as T,
                    (x | y) as T, (x ^ y) as T, shl(x, y, w) as T, shr(x, y, w) as T,
                )),
            );
            t.gives(
                use_(&all).map(|(x, y)| (x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y))),
                want(&all, |x, y| (x == y, x != y, x < y, x <= y, x > y, x >= y)),
            );
            t.gives(
                use_(&all).map(|(x, _)| {
                    (-x, x.abs(), x.signum(), !x, x.count_ones(), x.leading_zeros(), x.trailing_zeros(), x.succ(), x.pred())
                }),
                want(&all, |x, _| (
                    (-x) as T, x.unsigned_abs() as T, x.signum() as T, (!x) as T, bits(x).count_ones() as i32,
                    (bits(x).leading_zeros() + w - 64) as i32, bits(x).trailing_zeros().min(w) as i32, (x + 1) as T, (x - 1) as T,
                )),
            );
            let divisible = pairs(false);
            t.gives(
                use_(&divisible).map(|(x, y)| (x.quot(y), x.rem(y), x.div_floor(y), x.mod_floor(y), x / y, x % y)),
                want(&divisible, |x, y| (
                    (x / y) as T, (x % y) as T, floor_div(x, y) as T, (x - floor_div(x, y) * y) as T, (x / y) as T, (x % y) as T,
                )),
            );
            t.gives(
                use_(&all).map(|(x, _)| {
                    (x.to::<i8>(), x.to::<i16>(), x.to::<i32>(), x.to::<i64>(), x.to::<u8>(), x.to::<u16>(), x.to::<u32>(), x.to::<u64>())
                }),
                want(&all, |x, _| (x as i8, x as i16, x as i32, x as i64, x as u8, x as u16, x as u32, x as u64)),
            );
            t.gives(
                use_(&all).map(|(x, _)| (x.to::<f32>(), x.to::<f64>(), x.to::<f16>())),
                want(&all, |x, _| (x as f32, x as f64, f16::from_f32(x as f32))),
            );
            // A literal operand is another way through some executors, and so is a rank-0 array.
            let xs: Vector<T> = values().into_iter().collect();
            for c in [1, 2, 3, 7, 64, T::MAX, T::MIN, (0 as T).wrapping_sub(1)].into_iter().filter(|&c| c != 0) {
                let expected: Vector<_> = xs.to_vec().into_iter().map(|x| {
                    let (x, y) = (x as i128, c as i128);
                    (
                        ((x / y) as T, (x % y) as T, floor_div(x, y) as T, (x - floor_div(x, y) * y) as T),
                        (shl(x, y, w) as T, shr(x, y, w) as T, x.wrapping_mul(y) as T, x < y),
                    )
                }).collect();
                let program = |x: Exp<T>, c: Exp<T>| {
                    ((x / c, x % c, x.div_floor(c), x.mod_floor(c)), (x << c, x >> c, x * c, x.lt(c)))
                };
                t.gives(use_(&xs).map(|x| program(x, constant(c))), expected.clone());
                let scalar = use_(&Scalar::scalar(c));
                t.gives(use_(&xs).map(|x| program(x, scalar.the())), expected);
            }
            t.gives(use_(&xs).sum(), Scalar::scalar(xs.to_vec().into_iter().fold(0, T::wrapping_add)));
            t.gives(use_(&xs).product(), Scalar::scalar(xs.to_vec().into_iter().fold(1, T::wrapping_mul)));
            t.gives(use_(&xs).minimum(), Scalar::scalar(T::MIN));
            t.gives(use_(&xs).maximum(), Scalar::scalar(T::MAX));
            let none: Vector<(T, T)> = Vector::from_iter([]);
            t.gives(use_(&none).map(|(x, y)| (x + y) / (y * x)), Vector::from([0 as T; 0]));
            let zero: Vector<(T, T)> = [(5, 0)].into_iter().collect();
            t.faults(use_(&zero).map(|(x, y)| x.quot(y)), "division_by_zero");
            t.faults(use_(&zero).map(|(x, y)| x.rem(y)), "division_by_zero");
            t.faults(use_(&zero).map(|(x, y)| x.div_floor(y)), "division_by_zero");
            t.faults(use_(&zero).map(|(x, y)| x.mod_floor(y)), "division_by_zero");
        }
    })* };
}
integers!(of_i8 i8, of_i16 i16, of_i32 i32, of_i64 i64, of_u8 u8, of_u16 u16, of_u32 u32, of_u64 u64);

const ROWS: &str = "REX-09 REX-10 NUM-02 NUM-03 NUM-04 NUM-05 NUM-06 NUM-07 INT-02 INT-03 INT-04 INT-05 EQO-02 EQO-03 EQO-05 EQO-06 \
    EQO-07 EQO-08 EQO-09 EQO-10 BIT-01 BIT-02 BIT-03 BIT-04 BIT-20 BIT-22 BIT-23 ENB-02 ENB-03 CNV-01 CNV-02 E-IN-07 E-IN-08 \
    E-IN-09 E-IN-10 E-IN-11 E-IN-14 E-IN-19";

pub fn cases() -> Vec<Case> {
    vec![
        case("exact/i8", ROWS, of_i8::check),
        case("exact/i16", ROWS, of_i16::check),
        case("exact/i32", ROWS, of_i32::check),
        case("exact/i64", ROWS, of_i64::check),
        case("exact/u8", ROWS, of_u8::check),
        case("exact/u16", ROWS, of_u16::check),
        case("exact/u32", ROWS, of_u32::check),
        case("exact/u64", ROWS, of_u64::check),
    ]
}
