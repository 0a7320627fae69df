//! The graph backend agrees with the interpreter: values, faults, laziness.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use backend_graph::Libtorch;
use std::fmt::Debug;

/// Runs a program on both and compares.
#[track_caller]
fn agree<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) -> A {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap();
    let got = match Libtorch::cpu().run(&program) {
        Ok(x) => x,
        Err(e) => {
            let graph = backend_graph::graph_of(&program.program().unwrap().program).unwrap();
            panic!("{e}\n{}", backend_graph::export(&graph, backend_graph::Format::Text))
        }
    };
    if got != want {
        let graph = backend_graph::graph_of(&program.program().unwrap().program).unwrap();
        panic!("got {got:?}\nwant {want:?}\n{}", backend_graph::export(&graph, backend_graph::Format::Text));
    }
    want
}

/// Both fault in the same way.
#[track_caller]
fn fault<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) -> String {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap_err();
    let got = Libtorch::cpu().run(&program).unwrap_err();
    assert_eq!(got.to_string(), want.to_string());
    want.to_string()
}

fn floats() -> Acc<Vector<f32>> {
    use_(&Vector::from([1.0f32, -2.5, 3.0, 0.0, 7.25]))
}

#[test]
fn maps_and_zips() {
    agree(floats().map(|x| x * x + 1.0));
    agree(floats().zip_with(&Vector::from([1i32, 2, 3]), |x, n| x * n.to::<f32>()));
    agree(floats().imap(|i, x| (i, x.gt(0.0), x.to::<i32>())));
    agree(generate((3, 4), |(i, j)| i * 10 + j));
    agree(generate((2, 0, 3), |(i, j, k)| i + j * k));
    agree(fill((2, 3), (1u8, 'x', true)));
    agree(unit(5i64));
    agree(enum_from((2, 3), 250u8));
    agree(use_(&Matrix::from([[1, 2, 3], [4, 5, 6]])).transpose());
    let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    agree(m.zip_with(m.transpose(), |a, b| a * 10 + b));
    agree(generate(4, |i| ((), i)).map(|(_, i)| i + 1));
}

#[test]
fn folds_and_scans() {
    for n in [0usize, 1, 2, 3, 5, 8, 13, 31] {
        let xs = generate((2, n), |(i, j)| i * 100 + j);
        agree(xs.fold(7, |a, b| a + b));
        agree(xs.fold(7, |a, b| a.max(b)));
        agree(xs.scanl(7, |a, b| a + b));
        agree(xs.scanr(7, |a, b| a + b));
        agree(xs.scanl1(|a, b| a.min(b)));
        agree(xs.scanr1(|a, b| a + b));
        agree(xs.fold_all(1, |a, b| a ^ b));
        // Affine maps: associative, not commutative.
        let aff = xs.map(|x| (x % 5 + 1, x));
        agree(aff.fold((2, 9), |(a, b), (c, d)| (a * c, a * d + b)));
        agree(aff.scanl((2, 9), |(a, b), (c, d)| (a * c, a * d + b)));
        agree(aff.scanr((2, 9), |(a, b), (c, d)| (a * c, a * d + b)));
        agree(aff.scanl1(|(a, b), (c, d)| (a * c, a * d + b)));
        agree(aff.scanr1(|(a, b), (c, d)| (a * c, a * d + b)));
        agree(xs.map(|x| x.lt(50)).and());
        agree(xs.map(|x| x.eq(3)).or());
        if n > 0 {
            agree(aff.fold1(|(a, b), (c, d)| (a * c, a * d + b)));
            agree(xs.maximum());
            agree(xs.fold1(|a, _| a));
            agree(xs.fold1(|_, b| b));
        } else {
            fault(xs.maximum());
        }
    }
    agree(generate((0, 3), |(i, j)| i + j).fold1(|a, b| a + b));
    agree(generate((2, 2, 3), |(i, j, k)| i + j + k).sum());
}

#[test]
fn what_is_read_elsewhere_is_not_written_to() {
    let sums = generate(300, |i| i.to::<f64>() * 0.5).scanl1(|a, b| a + b);
    let last = sums.index(255usize);
    agree(sums.map(|x| last - x));
    agree(sums.zip_with(sums.reverse(), |x, y| x - y));
}

/// So many elements that choices are arithmetic on bits, comparisons store numbers, and marks are looked for by words.
const ELEMENTS: usize = 70_001;

#[test]
fn choices_between_many_elements() {
    let at = |i: Exp<i64>| i.to::<f32>() * 0.75 - 3.0;
    // Either value is in memory that nobody needs any more, or neither is, or it is one number, or of another type.
    agree(generate(ELEMENTS, |i| {
        let x = at(i);
        (i % 3).eq(0).then_else(x + 0.5, x * 2.0)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = at(i);
        x.gt(7.0).then_else(x, x * 2.0)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = at(i);
        x.le(7.0).then_else(x * 2.0, x)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = at(i);
        let y = x * 2.0;
        (x.ne(7.0).then_else(y, x), y, x)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = at(i);
        (x.is_nan() | x.lt(100.0)).then_else(x + 1.0, 0.5)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = i * 3 - 70;
        x.ge(5).then_else(x + 1, x * x)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = i.to::<u32>() * 1_000_003;
        x.ge(5_000_000).then_else(x + 1, x * x)
    }));
    agree(generate((3, ELEMENTS), |(i, j)| {
        let x = at(j);
        i.eq(1).then_else(x + 1.0, x * 2.0)
    }));
    agree(generate(ELEMENTS, |i| {
        let x = i.to::<i32>() - 500;
        (x.max(-3).min(9), (x * 7).min(100).max(20))
    }));
    agree(generate(ELEMENTS, |i| {
        let n = at(i);
        let none = n.lt(0.0).then_else(n / 0.0 * 0.0, n);
        none.max(1.0).min(4.5).is_nan()
    }));
}

#[test]
fn scans_that_restart_among_many_elements() {
    for (every, n) in
        [(1i64, ELEMENTS), (2, ELEMENTS), (20, 65_536), (997, ELEMENTS), (40_000, ELEMENTS), (1_000_000, 65_543)]
    {
        let marked = generate(n, |i| ((i % every).eq(every - 1), i));
        agree(marked.scanl1(|(m, a), (k, b)| (m | k, k.then_else(b, a + b))).map(|(_, x)| x));
        agree(marked.scanl1(|(m, a), (k, b)| (m | k, k.then_else(b, a.max(b)))).map(|(_, x)| x));
    }
}

#[test]
fn permutes() {
    let xs = use_(&Vector::from([3i64, 1, 3, 0, 9, 1, 3]));
    agree(fill(xs.extent(), 1i64).permute(
        fill(5, 0),
        |a, b| a + b,
        |i| {
            let v = xs.index(i);
            v.lt(5).then_some(v)
        },
    ));
    agree(xs.permute(fill(3, 100), |a, b| a.max(b), |i| Some(i % 3)));
    agree(xs.permute(fill(3, 100), |new, _| new, |i| Some(i % 3)));
    agree(xs.permute(fill(3, 100), |_, old| old, |i| Some(i % 3)));
    agree(xs.permute(fill(3, 100), |a, b| a ^ b, |i| Some(i % 3)));
    agree(xs.permute(fill((3, 3), 10), |a, b| a + b, |i| i.lt(3).then_some((i, i))));
    let aff = xs.imap(|i, x| (x + 1, i));
    agree(aff.permute(fill(4, (1, 0)), |(a, b), (c, d)| (a * c, a * d + b), |i| i.ne(2).then_some(i % 4)));
    agree(use_(&Vector::from(Vec::<i64>::new())).permute(fill(2, 5), |a, b| a ^ b, Some));
    fault(xs.permute(fill(3, 100), |a, b| a + b, Some));
    agree(xs.scatter(&Vector::from([1i64, 3, 7, 2]), fill(10, 0)));
    agree(xs.gather(&Matrix::from([[0i64, 1], [6, 5]])));
}

#[test]
fn shapes() {
    let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
    agree(m.reshape((3, 2)));
    agree(m.slice((All, 1)));
    agree(m.slice((1, All)));
    agree(m.replicate((All, 2, All)));
    agree(m.replicate((0, All, All)));
    fault(m.reshape((4, 2)));
    fault(m.slice((2, All)));
    fault(m.slice((All, lift(0i64) - 1)));
    agree(m.backpermute((2, 2), |(i, j)| (i, j + 1)));
    fault(m.backpermute((2, 3), |(i, j)| (i, j + 1)));
    fault(fill(lift(2i64) - 5, 1));
    fault(m.slice((0, All)).replicate((lift(1i64) - 3, All)));
    // Elements without columns are checked too.
    fault(generate(3, |_| ()).backpermute(4, |i: Exp<i64>| i));
}

#[test]
fn stencils() {
    for n in [0usize, 1, 2, 3, 6] {
        let xs = generate(n, |i| i * i + 1);
        agree(xs.stencil(Edge::Clamp, |s: Stencil5<i64>| s[-2] * 1000 + s[-1] * 100 + s[0] * 10 + s[2]));
        agree(xs.stencil(Edge::Constant(-7), |s: Stencil3<i64>| s[-1] * 100 + s[1]));
        agree(xs.stencil(xs.outside(|i| i * 1000), |s: Stencil3<i64>| s[-1] * 7 + s[1]));
        if n == 0 || n > 2 {
            agree(xs.stencil(Edge::Mirror, |s: Stencil5<i64>| s[-2] * 1000 + s[-1] * 100 + s[0] * 10 + s[2]));
            agree(xs.stencil(Edge::Wrap, |s: Stencil5<i64>| s[-2] * 1000 + s[-1] * 100 + s[0] * 10 + s[2]));
        }
    }
    fault(fill(2, 1i64).stencil(Edge::Mirror, |s: Stencil5<i64>| s[0]));
    fault(fill(1, 1i64).stencil(Edge::Wrap, |s: Stencil5<i64>| s[0]));
    let m = generate((4, 5), |(i, j)| i * 10 + j);
    for edge in [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Constant(3), m.outside(|(i, j)| i * 1000 + j)] {
        agree(m.stencil(edge.clone(), |s: Stencil3x3<i64>| s[(-1, -1)] * 7 + s[(1, 1)] * 3 + s[(0, 1)]));
        agree(m.stencil(edge, |s: Stencil5x3<i64>| s[(-1, -2)] * 7 + s[(1, 2)] * 3));
    }
    let c = generate((3, 3, 3), |(i, j, k)| i * 9 + j * 3 + k);
    for edge in [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Constant(3)] {
        agree(c.stencil(edge, |s: Stencil3x3x3<i64>| s[(-1, 0, 1)] * 100 + s[(1, -1, 0)]));
    }
}

#[test]
fn control_flow() {
    let xs = use_(&Vector::from([10i32, 20, 30]));
    agree(generate(5, |i| i.lt(3).then_else(xs.index(i), 0)));
    agree(generate(5, |i| i.lt(3).and(xs.index(i).gt(15))));
    agree(generate(5, |i| {
        let v = xs.index(i);
        i.lt(3).then_else(v, 0) + i.lt(2).then_else(v * 2, 1)
    }));
    agree(generate(4, |i| i.gt(0).then_else(lift(12i64) / i, -1)));
    // Collatz: loops of different lengths.
    agree(generate(20, |i| {
        let (_, n) =
            while_((i + 1, 0i64), |(x, _)| x.ne(1), |(x, n)| ((x % 2).eq(0).then_else(x / 2, x * 3 + 1), n + 1));
        n
    }));
    // A counted loop over an array, in lanes.
    agree(generate(4, |i| {
        let (_, s) = while_((0i64, 0i32), |(k, _)| k.lt(3), |(k, s)| (k + 1, s + xs.index(k) * (i.to::<i32>() + 1)));
        s
    }));
    let (i, ys) = awhile(
        (unit(0i64), &xs),
        |(i, _)| i.the().lt(3),
        |(i, ys)| (i.map(|i| i + 1), ys.backpermute(ys.length() * 2, |k: Exp<i64>| k / 2)),
    );
    agree((i, ys));
    let small = acond(xs.sum().the().gt(100), &xs, xs.map(|x| -x));
    agree(small);
    let bad = xs.backpermute(10, |i: Exp<i64>| i);
    agree(acond(lift(false), &bad, &xs));
    fault(acond(lift(true), &bad, &xs));
}

#[test]
fn branches_not_taken() {
    let xs = use_(&Vector::from([1i64, 2, 3]));
    let empty = use_(&Vector::from(Vec::<i64>::new()));
    let out = xs.index(5);
    agree(xs.map(|x| x.gt(100).then_else(out, x)));
    agree(xs.map(|x| x.gt(100).then_else(empty.index(x), x)));
    agree(xs.map(|x| x.gt(100).then_else(x / (x - x), x)));
    let endless = while_(0i64, |i| i.ge(0), |i| i);
    agree(xs.map(|x| x.gt(100).then_else(endless, x)));
    agree(xs.map(|x| x.gt(100).then_else(while_(x, |i| i.eq(i), |i| i), x)));
    // An array that only such a branch reads.
    let faulty = empty.fold1(|a, b| a + b);
    agree(xs.map(|x| x.gt(100).then_else(faulty.the(), x)));
    let forever = awhile(&xs, |_| lift(true), |xs: Acc<Vector<i64>>| xs);
    agree(xs.map(|x| x.gt(100).then_else(forever.index(0), x)));
    agree(generate(0, |_| faulty.the()));
    fault(xs.map(|x| x.gt(2).then_else(faulty.the(), x)));
    fault(xs.map(|x| x.gt(2).then_else(x / (x - x), x)));
    fault(xs.map(|x| x.gt(1).then_else(out, x)));
    agree(xs.map(|x| (x + i64::MIN - 1) / (x - 2 - (x - 1).gt(0).then_else(5i64, 0))));
}

/// Lanes leave a loop with a fault at different times: the first in order is reported, not the first in time.
#[test]
fn arrays_that_no_lane_reads() {
    for shape in [(3usize, 4usize), (3, 0), (0, 3), (0, 0)] {
        let xs = generate(shape, |(i, j)| (i * 7 + j * 5) % 11);
        let top = xs.maximum();
        let last = xs.fold1(|_, b| b);
        let least = xs.imap(|(_, j), x| (x, j)).fold1(|a, b| a.0.le(b.0).then_else(a, b));
        agree(xs.imap(|(i, _), x| x - top.index(i)));
        agree(xs.imap(|(i, _), x| x - last.index(i)));
        agree(xs.imap(|(i, _), x| x - least.index(i).1));
        // Divisors that are 0 are there only with lanes, too, and so are positions.
        let rest = xs.map(|x| 100 / (x - 20));
        agree(xs.imap(|(i, j), x| x - rest.index((i, j)) - top.index(i)));
        let greatest = xs.flatten().maximum();
        agree(xs.map(|x| x - greatest.the()));
        if shape.1 == 0 && shape.0 > 0 {
            fault(generate(shape.0, |i| top.index(i) + 1));
            fault(top);
        }
    }
}

#[test]
fn the_first_lane_in_order_is_reported() {
    let xs = use_(&Vector::from([5i64, 4, 3, 2, 1]));
    fault(generate(4, |i| while_(lift(0i64), |k| k.lt(10), |k| k + xs.index(k + 5 - (i + 1)).min(1))));
    fault(generate(3, |i| while_(i, |k| k.lt(10), |k| k + xs.index(k).min(1))));
}

/// A product that is summed elsewhere, and elsewhere in its array, has its faults where it stands.
#[test]
fn products_have_their_faults_where_they_are() {
    let (a, w) = (floats(), use_(&Vector::from([1.0f32, 2.0, 3.0, 4.0, 5.0])));
    for (more, zero) in [(1i64, 0i64), (1, 1), (0, 0), (0, 1)] {
        let n = use_(&Vector::from([zero]));
        let (k, shift) = (w.length(), use_(&Vector::from([more])));
        let products = generate((k, k, k), |(i, j, k)| a.index(k + shift.index(0)) * w.index(i) + 0.0 * j.to::<f32>());
        let plain = generate((k, k, k), |(i, j, k)| a.index(k + shift.index(0)) * (w.index(i) + j.to::<f32>()));
        let quotients = n.map(|y| 1 / y);
        for p in [products, plain] {
            let permuted = p.backpermute((k, k, k), |(j, i, k)| (i, j, k));
            let both = (quotients.clone(), permuted.check(k.gt(4), "few").sum());
            match (more, zero) {
                (0, 1) => drop(agree(both)),
                _ => drop(fault(both)),
            }
        }
    }
}

#[test]
fn every_type() {
    macro_rules! ints {
        ($($t:ty),*) => { $({
            let values: Vec<$t> = vec![0, 1, 2, 3, 7, 100, <$t>::MAX, <$t>::MAX - 1, <$t>::MIN, <$t>::MIN.wrapping_add(1), <$t>::MAX / 2 + 1, (0 as $t).wrapping_sub(1)];
            let xs = use_(&Vector::from(values.clone()));
            let pairs = xs.replicate((12, All)).zip(&xs.replicate((All, 12)));
            agree(pairs.map(|(a, b)| (a + b, a - b, a * b, a.min(b), a.max(b))));
            agree(pairs.map(|(a, b)| (a & b, a | b, a ^ b, a << b, a >> b)));
            agree(pairs.map(|(a, b)| (a.lt(b), a.le(b), a.gt(b), a.ge(b), a.eq(b), a.ne(b))));
            agree(pairs.map(|(a, b)| b.eq(0).then_else((0, 0, 0, 0), (a / b, a % b, a.div_floor(b), a.mod_floor(b)))));
            agree(xs.map(|a| (-a, a.abs(), a.signum(), !a)));
            agree(xs.map(|a| (a.count_ones(), a.leading_zeros(), a.trailing_zeros())));
            agree(xs.map(|a| (a.to::<i8>(), a.to::<i16>(), a.to::<i32>(), a.to::<i64>())));
            agree(xs.map(|a| (a.to::<u8>(), a.to::<u16>(), a.to::<u32>(), a.to::<u64>())));
            agree(xs.map(|a| (a.to::<f32>(), a.to::<f64>())));
            agree((xs.sum(), xs.product(), xs.minimum(), xs.maximum()));
            agree((xs.scanl1(|a, b| a + b), xs.scanl1(|a, b| a * b), xs.scanr1(|a, b| a.min(b)), xs.scanl1(|a, b| a.max(b))));
            agree((xs.permute(fill(3, 1), |a, b| a + b, |i| Some(i % 3)), xs.permute(fill(3, 1), |a, b| a * b, |i| Some(i % 3)),
                xs.permute(fill(3, 1), |a, b| a.min(b), |i| Some(i % 3)), xs.permute(fill(3, 1), |a, b| a.max(b), |i| Some(i % 3))));
        })* };
    }
    ints!(i8, i16, i32, i64, u8, u16, u32, u64);
    macro_rules! floats {
        ($($t:ty, $bits:ty),*) => { $({
            let xs = use_(&Vector::from(vec![0.0 as $t, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e10, -1e10, 1e30, <$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::NAN, 255.7, 65536.0, -0.9]));
            agree(xs.map(|a| (a.to::<i8>(), a.to::<i16>(), a.to::<i32>(), a.to::<i64>())));
            agree(xs.map(|a| (a.to::<u8>(), a.to::<u16>(), a.to::<u32>(), a.to::<u64>())));
            agree(xs.map(|a| (a.floor(), a.ceil(), a.round(), a.trunc(), a.sqrt().is_nan(), a.is_infinite())));
            agree(xs.map(|a| (bitcast::<$t, $bits>(a.signum().is_nan().then_else(0.0, a.signum())), bitcast::<$t, $bits>(a.abs()).count_ones())));
            agree(xs.map(|a| (a.lt(1.0), a.ge(1.0), a.eq(a), a.ne(a))));
        })* };
    }
    floats!(f32, u32, f64, u64);
    let bs = use_(&Vector::from([true, false, true]));
    agree(bs.map(|b| (b & true, b | false, !b, b.to_num::<i32>(), b.lt(true), b.min(true))));
    let cs = use_(&Vector::from(['a', 'λ', '\u{10ffff}']));
    agree(cs.map(|c| (c.ord(), (c.ord() + 1).chr(), c.gt('b'))));
    agree(use_(&Vector::from([0xd800u32, 0x11_0000, 97])).map(|c| c.chr()));
}

#[test]
fn nothing_is_compiled_again_for_other_data_and_extents() {
    let torch = Libtorch::cpu();
    for n in 0..5usize {
        let xs: Vector<f32> = (0..n).map(|i| i as f32).collect();
        let dot = use_(&xs).zip_with(&xs, |x, y| x * y).sum();
        assert_eq!(torch.run(dot).unwrap().value(), (0..n).map(|i| (i * i) as f32).sum::<f32>());
    }
    assert_eq!(torch.cache().compiled(), 1);
}

#[test]
fn limits_stop_an_endless_loop() {
    let limits = RunLimits::none().deadline(std::time::Instant::now() + std::time::Duration::from_millis(50));
    let xs = use_(&Vector::from([1i64, 2]));
    let endless = xs.map(|x| while_(x, |i| i.eq(i), |i| i));
    assert!(matches!(Libtorch::cpu().run_with(endless, &limits), Err(Error::Limit(_))));
}

/// libtorch's functions are near the correctly rounded ones: within 8 units in the last place of f64.
#[test]
fn functions_of_floats() {
    macro_rules! each {
        ($(($f:ident, $from:expr, $to:expr)),*) => { $({
            let at = |i: i64| $from + ($to - $from) * i as f64 / 1000.0;
            let ys = Libtorch::cpu().run(generate(1001usize, |i| ($from + ($to - $from) * i.to::<f64>() / 1000.0).$f())).unwrap();
            for (i, y) in ys.iter().enumerate() {
                approx::assert_ulps_eq!(y, at(i as i64).$f(), max_ulps = 8, epsilon = 1e-16);
            }
        })* };
    }
    each!(
        (exp, -20.0, 20.0),
        (ln, 0.01, 100.0),
        (log2, 0.01, 100.0),
        (log10, 0.01, 100.0),
        (sin, -10.0, 10.0),
        (cos, -10.0, 10.0),
        (tan, -1.4, 1.4),
        (asin, -1.0, 1.0),
        (acos, -1.0, 1.0),
        (atan, -10.0, 10.0),
        (sinh, -5.0, 5.0),
        (cosh, -5.0, 5.0),
        (tanh, -5.0, 5.0),
        (sqrt, 0.0, 50.0)
    );
}

#[test]
fn softmax_of_rows_and_columns() {
    macro_rules! near {
        ($program:expr) => {{
            let program = $program;
            let (want, got) = (Interpreter::new().run(&program).unwrap(), Libtorch::cpu().run(&program).unwrap());
            assert_eq!(got.shape(), want.shape());
            for (x, y) in got.iter().zip(want.iter()) {
                assert!(x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() < 1e-5, "{x}, not {y}");
            }
        }};
    }
    macro_rules! of {
        ($ty:ty, $shape:expr) => {{
            let bad = |x: Exp<i64>, at: i64, special: $ty| x.eq(at).then_else(special, (x % 23).to::<$ty>() / 4.0);
            let (nan, infinite) = (<$ty>::NAN, <$ty>::INFINITY);
            for special in [0.0, nan, infinite, -infinite] {
                let m = generate($shape, |(i, j)| bad(i * 1031 + j * 7, 7, special)).compute();
                let softmax = |m: &Acc<Matrix<$ty>>| {
                    let top = m.maximum();
                    let e = m.imap(|(i, _), x| (x - top.index(i)).exp());
                    let sums = e.sum();
                    e.imap(|(i, _), x| x / sums.index(i))
                };
                let log = |m: &Acc<Matrix<$ty>>| {
                    let top = m.maximum();
                    let sums = m.imap(|(i, _), x| (x - top.index(i)).exp()).sum();
                    m.imap(|(i, _), x| x - (top.index(i) + sums.index(i).ln()))
                };
                near!(softmax(&m));
                near!(softmax(&m.transpose()).transpose());
                near!(log(&m));
                near!(log(&m.transpose()));
                // Without the greatest taken away it is something else where powers overflow.
                let e = m.map(|x| (x * 40.0).exp());
                let sums = e.sum();
                near!(e.imap(|(i, _), x| x / sums.index(i)));
            }
        }};
    }
    for shape in [(3usize, 5usize), (5, 40), (40, 5), (2, 300), (300, 2), (0, 4), (4, 0), (1, 1)] {
        of!(f32, shape);
        of!(f64, shape);
    }
}

#[test]
fn columns_of_long_matrices() {
    // More than 8 MB, or rows so short that less is enough; with and without rows that no block has.
    for (rows, columns) in [(1040usize, 1031usize), (20_000, 7), (20_013, 7)] {
        let m = generate((rows, columns), |(i, j)| (i * 31 + j * 17) % 1000);
        let columns = m.transpose();
        agree(columns.sum());
        agree(columns.maximum());
        agree(columns.map(|x| x.to::<u32>()).minimum());
        agree(columns.map(|x| x.ne(999)).fold(true, |a, b| a & b));
        agree(columns.map(|x| x % 2 + 1).product());
    }
}

#[test]
fn remainders_by_the_extent() {
    for n in [0usize, 1, 2, 3, 10] {
        let xs = enum_from(n, 5i64).compute();
        let n = xs.length();
        for k in [-13i64, -3, -1, 0, 1, 2, 7, 20] {
            agree(generate(n, |i| xs.index((i + k).mod_floor(n))));
            agree(generate(n, |i| xs.index((i + n + k.max(-1)).rem(n)) - i));
            agree(xs.imap(|i, x| x.gt(6).then_else(xs.index((i + k).mod_floor(n)), x)));
        }
    }
    let m = generate((3, 4), |(i, j)| i * 10 + j).compute();
    let (rows, columns) = m.shape();
    agree(m.imap(|(i, j), _| m.index(((i + 1).mod_floor(rows), (j - 1).mod_floor(columns)))));
    agree(generate((columns, rows), |(j, i)| m.index(((i + 2).rem(rows), (j + columns - 1).rem(columns)))));
    fault(generate(columns, |j| m.index((j.mod_floor(columns), j))));
}

#[test]
fn several_borders() {
    for n in [0usize, 1, 2, 5, 10] {
        let xs = enum_from(n, 5i64).compute();
        let n = xs.length();
        for (low, high) in [(3i64, 2i64), (0, 0), (-1, 4), (8, -2), (0, 30)] {
            // The ends may lie beyond the array, or meet.
            let inside = |i: Exp<i64>| i.ge(low).and(i.lt(n + low));
            agree(generate(n + (low + high), |i| inside(i).then_else(xs.index(i - low), -1)));
            agree(generate(n + (low + high), |i| i.lt(low).or(i.ge(n + low)).then_else(i * 7, xs.index(i - low))));
            agree(generate(n + (low + high), |i| (!inside(i)).then_else(i, xs.index(i - low))));
            agree(xs.imap(|i, x| i.gt(low).and(i.le(high)).then_else(x - xs.index(n - 1 - i), x)));
            agree(xs.imap(|i, x| (lift(low).lt(i)).and(lift(high).ge(i)).then_else(x - xs.index(n - 1 - i), x)));
        }
        // What is read out of bounds all the same.
        fault(generate(n + 3, |i| i.ge(1).and(i.lt(n + 2)).then_else(xs.index(i - 1), 0)));
    }
    let m = generate((3, 4), |(i, j)| i * 10 + j).compute();
    let (rows, columns) = m.shape();
    agree(generate((rows + 3, columns + 2), |(i, j)| {
        let inside = i.ge(1).and(i.le(rows)).and(j.ge(2).and(j.lt(columns + 2)));
        inside.then_else(m.index((i - 1, j - 2)), -1)
    }));
    agree(generate((rows, columns, columns), |(i, j, k)| {
        let outside = i.gt(1).or(j.le(0)).or(k.ge(3)).or(k.lt(1));
        outside.then_else(i * j, m.index((i + 1, j - 1)) + k)
    }));
}

#[test]
fn positions_of_narrow_types() {
    macro_rules! positions {
        ($($ty:ident),*) => {$({
            let at = use_(&Vector::from([4 as $ty, 0, 3, 3, 1]));
            let wide = || at.map(|i| i.to::<i64>());
            let table = generate(5, |i| i * i);
            agree(wide().map(|i| table.index(i)));
            agree(table.gather(wide()));
            agree(generate((3, 5), |(i, j)| i * 10 + j).backpermute((3, 5), |(i, j)| (i, at.index(j).to::<i64>())));
            agree(fill(5, 1u32).permute(fill(6, 0u32), |a, b| a + b, |i| Some(at.index(i).to::<i64>())));
            agree(floats().permute(fill(6, 0.5f32), |a, b| a + b, |i| Some(at.index(i).to::<i64>())));
            agree(floats().permute(fill(6, 0.5f32), |a, b| a.max(b), |i| Some(at.index(i).to::<i64>())));
            agree(at.map(|i| (table.index(i.to::<i64>()), i.to::<i64>() + 1)));
            let none = use_(&Vector::<$ty>::from(vec![]));
            agree(none.map(|i| table.index(i.to::<i64>())));
            for bad in [5 as $ty, <$ty>::MAX, <$ty>::MIN.wrapping_sub(1), (0 as $ty).wrapping_sub(1)] {
                let at = use_(&Vector::from([0, bad]));
                fault(at.map(|i| table.index(i.to::<i64>())));
                fault(fill(2, 1u32).permute(fill(5, 0u32), |a, b| a + b, |i| Some(at.index(i).to::<i64>())));
            }
            // The greatest number of bytes is a position.
            let table = generate(255, |i| i + 1);
            let last = use_(&Vector::from([(<$ty>::MAX as u64).min(254) as $ty]));
            agree(last.map(|i| table.index(i.to::<i64>())));
        })*};
    }
    positions!(i8, i16, i32, i64, u8, u16, u32, u64);
}

#[test]
fn comparisons_and_choices_of_many_elements() {
    // Sizes at which they go other ways than among few elements.
    for n in [1 << 16, 200_003] {
        let floats = generate(n, |i| (i * 7919 % 10_007).to::<f32>());
        agree(floats.map(|x| x.gt(5000.0).then_else(x * 2.0, x + 1.0)));
        agree(floats.map(|x| x.lt(100.0).then_else(0.0f32, x)));
        agree(floats.zip_with(floats.reverse(), |x, y| (x.ge(y), x.to::<f64>().eq(y.to::<f64>()))));
        let numbers = generate(n, |i| i * 7919 % 10_007);
        agree(numbers.map(|x| (x.le(77).then_else(x * 3, -x), x.to::<u64>().lt(5u64), x.to::<u32>().ne(5u32))));
        agree(numbers.map(|x| x.lt(100).then_else(x.to::<f64>() / 3.0, f64::NAN).is_nan()));
    }
    // Operands whose elements are in another order.
    let m = generate((300, 400), |(i, j)| i * 7919 % 1009 + j);
    agree(m.transpose().map(|x| x.gt(500).then_else(x, 0i64)));
    agree(m.transpose().zip_with(generate((400, 300), |(i, j)| i - j), |x, y| x.gt(y).then_else(x, y)));
}

#[test]
fn long_rows_of_integers_sort_whatever_their_range() {
    // Of 16 bits, of 32, and of more, on either side of 0.
    for scale in [1i64, 1 << 14, 1 << 40] {
        let xs = generate(40_000, |i: Exp<i64>| ((i + 7) * 1_103_515_245 % 30_011 - 15_000) * scale);
        agree(xs.sort());
        agree(xs.argsort());
        agree(xs.map(|x| x.to::<u64>()).sort());
    }
}
