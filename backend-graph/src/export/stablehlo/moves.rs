//! Reads and writes at positions, and sorts.

use super::body::Emitter;
use super::writer::{Form, Operation, Result, Shape, Tensor, Writer, array_attribute, list};
use super::{Need, Stop};
use acc_core::data::{Lit, Prim, ScalarType as T};
use acc_desugar::graph::{ReduceOp, ScatterMode, Value};

impl Writer {
    /// So many positions of an axis from a scalar on, which is clamped.
    pub(super) fn dynamic_slice(&mut self, x: &Tensor, axis: usize, start: &Tensor, len: i64) -> Result {
        let mut shape = x.shape.clone();
        if let Some(n) = shape.get_mut(axis) {
            *n = len;
        }
        let zero = self.int(0)?;
        let mut operands = vec![x.clone()];
        operands.extend((0..x.rank()).map(|k| if k == axis { start.clone() } else { zero.clone() }));
        let attributes = format!("slice_sizes = {}", array_attribute(&shape));
        let operation = Operation { name: "dynamic_slice", attributes };
        self.general1(&operation, &operands, &[], Form { shape, ty: x.ty })
    }
}

impl Emitter<'_> {
    /// Slices at positions of an axis, whose axes stand in its place; a position out of bounds is clamped. Zeros of an axis
    /// without positions.
    pub(super) fn taken(&mut self, x: &Tensor, axis: usize, at: &Tensor) -> Result {
        let (before, after) = (x.shape.get(..axis).unwrap_or(&[]), x.shape.get(axis + 1..).unwrap_or(&[]));
        let shape: Shape = before.iter().chain(&at.shape).chain(after).copied().collect();
        let form = Form { shape, ty: x.ty };
        if x.extent(axis) == 0 || form.shape.contains(&0) {
            return self.w.zeros(x.ty, &form.shape);
        }
        if let Some(bits) = self.as_bits(x)? {
            let y = self.taken(&bits, axis, at)?;
            return self.w.bitcast(&y, x.ty);
        }
        let offsets = (0..axis).chain(axis + at.rank()..form.shape.len());
        let sizes: Vec<i64> = x.shape.iter().enumerate().map(|(k, n)| if k == axis { 1 } else { *n }).collect();
        let mut listed = at.shape.clone();
        listed.push(1);
        let positions = self.w.reshape(at, &listed)?;
        let attributes = format!(
            "dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = [{axis}], start_index_map = [{axis}], index_vector_dim = {}>, slice_sizes = {}, indices_are_sorted = false",
            list(offsets),
            at.rank(),
            array_attribute(&sizes)
        );
        let operation = Operation { name: "gather", attributes };
        self.w.general1(&operation, &[x.clone(), positions], &[], form)
    }

    /// Positions as `i32`, those out of bounds still so: of wider ones XLA's partitioner ends the process, where the updates
    /// of a scatter do not divide by the number of devices.
    fn narrow(&mut self, at: &Tensor, extent: i64) -> Result {
        if at.ty == T::I32 || extent >= i64::from(i32::MAX) {
            return Ok(at.clone());
        }
        let wide = self.w.convert(at, T::I64)?;
        let (before, after) = (self.w.int(-1)?, self.w.int(extent)?);
        let y = self.w.binary("maximum", &wide, &before)?;
        let y = self.w.binary("minimum", &y, &after)?;
        self.w.convert(&y, T::I32)
    }

    pub(super) fn scattered(&mut self, base: &Tensor, at: &Tensor, values: &Tensor, mode: ScatterMode) -> Result {
        match mode {
            ScatterMode::Combine(k) => self.combined(base, at, values, k),
            ScatterMode::Bits(k) => self.scattered_by(base, at, values, |e, x, y| e.w.binary(k.name(), x, y)),
            ScatterMode::Last => {
                // The greatest position in the source that has a target is the last one: no order is asked for.
                let (n, none) = (values.elements(), self.w.filled((-1i64).lit(), &base.shape)?);
                let sources = self.w.iota(&[n], 0)?;
                let last = self.combined(&none, at, &sources, ReduceOp::Max)?;
                let zero = self.w.int(0)?;
                let written = self.w.compare("GE", &last, &zero)?;
                let source = self.w.binary("maximum", &last, &zero)?;
                let value = self.taken(values, 0, &source)?;
                self.w.select(&written, &value, base)
            }
        }
    }

    /// Values combined with the current ones at positions of the innermost axis; those out of bounds are dropped.
    pub(super) fn combined(&mut self, base: &Tensor, at: &Tensor, values: &Tensor, k: ReduceOp) -> Result {
        self.scattered_by(base, at, values, |e, x, y| e.by(k, x, y))
    }

    /// The same, with an operation of two scalars.
    fn scattered_by(
        &mut self,
        base: &Tensor,
        at: &Tensor,
        values: &Tensor,
        by: impl Fn(&mut Self, &Tensor, &Tensor) -> Result,
    ) -> Result {
        let (Some(axis), false) = (base.rank().checked_sub(1), values.shape.contains(&0)) else {
            return Ok(base.clone());
        };
        if base.shape.contains(&0) {
            return Ok(base.clone());
        }
        let at = self.narrow(at, base.columns())?;
        let at = self.w.reshape(&at, &[at.elements(), 1])?;
        let scalar = Form::scalar(base.ty);
        let region = self.region(&[scalar.clone(), scalar], |e, operands| match operands {
            [x, y] => Ok(vec![by(e, x, y)?]),
            _ => Err(Stop::Defect("an operator has two operands")),
        })?;
        let attributes = format!(
            "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, inserted_window_dims = [{axis}], scatter_dims_to_operand_dims = [{axis}], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false",
            list(0..axis)
        );
        let operation = Operation { name: "scatter", attributes };
        self.w.general1(&operation, &[base.clone(), at, values.clone()], &[region], base.form())
    }

    /// The rows sorted, NaN last, and the positions that the elements had.
    pub(super) fn sorted(&mut self, x: &Tensor) -> Result<Vec<Tensor>> {
        let axis = x.rank().saturating_sub(1);
        let positions = self.w.iota(&x.shape, axis)?;
        let (value, position) = (Form::scalar(x.ty), Form::scalar(T::I64));
        let params = [value.clone(), value, position.clone(), position];
        let region = self.region(&params, |e, operands| {
            let [left, right, ..] = operands else { return Err(Stop::Defect("a comparison has two operands")) };
            let less = e.w.compare("LT", left, right)?;
            if !left.ty.is_float() {
                return Ok(vec![less]);
            }
            let (number, nan) = (e.w.compare("EQ", left, left)?, e.w.compare("NE", right, right)?);
            let before = e.w.binary("and", &number, &nan)?;
            Ok(vec![e.w.binary("or", &less, &before)?])
        })?;
        let attributes = format!("dimension = {axis} : i64, is_stable = true");
        let forms = [x.form(), positions.form()];
        self.w.general(&Operation { name: "sort", attributes }, &[x.clone(), positions], &[region], &forms)
    }

    /// The positions where a vector is true, which the node's first value names: their number must be known.
    pub(super) fn nonzero(&mut self, x: &Tensor, v: Value) -> Result {
        let ones = self.w.convert(x, T::I64)?;
        let Some(count) = self.known(v) else {
            let count = self.reduced(ReduceOp::Sum, &ones)?;
            return Err(self.counted(v, count));
        };
        let one = self.w.int(1)?;
        let before = self.cumulative(ReduceOp::Sum, &ones)?;
        let to = self.w.binary("subtract", &before, &one)?;
        // What is false goes to a place out of bounds.
        let nowhere = self.w.int(count)?;
        let to = self.w.select(x, &to, &nowhere)?;
        let (base, sources) = (self.w.zeros(T::I64, &[count])?, self.w.iota(&x.shape, 0)?);
        self.combined(&base, &to, &sources, ReduceOp::Max)
    }

    /// That the host must look at how many positions there are.
    fn counted(&mut self, v: Value, count: Tensor) -> Stop {
        if !self.at_host() {
            return Stop::Local;
        }
        self.counts.insert(v, count);
        Stop::Host(Need::Number(v))
    }

    /// An operation of scalars, in a region.
    pub(super) fn pair(&mut self, k: ReduceOp, operands: &[Tensor]) -> Result<Vec<Tensor>> {
        let [x, y] = operands else { return Err(Stop::Defect("an operator has two operands")) };
        Ok(vec![self.by(k, x, y)?])
    }

    /// An operation of two tensors.
    pub(super) fn by(&mut self, k: ReduceOp, x: &Tensor, y: &Tensor) -> Result {
        let boolean = x.ty == T::Bool;
        self.w.binary(
            match k {
                ReduceOp::Any => "or",
                ReduceOp::All => "and",
                ReduceOp::Sum | ReduceOp::Max if boolean => "or",
                ReduceOp::Product | ReduceOp::Min if boolean => "and",
                ReduceOp::Sum => "add",
                ReduceOp::Product => "multiply",
                ReduceOp::Min => "minimum",
                ReduceOp::Max => "maximum",
            },
            x,
            y,
        )
    }

    pub(super) fn neutral(&mut self, k: ReduceOp, ty: T) -> Result {
        let l: Lit = k.neutral(ty);
        self.w.scalar(l)
    }
}
