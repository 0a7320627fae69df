//! Which nodes of a body are evaluated whenever the body is.

use acc_desugar::graph::{Body, Value};
use std::collections::HashSet;

/// For each node of a body whether the body's results certainly need it. The others are evaluated on demand.
pub(super) fn certain(body: &Body) -> Vec<bool> {
    let mut needed: HashSet<Value> = body.results.iter().copied().collect();
    let mut certain = vec![false; body.nodes.len()];
    for (n, certain) in body.nodes.iter().zip(&mut certain).rev() {
        if n.results.iter().any(|r| needed.contains(r)) {
            *certain = true;
            needed.extend(n.op.operands());
        }
    }
    certain
}
