//! What the reverse derivative of a loop costs, in evaluations of the loop's step.

use acc_core::prelude::*;
use backend_native::{Native, Options};
use std::sync::atomic::{AtomicUsize, Ordering};

static STEPS: AtomicUsize = AtomicUsize::new(0);

/// What of a loop's state steps back read beside a number: so many numbers, and whether the first step makes two of them.
#[derive(Clone, Copy)]
struct State {
    numbers: usize,
    grows: bool,
}

const NARROW: State = State { numbers: 1, grows: false };
/// Histories have room for 128 of them.
const WIDE: State = State { numbers: 1024, grows: false };
const GROWS: State = State { numbers: 1, grows: true };

/// How often the step of a loop of so many is evaluated, by its value and its gradient.
fn evaluations(steps: i64, kept: usize, state: State) -> usize {
    let next = |x: f64| 0.5 * x + (0.3 * x).cos();
    let step = ForeignAcc::<Scalar<f64>, Scalar<f64>>::new("test.step", move |x: Scalar<f64>| {
        STEPS.fetch_add(1, Ordering::Relaxed);
        Ok(Scalar::scalar(next(x.value())))
    });
    let of = |x: Acc<Scalar<f64>>| {
        let step =
            |x: Acc<Scalar<f64>>| foreign_acc(&step, |x: Acc<Scalar<f64>>| x.map(|x| x * 0.5 + (x * 0.3).cos()), &x);
        // So many equal numbers, whose squares add to 1. They depend on another one, but do not change with it.
        let parts = |n: Exp<i64>, on: Exp<f64>| {
            let part = on * 0.0 + lift(1.0) / n.to::<f64>().sqrt();
            generate(n, move |_| part)
        };
        let first = parts(lift(state.numbers as i64), x.the());
        let (end, ..) = awhile(
            (x, first, unit(0i64)),
            |(_, _, n): (Acc<Scalar<f64>>, Acc<Vector<f64>>, Acc<Scalar<i64>>)| n.map(|n| n.lt(steps)),
            |(x, v, n): (Acc<Scalar<f64>>, Acc<Vector<f64>>, Acc<Scalar<i64>>)| {
                let next = step(x).zip_with(v.map(|x| x * x).sum(), |x, one| x * one);
                let length = if state.grows { lift(2) } else { v.length() };
                (next, parts(length, v.index(0)), n.map(|n| n + 1))
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
    // The histories of the loop itself have room for all steps.
    for (steps, kept) in [(0, 8), (1, 8), (20, 0), (1000, 8)] {
        assert_eq!(evaluations(steps, kept, NARROW), steps as usize);
    }
    // Each step back evaluates its step.
    assert_eq!(evaluations(1000, 8, GROWS), 1000 + 3999 + 1000);
    assert_eq!(evaluations(1000, 32, GROWS), 1000 + 2370 + 1000);
    // Room for all states.
    assert_eq!(evaluations(20, 30, GROWS), 20 + 19 + 20);
    // Room for none: each step from the first one.
    assert_eq!(evaluations(20, 0, GROWS), 20 + 190 + 20);
    for steps in [0, 1] {
        assert_eq!(evaluations(steps, 8, GROWS), 2 * steps as usize);
    }
    // The last 128 are in the histories. The 872 before them in segments of 128, the last one of 104: to the beginning of the last one,
    // and through each.
    assert_eq!(evaluations(1000, 8, WIDE), 1000 + 768 + 872);
    // Without room for what is before segments: from the first step to each of them.
    assert_eq!(evaluations(300, 0, WIDE), 300 + 44 + 172);
}
