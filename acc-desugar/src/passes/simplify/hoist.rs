//! Rule `invariants`: total code that does not depend on a loop stands before it.
//!
//! After the pass, a loop's regions hold no such node except literals that nothing outside uses.

use super::walk::{is_speculable, try_map_funs};
use crate::settings::Settings;
use acc_core::ir::{Foreign, Fun, Node, Program, Region, ScalarOp, Val};
use acc_core::{Error, RunLimits};
use std::borrow::Cow;
use std::collections::HashSet;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("invariants") {
        return Ok(Cow::Borrowed(p));
    }
    try_map_funs(p, &mut |f| {
        limits.check()?;
        Ok(Fun { types: f.types.clone(), body: region(&f.body, limits)? })
    })
    .map(Cow::Owned)
}

fn region(r: &Region, limits: &RunLimits) -> Result<Region, Error> {
    let inner = |r| acc_core::grow_stack(|| region(r, limits));
    let mut nodes = Vec::new();
    for n in &r.nodes {
        let op = match &n.op {
            ScalarOp::If { cond, then, else_ } => {
                ScalarOp::If { cond: *cond, then: inner(then)?, else_: inner(else_)? }
            }
            ScalarOp::While { init, test, step } => {
                // Inner loops first: what leaves them may leave this one too.
                let (mut test, mut step) = (inner(test)?, inner(step)?);
                // Loops within loops are looked through once for each loop around them.
                limits.check()?;
                leave(&mut test, &mut nodes);
                leave(&mut step, &mut nodes);
                ScalarOp::While { init: init.clone(), test, step }
            }
            ScalarOp::Own(Foreign { name, args, fallback }) => {
                ScalarOp::Own(Foreign { name: name.clone(), args: args.clone(), fallback: inner(fallback)? })
            }
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => n.op.clone(),
        };
        nodes.push(Node { results: n.results.clone(), op, loc: n.loc.clone() });
    }
    Ok(Region { params: r.params.clone(), nodes, results: r.results.clone() })
}

/// Moves the invariant nodes of a loop's region to the end of `before`.
fn leave(r: &mut Region, before: &mut Vec<Node>) {
    let mut inside: HashSet<Val> = r.params.iter().copied().collect();
    let mut moved: Vec<bool> = Vec::with_capacity(r.nodes.len());
    for n in &r.nodes {
        let invariant = is_speculable(&n.op) && n.op.operands().iter().all(|v| !inside.contains(v));
        if !invariant {
            inside.extend(n.results.iter().copied());
        }
        moved.push(invariant);
    }
    // A literal alone is nothing to save; it leaves with what needs it.
    let mut needed: HashSet<Val> = HashSet::new();
    for (n, moves) in r.nodes.iter().zip(&mut moved).rev() {
        let literal = matches!(n.op, ScalarOp::Const(_));
        *moves &= !literal || n.results.iter().any(|v| needed.contains(v));
        if *moves {
            needed.extend(n.op.operands());
        }
    }
    let mut moves = moved.into_iter();
    let (out, stay) = std::mem::take(&mut r.nodes).into_iter().partition(|_| moves.next().unwrap_or(false));
    r.nodes = stay;
    before.extend::<Vec<Node>>(out);
}
