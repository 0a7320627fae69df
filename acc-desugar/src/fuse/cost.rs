//! What computing an element costs, and whether it may fault or run on.

use super::STORE;
use crate::analysis::cost::prim_cost;
use crate::analysis::guards::reads_are_guarded;
use acc_core::ir::{ArrayId, ArrayOp, Fun, PrimOp, ScalarOp, StencilInput, Stmt, Val};

/// What is known of a statement's element, or of all that a kernel computes.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Facts {
    /// In additions over a vector of lanes.
    pub cost: usize,
    /// Nodes of its body.
    pub nodes: usize,
    /// Whether it may fault.
    pub can_fault: bool,
    /// Whether it may not end.
    pub loops: bool,
}

impl Facts {
    /// Of both together, the second one in so many copies.
    pub(super) fn with(self, other: Facts, copies: usize) -> Facts {
        Facts {
            cost: self.cost.saturating_add(other.cost.saturating_mul(copies)),
            nodes: self.nodes.saturating_add(other.nodes.saturating_mul(copies)),
            can_fault: self.can_fault || other.can_fault,
            loops: self.loops || other.loops,
        }
    }
}

/// Of a statement alone.
pub(super) fn facts(s: &Stmt) -> Facts {
    let mut out = Facts::default();
    for (role, f) in s.op.funs() {
        if s.op.is_closed(role) {
            continue;
        }
        let times = match &s.op {
            ArrayOp::Stencil { inputs, .. } if role == "boundary" => reads(inputs),
            _ => 1,
        };
        add(f, times, &mut out);
    }
    if let ArrayOp::Stencil { inputs, .. } = &s.op {
        let reads = reads(inputs);
        out.cost += 2 * reads;
        out.nodes += 3 * reads;
    }
    if let ArrayOp::Backpermute { shape, index, xs } = &s.op {
        out.can_fault = !is_inside(shape, index, *xs);
    }
    if is_copy(s) {
        out.cost = 0;
    }
    // Reading several leaves to yield fewer costs more than reading what was stored.
    if let ArrayOp::Map { xs, f, .. } = &s.op {
        out.cost += 2 * xs.len().saturating_sub(f.body.results.len().max(1));
    }
    out
}

/// Whether each element is one of another array, at some of the point's coordinates: to read that again is to read a stored copy.
fn is_copy(s: &Stmt) -> bool {
    let ArrayOp::Generate { f, .. } = &s.op else { return false };
    let [node] = &f.body.nodes[..] else { return false };
    let ScalarOp::Index(read) = &node.op else { return false };
    read.index.iter().all(|v| f.body.params.contains(v)) && node.results[..] == f.body.results[..]
}

/// Whether a backpermute reads along each axis of an array at the position along some axis of its result that is no longer:
/// no index is out of bounds. The beginning of each row is that, and a transposition.
fn is_inside(shape: &Fun, index: &Fun, xs: ArrayId) -> bool {
    index.body.results.iter().enumerate().all(|(axis, v)| {
        let from = index.body.params.iter().position(|p| p == v);
        from.is_some_and(|from| is_within(shape, shape.body.results[from], xs, axis))
    })
}

/// Whether a number is no greater than the extent of an array along an axis.
fn is_within(f: &Fun, v: Val, xs: ArrayId, axis: usize) -> bool {
    f.body.definition(v).is_some_and(|n| {
        let whole = matches!(n.op, ScalarOp::Extent { array, axis: a } if array == xs && a as usize == axis);
        let less = |args: &[Val]| args.iter().any(|&a| is_within(f, a, xs, axis));
        whole || matches!(&n.op, ScalarOp::Prim(PrimOp::MinP, args) if less(args))
    })
}

/// How many elements a stencil reads for one of its result.
fn reads(inputs: &[StencilInput]) -> usize {
    inputs.iter().map(StencilInput::neighbours).sum()
}

fn add(f: &Fun, times: usize, out: &mut Facts) {
    out.can_fault |= !reads_are_guarded(f);
    f.body.visit(0, &mut |n, _| {
        out.nodes += times;
        match &n.op {
            ScalarOp::Prim(p, _) => {
                out.cost += times * prim_cost(*p);
                out.can_fault |= p.is_partial();
            }
            ScalarOp::Index(_) => out.cost += 4 * times,
            ScalarOp::While { .. } => {
                out.cost += 100 * times;
                out.loops = true;
            }
            // A host function may do anything, but is expected to end.
            ScalarOp::Own(_) => {
                out.cost += 100 * times;
                out.can_fault = true;
            }
            ScalarOp::If { .. } => out.cost += 4 * times,
            ScalarOp::Cast(_) | ScalarOp::Bitcast(_) | ScalarOp::Select { .. } => out.cost += times,
            ScalarOp::Const(_) | ScalarOp::Extent { .. } => {}
        }
    });
}

/// Whether work of this cost may be done `times` times in place of once, when consumers do `again` more again.
pub(super) fn is_cheaper_than_memory(cost: usize, times: usize, again: usize) -> Option<usize> {
    let all = cost.saturating_mul(times.saturating_sub(1)).saturating_add(again);
    (times <= 1 || all <= STORE).then_some(all)
}
