//! Segmented folds and scans.

use super::fold::{affine, compose};
use crate::cases::{Case, case, host};
use acc_core::prelude::*;

fn ten() -> Acc<Vector<i32>> {
    enum_from(10, 0)
}

fn five() -> Acc<Vector<i32>> {
    enum_from(5, 1)
}

fn add(a: Exp<i32>, b: Exp<i32>) -> Exp<i32> {
    a + b
}

fn lengths(n: impl IntoIterator<Item = i64>) -> Vector<i64> {
    n.into_iter().collect()
}

/// Segments of the reference: 8 of 10 elements.
fn eight() -> Vector<i64> {
    lengths([1, 4, 0, 3])
}

fn i32s(xs: impl IntoIterator<Item = i32>) -> Vector<i32> {
    xs.into_iter().collect()
}

pub fn cases() -> Vec<Case> {
    vec![
        case("segments/fold", "SEG-01 E-SF-01 E-SF-03 E-SF-04 E-SF-06 E-SF-08 E-SF-09", |t| {
            t.gives(ten().fold_seg(&eight(), 100, add), i32s([100, 110, 100, 118]));
            t.gives(ten().fold_seg(&lengths([]), 100, add), i32s([]));
            t.gives(fill(0, 1).fold_seg(&lengths([0, 0]), 100, add), i32s([100, 100]));
            let m = generate((2, 5), |(i, j)| (i * 5 + j).to::<i32>());
            t.gives(m.fold_seg(&lengths([2, 0, 1]), 0, add), Matrix::from([[1, 0, 2], [11, 0, 7]]));
            t.gives(fill((0, 5), 1).fold_seg(&lengths([2, 0, 1]), 0, add), host((0, 3), [0; 0]));
            let c = generate((2, 2, 3), |(i, j, k)| ((i * 2 + j) * 3 + k).to::<i32>());
            t.gives(c.fold_seg(&lengths([1, 2]), 0, add), host((2, 2, 2), [0, 3, 3, 9, 6, 15, 9, 21]));
        }),
        case("segments/E-SF-05-too-long", "SEG-01 E-SF-05 E-SF-07 E-SS-18 E-SS-30", |t| {
            for segments in [lengths([5, 6]), lengths([3, -1, 2]), lengths([i64::MAX, i64::MAX, 2])] {
                t.faults(ten().fold_seg(&segments, 0, add), "check_failed");
                t.faults(ten().fold1_seg(&segments, add), "check_failed");
                t.faults(ten().scanl_seg(&segments, 0, add), "check_failed");
                t.faults(ten().scanl1_seg(&segments, add), "check_failed");
                t.faults(ten().scanr_seg(&segments, 0, add), "check_failed");
                t.faults(ten().scanr1_seg(&segments, add), "check_failed");
                t.faults(ten().scanl_with_total_seg(&segments, 0, add).1, "check_failed");
                t.faults(ten().postscanr_seg(&segments, 0, add), "check_failed");
                t.faults(fill((0, 10), 1).fold_seg(&segments, 0, add), "check_failed");
            }
        }),
        case("segments/fold1", "SEG-02 E-SF-10 E-SF-11", |t| {
            t.gives(ten().fold1_seg(&lengths([1, 4, 3]), add), i32s([0, 10, 18]));
            t.faults(ten().fold1_seg(&eight(), add), "check_failed");
            t.gives(ten().fold1_seg(&lengths([]), add), i32s([]));
        }),
        case("segments/fold-offsets", "SEG-03 E-SF-12 E-SF-13 E-SF-14 E-SF-15", |t| {
            t.gives(ten().fold_seg_offsets(&lengths([0, 1, 5, 5, 8]), 0, add), i32s([0, 10, 0, 18]));
            t.gives(ten().fold_seg_offsets(&lengths([2, 4, 9]), 0, add), i32s([5, 30]));
            t.faults(ten().fold_seg_offsets(&lengths([]), 0, add), "check_failed");
            t.gives(ten().fold_seg_offsets(&lengths([0]), 0, add), i32s([]));
            t.gives(ten().fold_seg_offsets(&Vector::from([4u8, 6]), 0, add), i32s([9]));
            t.faults(ten().fold_seg_offsets(&lengths([0, 5, 3]), 0, add), "check_failed");
            t.faults(ten().fold_seg_offsets(&lengths([-1, 3]), 0, add), "check_failed");
            t.faults(ten().fold_seg_offsets(&lengths([0, 11]), 0, add), "check_failed");
        }),
        case("segments/fold1-offsets", "SEG-04 E-SF-16", |t| {
            t.gives(ten().fold1_seg_offsets(&lengths([0, 1, 5, 8]), add), i32s([0, 10, 18]));
            t.faults(ten().fold1_seg_offsets(&lengths([0, 1, 1, 8]), add), "check_failed");
            t.gives(ten().fold1_seg_offsets(&lengths([3]), add), i32s([]));
        }),
        case("segments/E-SF-17-types", "SEG-01 SSC-01 E-SF-17", |t| {
            macro_rules! types {
                ($($t:ty),*) => { $({
                    let segments: Vector<$t> = Vector::from([100, 0, 120, 80]);
                    // Their sum does not fit into a byte.
                    let ones = fill(300, 1i32);
                    t.gives(ones.fold_seg(&segments, 0, add), i32s([100, 0, 120, 80]));
                    t.gives(ones.fold1_seg(&Vector::from([100 as $t, 120, 80]), add), i32s([100, 120, 80]));
                    let want = (0..=100).chain([0]).chain(0..=120).chain(0..=80);
                    t.gives(ones.scanl_seg(&segments, 0, add), i32s(want));
                    t.gives(fill(0, 1).fold_seg(&Vector::from([0 as $t; 0]), 0, add), i32s([]));
                })* };
            }
            types!(i8, i16, i32, i64, u8, u16, u32, u64);
        }),
        case(
            "segments/scanl",
            "SSC-01 E-SS-01 E-SS-02 E-SS-11 E-SS-15 E-SS-19 E-SS-25 E-SS-26 E-SS-27 E-SS-31 BUG-08",
            |t| {
                t.gives(ten().scanl_seg(&eight(), 0, add), i32s([0, 0, 0, 1, 3, 6, 10, 0, 0, 5, 11, 18]));
                let want = i32s([100, 100, 100, 101, 103, 106, 110, 100, 100, 105, 111, 118]);
                t.gives(ten().scanl_seg(&eight(), 100, add), want);
                t.gives(five().scanl_seg(&lengths([2, 3]), 9, add), i32s([9, 10, 12, 9, 12, 16, 21]));
                let want = Vector::from_iter([(2, 9), (4, 11), (2, 9), (6, 19), (42, 43)]);
                t.gives(affine().scanl_seg(&lengths([1, 2]), (2, 9), compose), want);
                let gaps = lengths([0, 2, 0, 0, 3, 0]);
                t.gives(five().scanl_seg(&gaps, 9, add), i32s([9, 9, 10, 12, 9, 9, 9, 12, 16, 21, 9]));
                t.gives(fill(0, 1).scanl_seg(&lengths([0, 0]), 9, add), i32s([9, 9]));
                t.gives(fill(0, 1).scanl_seg(&lengths([]), 9, add), i32s([]));
                t.gives(five().take(3).scanl_seg(&lengths([]), 9, add), i32s([]));
                t.gives(five().scanl_seg(&lengths([0, 0]), 9, add), i32s([9, 9]));
                let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
                t.gives(m.scanl_seg(&lengths([1, 2]), 9, add), Matrix::from([[9, 10, 9, 11, 14], [9, 13, 9, 14, 20]]));
            },
        ),
        case("segments/scanl1", "SSC-02 E-SS-03 E-SS-11 E-SS-23", |t| {
            t.gives(ten().scanl1_seg(&eight(), add), i32s([0, 1, 3, 6, 10, 5, 11, 18]));
            t.gives(five().scanl1_seg(&lengths([2, 3]), add), i32s([1, 3, 3, 7, 12]));
            t.gives(five().scanl1_seg(&lengths([0, 2, 0, 0, 3, 0]), add), i32s([1, 3, 3, 7, 12]));
            t.gives(five().scanl1_seg(&lengths([]), add), i32s([]));
        }),
        case("segments/scanl-with-total", "SSC-03 E-SS-04 E-SS-13 E-SS-20 E-SS-28 E-SS-29 E-SS-32 BUG-13", |t| {
            let want = (i32s([100, 100, 101, 103, 106, 100, 105, 111]), i32s([100, 110, 100, 118]));
            t.gives(ten().scanl_with_total_seg(&eight(), 100, add), want);
            let want = (i32s([9, 10, 9, 12, 16]), i32s([12, 21]));
            t.gives(five().scanl_with_total_seg(&lengths([2, 3]), 9, add), want);
            let want = (i32s([9, 10, 9, 12, 16]), i32s([9, 12, 9, 9, 21, 9]));
            t.gives(five().scanl_with_total_seg(&lengths([0, 2, 0, 0, 3, 0]), 9, add), want);
            t.gives(five().scanl_with_total_seg(&lengths([]), 9, add), (i32s([]), i32s([])));
            t.gives(fill(0, 1).scanl_with_total_seg(&lengths([0, 0]), 9, add), (i32s([]), i32s([9, 9])));
            t.gives(five().scanl_with_total_seg(&lengths([0, 0]), 9, add), (i32s([]), i32s([9, 9])));
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            let want = (Matrix::from([[9, 9, 11], [9, 9, 14]]), Matrix::from([[10, 14], [13, 20]]));
            t.gives(m.scanl_with_total_seg(&lengths([1, 2]), 9, add), want);
        }),
        case("segments/prescanl-and-postscanl", "SSC-04 SSC-05 E-SS-05 E-SS-14 E-SS-15", |t| {
            t.gives(ten().prescanl_seg(&eight(), 100, add), i32s([100, 100, 101, 103, 106, 100, 105, 111]));
            t.gives(ten().postscanl_seg(&eight(), 100, add), i32s([100, 101, 103, 106, 110, 105, 111, 118]));
            let gaps = lengths([0, 2, 0, 3]);
            t.gives(five().prescanl_seg(&gaps, 9, add), i32s([9, 10, 9, 12, 16]));
            t.gives(five().postscanl_seg(&gaps, 9, add), i32s([10, 12, 12, 16, 21]));
            let want = Vector::from_iter([(4, 11), (6, 19), (42, 43)]);
            t.gives(affine().postscanl_seg(&lengths([1, 2]), (2, 9), compose), want);
            t.gives(five().prescanl_seg(&lengths([]), 9, add), i32s([]));
            t.gives(five().postscanl_seg(&lengths([0]), 9, add), i32s([]));
        }),
        case("segments/scanr", "SSC-06 E-SS-06 E-SS-11 E-SS-15 E-SS-22 E-SS-25 E-SS-26 E-SS-27 BUG-08", |t| {
            // Of the first elements, as all the other scans.
            t.gives(ten().scanr_seg(&eight(), 0, add), i32s([0, 0, 10, 9, 7, 4, 0, 0, 18, 13, 7, 0]));
            t.gives(five().scanr_seg(&lengths([2, 3]), 9, add), i32s([12, 11, 9, 21, 18, 14, 9]));
            let want = Vector::from_iter([(4, 19), (2, 9), (42, 206), (14, 67), (2, 9)]);
            t.gives(affine().scanr_seg(&lengths([1, 2]), (2, 9), compose), want);
            let gaps = lengths([0, 2, 0, 0, 3, 0]);
            t.gives(five().scanr_seg(&gaps, 9, add), i32s([9, 12, 11, 9, 9, 9, 21, 18, 14, 9, 9]));
            t.gives(five().take(3).scanr_seg(&lengths([]), 9, add), i32s([]));
            t.gives(five().scanr_seg(&lengths([0, 0]), 9, add), i32s([9, 9]));
        }),
        case("segments/scanr1", "SSC-07 E-SS-07 E-SS-11 E-SS-17 E-SS-24 BUG-06", |t| {
            t.gives(ten().scanr1_seg(&eight(), add), i32s([0, 10, 9, 7, 4, 18, 13, 7]));
            t.gives(five().scanr1_seg(&lengths([2, 3]), add), i32s([3, 2, 12, 9, 5]));
            t.gives(five().scanr1_seg(&lengths([2, 0, 0, 3, 0]), add), i32s([3, 2, 12, 9, 5]));
            t.gives(five().scanr1_seg(&lengths([0, 2, 0, 0, 3, 0]), add), i32s([3, 2, 12, 9, 5]));
            t.gives(five().scanr1_seg(&lengths([]), add), i32s([]));
        }),
        case("segments/scanr-with-total", "SSC-08 E-SS-08 E-SS-13 E-SS-21", |t| {
            let want = (i32s([100, 109, 107, 104, 100, 113, 107, 100]), i32s([100, 110, 100, 118]));
            t.gives(ten().scanr_with_total_seg(&eight(), 100, add), want);
            let want = (i32s([11, 9, 18, 14, 9]), i32s([12, 21]));
            t.gives(five().scanr_with_total_seg(&lengths([2, 3]), 9, add), want);
            let want = (i32s([11, 9, 18, 14, 9]), i32s([9, 12, 9, 9, 21, 9]));
            t.gives(five().scanr_with_total_seg(&lengths([0, 2, 0, 0, 3, 0]), 9, add), want);
            let want = (Vector::from_iter([(2, 9), (14, 67), (2, 9)]), Vector::from_iter([(4, 19), (42, 206)]));
            t.gives(affine().scanr_with_total_seg(&lengths([1, 2]), (2, 9), compose), want);
            t.gives(five().scanr_with_total_seg(&lengths([]), 9, add), (i32s([]), i32s([])));
        }),
        case("segments/prescanr-and-postscanr", "SSC-09 SSC-10 E-SS-09 E-SS-14 E-SS-16 BUG-07", |t| {
            t.gives(ten().prescanr_seg(&eight(), 100, add), i32s([100, 109, 107, 104, 100, 113, 107, 100]));
            t.gives(ten().postscanr_seg(&eight(), 100, add), i32s([100, 110, 109, 107, 104, 118, 113, 107]));
            t.gives(five().prescanr_seg(&lengths([0, 2, 0, 3]), 9, add), i32s([11, 9, 18, 14, 9]));
            let want = Vector::from_iter([(4, 19), (42, 206), (14, 67)]);
            t.gives(affine().postscanr_seg(&lengths([1, 2]), (2, 9), compose), want);
            t.gives(five().prescanr_seg(&lengths([]), 9, add), i32s([]));
            t.gives(five().postscanr_seg(&lengths([0]), 9, add), i32s([]));
        }),
        case(
            "segments/E-SS-10-concatenated",
            "SSC-01 SSC-02 SSC-03 SSC-04 SSC-05 SSC-06 SSC-07 SSC-08 SSC-09 SSC-10 E-SS-10",
            |t| {
                let xs = enum_from(6, 1i32);
                let (head, rest) = (xs.take(2), xs.drop(2));
                let segments = lengths([2, 4]);
                macro_rules! concatenated {
                ($($plain:ident $seg:ident;)*) => { $(
                    let both = head.$plain(9, add).concat(rest.$plain(9, add));
                    t.gives(xs.$seg(&segments, 9, add).zip(both).map(|(a, b)| a.eq(b)).and(), Scalar::scalar(true));
                )* };
            }
                concatenated! {
                    scanl scanl_seg; prescanl prescanl_seg; postscanl postscanl_seg;
                    scanr scanr_seg; prescanr prescanr_seg; postscanr postscanr_seg;
                }
                t.gives(xs.scanl_seg(&segments, 9, add), i32s([9, 10, 12, 9, 12, 16, 21, 27]));
                t.gives(xs.scanr_seg(&segments, 9, add), i32s([12, 11, 9, 27, 24, 20, 15, 9]));
                t.gives(xs.scanl1_seg(&segments, add), i32s([1, 3, 3, 7, 12, 18]));
                t.gives(xs.scanr1_seg(&segments, add), i32s([3, 2, 18, 15, 11, 6]));
                t.gives(xs.scanl_with_total_seg(&segments, 9, add).1, i32s([12, 27]));
                t.gives(xs.scanr_with_total_seg(&segments, 9, add).1, i32s([12, 27]));
            },
        ),
        case("segments/E-SS-12", "SSC-02 SSC-07 E-SS-12", |t| {
            t.gives(five().scanl1_seg(&lengths([2, 3]), add), i32s([1, 3, 3, 7, 12]));
            t.gives(five().scanr1_seg(&lengths([2, 3]), add), i32s([3, 2, 12, 9, 5]));
        }),
        case("segments/NOFIB-119-irregular", "SEG-01 SSC-01 SSC-02 SSC-03 SSC-06 SSC-07 SSC-08 NOFIB-119", |t| {
            // Segments of 0 to 16 elements, 750 or so in all.
            let sizes: Vec<i64> = (0..94).map(|k| k * k * 7 % 17).collect();
            let n = sizes.iter().sum::<i64>() as usize;
            let xs: Vector<i64> = (0..n as i64).map(|i| i * 31 % 101 - 50).collect();
            let (xs, segments) = (use_(&xs), lengths(sizes.iter().copied()));
            let values: Vec<i64> = (0..n as i64).map(|i| i * 31 % 101 - 50).collect();
            let mut rest = &values[..];
            let (mut sums, mut left, mut right, mut left1, mut right1) = (vec![], vec![], vec![], vec![], vec![]);
            for k in &sizes {
                let (own, tail) = rest.split_at(*k as usize);
                rest = tail;
                sums.push(own.iter().sum::<i64>());
                (0..=own.len()).for_each(|i| left.push(own[..i].iter().sum::<i64>()));
                (0..=own.len()).for_each(|i| right.push(own[i..].iter().sum::<i64>()));
                (1..=own.len()).for_each(|i| left1.push(own[..i].iter().sum::<i64>()));
                (0..own.len()).for_each(|i| right1.push(own[i..].iter().sum::<i64>()));
            }
            let add = |a: Exp<i64>, b: Exp<i64>| a + b;
            t.gives(xs.fold_seg(&segments, 0, add), Vector::from(sums.clone()));
            t.gives(xs.scanl_seg(&segments, 0, add), Vector::from(left));
            t.gives(xs.scanr_seg(&segments, 0, add), Vector::from(right));
            t.gives(xs.scanl1_seg(&segments, add), Vector::from(left1));
            t.gives(xs.scanr1_seg(&segments, add), Vector::from(right1));
            t.gives(xs.scanl_with_total_seg(&segments, 0, add).1, Vector::from(sums.clone()));
            t.gives(xs.scanr_with_total_seg(&segments, 0, add).1, Vector::from(sums));
        }),
        case("segments/operator-that-can-fault", "SEG-01", |t| {
            // The operator never sees elements of two segments, nor those after the last one.
            let xs = use_(&Vector::from([8, 2, 0, 4, 1]));
            let divide = |a: Exp<i32>, b: Exp<i32>| a / b;
            t.gives(xs.fold1_seg(&lengths([2, 1]), divide), i32s([4, 0]));
            t.faults(xs.fold1_seg(&lengths([2, 2]).clone(), |a, b| b / a), "division_by_zero");
        }),
    ]
}
