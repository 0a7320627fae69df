//! What networks are made of: folds over chosen axes, windows, losses, steps of optimisers.

mod folds;
mod moves;
mod training;
mod windows;

use super::{Case, Check, case, host};
use crate::compare::Near;
use acc_core::prelude::*;

/// Every case of the folder.
pub fn cases() -> Vec<Case> {
    [folds::cases(), moves::cases(), training::cases(), windows::cases()].concat()
}

/// The gradient of a loss: right by differences of the loss, and the same on the executor under test.
#[track_caller]
fn gradient<A: Point, R: IntoAcc<Scalar<f64>>>(t: &mut Check<'_>, at: &A, loss: impl Fn(A::Acc) -> R) {
    let report = check_grad(&Interpreter::new(), at, &loss);
    t.check(report.as_ref().is_ok_and(|r| r.compared > 0), &format!("{:?}", report.map_err(|e| e.to_string())));
    let g: Acc<A::Tan> = grad(embedded(at), &loss).into_acc();
    match Interpreter::new().run::<A::Tan>(&g) {
        Ok(want) => t.gives_within(g, want, Near::Relative(1e-9)),
        Err(e) => t.check(false, &e.to_string()),
    }
}

/// Numbers between -1 and 1 without a pattern.
fn numbers(seed: usize, n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |k| ((k * k * 31 + k * 17 + seed * 7) % 41) as f64 / 20.0 - 1.0)
}
