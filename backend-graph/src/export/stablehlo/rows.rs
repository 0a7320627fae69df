//! Reductions, products, and what is made of them. Sums and products of `f16` accumulate in `f32`.

use super::Stop;
use super::body::{Emitter, Size};
use super::writer::{Form, Operation, Result, Shape, Tensor, array_attribute, joined, list};
use acc_core::data::{Lit, Prim, ScalarType as T};
use acc_desugar::graph::{ReduceOp, Value};

/// The type that an operation accumulates in.
pub(super) fn accumulator(k: ReduceOp, ty: T) -> T {
    match (k, ty) {
        (ReduceOp::Sum | ReduceOp::Product, T::F16) => T::F32,
        _ => ty,
    }
}

impl Emitter<'_> {
    /// A reduction along axes, which go.
    pub(super) fn reduced_along(&mut self, k: ReduceOp, x: &Tensor, axes: &[usize]) -> Result {
        let wide = self.w.convert(x, accumulator(k, x.ty))?;
        let neutral = self.neutral(k, wide.ty)?;
        let scalar = Form::scalar(wide.ty);
        let region = self.region(&[scalar.clone(), scalar], |e, operands| e.pair(k, operands))?;
        let shape = wide.shape.iter().enumerate().filter(|(a, _)| !axes.contains(a)).map(|(_, n)| *n).collect();
        let form = Form { shape, ty: wide.ty };
        let y = self.w.general1(&reduction(axes), &[wide, neutral], &[region], form)?;
        self.w.convert(&y, x.ty)
    }

    /// A reduction along the innermost axis.
    pub(super) fn reduced(&mut self, k: ReduceOp, x: &Tensor) -> Result {
        self.reduced_along(k, x, &[x.rank().saturating_sub(1)])
    }

    /// A reduction along axes, which stay with extent 1.
    fn reduced_in_place(&mut self, k: ReduceOp, x: &Tensor, axes: &[usize]) -> Result {
        let y = self.reduced_along(k, x, axes)?;
        let shape: Shape = x.shape.iter().enumerate().map(|(a, n)| if axes.contains(&a) { 1 } else { *n }).collect();
        self.w.reshape(&y, &shape)
    }

    /// The position of the first extreme element of each row, or of the first NaN.
    pub(super) fn arg_extreme(&mut self, k: ReduceOp, x: &Tensor) -> Result {
        let axis = x.rank().saturating_sub(1);
        let positions = self.w.iota(&x.shape, axis)?;
        let (neutral, last) = (self.neutral(k, x.ty)?, self.w.int(i64::MAX)?);
        let (value, position) = (Form::scalar(x.ty), Form::scalar(T::I64));
        let params = [value.clone(), position.clone(), value, position];
        let region = self.region(&params, |e, operands| {
            let [v, i, w, j] = operands else { return Err(Stop::Defect("pairs of values and positions")) };
            let mut better = e.w.compare(if k == ReduceOp::Min { "LT" } else { "GT" }, v, w)?;
            let mut same = e.w.compare("EQ", v, w)?;
            if v.ty.is_float() {
                let (nan, number) = (e.w.compare("NE", v, v)?, e.w.compare("EQ", w, w)?);
                let other_nan = e.w.not(&number)?;
                let first_nan = e.w.binary("and", &nan, &number)?;
                better = e.w.binary("or", &better, &first_nan)?;
                let both = e.w.binary("and", &nan, &other_nan)?;
                same = e.w.binary("or", &same, &both)?;
            }
            let before = e.w.compare("LT", i, j)?;
            let first = e.w.binary("and", &same, &before)?;
            let left = e.w.binary("or", &better, &first)?;
            Ok(vec![e.w.select(&left, v, w)?, e.w.select(&left, i, j)?])
        })?;
        let shape: Shape = x.shape.iter().take(axis).copied().collect();
        let forms = [Form { shape: shape.clone(), ty: x.ty }, Form { shape, ty: T::I64 }];
        let operands = [x.clone(), positions, neutral, last];
        let all = self.w.general(&reduction(&[axis]), &operands, &[region], &forms)?;
        all.into_iter().nth(1).ok_or(Stop::Defect("a reduction of two tensors has two results"))
    }

    /// Whether offsets do not ascend within the extent of a row, or, if `full`, a segment is empty.
    pub(super) fn bad_offsets(&mut self, offsets: &Tensor, extent: i64, full: bool) -> Result {
        let n = offsets.columns();
        if n == 0 {
            return self.w.truth(true);
        }
        let bound = self.w.int(extent + 1)?;
        let outside = self.out_of_bounds(offsets, &bound)?;
        let outside = self.any(&outside)?;
        if n == 1 {
            return Ok(outside);
        }
        let (low, high) = (self.w.slice(offsets, 0, [0, n - 1, 1])?, self.w.slice(offsets, 0, [1, n, 1])?);
        let bad = self.w.compare(if full { "GE" } else { "GT" }, &low, &high)?;
        let bad = self.any(&bad)?;
        self.w.binary("or", &outside, &bad)
    }

    /// Rows reduced segment by segment: each element is combined with the place of its segment.
    pub(super) fn segments_reduced(&mut self, k: ReduceOp, x: &Tensor, offsets: &Tensor) -> Result {
        let count = (offsets.columns() - 1).max(0);
        let mut shape = x.shape.clone();
        if let Some(n) = shape.last_mut() {
            *n = count;
        }
        let wide = self.w.convert(x, accumulator(k, x.ty))?;
        let base = self.w.filled(k.neutral(wide.ty), &shape)?;
        let n = x.columns();
        if n == 0 || count == 0 {
            return self.w.convert(&base, x.ty);
        }
        // The number of an element's segment is how many segments begin up to it, less 1. The last offset begins none.
        let (none, begins) = (self.w.zeros(T::I64, &[n])?, self.w.filled(1i64.lit(), &offsets.shape)?);
        let marks = self.combined(&none, offsets, &begins, ReduceOp::Sum)?;
        let begun = self.cumulative(ReduceOp::Sum, &marks)?;
        let one = self.w.int(1)?;
        let segment = self.w.binary("subtract", &begun, &one)?;
        let y = self.combined(&base, &segment, &wide, k)?;
        self.w.convert(&y, x.ty)
    }

    /// The sums of products along the innermost axes.
    pub(super) fn contracted(&mut self, left: &Tensor, right: &Tensor, mask: Option<&Tensor>, axes: usize) -> Result {
        let rank = left.rank().saturating_sub(axes);
        if let Some(mask) = mask {
            // A factor that is infinite or NaN must not show where the mask is false.
            let (product, zero) = (self.w.binary("multiply", left, right)?, self.w.small(0, left.ty)?);
            let product = self.w.select(mask, &product, &zero)?;
            let summed: Vec<usize> = (rank..product.rank()).collect();
            return self.reduced_along(ReduceOp::Sum, &product, &summed);
        }
        let full = joined(&[&left.shape, &right.shape])?;
        let free = |x: &Tensor| x.shape.iter().take(rank).copied().collect::<Shape>();
        let (of_left, of_right) = (free(left), free(right));
        let summed: Shape = full.iter().skip(rank).copied().collect();
        // Each axis belongs to both factors, or to the one in which it does not have extent 1.
        let both: Vec<usize> = (0..rank).filter(|a| of_left.get(*a) == of_right.get(*a)).collect();
        let only = |x: &Shape, other: &Shape| -> Vec<usize> {
            (0..rank).filter(|a| x.get(*a) != other.get(*a) && other.get(*a) == Some(&1)).collect()
        };
        let (left_only, right_only) = (only(&of_left, &of_right), only(&of_right, &of_left));
        let mut factor = |x: &Tensor, own: &[usize]| {
            let mut shape: Shape = x.shape.iter().take(rank).copied().collect();
            shape.extend_from_slice(&summed);
            let x = self.w.spread(x, &shape)?;
            let order: Vec<usize> = both.iter().chain(own).copied().chain(rank..rank + axes).collect();
            let kept: Shape = order.iter().map(|a| x.extent(*a)).collect();
            let others = (0..rank).filter(|a| !order.contains(a));
            let moved: Vec<usize> = others.chain(order.iter().copied()).collect();
            let x = self.w.transpose(&x, &moved)?;
            self.w.reshape(&x, &kept)
        };
        let (x, y) = (factor(left, &left_only)?, factor(right, &right_only)?);
        let order: Vec<usize> = both.iter().chain(&left_only).chain(&right_only).copied().collect();
        let shape: Shape = order.iter().filter_map(|a| full.get(*a)).copied().collect();
        let form = Form { shape, ty: accumulator(ReduceOp::Sum, x.ty) };
        let batch = list(0..both.len());
        let last = |x: &Tensor| list(x.rank() - axes..x.rank());
        let text = format!(
            "stablehlo.dot_general {}, {}, batching_dims = {batch} x {batch}, contracting_dims = {} x {}, precision = [HIGHEST, HIGHEST] : ({}, {}) -> {form}",
            x.name,
            y.name,
            last(&x),
            last(&y),
            x.form(),
            y.form()
        );
        let z = self.w.define(&text, form.shape, form.ty)?;
        let back: Vec<usize> = (0..rank).filter_map(|a| order.iter().position(|b| *b == a)).collect();
        let z = self.w.transpose(&z, &back)?;
        self.w.convert(&z, left.ty)
    }

    /// A convolution of `[image, group, channel, place..]` with `[group, filter, channel, window..]`.
    pub(super) fn convolved(
        &mut self,
        [x, filters]: [&Tensor; 2],
        starts: &[Value],
        places: &[i64],
        [strides, dilations]: [&[u32]; 2],
    ) -> Result {
        let ([images, groups, channels, ..], [_, count, _, window @ ..]) = (&x.shape[..], &filters.shape[..]) else {
            return Err(Stop::Defect("a convolution has images and filters"));
        };
        let mut shape = Shape::from_slice(&[*images, *groups, *count]);
        shape.extend_from_slice(places);
        let steps = strides.iter().zip(dilations).map(|(s, d)| (i64::from(*s), i64::from(*d)));
        let reads = places.iter().zip(window).zip(steps.clone());
        let read = reads.map(|((p, w), (s, d))| (p - 1) * s + (w - 1) * d + 1);
        if x.shape[..3].contains(&0) || filters.shape.contains(&0) || shape.contains(&0) {
            return self.w.zeros(x.ty, &shape);
        }
        let part: Vec<i64> = read.collect();
        let x = &self.read_part(x, starts, &part)?;
        let with = |first: [i64; 2], rest: &[i64]| first.iter().chain(rest).copied().collect::<Shape>();
        let images_of = self.w.reshape(x, &with([*images, groups * channels], &part))?;
        let filters_of = self.w.reshape(filters, &with([groups * count, *channels], window))?;
        let (strides, dilations): (Vec<i64>, Vec<i64>) = steps.unzip();
        let axes = (0..places.len()).map(|k| format!(", {k}")).collect::<String>();
        let attributes = format!(
            "window_strides = {}, rhs_dilation = {}, dimension_numbers = #stablehlo.conv<[b, f{axes}]x[o, i{axes}]->[b, f{axes}]>, feature_group_count = {groups} : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]",
            array_attribute(&strides),
            array_attribute(&dilations)
        );
        let form = Form { shape: with([*images, groups * count], places), ty: x.ty };
        let operation = Operation { name: "convolution", attributes };
        let y = self.w.general1(&operation, &[images_of, filters_of], &[], form)?;
        self.w.reshape(&y, &shape)
    }

    /// So many positions of the axes of places, from these on, with zeros out of bounds.
    fn read_part(&mut self, x: &Tensor, starts: &[Value], read: &[i64]) -> Result {
        let mut x = x.clone();
        let (mut known, mut shape) = (vec![0; x.rank()], x.shape.clone());
        for (axis, (start, read)) in (3..).zip(starts.iter().zip(read)) {
            match self.size(*start)? {
                Size::Number(n) => (known[axis], shape[axis]) = (n, *read),
                Size::Device(start) => {
                    let (zero, one) = (self.w.small(0, x.ty)?, self.w.int(1)?);
                    x = self.unfolded(&x, axis, &start, &[*read], &[one], Some(zero))?;
                    shape[axis] = *read;
                }
            }
        }
        self.padded_from(&x, Lit::zero(x.ty), &known, &shape)
    }

    pub(super) fn softmax(&mut self, x: &Tensor, axis: usize, log: bool) -> Result {
        let wide = self.w.convert(x, accumulator(ReduceOp::Sum, x.ty))?;
        let greatest = self.reduced_in_place(ReduceOp::Max, &wide, &[axis])?;
        let less = self.w.binary("subtract", &wide, &greatest)?;
        let powers = self.w.unary("exponential", &less)?;
        let sum = self.reduced_in_place(ReduceOp::Sum, &powers, &[axis])?;
        let y = if log {
            let logarithm = self.w.unary("log", &sum)?;
            self.w.binary("subtract", &less, &logarithm)?
        } else {
            self.w.binary("divide", &powers, &sum)?
        };
        self.w.convert(&y, x.ty)
    }

    pub(super) fn normalised(
        &mut self,
        x: &Tensor,
        axes: &[usize],
        epsilon: Lit,
        [scale, shift]: [Option<Tensor>; 2],
    ) -> Result {
        let elements: i64 = axes.iter().map(|a| x.extent(*a)).product();
        let count = self.w.int(elements)?;
        let count = self.w.convert(&count, x.ty)?;
        let sum = self.reduced_in_place(ReduceOp::Sum, x, axes)?;
        let mean = self.w.binary("divide", &sum, &count)?;
        let less = self.w.binary("subtract", x, &mean)?;
        let squares = self.w.binary("multiply", &less, &less)?;
        let sum = self.reduced_in_place(ReduceOp::Sum, &squares, axes)?;
        let variance = self.w.binary("divide", &sum, &count)?;
        let epsilon = self.w.scalar(epsilon)?;
        let variance = self.w.binary("add", &variance, &epsilon)?;
        let root = self.w.unary("sqrt", &variance)?;
        let mut y = self.w.binary("divide", &less, &root)?;
        if let Some(scale) = scale {
            y = self.w.binary("multiply", &y, &scale)?;
        }
        if let Some(shift) = shift {
            y = self.w.binary("add", &y, &shift)?;
        }
        Ok(y)
    }
}

fn reduction(axes: &[usize]) -> Operation<'static> {
    let axes: Vec<i64> = axes.iter().map(|a| *a as i64).collect();
    Operation { name: "reduce", attributes: format!("dimensions = {}", array_attribute(&axes)) }
}
