//! Sums of products of three and more factors: chains of matrix products.
//!
//! A factor along which a sum does not run leaves it: `Σ k, l: (a[i, k] · b[k, l]) · c[l, j]` is `Σ l: (Σ k: a[i, k] · b[k, l]) ·
//! c[l, j]`, two matrix products, and no product of all three is stored. Which factors are multiplied first the program says; where
//! each sum runs follows: over the innermost product both sides of which vary along it.
//!
//! That rounds as sums may, but for numbers that are none or too large: if a result is not finite, the sum as it was written is
//! what counts. A finite result has come of finite numbers alone.

use super::contract;
use crate::graph::builder::Builder;
use crate::graph::{Body, Op, ReduceOp, Value};
use acc_core::ir::PrimOp;

/// The sum of a contraction along one more axis, along which one factor varies, itself a product.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Reduce(ReduceOp::Sum, rows) = *op else { return None };
    let finite = if_finite(b, rows).unwrap_or(rows);
    let sums = factored(b, finite)?;
    let [nan, infinite] = [PrimOp::IsNanP, PrimOp::IsInfiniteP].map(|p| b.prim(p, &[sums]));
    let bad = b.prim(PrimOp::OrP, &[nan, infinite]);
    let bad = b.any(bad);
    b.open();
    let general = b.reduce(ReduceOp::Sum, rows);
    let general = b.close(vec![general]);
    let chain = Body { params: Vec::new(), nodes: Vec::new(), results: vec![sums] };
    Some(b.if_(bad, general, chain)[0])
}

/// What a value that this rule has made is where it is finite.
fn if_finite(b: &Builder, v: Value) -> Option<Value> {
    let Op::If { cond, else_, .. } = b.def(v)? else { return None };
    let Op::AnyLane(bad) = b.def(*cond)? else { return None };
    let Op::Prim(PrimOp::OrP, tests) = b.def(*bad)? else { return None };
    let [sums] = else_.results[..] else { return None };
    let tests_it =
        |(test, p): (&Value, PrimOp)| matches!(b.def(*test), Some(Op::Prim(q, args)) if *q == p && args[..] == [sums]);
    tests.iter().zip([PrimOp::IsNanP, PrimOp::IsInfiniteP]).all(tests_it).then_some(sums)
}

/// The sum of a contraction along the axis before those that it sums, which goes to the one factor that varies along it.
fn factored(b: &mut Builder, rows: Value) -> Option<Value> {
    let mut checked = Vec::new();
    let contraction = b.unchecked(rows, &mut checked);
    let Op::Contract { left, right, mask: None, axes } = *b.def(contraction)? else { return None };
    let axis = b.rank(left) as u32 - axes - 1;
    let varies = [left, right].map(|x| b.axes(x) >> axis & 1 == 1);
    let (inner, other) = match varies {
        [true, false] => (left, right),
        [false, true] => (right, left),
        _ => return None,
    };
    let inner = summed(b, inner, axis)?;
    let first = b.size(0);
    let other = b.select(other, axis, first);
    let [left, right] = if varies[0] { [inner, other] } else { [other, inner] };
    let sums = b.contract(left, right, None, axes);
    Some(b.after_checks(sums, checked))
}

/// The sums of a product along an axis.
fn summed(b: &mut Builder, product: Value, axis: u32) -> Option<Value> {
    let mut checked = Vec::new();
    let x = b.unchecked(product, &mut checked);
    let sums = match *b.def(x)? {
        Op::Prim(PrimOp::MulP, _) => {
            let rows = moved(b, x, axis, b.rank(x) as u32 - 1);
            contract::rule(b, &Op::Reduce(ReduceOp::Sum, rows))?
        }
        Op::Contract { left, right, mask: None, axes } => {
            let last = b.rank(left) as u32 - axes - 1;
            let [left, right] = [left, right].map(|x| moved(b, x, axis, last));
            let rows = b.contract(left, right, None, axes);
            match contract::rule(b, &Op::Reduce(ReduceOp::Sum, rows)) {
                Some(sums) => sums,
                None => factored(b, rows)?,
            }
        }
        _ => return None,
    };
    Some(b.after_checks(sums, checked))
}

/// A tensor with one axis moved to a later place.
fn moved(b: &mut Builder, x: Value, axis: u32, to: u32) -> Value {
    let mut order: Vec<u32> = (0..b.rank(x) as u32).filter(|k| *k != axis).collect();
    order.insert(to as usize, axis);
    b.transpose(x, &order)
}
