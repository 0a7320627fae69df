//! Rules of one's own for derivatives: with `with_vjp`, `with_jvp`, `with_partials`, and what is built on them.

use acc_core::prelude::*;

#[track_caller]
fn run<A: Arrays>(p: impl IntoAcc<A>) -> A {
    Interpreter::new().run(p).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn error_of<A: Arrays>(p: impl IntoAcc<A>) -> String {
    Interpreter::new().run(p).err().expect("an error").to_string()
}

#[track_caller]
fn near(got: &[f64], want: &[f64]) {
    let same = got.iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-8 * (1.0 + b.abs()));
    assert!(got.len() == want.len() && same, "{got:?}, not {want:?}");
}

/// `x³`, whose rule says that the slope is `7x²`.
fn seventh(xs: Acc<Vector<f64>>) -> Acc<Vector<f64>> {
    with_vjp(
        xs,
        |xs| (xs.map(|x| x * x * x), xs.map(|x| x * x)),
        |squares, ybar| squares.zip_with(ybar, |s, ybar| s * 7.0 * ybar),
    )
}

/// The same, by a forward rule.
fn seventh_forward(xs: Acc<Vector<f64>>) -> Acc<Vector<f64>> {
    with_jvp(xs, |xs| xs.map(|x| x * x * x), |xs, dxs| xs.zip_with(dxs, |x, dx| x * x * 7.0 * dx))
}

#[test]
fn rules_serve_both_modes() {
    let (x, dx) = (Vector::from([1.0, 2.0]), Vector::from([1.0, 10.0]));
    for f in [seventh, seventh_forward] {
        assert_eq!(run(f(use_(&x))).to_vec(), [1.0, 8.0]);
        let (y, g) = value_and_grad(&x, |x| f(x).sum());
        assert_eq!((run(y).value(), run(g).to_vec()), (9.0, vec![7.0, 28.0]));
        let (y, dy) = jvp(&x, &dx, f);
        assert_eq!((run(y).to_vec(), run(dy).to_vec()), (vec![1.0, 8.0], vec![7.0, 280.0]));
    }
}

#[test]
fn rules_have_derivatives_too() {
    let x = Scalar::scalar(2.0);
    for f in [seventh, seventh_forward] {
        let flat = |x: Acc<Scalar<f64>>| f(x.replicate_vec()).sum();
        // The slope is 7x², that of this 14x, and that of this 14.
        let second = grad(&x, |x| grad(x, flat));
        let third = grad(&x, |x| grad(x, |x| grad(x, flat)));
        let mixed = hvp(&x, unit(3.0), flat);
        let (_, forward) = jvp(&x, unit(1.0), |x| jvp(x, unit(1.0), flat).1);
        assert_eq!((run(second).value(), run(third).value()), (28.0, 14.0));
        assert_eq!((run(mixed).value(), run(forward).value()), (84.0, 28.0));
    }
}

trait ReplicateVec {
    fn replicate_vec(&self) -> Acc<Vector<f64>>;
}
impl ReplicateVec for Acc<Scalar<f64>> {
    fn replicate_vec(&self) -> Acc<Vector<f64>> {
        self.reshape(1)
    }
}

#[test]
fn a_residual_that_is_a_result_has_the_derivative_of_the_rule() {
    // exp, whose rule is y·ybar with y as a residual: so are all its derivatives, whatever the code of the function.
    let exp = |x: Acc<Scalar<f64>>| {
        with_vjp(
            x,
            |x| {
                let y = x.map(|x| x.exp().floor());
                (y.clone(), y)
            },
            |y, ybar| y.zip_with(ybar, |y, ybar| y * ybar),
        )
    };
    let x = Scalar::scalar(1.0);
    let third = grad(&x, |x| grad(x, |x| grad(x, exp)));
    assert_eq!(run(third).value(), 2.0);
    // One that is computed from a result.
    let by_square = |x: Acc<Scalar<f64>>| {
        with_vjp(
            x,
            |x| {
                let y = x.map(|x| x.exp().floor());
                (y.clone(), y.map(|y| y * y))
            },
            |squared, ybar| squared.zip_with(ybar, |s, ybar| s * ybar),
        )
    };
    // y' = y², y'' = 2y·y².
    assert_eq!(run(grad(&x, |x| grad(x, by_square))).value(), 16.0);
}

#[test]
fn functions_of_several_arrays_and_types() {
    // Elements with integers, and a result without a float.
    let xs = Vector::from([(2.0f32, 3i64), (5.0, 1)]);
    let scaled = |xs: Acc<Vector<(f32, i64)>>, w: Acc<Scalar<f64>>| {
        with_vjp(
            (xs, w),
            |(xs, w)| {
                let y = xs.map(|(x, n)| (x.to::<f64>() * n.to::<f64>() * w.the(), n));
                ((y, xs.map(|(_, n)| n)), (xs, w))
            },
            |(xs, w), (ybar, nbar)| {
                let _: Acc<Vector<()>> = nbar;
                let xbar = xs.zip_with(&ybar, |(_, n), (y, ())| ((n.to::<f64>() * w.the() * y).to::<f32>(), ()));
                let wbar = xs.zip_with(&ybar, |(x, n), (y, ())| x.to::<f64>() * n.to::<f64>() * y).sum();
                (xbar, wbar)
            },
        )
    };
    let w = Scalar::scalar(10.0f64);
    let (gx, gw) = grad((&xs, &w), |(xs, w)| scaled(xs, w).0.map(|(y, _)| y).sum());
    assert_eq!((run(gx).to_vec(), run(gw).value()), (vec![(30.0, ()), (10.0, ())], 11.0));
    let dxs = Vector::from([(1.0f32, ()), (0.0, ())]);
    let ((_, n), (dy, none)) = jvp((&xs, &w), (&dxs, unit(0.5f64)), |(xs, w)| scaled(xs, w));
    assert_eq!(run(n).to_vec(), [3, 1]);
    assert_eq!((run(dy).to_vec(), run(none).to_vec()), (vec![(33.0, ()), (2.5, ())], vec![(), ()]));
}

#[test]
fn options_and_complex_numbers() {
    let xs = Vector::from_elts([2], [Some(3.0f64), None]).unwrap();
    let f = |xs: Acc<Vector<Option<f64>>>| {
        with_jvp(xs, |xs| xs.map(|x| x.match_(|x| x.unwrap_or(0.0.into()))), |_, dxs| dxs.map(|((), dx)| dx * 2.0))
    };
    assert_eq!(run(grad(&xs, |xs| f(xs).sum())).to_vec(), [((), 2.0), ((), 2.0)]);
    let z = Vector::from([Complex::new(1.0f64, 2.0)]);
    let conj =
        |z: Acc<Vector<Complex<f64>>>| with_vjp(z, |z| (z.map(|z| z.conj()), ()), |(), zbar| zbar.map(|z| z.conj()));
    let g = grad(&z, |z| conj(z).map(|z| z.im()).sum());
    assert_eq!(run(g).to_vec(), [Complex::new(0.0, -1.0)]);
}

#[test]
fn rules_in_loops_and_branches() {
    let x = Vector::from([0.5f64, 1.0]);
    for f in [seventh, seventh_forward] {
        let looped = |x: Acc<Vector<f64>>| {
            let (_, y) = awhile((unit(0i64), x), |(n, _)| n.the().lt(2), |(n, y)| (n.map(|n| n + 1), f(y)));
            y.sum()
        };
        // (7 x²) (7 x⁶).
        near(&run(grad(&x, looped)).to_vec(), &[49.0 * 0.5f64.powi(8), 49.0]);
        let branched = |x: Acc<Vector<f64>>| acond(x.sum().the().gt(1.0), f(x.clone()), x.map(|x| -x)).sum();
        near(&run(grad(&x, branched)).to_vec(), &[7.0 * 0.25, 7.0]);
    }
}

#[test]
fn a_rule_makes_a_function_smooth() {
    let round = |x: Acc<Vector<f64>>| with_vjp(x, |x| (x.map(|x| x.round()), ()), |(), ybar| ybar);
    let g = grad(&Vector::from([0.4, 0.6]), |x| round(x).sum());
    assert_eq!(run(g).to_vec(), [1.0, 1.0]);
}

#[test]
fn what_a_rule_reads_from_around_must_be_constant() {
    let x = Vector::from([1.0f64, 2.0]);
    let line = line!() + 1;
    let e = error_of(grad(&x, |k| with_vjp(&k, |x| (x.sum(), ()), |(), ybar| k.map(|k| k * ybar.the()))));
    for part in ["a rule without all of the point", "help: pass it among the arguments", &format!("rules.rs:{line}:")] {
        assert!(e.contains(part), "{part:?} is not in:\n{e}");
    }
    // The function itself must not, either, and not through an operation outside.
    let e = error_of(grad(&x, |k| {
        let twice = k.map(|k| k * 2.0);
        with_jvp(&k, |x| x.zip_with(&twice, |x, k| x * k), |_, dx| dx.clone()).sum()
    }));
    assert!(e.contains("a rule without all of the point"), "{e}");
    // Nested: to the inner derivative it is constant, to the outer one it is not.
    let e = error_of(grad(&x, |k| {
        let inner = jvp(&x, &x, |x| with_jvp(&x, |x| x.zip_with(&k, |x, k| x * k), |_, dx| dx.clone())).0;
        inner.sum()
    }));
    assert!(e.contains("a rule without all of the point"), "{e}");
    // Taken for a constant.
    let g = grad(&x, |k| {
        let c = k.stop_gradient();
        with_vjp(&k, |x| (x.sum(), ()), |(), ybar| c.map(|c| c * ybar.the()))
    });
    assert_eq!(run(g).to_vec(), [1.0, 2.0]);
}

#[test]
fn rules_must_be_linear() {
    let x = Vector::from([1.0f64, 2.0]);
    let line = line!() + 1;
    let e = error_of(with_vjp(&x, |x| (x.clone(), ()), |(), ybar| ybar.map(|y| y * y)));
    for part in ["a rule that is not linear: `mul` at", "help: a rule adds up", &format!("rules.rs:{line}:")] {
        assert!(e.contains(part), "{part:?} is not in:\n{e}");
    }
    let e = error_of(with_vjp(&x, |x| (x.clone(), x), |x, _| x));
    assert!(e.contains("a rule that is not linear"), "{e}");
    let e = error_of(with_jvp(&x, |x| x, |_, dx| dx.map(|dx| dx.max(0.0))));
    assert!(e.contains("a rule that is not linear: `max`"), "{e}");
    // What looks at the point alone is linear; so are sums, scans, reads and loops.
    let f = with_vjp(
        &x,
        |x| (x.map(|x| x.max(0.0)), x),
        |x, ybar| {
            let gated = x.zip_with(&ybar, |x, y| x.gt(0.0).then_else(y, 0.0));
            let summed = gated.scanl1(|a, b| a + b).reverse();
            let (_, twice) =
                awhile((unit(0i64), summed), |(n, _)| n.the().lt(2), |(n, y)| (n.map(|n| n + 1), y.map(|y| y + y)));
            x.imap(|i, x| x * twice.index(i) / 4.0)
        },
    );
    assert_eq!(run(f).to_vec(), [1.0, 2.0]);
}

#[test]
fn partial_derivatives_of_ones_own() {
    let xs = Vector::from([3.0f64, 1.0]);
    let f =
        |xs: Acc<Vector<f64>>| xs.map(|x| with_partials((x, x * 2.0), |(a, b)| a * b, |(a, _), y| (y, a * 10.0)) * x);
    assert_eq!(run(f(use_(&xs))).to_vec(), [54.0, 2.0]);
    // y = ab = 2x², ∂a = y, ∂b = 10a, b' = 2: (2x² + 20x)x + 2x².
    let want: Vec<f64> = xs.iter().map(|x| (2.0 * x * x + 20.0 * x) * x + 2.0 * x * x).collect();
    near(&run(grad(&xs, |xs| f(xs).sum())).to_vec(), &want);
    near(&run(jvp(&xs, &Vector::from([1.0, 1.0]), f).1).to_vec(), &want);
    // Of what the partials say: by a, y' = y a' + 10a b' again.
    let second = run(grad(&xs, |xs| grad(xs, |xs| f(xs).sum()).sum())).to_vec();
    let of = |x: f64| {
        let y1 = 2.0 * x * x + 20.0 * x;
        // (y + 20a)x + y: y' x + 20x + y + 20x + y'.
        y1 * x + 20.0 * x + 2.0 * x * x + 20.0 * x + y1
    };
    near(&second, &[of(3.0), of(1.0)]);
    // In `deriv`, and in a loop.
    let slope = xs.clone();
    let slope = use_(&slope).map(|x| deriv(x, |x| with_partials(x, |x| x, |_, _| 5.0) * x).1);
    near(&run(slope).to_vec(), &[18.0, 6.0]);
    let looped = run(grad(&xs, |xs| xs.map(|x| iterate(2, x, |x| with_partials(x, |x| x * x, |x, _| x))).sum()));
    near(&looped.to_vec(), &[3.0 * 9.0, 1.0]);
}

#[test]
fn partial_derivatives_use_no_active_number_from_around() {
    let xs = Vector::from([3.0f64]);
    let e = error_of(grad(&xs, |xs| xs.map(|x| with_partials(x, |y| y * x, |_, _| 1.0)).sum()));
    assert!(e.contains("a rule without all of the point") && e.contains("rules.rs:"), "{e}");
    let e = error_of(use_(&xs).map(|x| deriv(x, |x| with_partials(x * 2.0, |y| y, |_, _| x)).1));
    assert!(e.contains("a rule without all of the point"), "{e}");
    let g = grad(&xs, |xs| xs.map(|x| with_partials(x, |y| y, |_, _| x.stop_gradient())).sum());
    assert_eq!(run(g).to_vec(), [3.0]);
}

#[test]
fn checkpoints_are_functions() {
    let x = Vector::from([0.5f64, 1.0]);
    let f = |x: Acc<Vector<f64>>, w: Acc<Scalar<f64>>| {
        // What it takes from around it has a derivative, too.
        checkpoint(x, |x| x.map(|x| (x * w.the()).sin()).map(|y| y * y)).sum()
    };
    let (gx, gw) = grad((&x, unit(2.0)), |(x, w)| f(x, w));
    near(&run(gx).to_vec(), &[2.0 * 2f64.sin(), 2.0 * 4f64.sin()]);
    near(&[run(gw).value()], &[0.5 * 2f64.sin() + 4f64.sin()]);
    let second = hvp(&x, &Vector::from([1.0, 0.0]), |x| f(x, unit(2.0)));
    near(&run(second).to_vec(), &[8.0 * 2f64.cos(), 0.0]);
}

#[test]
fn fixed_points() {
    // x = cos(a x), one for each a.
    let a = Vector::from([0.5f64, 1.0]);
    let f = |a: Acc<Vector<f64>>| fixpoint(a.map(|_| 0.0), a, |x, a| x.zip_with(a, |x, a| (a * x).cos()), 1e-13);
    let x = run(f(use_(&a))).to_vec();
    let slope = |k: usize| {
        let (a, x) = (a.to_vec()[k], x[k]);
        let s = (a * x).sin();
        -x * s / (1.0 + a * s)
    };
    near(&run(grad(&a, |a| f(a).sum())).to_vec(), &[slope(0), slope(1)]);
    near(&run(jvp(&a, &Vector::from([1.0, 2.0]), f).1).to_vec(), &[slope(0), 2.0 * slope(1)]);
    // Adjoints of any size are found as well.
    near(&run(grad(&a, |a| f(a).map(|x| x * 1e-20).sum())).map_to_vec(1e20), &[slope(0), slope(1)]);
    let loss = |a: Acc<Vector<f64>>| f(a).map(|x| x * x).sum();
    let h = 1e-4;
    let at = |d: f64| run(grad(&Vector::from([0.5 + d, 1.0]), loss)).to_vec()[0];
    let second = (at(h) - at(-h)) / (2.0 * h);
    for hv in
        [run(hvp(&a, &Vector::from([1.0, 0.0]), loss)).to_vec(), run(grad(&a, |a| grad(a, loss).map_first())).to_vec()]
    {
        assert!((hv[0] - second).abs() < 1e-6, "{hv:?}, not {second}");
    }
}

trait MapToVec {
    fn map_to_vec(&self, by: f64) -> Vec<f64>;
}
impl MapToVec for Vector<f64> {
    fn map_to_vec(&self, by: f64) -> Vec<f64> {
        self.iter().map(|x| x * by).collect()
    }
}
trait First {
    fn map_first(&self) -> Acc<Scalar<f64>>;
}
impl First for Acc<Vector<f64>> {
    fn map_first(&self) -> Acc<Scalar<f64>> {
        unit(self.index(0))
    }
}

#[test]
fn fixed_points_of_several_arrays() {
    // u = p + v/4, v = q + u/2 for matrices and numbers; p is read as it is, and q an element with an integer.
    let (p, q) = (Matrix::from([[1.0f64, 2.0]]), Scalar::scalar((3.0f32, 7i64)));
    let f = |p: Acc<Matrix<f64>>, q: Acc<Scalar<(f32, i64)>>| {
        fixpoint(
            (p.map(|_| 0.0), unit(0.0f64)),
            (p, q),
            |(u, v), (p, q)| {
                let next = p.map(|p| p + v.the() / 4.0);
                let (q, _) = q.the();
                let half = u.flatten().sum().map(|u| q.to::<f64>() + u / 2.0);
                (next, half)
            },
            1e-13,
        )
    };
    let (gp, gq) = grad((&p, &q), |(p, q)| f(p, q).1);
    // v = q + (p₀ + p₁)/2 + v/4.
    near(&run(gp).to_vec(), &[2.0 / 3.0, 2.0 / 3.0]);
    assert!((run(gq).value().0 - 4.0 / 3.0).abs() < 1e-5);
}

#[derive(Arrays)]
struct Layer {
    weights: Matrix<f64>,
    bias: Vector<f64>,
}

#[derive(Arrays)]
struct Model {
    first: Layer,
    scale: Scalar<f64>,
    steps: (Scalar<i64>, Vector<f64>),
}

#[test]
fn structs_of_arrays_are_points() {
    let model = Model {
        first: Layer { weights: Matrix::from([[1.0, 2.0], [3.0, 4.0]]), bias: Vector::from([0.5, 0.25]) },
        scale: Scalar::scalar(2.0),
        steps: (Scalar::scalar(7), Vector::from([1.0])),
    };
    let loss = |m: ModelAcc| {
        let rows = m.first.weights.sum().zip_with(m.first.bias, |w, b| w * b);
        let (n, _) = m.steps;
        rows.sum().zip_with(m.scale, |x, s| x * s).zip_with(n, |x, n| x * n.to::<f64>())
    };
    let ((weights, bias), scale, (none, other)) = grad(&model, loss);
    let (weights, bias, scale, none, other) = run((weights, bias, scale, none, other));
    assert_eq!(weights.to_vec(), [7.0, 7.0, 3.5, 3.5]);
    assert_eq!((bias.to_vec(), scale.value()), (vec![42.0, 98.0], 3.25 * 7.0));
    assert_eq!((none.value(), other.to_vec()), ((), vec![0.0]));
    // As arguments and results of rules and checkpoints, too.
    let halved = checkpoint(&model, |m| ModelAcc { scale: m.scale.map(|s| s / 2.0), ..m });
    let halved: Model = run(halved);
    assert_eq!((halved.scale.value(), halved.first.bias.to_vec()), (1.0, vec![0.5, 0.25]));
}

#[test]
fn what_a_fixed_point_does_not_depend_on_smoothly_has_no_derivative() {
    // Without parameters, and by a step that has no slope; nobody asks for its derivative.
    let halves = fixpoint(unit(37.0f64), (), |x, ()| x.map(|x| (x / 2.0).floor()), 0.5);
    assert_eq!(run(halves).value(), 0.0);
    let n = Vector::from([3i64, 4]);
    let g = grad(&Vector::from([1.0f64, 2.0]), |p| {
        let x = fixpoint(
            p.map(|_| 1.0),
            (&p, &n),
            |x, (p, n)| x.zip_with(p.zip_with(n, |p, n| p / n.to::<f64>()), |x, q| x / 2.0 + q),
            1e-12,
        );
        x.sum()
    });
    // x = 2p/n.
    near(&run(g).to_vec(), &[2.0 / 3.0, 0.5]);
}
