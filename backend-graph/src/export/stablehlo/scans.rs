//! Scans, and folds with operators of the program: trees of combinations of many pairs at once, in which the order of
//! operands is kept.

use super::Stop;
use super::body::{Emitter, Held, Size};
use super::rows::accumulator;
use super::writer::{Form, Operation, Result, Tensor, array_attribute};
use acc_desugar::graph::{Body, ReduceOp};

/// An operator on many pairs: the columns of the left and of the right operands, of one shape.
pub(super) type Combine<'a, 'g> = dyn FnMut(&mut Emitter<'g>, &[Tensor], &[Tensor]) -> Result<Vec<Tensor>> + 'a;

fn innermost(x: &Tensor) -> usize {
    x.rank().saturating_sub(1)
}

impl<'g> Emitter<'g> {
    /// An inclusive scan of rows: a reduction of the window of all elements before each.
    pub(super) fn cumulative(&mut self, k: ReduceOp, x: &Tensor) -> Result {
        let n = x.columns();
        if n < 2 || x.shape.contains(&0) {
            return Ok(x.clone());
        }
        if let Some(parts) = self.parts(x) {
            return self.cumulative_by_parts(k, x, parts);
        }
        let wide = self.w.convert(x, accumulator(k, x.ty))?;
        let neutral = self.neutral(k, wide.ty)?;
        let scalar = Form::scalar(wide.ty);
        let region = self.region(&[scalar.clone(), scalar], |e, operands| e.pair(k, operands))?;
        let others = wide.rank().saturating_sub(1);
        let mut window = vec![1; others];
        window.push(n);
        let mut padding = vec!["[0, 0]".to_string(); others];
        padding.push(format!("[{}, 0]", n - 1));
        let attributes = format!(
            "window_dimensions = {}, padding = dense<[{}]> : tensor<{}x2xi64>",
            array_attribute(&window),
            padding.join(", "),
            wide.rank()
        );
        let (operation, form) = (Operation { name: "reduce_window", attributes }, wide.form());
        let y = self.w.general1(&operation, &[wide, neutral], &[region], form)?;
        self.w.convert(&y, x.ty)
    }

    /// The totals of the elements before each of a row, and of all.
    pub(super) fn exclusive(&mut self, k: ReduceOp, x: &Tensor) -> Result {
        let y = self.cumulative(k, x)?;
        let mut shape = x.shape.clone();
        if let Some(n) = shape.last_mut() {
            *n = 1;
        }
        let first = self.w.filled(k.neutral(x.ty), &shape)?;
        self.w.concat(&[first, y], innermost(x))
    }

    /// A scan that restarts at flags: one over pairs of flag and value.
    pub(super) fn segments_scanned(&mut self, k: ReduceOp, x: &Tensor, starts: &Tensor) -> Result {
        let wide = self.w.convert(x, accumulator(k, x.ty))?;
        let pairs = vec![self.w.spread(starts, &wide.shape)?, wide];
        let all = self.tree(pairs, &mut |e, left, right| {
            let ([flag, value], [restart, next]) = (left, right) else {
                return Err(Stop::Defect("pairs of flag and value"));
            };
            let sum = e.by(k, value, next)?;
            Ok(vec![e.w.binary("or", flag, restart)?, e.w.select(restart, next, &sum)?])
        })?;
        let y = all.into_iter().nth(1).ok_or(Stop::Defect("pairs of flag and value"))?;
        self.w.convert(&y, x.ty)
    }

    pub(super) fn scanned(&mut self, columns: Vec<Tensor>, combine: &'g Body) -> Result<Vec<Tensor>> {
        self.tree(columns, &mut |e, left, right| e.applied(combine, left, right))
    }

    /// Rows folded: pairs of neighbours are combined until one is left.
    pub(super) fn folded(&mut self, mut columns: Vec<Tensor>, combine: &'g Body) -> Result<Vec<Tensor>> {
        let mut combine = |e: &mut Self, left: &[Tensor], right: &[Tensor]| e.applied(combine, left, right);
        if let Some(parts) = columns.first().and_then(|x| self.parts(x)) {
            columns = self.folded_parts(columns, &mut combine, parts)?;
        }
        columns = self.halved(columns, &mut combine)?;
        self.each(&columns, |e, x| {
            let shape = x.shape.get(..innermost(x)).unwrap_or(&[]);
            if x.columns() == 0 { e.w.zeros(x.ty, shape) } else { e.w.reshape(x, shape) }
        })
    }

    /// Rows of one element each: pairs of neighbours are combined until one is left.
    pub(super) fn halved(&mut self, mut columns: Vec<Tensor>, combine: &mut Combine<'_, 'g>) -> Result<Vec<Tensor>> {
        loop {
            let n = columns.first().map_or(1, Tensor::columns);
            if n < 2 {
                return Ok(columns);
            }
            let even = n - n % 2;
            let left = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [0, even, 2]))?;
            let right = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [1, even, 2]))?;
            let combined = combine(self, &left, &right)?;
            let last = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [even, n, 1]))?;
            columns = self.both(&combined, &last, |e, x, y| e.w.concat(&[x.clone(), y.clone()], innermost(x)))?;
        }
    }

    /// An operator of the program on many pairs.
    fn applied(&mut self, combine: &'g Body, left: &[Tensor], right: &[Tensor]) -> Result<Vec<Tensor>> {
        let count = left.first().map_or(0, Tensor::columns);
        let operands = left.iter().chain(right).cloned().map(Held::Tensor);
        let params = std::iter::once(Held::Size(Size::Number(count))).chain(operands).collect();
        let results = self.inline(combine, params)?;
        let mut out = Vec::new();
        for (result, like) in results.iter().zip(left) {
            let Held::Tensor(y) = result else { return Err(Stop::Defect("an operator yields tensors")) };
            out.push(self.w.spread(y, &like.shape)?);
        }
        Ok(out)
    }

    /// An inclusive scan: pairs of neighbours are combined and scanned, which gives every second result; each of the others
    /// is one of these combined with the next element.
    pub(super) fn tree(&mut self, columns: Vec<Tensor>, combine: &mut Combine<'_, 'g>) -> Result<Vec<Tensor>> {
        let n = columns.first().map_or(0, Tensor::columns);
        if n < 2 {
            return Ok(columns);
        }
        if let Some(parts) = columns.first().and_then(|x| self.parts(x)) {
            return self.scanned_by_parts(&columns, combine, parts);
        }
        let (half, even) = (n / 2, n - n % 2);
        let left = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [0, even, 2]))?;
        let right = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [1, n, 2]))?;
        let pairs = combine(self, &left, &right)?;
        let odd = self.tree(pairs, combine)?;
        let mut first = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [0, 1, 1]))?;
        let rest = (n + 1) / 2 - 1;
        if rest > 0 {
            let before = self.each(&odd, |e, x| e.w.slice(x, innermost(x), [0, rest, 1]))?;
            let next = self.each(&columns, |e, x| e.w.slice(x, innermost(x), [2, n, 2]))?;
            let later = combine(self, &before, &next)?;
            first = self.both(&first, &later, |e, x, y| e.w.concat(&[x.clone(), y.clone()], innermost(x)))?;
        }
        // The two halves, element by element.
        self.both(&first, &odd, |e, first, odd| {
            let axis = innermost(first);
            let paired = e.w.slice(first, axis, [0, half, 1])?;
            let mut lifted = paired.shape.clone();
            lifted.push(1);
            let (x, y) = (e.w.reshape(&paired, &lifted)?, e.w.reshape(odd, &lifted)?);
            let pairs = e.w.concat(&[x, y], axis + 1)?;
            let mut shape = paired.shape.clone();
            if let Some(n) = shape.last_mut() {
                *n = 2 * half;
            }
            let y = e.w.reshape(&pairs, &shape)?;
            let last = e.w.slice(first, axis, [half, first.columns(), 1])?;
            e.w.concat(&[y, last], axis)
        })
    }

    pub(super) fn each(
        &mut self,
        xs: &[Tensor],
        mut f: impl FnMut(&mut Self, &Tensor) -> Result,
    ) -> Result<Vec<Tensor>> {
        xs.iter().map(|x| f(self, x)).collect()
    }

    pub(super) fn both(
        &mut self,
        xs: &[Tensor],
        ys: &[Tensor],
        mut f: impl FnMut(&mut Self, &Tensor, &Tensor) -> Result,
    ) -> Result<Vec<Tensor>> {
        xs.iter().zip(ys).map(|(x, y)| f(self, x, y)).collect()
    }
}
