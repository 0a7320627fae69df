//! Rule `invariants`: total code that does not depend on a loop stands before it.
//!
//! After the pass, a loop's regions hold no such node except literals that nothing outside uses.

use super::walk::{is_speculable, try_map_funs};
use crate::settings::Settings;
use acc_core::ir::{Node, Program, Region, ScalarOp, Val};
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
    try_map_funs(p, &mut |_, f| {
        limits.check()?;
        let mut f = f.clone();
        region(&mut f.body, limits)?;
        Ok(f)
    })
    .map(Cow::Owned)
}

fn region(r: &mut Region, limits: &RunLimits) -> Result<(), Error> {
    for mut n in std::mem::take(&mut r.nodes) {
        // Inner loops first: what leaves them may leave this one too.
        n.op.regions_mut().into_iter().try_for_each(|inner| acc_core::grow_stack(|| region(inner, limits)))?;
        if let ScalarOp::While { test, step, .. } = &mut n.op {
            // Loops within loops are looked through once for each loop around them.
            limits.check()?;
            leave(test, &mut r.nodes);
            leave(step, &mut r.nodes);
        }
        r.nodes.push(n);
    }
    Ok(())
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
