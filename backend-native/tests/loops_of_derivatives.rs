//! What the reverse derivative of a loop costs, in evaluations of the loop's step.

use acc_core::prelude::*;
use backend_native::{Native, Options};
use std::sync::atomic::{AtomicUsize, Ordering};

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// How often the step of a loop of so many is evaluated, by its value and its gradient. The state may change its extents in the first
/// step.
fn evaluations(steps: i64, kept: usize, grows: bool) -> usize {
    let next = |x: f64| 0.5 * x + (0.3 * x).cos();
    let step = ForeignAcc::<Scalar<f64>, Scalar<f64>>::new("test.step", move |x: Scalar<f64>| {
        STEPS.fetch_add(1, Ordering::Relaxed);
        Ok(Scalar::scalar(next(x.value())))
    });
    let of = |x: Acc<Scalar<f64>>| {
        let step =
            |x: Acc<Scalar<f64>>| foreign_acc(&step, |x: Acc<Scalar<f64>>| x.map(|x| x * 0.5 + (x * 0.3).cos()), &x);
        // Parts of 1, which is what the state is multiplied with.
        let parts = |n: Exp<i64>| generate(n, move |_| lift(1.0) / n.to::<f64>());
        let (end, ..) = awhile(
            (x, parts(lift(1)), unit(0i64)),
            |(_, _, n): (Acc<Scalar<f64>>, Acc<Vector<f64>>, Acc<Scalar<i64>>)| n.map(|n| n.lt(steps)),
            |(x, v, n): (Acc<Scalar<f64>>, Acc<Vector<f64>>, Acc<Scalar<i64>>)| {
                let next = step(x).zip_with(v.sum(), |x, one| x * one);
                (next, parts(if grows { lift(2) } else { v.length() }), n.map(|n| n + 1))
            },
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

/// A thousand steps one by one with room for 8 states: the loop itself, and four times in all to go back.
#[test]
fn steps_are_evaluated_again_as_the_binomial_schedule_says() {
    assert_eq!(evaluations(1000, 8, true), 1000 + 3999);
    assert_eq!(evaluations(1000, 32, true), 1000 + 2370);
    // Room for all states.
    assert_eq!(evaluations(20, 30, true), 20 + 19);
    // Room for none: each step from the first one.
    assert_eq!(evaluations(20, 0, true), 20 + 190);
    for (steps, grows) in [(0, true), (1, true), (0, false), (1, false)] {
        assert_eq!(evaluations(steps, 8, grows), steps as usize);
    }
    // In segments of 128 steps, the last one of 104: to the beginning of the last one, and through all but the last step of each.
    assert_eq!(evaluations(1000, 8, false), 1000 + 896 + 992);
    assert_eq!(evaluations(20, 0, false), 20 + 19);
    // Without room for what is before segments: from the first step to each of them.
    assert_eq!(evaluations(300, 0, false), 300 + (44 + 172) + 297);
}
