//! The order in which the nodes of a region are run: those that make up a chain together.
//!
//! Nodes of a chain wait until something that is not part of it uses one of them, and take along what soon follows and needs
//! nothing else: flags are used where the numbers that they compare still are. They cannot fault, and what comes before them
//! now does not use them, so nothing tells the difference.

use super::chains::chained;
use crate::kernel::{Body, Node, Region};
use acc_core::ir::Val;
use std::collections::HashMap;
use std::ops::Range;

/// What is run at a time, by the numbers of nodes.
pub(super) enum Item {
    One(usize),
    /// Nodes that are the same for all lanes of the launch.
    Uniform(Range<usize>),
    /// Operations on lanes of so many bytes.
    Chain(usize, Vec<usize>),
}

impl Item {
    pub(super) fn nodes(&self) -> impl Iterator<Item = usize> {
        let (range, list): (Range<usize>, &[usize]) = match self {
            Item::One(k) => (*k..*k + 1, &[]),
            Item::Uniform(range) => (range.clone(), &[]),
            Item::Chain(_, nodes) => (0..0, nodes),
        };
        range.chain(list.iter().copied())
    }
}

/// The widths of lanes that chains run on.
const WIDTHS: [usize; 2] = [4, 8];

/// How many nodes are looked at for what a chain takes along.
const AHEAD: usize = 64;

/// The chains that wait, one of each width. Neither uses what the other computes.
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
            items.push(Item::Chain(WIDTHS[chain], nodes));
        }
    }
}

/// The order of a region; `uses` calls a function with what a node uses, in regions of its own too.
pub(super) fn order(
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
            // Flags are where they are computed. One that is the same in all lanes is read by chains alone.
            Some(0) => used.iter().position(|&u| u).or_else(|| {
                let mut any = false;
                n.op.operands(&mut |v| any |= is_same(v));
                any.then_some(0)
            }),
            width => WIDTHS.iter().position(|&w| width == Some(w)),
        };
        for other in (0..2).filter(|&c| used[c] && chain != Some(c)) {
            for (j, next) in r.nodes.iter().enumerate().skip(k + 1).take(AHEAD) {
                if taken[j] || width(next) != Some(WIDTHS[other]) {
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
    use crate::tile::compile::compile;
    use crate::tile::tape::Inst;

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
