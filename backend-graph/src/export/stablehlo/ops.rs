//! Every operation of graphs as operations of StableHLO.

use super::Stop;
use super::body::{Emitter, Held, Size};
use super::control::LaneLoop;
use super::writer::{Result, Tensor};
use acc_desugar::graph::{Node, Op, Value};

/// One tensor as results.
fn one(x: Tensor) -> Vec<Held> {
    vec![Held::Tensor(x)]
}

fn all(xs: Vec<Tensor>) -> Vec<Held> {
    xs.into_iter().map(Held::Tensor).collect()
}

fn size(s: Size) -> Vec<Held> {
    vec![Held::Size(s)]
}

impl<'g> Emitter<'g> {
    /// Writes a node; what its results are.
    pub(super) fn node(&mut self, node: &'g Node) -> Result<Vec<Held>> {
        Ok(match &node.op {
            // ---- sizes
            Op::Size(n) => size(Size::Number(*n)),
            Op::SizeOp(op, x, y) => {
                let (x, y) = (self.size(*x)?, self.size(*y)?);
                size(self.size_op(*op, &x, &y)?)
            }
            Op::ReadBack(x) | Op::Argument(x) => {
                let x = self.tensor(*x)?;
                size(self.read_back(x)?)
            }
            Op::Outside { base, steps, lens, extent } => size(self.outside(*base, steps, lens, *extent)?),
            Op::Extent(x, axis) => size(Size::Number(self.tensor(*x)?.extent(*axis as usize))),
            Op::FromSize(s) => one(self.device_size(*s)?),
            // ---- sources
            Op::Const(l) => one(self.w.scalar(*l)?),
            Op::Iota { len, start, step, ty } => {
                let len = self.extent(*len)?;
                let positions = self.w.iota(&[len], 0)?;
                let (start, step) = (self.device_size(*start)?, self.device_size(*step)?);
                let far = self.w.binary("multiply", &positions, &step)?;
                let y = self.w.binary("add", &far, &start)?;
                one(self.w.cast(&y, *ty)?)
            }
            // ---- element-wise
            Op::Prim(p, xs) => {
                let xs = self.tensors(xs)?;
                one(self.w.prim(*p, &xs)?)
            }
            Op::Cast(x, to) => {
                let x = self.tensor(*x)?;
                one(self.w.cast(&x, *to)?)
            }
            Op::Bitcast(x, to) => {
                let x = self.tensor(*x)?;
                one(self.w.bitcast(&x, *to)?)
            }
            Op::Clip { x, low, high } => {
                let x = self.tensor(*x)?;
                let (low, high) = (self.w.scalar(*low)?, self.w.scalar(*high)?);
                let y = self.w.binary("maximum", &x, &low)?;
                one(self.w.binary("minimum", &y, &high)?)
            }
            Op::Where(cond, then, other) => {
                let (cond, then, other) = (self.tensor(*cond)?, self.tensor(*then)?, self.tensor(*other)?);
                one(self.w.select(&cond, &then, &other)?)
            }
            Op::Clamp(at, extent) => {
                let (at, extent) = (self.tensor(*at)?, self.size(*extent)?);
                one(self.clamped(&at, &extent)?)
            }
            Op::InBounds { at, extent, by_use: _ } => {
                let (at, extent) = (self.tensor(*at)?, self.device_size(*extent)?);
                let outside = self.out_of_bounds(&at, &extent)?;
                let bad = self.any(&outside)?;
                self.fault(node, &bad)?;
                one(at)
            }
            Op::Divisor(x) => {
                let x = self.tensor(*x)?;
                let (zero, one_) = (self.w.small(0, x.ty)?, self.w.small(1, x.ty)?);
                let none = self.w.compare("EQ", &x, &zero)?;
                let bad = self.any(&none)?;
                self.fault(node, &bad)?;
                one(self.w.select(&none, &one_, &x)?)
            }
            // ---- views
            Op::Reshape(x, shape) => {
                let (x, shape) = (self.tensor(*x)?, self.shape(shape)?);
                one(self.reshaped(&x, &shape)?)
            }
            Op::Broadcast(x, shape) => {
                let (x, shape) = (self.tensor(*x)?, self.shape(shape)?);
                one(self.broadcast(&x, &shape)?)
            }
            Op::Transpose(x, axes) => {
                let x = self.tensor(*x)?;
                let axes: Vec<usize> = axes.iter().map(|a| *a as usize).collect();
                one(self.w.transpose(&x, &axes)?)
            }
            Op::InsertAxes(x, axes) => {
                let x = self.tensor(*x)?;
                let mut shape = x.shape.clone();
                for a in axes {
                    shape.insert((*a as usize).min(shape.len()), 1);
                }
                one(self.w.reshape(&x, &shape)?)
            }
            Op::Slice { x, axis, start, len, step } => {
                let (x, start, len) = (self.tensor(*x)?, self.size(*start)?, self.extent(*len)?);
                one(self.sliced(&x, *axis as usize, &start, len, i64::from(*step))?)
            }
            Op::Select { x, axis, at } => {
                let (x, at, axis) = (self.tensor(*x)?, self.size(*at)?, *axis as usize);
                let y = self.sliced(&x, axis, &at, 1, 1)?;
                let mut shape = y.shape.clone();
                shape.remove(axis);
                one(self.w.reshape(&y, &shape)?)
            }
            Op::Flip(x, axis) => {
                let x = self.tensor(*x)?;
                one(self.w.reverse(&x, *axis as usize)?)
            }
            Op::Unfold { x, axis, start, lens, steps, padded } => {
                let (x, lens) = (self.tensor(*x)?, self.shape(lens)?);
                let (start, steps) = (self.device_size(*start)?, self.device_sizes(steps)?);
                let zero = if *padded { Some(self.w.small(0, x.ty)?) } else { None };
                one(self.unfolded(&x, *axis as usize, &start, &lens, &steps, zero)?)
            }
            Op::Pad { x, widths, mode } => {
                let mut x = self.tensor(*x)?;
                for (axis, width) in widths.iter().enumerate() {
                    x = self.padded(&x, axis, i64::from(*width), *mode)?;
                }
                one(x)
            }
            // ---- data movement
            Op::Gather(x, at) => {
                let (x, at) = (self.tensor(*x)?, self.tensor(*at)?);
                one(self.taken(&x, 0, &at)?)
            }
            Op::Take { x, axis, at } => {
                let (x, at) = (self.tensor(*x)?, self.tensor(*at)?);
                one(self.taken(&x, *axis as usize, &at)?)
            }
            Op::Scatter { base, at, values, mode } => {
                let (base, at, values) = (self.tensor(*base)?, self.tensor(*at)?, self.tensor(*values)?);
                one(self.scattered(&base, &at, &values, *mode)?)
            }
            Op::Concat(xs, axis) => {
                let xs = self.tensors(xs)?;
                one(self.w.concat(&xs, *axis as usize)?)
            }
            Op::Sort { x, count, last } => {
                let x = self.tensor(*x)?;
                let both = self.sorted(&x)?;
                let Some(count) = count else { return Ok(all(both)) };
                let (axis, count) = (x.rank().saturating_sub(1), self.extent(*count)?);
                let start = if *last { x.columns() - count } else { 0 };
                let cut = |t: &Tensor| self.sliced(t, axis, &Size::Number(start), count, 1);
                all(both.iter().map(cut).collect::<Result<_>>()?)
            }
            Op::Nonzero(x) => {
                let x = self.tensor(*x)?;
                let v = node.results.first().copied().ok_or(Stop::Defect("a node without results"))?;
                one(self.nonzero(&x, v)?)
            }
            // ---- reductions
            Op::Pool { with, x, axis, start, places, window, stride, dilation, padded } => {
                let (x, axis) = (self.tensor(*x)?, *axis as usize);
                let lens = self.shape(&[*places, *window])?;
                let start = self.device_size(*start)?;
                let steps = [self.w.int(i64::from(*stride))?, self.w.int(i64::from(*dilation))?];
                let neutral = if *padded { Some(self.neutral(*with, x.ty)?) } else { None };
                let windows = self.unfolded(&x, axis, &start, &lens, &steps, neutral)?;
                one(self.reduced_along(*with, &windows, &[axis + 1])?)
            }
            Op::Reduce(k, x) => {
                let x = self.tensor(*x)?;
                one(self.reduced(*k, &x)?)
            }
            Op::AnyLane(x) => {
                let x = self.tensor(*x)?;
                one(self.any(&x)?)
            }
            Op::ArgExtreme(k, x) => {
                let x = self.tensor(*x)?;
                one(self.arg_extreme(*k, &x)?)
            }
            Op::SegmentReduce { with, x, at, offsets, full } => {
                let mut x = self.tensor(*x)?;
                if let Some(at) = at {
                    let at = self.tensor(*at)?;
                    x = self.taken(&x, x.rank().saturating_sub(1), &at)?;
                }
                let offsets = self.tensor(*offsets)?;
                let bad = self.bad_offsets(&offsets, x.columns(), *full)?;
                self.fault(node, &bad)?;
                one(self.segments_reduced(*with, &x, &offsets)?)
            }
            Op::Contract { left, right, mask, axes } => {
                let (left, right) = (self.tensor(*left)?, self.tensor(*right)?);
                let mask = mask.map(|m| self.tensor(m)).transpose()?;
                one(self.contracted(&left, &right, mask.as_ref(), *axes as usize)?)
            }
            Op::Convolve { x, filters, starts, places, strides, dilations } => {
                let (x, filters) = (self.tensor(*x)?, self.tensor(*filters)?);
                let places = self.shape(places)?;
                one(self.convolved([&x, &filters], starts, &places, [strides, dilations])?)
            }
            Op::Softmax { x, axis, log } => {
                let x = self.tensor(*x)?;
                one(self.softmax(&x, *axis as usize, *log)?)
            }
            Op::Normalize { x, axes, epsilon, scale, shift } => {
                let x = self.tensor(*x)?;
                let scale = scale.map(|v| self.tensor(v)).transpose()?;
                let shift = shift.map(|v| self.tensor(v)).transpose()?;
                let axes: Vec<usize> = axes.iter().map(|a| *a as usize).collect();
                one(self.normalised(&x, &axes, *epsilon, [scale, shift])?)
            }
            // ---- scans
            Op::Cumulative(k, x) => {
                let x = self.tensor(*x)?;
                one(self.cumulative(*k, &x)?)
            }
            Op::Exclusive(k, x) => {
                let x = self.tensor(*x)?;
                one(self.exclusive(*k, &x)?)
            }
            Op::SegmentScan { with, x, starts } => {
                let (x, starts) = (self.tensor(*x)?, self.tensor(*starts)?);
                one(self.segments_scanned(*with, &x, &starts)?)
            }
            Op::Fold { columns, combine } => {
                let columns = self.tensors(columns)?;
                all(self.folded(columns, combine)?)
            }
            Op::Scan { columns, combine } => {
                let columns = self.tensors(columns)?;
                all(self.scanned(columns, combine)?)
            }
            // ---- control
            Op::If { cond, then, else_ } => self.branch(&node.results, *cond, then, else_)?,
            // The host looks at limits between steps. Where it cannot there is no module.
            Op::While { .. } | Op::LaneLoop { .. } if self.options.interruptible => return Err(self.left_to_host(node)),
            Op::While { init, test, step } => self.whiles(node, init, test, step)?,
            Op::LaneLoop { .. } => {
                let lanes = LaneLoop::of(node).ok_or(Stop::Defect("a loop of lanes"))?;
                all(self.lanes(&node.results, &lanes, None)?.0)
            }
            // ---- faults
            Op::Fault { bad, space, .. } => {
                self.checked_lanes(node, *bad, space)?;
                vec![Held::Token]
            }
            Op::Checked { values, tokens, raise: _ } => {
                self.evaluated(tokens)?;
                values.iter().map(|v| self.held(*v)).collect::<Result<_>>()?
            }
            Op::Trace { values, .. } => {
                let values = values.iter().map(|v| self.held(*v)).collect::<Result<_>>()?;
                if self.options.traces {
                    return Err(self.left_to_host(node));
                }
                values
            }
            Op::Confine { mask, tokens, space: _ } => {
                self.evaluated(tokens)?;
                one(self.tensor(*mask)?)
            }
        })
    }

    /// That the host must run a node, if it can, whose operands are computed first.
    fn left_to_host(&mut self, node: &Node) -> Stop {
        if self.at_host()
            && let Err(stop) = self.evaluated(&node.op.operands())
        {
            return stop;
        }
        self.host_runs(node)
    }

    fn device_sizes(&mut self, all: &[Value]) -> Result<Vec<Tensor>> {
        all.iter().map(|v| self.device_size(*v)).collect()
    }

    fn evaluated(&mut self, tokens: &[Value]) -> Result<()> {
        tokens.iter().try_for_each(|t| self.held(*t).map(|_| ()))
    }

    /// The fault of lanes where `bad` is true, if there are lanes.
    fn checked_lanes(&mut self, node: &Node, bad: Value, space: &[Value]) -> Result<()> {
        let bad = self.held(bad)?;
        let mut lanes = Vec::new();
        for v in space {
            match self.size(*v)? {
                Size::Number(n) if n <= 0 => return Ok(()),
                Size::Number(_) => {}
                Size::Device(t) => lanes.push(t),
            }
        }
        let bad = self.condition(&bad)?;
        let mut bad = self.any(&bad)?;
        if bad.number == Some(0) {
            return Ok(());
        }
        for n in lanes {
            let zero = self.w.int(0)?;
            let some = self.w.compare("GT", &n, &zero)?;
            bad = self.w.binary("and", &bad, &some)?;
        }
        self.fault(node, &bad)
    }
}
