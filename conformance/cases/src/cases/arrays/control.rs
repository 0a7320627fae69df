//! Control flow of scalars and arrays, and barriers.

use crate::cases::{Case, case};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("control/?", "FLW-01 E-CF-02", |t| t.maps(|x: Exp<i32>| x.gt(0).then_else(x, -x), &[(3, 3), (-3, 3)])),
        case("control/cond", "FLW-03 E-CF-02", |t| {
            t.maps(|x: Exp<i32>| cond(x.gt(0), 100 / x, 0), &[(3, 33), (0, 0)]);
        }),
        case("control/E-CF-04-a-guarded-read", "FLW-03 E-CF-04", |t| {
            let xs = Vector::from([10, 20, 30]);
            let guarded = |i: Exp<i64>| i.lt(3).then_else(use_(&xs).index(i), 0);
            t.gives(generate(5, guarded), Vector::from([10, 20, 30, 0, 0]));
            t.gives(generate(0, guarded), Vector::from([0; 0]));
        }),
        case("control/if-then-else", "CMP-04 E-CF-01", |t| {
            let xs = use_(&Vector::from([1, 2]));
            let chosen = |b: bool| acond::<Vector<i32>>(b, &xs, xs.map(|x| x / 0));
            t.gives(chosen(true), Vector::from([1, 2]));
            t.faults(chosen(false), "division_by_zero");
            t.gives(acond::<Vector<i32>>(true, fill(0, 1), &xs), Vector::from([0; 0]));
            t.maps(|x: Exp<i32>| x.gt(0).then_else(1, 0), &[(3, 1), (-3, 0)]);
        }),
        case("control/?|", "CMP-01 E-CF-01", |t| {
            let xs = use_(&Vector::from([1, 2]));
            t.gives(acond::<Vector<i32>>(xs.length().gt(1), &xs, fill(3, 7)), Vector::from([1, 2]));
            t.gives(acond::<Vector<i32>>(xs.length().gt(2), &xs, fill(0, 7)), Vector::from([0; 0]));
        }),
        case("control/E-CF-06-a-test-that-fails-at-once", "FLW-04 CMP-03 E-CF-06 NOFIB-288", |t| {
            t.maps(|x: Exp<i32>| while_(x, |_| lift(false), |x| x + 1), &[(3, 3), (-3, -3)]);
            t.maps(|p: (Exp<i32>, Exp<i32>)| while_(lift(p), |_| lift(false), |(a, b)| (b, a)), &[((1, 2), (1, 2))]);
            let xs = Vector::from([1, 2]);
            t.gives(awhile(&xs, |_| lift(false), |xs| xs.map(|x| x + 1)), xs);
            let none = Vector::from([0; 0]);
            t.gives(awhile(&none, |_| lift(false), |xs| xs.map(|x| x + 1)), none);
        }),
        case("control/E-CF-07-shapes-change", "CMP-03 E-CF-07", |t| {
            let xs = Vector::from([1i64, 2, 3]);
            let doubled = awhile(
                &xs,
                |xs| xs.length().lt(8),
                |xs| {
                    let n = xs.length();
                    generate(n * 2, |i| xs.index(i % n))
                },
            );
            t.gives(doubled, Vector::from([1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]));
        }),
        case("control/E-CF-08-several-arrays", "CMP-03 E-CF-08", |t| {
            let xs = Vector::from([1, 2]);
            let state =
                awhile((unit(0i32), &xs), |(i, _)| i.the().lt(3), |(i, xs)| (i.map(|i| i + 1), xs.map(|x| x * 2)));
            t.gives(state, (Scalar::scalar(3), Vector::from([8, 16])));
        }),
        case("control/E-CF-09-tuples", "FLW-04 E-CF-09", |t| {
            t.maps(
                |n: Exp<i64>| while_((0i64, 0i64), |(i, _)| i.lt(n), |(i, s)| (i + 1, s + i)),
                &[(5i64, (5i64, 10i64)), (0, (0, 0))],
            );
        }),
        case("control/E-CF-10-iterate", "FLW-05 E-CF-10", |t| {
            t.maps(|n: Exp<i64>| iterate(n, 1i32, |x| x * 3), &[(4, 81), (1, 3), (0, 1), (-2, 1), (i64::MIN, 1)]);
            t.maps(|x: Exp<i32>| functions::iterate(3i64, |x| x + 2, x), &[(1, 7), (2, 8)]);
        }),
        case("control/E-CF-11-a-rotation", "FLW-05 E-CF-11 NOFIB-168", |t| {
            t.maps(
                |n: Exp<i64>| iterate::<(i32, i32, i32), _>(n, (1, 2, 3), |(a, b, c)| (b, c, a)),
                &[(0i64, (1, 2, 3)), (1, (2, 3, 1)), (2, (3, 1, 2)), (3, (1, 2, 3)), (4, (2, 3, 1))],
            );
            let unrolled = |p: (Exp<i32>, Exp<i32>)| {
                let exchanged = |(a, b): (Exp<i32>, Exp<i32>)| (b, a);
                exchanged(exchanged(exchanged(p)))
            };
            t.maps(unrolled, &[((1, 2), (2, 1))]);
            type Six = (i32, i32, i32, i32, i32, i32);
            t.maps(
                |n: Exp<i64>| iterate::<Six, _>(n, (1, 2, 3, 4, 5, 6), |(a, b, c, d, e, f)| (c, a, b, f, d, e)),
                &[(1i64, (3, 1, 2, 6, 4, 5)), (2, (2, 3, 1, 5, 6, 4)), (3, (1, 2, 3, 4, 5, 6))],
            );
        }),
        case("control/E-CF-12-sfoldl", "FLW-06 E-CF-12", |t| {
            let xs = use_(&Vector::from([1, 2, 3]));
            t.gives(unit(xs.sfoldl(10, (), |a, x| a - x)), Scalar::scalar(4));
            t.gives(generate(0, |_| xs.sfoldl(10, (), |a, x| a - x)), Vector::from([0; 0]));
            t.gives(unit(fill(0, 1).sfoldl(10, (), |a, x| a - x)), Scalar::scalar(10));
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(generate(2, |i| m.sfoldl(10, i, |a, x| a - x)), Vector::from([4, -5]));
            t.gives(
                generate(2, |i| functions::sfoldl(|a: Exp<i64>, x: Exp<i32>| a * 10 + x.to::<i64>(), 0, i, &m)),
                Vector::from([123i64, 456]),
            );
            t.faults(generate(3, |i| m.sfoldl(0, i, |a, x| a + x)), "index_out_of_bounds");
            // A row that is not read is not looked up.
            t.gives(generate(3, |i| fill((2, 0), 1).sfoldl(7, i, |a, x| a + x)), Vector::from([7, 7, 7]));
        }),
        case("control/compute", "CMP-06 E-CF-14 NOFIB-439", |t| {
            let xs = Vector::from([1.0f32, 2.0, 3.0]);
            let stored = use_(&xs).map(|x| x * 2.0).compute();
            t.gives(stored.map(|x| x + 1.0), Vector::from([3.0, 5.0, 7.0]));
            t.gives(fill(0, 1).compute(), Vector::from([0; 0]));
            t.gives(fill(2, 1).compute().map(|x| x + 1).compute(), Vector::from([2, 2]));
            let (a, b) = functions::compute((use_(&xs).sum(), use_(&xs).map(|x| x / 2.0)));
            t.gives((a, b), (Scalar::scalar(6.0), Vector::from([0.5, 1.0, 1.5])));
            // Of two arrays computed together, only what is needed is evaluated.
            let (a, _) = functions::compute((use_(&xs), use_(&Vector::from([1])).map(|x| x / 0)));
            t.gives(a, xs);
        }),
        case("control/pipe", "CMP-05 E-CF-14", |t| {
            let f = pipe(|xs: Acc<Vector<i32>>| xs.map(|x| x + 1), |ys: Acc<Vector<i32>>| ys.sum());
            t.gives(f(use_(&Vector::from([1, 2, 3]))), Scalar::scalar(9));
            let two = |xs: Acc<Vector<i32>>| (xs.map(|x| x * 2), xs.length());
            let g = pipe(
                move |xs: Acc<Vector<i32>>| {
                    let (ys, n) = two(xs);
                    (ys, unit(n))
                },
                |(ys, n)| {
                    let ys: Acc<Vector<i32>> = ys;
                    let n: Acc<Scalar<i64>> = n;
                    ys.map(move |y| y.to::<i64>() + &n)
                },
            );
            t.gives(g(use_(&Vector::from([1, 2]))), Vector::from([4i64, 6]));
            let h = pipe(|xs: Acc<Vector<i32>>| xs.map(|x| x + 1), |ys: Acc<Vector<i32>>| ys.map(|y| y * 2));
            t.gives(h(fill(0, 1)), Vector::from([0; 0]));
        }),
        case("control/E-CF-15-nested-parallelism", "E-CF-15 BUG-15", |t| {
            let xs = use_(&Vector::from([1, 2, 3]));
            t.rejected(xs.map(|x| xs.map(|y| x + y).sum().the()), "nested data parallelism");
        }),
    ]
}
