//! The verifier of plans.
//!
//! * **P1** Every node of the graph is a step, in the order of the graph.
//! * **P2** Operands are parameters or results of earlier steps; a step demands those that may have to be evaluated first.
//! * **P3** A step that frees a value is one that always runs, and its body defines the value. No later step uses it, nor one
//!   that is evaluated on demand, nor does the body yield it. It is freed once, by a step or at the end of the body.
//! * **P4** Memory that is written again is that of an operand that no later step uses.
//! * **P5** What is made as parts is a concatenation that one other concatenation of its body takes, once; this uses the parts.

use super::{Plan, PlannedBody, Step};
use acc_desugar::graph::{Body, Node, Op, Value};
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

    /// The step of a value that is made as parts.
    fn inner(&self, v: Value) -> Option<&Step> {
        self.definition(v).and_then(|id| self.step(id)).filter(|s| s.is_inner)
    }

    /// Adds the parts of what is made as parts.
    fn parts(&self, v: Value, out: &mut HashSet<Value>) {
        if let Some(step) = self.inner(v) {
            for part in step.node.op.operands() {
                out.insert(part);
                acc_core::grow_stack(|| self.parts(part, out));
            }
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
        let mut taken = HashSet::new();
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
                if self.inner(v).is_some() {
                    let fits = matches!(n.op, Op::Concat(..)) && own.contains(&v) && !lazy.contains(&v);
                    if !fits || *on_demand || !taken.insert(v) {
                        return Err(format!("P5: step {id} takes {v}, which is made as parts"));
                    }
                }
            }
            for (inner, planned) in n.op.bodies().into_iter().zip(&step.bodies) {
                acc_core::grow_stack(|| self.verify_body(inner, planned, &there, &lazy))?;
            }
            there.extend(&n.results);
        }
        if let Some(v) = body.results.iter().find(|v| self.inner(**v).is_some()) {
            return Err(format!("P5: a body yields {v}, which is made as parts"));
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
            if matches!(n.op, Op::Concat(..)) {
                n.op.operands().iter().for_each(|v| self.parts(*v, &mut used));
            }
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

#[cfg(test)]
mod tests {
    use super::Plan;

    /// A plan of a loop, a branch on demand and results in place.
    fn plan() -> Plan {
        let text = "program(xs: [1]f32, n: [0]i64) {
            c: [0]i64 = awhile(n, test: |a: [0]i64| { t: [0]bool = map(a, f: |%x: i64| gt(%x, 10i64)) yield t },
              step: |a: [0]i64| { b: [0]i64 = map(a, f: |%x: i64| sub(%x, 3i64)) yield b })
            ys: [1]f32 = map(xs, f: |%x: f32| add(mul(%x, %x), sin(%x)))
            zs: [1]f32 = generate(shape: || extent(ys, 0), f: |%i: i64| { %k = add(%i, c[]) yield ys[%k] })
            yield zs
          }";
        let program = acc_core::text::parse("plan.acc", text).unwrap();
        crate::plan_of(&program).unwrap()
    }

    /// Which rule a changed plan breaks.
    fn broken(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = plan();
        assert_eq!(plan.verify(), Ok(()));
        change(&mut plan);
        plan.verify().unwrap_err()[..2].to_string()
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_found() {
        assert_eq!(broken(|p| p.body.strict.swap(0, 1)), "P1");
        assert_eq!(broken(|p| p.definitions.iter_mut().for_each(|d| *d = None)), "P1");
        assert_eq!(broken(|p| p.graph.body.params.clear()), "P2");
        // What is freed by the step that defines it, and used later.
        let early = |p: &mut Plan| {
            let used = p.steps.iter().find_map(|s| s.last_use_of.first().copied()).unwrap();
            let first = p.definition(used).unwrap_or(p.body.strict[0]);
            p.steps[first].last_use_of.push(used);
        };
        assert_eq!(broken(early), "P3");
        let overwritten = |p: &mut Plan| {
            let yielded = p.body.results[p.body.results.len() - 1];
            let last = *p.body.strict.last().unwrap();
            p.steps[last].overwrites = Some(crate::plan::Place { of: yielded, fits: true });
        };
        assert_eq!(broken(overwritten), "P4");
        let parts = |p: &mut Plan| {
            let last = *p.body.strict.last().unwrap();
            p.steps[last].is_inner = true;
        };
        assert_eq!(broken(parts), "P5");
    }
}
