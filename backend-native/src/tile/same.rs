//! Values of a loop that are the same in every lane.
//!
//! All lanes enter a loop together, and those that still run have taken the same steps. A part of the state that begins the
//! same in all of them, and steps to what is computed of such values, stays the same: a counter, most of all, and what is
//! read at it. It is computed for one lane.

use super::chains::chained;
use crate::kernel::{Body, Ix, Node, Op, Region};
use acc_core::ir::Val;
use std::collections::HashSet;

/// What is the same in every lane that runs, of the loops met so far.
#[derive(Default)]
pub(super) struct Same {
    values: HashSet<Val>,
    /// Those of them whose buffers are filled, for something reads them lane by lane.
    filled: HashSet<Val>,
}

/// The parts of a loop: how its state begins, whether it goes on, the next state.
pub(super) struct Parts<'b> {
    pub init: &'b [Val],
    pub test: &'b Region,
    pub step: &'b Region,
}

impl Same {
    pub(super) fn has(&self, v: Val) -> bool {
        self.values.contains(&v)
    }

    pub(super) fn is_filled(&self, v: Val) -> bool {
        self.filled.contains(&v)
    }

    /// Whether a node computes nothing but such values.
    pub(super) fn is_all_of(&self, n: &Node) -> bool {
        !n.results.is_empty() && n.results.iter().all(|&v| self.has(v))
    }

    /// Those of the values of a loop.
    pub(super) fn of_loop(&self, body: &Body, l: &Parts<'_>) -> HashSet<Val> {
        let Parts { init, test, step } = *l;
        let mut state: Vec<bool> = init.iter().map(|&v| body.uniform[v.index()] || self.has(v)).collect();
        loop {
            let mut values: HashSet<Val> = HashSet::new();
            let same = |values: &HashSet<Val>, v: Val| body.uniform[v.index()] || self.has(v) || values.contains(&v);
            for region in [test, step] {
                values.extend(region.params.iter().zip(&state).filter(|(_, same)| **same).map(|(&p, _)| p));
                for n in &region.nodes {
                    if computes_same(n, |v| same(&values, v)) {
                        values.extend(n.results.iter().copied());
                    }
                }
            }
            let next: Vec<bool> = state.iter().zip(&step.results).map(|(&s, &v)| s && same(&values, v)).collect();
            if next == state {
                return values;
            }
            state = next;
        }
    }

    /// Takes up the values of a loop; `uses` calls a function with what a node uses, in regions of its own too.
    pub(super) fn enter(&mut self, body: &Body, l: &Parts<'_>, mut uses: impl FnMut(&Node, &mut dyn FnMut(Val))) {
        let values = self.of_loop(body, l);
        let Parts { init: _, test, step } = *l;
        self.values.extend(values);
        for n in test.nodes.iter().chain(&step.nodes) {
            if !self.is_all_of(n) && !takes_one_lane(body, n) {
                uses(n, &mut |v| _ = self.filled.insert(v));
            }
        }
        // What steps into a state that is read lane by lane.
        loop {
            let before = self.filled.len();
            for ((&a, &b), &next) in test.params.iter().zip(&step.params).zip(&step.results) {
                if !self.has(b) || self.is_filled(a) || self.is_filled(b) {
                    self.filled.extend([a, b, next]);
                }
            }
            if self.filled.len() == before {
                break;
            }
        }
    }
}

/// Whether a node's results are the same in all lanes where what it uses is.
fn computes_same(n: &Node, same: impl Fn(Val) -> bool) -> bool {
    match &n.op {
        Op::Prim(..)
        | Op::Cast(_)
        | Op::Bitcast(_)
        | Op::Fma(..)
        | Op::Scale(..)
        | Op::Table { .. }
        | Op::Select { .. } => {
            let mut all = true;
            n.op.operands(&mut |v| all &= same(v));
            all
        }
        Op::Scalar { .. } | Op::Extent { .. } => true,
        Op::Load(l) => l.index.iter().all(|i| matches!(i, Ix::At(v) if same(*v))),
        Op::Inside { .. } | Op::Check { .. } | Op::If { .. } | Op::While { .. } | Op::Call { .. } => false,
    }
}

/// Whether an operand that is the same in all lanes is read in one: chains do.
fn takes_one_lane(body: &Body, n: &Node) -> bool {
    chained(body, n).is_some()
}
