//! The number of kernels and of stored intermediate arrays per program: exact, and equal for variants whose code is
//! renamed, uses other tuples, or is split into functions. A kernel is one launch over one index space, with the
//! combination of its partial results.

use acc_core::prelude::*;
use backend_native::Native;

type V = Vector<f32>;
type M = Matrix<f32>;

/// Kernels and intermediate arrays.
fn counts<Args, Out: Arrays, F: AccFn<Args, Out>>(f: F) -> (usize, usize, String) {
    let compiled = Native::new().compile(f).unwrap();
    let e = compiled.prepared().explain();
    (
        e.kernels.len(),
        e.intermediates.len(),
        format!("{}{e}{}", acc_desugar::simplify(compiled.program()), e.kernel_ir()),
    )
}

macro_rules! structure {
    ($($name:ident: $kernels:literal kernels, $arrays:literal arrays; $program:expr; $variant:expr;)*) => { $(
        #[test]
        fn $name() {
            let (kernels, arrays, text) = counts($program);
            assert_eq!((kernels, arrays), ($kernels, $arrays), "{text}");
            let (kernels, arrays, text) = counts($variant);
            assert_eq!((kernels, arrays), ($kernels, $arrays), "the variant: {text}");
        }
    )* };
}

fn square(x: Exp<f32>) -> Exp<f32> {
    x * x
}

fn double(xs: &Acc<V>) -> Acc<V> {
    xs.map(|x| x + x)
}

fn products(xs: &Acc<V>, ys: &Acc<V>) -> Acc<V> {
    xs.zip_with(ys, |x, y| x * y)
}

fn total(xs: &Acc<V>) -> Acc<Scalar<f32>> {
    xs.fold(0.0, |a, b| a + b)
}

/// The cumulative normal distribution: Abramowitz and Stegun, 26.2.17.
fn normal(x: Exp<f32>) -> Exp<f32> {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let coefficients = [1.330_274_4f32, -1.821_256, 1.781_478, -0.356_563_8, 0.319_381_5];
    let poly = coefficients.iter().fold(constant(0.0f32), |p, c| (p + *c) * k);
    let tail = (-0.5f32 * x * x).exp() * 0.398_942_3 * poly;
    x.gt(0.0).then_else(1.0f32 - tail, tail)
}

fn call_and_put(price: Exp<f32>, strike: Exp<f32>, years: Exp<f32>) -> (Exp<f32>, Exp<f32>) {
    let d1 = ((price / strike).ln() + years * 0.065) / (years.sqrt() * 0.3);
    let d2 = d1 - years.sqrt() * 0.3;
    let discounted = strike * (years * -0.02).exp();
    let call = price * normal(d1) - discounted * normal(d2);
    (call, call + discounted - price)
}

type Body4 = (f32, f32, f32, f32);

fn pull(
    at: (Exp<f32>, Exp<f32>, Exp<f32>),
    other: (Exp<f32>, Exp<f32>, Exp<f32>, Exp<f32>),
) -> (Exp<f32>, Exp<f32>, Exp<f32>) {
    let (x, y, z) = (other.0 - at.0, other.1 - at.1, other.2 - at.2);
    let d = x * x + y * y + z * z + 0.01;
    let f = other.3 / (d * d.sqrt());
    (x * f, y * f, z * f)
}

fn plus(a: (Exp<f32>, Exp<f32>, Exp<f32>), b: (Exp<f32>, Exp<f32>, Exp<f32>)) -> (Exp<f32>, Exp<f32>, Exp<f32>) {
    (a.0 + b.0, a.1 + b.1, a.2 + b.2)
}

fn gradient_x(s: Stencil3x3<f32>) -> Exp<f32> {
    s[(-1, 1)] - s[(-1, -1)] + 2.0 * (s[(0, 1)] - s[(0, -1)]) + s[(1, 1)] - s[(1, -1)]
}

fn gradient_y(s: Stencil3x3<f32>) -> Exp<f32> {
    s[(1, -1)] - s[(-1, -1)] + 2.0 * (s[(1, 0)] - s[(-1, 0)]) + s[(1, 1)] - s[(-1, 1)]
}

type Segment = (Exp<f32>, Exp<f32>, Exp<f32>, Exp<f32>);

/// Best sum, best prefix, best suffix, whole sum.
fn join(a: Segment, b: Segment) -> Segment {
    (a.0.max(b.0).max(a.2 + b.1), a.1.max(a.3 + b.1), b.2.max(b.3 + a.2), a.3 + b.3)
}

fn nearest(x: Exp<f32>, y: Exp<f32>, centres: &Acc<Vector<(f32, f32)>>) -> Exp<i64> {
    let step = |(i, best, least): (Exp<i64>, Exp<i64>, Exp<f32>)| {
        let (cx, cy) = centres.index(i);
        let d = square(x - cx) + square(y - cy);
        (i + 1, d.lt(least).then_else(i, best), d.lt(least).then_else(d, least))
    };
    while_((0i64, 0i64, f32::MAX), |(i, _, _)| i.lt(centres.length()), step).1
}

structure! {
    // Folds of folds.
    a_convolution: 1 kernels, 0 arrays;
        |xs: Acc<M>, w: Acc<M>| {
            let (h, n) = (xs.shape(), w.shape());
            generate((h.0 - n.0, h.1 - n.1, n.0, n.1), |(i, j, k, l)| xs.index((i + k, j + l)) * w.index((k, l)))
                .fold(0.0, |a, b| a + b)
                .fold(0.0, |a, b| a + b)
                .map(|x| x.max(0.0))
        };
        |xs: Acc<M>, w: Acc<M>| {
            let (h, n) = (xs.shape(), w.shape());
            let read = |k: Exp<i64>, l: Exp<i64>, i: Exp<i64>, j: Exp<i64>| w.index((k, l)) * xs.index((k + i, l + j));
            let products = generate((h.0 - n.0, h.1 - n.1, n.0, n.1), |(i, j, k, l)| read(k, l, i, j));
            let rows = products.fold(0.0, |p, q| q + p);
            rows.fold(0.0, |p, q| q + p).map(|s| constant(0.0f32).max(s))
        };
    sums_along_memory_and_across: 2 kernels, 1 arrays;
        |xs: Acc<Array<DIM3, f32>>| xs.fold(0.0, |a, b| a + b).fold(0.0, |a, b| a + b);
        |xs: Acc<Array<DIM3, f32>>| { let rows = xs.fold(0.0, |p, q| q + p); rows.fold(0.0, |p, q| q + p) };
    folds_that_begin_with_something: 2 kernels, 1 arrays;
        |xs: Acc<M>| generate((8, 9, 10), |(i, j, k)| xs.index((j + k, i))).fold(1.0, |a, b| a + b).fold(1.0, |a, b| a + b);
        |xs: Acc<M>| { let t = generate((8, 9, 10), |(i, j, k)| xs.index((k + j, i))); t.fold(1.0, |p, q| p + q).fold(1.0, |p, q| q + p) };
    // Elementwise chains.
    saxpy: 1 kernels, 0 arrays;
        |a: Acc<Scalar<f32>>, xs: Acc<V>, ys: Acc<V>| xs.zip_with(&ys, |x, y| x * &a + y);
        |a: Acc<Scalar<f32>>, xs: Acc<V>, ys: Acc<V>| { let scaled = xs.map(|x| a.the() * x); scaled.zip(&ys).map(|(p, q)| p + q) };
    maps_of_maps: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(|x| x + 1.0).map(|x| x.exp()).map(|x| x * 2.0);
        |xs: Acc<V>| { let a = xs.map(|v| v + 1.0); let b = a.map(|w| w.exp()); b.map(|u| u * 2.0) };
    black_scholes: 1 kernels, 0 arrays;
        |p: Acc<V>, s: Acc<V>, t: Acc<V>| p.zip3(&s, &t).map(|(p, s, t)| call_and_put(p, s, t));
        |p: Acc<V>, s: Acc<V>, t: Acc<V>| { let (calls, puts) = p.zip_with3(&s, &t, call_and_put).unzip(); (calls, puts) };
    a_value_used_twice: 1 kernels, 0 arrays;
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); e.zip_with(e.map(|x| x + 1.0), |a, b| a / b) };
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); let above = e.map(|x| x + 1.0); e.zip(&above).map(|(a, b)| a / b) };
    two_results: 1 kernels, 0 arrays;
        |xs: Acc<V>| (xs.map(|x| x.sin()), xs.map(|x| x.cos()));
        |xs: Acc<V>| { let both = xs.map(|x| (x.sin(), x.cos())); both.unzip() };
    a_result_used_by_a_result: 1 kernels, 0 arrays;
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); let d = double(&e); (e, d) };
        |xs: Acc<V>| { let first = xs.map(|v| v.exp()); let second = first.map(|v| v + v); (first, second) };
    generated: 1 kernels, 0 arrays;
        |n: Acc<Scalar<i64>>| generate(n.the(), |i: Exp<i64>| i.to::<f32>()).map(square);
        |n: Acc<Scalar<i64>>| { let iota = generate(n.the(), |i: Exp<i64>| i); iota.map(|i| square(i.to::<f32>())) };
    conditionals: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(|x| x.gt(0.0).then_else(x.sqrt(), -x)).map(|x| x + 1.0);
        |xs: Acc<V>| { let positive = xs.map(|x| (x.gt(0.0), x)); positive.map(|(p, x)| p.then_else(x.sqrt(), -x) + 1.0) };
    mandelbrot: 1 kernels, 0 arrays;
        |n: Acc<Scalar<i64>>| generate((n.the(), n.the()), |(j, i)| {
            let (x, y) = (i.to::<f32>(), j.to::<f32>());
            while_((x, y, 0i32), |(a, b, k)| (a * a + b * b).lt(4.0) & k.lt(256), |(a, b, k)| (a * a - b * b + x, a * b * 2.0 + y, k + 1)).2
        });
        |n: Acc<Scalar<i64>>| {
            let points = generate((n.the(), n.the()), |(j, i)| (i.to::<f32>(), j.to::<f32>()));
            points.map(|(x, y)| while_((0i32, x, y), |(k, a, b)| (a * a + b * b).lt(4.0) & k.lt(256), |(k, a, b)| (k + 1, a * a - b * b + x, a * b * 2.0 + y)).0)
        };
    // Index transformations.
    reversed: 1 kernels, 0 arrays;
        |xs: Acc<V>| double(&xs).reverse();
        |xs: Acc<V>| { let r = xs.reverse(); r.map(|x| x + x) };
    transposed: 1 kernels, 0 arrays;
        |m: Acc<M>| m.map(|x| x.exp()).transpose();
        |m: Acc<M>| m.transpose().map(|v| v.exp());
    part_of_a_vector: 1 kernels, 0 arrays;
        |xs: Acc<V>| double(&xs).take(10).drop(2);
        |xs: Acc<V>| { let start = xs.take(10); let middle = start.drop(2); double(&middle) };
    gathered: 1 kernels, 0 arrays;
        |xs: Acc<V>, at: Acc<Vector<i64>>| double(&xs).gather(&at);
        |xs: Acc<V>, at: Acc<Vector<i64>>| { let read = xs.gather(&at); read.map(|x| x + x) };
    a_row: 1 kernels, 0 arrays;
        |m: Acc<M>| m.map(|x| x.exp()).slice((3, All));
        |m: Acc<M>| { let row = m.slice((3, All)); row.map(|x| x.exp()) };
    outer_product: 1 kernels, 0 arrays;
        |xs: Acc<V>, ys: Acc<V>| xs.replicate((All, ys.length())).zip_with(ys.replicate((xs.length(), All)), |x, y| x * y);
        |xs: Acc<V>, ys: Acc<V>| generate((xs.length(), ys.length()), |(i, j)| xs.index(i) * ys.index(j));
    read_by_index: 1 kernels, 0 arrays;
        |xs: Acc<V>, n: Acc<Scalar<i64>>| { let d = double(&xs); generate(n.the(), |i: Exp<i64>| d.index(i / 2)) };
        |xs: Acc<V>, n: Acc<Scalar<i64>>| generate(n.the(), |i: Exp<i64>| { let x = xs.index(i / 2); x + x });
    // Folds.
    dot_product: 1 kernels, 0 arrays;
        |xs: Acc<V>, ys: Acc<V>| xs.zip_with(&ys, |x, y| x * y).sum();
        |xs: Acc<V>, ys: Acc<V>| total(&products(&xs, &ys));
    norm: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(square).sum().map(|s| s.sqrt());
        |xs: Acc<V>| { let squares = products(&xs, &xs); let s = total(&squares); s.map(|t| t.sqrt()) };
    root_mean_square: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(|x| x * x).sum().map(|s| (s / xs.length().to::<f32>()).sqrt());
        |xs: Acc<V>| { let n = unit(xs.length().to::<f32>()); total(&xs.map(square)).zip_with(&n, |s, n| s / n).map(|q| q.sqrt()) };
    two_folds: 1 kernels, 0 arrays;
        |xs: Acc<V>| (xs.sum(), xs.maximum());
        |xs: Acc<V>| { let (a, b) = (total(&xs), xs.fold1(|a, b| a.max(b))); (a, b) };
    two_folds_of_one_producer: 1 kernels, 0 arrays;
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); (e.sum(), e.maximum()) };
        |xs: Acc<V>| { let powers = xs.map(|t| t.exp()); let greatest = powers.maximum(); (total(&powers), greatest) };
    mean_and_variance: 1 kernels, 0 arrays;
        |xs: Acc<V>| {
            let n = xs.length().to::<f32>();
            xs.sum().zip_with(xs.map(square).sum(), |s, q| (s / n, q / n - square(s / n)))
        };
        |xs: Acc<V>| {
            let sums = total(&xs).zip(total(&products(&xs, &xs)));
            let n = xs.length().to::<f32>();
            sums.map(|(s, q)| (s / n, q / n - square(s / n)))
        };
    kept_and_folded: 1 kernels, 0 arrays;
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); (e.sum(), e) };
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); let s = total(&e); (s, e) };
    row_sums: 1 kernels, 0 arrays;
        |m: Acc<M>| m.map(square).sum();
        |m: Acc<M>| { let squares = m.zip_with(&m, |a, b| a * b); squares.fold(0.0, |a, b| a + b) };
    column_sums: 1 kernels, 0 arrays;
        |m: Acc<M>| m.transpose().sum();
        |m: Acc<M>| { let columns = m.transpose(); columns.fold(0.0, |p, q| p + q) };
    max_segment_sum: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(|x| { let b = x.max(0.0); (b, b, b, x) }).fold((0.0, 0.0, 0.0, 0.0), join).map(|(best, _, _, _)| best);
        |xs: Acc<V>| {
            let zero = |x: Exp<f32>| x.max(0.0);
            let starts = xs.map(zero);
            let segments = starts.zip(&xs).map(|(b, x)| (b, b, b, x));
            segments.fold((0.0, 0.0, 0.0, 0.0), join).map(|s| s.0)
        };
    position_of_the_least: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(square).arg_min();
        |xs: Acc<V>| products(&xs, &xs).arg_min();
    n_body: 1 kernels, 0 arrays;
        |bodies: Acc<Vector<Body4>>| {
            let n = bodies.length();
            let (here, there) = (bodies.replicate((All, n)), bodies.replicate((n, All)));
            here.zip_with(&there, |(x, y, z, _), other| pull((x, y, z), other)).fold((0.0, 0.0, 0.0), plus)
        };
        |bodies: Acc<Vector<Body4>>| {
            let n = bodies.length();
            let at = bodies.map(|(x, y, z, _)| (x, y, z));
            let pulls = at.replicate((All, n)).zip(bodies.replicate((n, All))).map(|(a, b)| pull(a, b));
            pulls.fold((0.0, 0.0, 0.0), plus)
        };
    matrix_times_vector: 1 kernels, 0 arrays;
        |m: Acc<M>, v: Acc<V>| m.zip_with(v.replicate((m.shape().0, All)), |a, x| a * x).sum();
        |m: Acc<M>, v: Acc<V>| { let rows = v.replicate((m.shape().0, All)); m.zip(&rows).map(|(a, x)| a * x).fold(0.0, |p, q| p + q) };
    // Cannot be fused.
    normalised: 2 kernels, 1 arrays;
        |xs: Acc<V>| { let s = xs.sum(); xs.map(|x| x / s.the()) };
        |xs: Acc<V>| { let s = total(&xs); xs.map(|x| x / &s) };
    softmax: 2 kernels, 2 arrays;
        |xs: Acc<V>| { let e = xs.map(|x| x.exp()); let s = e.sum(); e.map(|x| x / s.the()) };
        |xs: Acc<V>| { let e = xs.map(|v| v.exp()); let s = total(&e); e.map(|v| v / &s) };
    dear_before_copies: 2 kernels, 1 arrays;
        |xs: Acc<V>, n: Acc<Scalar<i64>>| xs.map(|x| x.exp()).replicate((n.the(), All));
        |xs: Acc<V>, n: Acc<Scalar<i64>>| { let e = xs.map(|x| x.exp()); generate((n.the(), e.length()), |(_, i)| e.index(i) + 0.0).map(|x| x * 1.0) };
    barrier: 2 kernels, 1 arrays;
        |xs: Acc<V>| double(&xs).compute().map(square);
        |xs: Acc<V>| { let d = xs.map(|x| x + x); let stored = d.compute(); stored.map(|x| x * x) };
    // Stencils.
    sobel: 1 kernels, 0 arrays;
        |image: Acc<M>| image.stencil(Edge::Clamp, gradient_x).zip_with(image.stencil(Edge::Clamp, gradient_y), |x, y| (x * x + y * y).sqrt());
        |image: Acc<M>| {
            let (across, down) = (image.stencil(Edge::Clamp, gradient_x), image.stencil(Edge::Clamp, gradient_y));
            across.zip(&down).map(|(x, y)| (square(x) + square(y)).sqrt())
        };
    a_cheap_map_before_a_stencil: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(|x| x * 0.5).stencil(Edge::Wrap, |s: Stencil3<f32>| s[-1] + s[0] + s[1]);
        |xs: Acc<V>| { let halves = xs.map(|v| 0.5 * v); halves.stencil(Edge::Wrap, |w: Stencil3<f32>| w[-1] + w[0] + w[1]) };
    a_dear_map_before_a_stencil: 2 kernels, 1 arrays;
        |xs: Acc<V>| xs.map(|x| x.exp()).stencil(Edge::Wrap, |s: Stencil3<f32>| s[-1] + s[0] + s[1]);
        |xs: Acc<V>| { let powers = xs.map(|v| v.exp()); powers.stencil(Edge::Wrap, |w: Stencil3<f32>| w[-1] + w[0] + w[1]) };
    two_blurs: 2 kernels, 1 arrays;
        |image: Acc<M>| {
            let blur = |m: &Acc<M>| m.stencil(Edge::Clamp, |s: Stencil3x3<f32>| s[(0, 0)] + s[(0, 1)] + s[(1, 0)]);
            blur(&blur(&image))
        };
        |image: Acc<M>| {
            let once = image.stencil(Edge::Clamp, |s: Stencil3x3<f32>| s[(0, 0)] + s[(0, 1)] + s[(1, 0)]);
            once.stencil(Edge::Clamp, |t: Stencil3x3<f32>| t[(0, 0)] + t[(0, 1)] + t[(1, 0)])
        };
    heat: 1 kernels, 0 arrays;
        |t: Acc<M>| t.stencil(Edge::Constant(0.0), |s: Stencil3x3<f32>| s[(0, 0)] + 0.1 * (s[(0, 1)] + s[(0, -1)] - 2.0 * s[(0, 0)])).map(|x| x * 0.99);
        |t: Acc<M>| { let next = t.stencil(Edge::Constant(0.0), |s: Stencil3x3<f32>| { let c = s[(0, 0)]; c + 0.1 * (s[(0, 1)] + s[(0, -1)] - 2.0 * c) }); next.map(|x| 0.99 * x) };
    // Scans.
    running_sum: 1 kernels, 0 arrays;
        |xs: Acc<V>| double(&xs).scanl1(|a, b| a + b);
        |xs: Acc<V>| { let d = xs.map(|v| v + v); d.scanl1(|p, q| p + q) };
    a_map_after_a_scan: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.scanl1(|a, b| a + b).map(|x| x * 0.5);
        |xs: Acc<V>| { let sums = xs.scanl1(|a, b| a + b); sums.map(|v| 0.5 * v) };
    a_segmented_scan: 1 kernels, 0 arrays;
        |heads: Acc<Vector<bool>>, xs: Acc<V>| {
            heads.zip(&xs).scanl1(|(f, a), (g, b)| (f | g, g.then_else(b, a + b))).map(|(_, x)| x)
        };
        |heads: Acc<Vector<bool>>, xs: Acc<V>| {
            let marked = xs.zip(&heads);
            let scanned = marked.scanl1(|(a, f), (b, g)| (g.then_else(b, a + b), f | g));
            scanned.map(|(x, _)| x)
        };
    // Lengths, offsets with their checks, products with their sums; the offsets, and what the checks read, are stored.
    a_sparse_product: 5 kernels, 4 arrays;
        |lengths: Acc<Vector<i64>>, columns: Acc<Vector<i64>>, values: Acc<V>, x: Acc<V>| {
            x.gather(&columns).zip_with(&values, |x, v| x * v).fold_seg(&lengths, 0.0, |a, b| a + b)
        };
        |lengths: Acc<Vector<i64>>, columns: Acc<Vector<i64>>, values: Acc<V>, x: Acc<V>| {
            let products = columns.zip_with(&values, |c, v| v * x.index(c));
            products.map(|p| p).fold_seg(&lengths, 0.0, |p, q| q + p)
        };
    two_scans: 1 kernels, 0 arrays;
        |xs: Acc<V>| (xs.scanl1(|a, b| a + b), xs.scanl1(|a, b| a.max(b)));
        |xs: Acc<V>| { let sums = xs.scanl1(|a, b| a + b); let greatest = xs.scanl1(|a, b| a.max(b)); (sums, greatest) };
    from_both_ends: 2 kernels, 0 arrays;
        |xs: Acc<V>| (xs.scanl1(|a, b| a + b), xs.scanr1(|a, b| a + b));
        |xs: Acc<V>| { let right = xs.scanr1(|a, b| a + b); (xs.scanl1(|a, b| a + b), right) };
    // Permutes.
    histogram: 1 kernels, 0 arrays;
        |at: Acc<Vector<i64>>| fill(at.length(), 1i32).permute::<DIM1, _, _>(fill(256, 0i32), |a, b| a + b, |i| Some(at.index(i)));
        |at: Acc<Vector<i64>>| { let (ones, none) = (at.map(|_| 1i32), fill(256, 0i32)); ones.permute::<DIM1, _, _>(none, |new, old| new + old, |k| Some(at.index(k))) };
    averaged_histogram: 1 kernels, 0 arrays;
        |at: Acc<Vector<i64>>, xs: Acc<V>| {
            let sums = xs.map(|x| (x, 1.0f32)).permute::<DIM1, _, _>(fill(16, (0.0f32, 0.0f32)), |(a, m), (b, n)| (a + b, m + n), |i| Some(at.index(i)));
            sums.map(|(s, n)| s / n)
        };
        |at: Acc<Vector<i64>>, xs: Acc<V>| {
            let sums = xs.map(|x| (1.0f32, x)).permute::<DIM1, _, _>(fill(16, (0.0f32, 0.0f32)), |(m, a), (n, b)| (m + n, a + b), |i| Some(at.index(i)));
            sums.map(|(n, s)| s / n)
        };
    k_means_step: 1 kernels, 0 arrays;
        |points: Acc<Vector<(f32, f32)>>, centres: Acc<Vector<(f32, f32)>>| {
            let labels = points.map(|(x, y)| nearest(x, y, &centres));
            let ones = points.map(|(x, y)| (x, y, 1.0f32));
            let none = fill(centres.extent(), (0.0f32, 0.0f32, 0.0f32));
            let sums = ones.permute::<DIM1, _, _>(none, plus, |i| Some(labels.index(i)));
            sums.map(|(x, y, n)| (x / n, y / n))
        };
        |points: Acc<Vector<(f32, f32)>>, centres: Acc<Vector<(f32, f32)>>| {
            let none = fill(centres.extent(), (0.0f32, 0.0f32, 0.0f32));
            let ones = points.map(|(x, y)| (1.0f32, x, y));
            let labels = generate(points.length(), |i: Exp<i64>| { let (x, y) = points.index(i); nearest(x, y, &centres) });
            let sums = ones.permute::<DIM1, _, _>(none, plus, |i| Some(labels.index(i)));
            sums.map(|(n, x, y)| (x / n, y / n))
        };
    // Compactions.
    filtered: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.filter(|x| x.gt(0.0));
        |xs: Acc<V>| { let positive = |v: Exp<f32>| v.gt(0.0); xs.filter(positive) };
    filtered_and_used: 1 kernels, 0 arrays;
        |xs: Acc<V>| xs.map(|x| x * 2.0).filter(|x| x.gt(1.0)).map(|x| x + 1.0);
        |xs: Acc<V>| { let twice = double(&xs); let kept = twice.filter(|x| x.gt(1.0)); kept.zip(&kept).map(|(x, _)| x + 1.0) };
    two_vectors_filtered_by_one_flag: 1 kernels, 0 arrays;
        |xs: Acc<V>, ys: Acc<V>| { let kept = xs.zip(&ys).filter(|(x, y)| x.gt(y)); kept.map(|(x, y)| x - y) };
        |xs: Acc<V>, ys: Acc<V>| { let both = xs.zip_with(&ys, |x, y| (y, x)); both.filter(|(y, x)| x.gt(y)).map(|(y, x)| x - y) };
    compacted_by_a_scan: 1 kernels, 0 arrays;
        |xs: Acc<V>| {
            let ones = xs.map(|x| x.gt(0.0).to_num::<i64>());
            let before = ones.scanl(0, |a, b| a + b);
            let none = fill(before.index(xs.length()), 0.0f32);
            xs.permute::<DIM1, _, _>(none, |new, _| new, |i| xs.index(i).gt(0.0).then_some(before.index(i)))
        };
        |xs: Acc<V>| {
            let ones = xs.map(|x| x.gt(0.0).then_else(1i64, 0i64));
            let upto = ones.scanl1(|a, b| b + a);
            let kept = ones.sum();
            xs.permute::<DIM1, _, _>(fill(kept.the(), 0.0f32), |new, _| new, |i| xs.index(i).gt(0.0).then_some(upto.index(i) - 1))
        };
    // Targets that are not counts: a scan and a permute.
    spread_by_a_scan: 2 kernels, 1 arrays;
        |xs: Acc<V>| {
            let steps = xs.map(|x| x.gt(0.0).then_else(2i64, 0i64));
            let before = steps.scanl(0, |a, b| a + b);
            let none = fill(before.index(xs.length()), 0.0f32);
            xs.permute::<DIM1, _, _>(none, |new, _| new, |i| xs.index(i).gt(0.0).then_some(before.index(i)))
        };
        |xs: Acc<V>| {
            let steps = xs.map(|x| x.gt(0.0).to_num::<i64>() * 2);
            let before = steps.scanl(0, |a, b| a + b);
            let none = fill(before.index(xs.length()), 0.0f32);
            xs.permute::<DIM1, _, _>(none, |new, _| new, |i| xs.index(i).gt(0.0).then_some(before.index(i)))
        };
}
