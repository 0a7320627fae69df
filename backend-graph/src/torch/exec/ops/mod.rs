//! Everything but element-wise operations and control.

mod bits;
pub(crate) mod cast;
mod contract;
mod convolve;
mod elementwise;
pub(crate) mod masks;
mod normalize;
mod pool;
pub(super) mod reduce;
mod segments;
mod softmax;
mod sort;
mod strided;
pub(crate) mod views;

use crate::plan::Place;
use crate::torch::TorchError;
use crate::torch::exec::{Rt, Run};
use crate::torch::numbers::full;
use crate::torch::transfer::kind;
use acc_core::data::ScalarType;
use acc_desugar::graph::{Node, Op, ReduceOp, ScatterMode, Type, Value};
use bits::scatter::scatter_bits;
use contract::contract;
use convolve::Convolution;
use masks::{any, selected};
use normalize::{Affine, normalize};
use pool::Pool;
use reduce::{arg_extreme, cumulative, exclusive, ordered, reduce, unordered};
use softmax::softmax;
use tch::{Kind, Tensor};
use views::{Positions, clamp, gather, iota, outside, pad, positions, select, slice, take, unfold};

type Result<T> = std::result::Result<T, TorchError>;

impl Run<'_> {
    pub(crate) fn scalar(&self, v: Value) -> ScalarType {
        match self.exe.plan.graph().ty(v) {
            Type::Tensor { scalar, .. } => scalar,
            Type::Size | Type::Token => ScalarType::I64,
        }
    }

    /// The value of a rank-0 argument, which the host has.
    fn argument(&self, v: Value) -> Result<i64> {
        let found = self
            .exe
            .arguments
            .get(&v)
            .and_then(|(position, leaf)| self.args.get(*position)?.columns().get(*leaf)?.slice().get(0));
        Ok(found.ok_or_else(|| TorchError::new(format!("the value {v} is no argument")))?.bits as i64)
    }

    /// Runs an operation without bodies.
    /// The result may take the place of the operand that it `overwrites`.
    pub(crate) fn simple(&self, op: &Op, node: &Node, overwrites: Option<Place>) -> Result<Rt> {
        let device = self.exe.device.tch();
        let tensor = match op {
            Op::Size(n) => return Ok(Rt::Size(*n)),
            Op::SizeOp(op, a, b) => return Ok(Rt::Size(op.apply(self.size(*a)?, self.size(*b)?))),
            Op::Argument(x) => return Ok(Rt::Size(self.argument(*x)?)),
            Op::Outside { base, steps, lens, extent } => {
                let out = outside(self.size(*base)?, &self.sizes(steps)?, &self.sizes(lens)?, self.size(*extent)?);
                return Ok(Rt::Size(i64::from(out)));
            }
            Op::Extent(x, axis) => {
                let sizes = self.tensor(*x)?.size();
                return Ok(Rt::Size(sizes.get(*axis as usize).copied().unwrap_or(0)));
            }
            Op::FromSize(s) => full(&[], self.size(*s)?, (Kind::Int64, device))?,
            Op::Const(l) => crate::torch::transfer::literal(*l, self.exe.device)?,
            Op::Iota { len, start, step, ty } => {
                let (len, start, step) = (self.size(*len)?, self.size(*start)?, self.size(*step)?);
                iota(len, start, step, *ty, device)?
            }
            Op::Clip { x, low, high } => {
                elementwise::clip(self.tensor(*x)?, *low, *high, self.target(node, overwrites)?)?
            }
            Op::Prim(p, args) => {
                let ty = args.first().map_or(ScalarType::I64, |a| self.scalar(*a));
                let place = self.target(node, overwrites)?;
                let constant = self.constant_divisor(op);
                match args[..] {
                    [x] => elementwise::apply(*p, ty, &[self.tensor(x)?], constant, place)?,
                    [x, y] => elementwise::apply(*p, ty, &[self.tensor(x)?, self.tensor(y)?], constant, place)?,
                    _ => return Err(TorchError::new("an element-wise operation has one or two operands")),
                }
            }
            Op::Cast(x, to) => cast::cast(self.tensor(*x)?, self.scalar(*x), *to)?,
            Op::Bitcast(x, to) => {
                let t = self.tensor(*x)?;
                if t.f_kind()? == kind(*to) { t.shallow_clone() } else { t.f_view_dtype(kind(*to))? }
            }
            Op::Where(c, t, e) => {
                let place = self.place(overwrites.filter(|p| p.of == *t || p.of == *e))?;
                let [c, t, e] = [self.tensor(*c)?, self.tensor(*t)?, self.tensor(*e)?];
                let place = place.filter(|(out, _)| elementwise::has_place(&[c, t, e], out)).map(|(out, _)| out);
                selected(c, t, e, place)?
            }
            Op::Clamp(at, extent) => clamp(self.tensor(*at)?, self.size(*extent)?)?,
            Op::Reshape(x, shape) => {
                let (t, shape) = (self.tensor(*x)?, self.sizes(shape)?);
                if t.size() == shape { t.shallow_clone() } else { t.f_reshape(shape)? }
            }
            Op::Broadcast(x, shape) => {
                let (t, shape) = (self.tensor(*x)?, self.shape(shape)?);
                if t.size() == shape { t.shallow_clone() } else { t.f_expand(shape, false)? }
            }
            Op::Transpose(x, axes) => {
                let axes: Vec<i64> = axes.iter().map(|a| i64::from(*a)).collect();
                self.tensor(*x)?.f_permute(axes)?
            }
            Op::InsertAxes(x, axes) => {
                let mut t = self.tensor(*x)?.shallow_clone();
                for a in axes {
                    t = t.f_unsqueeze(i64::from(*a))?;
                }
                t
            }
            Op::Slice { x, axis, start, len, step } => {
                slice(self.tensor(*x)?, *axis as usize, self.size(*start)?, self.size(*len)?, i64::from(*step))?
            }
            Op::Select { x, axis, at } => select(self.tensor(*x)?, *axis as usize, self.size(*at)?)?,
            Op::Unfold { x, axis, start, lens, steps, padded } => {
                let windows = Positions {
                    start: self.size(*start)?,
                    lens: &self.sizes(lens)?,
                    steps: &self.sizes(steps)?,
                    padded: *padded,
                };
                unfold(self.tensor(*x)?, *axis as usize, &windows)?
            }
            Op::Flip(x, axis) => self.tensor(*x)?.f_flip([i64::from(*axis)])?,
            Op::Gather(source, at) => gather(self.tensor(*source)?, self.tensor(*at)?)?,
            Op::Take { x, axis, at } => take(self.tensor(*x)?, *axis as usize, self.tensor(*at)?)?,
            Op::Pad { x, widths, mode } => pad(self.tensor(*x)?, widths, *mode)?,
            Op::Scatter { base, at, values, mode } => {
                let ty = self.scalar(*base);
                scatter(self.tensor(*base)?, self.tensor(*at)?, self.tensor(*values)?, ty, *mode)?
            }
            Op::Concat(xs, axis) => self.joined(xs, *axis)?,
            Op::Nonzero(x) => self.tensor(*x)?.f_nonzero()?.f_reshape([-1])?,
            Op::Reduce(k, x) => reduce(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::SegmentReduce { with, x, at, offsets, full } => {
                let at = at.map(|at| self.tensor(at)).transpose()?;
                segments::reduce(*with, self.tensor(*x)?, at, self.scalar(*x), self.tensor(*offsets)?, *full)?
            }
            Op::Contract { left, right, mask, axes } => {
                let mask = mask.map(|m| self.tensor(m)).transpose()?;
                let factors = [self.tensor(*left)?, self.tensor(*right)?];
                contract(factors, mask, *axes as usize, self.scalar(*left))?
            }
            Op::Pool { with, x, axis, start, places, window, stride, dilation, padded } => {
                let [start, places, window] = [*start, *places, *window].map(|n| self.size(n));
                let (start, places, window) = (start?, places?, window?);
                let (stride, dilation) = (i64::from(*stride), i64::from(*dilation));
                let (with, ty, axis, padded) = (*with, self.scalar(*x), *axis as usize, *padded);
                Pool { with, ty, axis, start, places, window, stride, dilation, padded }.run(self.tensor(*x)?)?
            }
            Op::Convolve { x, filters, starts, places, strides, dilations } => {
                let [strides, dilations] = [strides, dilations].map(|n| n.iter().map(|n| i64::from(*n)).collect());
                let (x, filters, ty) = (self.tensor(*x)?, self.tensor(*filters)?, self.scalar(*x));
                let [starts, places] = [starts, places].map(|n| self.sizes(n));
                Convolution { x, filters, starts: starts?, places: places?, strides, dilations, ty }.run()?
            }
            Op::ArgExtreme(k, x) => arg_extreme(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::Softmax { x, axis, log } => softmax(self.tensor(*x)?, i64::from(*axis), *log, self.scalar(*x))?,
            Op::Normalize { x, axes, epsilon, scale, shift } => {
                let of = |v: &Option<Value>| v.map(|v| self.tensor(v)).transpose();
                let affine = Affine { scale: of(scale)?, shift: of(shift)? };
                normalize(self.tensor(*x)?, axes, *epsilon, affine)?
            }
            Op::Cumulative(k, x) => cumulative(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::Exclusive(k, x) => exclusive(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::AnyLane(x) => {
                let x = self.tensor(*x)?;
                if x.numel() == 0 { Tensor::f_zeros([0i64; 0], (Kind::Bool, device))? } else { any(x)? }
            }
            Op::Sort { .. }
            | Op::ReadBack(_)
            | Op::InBounds { .. }
            | Op::Divisor(_)
            | Op::SegmentScan { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::LaneLoop { .. }
            | Op::If { .. }
            | Op::While { .. }
            | Op::Fault { .. }
            | Op::Checked { .. }
            | Op::Trace { .. }
            | Op::Confine { .. } => {
                return Err(TorchError::new(format!("`{}` is not a simple operation", node.op.name())));
            }
        };
        Ok(Rt::Tensor(tensor.into()))
    }

    /// Where the result of a node may go: to its rows of a block's results, or to the place of an operand.
    fn target(&self, node: &Node, overwrites: Option<Place>) -> Result<Option<(&Tensor, bool)>> {
        let rows = self.block.as_ref().zip(node.results.first()).and_then(|(b, v)| b.results.get(v));
        rows.map_or_else(|| self.place(overwrites), |rows| Ok(Some((rows, false))))
    }

    /// The tensor whose memory a result may have, and whether it surely fits. What a block has from outside another block may
    /// still read, at other places than its own rows.
    fn place(&self, place: Option<Place>) -> Result<Option<(&Tensor, bool)>> {
        let is_own = |p: &Place| self.block.as_ref().is_none_or(|b| b.outer.value(p.of).is_none());
        place.filter(is_own).map(|p| Ok((self.tensor(p.of)?, p.fits))).transpose()
    }

    /// A tensor sorted along its innermost axis, and the positions that the elements had; of each row so many, if that is said.
    pub(crate) fn sort(&self, x: Value, count: Option<Value>, last: bool) -> Result<[Tensor; 2]> {
        let (x, ty) = (self.tensor(x)?, self.scalar(x));
        match count {
            Some(count) => sort::some(x, ty, self.size(count)?, last),
            None => sort::all(x, ty),
        }
    }

    /// Whether the divisor of an operation is a literal, which then needs no guard unless it is -1.
    fn constant_divisor(&self, op: &Op) -> Option<acc_core::data::Lit> {
        let Op::Prim(p, args) = op else { return None };
        if !p.is_partial() {
            return None;
        }
        let step = self.exe.plan.definition(*args.get(1)?).and_then(|id| self.exe.plan.step(id))?;
        match &step.node.op {
            Op::Const(l) => Some(*l),
            _ => None,
        }
    }
}

/// Whether a tensor is one number repeated, as far as that is known without waiting for a device.
fn is_all(t: &Tensor, number: i64) -> Result<bool> {
    let repeated = t.numel() > 0 && t.device() == tch::Device::Cpu && t.stride().iter().all(|step| *step == 0);
    let integer = matches!(t.f_kind()?, Kind::Uint8 | Kind::Int8 | Kind::Int16 | Kind::Int | Kind::Int64);
    Ok(repeated && integer && t.f_int64_value(&[0])? == number)
}

fn scatter(base: &Tensor, at: &Tensor, values: &Tensor, ty: ScalarType, mode: ScatterMode) -> Result<Tensor> {
    if ty == ScalarType::F16 && matches!(mode, ScatterMode::Combine(_)) {
        let wide = |t: &Tensor| t.f_to_kind(Kind::Float);
        return Ok(scatter(&wide(base)?, at, &wide(values)?, ScalarType::F32, mode)?.f_to_kind(Kind::Half)?);
    }
    Ok(match mode {
        ScatterMode::Bits(k) => scatter_bits(k, base, at, values)?,
        // On the CPU the last of several writers wins; that is so of no other indexed write of libtorch.
        ScatterMode::Last if base.device() == tch::Device::Cpu => base.f_scatter(0, at, values)?,
        ScatterMode::Last if values.numel() == 0 => base.shallow_clone(),
        ScatterMode::Last => {
            let writers = Tensor::f_arange(values.numel() as i64, (Kind::Int64, base.device()))?;
            let nobody = Tensor::f_full([base.numel() as i64], -1, (Kind::Int64, base.device()))?;
            let last = nobody.f_internal_scatter_reduce(0, &at.f_to_kind(Kind::Int64)?, &writers, "amax", true)?;
            let written = values.f_index_select(0, &last.f_clamp_min(0)?)?;
            written.f_where_self(&last.f_ge(0)?, base)?
        }
        ScatterMode::Combine(ReduceOp::Sum) if is_all(base, 0)? && is_all(values, 1)? => {
            let outside = || TorchError::new("a position is out of bounds");
            // There are as many counts as the greatest position says, which takes much memory. To look first takes a quarter
            // of the time if positions have 64 bits, little otherwise.
            let narrow = at.f_kind()? != Kind::Int64 && at.numel() > 0;
            if narrow && at.f_max()?.f_int64_value(&[])? >= base.numel() as i64 {
                return Err(outside());
            }
            let counts = at.f_bincount(None::<Tensor>, base.numel() as i64)?;
            if counts.size() != base.size() {
                return Err(outside());
            }
            if ty == ScalarType::I64 { counts } else { counts.f_to_kind(kind(ty))? }
        }
        ScatterMode::Combine(ReduceOp::Sum) if at.f_kind()? == Kind::Int64 => base.f_scatter_add(0, at, values)?,
        ScatterMode::Combine(ReduceOp::Sum) => base.f_index_add(0, &positions(at)?, values)?,
        ScatterMode::Combine(ReduceOp::Product) => base.f_internal_scatter_reduce(0, at, values, "prod", true)?,
        ScatterMode::Combine(ReduceOp::Min | ReduceOp::All) => {
            unordered(&ordered(base, ty)?.f_internal_scatter_reduce(0, at, &ordered(values, ty)?, "amin", true)?, ty)?
        }
        ScatterMode::Combine(ReduceOp::Max | ReduceOp::Any) => {
            unordered(&ordered(base, ty)?.f_internal_scatter_reduce(0, at, &ordered(values, ty)?, "amax", true)?, ty)?
        }
    })
}
