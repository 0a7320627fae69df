//! Small programs that a user would recognise, against plain Rust.

use crate::support::run;
use acc_core::prelude::*;

fn dot(xs: &Acc<Vector<f32>>, ys: &Acc<Vector<f32>>) -> Acc<Scalar<f32>> {
    xs.zip_with(ys, |x, y| x * y).sum()
}

#[test]
fn dot_product_borrows_its_operands() {
    let (xs, ys) = (use_(&Vector::from([1.0, 2.0, 3.0])), use_(&Vector::from([4.0, 5.0, 6.0f32])));
    assert_eq!(run(dot(&xs, &ys)).value(), 32.0);
    assert_eq!(run(dot(&xs, &xs)).value(), 14.0);
}

#[test]
fn saxpy_is_compiled_once_and_called_many_times() -> Result<(), Error> {
    let backend = Interpreter::new();
    let saxpy = backend.compile(|a: Acc<Scalar<f32>>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        xs.zip_with(&ys, |x, y| x * &a + y)
    })?;
    for k in 0..3 {
        let a = k as f32;
        let r = saxpy.call((&Scalar::scalar(a), &Vector::from([1.0, 2.0]), &Vector::from([10.0, 20.0])))?;
        assert_eq!(r.to_vec(), [a + 10.0, 2.0 * a + 20.0]);
    }
    assert_eq!(acc_core::Executor::compiled(&backend), 1);
    Ok(())
}

#[test]
fn histogram_by_permute() {
    let data = [0i32, 0, 1, 2, 1, 1, 2, 4, 8, 3, 4, 9, 8, 3, 2, 5, 5, 3, 1, 2];
    let xs = use_(&Vector::from(data));
    let all = fill(xs.extent(), 1i64).permute(fill(10, 0), |a, b| a + b, |i| Some(xs.index(i)));
    let mut want = [0i64; 10];
    data.iter().for_each(|&x| want[x as usize] += 1);
    assert_eq!(run(all).to_vec(), want);
    // Odd values are dropped.
    let even = fill(xs.extent(), 1i64).permute(
        fill(10, 0),
        |a, b| a + b,
        |i| {
            let v = xs.index(i);
            (v % 2).eq(0).then_some(v.to::<i64>())
        },
    );
    want.iter_mut().skip(1).step_by(2).for_each(|n| *n = 0);
    assert_eq!(run(even).to_vec(), want);
}

fn mandelbrot(w: usize, h: usize, limit: i32) -> Acc<Matrix<i32>> {
    generate((h, w), |(j, i)| {
        let c = complex(i.to::<f32>() / w as f32 * 3.0 - 2.0, j.to::<f32>() / h as f32 * 2.0 - 1.0);
        let inside = |(z, n): (Exp<Complex<f32>>, Exp<i32>)| z.norm_sqr().lt(4.0).and(n.lt(limit));
        let (_, n) = while_((c, 0i32), inside, |(z, n)| (z * z + c, n + 1));
        n
    })
}

#[test]
fn mandelbrot_loops_until_each_point_escapes() {
    let m = run(mandelbrot(12, 8, 20));
    for j in 0..8 {
        for i in 0..12 {
            let c = Complex::new(i as f32 / 12.0 * 3.0 - 2.0, j as f32 / 8.0 * 2.0 - 1.0);
            let (mut z, mut n) = (c, 0);
            while z.norm_sqr() < 4.0 && n < 20 {
                z = z * z + c;
                n += 1;
            }
            assert_eq!(m.get((j, i)), Some(n), "({j}, {i})");
        }
    }
}

fn life(world: &Acc<Matrix<bool>>) -> Acc<Matrix<bool>> {
    world.map(|c| c.then_else(1, 0)).stencil(Edge::Wrap, |s: Stencil3x3<i32>| {
        let n = s[(-1, -1)] + s[(-1, 0)] + s[(-1, 1)] + s[(0, -1)] + s[(0, 1)] + s[(1, -1)] + s[(1, 0)] + s[(1, 1)];
        n.eq(3).or(s[(0, 0)].eq(1).and(n.eq(2)))
    })
}

/// Four steps move a glider one cell down and right.
#[test]
fn a_glider_glides() {
    let mut w = [[false; 6]; 6];
    for (i, j) in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
        w[i][j] = true;
    }
    let world = use_(&Matrix::from(w));
    let (_, out) = awhile((unit(0i32), &world), |(i, _)| i.the().lt(4), |(i, w)| (i.map(|i| i + 1), life(&w)));
    let out = run(out);
    for (i, row) in w.iter().enumerate() {
        for (j, alive) in row.iter().enumerate() {
            assert_eq!(out.get(((i + 1) % 6, (j + 1) % 6)), Some(*alive));
        }
    }
}

/// Generic in the element type.
fn matmul<T: Num>(a: &Acc<Matrix<T>>, b: &Acc<Matrix<T>>) -> Acc<Matrix<T>> {
    let ((n, _), (_, m)) = (a.shape(), b.shape());
    a.replicate((All, m, All)).zip_with(b.transpose().replicate((n, All, All)), |x, y| x * y).sum()
}

#[test]
fn matrix_product_agrees_with_ndarray() -> Result<(), Error> {
    let a = ndarray::arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let b = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0f64]]);
    let f = Interpreter::new().compile(|a: Acc<Matrix<f64>>, b: Acc<Matrix<f64>>| matmul(&a, &b))?;
    assert_eq!(f.call((&Array::from(&a), &Array::from(&b)))?.to_ndarray(), a.dot(&b));
    let c = use_(&Matrix::from([[Complex::new(0.0, 1.0f32)]].map(|r| r.map(|z| z.im))));
    assert_eq!(run(matmul(&c, &c)).to_vec(), [1.0]);
    Ok(())
}

#[test]
fn segmented_sums_by_a_flagged_scan() {
    let xs = use_(&Vector::from([1, 2, 3, 4, 5, 6]));
    let flags = use_(&Vector::from([true, false, true, false, false, true]));
    let seg = flags.zip(&xs).scanl1(|(fa, a), (fb, b)| (fa | fb, fb.then_else(b, a + b))).map(|(_, s)| s);
    assert_eq!(run(seg).to_vec(), [1, 3, 3, 7, 12, 6]);
}

#[test]
fn quadratic_formula_with_nested_conditionals() {
    let a = use_(&Vector::from([1.0, 1.0, 0.0f64]));
    let (b, c) = (Vector::from([-3.0, 0.0, 2.0f64]), Vector::from([2.0, 1.0, -4.0f64]));
    let roots = a.zip_with3(&b, &c, |a, b, c| {
        let d = b * b - 4.0 * a * c;
        a.eq(0.0).then_else((-c / b, 1), d.lt(0.0).then_else((0.0, 0), ((-b + d.sqrt()) / (2.0 * a), 2)))
    });
    assert_eq!(run(roots).to_vec(), [(2.0, 2), (0.0, 0), (2.0, 1)]);
}

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f32,
    y: f32,
}
#[derive(Elt, Clone, Debug, PartialEq)]
struct Cluster {
    centre: Point,
    n: i32,
}

fn kmeans_step(pts: &Acc<Vector<Point>>, cs: &Acc<Vector<Point>>) -> Acc<Vector<Cluster>> {
    let k = cs.length();
    let nearest = pts.map(|p| {
        let step = |(i, b, d): (Exp<i64>, Exp<i64>, Exp<f32>)| {
            let c = cs.index(i);
            let (dx, dy) = (p.x - c.x, p.y - c.y);
            let e = dx * dx + dy * dy;
            (i + 1, e.lt(d).then_else(i, b), e.min(d))
        };
        let (_, best, _) = while_((0i64, 0i64, f32::MAX), |(i, _, _)| i.lt(k), step);
        best
    });
    let zero = Cluster { centre: Point { x: 0.0, y: 0.0 }, n: 0 };
    let add = |a: PointExp, b: PointExp| PointExp { x: a.x + b.x, y: a.y + b.y };
    let sums = pts.map(|p| ClusterExp { centre: p, n: lift(1) }).permute(
        fill(k, zero),
        |a, b| ClusterExp { centre: add(a.centre, b.centre), n: a.n + b.n },
        |i| Some(nearest.index(i)),
    );
    sums.map(|c| {
        let n = c.n.to::<f32>();
        ClusterExp { centre: PointExp { x: c.centre.x / n, y: c.centre.y / n }, ..c }
    })
}

#[test]
fn kmeans_step_over_structs() {
    let points = [(0.0, 0.0), (0.0, 2.0), (10.0, 0.0), (10.0, 4.0)];
    let pts: Vector<Point> = points.map(|(x, y)| Point { x, y }).into_iter().collect();
    let cs: Vector<Point> = [(1.0, 1.0), (9.0, 1.0)].map(|(x, y)| Point { x, y }).into_iter().collect();
    let r = run(kmeans_step(&use_(&pts), &use_(&cs)));
    let want = [(0.0, 1.0), (10.0, 2.0)].map(|(x, y)| Cluster { centre: Point { x, y }, n: 2 });
    assert_eq!(r.to_vec(), want);
}

#[test]
fn normalise_by_a_total_in_three_ways() {
    let xs = use_(&Vector::from([1.0, 3.0f32]));
    let total = xs.sum();
    assert_eq!(run(xs.map(|x| x / &total)).to_vec(), [0.25, 0.75]);
    let t = total.the();
    assert_eq!(run(xs.map(|x| x / t)).to_vec(), [0.25, 0.75]);
    let r = acc_core::builder::scope(|| {
        let t = xs.sum().the() + 0.0;
        run(xs.map(|x| x / t))
    });
    assert_eq!(r.to_vec(), [0.25, 0.75]);
}
