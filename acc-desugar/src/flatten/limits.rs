//! Flattening within the limits of a run: after a limit is reached everything becomes zeros, and the graph is dropped.

use crate::flatten::Flattener;
use crate::flatten::scalar::Scalar;
use crate::flatten::scope::Flat;
use crate::graph::Values;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayType, Node, Stmt, Val};
use acc_core::{Error, RunLimits};

/// So many nodes of scalar code are flattened between two looks at the clock.
const NODES_BETWEEN_CHECKS: u32 = 128;

/// Looks at the clock.
pub(crate) struct Watch<'a> {
    limits: &'a RunLimits,
    nodes: u32,
    /// The limit that was reached.
    pub(crate) stopped: Option<Error>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(limits: &'a RunLimits) -> Watch<'a> {
        Watch { limits, nodes: 0, stopped: None }
    }

    /// Whether a limit is reached.
    fn look(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.limits.check().err();
        }
        self.stopped.is_some()
    }
}

impl Flattener<'_> {
    /// In the place of a statement, if a limit is reached.
    pub(crate) fn stopped_stmt(&mut self, s: &Stmt) -> Option<Vec<Flat>> {
        if !self.watch.look() {
            return None;
        }
        let none = self.b.size(0);
        let empty = |this: &mut Self, ty: &ArrayType| {
            let shape: Values = (0..ty.rank).map(|_| none).collect();
            let column = |this: &mut Self, scalar: ScalarType| {
                let zero = this.b.constant(Lit::zero(scalar));
                this.b.full(zero, &shape)
            };
            let columns = ty.elt.leaves().into_iter().map(|scalar| column(this, scalar)).collect();
            Flat { shape, columns }
        };
        Some(s.results.iter().map(|a| empty(self, &self.program.ty(*a).clone())).collect())
    }

    /// In the place of a node of scalar code with results of these types, if a limit is reached.
    pub(crate) fn stopped_node(&mut self, n: &Node, types: &[ScalarType]) -> Option<Vec<Scalar>> {
        self.watch.nodes += 1;
        if !self.watch.nodes.is_multiple_of(NODES_BETWEEN_CHECKS) && self.watch.stopped.is_none() || !self.watch.look()
        {
            return None;
        }
        let zero = |v: &Val| Scalar::Tensor(self.b.constant(Lit::zero(types[v.index()])));
        Some(n.results.iter().map(zero).collect())
    }
}
