//! Types of the array language, and access to arrays: elements and extents.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("access/types", "TYP-01 TYP-02 TYP-04 TYP-05 TYP-06 TYP-09", |t| {
            t.gives(use_(&Scalar::scalar(7)).map(|x| x + 1), Scalar::scalar(8));
            t.gives(use_(&Vector::from([1, 2])).map(|x| x + 1), Vector::from([2, 3]));
            t.gives(use_(&Matrix::from([[1, 2], [3, 4]])).map(|x| x + 1), Matrix::from([[2, 3], [4, 5]]));
            t.gives(use_(&host((0, 3), [0; 0])).map(|x| x + 1), host((0, 3), [0; 0]));
        }),
        case("access/tuples-of-arrays", "TYP-03", |t| {
            let (a, b) = (Vector::from([1, 2]), host((2, 0), [true; 0]));
            t.gives((use_(&a), (use_(&b), unit(1.5f32))), (a, (b, Scalar::scalar(1.5))));
        }),
        case("access/segments", "TYP-07", |t| {
            let segments: Segments<i32> = Vector::from([2, 0, 1]);
            let xs = use_(&Vector::from([1, 2, 3]));
            t.gives(xs.fold_seg(&segments, 0, |a, b| a + b), Vector::from([3, 0, 3]));
            t.gives(xs.fold_seg(&Vector::from([0i32; 0]), 0, |a, b| a + b), Vector::from([0i32; 0]));
        }),
        case("access/element-types", "TYP-08", |t| {
            let all: Vector<(i8, (f64, Option<char>), Complex<f32>, bool, ())> = [
                (-1, (0.5, Some('x')), Complex::new(1.0, -2.0), true, ()),
                (2, (-0.0, None), Complex::new(0.0, 3.0), false, ()),
            ]
            .into_iter()
            .collect();
            t.gives(use_(&all).map(|x| x), all);
            t.gives(fill(0, (1i16, 'a')), Vector::from_iter([(1i16, 'a'); 0]));
        }),
        case("access/ranks", "TYP-10 TYP-11 TYP-12", |t| {
            macro_rules! ranks {
                ($($shape:expr, $want:expr;)*) => { $(
                    t.shape(generate($shape, |ix| { let _ = ix; 1i32 }), $want);
                    t.gives(generate($shape, |ix| { let _ = ix; 1i32 }).fold_all(0, |a, b| a + b), Scalar::scalar(($want as [usize; _]).iter().product::<usize>() as i32));
                )* };
            }
            ranks! {
                (), [];
                3usize, [3];
                (1, 2), [1, 2];
                (2, 1, 2), [2, 1, 2];
                (1, 2, 1, 2), [1, 2, 1, 2];
                (2, 1, 2, 1, 2), [2, 1, 2, 1, 2];
                (1, 1, 2, 1, 1, 2), [1, 1, 2, 1, 1, 2];
                (1, 1, 2, 1, 1, 2, 1), [1, 1, 2, 1, 1, 2, 1];
                (1, 1, 2, 1, 1, 2, 1, 1), [1, 1, 2, 1, 1, 2, 1, 1];
                (1, 1, 2, 1, 1, 2, 1, 1, 2), [1, 1, 2, 1, 1, 2, 1, 1, 2];
            }
            t.gives(generate((2, 3), |(i, j)| i * 10 + j), Matrix::from([[0i64, 1, 2], [10, 11, 12]]));
        }),
        case("access/slices", "TYP-13 TYP-14 TYP-15 N14-01 N14-02", |t| {
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(m.slice((All, 1)), Vector::from([2, 5]));
            t.gives(m.slice((Any, 1)), Vector::from([2, 5]));
            t.gives(m.slice((Any, 1, All)), Vector::from([4, 5, 6]));
            t.gives(use_(&host((0, 3), [0; 0])).slice((All, 1)), Vector::from([0; 0]));
        }),
        case("access/index", "IDX-01", |t| {
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(unit(m.index((1, 2))), Scalar::scalar(6));
            t.gives(generate(3, |j| m.index((0, j))), Vector::from([1, 2, 3]));
            t.gives(generate(0, |j| m.index((0, j))), Vector::from([0; 0]));
            t.faults(unit(m.index((2, 0))), "index_out_of_bounds");
        }),
        case("access/index-linear", "IDX-02", |t| {
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(unit(m.index_linear(4)), Scalar::scalar(5));
            t.gives(generate(6, |i| m.index_linear(5 - i)), Vector::from([6, 5, 4, 3, 2, 1]));
            t.gives(generate(0, |i| m.index_linear(i)), Vector::from([0; 0]));
            t.faults(unit(m.index_linear(6)), "index_out_of_bounds");
            t.faults(unit(use_(&host((0, 3), [0; 0])).index_linear(0)), "index_out_of_bounds");
        }),
        case("access/the", "IDX-03", |t| {
            let total = use_(&Vector::from([1, 2, 3])).sum();
            t.gives(generate(2, |_| total.the()), Vector::from([6, 6]));
            t.gives(generate(0, |_| total.the()), Vector::from([0; 0]));
        }),
        case("access/E-SZ-01", "IDX-04 IDX-05 IDX-07 E-SZ-01", |t| {
            let m = use_(&host((2, 0), [0i32; 0]));
            t.gives(unit(m.size()), Scalar::scalar(0));
            t.gives(unit(m.is_empty()), Scalar::scalar(true));
            t.gives(unit(use_(&Vector::from([0i32; 0])).length()), Scalar::scalar(0));
            t.gives(unit(use_(&Vector::from([1, 2, 3])).length()), Scalar::scalar(3));
            t.gives(unit(fill((2, 3), 0i32).size()), Scalar::scalar(6));
            t.gives(unit(fill((2, 3), 0i32).is_empty()), Scalar::scalar(false));
        }),
        case("access/shape", "IDX-06", |t| {
            let m = use_(&host((2, 0), [0i32; 0]));
            t.gives(unit(m.shape()), Scalar::scalar((2, 0)));
            t.gives(unit(fill((4, 3, 5), 0i32).shape()), Scalar::scalar((4, 3, 5)));
            t.gives(unit(fill(5, 0i32).shape()), Scalar::scalar(5));
        }),
        case("access/E-SZ-02", "IDX-08 E-SZ-02", |t| {
            t.gives(unit(shape_size(())), Scalar::scalar(1));
            t.gives(unit(shape_size((2, 3, 4))), Scalar::scalar(24));
            t.gives(unit(shape_size(use_(&host((2, 0), [0i32; 0])).extent())), Scalar::scalar(0));
        }),
    ]
}
