//! Sorting.

use crate::flatten::ops::fold::innermost;
use crate::flatten::Flattener;
use crate::flatten::scope::Flat;
use crate::graph::Value;
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
                    let keys = self.along_rows(*c, order, &from.shape);
                    let again = self.b.sort_permutation(keys);
                    self.along_rows(order, again, &from.shape)
                }
            });
        }
        // Elements without leaves are all equal.
        let order = match (order, self.index_of(&from.shape).pop()) {
            (Some(order), _) => order,
            (None, Some(index)) => {
                let index = self.value(index);
                self.spread(index, &from.shape)
            }
            (None, None) => self.b.constant(acc_core::data::Prim::lit(0i64)),
        };
        Flat { shape: from.shape, columns: [order].into_iter().collect() }
    }

    /// The elements of a column at these positions of their rows.
    fn along_rows(&mut self, column: Value, at: Value, shape: &[Value]) -> Value {
        if shape.len() == 1 {
            return self.b.gather(column, at);
        }
        let (outer, n) = innermost(shape);
        let (rows, count, one) = (self.b.product(&outer), self.b.product(shape), self.b.size(1));
        let flat = self.b.reshape(column, &[count]);
        let row = self.b.iota(rows);
        let n = self.b.tensor_of_size(n);
        let start = self.b.prim(PrimOp::MulP, &[row, n]);
        let mut column_of_rows = outer;
        column_of_rows.push(one);
        let start = self.b.reshape(start, &column_of_rows);
        let at = self.b.prim(PrimOp::AddP, &[start, at]);
        self.b.gather(flat, at)
    }
}
