//! Everything but element-wise operations and control.

use super::{Rt, Run, cast, prim, segments};
use crate::plan::Place;
use crate::torch::transfer::kind;
use crate::torch::{Device, TorchError};
use acc_core::data::ScalarType;
use acc_desugar::graph::{Known, Node, Op, PadMode, ScatterMode, Type, Value};
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

impl Run<'_> {
    pub(super) fn scalar(&self, v: Value) -> ScalarType {
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
    pub(super) fn simple(&self, op: &Op, node: &Node, overwrites: Option<Place>) -> Result<Rt> {
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
            Op::FromSize(s) => Tensor::f_full([0i64; 0], self.size(*s)?, (Kind::Int64, device))?,
            Op::Const(l) => crate::torch::transfer::literal(*l, self.exe.device)?,
            Op::Iota { len, start, step, ty } => {
                let (len, start, step) = (self.size(*len)?, self.size(*start)?, self.size(*step)?);
                iota(len, start, step, *ty, device)?
            }
            Op::Clip { x, low, high } => prim::clip(self.tensor(*x)?, *low, *high, self.place(overwrites)?)?,
            Op::Prim(p, args) => {
                let ty = args.first().map_or(ScalarType::I64, |a| self.scalar(*a));
                let place = self.place(overwrites)?;
                let constant = self.constant_divisor(op);
                match args[..] {
                    [x] => prim::apply(*p, ty, &[self.tensor(x)?], constant, place)?,
                    [x, y] => prim::apply(*p, ty, &[self.tensor(x)?, self.tensor(y)?], constant, place)?,
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
                let place = place.filter(|(out, _)| prim::has_place(&[c, t, e], out)).map(|(out, _)| out);
                selected(c, t, e, place)?
            }
            Op::Clamp(at, extent) => clamp(self.tensor(*at)?, self.size(*extent)?)?,
            Op::Reshape(x, shape) => {
                let (t, shape) = (self.tensor(*x)?, self.sizes(shape)?);
                if t.size() == shape { t.shallow_clone() } else { t.f_reshape(shape)? }
            }
            Op::Broadcast(x, shape) => {
                let (t, shape) = (self.tensor(*x)?, self.sizes(shape)?);
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
            Op::Unfold { x, start, lens, steps } => {
                unfold(self.tensor(*x)?, self.size(*start)?, &self.sizes(lens)?, &self.sizes(steps)?)?
            }
            Op::Flip(x, axis) => self.tensor(*x)?.f_flip([i64::from(*axis)])?,
            Op::Gather(source, at) => gather(self.tensor(*source)?, self.tensor(*at)?)?,
            Op::Take { x, axis, at } => take(self.tensor(*x)?, *axis as usize, self.tensor(*at)?)?,
            Op::Pad { x, widths, mode } => pad(self.tensor(*x)?, widths, *mode)?,
            Op::Scatter { base, at, values, mode } => {
                let ty = self.scalar(*base);
                scatter(self.tensor(*base)?, self.tensor(*at)?, self.tensor(*values)?, ty, *mode)?
            }
            Op::Concat(xs, axis) => {
                let xs = xs.iter().map(|x| self.tensor(*x)).collect::<Result<Vec<_>>>()?;
                Tensor::f_cat(&xs, i64::from(*axis))?
            }
            Op::Nonzero(x) => self.tensor(*x)?.f_nonzero()?.f_reshape([-1])?,
            Op::Reduce(k, x) => reduce(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::SegmentReduce { with, x, offsets, full } => {
                segments::reduce(*with, self.tensor(*x)?, self.scalar(*x), self.tensor(*offsets)?, *full)?
            }
            Op::Contract(a, b) => contract(self.tensor(*a)?, self.tensor(*b)?)?,
            Op::ArgExtreme(k, x) => arg_extreme(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::Cumulative(k, x) => cumulative(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::AnyLane(x) => {
                let x = self.tensor(*x)?;
                if x.numel() == 0 { Tensor::f_zeros([0i64; 0], (Kind::Bool, device))? } else { any(x)? }
            }
            Op::Sort(_)
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

    /// The tensor whose memory a result may have, and whether it surely fits.
    fn place(&self, place: Option<Place>) -> Result<Option<(&Tensor, bool)>> {
        place.map(|p| Ok((self.tensor(p.of)?, p.fits))).transpose()
    }

    /// A tensor sorted along its innermost axis, and the positions that the elements had.
    pub(super) fn sort(&self, x: Value) -> Result<[Tensor; 2]> {
        let (sorted, at) = ordered(self.tensor(x)?, self.scalar(x))?.f_sort_stable(true, -1, false)?;
        Ok([unordered(&sorted, self.scalar(x))?, at])
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

/// Whether a position of a lane is out of bounds: see [`Op::Outside`].
fn outside(base: i64, steps: &[i64], lens: &[i64], extent: i64) -> bool {
    if lens.iter().any(|n| *n <= 0) {
        return false;
    }
    let (mut least, mut greatest) = (i128::from(base), i128::from(base));
    for (step, len) in steps.iter().zip(lens) {
        let way = i128::from(*step) * i128::from(len - 1);
        if way < 0 { least += way } else { greatest += way }
    }
    least < 0 || greatest >= i128::from(extent)
}

fn iota(len: i64, start: i64, step: i64, ty: ScalarType, device: tch::Device) -> Result<Tensor> {
    // How large numbers are exact in the type; and libtorch computes the length of a range in doubles.
    let bits = match ty {
        ScalarType::F32 => 24,
        ScalarType::I32 => 31,
        _ => 52,
    };
    let exact = |n: &i64| n.unsigned_abs() < 1 << bits;
    let end = step.checked_mul(len).filter(exact).and_then(|way| start.checked_add(way)).filter(exact);
    let exact = end.is_some() && exact(&start) && exact(&step);
    if ty != ScalarType::I64 && !exact {
        return cast::cast(&iota(len, start, step, ScalarType::I64, device)?, ScalarType::I64, ty);
    }
    let options = (kind(ty), device);
    if start == 0 && step == 1 {
        return Ok(Tensor::f_arange(len, options)?);
    }
    match end {
        _ if step == 0 => Ok(Tensor::f_full([len], start, options)?),
        Some(end) => Ok(Tensor::f_arange_start_step(start, end, step, options)?),
        None => Ok(Tensor::f_arange(len, options)?.f_mul_scalar(step)?.f_add_scalar(start)?),
    }
}

/// Positions moved into `0..extent`; off their place if there is nothing in it.
pub(super) fn clamp(at: &Tensor, extent: i64) -> Result<Tensor> {
    Ok(if extent > 0 { at.f_clamp(0, extent - 1)? } else { at.f_bitwise_not()? })
}

/// Zeros that take no memory to speak of.
fn zeros(shape: &[i64], like: &Tensor) -> Result<Tensor> {
    Ok(Tensor::f_zeros([0i64; 0], (like.f_kind()?, like.device()))?.f_expand(shape, false)?)
}

/// `len` positions from `start`, `step` apart, along an axis; zeros if they are not all there.
fn slice(t: &Tensor, axis: usize, start: i64, len: i64, step: i64) -> Result<Tensor> {
    let mut shape = t.size();
    let extent = shape.get(axis).copied().unwrap_or(0);
    if len > 0 && outside(start, &[step], &[len], extent) {
        if let Some(n) = shape.get_mut(axis) {
            *n = len;
        }
        return zeros(&shape, t);
    }
    Ok(match (len, step) {
        (_, 1) if len == extent && start == 0 => t.shallow_clone(),
        (..=0, _) => t.f_narrow(axis as i64, 0, 0)?,
        (_, 1) => t.f_narrow(axis as i64, start, len)?,
        _ => t.f_slice(axis as i64, start, start + (len - 1) * step + 1, step)?,
    })
}

/// One position of an axis; zeros if it is not there.
fn select(t: &Tensor, axis: usize, at: i64) -> Result<Tensor> {
    let mut shape = t.size();
    if axis < shape.len() && !(0..shape.remove(axis)).contains(&at) {
        return zeros(&shape, t);
    }
    Ok(t.f_select(axis as i64, at)?)
}

/// The elements at `start + Σ steps·index`; zeros if they are not all there.
fn unfold(t: &Tensor, start: i64, lens: &[i64], steps: &[i64]) -> Result<Tensor> {
    let extent = t.size().first().copied().unwrap_or(0);
    if lens.iter().any(|n| *n <= 0) || outside(start, steps, lens, extent) {
        return zeros(lens, t);
    }
    let stride = t.stride().first().copied().unwrap_or(1);
    // A stride is not negative: such an axis is taken from its other end, and turned round.
    let (mut first, mut strides, mut turned) = (start, Vec::new(), Vec::new());
    for (axis, (step, len)) in steps.iter().zip(lens).enumerate() {
        if *step < 0 {
            first += step * (len - 1);
            turned.push(axis as i64);
        }
        strides.push(step.abs() * stride);
    }
    let view = t.f_narrow(0, first, extent - first)?.f_as_strided(lens, strides.as_slice(), None)?;
    Ok(if turned.is_empty() { view } else { view.f_flip(turned.as_slice())? })
}

fn gather(source: &Tensor, at: &Tensor) -> Result<Tensor> {
    if source.numel() == 0 {
        return zeros(&at.size(), source);
    }
    if at.dim() == 1 {
        return Ok(source.f_index_select(0, at)?);
    }
    Ok(source.f_index_select(0, &at.f_reshape([-1])?)?.f_reshape(at.size())?)
}

fn take(t: &Tensor, axis: usize, at: &Tensor) -> Result<Tensor> {
    let mut shape = t.size();
    if let Some(n) = shape.get_mut(axis)
        && *n == 0
    {
        *n = at.numel() as i64;
        return zeros(&shape, t);
    }
    Ok(t.f_index_select(axis as i64, at)?)
}

/// A tensor with places more at both ends of its axes, but for those without elements.
fn pad(t: &Tensor, widths: &[u32], mode: PadMode) -> Result<Tensor> {
    let shape = t.size();
    let widths: Vec<i64> = widths.iter().zip(&shape).map(|(w, n)| if *n == 0 { 0 } else { i64::from(*w) }).collect();
    if t.numel() == 0 {
        let shape: Vec<i64> = shape.iter().zip(&widths).map(|(n, w)| n + 2 * w).collect();
        return zeros(&shape, t);
    }
    if shape.len() > 3 {
        // libtorch pads three axes at most.
        let mut t = t.shallow_clone();
        for (axis, (n, w)) in shape.iter().zip(&widths).enumerate().filter(|(_, (_, w))| **w > 0) {
            let at = padded_positions(*n, *w, mode);
            t = t.f_index_select(axis as i64, &Tensor::f_from_slice(&at)?.f_to_device(t.device())?)?;
        }
        return Ok(t);
    }
    let name = match mode {
        PadMode::Nearest => "replicate",
        PadMode::Mirror => "reflect",
        PadMode::Wrap => "circular",
    };
    let both: Vec<i64> = widths.iter().rev().flat_map(|w| [*w, *w]).collect();
    let kind = t.f_kind()?;
    let t = if kind == Kind::Bool { t.f_view_dtype(Kind::Uint8)? } else { t.shallow_clone() };
    let padded =
        t.f_unsqueeze(0)?.f_unsqueeze(0)?.f_pad(both.as_slice(), name, None)?.f_squeeze_dim(0)?.f_squeeze_dim(0)?;
    Ok(if kind == Kind::Bool { padded.f_view_dtype(kind)? } else { padded })
}

/// Which position each place of a padded axis of `n` elements shows.
fn padded_positions(n: i64, width: i64, mode: PadMode) -> Vec<i64> {
    let last = n - 1;
    (-width..n + width)
        .map(|i| match mode {
            PadMode::Nearest => i.clamp(0, last),
            PadMode::Mirror => (last - (last - i.abs()).abs()).clamp(0, last),
            PadMode::Wrap => i.rem_euclid(n),
        })
        .collect()
}

/// Whether any element of a tensor of `bool`, which has elements, is true; of rank 0.
pub(super) fn any(t: &Tensor) -> Result<Tensor> {
    if t.dim() == 0 {
        return Ok(t.shallow_clone());
    }
    // The maximum of bytes is vectorised; `any` is not.
    Ok(t.f_view_dtype(Kind::Uint8)?.f_amax([0i64; 0], false)?.f_view_dtype(Kind::Bool)?)
}

/// How many elements of a tensor of `bool` are true.
pub(super) fn count_lanes(t: &Tensor) -> Result<i64> {
    Ok(t.f_sum(Kind::Int64)?.f_int64_value(&[])?)
}

/// From so many elements on, `where`, which branches for each element, loses to arithmetic on bits.
const MANY: usize = 1 << 16;

/// The first value where the condition holds, else the second.
pub(super) fn select_lanes(c: &Tensor, t: &Tensor, e: &Tensor) -> Result<Tensor> {
    selected(c, t, e, None)
}

/// The same. The result goes to `place`, one of the values that nobody needs any more and that has its shape.
fn selected(c: &Tensor, t: &Tensor, e: &Tensor, place: Option<&Tensor>) -> Result<Tensor> {
    let kind = t.f_kind()?;
    let bits = match kind {
        Kind::Int | Kind::Float => Kind::Int,
        Kind::Int64 | Kind::Double => Kind::Int64,
        Kind::Int16 | Kind::Half => Kind::Int16,
        _ => kind,
    };
    // A predictable mask costs nothing, but nobody knows it.
    let dense = c.numel() >= MANY && c.dim() > 0 && t.dim() + e.dim() > 0;
    if !dense || !matches!(bits, Kind::Int | Kind::Int64) {
        return Ok(match place {
            Some(out) => t.f_where_self_out(out, c, e)?,
            None => t.f_where_self(c, e)?,
        });
    }
    // ((t ^ e) & -c) ^ e, or with the roles of `t` and `e` exchanged and c - 1, all ones where `c` is false. The sign of
    // a byte fills the wider numbers.
    let exchanged = place.is_some_and(|place| std::ptr::eq(place, e));
    let c = c.f_view_dtype(Kind::Int8)?;
    let all_ones = if exchanged { c.f_sub_scalar(1)? } else { c.f_neg()? }.f_to_kind(bits)?;
    let as_bits = |t: &Tensor| if kind == bits { Ok(t.shallow_clone()) } else { t.f_view_dtype(bits) };
    let (mut x, y) = if exchanged { (as_bits(e)?, as_bits(t)?) } else { (as_bits(t)?, as_bits(e)?) };
    let differing = if place.is_some() { x.f_bitwise_xor_tensor_(&y)? } else { x.f_bitwise_xor_tensor(&y)? };
    let taken = in_place_if(differing, &all_ones, Tensor::f_bitwise_and_tensor_, Tensor::f_bitwise_and_tensor)?;
    let chosen = in_place_if(taken, &y, Tensor::f_bitwise_xor_tensor_, Tensor::f_bitwise_xor_tensor)?;
    Ok(if kind == bits { chosen } else { chosen.f_view_dtype(kind)? })
}

/// An operation that writes into its first operand, which nobody else has, if that has the shape of the result.
fn in_place_if(
    mut x: Tensor,
    y: &Tensor,
    write: impl Fn(&mut Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>,
    make: impl Fn(&Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>,
) -> Result<Tensor> {
    let (shape, other) = (x.size(), y.size());
    let covers =
        other.len() <= shape.len() && other.iter().rev().zip(shape.iter().rev()).all(|(b, a)| b == a || *b == 1);
    Ok(if covers { write(&mut x, y)? } else { make(&x, y)? })
}

/// Whether any element of a tensor of `bool` is true.
pub(super) fn any_lane(t: &Tensor) -> Result<bool> {
    Ok(t.numel() > 0 && any(t)?.f_int64_value(&[])? != 0)
}

/// The tensor with the order of unsigned numbers as that of signed ones.
pub(super) fn ordered(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    match ty {
        ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => prim::flip_sign(t, ty),
        ScalarType::Bool => Ok(t.f_view_dtype(Kind::Uint8)?),
        _ => Ok(t.shallow_clone()),
    }
}

/// The inverse of [`ordered`].
pub(super) fn unordered(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    match ty {
        ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => prim::flip_sign(t, ty),
        ScalarType::Bool => Ok(t.f_view_dtype(Kind::Bool)?),
        _ => Ok(t.shallow_clone()),
    }
}

fn reduce(k: Known, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    if ty == ScalarType::F16 {
        return Ok(reduce(k, &t.f_to_kind(Kind::Float)?, ScalarType::F32)?.f_to_kind(Kind::Half)?);
    }
    if t.size().last() == Some(&0) {
        let outer = t.size();
        let neutral = crate::torch::transfer::literal(k.neutral(ty), Device::Cpu)?.f_to_device(t.device())?;
        return Ok(neutral.f_expand(outer.split_last().map_or(&[][..], |(_, outer)| outer), false)?);
    }
    Ok(match k {
        Known::Sum => t.f_sum_dim_intlist([-1i64].as_slice(), false, kind(ty))?,
        Known::Product => t.f_prod_dim_int(-1, false, kind(ty))?,
        // Reducing along no axis in particular is vectorised for integers.
        Known::Min if t.dim() == 1 && ty == ScalarType::I64 => t.f_min()?,
        Known::Max if t.dim() == 1 && ty == ScalarType::I64 => t.f_max()?,
        Known::Min | Known::All => unordered(&ordered(t, ty)?.f_amin([-1i64], false)?, ty)?,
        Known::Max | Known::Any => unordered(&ordered(t, ty)?.f_amax([-1i64], false)?, ty)?,
    })
}

/// Sums of products along the last axis: matrix products, a batch of them over the axes that both operands have.
fn contract(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dim() == 1 && a.size() == b.size() {
        return Ok(a.f_dot(b)?);
    }
    let full: Vec<i64> =
        a.size().iter().zip(b.size()).map(|(x, y)| together(*x, y)).take(a.dim().saturating_sub(1)).collect();
    let products = contract_parted(&without_copies(a)?, &without_copies(b)?)?;
    // Along an axis of neither operand all is the same.
    Ok(if products.size() == full { products } else { products.f_expand(full, false)? })
}

/// The extent of an axis of two tensors together, one of which may repeat along it.
fn together(x: i64, y: i64) -> i64 {
    if x == 1 { y } else { x }
}

fn contract_parted(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (left, right) = (a.size(), b.size());
    let (Some((m, rows)), Some((n, columns))) = (left.split_last(), right.split_last()) else {
        return Err(TorchError::new("a contraction of no axis"));
    };
    // The axes of both operands, then those of the left one alone, then those of the right one alone.
    let role = |&(_, (x, y)): &(usize, (&i64, &i64))| match (x, y) {
        (1, _) => 2,
        (_, 1) => 1,
        _ => 0,
    };
    let mut outer: Vec<_> = rows.iter().zip(columns).enumerate().collect();
    outer.sort_by_key(role);
    let extents: Vec<i64> = outer.iter().map(|(_, (x, y))| together(**x, **y)).collect();
    let size = |of: usize| outer.iter().zip(&extents).filter(|(o, _)| role(o) == of).map(|(_, n)| n).product::<i64>();
    let [batch, rows, columns] = [size(0), size(1), size(2)];
    let one_each = rows == 1 && columns == 1;
    if m != n || *m == 0 || batch * rows * columns == 0 || one_each {
        let kind = a.f_kind()?;
        return Ok(a.f_mul(b)?.f_sum_dim_intlist([-1i64].as_slice(), false, kind)?);
    }
    let axes: Vec<i64> = outer.iter().map(|(k, _)| *k as i64).collect();
    let all: Vec<i64> = axes.iter().copied().chain([axes.len() as i64]).collect();
    let a = a.f_permute(all.as_slice())?.f_reshape([batch, rows, *m])?;
    let b = b.f_permute(all.as_slice())?.f_reshape([batch, columns, *m])?.f_transpose(1, 2)?;
    let products = match batch {
        1 => a.f_select(0, 0)?.f_matmul(&b.f_select(0, 0)?)?,
        _ => a.f_bmm(&b)?,
    };
    let products = products.f_reshape(extents)?;
    if axes.is_sorted() {
        return Ok(products);
    }
    let mut back: Vec<i64> = (0..axes.len() as i64).collect();
    back.sort_by_key(|k| axes.get(*k as usize));
    Ok(products.f_permute(back.as_slice())?)
}

/// A tensor with one element along each axis, but for the last, along which all are the same one in memory.
fn without_copies(t: &Tensor) -> Result<Tensor> {
    let mut t = t.shallow_clone();
    let outer = t.dim().saturating_sub(1);
    for (axis, (size, stride)) in t.size().into_iter().zip(t.stride()).take(outer).enumerate() {
        if stride == 0 && size > 1 {
            t = t.f_narrow(axis as i64, 0, 1)?;
        }
    }
    Ok(t)
}

/// The position of the first extreme of each row.
fn arg_extreme(k: Known, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    let t = ordered(t, ty)?;
    let t = if ty == ScalarType::F16 { t.f_to_kind(Kind::Float)? } else { t };
    Ok(match k {
        Known::Min => t.f_min_dim(-1, false)?.1,
        Known::Max | Known::Sum | Known::Product | Known::All | Known::Any => t.f_max_dim(-1, false)?.1,
    })
}

pub(super) fn cumulative(k: Known, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    if ty == ScalarType::F16 {
        return Ok(cumulative(k, &t.f_to_kind(Kind::Float)?, ScalarType::F32)?.f_to_kind(Kind::Half)?);
    }
    Ok(match k {
        Known::Sum => t.f_cumsum(-1, kind(ty))?,
        Known::Product => t.f_cumprod(-1, kind(ty))?,
        // Scans of no element: libtorch refuses these for the two below.
        _ if t.numel() == 0 => t.shallow_clone(),
        Known::Min | Known::All => unordered(&ordered(t, ty)?.f_cummin(-1)?.0, ty)?,
        Known::Max | Known::Any => unordered(&ordered(t, ty)?.f_cummax(-1)?.0, ty)?,
    })
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
        // On the CPU the last of several writers wins; that is so of no other indexed write of libtorch.
        ScatterMode::Last => base.f_scatter(0, at, values)?,
        ScatterMode::Combine(Known::Sum) if is_all(base, 0)? && is_all(values, 1)? => {
            let counts = at.f_bincount(None::<Tensor>, base.numel() as i64)?;
            if counts.size() != base.size() {
                return Err(TorchError::new("a position is out of bounds"));
            }
            if ty == ScalarType::I64 { counts } else { counts.f_to_kind(kind(ty))? }
        }
        ScatterMode::Combine(Known::Sum) => base.f_scatter_add(0, at, values)?,
        ScatterMode::Combine(Known::Product) => base.f_internal_scatter_reduce(0, at, values, "prod", true)?,
        ScatterMode::Combine(Known::Min | Known::All) => {
            unordered(&ordered(base, ty)?.f_internal_scatter_reduce(0, at, &ordered(values, ty)?, "amin", true)?, ty)?
        }
        ScatterMode::Combine(Known::Max | Known::Any) => {
            unordered(&ordered(base, ty)?.f_internal_scatter_reduce(0, at, &ordered(values, ty)?, "amax", true)?, ty)?
        }
    })
}
