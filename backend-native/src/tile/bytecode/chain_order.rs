//! The order in which the nodes of a region run, so that chains are long.
//!
//! Nodes of a chain are delayed until a node outside of it uses one of them, and then take along later nodes that
//! depend on them alone: flags are used while the compared numbers are in registers. They cannot fault, and nothing
//! between uses them, so the order makes no difference.

use crate::kernel::{Body, Node, Region};
use crate::tile::bytecode::chain_builder::chained;
use acc_core::ir::Val;
use std::collections::HashMap;
use std::ops::Range;

/// Nodes that run together, by number.
pub(crate) enum Item {
    One(usize),
    /// Nodes that are uniform in the launch.
    Uniform(Range<usize>),
    /// A chain of operations with lanes of so many bytes.
    Chain(usize, Vec<usize>),
}

impl Item {
    pub(crate) fn nodes(&self) -> impl Iterator<Item = usize> {
        let (range, list): (Range<usize>, &[usize]) = match self {
            Item::One(k) => (*k..*k + 1, &[]),
            Item::Uniform(range) => (range.clone(), &[]),
            Item::Chain(_, nodes) => (0..0, nodes),
        };
        range.chain(list.iter().copied())
    }
}

/// The lane widths of chains.
const CHAIN_LANE_BYTES: [usize; 2] = [4, 8];

/// Nodes that are examined for what a chain takes along.
const LOOKAHEAD_NODES: usize = 64;

/// The delayed chains, one of each width. Neither uses the other's values.
#[derive(Default)]
struct Waiting {
    nodes: [Vec<usize>; 2],
    /// Which chain computes a value.
    of: HashMap<Val, usize>,
}

impl Waiting {
    fn push(&mut self, chain: usize, k: usize, n: &Node) {
        self.nodes[chain].push(k);
        self.of.extend(n.results.iter().map(|&v| (v, chain)));
    }

    fn flush(&mut self, chain: usize, items: &mut Vec<Item>) {
        let nodes = std::mem::take(&mut self.nodes[chain]);
        self.of.retain(|_, c| *c != chain);
        if !nodes.is_empty() {
            items.push(Item::Chain(CHAIN_LANE_BYTES[chain], nodes));
        }
    }
}

/// Orders a region; `uses` visits the values that a node uses, in its regions, too.
pub(crate) fn order(
    body: &Body,
    r: &Region,
    is_uniform: impl Fn(&Node) -> bool,
    is_same: impl Fn(Val) -> bool,
    mut uses: impl FnMut(&Node, &mut dyn FnMut(Val)),
) -> Vec<Item> {
    let mut items = Vec::new();
    let mut waiting = Waiting::default();
    let mut taken = vec![false; r.nodes.len()];
    for (k, n) in r.nodes.iter().enumerate() {
        if taken[k] {
            continue;
        }
        if is_uniform(n) {
            match items.last_mut() {
                Some(Item::Uniform(range)) if range.end == k => range.end = k + 1,
                _ => items.push(Item::Uniform(k..k + 1)),
            }
            continue;
        }
        let mut used = [false; 2];
        uses(n, &mut |v| {
            if let Some(&chain) = waiting.of.get(&v) {
                used[chain] = true;
            }
        });
        let width = |n: &Node| {
            let computed_once = !n.results.is_empty() && n.results.iter().all(|&v| is_same(v));
            if computed_once || is_uniform(n) { None } else { chained(body, n) }
        };
        let chain = match width(n) {
            // Flags stay with the chain that computes them. Uniform ones are read by chains alone.
            Some(0) => used.iter().position(|&u| u).or_else(|| {
                let mut any = false;
                n.op.visit_operands(&mut |v| any |= is_same(v));
                any.then_some(0)
            }),
            width => CHAIN_LANE_BYTES.iter().position(|&w| width == Some(w)),
        };
        for other in (0..2).filter(|&c| used[c] && chain != Some(c)) {
            for (j, next) in r.nodes.iter().enumerate().skip(k + 1).take(LOOKAHEAD_NODES) {
                if taken[j] || width(next) != Some(CHAIN_LANE_BYTES[other]) {
                    continue;
                }
                let (mut of_it, mut alone) = (false, true);
                uses(next, &mut |v| match waiting.of.get(&v) {
                    Some(&chain) => (of_it, alone) = (of_it | (chain == other), alone & (chain == other)),
                    None => alone &= !r.nodes[k..j].iter().any(|n| n.results.contains(&v)),
                });
                if of_it && alone {
                    taken[j] = true;
                    waiting.push(other, j, next);
                }
            }
            waiting.flush(other, &mut items);
        }
        match chain {
            Some(chain) => waiting.push(chain, k, n),
            None => items.push(Item::One(k)),
        }
    }
    waiting.flush(0, &mut items);
    waiting.flush(1, &mut items);
    items
}

#[cfg(test)]
mod tests {
    use crate::lower::of_text;
    use crate::tile::bytecode::Inst;
    use crate::tile::bytecode::compile::compile;

    #[test]
    fn a_choice_stays_with_the_comparison_of_its_width() {
        let text = "program(x: [1]f32, y: [1]f32, k: [1]i64, l: [1]i64) {
           r: [1](i64, f32) = zip_with(x, y, k, l, f: |%x: f32, %y: f32, %k: i64, %l: i64| {
             %d = sub(%x, %y)
             %closer = lt(%d, %x)
             yield select(%closer, %k, %l), select(%closer, %d, %x)
           })
           yield r }";
        let plan = of_text("test", text);
        let launch = plan.launches().next().unwrap();
        let chains = compile(&launch.kernel.element)
            .code
            .into_iter()
            .filter_map(|i| if let Inst::Chain(c) = i { Some(c.width) } else { None });
        assert_eq!(chains.collect::<Vec<_>>(), [4, 8]);
    }
}
