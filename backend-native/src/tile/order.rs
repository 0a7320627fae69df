//! The order in which the nodes of a region are run: those that make up a chain together.
//!
//! Nodes of a chain wait until something that is not part of it uses one of them. They cannot fault, and what comes before
//! them now does not use them, so nothing tells the difference.

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

/// The chains that wait, one of each width. Neither uses what the other computes.
#[derive(Default)]
struct Waiting {
    nodes: [Vec<usize>; 2],
    /// Which chain computes a value.
    of: HashMap<Val, usize>,
}

impl Waiting {
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
    for (k, n) in r.nodes.iter().enumerate() {
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
        let computed_once = !n.results.is_empty() && n.results.iter().all(|&v| is_same(v));
        let chain = match if computed_once { None } else { chained(body, n) } {
            // Flags are where they are computed. One that is the same in all lanes is read by chains alone.
            Some(0) => used.iter().position(|&u| u).or_else(|| {
                let mut any = false;
                n.op.operands(&mut |v| any |= is_same(v));
                any.then_some(0)
            }),
            width => WIDTHS.iter().position(|&w| width == Some(w)),
        };
        for other in (0..2).filter(|&c| used[c] && chain != Some(c)) {
            waiting.flush(other, &mut items);
        }
        match chain {
            Some(chain) => {
                waiting.nodes[chain].push(k);
                waiting.of.extend(n.results.iter().map(|&v| (v, chain)));
            }
            None => items.push(Item::One(k)),
        }
    }
    waiting.flush(0, &mut items);
    waiting.flush(1, &mut items);
    items
}
