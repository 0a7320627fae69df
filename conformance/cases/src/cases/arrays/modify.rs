//! Shapes changed and parts of arrays taken.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

fn cube() -> Acc<Array<DIM3, i64>> {
    generate((2, 2, 3), |(i, j, k)| (i * 2 + j) * 3 + k)
}

fn five() -> Acc<Vector<i64>> {
    enum_from(5, 0i64)
}

fn minus(n: i64) -> Exp<i64> {
    unit(n).the()
}

pub fn cases() -> Vec<Case> {
    vec![
        case("modify/E-SH-05-reshape", "MOD-01 E-SH-05 E-SH-06 E-SH-07", |t| {
            let six = enum_from(6, 0i64);
            t.gives(six.reshape((2, 3)), Matrix::from([[0, 1, 2], [3, 4, 5]]));
            t.faults(six.reshape((2, 2)), "reshape_size");
            t.gives(fill((0, 5), 1).reshape((7, 0)), host((7, 0), [0; 0]));
            t.gives(unit(4).reshape((1, 1)), Matrix::from([[4]]));
            t.faults(six.reshape((minus(-2), minus(-3))), "negative_extent");
        }),
        case("modify/E-SH-08-flatten", "MOD-02 E-SH-08", |t| {
            t.gives(cube().flatten(), (0..12).collect());
            t.gives(fill((0, 5), 1).flatten(), Vector::from([0; 0]));
            t.gives(unit(3).flatten(), Vector::from([3]));
        }),
        case("modify/E-SH-09-replicate", "MOD-03 E-SH-09 E-SH-10 E-SH-11 E-SH-12", |t| {
            let pair = use_(&Vector::from([1, 2]));
            t.gives(pair.replicate((3, All)), Matrix::from([[1, 2], [1, 2], [1, 2]]));
            t.gives(pair.replicate((Any, 2)), Matrix::from([[1, 1], [2, 2]]));
            let m = use_(&Matrix::from([[0, 1], [2, 3]]));
            t.gives(m.replicate((All, 2, All)), host((2, 2, 2), [0, 1, 0, 1, 2, 3, 2, 3]));
            t.gives(m.replicate((Any, 2, All)), host((2, 2, 2), [0, 1, 0, 1, 2, 3, 2, 3]));
            t.gives(m.replicate(Any), Matrix::from([[0, 1], [2, 3]]));
            t.gives(unit(7).replicate((2, 2)), Matrix::from([[7, 7], [7, 7]]));
            t.gives(unit(7).replicate((Any, 3)), Vector::from([7, 7, 7]));
            t.gives(pair.replicate((0, All)), host((0, 2), [0; 0]));
        }),
        case("modify/E-SH-13-slice", "MOD-04 E-SH-13 E-SH-14 E-SH-15 E-SH-16 E-SH-17", |t| {
            let m = generate((2, 3), |(i, j)| i * 3 + j);
            t.gives(m.slice((1, All)), Vector::from([3, 4, 5]));
            t.gives(m.slice((All, 1)), Vector::from([1, 4]));
            let c = generate((2, 3, 4), |(i, j, k)| (i * 3 + j) * 4 + k);
            t.gives(c.slice((Any, 1, All)), Matrix::from([[4, 5, 6, 7], [16, 17, 18, 19]]));
            t.gives(c.slice((Any, 1)), Matrix::from([[1, 5, 9], [13, 17, 21]]));
            t.gives(m.slice((1, 2)), Scalar::scalar(5));
            t.gives(m.slice(Any), Matrix::from([[0, 1, 2], [3, 4, 5]]));
            t.faults(m.slice((2, All)), "index_out_of_bounds");
            t.faults(m.slice((minus(-1), All)), "index_out_of_bounds");
            t.gives(fill((2, 0), 1).slice((1, All)), Vector::from([0; 0]));
        }),
        case("modify/E-SH-19-init-and-tail", "MOD-05 MOD-06 E-SH-19", |t| {
            t.gives(five().init(), Vector::from([0, 1, 2, 3]));
            t.gives(five().tail(), Vector::from([1, 2, 3, 4]));
            t.gives(use_(&Matrix::from([[1, 2], [3, 4]])).init(), Matrix::from([[1], [3]]));
            t.gives(use_(&Matrix::from([[1, 2], [3, 4]])).tail(), Matrix::from([[2], [4]]));
            for n in [0, 1] {
                t.gives(fill(n, 1).init(), Vector::from([0; 0]));
                t.gives(fill(n, 1).tail(), Vector::from([0; 0]));
            }
        }),
        case("modify/E-SH-18-take-and-drop", "MOD-07 MOD-08 E-SH-18 E-SZ-08 E-SZ-09", |t| {
            t.gives(five().take(2), Vector::from([0, 1]));
            t.gives(five().drop(2), Vector::from([2, 3, 4]));
            t.gives(five().take(9), Vector::from([0, 1, 2, 3, 4]));
            t.gives(five().drop(9), Vector::from([0; 0]));
            t.gives(five().take(minus(-2)), Vector::from([0; 0]));
            t.gives(five().drop(minus(-2)), Vector::from([0, 1, 2, 3, 4]));
            t.gives(use_(&Matrix::from([[1, 2, 3], [4, 5, 6]])).take(2), Matrix::from([[1, 2], [4, 5]]));
            t.gives(fill((2, 0), 1).drop(1), host((2, 0), [0; 0]));
        }),
        case("modify/E-SH-20-slit", "MOD-09 E-SH-20", |t| {
            t.gives(five().slit(1, 2), Vector::from([1, 2]));
            t.gives(five().slit(3, 9), Vector::from([3, 4]));
            t.gives(five().slit(9, 2), Vector::from([0; 0]));
            t.gives(five().slit(minus(-1), 2), Vector::from([0, 1]));
            t.gives(five().slit(1, minus(-1)), Vector::from([0; 0]));
        }),
        case("modify/on-init-and-tail", "MOD-10 MOD-11", |t| {
            t.gives(cube().init_on::<2>(), host((2, 1, 3), [0, 1, 2, 6, 7, 8]));
            t.gives(cube().tail_on::<3>(), host((1, 2, 3), [6, 7, 8, 9, 10, 11]));
            t.gives(cube().tail_on::<1>(), host((2, 2, 2), [1, 2, 4, 5, 7, 8, 10, 11]));
            t.gives(fill((0, 3), 1).init_on::<2>(), host((0, 3), [0; 0]));
            t.gives(fill((1, 3), 1).tail_on::<2>(), host((0, 3), [0; 0]));
        }),
        case("modify/E-SH-26-on-take-and-drop", "MOD-12 MOD-13 E-SH-26", |t| {
            t.gives(cube().take_on::<3>(1), host((1, 2, 3), [0, 1, 2, 3, 4, 5]));
            t.gives(cube().drop_on::<2>(1), host((2, 1, 3), [3, 4, 5, 9, 10, 11]));
            t.gives(cube().take_on::<2>(0), host((2, 0, 3), [0; 0]));
            t.gives(cube().drop_on::<3>(5), host((0, 2, 3), [0; 0]));
        }),
        case("modify/on-slit", "MOD-14", |t| {
            t.gives(cube().slit_on::<1>(1, 1), host((2, 2, 1), [1, 4, 7, 10]));
            t.gives(cube().slit_on::<2>(1, 9), host((2, 1, 3), [3, 4, 5, 9, 10, 11]));
            t.gives(cube().slit_on::<2>(2, 1), host((2, 0, 3), [0; 0]));
        }),
        case("modify/E-SH-30-host-reshape", "E-SH-30", |t| {
            let six: Vector<i32> = (0..6).collect();
            t.check(six.data().reshaped(&[2, 2]).is_err(), "another size is an error");
            t.check(six.data().reshaped(&[2, 3]).is_ok(), "the same size is none");
        }),
    ]
}
