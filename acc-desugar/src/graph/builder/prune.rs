//! Nodes that nothing needs.

use crate::graph::{Body, Op, Value};
use std::collections::HashSet;

/// Removes nodes that no result needs.
pub(super) fn prune(body: &mut Body) {
    prune_within(body, &mut HashSet::new());
}

/// The same; `live` are the values that the bodies around need.
fn prune_within(body: &mut Body, live: &mut HashSet<Value>) {
    live.extend(body.results.iter().copied());
    let mut kept = Vec::new();
    for mut n in std::mem::take(&mut body.nodes).into_iter().rev() {
        // A value whose only use is to wait for a check is not needed.
        if let Op::Checked { values, .. } = &mut n.op {
            let mut needed = n.results.iter().map(|r| live.contains(r));
            values.retain(|_| needed.next() == Some(true));
            n.results.retain(|r| live.contains(r));
        }
        if n.results.iter().any(|r| live.contains(r)) {
            live.extend(n.op.operands());
            for b in n.op.bodies_mut() {
                acc_core::grow_stack(|| prune_within(b, live));
            }
            kept.push(n);
        }
    }
    kept.reverse();
    body.nodes = kept;
}
