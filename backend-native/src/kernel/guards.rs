//! Guards: conditions that an index is within the extents of an array. What is computed of a part of an array has them, such as the
//! adjoint of an array that was zipped with another one, since that may be shorter. Where extents are equal all guards hold.

use super::{Body, Kernel, Op};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, PrimOp, Val};
use std::collections::HashMap;

/// What comparisons say of values where they hold: those that are not below 0, and those that are below another one.
#[derive(Default)]
pub(crate) struct Ranges {
    not_negative: Vec<Val>,
    below: Vec<(Val, Val)>,
}

impl Ranges {
    /// Of these conditions, all of which hold.
    pub(crate) fn of(body: &Body, conditions: impl IntoIterator<Item = Val>) -> Ranges {
        let mut ranges = Ranges::default();
        conditions.into_iter().for_each(|v| ranges.note(body, v));
        ranges
    }

    fn note(&mut self, body: &Body, condition: Val) {
        let Some(Op::Prim(p, args)) = body.region.definition(condition).map(|n| &n.op) else { return };
        let [a, b] = args[..] else { return };
        match p {
            PrimOp::AndP if body.ty(condition) == ScalarType::Bool => {
                [a, b].into_iter().for_each(|v| self.note(body, v))
            }
            _ if body.ty(a) != ScalarType::I64 => {}
            PrimOp::GeP if body.is_zero(b) => self.not_negative.push(a),
            PrimOp::LeP if body.is_zero(a) => self.not_negative.push(b),
            PrimOp::LtP => self.below.push((a, b)),
            PrimOp::GtP => self.below.push((b, a)),
            // Nothing about an index is known by it.
            _ => {}
        }
    }

    /// The values that an index is below, if it is not below 0.
    pub(crate) fn ends(&self, index: Val) -> impl Iterator<Item = Val> + '_ {
        let known = self.not_negative.contains(&index);
        self.below.iter().filter(move |(of, _)| known && *of == index).map(|(_, end)| *end)
    }
}

/// An axis whose indices are to be less than an extent of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Guard {
    pub axis: usize,
    pub array: ArrayId,
    pub dim: u32,
}

impl Kernel {
    /// The kernel where all guards of its elements hold, and these; none if it has none.
    pub(crate) fn unguarded(&self) -> Option<(Kernel, Vec<Guard>)> {
        let mut kernel = self.clone();
        let body = &mut kernel.element;
        let (mut all, mut nodes) = (Vec::new(), Vec::new());
        let mut renamed: HashMap<Val, Val> = HashMap::new();
        for n in std::mem::take(&mut body.region.nodes) {
            match n.op {
                Op::If { cond, mut then, else_ } => match guards(&self.element, cond) {
                    Some(found) => {
                        all.extend(found);
                        renamed.extend(n.results.iter().copied().zip(then.results.iter().copied()));
                        nodes.append(&mut then.nodes);
                    }
                    None => nodes.push(super::Node { op: Op::If { cond, then, else_ }, ..n }),
                },
                op => nodes.push(super::Node { op, ..n }),
            }
        }
        body.region.nodes = nodes;
        // What stands for a result may be a result itself.
        let last = |v: Val| std::iter::successors(Some(v), |v| renamed.get(v).copied()).last().unwrap_or(v);
        body.region.visit_vals_mut(&mut |v| *v = last(*v));
        for _ in 0..all.len() {
            let used = body.used();
            let is_used = |v: &Val| used[v.index()];
            body.region.nodes.retain(|n| !matches!(n.op, Op::Prim(..)) || n.results.iter().any(is_used));
        }
        (!all.is_empty()).then_some((kernel, all))
    }
}

/// The guards of which a condition is the conjunction.
fn guards(body: &Body, condition: Val) -> Option<Vec<Guard>> {
    let defined = |v: Val| body.region.definition(v).map(|n| &n.op);
    match defined(condition)? {
        Op::Prim(PrimOp::AndP, args) => {
            let sides = args.iter().map(|v| guards(body, *v)).collect::<Option<Vec<_>>>()?;
            Some(sides.concat())
        }
        Op::Prim(PrimOp::LtP, args) => {
            let [index, extent] = args[..] else { return None };
            let axis = body.region.params.iter().position(|p| *p == index)?;
            let Some(&Op::Extent { array, axis: dim }) = defined(extent) else { return None };
            Some(vec![Guard { axis, array, dim }])
        }
        _ => None,
    }
}
