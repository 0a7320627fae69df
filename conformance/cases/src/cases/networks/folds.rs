//! Folds over chosen axes, extremes with their positions, loops over arrays.

use super::{Case, case, gradient, host, numbers};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    [over(), extremes(), loops()].concat()
}

fn over() -> Vec<Case> {
    vec![
        case("networks/sum-over", "", |t| {
            let xs = generate((2, 3, 4), |(i, j, k)| i * 100 + j * 10 + k);
            t.gives(xs.sum_over((Over, All, All)), host((3, 4), (0..12).map(|n| 100 + n / 4 * 20 + n % 4 * 2)));
            t.gives(xs.sum_over((All, Over, All)), host((2, 4), (0..8).map(|n| n / 4 * 300 + 30 + n % 4 * 3)));
            t.gives(xs.sum_over((Over, All, Over)), Vector::from([412i64, 492, 572]));
            t.gives(xs.sum_over((Any, Over, Over)), Vector::from([138i64, 1338]));
            t.gives(xs.sum_over((Over, Over, Over)), Scalar::scalar(1476i64));
            t.gives(
                xs.sum_over((All, All, All)),
                host((2, 3, 4), (0..24).map(|n| n / 12 * 100 + n / 4 % 3 * 10 + n % 4)),
            );
            t.gives(fill((0, 3), 1i32).sum_over((Over, All)), Vector::from([0; 3]));
            t.gives(fill((3, 0), 1i32).sum_over((Over, All)), Vector::from([0; 0]));
            t.gives(fill((1, 17), 0.5f32).sum_over((Over, All)), Vector::from([0.5f32; 17]));
        }),
        case("networks/known-folds-over", "", |t| {
            let m = use_(&Matrix::from([[3i32, 1, 4], [1, 5, 9]]));
            t.gives(m.product_over((Over, All)), Vector::from([3, 5, 36]));
            t.gives(m.maximum_over((Over, All)), Vector::from([3, 5, 9]));
            t.gives(m.minimum_over((Over, Over)), Scalar::scalar(1));
            t.gives(m.map(|x| x.gt(2)).and_over((Over, All)), Vector::from([false, false, true]));
            t.gives(m.map(|x| x.gt(2)).or_over((Over, All)), Vector::from([true, true, true]));
            t.gives(m.map(|x| x.to::<f64>()).mean_over((Over, All)), Vector::from([2.0, 3.0, 6.5]));
            let nan = use_(&Matrix::from([[1.0f32, f32::NAN], [2.0, 3.0]]));
            t.gives(nan.maximum_over((Over, All)), Vector::from([2.0, f32::NAN]));
            t.gives(fill((0, 2), true).and_over((Over, All)), Vector::from([true; 2]));
            t.faults(fill((0, 2), 1i32).maximum_over((Over, All)), "empty_fold");
        }),
        case("networks/fold-over", "", |t| {
            // Not commutative: the order is that of the elements.
            let xs = generate((2, 2, 2), |(i, j, k)| i * 4 + j * 2 + k);
            t.gives(xs.fold_over((Over, All, Over), -1, |_, b| b), Vector::from([5i64, 7]));
            t.gives(xs.fold_over((All, Over, All), 100, |a, b| a + b), Matrix::from([[102i64, 104], [110, 112]]));
            t.gives(fill((2, 0), 7i32).fold_over((All, Over), 3, |a, b| a * b), Vector::from([3, 3]));
        }),
        case("networks/gradients-of-folds-over", "", |t| {
            let xs: Array<Dim<3>, f64> = host((2, 3, 2), numbers(1, 12));
            gradient(t, &xs, |xs| xs.sum_over((Over, All, Over)).map(|s| s * s * s).sum());
            gradient(t, &xs, |xs| xs.product_over((All, Over, Over)).sum());
            gradient(t, &xs, |xs| xs.maximum_over((Over, Over, All)).map(|s| s * s).sum());
            gradient(t, &xs, |xs| xs.mean_over((Over, All, All)).map(|s| s.exp()).sum_over((Over, Over)));
            gradient(t, &xs, |xs| xs.fold_over((Over, All, Over), 1.0, |a, b| a * b).sum());
        }),
    ]
}

fn extremes() -> Vec<Case> {
    vec![case("networks/extremes-with-positions", "", |t| {
        let m = use_(&Matrix::from([[3.0f32, 1.0, 3.0], [f32::NAN, 4.0, f32::NAN]]));
        t.gives(m.maximum_at(), (Vector::from([3.0f32, f32::NAN]), Vector::from([0i64, 0])));
        t.gives(m.minimum_at(), (Vector::from([1.0f32, f32::NAN]), Vector::from([1i64, 0])));
        t.gives(fill((0, 2), 1i32).maximum_at(), (Vector::from([0; 0]), Vector::from([0i64; 0])));
        t.faults(fill((2, 0), 1i32).maximum_at().0, "empty_fold");
        let xs: Matrix<f64> = host((3, 5), numbers(2, 15));
        gradient(t, &xs, |xs| xs.maximum_at().0.map(|x| x * x).sum());
        gradient(t, &xs, |xs| {
            let (least, at) = xs.minimum_at();
            least.zip_with(at, |x, at| x * at.to::<f64>()).sum()
        });
    })]
}

fn loops() -> Vec<Case> {
    vec![
        case("networks/iterate", "", |t| {
            let xs = Vector::from([1, 2, 3]);
            t.gives(aiterate(3, &xs, |xs| xs.map(|x| x * 2)), Vector::from([8, 16, 24]));
            t.gives(aiterate(0, &xs, |xs| xs.map(|x| x * 2)), xs.clone());
            t.gives(aiterate(-1, &xs, |xs| xs.map(|x| x * 2)), xs.clone());
            // The shape changes, and the number of steps is computed.
            t.gives(aiterate(use_(&xs).length() - 1, &xs, |xs| xs.concat(&xs)), Vector::from([1, 2, 3].repeat(4)));
            t.gives(aiterate(2, fill(0, 1i32), |xs| xs.map(|x| x + 1)), Vector::from([0; 0]));
            t.gives(aiterate(5, (unit(1i64), unit(1i64)), |(a, b)| (b.clone(), a + b)).0, Scalar::scalar(8i64));
        }),
        case("networks/counted-loop", "", |t| {
            let m = use_(&Matrix::from([[1, 2], [3, 4], [5, 6]]));
            let sums = afor(m.shape().0, fill(2, 0), |i, sums| sums.zip_with(m.slice((i, All)), |s, x| s * 10 + x));
            t.gives(sums, Vector::from([135, 246]));
            t.gives(afor(4, unit(0i64), |i, sum| sum.map(|s| s + i * i)), Scalar::scalar(14i64));
            t.gives(afor(0, fill(0, 0i64), |i, xs| xs.map(|x| x + i)), Vector::from([0i64; 0]));
        }),
        case("networks/gradients-of-loops", "", |t| {
            let xs = Vector::from([0.5f64, -0.25, 0.75]);
            gradient(t, &xs, |xs| aiterate(3, xs, |xs| xs.map(|x| x.sin() * 1.5)).sum());
            gradient(t, &xs, |xs| {
                let state = afor(4, (&xs, unit(1.0)), |i, (xs, product)| {
                    let next = product.map(|p| p * xs.index(i % 3));
                    (xs.map(|x| x + next.the()), next)
                });
                state.0.sum()
            });
        }),
    ]
}
