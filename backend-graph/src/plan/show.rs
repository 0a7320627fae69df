//! Plans as text.

use super::{Plan, PlannedBody};
use crate::export::{attributes, roles};
use acc_desugar::graph::{Body, Shapes, Value};
use std::fmt::{self, Display, Formatter};

/// One step a line, bodies indented: what it computes, what it frees, whose memory it takes over, whether it is made as parts
/// of what takes it, and where it is the first of some that may go through large tensors in blocks, how many more these are.
impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let show = Show { plan: self, shapes: Shapes::of(&self.graph) };
        writeln!(
            f,
            "plan of {} steps, {} in place, at most {} beside the arguments, ({}) {{",
            self.steps().len(),
            self.in_place(),
            self.peak(),
            show.typed(&self.body().params)
        )?;
        show.body(&self.graph.body, self.body(), 1, f)?;
        writeln!(f, "}}")
    }
}

struct Show<'a> {
    plan: &'a Plan,
    shapes: Shapes,
}

fn names(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

impl Show<'_> {
    fn typed(&self, values: &[Value]) -> String {
        values.iter().map(|v| format!("{v}: {}", self.shapes.show(*v))).collect::<Vec<_>>().join(", ")
    }

    fn body(&self, body: &Body, planned: &PlannedBody, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        let pad = crate::export::indented(depth);
        for n in &body.nodes {
            let Some(id) = n.results.first().and_then(|r| self.plan.definition(*r)) else { continue };
            let Some(step) = self.plan.step(id) else { continue };
            let node = &step.node;
            let is_strict = step.is_literal() || planned.strict.binary_search(&id).is_ok();
            let when = if is_strict { "" } else { "on demand " };
            write!(
                f,
                "{pad}{id}: {when}{} = {}({})",
                self.typed(&node.results),
                node.op.name(),
                names(&node.op.operands())
            )?;
            let attributes: Vec<String> = attributes(node).iter().map(|(k, v)| format!("{k} = {v}")).collect();
            if !attributes.is_empty() {
                write!(f, " [{}]", attributes.join(", "))?;
            }
            if let Some(v) = step.overwrites.map(|p| p.of) {
                write!(f, " in place of {v}")?;
            }
            if step.is_inner {
                f.write_str(" as parts")?;
            }
            for (what, values) in [("demands", &step.demands), ("frees", &step.last_use_of)] {
                if !values.is_empty() {
                    write!(f, ", {what} {}", names(values))?;
                }
            }
            let is_first = |first: usize| planned.strict.get(first) == Some(&id);
            if let Some((_, group)) = planned.groups.iter().find(|(first, _)| is_first(*first)) {
                write!(f, ", in blocks with {} more", group.steps - 1)?;
            }
            let source = self.plan.graph.sources.get(n.source as usize).map_or("", |s| s.name);
            writeln!(f, "  // {source} at {}", n.loc)?;
            for ((role, inner), planned) in roles(&n.op).iter().zip(n.op.bodies()).zip(&step.bodies) {
                writeln!(f, "{pad}  {role}({}) {{", self.typed(&planned.params))?;
                acc_core::grow_stack(|| self.body(inner, planned, depth + 2, f))?;
                writeln!(f, "{pad}  }}")?;
            }
        }
        write!(f, "{pad}yield {}", names(&planned.results))?;
        for (what, values) in [("demands", &planned.demands), ("frees", &planned.values)] {
            if !values.is_empty() {
                write!(f, ", {what} {}", names(values))?;
            }
        }
        writeln!(f)
    }
}
