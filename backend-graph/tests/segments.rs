//! Segments on libtorch agree with the interpreter, whatever they are like: what is done about them depends on that.
#![cfg(feature = "libtorch")]

use acc_core::prelude::*;
use backend_graph::Libtorch;
use std::fmt::Debug;

#[track_caller]
fn agree<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap();
    assert_eq!(Libtorch::cpu().run(&program).unwrap(), want);
}

/// The lengths of segments of up to twelve elements: alike, all of one element, all empty, unlike, too unlike to lie side
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
        assert!(Libtorch::cpu().with_checks(false).run(&program).is_err(), "{offsets:?}");
    }
}
