//! Folds and scans along the innermost dimension.

use super::known::{Component, components};
use super::scalar::Scalar;
use super::{Flat, Flattener};
use crate::graph::{FaultKind, SizeOp, Type, Value, Values};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Dir, Fun};

impl Flattener<'_> {
    pub(super) fn fold(&mut self, f: &Fun, init: Option<&Fun>, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let (outer, n) = innermost(&from.shape);
        let columns = match init {
            None => {
                let zero = self.b.size(0);
                let empty = self.b.size_op(SizeOp::Eq, n, zero);
                self.check_stmt(FaultKind::EmptyFold, empty, &[], from.shape.to_vec());
                let columns = self.after_raise(&from.columns);
                self.reduce(f, &columns, &outer, n)
            }
            Some(init) => {
                let init = self.init(init);
                match components(f) {
                    // Reducing no element has a value, so the initial value can come after.
                    Some(parts) if parts.iter().all(|p| matches!(p, Component::Op(k) if k.has_neutral())) => {
                        let sums = self.reduce(f, &from.columns, &outer, n);
                        let init: Vec<Value> = init.iter().map(|v| self.b.lift(*v, outer.len())).collect();
                        let args: Vec<Value> = init.into_iter().chain(sums).collect();
                        self.map_lanes(f, &[], &args, &outer, None)
                    }
                    _ => {
                        let (columns, n) = self.with_init(&from, &init, Dir::Left);
                        self.reduce(f, &columns, &outer, n)
                    }
                }
            }
        };
        Flat { shape: outer, columns: columns.into() }
    }

    /// The leaves of an initial value, as rank-0 tensors.
    fn init(&mut self, init: &Fun) -> Vec<Value> {
        let types: Vec<ScalarType> = init.result_types().collect();
        let scalars: Vec<Scalar> = self.closed(init);
        scalars.into_iter().zip(types).map(|(s, t)| self.tensor(s, t)).collect()
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
        let n = self.b.size_op(SizeOp::Add, n, one);
        self.extents.insert(n);
        (columns, n)
    }

    /// Reduces rows of `n` elements, at least one unless the operator has a neutral element.
    fn reduce(&mut self, f: &Fun, columns: &[Value], outer: &[Value], n: Value) -> Vec<Value> {
        let axis = outer.len() as u32;
        if let Some(parts) = components(f) {
            let (zero, one) = (self.b.size(0), self.b.size(1));
            let last = self.b.size_op(SizeOp::Sub, n, one);
            return parts
                .iter()
                .zip(columns)
                .map(|(p, c)| match p {
                    Component::Op(k) => self.b.reduce(*k, *c),
                    Component::First => self.b.select(*c, axis, zero),
                    Component::Second => self.b.select(*c, axis, last),
                })
                .collect();
        }
        // Neighbours are combined, so that the order of operands stays: half as many elements each time.
        let mut state = vec![n];
        state.extend(columns);
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        self.open();
        let params = self.b.params(&types);
        let one = self.b.size(1);
        let more = self.b.size_op(SizeOp::Lt, one, params[0]);
        let test = self.close(vec![more], &[]);
        self.open();
        let params = self.b.params(&types);
        let (n, columns) = (params[0], &params[1..]);
        let (zero, one, two) = (self.b.size(0), self.b.size(1), self.b.size(2));
        let half = self.b.size_op(SizeOp::Div, n, two);
        let even = self.b.size_op(SizeOp::Mul, half, two);
        let odd = self.b.size_op(SizeOp::Sub, n, even);
        let left = columns.iter().map(|c| (*c, zero)).collect::<Vec<_>>();
        let right = columns.iter().map(|c| (*c, one));
        let args: Vec<Value> =
            left.into_iter().chain(right).map(|(c, start)| self.b.slice(c, axis, start, half, 2)).collect();
        let mut space: Values = outer.into();
        space.push(half);
        let pairs = self.map_lanes(f, &[], &args, &space, None);
        // The last of an odd number waits for the next round.
        self.b.open();
        let with_last: Vec<Value> = pairs
            .iter()
            .zip(columns)
            .map(|(p, c)| {
                let last = self.b.slice(*c, axis, even, odd, 1);
                self.b.concat(&[*p, last], axis)
            })
            .collect();
        let then = self.b.close(with_last);
        self.b.open();
        let else_ = self.b.close(pairs);
        let columns = self.b.if_(odd, then, else_);
        let mut next = vec![self.b.size_op(SizeOp::Add, half, odd)];
        next.extend(columns);
        let step = self.close(next, &[]);
        let results = self.b.while_(&state, test, step);
        let zero = self.b.size(0);
        results[1..].iter().map(|c| self.b.select(*c, axis, zero)).collect()
    }

    pub(super) fn scan(&mut self, dir: Dir, f: &Fun, init: Option<&Fun>, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let (outer, n) = innermost(&from.shape);
        let (columns, n) = match init {
            Some(init) => {
                let init = self.init(init);
                self.with_init(&from, &init, dir)
            }
            None => (from.columns.to_vec(), n),
        };
        let axis = outer.len() as u32;
        let flipped = |this: &mut Self, columns: Vec<Value>| match dir {
            Dir::Left => columns,
            Dir::Right => columns.into_iter().map(|c| this.b.flip(c, axis)).collect(),
        };
        let columns = flipped(self, columns);
        let columns = self.scan_columns(f, &columns, &outer, n, dir);
        let columns = flipped(self, columns);
        let mut shape = outer;
        shape.push(n);
        Flat { shape, columns: columns.into() }
    }

    /// An inclusive scan; from the right, of columns that are flipped already.
    fn scan_columns(&mut self, f: &Fun, columns: &[Value], outer: &[Value], n: Value, dir: Dir) -> Vec<Value> {
        let axis = outer.len() as u32;
        let known = components(f).and_then(|parts| {
            parts
                .into_iter()
                .map(|p| match p {
                    Component::Op(k) => Some(k),
                    Component::First | Component::Second => None,
                })
                .collect::<Option<Vec<_>>>()
        });
        if let Some(known) = known {
            return known.into_iter().zip(columns).map(|(k, c)| self.b.cumulative(k, *c)).collect();
        }
        // Hillis and Steele: after each round every element covers twice as many before it.
        let one = self.b.size(1);
        let mut state = vec![one];
        state.extend(columns);
        let types: Vec<Type> = state.iter().map(|v| self.b.ty(*v)).collect();
        self.open();
        let params = self.b.params(&types);
        let more = self.b.size_op(SizeOp::Lt, params[0], n);
        let test = self.close(vec![more], &[]);
        self.open();
        let params = self.b.params(&types);
        let (d, columns) = (params[0], &params[1..]);
        let zero = self.b.size(0);
        let len = self.b.size_op(SizeOp::Sub, n, d);
        let before: Vec<Value> = columns.iter().map(|c| self.b.slice(*c, axis, zero, len, 1)).collect();
        let after: Vec<Value> = columns.iter().map(|c| self.b.slice(*c, axis, d, len, 1)).collect();
        // In flipped columns what comes before is of greater index: the right operand.
        let args = match dir {
            Dir::Left => [before, after].concat(),
            Dir::Right => [after, before].concat(),
        };
        let mut space: Values = outer.into();
        space.push(len);
        let combined = self.map_lanes(f, &[], &args, &space, None);
        let two = self.b.size(2);
        let mut next = vec![self.b.size_op(SizeOp::Mul, d, two)];
        for (c, new) in columns.iter().zip(combined) {
            let head = self.b.slice(*c, axis, zero, d, 1);
            next.push(self.b.concat(&[head, new], axis));
        }
        let step = self.close(next, &[]);
        self.b.while_(&state, test, step)[1..].to_vec()
    }
}

/// The outer extents and the innermost one.
pub(super) fn innermost(shape: &[Value]) -> (Values, Value) {
    match shape.split_last() {
        Some((n, outer)) => (outer.into(), *n),
        // The verifier has seen that the rank is 1 or more.
        None => (Values::new(), Value(0)),
    }
}
