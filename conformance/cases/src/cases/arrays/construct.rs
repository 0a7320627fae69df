//! Arrays from nothing, and from others put together.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("construct/use", "CON-01 E-SZ-04", |t| {
            let (xs, none) = (Vector::from([1.5f32, -2.0]), host((3, 0), [0u8; 0]));
            t.gives(use_(&xs), xs);
            t.gives(use_(&none), none);
        }),
        case("construct/unit", "CON-02", |t| {
            t.gives(unit((1, 2.5)), Scalar::scalar((1, 2.5)));
            t.shape(unit(1), []);
        }),
        case("construct/generate", "CON-03 E-SZ-03", |t| {
            t.gives(generate((2, 2), |(i, j)| i - j), Matrix::from([[0i64, -1], [1, 0]]));
            // The function would fail if it were called.
            t.gives(generate((3, 0), |(i, _)| i / 0), host((3, 0), [0i64; 0]));
            t.gives(generate((0, 3), |(i, _)| i / 0), host((0, 3), [0i64; 0]));
        }),
        case("construct/E-SZ-03-empty", "CON-04 E-SZ-03", |t| {
            let none = use_(&host((0, 3), [0i32; 0]));
            t.gives(fill((2, 2), 7), Matrix::from([[7, 7], [7, 7]]));
            t.gives(fill((0, 3), 7), host((0, 3), [0; 0]));
            t.gives(none.map(|x| 1 / x), host((0, 3), [0; 0]));
            t.gives(none.zip(&none), host((0, 3), [(0, 0); 0]));
            t.gives(none.transpose(), host((3, 0), [0; 0]));
            t.gives(none.reverse_on::<1>(), host((0, 3), [0; 0]));
            t.gives(use_(&Vector::from([0; 0])).reverse(), Vector::from([0; 0]));
            t.gives(none.indexed(), host((0, 3), [((0i64, 0i64), 0); 0]));
        }),
        case("construct/E-SH-29-enum-from", "CON-05 E-SH-29 E-SZ-11", |t| {
            t.gives(enum_from(4, 254u8), Vector::from([254, 255, 0, 1]));
            t.gives(enum_from((2, 3), -1.5f64), Matrix::from([[-1.5, -0.5, 0.5], [1.5, 2.5, 3.5]]));
            t.gives(enum_from((2, 0), 3i16), host((2, 0), [0; 0]));
            t.gives(enum_from(0, 3u64), Vector::from([0; 0]));
        }),
        case("construct/E-SH-27-enum-from-step", "CON-06 E-SH-27 E-SH-28 E-SZ-11", |t| {
            t.gives(enum_from_step(4, 10, -3), Vector::from([10, 7, 4, 1]));
            let tenths: Vector<f32> = (0..5).map(|i| i as f32 * 0.1).collect();
            t.gives(enum_from_step(5, 0.0f32, 0.1), tenths);
            t.gives(enum_from_step((0, 2), 1i32, 1), host((0, 2), [0; 0]));
        }),
        case("construct/E-SZ-05-negative-extents", "E-SZ-05 E-SZ-06 E-SZ-07 E-SZ-10", |t| {
            let minus = |n: i64| unit(n).the();
            t.faults(fill(minus(-3), 1), "negative_extent");
            t.faults(generate((minus(-3), 2), |_| 1), "negative_extent");
            t.faults(fill((minus(-3), minus(-2)), 1), "negative_extent");
            t.faults(unit(fill((minus(-3), minus(-2)), 1).size()), "negative_extent");
            t.faults(fill(minus(-3), 1).fold(5, |a, b| a + b), "negative_extent");
            let xs = use_(&Vector::from([1, 2]));
            t.gives(xs.replicate((0, All)), host((0, 2), [0; 0]));
            t.faults(xs.replicate((minus(-2), All)), "negative_extent");
        }),
        case("construct/E-SH-21-concat", "CON-07 E-SH-21 E-SH-22", |t| {
            let (a, b) = (Matrix::from([[0, 1], [2, 3]]), Matrix::from([[10], [11], [12]]));
            t.gives(use_(&a).concat(&b), Matrix::from([[0, 1, 10], [2, 3, 11]]));
            let (xs, none) = (Vector::from([1, 2]), Vector::from([0; 0]));
            t.gives(use_(&xs).concat(&none), xs.clone());
            t.gives(use_(&none).concat(&xs), xs);
            t.gives(use_(&none).concat(&none), none);
            t.gives(use_(&a).concat(&host((0, 1), [0; 0])), host((0, 3), [0; 0]));
        }),
        case("construct/E-SH-23-concat-on", "CON-08 E-SH-23", |t| {
            let (a, b) = (Matrix::from([[0, 1], [2, 3]]), Matrix::from([[10, 11, 12]]));
            t.gives(use_(&a).concat_on::<2>(&b), Matrix::from([[0, 1], [2, 3], [10, 11]]));
            t.gives(use_(&a).concat_on::<2>(&host((0, 2), [0; 0])), a.clone());
            t.gives(use_(&host((0, 2), [0; 0])).concat_on::<2>(&host((0, 1), [0; 0])), host((0, 1), [0; 0]));
            let c = generate((2, 1, 2), |(i, _, k)| i * 10 + k);
            t.gives(c.concat_on::<3>(&c), host((4, 1, 2), [0, 1, 10, 11, 0, 1, 10, 11]));
        }),
        case("construct/E-PM-26-expand", "CON-09 E-PM-26 E-PM-27 E-PM-28 BUG-10", |t| {
            let expanded = |xs: &[i64]| {
                let xs: Vector<i64> = xs.iter().copied().collect();
                use_(&xs).expand(|x| x, |x, i| x * 10 + i)
            };
            t.gives(expanded(&[2, 0, 3]), Vector::from([20, 21, 30, 31, 32]));
            t.gives(expanded(&[]), Vector::from([0; 0]));
            t.gives(expanded(&[0, 0]), Vector::from([0; 0]));
            t.gives(expanded(&[0, 2]), Vector::from([20, 21]));
            t.gives(expanded(&[0, 0, 1, 0, 0, 2, 0]), Vector::from([10, 20, 21]));
            t.faults(expanded(&[2, -1, 3]), "check_failed");
            t.faults(expanded(&[i64::MAX, i64::MAX]), "check_failed");
        }),
        case("construct/E-SZ-12-from-elements", "E-SZ-12 E-SZ-13", |t| {
            t.check(Array::<DIM2, i32>::from_elts((2, 2), [1, 2, 3]).is_err(), "too few elements are an error");
            let m = Array::<DIM2, i32>::from_elts((2, 2), (1..).take(4));
            t.equal(m.map(|m| m.to_vec()).ok(), Some(vec![1, 2, 3, 4]));
        }),
    ]
}
