//! Uniform values of loops.
//!
//! All lanes enter a loop together, and those that still run have taken the same number of steps. A part of the state
//! that starts uniform, and whose next value depends on uniform values alone, stays uniform: most often a counter, and
//! what is read at it. It is computed for one lane.

use crate::kernel::{Body, Ix, KernelOp, Node, Op, Region};
use crate::tile::bytecode::chain_builder::chained;
use acc_core::ir::Val;
use std::collections::HashSet;

/// The uniform values of the loops seen so far.
#[derive(Default)]
pub(crate) struct LoopUniform {
    values: HashSet<Val>,
    /// Those whose buffers are filled, because something reads them lane by lane.
    filled: HashSet<Val>,
}

/// The initial state of a loop, its test and its step.
pub(crate) struct LoopParts<'b> {
    pub init: &'b [Val],
    pub test: &'b Region,
    pub step: &'b Region,
}

impl LoopUniform {
    pub(crate) fn has(&self, v: Val) -> bool {
        self.values.contains(&v)
    }

    pub(crate) fn is_filled(&self, v: Val) -> bool {
        self.filled.contains(&v)
    }

    /// Whether a node computes uniform values alone.
    pub(crate) fn computes_uniform(&self, n: &Node) -> bool {
        !n.results.is_empty() && n.results.iter().all(|&v| self.has(v))
    }

    /// The uniform values of a loop.
    pub(crate) fn of_loop(&self, body: &Body, l: &LoopParts<'_>) -> HashSet<Val> {
        let LoopParts { init, test, step } = *l;
        let mut state: Vec<bool> = init.iter().map(|&v| body.uniform[v.index()] || self.has(v)).collect();
        loop {
            let mut values: HashSet<Val> = HashSet::new();
            let same = |values: &HashSet<Val>, v: Val| body.uniform[v.index()] || self.has(v) || values.contains(&v);
            for region in [test, step] {
                values.extend(region.params.iter().zip(&state).filter(|(_, same)| **same).map(|(&p, _)| p));
                for n in &region.nodes {
                    if keeps_uniform(n, |v| same(&values, v)) {
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

    /// Records the uniform values of a loop; `uses` visits the values that a node uses, in its regions, too.
    pub(crate) fn enter(&mut self, body: &Body, l: &LoopParts<'_>, mut uses: impl FnMut(&Node, &mut dyn FnMut(Val))) {
        let values = self.of_loop(body, l);
        let LoopParts { init: _, test, step } = *l;
        self.values.extend(values);
        for n in test.nodes.iter().chain(&step.nodes) {
            if !self.computes_uniform(n) && !reads_one_lane(body, n) {
                uses(n, &mut |v| _ = self.filled.insert(v));
            }
        }
        // Values that become state which is read lane by lane.
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

/// Whether uniform operands make a node's results uniform.
fn keeps_uniform(n: &Node, same: impl Fn(Val) -> bool) -> bool {
    let mut all = true;
    match &n.op {
        Op::Const(_) | Op::Prim(..) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } => {}
        Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Table { .. }) => {}
        Op::Own(KernelOp::Scalar { .. } | KernelOp::Unlikely(_)) | Op::Extent { .. } => {}
        Op::Index(l) => return l.index.iter().all(|i| matches!(i, Ix::At(v) if same(*v))),
        Op::Own(KernelOp::Inside { .. } | KernelOp::Check { .. } | KernelOp::Call { .. }) => return false,
        Op::If { .. } | Op::While { .. } => return false,
    }
    n.op.visit_operands(&mut |v| all &= same(v));
    all
}

/// Whether a uniform operand is read in one lane: chains do.
fn reads_one_lane(body: &Body, n: &Node) -> bool {
    chained(body, n).is_some()
}
