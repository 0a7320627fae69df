//! The verifier of plans.
//!
//! * **P1** Every node of the graph is a step, in the order of the graph.
//! * **P2** Operands are parameters or results of earlier steps; a step demands those that may have to be evaluated first.
//! * **P3** A step that frees a value is one that always runs, and its body defines the value. No later step uses it, nor one
//!   that is evaluated on demand, nor does the body yield it. It is freed once, by a step or at the end of the body.
//! * **P4** Memory that is written again is that of an operand that no later step uses.

use super::{Plan, PlannedBody, Step};
use acc_desugar::graph::{Body, Node, Value};
use std::collections::HashSet;

/// Which rule is broken, and where.
type Broken = String;

impl Plan {
    /// Checks the rules.
    pub fn verify(&self) -> Result<(), String> {
        self.verify_body(&self.graph.body, &self.body, &HashSet::new(), &HashSet::new())
    }

    /// The step that a node is.
    fn step_of(&self, n: &Node) -> Result<(usize, &Step), Broken> {
        let id = n.results.first().and_then(|r| self.definition(*r));
        let step = id.and_then(|id| Some((id, self.step(id)?)));
        match step {
            Some((id, step)) if step.node.results == n.results => Ok((id, step)),
            _ => Err(format!("P1: `{}` at {} is no step", n.op.name(), n.loc)),
        }
    }

    /// Checks a body around which these values are there, some of them `lazy`: evaluated on demand.
    fn verify_body(
        &self,
        body: &Body,
        planned: &PlannedBody,
        around: &HashSet<Value>,
        lazy: &HashSet<Value>,
    ) -> Result<(), Broken> {
        let own: HashSet<Value> =
            body.params.iter().chain(body.nodes.iter().flat_map(|n| &n.results)).copied().collect();
        let (mut there, mut lazy) = (around.clone(), lazy.clone());
        there.extend(&body.params);
        let mut steps = Vec::new();
        for n in &body.nodes {
            let (id, step) = self.step_of(n)?;
            let on_demand = !step.is_literal() && planned.strict.binary_search(&id).is_err();
            if on_demand {
                lazy.extend(&n.results);
            }
            steps.push((id, step, on_demand));
        }
        let mut strict = planned.strict.iter();
        for (n, (id, step, on_demand)) in body.nodes.iter().zip(&steps) {
            if !step.is_literal() && !on_demand && strict.next() != Some(id) {
                return Err(format!("P1: step {id} runs out of order"));
            }
            for v in n.op.operands() {
                if !there.contains(&v) {
                    return Err(format!("P2: step {id} uses {v} before it is there"));
                }
                if lazy.contains(&v) && !step.demands.contains(&v) {
                    return Err(format!("P2: step {id} does not demand {v}"));
                }
            }
            for (inner, planned) in n.op.bodies().into_iter().zip(&step.bodies) {
                acc_core::grow_stack(|| self.verify_body(inner, planned, &there, &lazy))?;
            }
            there.extend(&n.results);
        }
        let mut used: HashSet<Value> = body.results.iter().chain(&planned.values).copied().collect();
        for (n, (_, _, on_demand)) in body.nodes.iter().zip(&steps) {
            if *on_demand {
                uses(n, &mut used);
            }
        }
        for (n, (id, step, on_demand)) in body.nodes.iter().zip(&steps).rev() {
            if let Some(place) = step.overwrites
                && (used.contains(&place.of) || !n.op.operands().contains(&place.of))
            {
                return Err(format!("P4: step {id} writes to the memory of {}", place.of));
            }
            for v in &step.last_use_of {
                if *on_demand || !own.contains(v) || !used.insert(*v) {
                    return Err(format!("P3: step {id} frees {v}"));
                }
            }
            uses(n, &mut used);
        }
        Ok(())
    }
}

/// Adds what a node uses, itself or inside its bodies.
fn uses(n: &Node, out: &mut HashSet<Value>) {
    out.extend(n.op.operands());
    for b in n.op.bodies() {
        out.extend(&b.results);
        for n in &b.nodes {
            acc_core::grow_stack(|| uses(n, out));
        }
    }
}
