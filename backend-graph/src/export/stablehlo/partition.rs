//! What makes a module one for several processes: how its arguments and results are cut, in annotations of Shardy, by which
//! XLA's partitioner derives the rest; and the forms of scans and folds that it cuts well, which go along each process's part
//! and then along the parts' ends.
//!
//! XLA cuts tensors into equal parts alone. Where an extent is no multiple of the number of processes the argument or result
//! has padding at its end: what enters is sliced first, what leaves is padded last.

use super::Stop;
use super::body::Emitter;
use super::scans::Combine;
use super::writer::{Form, Result, Shape, Tensor};
use acc_core::data::{Lit, ScalarType as T};
use acc_desugar::graph::ReduceOp;

/// The fewest positions of a process in a scan or fold that is made part by part.
const MIN_PART_POSITIONS: i64 = 2;

impl<'g> Emitter<'g> {
    // ---- arguments and results

    /// The axis along which the rule cuts a tensor.
    pub(super) fn cut_by_rule(&self, t: &Tensor) -> Option<usize> {
        self.options.cutting.and_then(|c| c.axis(&t.shape, t.ty))
    }

    /// The line that names the processes, if there are several.
    pub(super) fn mesh(&self) -> String {
        let mesh = |c: crate::specialise::Cutting| format!("sdy.mesh @mesh = <[\"x\"={}]>\n", c.processes);
        self.options.cutting.map(mesh).unwrap_or_default()
    }

    /// What is said of an argument or result.
    pub(super) fn sharding(&self, rank: usize, cut: Option<usize>) -> String {
        if self.options.cutting.is_none() {
            return String::new();
        }
        let axes: Vec<&str> = (0..rank).map(|axis| if cut == Some(axis) { "{\"x\"}" } else { "{}" }).collect();
        format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", axes.join(", "))
    }

    fn padded_shape(&self, shape: &[i64], cut: Option<usize>) -> Shape {
        let padded = |(axis, n): (usize, &i64)| match self.options.cutting {
            Some(c) if cut == Some(axis) => c.padded(*n),
            _ => *n,
        };
        shape.iter().enumerate().map(padded).collect()
    }

    /// A parameter of the function, and the operation that drops its padding, if it has any.
    pub(super) fn parameter(&self, t: &Tensor, cut: Option<usize>) -> (String, String) {
        let padded = Form { shape: self.padded_shape(&t.shape, cut), ty: t.ty };
        let sharding = self.sharding(t.rank(), cut);
        if padded.shape == t.shape {
            return (format!("{}: {padded}{sharding}", t.name), String::new());
        }
        let name = t.name.to_string().replace('%', "%padded");
        let kept: Vec<String> = t.shape.iter().map(|n| format!("0:{n}:1")).collect();
        let slice = format!("{} = stablehlo.slice {name} [{}] : ({padded}) -> {}\n", t.name, kept.join(", "), t.form());
        (format!("{name}: {padded}{sharding}"), slice)
    }

    /// A result with its padding.
    pub(super) fn padded_result(&mut self, t: &Tensor, cut: Option<usize>) -> Result {
        let shape = self.padded_shape(&t.shape, cut);
        self.padded_to(t, Lit::zero(t.ty), &shape)
    }

    /// A tensor with one scalar at the ends of axes up to this shape.
    fn padded_to(&mut self, t: &Tensor, with: Lit, shape: &[i64]) -> Result {
        self.padded_from(t, with, &vec![0; t.rank()], shape)
    }

    /// The part of a tensor that begins at these positions and has this shape, with one scalar out of its bounds.
    pub(super) fn padded_from(&mut self, t: &Tensor, with: Lit, starts: &[i64], shape: &[i64]) -> Result {
        let low: Vec<i64> = starts.iter().map(|start| -start).collect();
        let high: Vec<i64> = starts.iter().zip(shape).zip(&t.shape).map(|((start, n), m)| start + n - m).collect();
        if low.iter().chain(&high).all(|n| *n == 0) {
            return Ok(t.clone());
        }
        let (none, with) = (vec![0; t.rank()], self.w.scalar(with)?);
        let form = Form { shape: shape.into(), ty: t.ty };
        let text = format!(
            "stablehlo.pad {}, {}, low = {low:?}, high = {high:?}, interior = {none:?} : ({}, {}) -> {form}",
            t.name,
            with.name,
            t.form(),
            with.form()
        );
        self.w.define(&text, form.shape, form.ty)
    }

    /// The bits of floats, as which elements are read at positions on several processes: these add what each one finds, and 0
    /// for what it has not got, of which the sum is no -0.
    pub(super) fn as_bits(&mut self, x: &Tensor) -> Result<Option<Tensor>> {
        let bits = match x.ty {
            T::F16 => T::U16,
            T::F32 => T::U32,
            T::F64 => T::U64,
            _ => return Ok(None),
        };
        self.options.cutting.map(|_| self.w.bitcast(x, bits)).transpose()
    }

    // ---- scans and folds, part by part

    /// Into how many parts a vector is cut, if along it a scan or fold is worth to be made part by part.
    pub(super) fn parts(&self, x: &Tensor) -> Option<i64> {
        let parts = i64::from(self.options.cutting?.processes);
        (x.rank() == 1 && x.columns() >= parts * MIN_PART_POSITIONS && self.cut_by_rule(x).is_some()).then_some(parts)
    }

    /// A vector as a row for each part, with one scalar after its end.
    fn as_parts(&mut self, x: &Tensor, parts: i64, with: Lit) -> Result {
        let length = (x.columns() + parts - 1) / parts;
        let padded = self.padded_to(x, with, &[parts * length])?;
        self.w.reshape(&padded, &[parts, length])
    }

    /// Rows as one vector of so many elements.
    fn as_vector(&mut self, rows: &Tensor, n: i64) -> Result {
        let all = self.w.reshape(rows, &[rows.elements()])?;
        self.w.slice(&all, 0, [0, n, 1])
    }

    /// The last elements of rows.
    fn ends(&mut self, rows: &Tensor) -> Result {
        let n = rows.columns();
        let last = self.w.slice(rows, 1, [n - 1, n, 1])?;
        self.w.reshape(&last, &[rows.extent(0)])
    }

    /// An inclusive scan of a vector with an operation: of each part, and what the parts before it add up to.
    pub(super) fn cumulative_by_parts(&mut self, k: ReduceOp, x: &Tensor, parts: i64) -> Result {
        let rows = self.as_parts(x, parts, k.neutral(x.ty))?;
        let within = self.cumulative(k, &rows)?;
        let ends = self.ends(&within)?;
        let before = self.exclusive(k, &ends)?;
        let before = self.w.slice(&before, 0, [0, parts, 1])?;
        let before = self.w.reshape(&before, &[parts, 1])?;
        let all = self.by(k, &before, &within)?;
        self.as_vector(&all, x.columns())
    }

    /// An inclusive scan of vectors with an operator: of each part, of the parts' ends, and each element once more combined
    /// with the end before its part.
    pub(super) fn scanned_by_parts(
        &mut self,
        columns: &[Tensor],
        combine: &mut Combine<'_, 'g>,
        parts: i64,
    ) -> Result<Vec<Tensor>> {
        let n = columns.first().map_or(0, Tensor::columns);
        let rows = self.each(columns, |e, x| e.as_parts(x, parts, Lit::zero(x.ty)))?;
        let within = self.tree(rows, &mut |e, left, right| e.on_rows(left, right, combine))?;
        let ends = self.each(&within, Self::ends)?;
        let ends = self.tree(ends, combine)?;
        let before = self.each(&ends, |e, x| {
            // The first part has none before it, and takes any.
            let (first, others) = (e.w.slice(x, 0, [0, 1, 1])?, e.w.slice(x, 0, [0, parts - 1, 1])?);
            let before = e.w.concat(&[first, others], 0)?;
            e.w.reshape(&before, &[parts, 1])
        })?;
        let before = self.both(&before, &within, |e, x, like| e.w.spread(x, &like.shape))?;
        let all = self.on_rows(&before, &within, combine)?;
        let (part, zero) = (self.w.iota(&[parts, 1], 0)?, self.w.int(0)?);
        let first = self.w.compare("EQ", &part, &zero)?;
        self.both(&within, &all, |e, within, all| {
            let y = e.w.select(&first, within, all)?;
            e.as_vector(&y, n)
        })
    }

    /// Vectors folded to one element for each part, and those that do not divide by the number of parts after them.
    pub(super) fn folded_parts(
        &mut self,
        columns: Vec<Tensor>,
        combine: &mut Combine<'_, 'g>,
        parts: i64,
    ) -> Result<Vec<Tensor>> {
        let n = columns.first().map_or(0, Tensor::columns);
        let even = n - n % parts;
        let rows = self.each(&columns, |e, x| {
            let x = e.w.slice(x, 0, [0, even, 1])?;
            e.w.reshape(&x, &[parts, even / parts])
        })?;
        let folded = self.halved(rows, &mut |e, left, right| e.on_rows(left, right, combine))?;
        let rest = self.each(&columns, |e, x| e.w.slice(x, 0, [even, n, 1]))?;
        self.both(&folded, &rest, |e, x, rest| {
            let x = e.w.reshape(x, &[parts])?;
            e.w.concat(&[x, rest.clone()], 0)
        })
    }

    /// An operator of vectors on rows, which it sees as one vector.
    fn on_rows(&mut self, left: &[Tensor], right: &[Tensor], combine: &mut Combine<'_, 'g>) -> Result<Vec<Tensor>> {
        let like = left.first().ok_or(Stop::Defect("an operator without operands"))?.shape.clone();
        let flat = |e: &mut Self, x: &Tensor| e.w.reshape(x, &[x.elements()]);
        let (left, right) = (self.each(left, flat)?, self.each(right, flat)?);
        let all = combine(self, &left, &right)?;
        self.each(&all, |e, x| e.w.reshape(x, &like))
    }
}
