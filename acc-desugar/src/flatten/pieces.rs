//! Conditionals on where a lane is: each branch runs on its own part of the index space.

use super::Flattener;
use super::affine::{Affine, Term};
use super::loops::free_values;
use super::scalar::{Lanes, Scalar};
use crate::graph::{SizeOp, Value};
use acc_core::ir::{Node, PrimOp, Region};
use smallvec::SmallVec;

/// That a condition holds for the positions of an axis below `at` alone, or if `!below` for the others alone.
#[derive(Clone, Copy)]
pub(super) struct Border {
    axis: usize,
    len: Value,
    at: Value,
    below: bool,
}

impl Flattener<'_> {
    /// Notes that a comparison of the index along an axis with a size divides the space.
    pub(super) fn note_border(&mut self, p: PrimOp, operands: &[Scalar], result: Value) {
        let [a, b] = *operands else { return };
        // With the index on the left.
        let (index, at, below) = match (p, a, b) {
            (PrimOp::LtP, Scalar::Affine(_), Scalar::Size(n)) => (a, n, true),
            (PrimOp::GeP, Scalar::Affine(_), Scalar::Size(n)) => (a, n, false),
            (PrimOp::GtP, Scalar::Size(n), Scalar::Affine(_)) => (b, n, true),
            (PrimOp::LeP, Scalar::Size(n), Scalar::Affine(_)) => (b, n, false),
            _ => return,
        };
        let Some(Affine { base, terms, .. }) = self.affine_of(index) else { return };
        if let [Term { axis, len, step }] = terms[..]
            && self.b.const_size(base) == Some(0)
            && self.b.const_size(step) == Some(1)
        {
            self.borders.insert(result, Border { axis, len, at, below });
        }
    }

    /// Each branch on the lanes that take it, side by side, if the condition divides an axis.
    pub(super) fn pieces(
        &mut self,
        lanes: &mut Lanes<'_>,
        n: &Node,
        cond: Value,
        [then, else_]: [&Region; 2],
        mask: Option<Value>,
    ) -> Option<SmallVec<[Scalar; 2]>> {
        // Without anything to guard a choice is cheaper.
        if self.faults.exact() || !(then.is_partial() || else_.is_partial()) {
            return None;
        }
        let border = *self.borders.get(&cond)?;
        if lanes.space.get(border.axis) != Some(&border.len) {
            return None;
        }
        let zero = self.b.size(0);
        let at = self.b.size_op(SizeOp::Max, border.at, zero);
        let at = self.b.size_op(SizeOp::Min, at, border.len);
        let rest = self.b.size_op(SizeOp::Sub, border.len, at);
        let (first, second) = if border.below { (then, else_) } else { (else_, then) };
        let captured = free_values([then, else_]);
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); n.results.len()];
        for (region, start, len) in [(first, zero, at), (second, at, rest)] {
            let space = lanes.space.clone();
            let outside = lanes.vals.clone();
            for v in &captured {
                let s = self.val(lanes, *v);
                lanes.vals[v.index()] = Some(self.piece(s, &space, border.axis, start, len));
            }
            lanes.space[border.axis] = len;
            let mask = mask.map(|m| self.value_piece(m, &space, border.axis, start, len));
            let results = self.region(lanes, region, mask);
            for ((column, s), v) in columns.iter_mut().zip(results).zip(&n.results) {
                let t = self.tensor(s, lanes.fun.ty(*v));
                let inner = lanes.space.clone();
                column.push(self.spread(t, &inner));
            }
            lanes.vals = outside;
            lanes.space = space;
        }
        let joined = columns.iter().map(|parts| {
            let column = self.b.concat(parts, border.axis as u32);
            self.b.set_full(column);
            Scalar::Tensor(column)
        });
        Some(joined.collect())
    }

    /// A scalar on a part of an axis.
    fn piece(&mut self, s: Scalar, space: &[Value], axis: usize, start: Value, len: Value) -> Scalar {
        match s {
            Scalar::Size(_) => s,
            Scalar::Tensor(v) => Scalar::Tensor(self.value_piece(v, space, axis, start, len)),
            Scalar::Affine(_) => {
                let Some(mut a) = self.affine_of(s) else { return s };
                for t in a.terms.iter_mut().filter(|t| t.axis == axis) {
                    let way = self.b.size_op(SizeOp::Mul, t.step, start);
                    a.base = self.b.size_op(SizeOp::Add, a.base, way);
                    t.len = len;
                }
                self.affine(a)
            }
        }
    }

    fn value_piece(&mut self, v: Value, space: &[Value], axis: usize, start: Value, len: Value) -> Value {
        if self.b.rank(v) == 0 || self.b.axes(v) >> axis & 1 == 0 {
            return v;
        }
        let whole = self.spread(v, space);
        self.b.slice(whole, axis as u32, start, len, 1)
    }
}
