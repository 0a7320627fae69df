//! The functions of derivatives, as users call them.

use super::{Case, Check, case};
use crate::compare::Near;
use acc_core::prelude::*;

fn none() -> Vector<f64> {
    Vector::from([0.0; 0])
}

/// A cubic of each element, summed up: the gradient is `3 x²`, the Hessian `6 x` on its diagonal.
fn cubes(xs: Acc<Vector<f64>>) -> Acc<Scalar<f64>> {
    xs.map(|x| x * x * x).sum()
}

/// The program gives this, but for the last digits: there is no bound that follows from a derivative.
#[track_caller]
fn near<A: Arrays>(t: &mut Check<'_>, program: impl IntoAcc<A>, want: A) {
    t.gives_within(program, want, Near::Relative(1e-12));
}

pub fn cases() -> Vec<Case> {
    [losses(), functions(), scalars(), points(), rules()].concat()
}

fn losses() -> Vec<Case> {
    vec![
        case("derivative/grad", "AD-F01", |t| {
            near(t, grad(&Vector::from([1.0, 2.0, -1.0]), cubes), Vector::from([3.0, 12.0, 3.0]));
            near(t, grad(&none(), cubes), none());
        }),
        case("derivative/value-and-grad", "AD-F02", |t| {
            let both = value_and_grad(&Vector::from([1.0, 2.0]), cubes);
            near(t, both, (Scalar::scalar(9.0), Vector::from([3.0, 12.0])));
            near(t, value_and_grad(&none(), cubes), (Scalar::scalar(0.0), none()));
        }),
        case("derivative/hvp", "AD-F08", |t| {
            let (xs, v) = (Vector::from([1.0, 2.0, -1.0]), Vector::from([1.0, 0.5, 2.0]));
            near(t, hvp(&xs, &v, cubes), Vector::from([6.0, 6.0, -12.0]));
            near(t, hvp(&none(), &none(), cubes), none());
        }),
        case("derivative/gradient-of-a-gradient", "AD-F01", |t| {
            let second = grad(&Vector::from([1.0, 2.0]), |xs| grad(xs, cubes).sum());
            near(t, second, Vector::from([6.0, 12.0]));
            let third = grad(&Vector::from([1.0, 2.0]), |xs| grad(xs, |xs| grad(xs, cubes).sum()).sum());
            near(t, third, Vector::from([6.0, 6.0]));
        }),
        case("derivative/check-grad", "AD-F12", |t| {
            // On the interpreter: the case has an executor of programs, and not a backend.
            let interpreter = Interpreter::new();
            let at = (Vector::from([1.0, -2.0]), Scalar::scalar(0.5));
            let loss = |(xs, y): (Acc<Vector<f64>>, Acc<Scalar<f64>>)| cubes(xs.map(|x| x * &y));
            let report = check_grad(&interpreter, &at, loss);
            t.check(report.is_ok_and(|r| (r.compared, r.numbers) == (3, 3)), "the gradient is right");
            let wrong = check_grad_of(&interpreter, &at, loss, |(xs, y)| (xs, y));
            t.check(matches!(wrong, Err(GradError::Wrong(r)) if r.worst.is_some()), "the point is no gradient");
            let empty = check_grad(&interpreter, &none(), cubes);
            t.check(empty.is_ok_and(|r| (r.compared, r.worst) == (0, None)), "nothing to compare");
            // What it compares with on this executor.
            near(t, grad(&at.0, |xs| loss((xs, unit(0.5)))), Vector::from([0.375, 1.5]));
            near(t, grad(&none(), |xs| loss((xs, unit(0.5)))), none());
        }),
    ]
}

fn functions() -> Vec<Case> {
    vec![
        case("derivative/jvp", "AD-F03", |t| {
            let (xs, dxs) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([1.0, 0.0, 10.0]));
            let squares = |xs: Acc<Vector<f64>>| xs.map(|x| x * x);
            near(t, jvp(&xs, &dxs, squares), (Vector::from([1.0, 4.0, 9.0]), Vector::from([2.0, 0.0, 60.0])));
            near(t, jvp(&none(), &none(), squares), (none(), none()));
            t.faults(jvp(&xs, &none(), squares), "check_failed");
        }),
        case("derivative/vjp", "AD-F04 AD-F05", |t| {
            let (xs, by) = (Vector::from([1.0, 2.0, 3.0]), Vector::from([1.0, 10.0, 100.0]));
            let (ys, back) = vjp(&xs, |xs| xs.scanl1(|a, b| a + b));
            near(t, ys, Vector::from([1.0, 3.0, 6.0]));
            near(t, back.apply(&by), Vector::from([111.0, 110.0, 100.0]));
            near(t, back.apply(&xs), Vector::from([6.0, 5.0, 3.0]));
            t.faults(back.apply(&none()), "check_failed");
            let (ys, back) = vjp(&none(), |xs| xs.scanl1(|a, b| a + b));
            near(t, (ys, back.apply(&none())), (none(), none()));
        }),
        case("derivative/linearize", "AD-F06 AD-F07", |t| {
            let (product, slope) = linearize(&Vector::from([2.0, 3.0, 5.0]), |xs| xs.fold(1.0, |a, b| a * b));
            near(t, product, Scalar::scalar(30.0));
            for (along, want) in [([1.0, 0.0, 0.0], 15.0), ([0.0, 1.0, 0.0], 10.0), ([1.0, 1.0, 1.0], 31.0)] {
                near(t, slope.apply(&Vector::from(along)), Scalar::scalar(want));
            }
            let (product, slope) = linearize(&none(), |xs| xs.fold(1.0, |a, b| a * b));
            near(t, (product, slope.apply(&none())), (Scalar::scalar(1.0), Scalar::scalar(0.0)));
        }),
    ]
}

fn scalars() -> Vec<Case> {
    vec![
        case("derivative/deriv", "AD-F09", |t| {
            let both = |x: Exp<f64>| deriv(x, |x| x * x * x);
            near(t, use_(&Vector::from([1.0, 2.0])).map(both), Vector::from([(1.0, 3.0), (8.0, 12.0)]));
            near(t, use_(&none()).map(both), Vector::from([(0.0, 0.0); 0]));
            let second = |x: Exp<f64>| deriv(x, |x| deriv(x, |x| x * x * x).1).1;
            near(t, use_(&Vector::from([1.0, 2.0])).map(second), Vector::from([6.0, 12.0]));
        }),
        case("derivative/stop-gradient-of-scalars", "AD-F10", |t| {
            let loss = |xs: Acc<Vector<f64>>| xs.map(|x| x * x.stop_gradient()).sum();
            near(t, grad(&Vector::from([3.0, 4.0]), loss), Vector::from([3.0, 4.0]));
            near(t, grad(&none(), loss), none());
        }),
        case("derivative/stop-gradient-of-arrays", "AD-F11", |t| {
            let loss = |xs: Acc<Vector<f64>>| xs.zip_with(xs.stop_gradient(), |x, c| x * c).sum();
            near(t, grad(&Vector::from([3.0, 4.0]), loss), Vector::from([3.0, 4.0]));
            near(t, grad(&none(), loss), none());
        }),
    ]
}

fn points() -> Vec<Case> {
    vec![
        case("derivative/points-with-integers", "AD-F01", |t| {
            let at = Vector::from([(2.0, 3i64), (5.0, -1)]);
            let loss = |xs: Acc<Vector<(f64, i64)>>| xs.map(|(x, n)| x * x * n.to::<f64>()).sum();
            near(t, grad(&at, loss), Vector::from([(12.0, ()), (-10.0, ())]));
        }),
        case("derivative/complex-points", "AD-F01", |t| {
            // Of |z|² it is 2 z: the derivatives by both parts.
            let at = Vector::from([Complex::new(3.0, -4.0), Complex::new(0.5, 0.0)]);
            let loss = |zs: Acc<Vector<Complex<f64>>>| zs.map(|z| z.re() * z.re() + z.im() * z.im()).sum();
            near(t, grad(&at, loss), Vector::from([Complex::new(6.0, -8.0), Complex::new(1.0, 0.0)]));
        }),
        case("derivative/without-a-path", "AD-F01", |t| {
            let zero = "the derivative is identically zero";
            t.rejected(grad(&Vector::from([1.5, 2.5]), |xs: Acc<Vector<f64>>| xs.map(|x| x.floor()).sum()), zero);
            let around = use_(&Vector::from([1.5, 2.5]));
            t.rejected(grad(&around, |_: Acc<Vector<f64>>| around.sum()), zero);
        }),
    ]
}

/// Rules that say that the slope of a square is `7 x`.
fn rules() -> Vec<Case> {
    vec![
        case("derivative/with-vjp", "AD-F13", |t| {
            let f = |xs: Acc<Vector<f64>>| {
                let square = |xs: Acc<Vector<f64>>| (xs.map(|x| x * x), xs);
                with_vjp(xs, square, |xs, ybar: Acc<Vector<f64>>| xs.zip_with(ybar, |x, b| x * b * 7.0)).sum()
            };
            near(t, grad(&Vector::from([1.0, 2.0]), f), Vector::from([7.0, 14.0]));
            near(t, grad(&none(), f), none());
        }),
        case("derivative/with-jvp", "AD-F14", |t| {
            let f = |xs: Acc<Vector<f64>>| {
                let rule = |xs: Acc<Vector<f64>>, dxs: Acc<Vector<f64>>| xs.zip_with(dxs, |x, d| x * d * 7.0);
                with_jvp(xs, |xs: Acc<Vector<f64>>| xs.map(|x| x * x), rule).sum()
            };
            near(t, grad(&Vector::from([1.0, 2.0]), f), Vector::from([7.0, 14.0]));
            near(t, grad(&none(), f), none());
        }),
        case("derivative/with-partials", "AD-F15", |t| {
            let f = |xs: Acc<Vector<f64>>| xs.map(|x| with_partials(x, |x| x * x, |x, _| x * 7.0)).sum();
            near(t, grad(&Vector::from([1.0, 2.0]), f), Vector::from([7.0, 14.0]));
            near(t, grad(&none(), f), none());
        }),
        case("derivative/checkpoint", "AD-F16", |t| {
            let f = |xs: Acc<Vector<f64>>| checkpoint(xs, |xs: Acc<Vector<f64>>| xs.map(|x| x * x)).sum();
            near(t, grad(&Vector::from([1.0, 2.0]), f), Vector::from([2.0, 4.0]));
            near(t, grad(&none(), f), none());
        }),
        case("derivative/fixpoint", "AD-F17", |t| {
            // Where x = x / 2 + a: at 2 a.
            let f = |a: Acc<Vector<f64>>| {
                let step = |x: Acc<Vector<f64>>, a: Acc<Vector<f64>>| x.zip_with(a, |x, a| x * 0.5 + a);
                fixpoint(a.map(|_| 0.0f64), a, step, 1e-14).sum()
            };
            near(t, grad(&Vector::from([1.0, 2.0]), f), Vector::from([2.0, 2.0]));
            near(t, grad(&none(), f), none());
        }),
    ]
}
