//! Margins, arrays joined, rows scattered and gathered, stencils that see their index.

use super::{Case, case, gradient, host, numbers};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("networks/pad", "", |t| {
            let m = use_(&Matrix::from([[1, 2], [3, 4]]));
            t.gives(m.pad([(1, 0), (0, 2)], 9), Matrix::from([[9, 9, 9, 9], [1, 2, 9, 9], [3, 4, 9, 9]]));
            t.gives(m.pad([(0, 0), (0, 0)], 9), Matrix::from([[1, 2], [3, 4]]));
            t.gives(fill((0, 2), 1).pad([(1, 1), (0, 0)], 5), Matrix::from([[5, 5], [5, 5]]));
            let away = |n: i64| [(lift(n), lift(0i64))];
            t.gives(enum_from(4, 0i64).pad(away(-1), 7), Vector::from([1i64, 2, 3]));
            t.gives(enum_from(4, 0i64).pad(away(-9), 7), Vector::from([0i64; 0]));
            t.gives(use_(&Vector::from([(1, true)])).pad([(0, 1)], (2, false)), host(2, [(1, true), (2, false)]));
            let xs: Matrix<f64> = host((2, 3), numbers(3, 6));
            gradient(t, &xs, |xs| {
                xs.pad([(1, 2), (0, 1)], 0.5).imap(|(i, j), x| x * x * (i + j).to::<f64>()).sum().sum()
            });
        }),
        case("networks/concat-all", "", |t| {
            let m = use_(&Matrix::from([[1, 2], [3, 4]]));
            let wide = m.concat_all_on::<1, _>([m.map(|x| x * 10), m.take(1)]);
            t.gives(wide, Matrix::from([[1, 2, 10, 20, 1], [3, 4, 30, 40, 3]]));
            let tall = m.concat_all_on::<2, _>([fill((0, 2), 0), fill((1, 2), 9), m.clone()]);
            t.gives(tall, Matrix::from([[1, 2], [3, 4], [9, 9], [1, 2], [3, 4]]));
            t.gives(fill(0, 1u8).concat_all_on::<1, _>([fill(0, 2u8)]), Vector::from([0u8; 0]));
            t.gives(m.concat_all_on::<1, Acc<Matrix<i32>>>([]), Matrix::from([[1, 2], [3, 4]]));
            let at = (host((2, 2), numbers(4, 4)), host((2, 1), numbers(5, 2)));
            gradient(t, &at, |(a, b): (Acc<Matrix<f64>>, Acc<Matrix<f64>>)| {
                a.concat_all_on::<1, _>([&b, &a]).imap(|(i, j), x| x * x * (i * 5 + j).to::<f64>()).sum().sum()
            });
        }),
        case("networks/scatter-rows", "", |t| {
            let rows = use_(&Matrix::from([[1, 2], [3, 4], [5, 6]]));
            let to = Vector::from([2i64, 0, 2]);
            t.gives(rows.scatter_rows(&to, fill((3, 2), 0)), Matrix::from([[3, 4], [0, 0], [5, 6]]));
            let sums = rows.scatter_rows_with(&to, fill((3, 2), 1), |new, old| new + old);
            t.gives(sums, Matrix::from([[4, 5], [1, 1], [7, 9]]));
            t.gives(rows.scatter_rows(&Vector::from([1i64]), fill((2, 2), 0)), Matrix::from([[0, 0], [1, 2]]));
            t.gives(rows.scatter_rows(&Vector::from([0i64; 0]), fill((1, 2), 7)), Matrix::from([[7, 7]]));
            t.faults(rows.scatter_rows(&Vector::from([3i64]), fill((3, 2), 0)), "index_out_of_bounds");
            let cube = enum_from((2, 2, 2), 0i64);
            t.gives(cube.scatter_rows(&Vector::from([1i64, 0]), &cube), host((2, 2, 2), [4i64, 5, 6, 7, 0, 1, 2, 3]));
            let xs: Matrix<f64> = host((3, 2), numbers(6, 6));
            gradient(t, &xs, |xs| {
                let sums = xs.scatter_rows_with(&Vector::from([1i64, 0, 1]), fill((2, 2), 0.5), |new, old| new + old);
                sums.map(|x| x * x).sum().sum()
            });
        }),
        case("networks/gather-rows", "", |t| {
            let table = use_(&Matrix::from([[1, 2], [3, 4], [5, 6]]));
            t.gives(table.gather_rows(&Vector::from([2i64, 0, 2])), Matrix::from([[5, 6], [1, 2], [5, 6]]));
            t.gives(table.gather_rows(&Vector::from([0i64; 0])), host((0, 2), [0; 0]));
            t.faults(table.gather_rows(&Vector::from([3i64])), "index_out_of_bounds");
            let xs: Matrix<f64> = host((3, 2), numbers(7, 6));
            gradient(t, &xs, |xs| xs.gather_rows(&Vector::from([2i64, 0, 2])).map(|x| x * x * x).sum().sum());
        }),
        case("networks/stencil-with-its-index", "", |t| {
            let xs = use_(&Vector::from([1i64, 2, 3]));
            t.gives(
                xs.istencil(Edge::Constant(0), |i, s: Stencil3<i64>| i * 100 + s[-1] + s[1]),
                Vector::from([2i64, 104, 202]),
            );
            let m = fill((2, 3), 1i64);
            let at = m.istencil(Edge::Clamp, |(i, j), s: Stencil3x3<i64>| s[(0, 0)] + i * 10 + j);
            t.gives(at, Matrix::from([[1i64, 2, 3], [11, 12, 13]]));
            t.gives(fill(0, 1i64).istencil(Edge::Clamp, |i, s: Stencil3<i64>| s[0] + i), Vector::from([0i64; 0]));
            let xs = Vector::from([0.5, -1.0, 0.25, 2.0]);
            gradient(t, &xs, |xs| {
                xs.istencil(Edge::Wrap, |i, s: Stencil3<f64>| s[-1] * s[1] * i.to::<f64>() + s[0] * s[0]).sum()
            });
        }),
    ]
}
