//! What is normalised along some axes agrees with the interpreter, and so does what looks like it.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use backend_graph::Libtorch;

/// Of rows, of columns and of all but one axis, with and without a scale and a shift, and with numbers that are none.
#[test]
fn normalised_rows_columns_and_channels() {
    #[track_caller]
    fn near<A: Arrays>(program: impl IntoAcc<A>, flat: impl Fn(&A) -> Vec<f64>) {
        let program = program.into_acc();
        let (want, got) = (Interpreter::new().run(&program).unwrap(), Libtorch::cpu().run(&program).unwrap());
        let (want, got) = (flat(&want), flat(&got));
        assert_eq!(got.len(), want.len());
        for (x, y) in got.iter().zip(&want) {
            assert!(x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() < 1e-4, "{x}, not {y}: {got:?}, {want:?}");
        }
    }
    macro_rules! of {
        ($ty:ty, $shape:expr) => {{
            let matrix = |m: &Matrix<$ty>| m.iter().map(Into::into).collect::<Vec<f64>>();
            let normal = |m: &Acc<Matrix<$ty>>, epsilon: $ty| {
                let mean = m.mean();
                let less = m.imap(|(i, _), x| x - mean.index(i));
                let variance = less.map(|x| x * x).mean();
                less.imap(|(i, _), x| x / (variance.index(i) + epsilon).sqrt())
            };
            let by_squares = |m: &Acc<Matrix<$ty>>| {
                let (mean, squares) = (m.mean(), m.map(|x| x * x).mean());
                let by = mean.zip_with(squares, |m, s| (s - m * m + 0.5).sqrt().recip());
                m.imap(|(i, _), x| (x - mean.index(i)) * by.index(i))
            };
            for special in [0.0, <$ty>::NAN, <$ty>::INFINITY, -<$ty>::INFINITY] {
                let at = |x: Exp<i64>| x.eq(7).then_else(special, (x % 23).to::<$ty>() / 4.0);
                let m = generate($shape, |(i, j)| at(i * 1031 + j * 7)).compute();
                let (rows, columns) = m.shape();
                let (of_row, of_column) = (generate(rows, |i| at(i * 3)), generate(columns, |j| at(j * 5)));
                near(normal(&m, 1e-3), matrix);
                near(normal(&m.transpose(), 1e-3).transpose(), matrix);
                near(by_squares(&m), matrix);
                near(by_squares(&m.transpose()), matrix);
                near(
                    normal(&m, 0.0)
                        .map(|x| x.is_nan().then_else(9.0, x))
                        .zip_with(&m, |a, b| b.eq(b).then_else(0.0, a)),
                    matrix,
                );
                for m in [normal(&m, 1e-3), normal(&m.transpose(), 1e-3).transpose()] {
                    near(m.imap(|(_, j), x| x * of_column.index(j) + of_column.index(j)), matrix);
                    near(m.imap(|(i, _), x| x * of_row.index(i) + of_row.index(i)), matrix);
                    near(m.imap(|(i, j), x| x * of_row.index(i) + of_column.index(j)), matrix);
                    near(m.imap(|(_, j), x| x * of_column.index(j)), matrix);
                    near(m.imap(|(i, j), x| (x + of_column.index(j)) * of_row.index(i)), matrix);
                    near(m.zip_with(&m, |x, y| x * 2.0 + y), matrix);
                }
            }
        }};
    }
    for shape in [(3usize, 5usize), (5, 40), (40, 5), (2, 300), (0, 4), (4, 0), (1, 1)] {
        of!(f32, shape);
        of!(f64, shape);
    }
    // Statistics of channels, of images that lie in any order, and of channels and groups.
    let image = generate((2, 3, 4, 5), |(n, c, y, x)| ((n * 7 + c * 5 + y * 3 + x * x) % 11).to::<f64>()).compute();
    let shape = (2, 3, 4, 5);
    let values = |a: &Array<Dim<4>, f64>| a.iter().collect::<Vec<_>>();
    let channels = |f: &dyn Fn(Exp<i64>, Exp<f64>) -> Exp<f64>| {
        let sums = generate((3, 2, 4, 5), |(c, n, y, x)| f(c, image.index((n, c, y, x)))).sum().sum().sum();
        sums.map(|s| s / 40.0)
    };
    let mean = channels(&|_, x| x);
    let variance = channels(&|c, x| (x - mean.index(c)) * (x - mean.index(c)));
    let by = variance.map(|v| (v + 1e-5).sqrt());
    near(image.imap(|(_, c, _, _), x| (x - mean.index(c)) / by.index(c) * mean.index(c) + 1.0), values);
    near(generate(shape, |(n, c, y, x)| (image.index((n, c, y, x)) - mean.index(c)) / by.index(c)), values);
    let scaled = by.zip_with(&mean, |by, m| m / by);
    near(image.imap(|(_, c, _, _), x| (x - mean.index(c)) * scaled.index(c) + mean.index(c)), values);
    // What waits for a check.
    let all = |holds: i64| {
        let ok = |x: Exp<i64>| x.lt(holds);
        let mean = mean.check(ok(image.shape().1), "channels");
        let by = by.check(ok(image.shape().2), "rows");
        image.imap(|(_, c, _, _), x| (x - mean.index(c)) / by.index(c)).check(ok(image.shape().3), "columns")
    };
    near(all(9).map(|x| x * 2.0 + 1.0), values);
    near(all(9).imap(|(_, c, _, _), x| x * mean.index(c) + mean.index(c)), values);
    for holds in [3, 4, 5] {
        let want = Interpreter::new().run(all(holds)).unwrap_err();
        assert_eq!(Libtorch::cpu().run(all(holds)).unwrap_err().to_string(), want.to_string());
    }
    // A mean of other elements, a count of other ones, and a variance about another mean are none.
    let off = image.imap(|(_, c, _, _), x| (x - mean.index(2 - c)) / by.index(c));
    near(off, values);
    near(image.imap(|(_, c, _, _), x| (x - mean.index(c)) / by.index(2 - c)), values);
    let sums = image.sum();
    for terms in [4.0, 5.0] {
        let mean = sums.map(|s| s / terms);
        let less = image.imap(|(n, c, y, _), x| x - mean.index((n, c, y)));
        let variance = less.map(|x| x * x).sum().map(|s| s / 5.0);
        near(less.imap(|(n, c, y, _), x| x / (variance.index((n, c, y)) + 1e-5).sqrt()), values);
    }
}
