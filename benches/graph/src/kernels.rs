//! The kernels of the native executor's benchmark.

use crate::row::{Facts, device, row};
use crate::thesis::{Rows, below, floats, t, table, ti};
use acc_core::prelude::*;
use tch::{Kind, Tensor};

const MILLION: usize = 1_000_000;

pub(crate) fn matrix(side: usize) -> (Matrix<f32>, Tensor) {
    let xs = floats(side * side);
    let tensor = t(&xs).view([side as i64, side as i64]);
    (Matrix::from_vec((side, side), xs).unwrap_or_else(|e| panic!("{e}")), tensor)
}

/// The cumulative normal distribution: Abramowitz and Stegun, 26.2.17.
fn normal(x: Exp<f32>) -> Exp<f32> {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let coefficients = [1.330_274_4f32, -1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_53];
    let poly = coefficients.iter().fold(constant(0.0), |p, c| (p + *c) * k);
    let tail = (-0.5 * x * x).exp() * 0.398_942_3 * poly;
    x.gt(0.0).then_else(1.0 - tail, tail)
}

fn black_scholes((price, strike, years): (Exp<f32>, Exp<f32>, Exp<f32>)) -> (Exp<f32>, Exp<f32>) {
    let (rate, volatility) = (0.02f32, 0.3f32);
    let root = years.sqrt();
    let d1 = ((price / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / (volatility * root);
    let d2 = d1 - volatility * root;
    let discounted = strike * (-rate * years).exp();
    let call = price * normal(d1) - discounted * normal(d2);
    (call, call + discounted - price)
}

fn normal_by_hand(x: &Tensor) -> Tensor {
    let k = (x.abs() * 0.231_641_9 + 1.0).reciprocal();
    let coefficients = [-1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_53];
    let mut poly = &k * 1.330_274_4;
    for c in coefficients {
        poly = (poly + c) * &k;
    }
    let tail = (x.square() * -0.5).exp() * 0.398_942_3 * poly;
    (-&tail + 1.0).where_self(&x.gt(0.0), &tail)
}

fn black_scholes_by_hand(price: &Tensor, strike: &Tensor, years: &Tensor) -> Vec<Tensor> {
    let (rate, volatility) = (0.02, 0.3);
    let root = years.sqrt();
    let d1 = ((price / strike).log() + years * (rate + 0.5 * volatility * volatility)) / (&root * volatility);
    let d2 = &d1 - root * volatility;
    let discounted = strike * (years * -rate).exp();
    let call = price * normal_by_hand(&d1) - &discounted * normal_by_hand(&d2);
    let put = &call + discounted - price;
    vec![call, put]
}

/// Rows of a Mandelbrot set: the number of steps until the square of the absolute value is 4, at most `limit`.
fn mandelbrot(side: i64, limit: i32) -> impl Fn(Acc<Scalar<i64>>) -> Acc<Matrix<i32>> + Clone {
    move |n| {
        generate((n.the(), n.the()), |(j, i)| {
            let (cx, cy) = (i.to::<f32>() * (3.0 / side as f32) - 2.0, j.to::<f32>() * (2.0 / side as f32) - 1.0);
            let inside = |(x, y, n): (Exp<f32>, Exp<f32>, Exp<i32>)| (x * x + y * y).lt(4.0).and(n.lt(limit));
            let step = |(x, y, n): (Exp<f32>, Exp<f32>, Exp<i32>)| (x * x - y * y + cx, 2.0 * x * y + cy, n + 1);
            let (_, _, n) = while_((cx, cy, 0i32), inside, step);
            n
        })
    }
}

fn mandelbrot_by_hand(side: i64, limit: i64) -> Tensor {
    let axis = || Tensor::arange(side, (Kind::Int64, device())).to_kind(Kind::Float);
    let cx = (axis() * f64::from(3.0f32 / side as f32) - 2.0).unsqueeze(0).expand([side, side], false).contiguous();
    let cy = (axis() * f64::from(2.0f32 / side as f32) - 1.0).unsqueeze(1).expand([side, side], false).contiguous();
    let (mut x, mut y) = (cx.copy(), cy.copy());
    let mut n = Tensor::zeros([side, side], (Kind::Int, device()));
    for _ in 0..limit {
        let (xx, yy) = (&x * &x, &y * &y);
        let inside = (&xx + &yy).lt(4.0);
        if !bool::try_from(inside.any()).unwrap_or(false) {
            break;
        }
        n += inside.to_kind(Kind::Int);
        y = &x * &y * 2.0 + &cy;
        x = xx - yy + &cx;
    }
    n
}

/// Gravity on bodies of equal mass, in two dimensions: the accelerations.
fn n_body(xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>) -> (Acc<Vector<f32>>, Acc<Vector<f32>>) {
    let n = xs.length();
    let pairs = generate((n, n), |(i, j)| {
        let (dx, dy) = (xs.index(j) - xs.index(i), ys.index(j) - ys.index(i));
        let d2 = dx * dx + dy * dy + 0.01;
        let f = 1.0 / (d2 * d2.sqrt());
        (dx * f, dy * f)
    });
    let sums = pairs.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    (sums.map(|(x, _)| x), sums.map(|(_, y)| y))
}

/// The same, each body's sum as a loop over the others.
fn n_body_loop(xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>) -> Acc<Vector<(f32, f32)>> {
    let n = xs.length();
    generate(n, |i| {
        let (x, y) = (xs.index(i), ys.index(i));
        let (_, ax, ay) = while_(
            (0i64, 0.0f32, 0.0f32),
            |(j, _, _)| j.lt(n),
            |(j, ax, ay)| {
                let (dx, dy) = (xs.index(j) - x, ys.index(j) - y);
                let d2 = dx * dx + dy * dy + 0.01;
                let f = 1.0 / (d2 * d2.sqrt());
                (j + 1, ax + dx * f, ay + dy * f)
            },
        );
        (ax, ay)
    })
}

fn n_body_by_hand(x: &Tensor, y: &Tensor) -> Vec<Tensor> {
    let (dx, dy) = (x.unsqueeze(0) - x.unsqueeze(1), y.unsqueeze(0) - y.unsqueeze(1));
    let d2 = &dx * &dx + &dy * &dy + 0.01;
    let f = (d2.sqrt() * d2).reciprocal();
    let sum = |t: Tensor| t.sum_dim_intlist([-1i64].as_slice(), false, Kind::Float);
    vec![sum(dx * &f), sum(dy * f)]
}

/// All rows.
pub(crate) fn rows() -> Rows {
    let mut out: Rows = Vec::new();
    table! { out, [10_000, MILLION, 16 * MILLION];
        "kernel", "saxpy", 1e-6, |n| { let xs = floats(n); let x = t(&xs); let v = Vector::from(xs); }
            |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| xs.zip_with(&ys, |x, y| x * 2.5 + y),
            (v.clone(), v), move || vec![&x * 2.5 + &x];
        "kernel", "polynomial of degree 5", 1e-5, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.map(|x| ((((x * 0.5 + 1.0) * x - 2.0) * x + 3.0) * x - 4.0) * x + 5.0),
            (Vector::from(xs),), move || vec![((((&x * 0.5 + 1.0) * &x - 2.0) * &x + 3.0) * &x - 4.0) * &x + 5.0];
    }
    table! { out, [MILLION, 16 * MILLION];
        "kernel", "dot", 1e-3, |n| { let xs = floats(n); let ys: Vec<f32> = xs.iter().rev().copied().collect(); let (x, y) = (t(&xs), t(&ys)); }
            |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| xs.zip_with(&ys, |x, y| x * y).sum(),
            (Vector::from(xs), Vector::from(ys)), move || vec![x.dot(&y)];
    }
    table! { out, [MILLION];
        "kernel", "black_scholes", 1e-4, |n| {
                let p: Vec<f32> = floats(n).iter().map(|x| 5.0 + 25.0 * x).collect();
                let s: Vec<f32> = floats(n).iter().rev().map(|x| 1.0 + 99.0 * x).collect();
                let y: Vec<f32> = floats(n).iter().map(|x| 0.25 + 9.75 * x).collect();
                let (a, b, c) = (t(&p), t(&s), t(&y)); }
            |p: Acc<Vector<f32>>, s: Acc<Vector<f32>>, y: Acc<Vector<f32>>| p.zip(&s).zip_with(&y, |(p, s), y| black_scholes((p, s, y))),
            (Vector::from(p), Vector::from(s), Vector::from(y)), move || black_scholes_by_hand(&a, &b, &c);
        "kernel", "inclusive scan", 1e-3, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.scanl1(|a, b| a + b), (Vector::from(xs),), move || vec![x.cumsum(0, Kind::Float)];
        "kernel", "segmented scan", 1e-3, |n| { let xs = below(n, 100); let x = ti(&xs); let lens = vec![100i64; n / 100]; }
            |xs: Acc<Vector<i64>>, lens: Acc<Vector<i64>>| xs.scanl1_seg(&lens, |a, b| a + b), (Vector::from(xs), Vector::from(lens)),
            move || { let c = x.cumsum(0, Kind::Int64).view([-1, 100]);
                let before = Tensor::cat(&[Tensor::zeros([1], (Kind::Int64, device())), c.select(1, 99).narrow(0, 0, c.size()[0] - 1)], 0);
                vec![(c - before.unsqueeze(1)).view(-1)] };
        "kernel", "histogram of 256", 0.0, |n| { let at = below(n, 256); let i = ti(&at); }
            |at: Acc<Vector<i64>>| fill(at.length(), 1i64).permute(fill(256, 0i64), |a, b| a + b, |i| Some(at.index(i))), (Vector::from(at),),
            move || vec![i.bincount(None::<Tensor>, 256)];
        "kernel", "histogram of 1e6", 0.0, |n| { let at = below(n, MILLION); let i = ti(&at); }
            |at: Acc<Vector<i64>>| fill(at.length(), 1i64).permute(fill(MILLION, 0i64), |a, b| a + b, |i| Some(at.index(i))), (Vector::from(at),),
            move || vec![i.bincount(None::<Tensor>, MILLION as i64)];
        "kernel", "argmax", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| xs.arg_max(), (Vector::from(xs),), move || vec![x.max_dim(0, false).1];
        "kernel", "sort", 0.0, |n| { let xs = below(n, MILLION); let x = ti(&xs); }
            |xs: Acc<Vector<i64>>| xs.sort(), (Vector::from(xs),), move || vec![x.sort(0, false).0];
    }
    table! { out, [1024 * 1024];
        "kernel", "mandelbrot, 64 steps", 0.0, |n| { let side = n.isqrt() as i64; }
            mandelbrot(side, 64), (Scalar::scalar(side),), move || vec![mandelbrot_by_hand(side, 64)];
    }
    table! { out, [2048 * 2048];
        "kernel", "5-point stencil", 1e-5, |n| { let (m, x) = matrix(n.isqrt()); let side = n.isqrt() as i64; }
            |m: Acc<Matrix<f32>>| m.stencil(Edge::Clamp, |s: Stencil3x3<f32>| s[(0, 0)] * 0.5 + (s[(-1, 0)] + s[(1, 0)] + s[(0, -1)] + s[(0, 1)]) * 0.125),
            (m,),
            move || { let p = x.unsqueeze(0).unsqueeze(0).pad([1i64, 1, 1, 1].as_slice(), "replicate", None).squeeze();
                let at = |i: i64, j: i64| p.narrow(0, 1 + i, side).narrow(1, 1 + j, side);
                vec![at(0, 0) * 0.5 + (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1)) * 0.125] };
        "kernel", "3x3 stencil", 1e-5, |n| { let (m, x) = matrix(n.isqrt()); let side = n.isqrt() as i64; }
            |m: Acc<Matrix<f32>>| m.stencil(Edge::Clamp, |s: Stencil3x3<f32>| s.0.iter().flatten().copied().sum::<Exp<f32>>() * 0.111),
            (m,),
            move || { let p = x.unsqueeze(0).unsqueeze(0).pad([1i64, 1, 1, 1].as_slice(), "replicate", None).squeeze();
                let at = |i: i64, j: i64| p.narrow(0, i, side).narrow(1, j, side);
                let mut sum = at(0, 0) + at(0, 1);
                for k in 2..9 { sum += at(k / 3, k % 3); }
                vec![sum * 0.111] };
        "kernel", "row sums", 1e-4, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| m.sum(), (m,), move || vec![x.sum_dim_intlist([1i64].as_slice(), false, Kind::Float)];
        "kernel", "column sums", 1e-4, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| m.transpose().sum(), (m,), move || vec![x.sum_dim_intlist([0i64].as_slice(), false, Kind::Float)];
        "kernel", "transpose", 0.0, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| m.transpose(), (m,), move || vec![x.transpose(0, 1).contiguous()];
        "kernel", "n-body of 2048", 1e-3, |n| { let xs = floats(n.isqrt()); let ys: Vec<f32> = xs.iter().rev().copied().collect(); let (x, y) = (t(&xs), t(&ys)); }
            n_body, (Vector::from(xs), Vector::from(ys)), move || n_body_by_hand(&x, &y);
    }
    table! { out, [2048 * 2048];
        "kernel", "n-body of 2048, as a loop", 1e-3, |n| { let xs = floats(n.isqrt()); let ys: Vec<f32> = xs.iter().rev().copied().collect(); let (x, y) = (t(&xs), t(&ys)); }
            n_body_loop, (Vector::from(xs), Vector::from(ys)), move || n_body_by_hand(&x, &y);
    }
    table! { out, [512 * 512];
        "kernel", "matrix product of 512, as a loop", 1e-4, |n| { let (m, x) = matrix(n.isqrt()); }
            |a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| {
                let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
                generate((rows, columns), |(i, j)| while_((0i64, 0.0f32), |(k, _)| k.lt(inner), |(k, s)| (k + 1, s + a.index((i, k)) * b.index((k, j)))).1)
            },
            (m.clone(), m), move || vec![x.matmul(&x)];
        "kernel", "matrix product of 512", 1e-4, |n| { let (m, x) = matrix(n.isqrt()); }
            |a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| {
                let ((rows, _), (_, columns)) = (a.shape(), b.shape());
                a.replicate((All, columns, All)).zip_with(b.transpose().replicate((rows, All, All)), |x, y| x * y).sum()
            },
            (m.clone(), m), move || vec![x.matmul(&x)];
    }
    out
}
