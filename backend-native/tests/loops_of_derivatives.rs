//! What the reverse derivative of a loop costs, in evaluations of the loop's step.

use acc_core::prelude::*;
use backend_native::{Native, Options};
use std::sync::atomic::{AtomicUsize, Ordering};

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// How often the step of a loop of so many is evaluated, by its value and its gradient.
fn evaluations(steps: i64, kept: usize) -> usize {
    let next = |x: f64| 0.5 * x + (0.3 * x).cos();
    let step = ForeignAcc::<Scalar<f64>, Scalar<f64>>::new("test.step", move |x: Scalar<f64>| {
        STEPS.fetch_add(1, Ordering::Relaxed);
        Ok(Scalar::scalar(next(x.value())))
    });
    let of = |x: Acc<Scalar<f64>>| {
        let step =
            |x: Acc<Scalar<f64>>| foreign_acc(&step, |x: Acc<Scalar<f64>>| x.map(|x| x * 0.5 + (x * 0.3).cos()), &x);
        let (end, _) = awhile(
            (x, unit(0i64)),
            |(_, n): (Acc<Scalar<f64>>, Acc<Scalar<i64>>)| n.map(|n| n.lt(steps)),
            |(x, n): (Acc<Scalar<f64>>, Acc<Scalar<i64>>)| (step(x), n.map(|n| n + 1)),
        );
        end
    };
    let native = Native::with(Options::new().kept_states(kept)).expect("an executor");
    STEPS.store(0, Ordering::Relaxed);
    let (end, slope) = native.run(value_and_grad(unit(1.0), of)).unwrap_or_else(|e| panic!("{e}"));
    let (mut x, mut dx) = (1.0, 1.0);
    for _ in 0..steps {
        (x, dx) = (next(x), dx * (0.5 - 0.3 * (0.3 * x).sin()));
    }
    assert!((end.value() - x).abs() < 1e-12 && (slope.value() - dx).abs() <= 1e-12 * dx.abs(), "{steps}, {kept}");
    STEPS.load(Ordering::Relaxed)
}

/// A thousand steps with room for 8 states: the loop itself, and four times in all to go back.
#[test]
fn steps_are_evaluated_again_as_the_binomial_schedule_says() {
    assert_eq!(evaluations(1000, 8), 1000 + 3999);
    assert_eq!(evaluations(1000, 32), 1000 + 2370);
    // Room for all states.
    assert_eq!(evaluations(20, 30), 20 + 19);
    // Room for none: each step from the first one.
    assert_eq!(evaluations(20, 0), 20 + 190);
    for steps in [0, 1] {
        assert_eq!(evaluations(steps, 8), steps as usize);
    }
}
