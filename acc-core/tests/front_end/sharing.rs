//! Programs are graphs: their size is that of what the user wrote, not of its expansion.

use crate::support::{core_of, count, count_nodes, error_of, function, run};
use acc_core::ir::{Program, ScalarOp};
use acc_core::prelude::*;

/// How often the function of elements reads an array.
fn reads(p: &Program) -> usize {
    let mut n = 0;
    function(p, "f").body.visit(0, &mut |node, _| n += usize::from(matches!(node.op, ScalarOp::Index(_))));
    n
}

#[test]
fn two_hundred_squarings_are_401_nodes() {
    let xs = use_(&Vector::from([1.000001f64]));
    let p = xs.map(|x| (0..200).fold(x, |y, _| y * y + y));
    let program = core_of(&p);
    // 400 operations and the parameter.
    assert_eq!(count_nodes(&function(&program, "f").body) + 1, 401);
    run(xs.map(|x| (0..40).fold(x, |y, _| y * y + y)));
}

#[test]
fn what_is_written_twice_is_one_node() {
    let xs = use_(&Vector::from([1.0f64]));
    let p = xs.map(|x| (x * x + 1.0) * (x * x + 1.0));
    assert_eq!(count_nodes(&function(&core_of(&p), "f").body), 4);
}

#[test]
fn deep_chains() {
    let xs = use_(&Vector::from([1i64]));
    assert_eq!(run(xs.map(|x| (0..20_000).fold(x, |y, _| y + x))).to_vec(), [20_001]);
    let deep = (0..3_000).fold(xs.clone(), |a, _| a.map(|x| x + 1));
    assert_eq!(run(&deep).to_vec(), [3_001]);
}

#[test]
fn wide_graphs() {
    let xs = use_(&Vector::from([1i64, 2]));
    let p = xs.map(|x| {
        let layer: Vec<Exp<i64>> = (0..500).map(|k| x * k).collect();
        layer.iter().map(|a| *a + layer[0]).sum::<Exp<i64>>()
    });
    assert_eq!(run(p).to_vec(), [124_750, 249_500]);
    // Each array uses the two before it.
    let (mut a, mut b) = (xs.clone(), xs.clone());
    for _ in 0..60 {
        (a, b) = (a.zip_with(&b, |x, y| x + y), a);
    }
    assert_eq!(core_of(&a).body.stmts.len(), 60);
    let _ = run(&a);
}

#[test]
fn equal_array_operations_are_one_statement() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let p = xs.map(|x| x + 1.0).zip_with(xs.map(|x| x + 1.0), |a, b| a * b);
    assert_eq!(core_of(&p).body.stmts.len(), 2);
}

/// A read that may fault, under conditions that depend on it themselves.
#[test]
fn a_chain_of_conditionals_over_a_shared_read() {
    let xs = use_(&Vector::from([3i64, -1, 4]));
    let p = |levels: usize| {
        generate(3, |i: Exp<i64>| {
            let c = i.lt(2);
            let mut v = xs.index(i);
            for _ in 0..levels {
                let r = cond(c, v, 0);
                v = cond(r.gt(0), v, r);
            }
            v
        })
    };
    assert_eq!(run(p(6)).to_vec(), [3, -1, 0]);
    // Each level doubles the copies of the one before: a clear error, not a machine out of memory.
    let e = error_of(p(25));
    assert!(e.to_string().contains("too many copies") && e.to_string().contains("sharing.rs"), "{e}");
}

/// The same with divisions that depend on the branch before: nothing of it is total.
#[test]
fn a_chain_of_guarded_divisions() {
    let xs = use_(&Vector::from([100i64, 0]));
    let p = xs.map(|x| {
        let mut v = x;
        for k in 1..=25 {
            let d = 1_000 / v;
            v = cond(v.gt(k), d + v, cond(v.ne(0), d - v, v));
        }
        v
    });
    let program = core_of(&p);
    let divisions = count(&program, |op| matches!(op, ScalarOp::Prim(acc_core::ir::PrimOp::QuotP, _)));
    assert!(divisions <= 50, "{divisions} divisions");
    assert_eq!(run(&p).to_vec()[1], 0);
}

/// Nested the other way: each conditional stands in a branch of the next.
#[test]
fn nested_conditionals_share_a_partial_value() {
    let xs = use_(&Vector::from([1i64, 2]));
    let p = generate(2, |i: Exp<i64>| {
        let v = xs.index(i);
        (0..25).fold(v, |acc, k| cond(i.gt(k), acc, acc + v))
    });
    let program = core_of(&p);
    // Both branches need it, so it is read before them.
    assert_eq!(reads(&program), 1);
    let nodes = count_nodes(&function(&program, "f").body);
    assert!(nodes < 120, "{nodes} nodes");
    assert_eq!(run(p).to_vec(), [26, 50]);
}

/// Needed by both branches of an inner conditional that is in one branch of the outer: read in that branch, once.
#[test]
fn what_both_branches_need_is_evaluated_once() {
    let xs = use_(&Vector::from([1i64, 2]));
    let p = generate(4, |i: Exp<i64>| {
        let v = xs.index(i);
        cond(i.lt(2), cond(i.lt(1), v + 1, v * v), 0)
    });
    let program = core_of(&p);
    assert_eq!(reads(&program), 1);
    assert_eq!(run(p).to_vec(), [2, 4, 0, 0]);
}

/// A value that one branch alone needs is evaluated there, also if the other branch needs a part of it.
#[test]
fn only_what_both_branches_need_is_hoisted() {
    let xs = use_(&Vector::from([6i64, 0]));
    let p = generate(2, |i: Exp<i64>| {
        let x = xs.index(i);
        x.gt(0).then_else(12 / x + x, cond(x.lt(0), 12 / x, 1))
    });
    assert_eq!(run(p).to_vec(), [8, 1]);
}

#[test]
fn array_branches_within_each_other_overflow_no_stack() {
    let xs = use_(&Vector::from([1i64, 2]));
    let p = (0..1_000).fold(xs.clone(), |a, k| acond(xs.index(0).gt(k), a.map(|x| x + k), &xs));
    assert_eq!(run(p).to_vec(), [1, 2]);
}
