//! Nodes of control and of faults.

use super::Builder;
use crate::graph::{Body, FaultKind, Op, Type, Value, Values};
use acc_core::ir::ArrayType;
use smallvec::SmallVec;
use std::sync::Arc;

impl Builder {
    pub(crate) fn if_(&mut self, cond: Value, then: Body, else_: Body) -> Values {
        let types: Vec<Type> = then.results.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::If { cond, then, else_ }, &types)
    }

    /// A size that is computed where a condition holds, and 0 where it does not.
    pub(crate) fn size_if(&mut self, cond: Value, size: impl FnOnce(&mut Builder) -> Value) -> Value {
        self.open();
        let size = size(self);
        let then = self.close(vec![size]);
        self.open();
        let none = self.size(0);
        let else_ = self.close(vec![none]);
        self.if_(cond, then, else_)[0]
    }

    pub(crate) fn while_(&mut self, init: &[Value], test: Body, step: Body) -> Values {
        let types: Vec<Type> = init.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::While { init: init.into(), test, step }, &types)
    }

    /// A fold of rows with an operator.
    pub(crate) fn fold(&mut self, columns: &[Value], combine: Body) -> Values {
        let types: Vec<Type> = columns
            .iter()
            .map(|c| Type::Tensor { scalar: self.scalar(*c), rank: self.rank(*c).saturating_sub(1) })
            .collect();
        self.push(Op::Fold { columns: columns.into(), combine }, &types)
    }

    /// A scan of rows with an operator.
    pub(crate) fn scan(&mut self, columns: &[Value], combine: Body) -> Values {
        let types: Vec<Type> = columns.iter().map(|c| self.ty(*c)).collect();
        self.push(Op::Scan { columns: columns.into(), combine }, &types)
    }

    /// A loop that lanes leave one by one.
    pub(crate) fn lane_loop(
        &mut self,
        on: Value,
        space: &[Value],
        init: &[Value],
        captured: &[Value],
        kept: SmallVec<[bool; 4]>,
        bodies: [Body; 2],
    ) -> Values {
        let rank = space.len();
        let types: Vec<Type> = init.iter().map(|v| Type::Tensor { scalar: self.scalar(*v), rank }).collect();
        let [test, step] = bodies;
        let (space, init, captured) = (space.into(), init.into(), captured.into());
        self.push(Op::LaneLoop { on, space, init, captured, kept, test, step }, &types)
    }

    pub(crate) fn fault(
        &mut self,
        kind: FaultKind,
        bad: Value,
        space: &[Value],
        details: Vec<Value>,
        site: u32,
    ) -> Value {
        self.push1(Op::Fault { kind, bad, space: space.into(), details, site }, Type::Token)
    }

    pub(crate) fn checked(&mut self, values: &[Value], tokens: Vec<Value>, raise: bool) -> Values {
        let types: Vec<Type> = values.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::Checked { values: values.into(), tokens, raise }, &types)
    }

    pub(crate) fn trace(
        &mut self,
        message: Arc<str>,
        arrays: Vec<ArrayType>,
        shown: &[Value],
        values: &[Value],
    ) -> Values {
        let types: Vec<Type> = values.iter().map(|v| self.ty(*v)).collect();
        self.push(Op::Trace { message, types: arrays, shown: shown.into(), values: values.into() }, &types)
    }

    pub(crate) fn confine(&mut self, mask: Value, tokens: Vec<Value>, space: &[Value]) -> Value {
        self.like(Op::Confine { mask, tokens, space: space.into() }, mask)
    }

    pub(crate) fn params(&mut self, types: &[Type]) -> Vec<Value> {
        types.iter().map(|t| self.param(*t)).collect()
    }
}
