//! Permutations, and what is filtered.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("permutations/E-PM-01-new-and-old", "PRM-01 E-PM-01 E-PM-08", |t| {
            // The function is called with the new element and the one present: only that one minds the order.
            let (xs, defaults) = (use_(&Vector::from([1i32, 2, 3])), Vector::from([100, 200]));
            t.gives(xs.permute(&defaults, |new, old| new + old, |_| Some(0usize)), Vector::from([106, 200]));
            t.gives(xs.permute(&defaults, |new, old| new.max(old), |i| Some(i % 2)), Vector::from([100, 200]));
            let one = use_(&Vector::from([1]));
            t.gives(one.permute(&defaults, |new, old| new - old, |_| Some(0usize)), Vector::from([-99, 200]));
            let floats = fill(1000, 0.1f64).permute(fill(3, 0.0), |a, b| a + b, |i| Some(i % 2));
            t.agrees(floats);
            let none = fill(0, 1).permute(&defaults, |new, old| new + old, Some);
            t.gives(none, defaults);
        }),
        case("permutations/E-PM-02-dropped", "PRM-01 E-PM-02 E-PM-04 E-PM-05", |t| {
            let xs = use_(&Vector::from([1, 2, 3, 4]));
            let even = xs.permute(fill(4, 0), |new, _| new, |i| (i % 2).eq(0).then_some(i));
            t.gives(even, Vector::from([1, 0, 3, 0]));
            let nowhere = xs.permute::<DIM1, _, _>(fill(0, 0), |new, _| new, |_| none::<i64>());
            t.gives(nowhere, Vector::from([0; 0]));
            let all_dropped = xs.permute::<DIM1, _, _>(&Vector::from([9, 8]), |new, _| new, |_| none::<i64>());
            t.gives(all_dropped, Vector::from([9, 8]));
        }),
        case("permutations/E-PM-03-out-of-bounds", "PRM-01 E-PM-03", |t| {
            let xs = fill(3, 1);
            t.faults(xs.permute(fill(2, 0), |a, b| a + b, Some), "index_out_of_bounds");
            t.faults(xs.permute(fill(9, 0), |a, b| a + b, |i| Some(i - 1)), "index_out_of_bounds");
        }),
        case("permutations/E-PM-09-pairs", "PRM-01 E-PM-09 NOFIB-137", |t| {
            // The two least of the numbers that fall on each of 384 places.
            let n = 3000i64;
            let two_least =
                |(a, b): (Exp<i64>, Exp<i64>), (c, d): (Exp<i64>, Exp<i64>)| (a.min(c), a.max(c).min(b.min(d)));
            let values = generate(3000, |i| {
                let x = (i * 7919) % 3001;
                (x, lift(i64::MAX))
            });
            let got = values.permute(fill(384, (i64::MAX, i64::MAX)), two_least, |i| Some((i * i) % 384));
            let mut want = vec![vec![]; 384];
            (0..n).for_each(|i| want[(i * i % 384) as usize].push(i * 7919 % 3001));
            let least = |v: &mut Vec<i64>| {
                v.sort_unstable();
                (v.first().copied().unwrap_or(i64::MAX), v.get(1).copied().unwrap_or(i64::MAX))
            };
            t.gives(got, want.iter_mut().map(least).collect());
        }),
        case("permutations/E-PM-10-defaults-are-kept", "E-PM-10", |t| {
            let defaults = fill(3, 1);
            let changed = fill(2, 5).permute(&defaults, |new, _| new, Some);
            t.gives((changed, defaults), (Vector::from([5, 5, 1]), Vector::from([1, 1, 1])));
        }),
        case("permutations/E-PM-11-ranks", "PRM-01 E-PM-11", |t| {
            let xs = use_(&Vector::from([1, 2, 3]));
            let diagonal = xs.permute(fill((2, 2), 10), |a, b| a + b, |i| i.lt(2).then_some((i, i)));
            t.gives(diagonal, Matrix::from([[11, 10], [10, 12]]));
        }),
        case("permutations/E-PM-12-scatter", "PRM-02 E-PM-12 E-PM-13", |t| {
            let xs = use_(&Vector::from([1, 9, 6, 4, 4, 2, 5]));
            let scattered = xs.scatter(&Vector::from([1i64, 3, 7, 2, 5, 8]), fill(10, 0));
            t.gives(scattered, Vector::from([0, 1, 4, 9, 0, 4, 0, 6, 2, 0]));
            t.faults(xs.scatter(&Vector::from([1i64, 10]), fill(10, 0)), "index_out_of_bounds");
            t.faults(xs.scatter(&Vector::from([-1i64]), fill(10, 0)), "index_out_of_bounds");
            t.gives(fill(0, 1).scatter(&Vector::from([7i64]), fill(2, 0)), Vector::from([0, 0]));
            t.gives(fill(0, 1).scatter(&Vector::from([0i64; 0]), fill(0, 0)), Vector::from([0; 0]));
        }),
        case("permutations/E-PM-16-backpermute", "PRM-03 E-PM-16 E-PM-17 E-PM-18", |t| {
            let xs = enum_from(4, 0i64);
            t.gives(xs.backpermute((2, 3), |(i, j)| i + j), Matrix::from([[0, 1, 2], [1, 2, 3]]));
            let none = fill(0, 1).backpermute((2, 0), |(i, _)| i / 0);
            t.gives(none, host((2, 0), [0; 0]));
            t.faults(xs.backpermute(5, |i: Exp<i64>| i), "index_out_of_bounds");
            t.faults(xs.backpermute(2, |i: Exp<i64>| i - 1), "index_out_of_bounds");
        }),
        case("permutations/E-PM-14-gather", "PRM-04 E-PM-14 E-PM-15", |t| {
            let xs = use_(&Vector::from([10, 20, 30]));
            t.gives(xs.gather(&Vector::from([2i64, 0, 0])), Vector::from([30, 10, 10]));
            t.gives(xs.gather(&Matrix::from([[2i64, 0], [1, 1]])), Matrix::from([[30, 10], [20, 20]]));
            t.faults(xs.gather(&Vector::from([3i64])), "index_out_of_bounds");
            t.faults(xs.gather(&Vector::from([-1i64])), "index_out_of_bounds");
            t.gives(xs.gather(&Vector::from([0i64; 0])), Vector::from([0; 0]));
        }),
        case("permutations/reverse-and-transpose", "PRM-05 PRM-06", |t| {
            t.gives(enum_from(4, 0).reverse(), Vector::from([3, 2, 1, 0]));
            t.gives(fill(0, 1).reverse(), Vector::from([0; 0]));
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(m.transpose(), Matrix::from([[1, 4], [2, 5], [3, 6]]));
            t.gives(fill((0, 3), 1).transpose(), host((3, 0), [0; 0]));
        }),
        case("permutations/E-SH-24-reverse-on", "PRM-07 E-SH-24", |t| {
            let c = generate((2, 2, 3), |(i, j, k)| (i * 2 + j) * 3 + k);
            t.gives(c.reverse_on::<2>(), host((2, 2, 3), [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]));
            t.gives(fill((2, 0), 1).reverse_on::<2>(), host((2, 0), [0; 0]));
        }),
        case("permutations/E-SH-25-transpose-on", "PRM-08 E-SH-25", |t| {
            let c = generate((2, 2, 3), |(i, j, k)| (i * 2 + j) * 3 + k);
            t.gives(c.transpose_on::<1, 3>(), host((3, 2, 2), [0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11]));
            t.gives(c.transpose_on::<2, 2>(), host((2, 2, 3), 0..12));
            t.gives(fill((2, 0, 3), 1).transpose_on::<1, 3>(), host((3, 0, 2), [0; 0]));
        }),
        case("permutations/NOFIB-185", "NOFIB-185", |t| {
            let (to, defaults) = (Vector::from([1i64, 3, 7, 2, 5, 8]), fill(10, 0));
            let xs = use_(&Vector::from([1, 9, 6, 4, 4, 2]));
            let mask = Vector::from([3, 4, 9, 2, 7, 5]);
            let even = |m: Exp<i32>| (m % 2).eq(0);
            t.gives(xs.scatter_if(&to, &mask, even, &defaults), Vector::from([0, 0, 4, 9, 0, 0, 0, 0, 0, 0]));
            t.gives(xs.take(3).scatter_if(&to, &mask, even, &defaults), Vector::from([0, 0, 0, 9, 0, 0, 0, 0, 0, 0]));
            let from = Vector::from([1i64, 3, 7, 2, 5, 3]);
            let source = use_(&Vector::from([1, 9, 6, 4, 4, 2, 0, 1, 2]));
            t.gives(source.gather(&from), Vector::from([9, 4, 1, 6, 2, 4]));
            let fallback = Vector::from([6, 6, 6, 6, 6, 6]);
            t.gives(source.gather_if(&from, &mask, even, &fallback), Vector::from([6, 4, 6, 6, 6, 6]));
            // Positions that are not read or written may be out of bounds.
            let wild = Vector::from([99i64, 3]);
            t.gives(source.gather_if(&wild, &mask, even, &fallback), Vector::from([6, 4]));
            t.gives(xs.scatter_if(&wild, &mask, even, &defaults), Vector::from([0, 0, 0, 9, 0, 0, 0, 0, 0, 0]));
        }),
        case("permutations/E-PM-19-filter", "FLT-01 E-PM-19 E-PM-20 E-PM-21 E-PM-22 E-PM-23", |t| {
            let ten = enum_from(10, 1i64);
            t.gives(ten.filter_rows(|x| (x % 2).eq(0)), (Vector::from([2, 4, 6, 8, 10]), Scalar::scalar(5)));
            t.gives(ten.filter_rows(|x| x.gt(10)), (Vector::from([0; 0]), Scalar::scalar(0)));
            t.gives(ten.filter_rows(|x| x.gt(0)), ((1..=10).collect(), Scalar::scalar(10)));
            t.gives(fill(0, 1i32).filter_rows(|x| x.gt(0)), (Vector::from([0; 0]), Scalar::scalar(0)));
            let m = generate((2, 3), |(i, j)| i * 3 + j + 3);
            t.gives(m.filter_rows(|x| (x % 2).eq(1)), (Vector::from([3, 5, 7]), Vector::from([2, 1])));
            t.gives(fill((2, 0), 1i32).filter_rows(|x| x.gt(0)), (Vector::from([0; 0]), Vector::from([0, 0])));
            t.gives(fill((0, 3), 1i32).filter_rows(|x| x.gt(0)), (Vector::from([0; 0]), Vector::from([0i64; 0])));
            let c = generate((2, 3, 4), |(i, j, k)| (i * 3 + j) * 4 + k);
            let want = (Vector::from([0, 5, 10, 15, 20]), Matrix::from([[1, 1, 1], [1, 0, 1]]));
            t.gives(c.filter_rows(|x| (x % 5).eq(0)), want);
        }),
        case("permutations/E-PM-24-compact", "FLT-02 E-PM-24 E-PM-25 BUG-09", |t| {
            let xs = use_(&Vector::from([1, 2, 3]));
            t.gives(xs.compact_rows(&Vector::from([true, false, true])), (Vector::from([1, 3]), Scalar::scalar(2)));
            t.faults(xs.compact_rows(&Vector::from([true, false])).0, "check_failed");
            t.faults(xs.compact_rows(&Vector::from([true, false, true, true])), "check_failed");
            let m = use_(&Matrix::from([[1, 2], [3, 4]]));
            t.faults(m.compact_rows(&Matrix::from([[true, true]])).1, "check_failed");
            t.gives(fill(0, 1).compact_rows(&Vector::from([true; 0])), (Vector::from([0; 0]), Scalar::scalar(0)));
        }),
        case("permutations/justs", "MAY-06", |t| {
            let xs: Vector<Option<i32>> = [Some(1), None, Some(3)].into_iter().collect();
            t.gives(use_(&xs).justs(), (Vector::from([1, 3]), Scalar::scalar(2)));
            let m: Array<DIM2, Option<f32>> = host((2, 2), [None, Some(0.5), None, None]);
            t.gives(use_(&m).justs(), (Vector::from([0.5]), Vector::from([1, 0])));
            let none: Vector<Option<i32>> = Vector::from_iter([None; 0]);
            t.gives(use_(&none).justs(), (Vector::from([0; 0]), Scalar::scalar(0)));
        }),
        case("permutations/lefts-and-rights", "EIT-08 EIT-09", |t| {
            let m: Array<DIM2, Either<i32, bool>> =
                host((2, 2), [Either::Left(1), Either::Right(true), Either::Left(3), Either::Left(4)]);
            t.gives(use_(&m).lefts(), (Vector::from([1, 3, 4]), Vector::from([1, 2])));
            t.gives(use_(&m).rights(), (Vector::from([true]), Vector::from([1, 0])));
            let none: Vector<Either<i32, bool>> = Vector::from_iter([]);
            t.gives(use_(&none).lefts(), (Vector::from([0; 0]), Scalar::scalar(0)));
            t.gives(use_(&none).rights(), (Vector::from([true; 0]), Scalar::scalar(0)));
        }),
        case("permutations/NOFIB-436-filter-after-take", "FLT-01 NOFIB-436", |t| {
            t.gives(enum_from(10, 0i64).take(5).filter_rows(|x| x.gt(1)), (Vector::from([2, 3, 4]), Scalar::scalar(3)));
            let m = generate((2, 5), |(i, j)| i * 5 + j).take(2);
            t.gives(m.filter_rows(|x| (x % 2).eq(0)), (Vector::from([0, 6]), Vector::from([1, 1])));
        }),
        case("permutations/NOFIB-427-filter-of-triples", "FLT-01 NOFIB-427", |t| {
            for m in [64, 8, 13] {
                let xs = generate((7, m), |(i, j)| (i, j, ((i + j) % 3).eq(0)));
                let mut want = Vec::new();
                let mut counts = vec![0i64; 7];
                for i in 0..7i64 {
                    for j in (0..m as i64).filter(|j| (i + j) % 3 == 0) {
                        want.push((i, j, true));
                        counts[i as usize] += 1;
                    }
                }
                t.gives(xs.filter_rows(|(_, _, b)| b), (want.into_iter().collect(), Vector::from(counts)));
            }
        }),
        case("permutations/NOFIB-093-one-by-one", "NOFIB-093", |t| {
            let m = use_(&Matrix::from([[5]])).permute(fill((1, 1), 0), |new, _| new, |(i, j)| Some((i, j)));
            t.gives(m, Matrix::from([[5]]));
        }),
    ]
}
