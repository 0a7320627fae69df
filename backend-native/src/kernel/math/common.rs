//! Common subexpressions of functions that were written out: the sine and the cosine of one angle reduce it once.

use super::write::Values;
use crate::kernel::{Node, Op, Region, build::is_repeatable};
use acc_core::data::ScalarType;
use acc_core::ir::{Val, Vals};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Computes once what a region, or one around it, has computed already.
pub(super) fn share(r: &mut Region, values: &Values) {
    Common { values, renamed: HashMap::new(), done: HashMap::new() }.region(r);
}

/// An operation, and the types of its results; also whether they are uniform, since values of conditional regions are
/// not, whatever they depend on.
type Key = (Op, SmallVec<[(ScalarType, bool); 2]>);

struct Common<'a> {
    values: &'a Values,
    renamed: HashMap<Val, Val>,
    /// What was computed in this region and those around.
    done: HashMap<Key, Vals>,
}

impl Common<'_> {
    fn region(&mut self, r: &mut Region) {
        let mut added: Vec<Key> = Vec::new();
        let nodes = std::mem::take(&mut r.nodes);
        r.nodes.reserve(nodes.len());
        for mut n in nodes {
            n.op.visit_operands_mut(&mut |v| *v = self.renamed.get(v).copied().unwrap_or(*v));
            for inner in n.op.regions_mut() {
                acc_core::grow_stack(|| self.region(inner));
            }
            if let Some(key) = self.key(&n) {
                if let Some(known) = self.done.get(&key) {
                    self.renamed.extend(n.results.iter().copied().zip(known.iter().copied()));
                    continue;
                }
                self.done.insert(key.clone(), n.results.clone());
                added.push(key);
            }
            r.nodes.push(n);
        }
        r.results.iter_mut().for_each(|v| *v = self.renamed.get(v).copied().unwrap_or(*v));
        for key in &added {
            self.done.remove(key);
        }
    }

    /// What nodes that compute the same have in common; none if they are not compared.
    fn key(&self, n: &Node) -> Option<Key> {
        let op = match &n.op {
            // Regions inside of regions are not compared again at each level.
            Op::If { cond, then, else_ } if is_flat(then) && is_flat(else_) => {
                Op::If { cond: *cond, then: canonical(then), else_: canonical(else_) }
            }
            op if is_repeatable(op) => op.clone(),
            _ => return None,
        };
        let values = n.results.iter().map(|v| (self.values.types[v.index()], self.values.uniform[v.index()]));
        Some((op, values.collect()))
    }
}

fn is_flat(r: &Region) -> bool {
    r.nodes.iter().all(|n| is_repeatable(&n.op))
}

/// A region without regions, its own values numbered from the greatest number down.
fn canonical(r: &Region) -> Region {
    let own = r.nodes.iter().flat_map(|n| &n.results).zip((0..=u32::MAX).rev());
    let own: HashMap<Val, Val> = own.map(|(v, k)| (*v, Val(k))).collect();
    let of = |v: Val| own.get(&v).copied().unwrap_or(v);
    let mut r = r.clone();
    for n in &mut r.nodes {
        n.results.iter_mut().for_each(|v| *v = of(*v));
        n.op.visit_operands_mut(&mut |v| *v = of(*v));
    }
    r.results.iter_mut().for_each(|v| *v = of(*v));
    r
}

#[cfg(test)]
mod tests {
    use crate::lower::of_text;

    fn reductions(f: &str) -> usize {
        let text = format!(
            "program(a: [1]f32, b: [1]f32) {{ c: [1]f32 = zip_with(a, b, f: |%x: f32, %y: f32| {f}) yield c }}"
        );
        let plan = of_text("test", &text);
        plan.launches().map(|l| l.kernel.to_string().matches("unlikely(").count()).sum()
    }

    #[test]
    fn sine_and_cosine_of_one_angle_reduce_it_once() {
        assert_eq!(reductions("add(sin(%x), cos(%y))"), 2);
        assert_eq!(reductions("add(sin(%x), cos(%x))"), 1);
        // What only one branch computes is not there behind it.
        let branch = "{ %s: f32 = if gt(%x, 0.0f32) { yield sin(%y) } else { yield %x } yield add(%s, cos(%y)) }";
        assert_eq!(reductions(branch), 2);
    }
}
