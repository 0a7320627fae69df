//! Rule `invariants`: total code that does not depend on a loop stands before it.
//!
//! After the pass, a loop's regions hold no such node except literals that nothing outside uses.

use super::walk::{invariants, is_speculable, try_map_funs};
use crate::settings::Settings;
use acc_core::ir::{Node, Program, Region, ScalarOp};
use acc_core::{Error, RunLimits};
use std::borrow::Cow;

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
    let moved = invariants(
        &r.nodes,
        &r.params,
        |n| n.op.operands().into_vec(),
        |n| &n.results,
        |n| is_speculable(&n.op),
        // A literal alone is nothing to save; it leaves with what needs it.
        |n| !matches!(n.op, ScalarOp::Const(_)),
    );
    let mut moves = moved.into_iter();
    let (out, stay) = std::mem::take(&mut r.nodes).into_iter().partition(|_| moves.next().unwrap_or(false));
    r.nodes = stay;
    before.extend::<Vec<Node>>(out);
}
