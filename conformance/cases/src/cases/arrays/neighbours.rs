//! Differences, rotation, shifting, the greatest few, search in sorted rows; operators on rank-0 arrays in scalar code.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("neighbours/roll", "", |t| {
            let xs = enum_from(5, 0i64);
            for (k, want) in [(0, [0, 1, 2, 3, 4]), (1, [4, 0, 1, 2, 3]), (-1, [1, 2, 3, 4, 0]), (12, [3, 4, 0, 1, 2])]
            {
                t.gives(xs.roll(k), Vector::from(want));
            }
            t.gives(fill(0, 1i32).roll(1), Vector::from([0i32; 0]));
            t.gives(fill(1, 7i32).roll(-3), Vector::from([7]));
            t.gives(use_(&Matrix::from([[1, 2, 3], [4, 5, 6]])).roll(1), Matrix::from([[3, 1, 2], [6, 4, 5]]));
            t.gives(fill((2, 0), 1i32).roll(1), host((2, 0), [0i32; 0]));
        }),
        case("neighbours/shift", "", |t| {
            let xs = enum_from(4, 1i64);
            for (k, want) in [(0, [1, 2, 3, 4]), (1, [9, 1, 2, 3]), (-1, [2, 3, 4, 9]), (4, [9; 4]), (-7, [9; 4])] {
                t.gives(xs.shift(k, 9), Vector::from(want));
            }
            t.gives(fill(0, 1i32).shift(1, 0), Vector::from([0i32; 0]));
            t.gives(use_(&Matrix::from([[1, 2], [3, 4]])).shift(1, 0), Matrix::from([[0, 1], [0, 3]]));
        }),
        case("neighbours/diff", "", |t| {
            t.gives(use_(&Vector::from([1, 4, 9, 16])).diff(), Vector::from([3, 5, 7]));
            t.gives(use_(&Vector::from([5u8, 3])).diff(), Vector::from([254u8]));
            t.gives(fill(1, 2.5f32).diff(), Vector::from([0f32; 0]));
            t.gives(fill(0, 2.5f32).diff(), Vector::from([0f32; 0]));
            t.gives(use_(&Matrix::from([[1, 4, 2], [0, 0, 7]])).diff(), Matrix::from([[3, -2], [0, 7]]));
        }),
        case("neighbours/top_k", "", |t| {
            let xs = use_(&Vector::from([3, 1, 7, 5, 7]));
            t.gives(xs.top_k(3), (Vector::from([7, 7, 5]), Vector::from([2i64, 4, 3])));
            t.gives(xs.top_k(0), (Vector::from([0; 0]), Vector::from([0i64; 0])));
            t.gives(xs.top_k(9), (Vector::from([7, 7, 5, 3, 1]), Vector::from([2i64, 4, 3, 0, 1])));
            let m = use_(&Matrix::from([[1.5f32, f32::NAN, 0.0], [-1.0, -2.0, -3.0]]));
            t.gives(m.top_k(1), (Matrix::from([[f32::NAN], [-1.0]]), Matrix::from([[1i64], [0]])));
        }),
        case("neighbours/searchsorted", "", |t| {
            let sorted = use_(&Vector::from([10, 20, 20, 30]));
            let values = use_(&Vector::from([5, 10, 20, 25, 30, 40]));
            t.gives(sorted.searchsorted(&values), Vector::from([0i64, 0, 1, 3, 3, 4]));
            t.gives(sorted.searchsorted(unit(21)), Scalar::scalar(3i64));
            t.gives(fill(0, 0i32).searchsorted(&values), Vector::from([0i64; 6]));
            t.gives(sorted.searchsorted(fill((0, 2), 1i32)), host((0, 2), [0i64; 0]));
        }),
        case("neighbours/rank-0-on-the-left", "", |t| {
            let xs = use_(&Vector::from([1.0f32, 2.0, 6.0]));
            let (least, most) = (xs.minimum(), xs.maximum());
            t.gives(xs.map(|x| &most - x), Vector::from([5.0f32, 4.0, 0.0]));
            t.gives(xs.map(|x| (&most - x) / (&most - &least)), Vector::from([1.0f32, 0.8, 0.0]));
            t.gives(xs.map(|x| most.gt(x).then_else(x, 0.0)), Vector::from([1.0f32, 2.0, 0.0]));
            t.gives(acond(xs.sum().gt(0.0), xs.map(|x| x + 1.0), xs.map(|x| -x)), Vector::from([2.0f32, 3.0, 7.0]));
        }),
        case("neighbours/constants-on-the-left-of-shifts", "", |t| {
            let ks = enum_from(4, 0i64);
            t.gives(ks.map(|k| 1 << k), Vector::from([1i64, 2, 4, 8]));
            t.gives(ks.map(|k| 1024 >> k), Vector::from([1024i64, 512, 256, 128]));
        }),
    ]
}
