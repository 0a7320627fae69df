//! Folds and scans along the innermost dimension.

use crate::analysis::choice::{Choice, Nans};
use crate::analysis::operators::{Component, built_in, built_in_components, built_in_reductions};
use crate::analysis::segmented_operator::{SegmentedOperator, segmented_operator};
use crate::flatten::Flattener;
use crate::flatten::ops::chosen::{fold_chosen, scan_chosen};
use crate::flatten::scalar::Scalar;
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::rules::contract;
use crate::graph::{Body, FaultKind, Op, ReduceOp, SizeOp, Type, Value, Values};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Dir, Fun, PrimOp};

impl Flattener<'_> {
    pub(crate) fn fold(&mut self, f: &Fun, init: Option<&Fun>, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let (outer, n) = innermost(&from.shape);
        let columns = match init {
            None => {
                let zero = self.b.size(0);
                let empty = self.b.size_op(SizeOp::Eq, n, zero);
                self.check_stmt(FaultKind::EmptyFold, empty, &[], from.shape.to_vec());
                // ReduceOp operations have a result of no element, which the check makes none.
                let columns =
                    if built_in_components(f).is_some() { from.columns } else { self.after_raise(&from.columns) };
                self.reduce(f, &columns, &outer, n)
            }
            Some(init) => {
                let init = self.init(init);
                match built_in_reductions(f) {
                    // Reducing no element has a value, so the initial value can come after.
                    Some(known) => {
                        let sums = self.reduce(f, &from.columns, &outer, n);
                        self.after_initial(f, &known, &init, sums, &outer)
                    }
                    None => {
                        let (columns, n) = self.with_init(&from, &init, Dir::Left);
                        self.reduce(f, &columns, &outer, n)
                    }
                }
            }
        };
        Flat { shape: outer, columns: columns.into() }
    }

    /// Reductions with known operations, and an initial value before each.
    pub(crate) fn after_initial(
        &mut self,
        f: &Fun,
        known: &[ReduceOp],
        init: &[Value],
        sums: Vec<Value>,
        space: &[Value],
    ) -> Vec<Value> {
        if are_neutral(&self.b, known, init) {
            return sums;
        }
        let init = init.iter().map(|v| self.b.lift(*v, space.len())).collect::<Vec<_>>();
        let args: Vec<Value> = init.into_iter().chain(sums).collect();
        self.map_lanes(f, false, &args, space, None)
    }

    /// The leaves of an initial value, as rank-0 tensors.
    pub(crate) fn init(&mut self, init: &Fun) -> Vec<Value> {
        let types: Vec<ScalarType> = init.result_types().collect();
        let scalars: Vec<Scalar> = self.closed(init);
        scalars.into_iter().zip(types).map(|(s, t)| self.indices.tensor(&mut self.b, s, t)).collect()
    }

    /// Columns with the initial value as one more element of each row, and the rows' new extent.
    fn with_init(&mut self, from: &Flat, init: &[Value], end: Dir) -> (Vec<Value>, Value) {
        let (outer, n) = innermost(&from.shape);
        let axis = outer.len() as u32;
        let one = self.b.size(1);
        let mut shape = outer;
        shape.push(one);
        let columns = from
            .columns
            .iter()
            .zip(init)
            .map(|(c, z)| {
                let z = self.b.full(*z, &shape);
                let parts = match end {
                    Dir::Left => [z, *c],
                    Dir::Right => [*c, z],
                };
                self.b.concat(&parts, axis)
            })
            .collect();
        (columns, self.one_more(n))
    }

    /// One more than the extent of rows, itself an extent.
    fn one_more(&mut self, n: Value) -> Value {
        let one = self.b.size(1);
        let n = self.b.size_op(SizeOp::Add, n, one);
        self.scope.extents.insert(n);
        n
    }

    /// Reduces rows of `n` elements, at least one unless the operator has a neutral element.
    fn reduce(&mut self, f: &Fun, columns: &[Value], outer: &[Value], n: Value) -> Vec<Value> {
        let axis = outer.len() as u32;
        if let Some(parts) = built_in_components(f) {
            let (zero, one) = (self.b.size(0), self.b.size(1));
            let last = self.b.size_op(SizeOp::Sub, n, one);
            return parts
                .iter()
                .zip(columns)
                .map(|(p, c)| match p {
                    Component::Op(k) => {
                        self.reduce_split(*c, &mut |this, rows| contract::reduce(&mut this.b, *k, rows))
                    }
                    Component::First => self.b.select(*c, axis, zero),
                    Component::Second => self.b.select(*c, axis, last),
                })
                .collect();
        }
        let by_operator = |this: &mut Self| {
            let combine = this.operator(f, columns, outer, Dir::Left);
            this.b.fold(columns, combine).to_vec()
        };
        match self.choice(f, Dir::Left) {
            Some(choice) => self.chosen(choice, |b, choice| fold_chosen(b, choice, columns, outer, n), by_operator),
            None => by_operator(self),
        }
    }

    /// The choice that an operator is. What a fault is, operators say that are as they were written.
    fn choice(&self, f: &Fun, dir: Dir) -> Option<Choice> {
        Choice::of_either(f, dir).filter(|choice| choice.nans != Nans::Yield || !self.faults().exact())
    }

    /// What is kept by a choice, or by the operator itself where the choice depends on the order of floats that are no numbers, and
    /// there are some.
    fn chosen(
        &mut self,
        choice: Choice,
        keep: impl FnOnce(&mut Builder, Choice) -> Vec<Value>,
        by_operator: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        if choice.nans != Nans::Yield {
            return keep(&mut self.b, choice);
        }
        // The first that is no number is kept here: what is kept then says whether there is one.
        let kept = keep(&mut self.b, Choice { nans: Nans::Win, ..choice });
        let nan = self.b.prim(PrimOp::IsNanP, &[kept[choice.leaf]]);
        let any = self.b.any(nan);
        let any = self.b.read_back(any);
        self.b.open();
        let ordered = by_operator(self);
        let then = self.b.close(ordered);
        self.b.open();
        let else_ = self.b.close(kept);
        let kept = self.b.if_(any, then, else_);
        kept.iter().for_each(|v| self.b.set_full(*v));
        kept.to_vec()
    }

    /// An operator on many pairs at once. Columns of a fold from the right are flipped, so that the first one is of greater
    /// index: the right operand.
    fn operator(&mut self, f: &Fun, columns: &[Value], outer: &[Value], dir: Dir) -> Body {
        let types: Vec<Type> = columns.iter().map(|c| self.b.ty(*c)).collect();
        self.open();
        let len = self.b.param(Type::Size);
        let (first, second) = (self.b.params(&types), self.b.params(&types));
        for c in first.iter().chain(&second) {
            self.b.set_full(*c);
        }
        let args = match dir {
            Dir::Left => [first, second].concat(),
            Dir::Right => [second, first].concat(),
        };
        let mut space: Values = outer.into();
        space.push(len);
        let results = self.map_lanes(f, false, &args, &space, None);
        self.close(results, &[])
    }

    pub(crate) fn scan(&mut self, dir: Dir, f: &Fun, init: Option<&Fun>, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let (outer, n) = innermost(&from.shape);
        let axis = outer.len() as u32;
        let flipped = |this: &mut Self, columns: Vec<Value>| match dir {
            Dir::Left => columns,
            Dir::Right => columns.into_iter().map(|c| this.b.flip(c, axis)).collect(),
        };
        let init = init.map(|init| self.init(init));
        let known = built_in_reductions(f);
        let (columns, n) = match (&init, &known) {
            (Some(init), Some(known)) if are_neutral(&self.b, known, init) => {
                let columns = flipped(self, from.columns.to_vec());
                let scanned = known.iter().zip(columns).map(|(k, c)| self.b.exclusive(*k, c)).collect();
                (scanned, self.one_more(n))
            }
            _ => {
                let (columns, n) = match &init {
                    Some(init) => self.with_init(&from, init, dir),
                    None => (from.columns.to_vec(), n),
                };
                let columns = flipped(self, columns);
                (self.scan_columns(f, &columns, (&outer, n), dir), n)
            }
        };
        let columns = flipped(self, columns);
        let mut shape = outer;
        shape.push(n);
        Flat { shape, columns: columns.into() }
    }

    /// An inclusive scan; from the right, of columns that are flipped already.
    fn scan_columns(&mut self, f: &Fun, columns: &[Value], (outer, n): (&[Value], Value), dir: Dir) -> Vec<Value> {
        let known = built_in_reductions(f);
        if let Some(known) = known {
            return known.into_iter().zip(columns).map(|(k, c)| self.b.cumulative(k, *c)).collect();
        }
        // What a fault is, operators say that are as they were written.
        if !self.faults().exact()
            && let Some(SegmentedOperator { mark, ops }) = segmented_operator(f, dir)
            && let Some(known) = built_in(&ops, f)
        {
            let scanned = known.into_iter().zip(columns).enumerate().map(|(k, (op, c))| match k == mark {
                true => self.b.cumulative(op, *c),
                false => self.b.segment_scan(op, *c, columns[mark]),
            });
            return scanned.collect();
        }
        let by_operator = |this: &mut Self| {
            let combine = this.operator(f, columns, outer, dir);
            this.b.scan(columns, combine).to_vec()
        };
        match self.choice(f, dir) {
            Some(choice) => self.chosen(choice, |b, choice| scan_chosen(b, choice, columns, outer, n), by_operator),
            None => by_operator(self),
        }
    }
}

/// The outer extents and the innermost one.
pub(crate) fn innermost(shape: &[Value]) -> (Values, Value) {
    match shape.split_last() {
        Some((n, outer)) => (outer.into(), *n),
        // The verifier has seen that the rank is 1 or more.
        None => (Values::new(), Value(0)),
    }
}

/// Whether the leaves of an initial value change nothing.
fn are_neutral(b: &Builder, known: &[ReduceOp], init: &[Value]) -> bool {
    known.iter().zip(init).all(|(k, v)| b.constant_of(*v) == Some(k.neutral(b.scalar(*v))))
}

/// Of each row the element at a position.
pub(crate) fn at_positions(b: &mut Builder, column: Value, at: Value, outer: &[Value], n: Value) -> Value {
    let axis = outer.len() as u32;
    if is_own_index(b, column, axis) {
        return at;
    }
    if outer.is_empty() {
        return b.gather(column, at);
    }
    let mut shape: Values = outer.into();
    let rows = b.product(outer);
    let row = b.iota(rows);
    let row = b.reshape(row, &shape);
    let n_t = b.tensor_of_size(n);
    let start = b.prim(PrimOp::MulP, &[row, n_t]);
    let at = b.prim(PrimOp::AddP, &[start, at]);
    shape.push(n);
    let count = b.product(&shape);
    let flat = b.reshape(column, &[count]);
    b.gather(flat, at)
}

/// Whether a column holds the index along an axis.
pub(crate) fn is_own_index(b: &Builder, column: Value, axis: u32) -> bool {
    let mut v = b.origin(column);
    loop {
        match b.def(v) {
            Some(Op::Broadcast(x, _)) => v = *x,
            Some(Op::InsertAxes(x, at)) => {
                // The one axis that is not new is the one of the index.
                let kept = (0..b.rank(v) as u32).find(|k| !at.contains(k));
                if b.rank(*x) != 1 || kept != Some(axis) {
                    return false;
                }
                v = *x;
            }
            Some(Op::Iota { start, step, ty: ScalarType::I64, .. }) => {
                return b.const_size(*start) == Some(0) && b.const_size(*step) == Some(1);
            }
            _ => return false,
        }
    }
}
