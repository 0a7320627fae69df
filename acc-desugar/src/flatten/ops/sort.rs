//! Sorting.

use crate::flatten::Flattener;
use crate::flatten::ops::fold::innermost;
use crate::flatten::scalar::spread;
use crate::flatten::scope::Flat;
use crate::graph::Value;
use crate::graph::builder::Builder;
use acc_core::ir::{ArrayId, PrimOp};

impl Flattener<'_> {
    /// Sorts by the last leaf, then stably by the one before it, and so on to the first.
    pub(crate) fn argsort(&mut self, xs: ArrayId) -> Flat {
        let from = self.array(xs);
        let mut order: Option<Value> = None;
        for c in from.columns.iter().rev() {
            order = Some(match order {
                None => self.b.sort_permutation(*c),
                Some(order) => {
                    let keys = along_rows(&mut self.b, *c, order, &from.shape);
                    let again = self.b.sort_permutation(keys);
                    along_rows(&mut self.b, order, again, &from.shape)
                }
            });
        }
        // Elements without leaves are all equal.
        let order = match (order, self.indices.index_of(&mut self.b, &from.shape).pop()) {
            (Some(order), _) => order,
            (None, Some(index)) => {
                let index = self.indices.value(&mut self.b, index);
                spread(&mut self.b, index, &from.shape)
            }
            (None, None) => self.b.constant(acc_core::data::Prim::lit(0i64)),
        };
        Flat { shape: from.shape, columns: [order].into_iter().collect() }
    }
}

/// The elements of a column at these positions of their rows.
pub(crate) fn along_rows(b: &mut Builder, column: Value, at: Value, shape: &[Value]) -> Value {
    if shape.len() == 1 {
        return b.gather(column, at);
    }
    let (outer, n) = innermost(shape);
    let (rows, count, one) = (b.product(&outer), b.product(shape), b.size(1));
    let flat = b.reshape(column, &[count]);
    let row = b.iota(rows);
    let n = b.tensor_of_size(n);
    let start = b.prim(PrimOp::MulP, &[row, n]);
    let mut column_of_rows = outer;
    column_of_rows.push(one);
    let start = b.reshape(start, &column_of_rows);
    let at = b.prim(PrimOp::AddP, &[start, at]);
    b.gather(flat, at)
}
