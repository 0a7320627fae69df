//! What is evaluated: only what the result needs.

use crate::support::{core_of, error_of, run};
use acc_core::prelude::*;

fn reads() -> Acc<Vector<f32>> {
    use_(&Vector::from([1.0f32, 2.0]))
}

/// A loop that never ends, as an expression of the innermost closure.
fn endless() -> Exp<f32> {
    while_(1.0f32, |_| true, |x| x + 1.0)
}

#[test]
fn only_the_branch_taken_is_evaluated() {
    let xs = use_(&Vector::from([5, 6]));
    let guarded = generate(4, |i: Exp<i64>| i.lt(2).then_else(xs.index(i), -1));
    assert_eq!(run(guarded).to_vec(), [5, 6, -1, -1]);
    let divided = use_(&Vector::from([2i32, 0])).map(|x| x.ne(0).then_else(10 / x, 0));
    assert_eq!(run(divided).to_vec(), [5, 0]);
}

/// One read, used under two conditions: neither use makes it unconditional.
#[test]
fn a_read_shared_by_two_branches_stays_in_both() {
    let xs = use_(&Vector::from([5, 6]));
    let p = generate(4, |i: Exp<i64>| cond(i.lt(2), xs.index(i), 0) + cond(i.lt(1), xs.index(i) * 2, 0));
    assert_eq!(run(p).to_vec(), [15, 6, 0, 0]);
}

#[test]
fn a_captured_read_out_of_bounds_that_no_branch_takes() {
    let xs = reads();
    let t = xs.index(5);
    assert_eq!(run(xs.map(|x| x.gt(100.0).then_else(t, 0.0))).to_vec(), [0.0, 0.0]);
    let e = error_of(xs.map(|x| x.gt(1.5).then_else(t, 0.0)));
    assert!(e.to_string().contains("(5,) is out of bounds"), "{e}");
}

#[test]
fn a_captured_division_by_zero_that_no_branch_takes() {
    let (xs, n) = (use_(&Vector::from([1i32, 2])), use_(&Vector::from([0i32, 0])));
    let t = 7 / n.index(0);
    assert_eq!(run(xs.map(|x| x.gt(100).then_else(t, x))).to_vec(), [1, 2]);
    assert_eq!(run(xs.map(|x| x.gt(100).and(t.gt(0)).then_else(1, 2))).to_vec(), [2, 2]);
}

#[test]
fn a_captured_endless_loop_that_no_branch_takes() {
    let (xs, t) = (reads(), endless());
    assert_eq!(run(xs.map(|x| x.gt(100.0).then_else(t, 0.0))).to_vec(), [0.0, 0.0]);
    assert_eq!(run(xs.map(|x| x.gt(100.0).or(x.gt(0.0)).then_else(0.0, t))).to_vec(), [0.0, 0.0]);
}

#[test]
fn a_loop_that_runs_no_step_evaluates_none() {
    let xs = reads();
    let t = xs.index(5);
    assert_eq!(run(xs.map(|x| while_(x, |s| s.gt(100.0), |s| s + t))).to_vec(), [1.0, 2.0]);
}

#[test]
fn a_captured_array_that_no_branch_reads() {
    let xs = reads();
    let broken = xs.backpermute(3, |i| i);
    assert_eq!(run(xs.map(|x| x.gt(100.0).then_else(broken.index(0), x))).to_vec(), [1.0, 2.0]);
    assert_eq!(run(acond(xs.sum().the().gt(0.0), &xs, broken.reshape(2))).to_vec(), [1.0, 2.0]);
    let measured = xs.map(|x| x.gt(100.0).then_else(broken.length(), 0) + x.gt(200.0).then_else(broken.length(), 0));
    assert_eq!(run(measured).to_vec(), [0, 0]);
    let (kept, _) = (xs.map(|x| x + 1.0), broken);
    assert_eq!(run(kept).to_vec(), [2.0, 3.0]);
}

#[test]
fn unused_components_are_not_demanded() {
    let xs = reads();
    let pairs = xs.map(|x| (x, x.gt(100.0).then_else(xs.index(5), 0.0)));
    assert_eq!(run(pairs.map(|(a, _)| a)).to_vec(), [1.0, 2.0]);
}

#[test]
fn an_option_without_a_value_maps_to_the_default() {
    let xs = use_(&Vector::from([4i64, 0]));
    let p = xs.map(|x| x.ne(0).then_some(x).map_or(-1, |v| 100 / v));
    assert_eq!(run(p).to_vec(), [25, -1]);
}

/// Whatever the sharing, no partial node of the core IR stands where its value may not be wanted.
#[test]
fn the_verifier_accepts_what_the_builder_makes() {
    let xs = use_(&Vector::from([3i64, 1]));
    let t = xs.index(7);
    let p = generate(5, |i: Exp<i64>| {
        let a = cond(i.lt(2), xs.index(i), t);
        let b = while_((a, i), |(s, k)| k.lt(3).and(s.lt(t)), |(s, k)| (s + xs.index(k) / a, k + 1));
        cond(i.gt(3), b.0 + a, cond(i.eq(2), a, b.1))
    });
    let _ = core_of(&p);
}
