//! Indices and shapes as scalar values.

use crate::cases::{Case, case};
use acc_core::prelude::*;

fn pairs(of: impl IntoIterator<Item = (i64, i64)>) -> Vector<(i64, i64)> {
    of.into_iter().collect()
}

pub fn cases() -> Vec<Case> {
    vec![
        case("index/construction", "SHP-01 SHP-02 SHP-03 SHP-04 SHP-05 SHP-06 SHP-07", |t| {
            index0();
            t.gives(unit(42i64).backpermute((), |()| index0()), Scalar::scalar(42));
            t.table(|i: Exp<i64>| unindex1(index1(i)), &[(7, 7)]);
            t.table(|i: Exp<i64>| unindex2(index2(i, i + 1)), &[(7, (7, 8))]);
            t.table(|i: Exp<i32>| unindex3(index3(i, i + 1, 5)), &[(7, (7, 8, 5))]);
            let m = generate((2, 3), |(i, j)| i * 10 + j);
            t.gives(generate(3, |j| m.index(index2(1, j))), Vector::from([10i64, 11, 12]));
            t.shape(generate(index2(2, 3), |_| 0i32), [2, 3]);
            t.shape(generate(index3(2, 0, 3), |_| 0i32), [2, 0, 3]);
            t.shape(generate(index1(4), |_| 0i32), [4]);
        }),
        case("index/head-and-tail", "SHP-08 SHP-09", |t| {
            t.table(|i: Exp<i64>| (index_head((i, i + 1, i + 2)), index_tail((i, i + 1, i + 2))), &[(1, (3, (1, 2)))]);
            t.table(|i: Exp<i64>| (index_head((i, 9)), index_tail((i, 9))), &[(1, (9, 1))]);
            let () = index_tail(5);
            let m = generate((2, 3), |(i, j)| i * 10 + j);
            t.gives(unit(index_head(m.extent())), Scalar::scalar(3i64));
            t.gives(unit(index_tail(m.extent())), Scalar::scalar(2i64));
        }),
        case("index/E-IX-05-to-index", "SHP-10 E-IX-05", |t| {
            t.gives(unit(to_index((2, 3), (1, 2))), Scalar::scalar(5i64));
            t.gives(unit(to_index((), ())), Scalar::scalar(0i64));
            t.table(|(i, j): (Exp<i64>, Exp<i64>)| to_index((2, 3), (i, j)), &[((0, 0), 0), ((1, 0), 3), ((1, 2), 5)]);
            t.table(|n: Exp<i64>| to_index((n, 7, n), (n - 1, 3, 0)), &[(3, 51)]);
            t.faults(unit(to_index((2, 3), (0, 3))), "index_out_of_bounds");
            t.faults(unit(to_index((2, 3), (2, 0))), "index_out_of_bounds");
            let ixs = pairs([(0, 0), (-1, 0)]);
            t.faults(use_(&ixs).map(|(i, j)| to_index((2, 3), (i, j))), "index_out_of_bounds");
            // Not where it is not wanted.
            t.gives(use_(&ixs).map(|(i, j)| i.ge(0).then_else(to_index((2, 3), (i, j)), -1)), Vector::from([0i64, -1]));
        }),
        case("index/E-IX-06-from-index", "SHP-11 E-IX-06", |t| {
            t.table(|k: Exp<i64>| from_index((2, 3), k), &[(5, (1, 2)), (0, (0, 0)), (3, (1, 0))]);
            t.table(|k: Exp<i64>| from_index(6, k), &[(5, 5)]);
            t.gives(generate(24, |k| to_index((2, 3, 4), from_index((2, 3, 4), k))), (0..24).collect::<Vector<i64>>());
            t.faults(unit(lift::<(i64, i64)>(from_index((2, 3), 6))), "index_out_of_bounds");
            t.faults(unit(lift::<(i64, i64)>(from_index((2, 3), -1))), "index_out_of_bounds");
            t.faults(unit(lift::<(i64, i64)>(from_index((0, 3), 0))), "index_out_of_bounds");
        }),
        case("index/E-IX-07-intersect", "SHP-12 E-IX-07", |t| {
            t.table2(
                |(a, b): (Exp<i64>, Exp<i64>), (c, d): (Exp<i64>, Exp<i64>)| intersect((a, b), (c, d)),
                &[((2, 5), (3, 4), (2, 4)), ((0, 5), (3, 4), (0, 4))],
            );
            let (a, b) = (generate((2, 5), |_| 0i32), generate((3, 4), |_| 0i32));
            t.shape(generate(intersect(a.extent(), b.extent()), |_| 0i32), [2, 4]);
            t.gives(unit(shape_size(intersect(a.extent(), b.extent()))), Scalar::scalar(8i64));
        }),
    ]
}
