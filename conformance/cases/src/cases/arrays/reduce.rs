//! Reductions with a name, and what needs no row of Accelerate: positions of extremes, means, products of matrices.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("reduce/E-FD-12-all-and-any", "RED-01 RED-02 E-FD-12", |t| {
            let m = use_(&Matrix::from([[1i32, 2, 3], [4, 6, 8]]));
            let even = |x: Exp<i32>| (x % 2).eq(0);
            t.gives(m.all(even), Vector::from([false, true]));
            t.gives(m.any(even), Vector::from([true, true]));
            t.gives(m.any(|x| x.gt(8)), Vector::from([false, false]));
            t.gives(fill(0, 1).all(even), Scalar::scalar(true));
            t.gives(fill(0, 1).any(even), Scalar::scalar(false));
        }),
        case("reduce/E-FD-11-and-and-or", "RED-03 RED-04 E-FD-11", |t| {
            let m = use_(&Matrix::from([[true, true], [false, true], [false, false]]));
            t.gives(m.and(), Vector::from([true, false, false]));
            t.gives(m.or(), Vector::from([true, true, false]));
            t.gives(fill((2, 0), true).and(), Vector::from([true, true]));
            t.gives(fill((2, 0), true).or(), Vector::from([false, false]));
        }),
        case("reduce/E-FD-10-sum-and-product", "RED-05 RED-06 E-FD-10", |t| {
            let m = use_(&Matrix::from([[1u8, 2, 254], [4, 5, 6]]));
            t.gives(m.sum(), Vector::from([1, 15]));
            t.gives(m.product(), Vector::from([252, 120]));
            t.gives(fill(0, 1i64).sum(), Scalar::scalar(0));
            t.gives(fill(0, 1i64).product(), Scalar::scalar(1));
            t.gives(use_(&Vector::from([1i64; 0])).product(), Scalar::scalar(1));
            t.gives(fill((2, 0), 1.0f32).sum(), Vector::from([0.0, 0.0]));
            t.gives(fill((2, 0), Complex::new(1.0, 0.0)).product(), Vector::from_iter([Complex::new(1.0f64, 0.0); 2]));
        }),
        case("reduce/E-FD-08-minimum-and-maximum", "RED-07 RED-08 E-FD-08 E-FD-09", |t| {
            let m = use_(&Matrix::from([[3, -1, 2], [4, 9, 6]]));
            t.gives(m.minimum(), Vector::from([-1, 4]));
            t.gives(m.maximum(), Vector::from([3, 9]));
            t.gives(use_(&Vector::from(['b', 'a'])).minimum(), Scalar::scalar('a'));
            t.gives(use_(&Vector::from([1u64, u64::MAX, 3])).maximum(), Scalar::scalar(u64::MAX));
            t.faults(fill(0, 1).minimum(), "empty_fold");
            t.faults(fill((3, 0), 1).maximum(), "empty_fold");
            t.faults(fill((0, 0), 1).minimum(), "empty_fold");
            t.gives(fill((0, 3), 1).maximum(), Vector::from([0; 0]));
        }),
        case("reduce/arg", "", |t| {
            let m = use_(&Matrix::from([[3, 1, 1, 3], [0, 5, 5, -2]]));
            t.gives(m.arg_min(), Vector::from([1, 3]));
            t.gives(m.arg_max(), Vector::from([0, 1]));
            let xs = use_(&Vector::from([1.0, f64::NAN, -5.0, f64::NAN]));
            t.gives(xs.arg_min(), Scalar::scalar(1));
            t.gives(xs.arg_max(), Scalar::scalar(1));
            t.gives(use_(&Vector::from([0.0f32, -0.0])).arg_min(), Scalar::scalar(0));
            t.gives(
                generate(5000, |i| (i * 7919) % 5003).arg_max(),
                Scalar::scalar((0..5000i64).max_by_key(|i| i * 7919 % 5003).unwrap_or(0)),
            );
            t.faults(fill((2, 0), 1).arg_min(), "empty_fold");
            t.gives(fill((0, 2), 1).arg_max(), Vector::from([0i64; 0]));
        }),
        case("reduce/mean", "", |t| {
            t.gives(use_(&Matrix::from([[1.0, 2.0, 6.0], [-1.0, 0.5, 0.5]])).mean(), Vector::from([3.0, 0.0]));
            t.gives(fill((2, 0), 1.0f32).mean(), Vector::from([f32::NAN, f32::NAN]));
        }),
        case("reduce/matmul", "", |t| {
            let (a, b) = (Matrix::from([[1, 2, 3], [4, 5, 6]]), Matrix::from([[7, 8], [9, 10], [11, 12]]));
            t.gives(use_(&a).matmul(&b), Matrix::from([[58, 64], [139, 154]]));
            t.gives(fill((2, 0), 1.0).matmul(fill((0, 3), 1.0)), fill_host((2, 3), 0.0));
            t.gives(fill((0, 2), 1).matmul(fill((2, 3), 1)), host((0, 3), [0; 0]));
            t.faults(use_(&a).matmul(&a), "check_failed");
        }),
        case("reduce/operators", "", |t| {
            let (a, b) = (Vector::from([1, 2, 3]), Vector::from([10, 20]));
            let (x, y) = (use_(&a), use_(&b));
            t.gives(&x + &y, Vector::from([11, 22]));
            t.gives(&y - &a, Vector::from([9, 18]));
            t.gives(&x * 2, Vector::from([2, 4, 6]));
            t.gives(7 - &x, Vector::from([6, 5, 4]));
            t.gives(-&x, Vector::from([-1, -2, -3]));
            t.gives((&x * &x + 1) % 4, Vector::from([2, 1, 2]));
            t.gives(&x / x.length().to::<i32>(), Vector::from([0, 0, 1]));
            let m = fill((2, 2), 1.5f32);
            t.gives(1.0 / (&m * 2.0 - 1.0), Matrix::from([[0.5, 0.5], [0.5, 0.5]]));
            t.gives(unit(2u8) - unit(3), Scalar::scalar(255));
            t.gives(fill(0, 1i64) + fill(3, 1), Vector::from([0; 0]));
            t.gives(
                fill((1, 1, 1), Complex::new(1.0, 2.0)) * Complex::new(0.0, 1.0).into_exp(),
                host((1, 1, 1), [Complex::new(-2.0, 1.0)]),
            );
            t.faults(&x / 0, "division_by_zero");
        }),
    ]
}

fn fill_host(shape: (usize, usize), x: f64) -> Matrix<f64> {
    host(shape, std::iter::repeat_n(x, shape.0 * shape.1))
}
