//! Everything but element-wise operations and control.

use super::{Rt, Run, cast, prim};
use crate::torch::TorchError;
use crate::torch::transfer::kind;
use acc_core::data::ScalarType;
use acc_desugar::graph::{Known, Node, Op, ScatterMode, Type, Value};
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

impl Run<'_> {
    fn scalar(&self, v: Value) -> ScalarType {
        match self.exe.plan.graph().ty(v) {
            Type::Tensor { scalar, .. } => scalar,
            Type::Size | Type::Token => ScalarType::I64,
        }
    }

    /// Runs an operation without bodies.
    pub(super) fn simple(&self, op: &Op, node: &Node) -> Result<Rt> {
        let device = self.exe.device.tch();
        let tensor = match op {
            Op::Size(n) => return Ok(Rt::Size(*n)),
            Op::SizeOp(op, a, b) => return Ok(Rt::Size(op.apply(self.size(*a)?, self.size(*b)?))),
            Op::ReadBack(x) => return Ok(Rt::Size(self.tensor(*x)?.f_int64_value(&[])?)),
            Op::Extent(x, axis) => {
                let sizes = self.tensor(*x)?.size();
                return Ok(Rt::Size(sizes.get(*axis as usize).copied().unwrap_or(0)));
            }
            Op::FromSize(s) => Tensor::f_full([0i64; 0], self.size(*s)?, (Kind::Int64, device))?,
            Op::Const(l) => crate::torch::transfer::literal(*l, self.exe.device)?,
            Op::Iota(n) => Tensor::f_arange(self.size(*n)?, (Kind::Int64, device))?,
            Op::Prim(p, args) => {
                let ty = args.first().map_or(ScalarType::I64, |a| self.scalar(*a));
                let args = args.iter().map(|a| self.tensor(*a)).collect::<Result<Vec<_>>>()?;
                let constant = self.constant_divisor(op);
                prim::apply(*p, ty, &args, constant)?
            }
            Op::Cast(x, to) => cast::cast(self.tensor(*x)?, self.scalar(*x), *to)?,
            Op::Bitcast(x, to) => {
                let t = self.tensor(*x)?;
                if t.f_kind()? == kind(*to) { t.shallow_clone() } else { t.f_view_dtype(kind(*to))? }
            }
            Op::Where(c, t, e) => self.tensor(*t)?.f_where_self(self.tensor(*c)?, self.tensor(*e)?)?,
            Op::Reshape(x, shape) => self.tensor(*x)?.f_reshape(self.sizes(shape)?)?,
            Op::Broadcast(x, shape) => self.tensor(*x)?.f_expand(self.sizes(shape)?, false)?,
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
                slice(self.tensor(*x)?, i64::from(*axis), self.size(*start)?, self.size(*len)?, i64::from(*step))?
            }
            Op::Select { x, axis, at } => self.tensor(*x)?.f_select(i64::from(*axis), self.size(*at)?)?,
            Op::Flip(x, axis) => self.tensor(*x)?.f_flip([i64::from(*axis)])?,
            Op::Gather(source, at) => {
                let (source, at) = (self.tensor(*source)?, self.tensor(*at)?);
                source.f_index_select(0, &at.f_reshape([-1])?)?.f_reshape(at.size())?
            }
            Op::Take { x, axis, at } => self.tensor(*x)?.f_index_select(i64::from(*axis), self.tensor(*at)?)?,
            Op::PadIfEmpty(x) => {
                let t = self.tensor(*x)?;
                if t.numel() == 0 { Tensor::f_zeros([1], (t.f_kind()?, t.device()))? } else { t.shallow_clone() }
            }
            Op::Scatter { base, at, values, mode } => {
                let ty = self.scalar(*base);
                scatter(self.tensor(*base)?, self.tensor(*at)?, self.tensor(*values)?, ty, *mode)?
            }
            Op::Concat(xs, axis) => {
                let xs = xs.iter().map(|x| self.tensor(*x)).collect::<Result<Vec<_>>>()?;
                Tensor::f_cat(&xs, i64::from(*axis))?
            }
            Op::SortPermutation(x) => self.sort_permutation(*x)?,
            Op::Nonzero(x) => self.tensor(*x)?.f_nonzero()?.f_reshape([-1])?,
            Op::Reduce(k, x) => reduce(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::Cumulative(k, x) => cumulative(*k, self.tensor(*x)?, self.scalar(*x))?,
            Op::AnyLane(x) => {
                let any = any_lane(self.tensor(*x)?)?;
                Tensor::f_full([0i64; 0], i64::from(any), (Kind::Bool, device))?
            }
            Op::If { .. }
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

    /// The positions that sort a tensor along its innermost axis.
    fn sort_permutation(&self, x: Value) -> Result<Tensor> {
        Ok(ordered(self.tensor(x)?, self.scalar(x))?.f_sort_stable(true, -1, false)?.1)
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

/// `len` positions from `start`, `step` apart, along an axis; the part of them that exists.
fn slice(t: &Tensor, axis: i64, start: i64, len: i64, step: i64) -> Result<Tensor> {
    if len <= 0 {
        return Ok(t.f_narrow(axis, 0, 0)?);
    }
    Ok(t.f_slice(axis, start, start.saturating_add((len - 1).saturating_mul(step)).saturating_add(1), step)?)
}

/// Whether any element of a tensor of `bool` is true.
pub(super) fn any_lane(t: &Tensor) -> Result<bool> {
    if t.numel() == 0 {
        return Ok(false);
    }
    if t.dim() == 0 {
        return Ok(t.f_int64_value(&[])? != 0);
    }
    // The maximum of bytes is vectorised; `any` is not.
    Ok(t.f_view_dtype(Kind::Uint8)?.f_amax([0i64; 0], false)?.f_int64_value(&[])? != 0)
}

/// The tensor with the order of unsigned numbers as that of signed ones.
fn ordered(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    match ty {
        ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => prim::flip_sign(t, ty),
        ScalarType::Bool => Ok(t.f_view_dtype(Kind::Uint8)?),
        _ => Ok(t.shallow_clone()),
    }
}

/// The inverse of [`ordered`].
fn unordered(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
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
    let empty = t.size().last() == Some(&0);
    Ok(match k {
        Known::Sum => t.f_sum_dim_intlist([-1i64].as_slice(), false, kind(ty))?,
        Known::Product => t.f_prod_dim_int(-1, false, kind(ty))?,
        Known::All if empty => t.f_all_dim(-1, false)?,
        Known::Any if empty => t.f_any_dim(-1, false)?,
        Known::Min | Known::All => unordered(&ordered(t, ty)?.f_amin([-1i64], false)?, ty)?,
        Known::Max | Known::Any => unordered(&ordered(t, ty)?.f_amax([-1i64], false)?, ty)?,
    })
}

fn cumulative(k: Known, t: &Tensor, ty: ScalarType) -> Result<Tensor> {
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

fn scatter(base: &Tensor, at: &Tensor, values: &Tensor, ty: ScalarType, mode: ScatterMode) -> Result<Tensor> {
    if ty == ScalarType::F16 && matches!(mode, ScatterMode::Combine(_)) {
        let wide = |t: &Tensor| t.f_to_kind(Kind::Float);
        return Ok(scatter(&wide(base)?, at, &wide(values)?, ScalarType::F32, mode)?.f_to_kind(Kind::Half)?);
    }
    Ok(match mode {
        // On the CPU the last of several writers wins; that is so of no other indexed write of libtorch.
        ScatterMode::Last => base.f_scatter(0, at, values)?,
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
