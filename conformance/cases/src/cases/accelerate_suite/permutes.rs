//! The regression tests of Accelerate's own suite, by number: permutations, scatter and gather, filters.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

fn even(x: Exp<i64>) -> Exp<bool> {
    (x % 2).eq(0)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/093-permute-of-one-element", "NOFIB-093 PRM-01", |t| {
            let m = use_(&Matrix::from([[5i64]]));
            t.gives(m.permute(fill((1, 1), 0), |new, _| new, Some), Matrix::from([[5]]));
            t.gives(m.permute(fill((1, 1), 7), |_, old| old, Some), Matrix::from([[7]]));
            let none = fill((0, 1), 1i64).permute(fill((1, 1), 7), |new, _| new, Some);
            t.gives(none, Matrix::from([[7]]));
            let nowhere = fill((0, 1), 1i64).permute(fill((0, 1), 7), |new, _| new, Some);
            t.gives(nowhere, host((0, 1), [0; 0]));
        }),
        case("nofib/137-the-two-smallest-of-each-bucket", "NOFIB-137 PRM-01", |t| {
            let (n, buckets) = (3000i64, 384i64);
            let key = |i: i64| (i * 7919 + i * i % 31) % buckets;
            let weight = |i: i64| (i * 104_729) % 3001;
            let mut want = vec![(i64::MAX, i64::MAX); buckets as usize];
            for i in 0..n {
                let (least, second) = &mut want[key(i) as usize];
                let w = weight(i);
                (*least, *second) = ((*least).min(w), (*least).max(w).min(*second));
            }
            let (keys, weights): (Vector<i64>, Vector<i64>) = ((0..n).map(key).collect(), (0..n).map(weight).collect());
            let two = |(a, b): (Exp<i64>, Exp<i64>), (c, d): (Exp<i64>, Exp<i64>)| (a.min(c), a.max(c).min(b.min(d)));
            let pairs = use_(&weights).map(|w| (w, i64::MAX));
            let found =
                pairs.permute(fill(buckets as usize, (i64::MAX, i64::MAX)), two, |i| Some(use_(&keys).index(i)));
            t.gives(found, want.into_iter().collect());
            let none = pairs.take(0).permute(fill(2, (1i64, 2i64)), two, |i: Exp<i64>| Some(i));
            t.gives(none, Vector::from_iter([(1, 2), (1, 2)]));
            let nowhere = pairs.take(0).permute(fill(0, (1i64, 2i64)), two, |i: Exp<i64>| Some(i));
            t.gives(nowhere, Vector::from_iter([(1, 2); 0]));
        }),
        case("nofib/185-scatter", "NOFIB-185 PRM-02", |t| {
            let (to, defaults) = (Vector::from([1i64, 3, 7, 2, 5, 8]), fill(10, 0i64));
            let all = use_(&Vector::from([1i64, 9, 6, 4, 4, 2, 5]));
            t.gives(all.scatter(&to, &defaults), Vector::from([0, 1, 4, 9, 0, 4, 0, 6, 2, 0]));
            t.gives(all.take(3).scatter(&to, &defaults), Vector::from([0, 1, 0, 9, 0, 0, 0, 6, 0, 0]));
            t.gives(all.take(0).scatter(&to, &defaults), Vector::from([0; 10]));
            t.gives(all.scatter(&Vector::from([0i64; 0]), fill(0, 0i64)), Vector::from([0; 0]));
        }),
        case("nofib/185-scatter-if", "NOFIB-185", |t| {
            let (to, defaults) = (Vector::from([1i64, 3, 7, 2, 5, 8]), fill(10, 0i64));
            let mask = Vector::from([3i64, 4, 9, 2, 7, 5]);
            let all = use_(&Vector::from([1i64, 9, 6, 4, 4, 2, 5]));
            t.gives(all.scatter_if(&to, &mask, even, &defaults), Vector::from([0, 0, 4, 9, 0, 0, 0, 0, 0, 0]));
            t.gives(all.take(3).scatter_if(&to, &mask, even, &defaults), Vector::from([0, 0, 0, 9, 0, 0, 0, 0, 0, 0]));
            t.gives(all.take(0).scatter_if(&to, &mask, even, &defaults), Vector::from([0; 10]));
            let nowhere = all.scatter_if(&Vector::from([0i64; 0]), &mask, even, fill(0, 0i64));
            t.gives(nowhere, Vector::from([0; 0]));
        }),
        case("nofib/185-gather", "NOFIB-185 PRM-04", |t| {
            let xs = use_(&Vector::from([1i64, 9, 6, 4, 4, 2, 0, 1, 2]));
            t.gives(xs.gather(&Vector::from([1i64, 3, 7, 2, 5, 3])), Vector::from([9, 4, 1, 6, 2, 4]));
            t.gives(xs.gather(&Vector::from([0i64; 0])), Vector::from([0; 0]));
        }),
        case("nofib/185-gather-if", "NOFIB-185", |t| {
            let xs = use_(&Vector::from([1i64, 9, 6, 4, 4, 2, 0, 1, 2]));
            let (from, mask) = (Vector::from([1i64, 3, 7, 2, 5, 3]), Vector::from([3i64, 4, 9, 2, 7, 5]));
            t.gives(xs.gather_if(&from, &mask, even, fill(6, 6)), Vector::from([6, 4, 6, 6, 6, 6]));
            t.gives(xs.gather_if(&from, &mask, even, fill(0, 6)), Vector::from([0; 0]));
        }),
        case("nofib/427-filter-of-row-column-and-truth", "NOFIB-427 FLT-01", |t| {
            for (n, m) in [(100usize, 64usize), (100, 8), (37, 41), (0, 8), (8, 0)] {
                let keep = |i: usize, j: usize| (i * 31 + j * 17) % 5 < 2;
                let cells = (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
                let marked: Array<DIM2, (i64, i64, bool)> =
                    host((n, m), cells.clone().map(|(i, j)| (i as i64, j as i64, keep(i, j))));
                let want = cells.filter(|&(i, j)| keep(i, j)).map(|(i, j)| (i as i64, j as i64, true)).collect();
                let counts = (0..n).map(|i| (0..m).filter(|&j| keep(i, j)).count() as i64).collect();
                t.gives(use_(&marked).filter_rows(|(_, _, b)| b), (want, counts));
            }
        }),
        case("nofib/436-filter-after-take", "NOFIB-436 FLT-01 MOD-07", |t| {
            let xs = enum_from(10, 0i64);
            t.gives(xs.take(5).filter_rows(|x| x.gt(1)), (Vector::from([2, 3, 4]), Scalar::scalar(3)));
            t.gives(xs.take(0).filter_rows(|x| x.gt(1)), (Vector::from([0; 0]), Scalar::scalar(0)));
            let m = generate((3, 10), |(i, j)| i * 10 + j);
            let want = (Vector::from([0, 2, 4, 10, 12, 14, 20, 22, 24]), Vector::from([3, 3, 3]));
            t.gives(m.take(5).filter_rows(even), want);
            t.gives(m.take_on::<2>(1).filter_rows(|x| x.gt(7)), (Vector::from([8, 9]), Vector::from([2])));
        }),
    ]
}
