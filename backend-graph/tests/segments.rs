//! Segments on libtorch agree with the interpreter, whatever they are like: what is done about them depends on that.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use backend_graph::{Libtorch, Options};
use std::fmt::Debug;

#[track_caller]
fn agree<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap();
    assert_eq!(Libtorch::cpu().run(&program).unwrap(), want);
}

/// The lengths of segments of up to twelve elements: equal, all of one element, all empty, unlike, too unlike to lie side
/// by side, one, none.
fn segments() -> [Vec<i64>; 9] {
    [
        vec![3, 3, 3, 3],
        vec![5, 5],
        vec![1; 12],
        vec![0; 3],
        vec![2, 4, 1, 5],
        vec![0, 7, 0, 0, 2],
        vec![1, 1, 1, 1, 8],
        vec![12],
        vec![],
    ]
}

/// The elements of the given list, again and again, in an array of two rows and one of one.
macro_rules! folds {
    ($name:ident, $ty:ty, [$($x:expr),*], $arithmetic:expr) => {
        #[test]
        fn $name() {
            let all: [$ty; _] = [$($x),*];
            let element = |i: usize| all[i % all.len()];
            let row = use_(&Vector::from((0..12).map(element).collect::<Vec<_>>()));
            let rows = use_(&Matrix::from_fn((2, 12), |ix| element(ix[0] * 5 + ix[1] * 7)).unwrap());
            for lengths in segments() {
                let full = lengths.iter().all(|n| *n > 0);
                let ends = lengths.iter().scan(0, |end, n| { *end += n; Some(*end) });
                // Where there is place before the first segment, it does not begin at the beginning.
                let first = i64::from(lengths.iter().sum::<i64>() < 12);
                let offsets = Vector::from([first].into_iter().chain(ends.map(|n| n + first)).collect::<Vec<_>>());
                let lengths = Vector::from(lengths);
                agree(row.fold_seg(&lengths, all[0], |a, b| a.min(b)));
                agree(rows.fold_seg(&lengths, all[0], |a, b| a.max(b)));
                agree(rows.fold_seg_offsets(&offsets, all[1], |a, b| a.min(b)));
                agree(row.scanl1_seg(&lengths, |a, b| a.max(b)));
                agree(rows.scanl1_seg(&lengths, |a, b| a.min(b)));
                if full {
                    agree(row.fold1_seg(&lengths, |a, b| a.max(b)));
                    agree(rows.fold1_seg_offsets(&offsets, |a, b| a.min(b)));
                }
                if $arithmetic {
                    agree(row.fold_seg(&lengths, all[0], |a, b| a + b));
                    agree(rows.fold_seg_offsets(&offsets, all[0], |a, b| a + b));
                    agree(rows.fold_seg(&lengths, all[1], |a, b| a * b));
                    agree(row.scanl1_seg(&lengths, |a, b| a + b));
                    agree(rows.scanl1_seg(&lengths, |a, b| a * b));
                }
            }
        }
    };
}

folds!(of_i8, i8, [3, i8::MIN, i8::MAX, -1, 0], true);
folds!(of_u8, u8, [3, u8::MAX, 0, 200, 7], true);
folds!(of_i16, i16, [3, i16::MIN, i16::MAX, -1, 0], true);
folds!(of_u16, u16, [3, u16::MAX, 0, 40_000, 7], true);
folds!(of_i32, i32, [3, i32::MIN, i32::MAX, i32::MAX - 1, 0], true);
folds!(of_u32, u32, [3, u32::MAX, 0, u32::MAX - 1, 7], true);
folds!(of_i64, i64, [3, i64::MIN, i64::MAX, i64::MAX - 1, 0], true);
folds!(of_u64, u64, [3, u64::MAX, 0, u64::MAX - 1, 7], true);
// Powers of two, whose sums and products are exact in any order.
folds!(
    of_f16,
    f16,
    [f16::from_f32(1.0), f16::from_f32(2.0), f16::from_f32(0.5), f16::from_f32(-1.0), f16::from_f32(4.0)],
    true
);
folds!(of_f32, f32, [1.0, 2.0, 0.5, -1.0, 4.0], true);
folds!(of_f64, f64, [1.0, 2.0, 0.5, -1.0, 4.0], true);

#[test]
fn of_truth_values() {
    let row = use_(&Vector::from((0..12).map(|i| i % 5 != 3).collect::<Vec<_>>()));
    let rows = use_(&Matrix::from_fn((2, 12), |ix| (ix[0] + ix[1]) % 3 == 0).unwrap());
    for lengths in segments() {
        let lengths = Vector::from(lengths);
        agree(row.fold_seg(&lengths, true, |a, b| a & b));
        agree(rows.fold_seg(&lengths, false, |a, b| a | b));
        agree(rows.scanl1_seg(&lengths, |a, b| a & b));
    }
}

/// Offsets that are not there, also where their differences would wrap.
#[test]
fn segments_that_are_not_there() {
    let row = use_(&Vector::from([1.0f32, 2.0, 3.0]));
    for offsets in [vec![-1, 3], vec![0, 4], vec![2, 1], vec![1, i64::MIN + 1, 1], vec![0, i64::MAX, 2], vec![]] {
        let program = row.fold_seg_offsets(&Vector::from(offsets.clone()), 0.0, |a, b| a + b);
        let want = Interpreter::new().run(&program).unwrap_err().to_string();
        assert_eq!(Libtorch::cpu().run(&program).unwrap_err().to_string(), want, "{offsets:?}");
        assert!(Libtorch::with(Options::new().checks(false)).expect("the CPU").run(&program).is_err(), "{offsets:?}");
    }
}

/// Both fault in the same way.
#[track_caller]
fn fault<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap_err();
    assert_eq!(Libtorch::cpu().run(&program).unwrap_err().to_string(), want.to_string());
}

/// Bags of rows of a table, which is read row by row, column by column, and as a vector.
#[test]
fn sums_of_what_is_read_of_a_table() {
    macro_rules! of {
        ($ty:ty, $id:ty, $rows:expr, $columns:expr, $bags:expr) => {{
            let (rows, bags): (usize, &[i64]) = ($rows, $bags);
            let table = generate((rows, $columns), |(i, j)| (i * 5 + j * 3).to::<$ty>()).compute();
            let total = bags.iter().sum::<i64>() as usize;
            let id = |k: usize| if rows == 0 { 0 } else { (k * 7 % rows) as $id };
            let ids = use_(&Vector::from((0..total).map(id).collect::<Vec<_>>()));
            let at = |k: Exp<i64>| ids.index(k).to::<i64>();
            let lengths = Vector::from(bags.to_vec());
            let offsets = bags.iter().scan(0, |end, n| {
                *end += n;
                Some(*end)
            });
            let offsets = use_(&Vector::from([0].into_iter().chain(offsets).collect::<Vec<_>>()));
            let (n, columns) = (ids.length(), table.shape().1);
            let sums = |read: &Acc<Matrix<$ty>>| read.fold_seg(&lengths, 0 as $ty, |a, b| a + b);
            agree(sums(&generate((columns, n), |(j, k)| table.index((at(k), j)))));
            let transposed = table.transpose().compute();
            agree(sums(&generate((columns, n), |(j, k)| transposed.index((j, at(k))))).transpose());
            agree(sums(&generate((columns, n), |(j, k)| table.index((at(k), j)) * 2 as $ty)));
            if $columns > 0 {
                agree(generate(n, |k| table.index((at(k), 0))).fold_seg(&lengths, 1 as $ty, |a, b| a + b));
            }
            agree(
                generate((columns, n), |(j, k)| table.index((at(k), j))).fold_seg(&lengths, 2 as $ty, |a, b| a.max(b)),
            );
            agree(generate((offsets.length() - 1, columns), |(b, j)| {
                let step = |(k, sum): (Exp<i64>, Exp<$ty>)| (k + 1, sum + table.index((at(k), j)));
                while_((offsets.index(b), 0 as $ty), |(k, _)| k.lt(offsets.index(b + 1)), step).1
            }));
            // Neither the first nor the last elements are in a segment.
            let fewer = offsets.map(|x| x.max(1).min(n - 1));
            let read = generate((columns, n), |(j, k)| table.index((at(k), j)));
            if total > 1 {
                agree(read.fold_seg_offsets(&fewer, 0 as $ty, |a, b| a + b));
            }
            // Positions out of bounds, in a segment and in none.
            for off in [-1i64, rows as i64] {
                let read = generate((columns, n), |(j, k)| table.index((k.eq(0).then_else(off, at(k)), j)));
                if total > 1 && $columns > 0 {
                    fault(sums(&read));
                    fault(read.fold_seg_offsets(&fewer, 0 as $ty, |a, b| a + b));
                }
            }
        }};
    }
    for bags in [&[3i64, 0, 4, 1][..], &[2, 2, 2], &[0, 0], &[], &[9]] {
        of!(f32, i64, 6, 3, bags);
        of!(f64, i32, 6, 3, bags);
        of!(f32, u8, 5, 1, bags);
        of!(i64, i64, 6, 3, bags);
        of!(f32, i64, 6, 0, bags);
    }
    of!(f32, i64, 0, 3, &[0, 0]);
    // Elements that are rows themselves.
    let table = generate((4, 2, 3), |(i, j, k)| (i * 6 + j * 3 + k).to::<f32>()).compute();
    let ids = use_(&Vector::from([3i64, 1, 1, 0, 2]));
    let read = generate((2, 3, 5), |(j, k, i)| table.index((ids.index(i), j, k)));
    agree(read.fold_seg(&Vector::from([2i64, 0, 3]), 0.0, |a, b| a + b));
}
