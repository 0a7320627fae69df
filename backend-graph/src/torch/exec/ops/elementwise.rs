//! Element-wise operations.
//!
//! libtorch has no arithmetic on u16, u32 and u64: these are held as signed bits of the same width. Sums, products and
//! bitwise operations are the same on these; order, division and shifts to the right are not.

use super::bits;
use crate::torch::TorchError;
use crate::torch::numbers::WithNumber;
use crate::torch::transfer::kind;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// Whether the type is held as bits of a signed one.
fn is_encoded(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::U16 | ScalarType::U32 | ScalarType::U64)
}

/// The remainder of floats. libtorch's vector code is NaN for small divisors; it is not taken for operands that do not
/// lie next to one another, and C's `fmod` is exact.
fn fmod(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let apart = |t: &Tensor| Tensor::f_stack(&[t, t], -1)?.f_select(-1, 0);
    Ok(apart(x)?.f_fmod_tensor(&apart(y)?)?)
}

/// Results of the hyperbolic sine or cosine of `x`. libtorch's vector code makes them infinite where e to the power of `|x|`
/// is, though half of that is not.
fn mended(x: &Tensor, ty: ScalarType, y: &Tensor) -> Result<Tensor> {
    let most = if ty == ScalarType::F32 { 88.0 } else { 709.0 };
    let size = x.f_abs()?;
    let root = size.mul_number(0.5)?.f_exp()?;
    let large = root.mul_number(0.5)?.f_mul(&root)?.f_copysign(y)?;
    Ok(large.f_where_self(&size.gt_number(most)?, y)?)
}

/// Unsigned bits with the sign bit flipped: signed order is then unsigned order.
pub(crate) fn flip_sign(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    let min = match ty {
        ScalarType::U16 => i64::from(i16::MIN),
        ScalarType::U32 => i64::from(i32::MIN),
        _ => i64::MIN,
    };
    t.xor_number(min)
}

/// The value of unsigned bits of at most 32, in a wider signed type.
pub(crate) fn widen(t: &Tensor, ty: ScalarType) -> Result<Tensor> {
    Ok(match ty {
        ScalarType::U16 => t.f_to_kind(Kind::Int)?.and_number(0xffffi64)?,
        ScalarType::U32 => t.f_to_kind(Kind::Int64)?.and_number(0xffff_ffffi64)?,
        _ => t.shallow_clone(),
    })
}

/// Applies an operation to operands of type `ty`. Divisors are not zero; `divisor` is theirs, if it is a literal. The
/// result goes to `place`, an operand that nobody needs any more, if that has its shape, which may be known.
pub(crate) fn apply(
    p: PrimOp,
    ty: ScalarType,
    args: &[&Tensor],
    divisor: Option<Lit>,
    place: Option<(&Tensor, bool)>,
) -> Result<Tensor> {
    let (x, y) = match args {
        [x] if p.arity() == 1 => (*x, *x),
        [x, y] if p.arity() == 2 => (*x, *y),
        _ => return Err(TorchError::new(format!("`{}` of {} operands", p.name(), args.len()))),
    };
    if let Some((out, fits)) = place
        && (fits || has_place(&[x, y], out))
        && let Some(result) = in_place(p, ty, x, y, out)?
    {
        return Ok(result);
    }
    if ty == ScalarType::F16 {
        return half(p, x, y);
    }
    let boolean = ty == ScalarType::Bool;
    Ok(match p {
        PrimOp::AddP => x.f_add(y)?,
        PrimOp::SubP => x.f_sub(y)?,
        PrimOp::MulP => x.f_mul(y)?,
        PrimOp::DivP => x.f_div(&spread_divisor(x, y)?)?,
        PrimOp::QuotP => quot(ty, x, y, divisor)?,
        PrimOp::RemP => rem(ty, x, y)?,
        PrimOp::DivFloorP if is_encoded(ty) => quot(ty, x, y, divisor)?,
        PrimOp::DivFloorP => x.f_div_tensor_mode(y, "floor")?,
        PrimOp::ModFloorP if is_encoded(ty) => rem(ty, x, y)?,
        PrimOp::ModFloorP => x.f_remainder_tensor(y)?,
        PrimOp::FmodP => fmod(x, y)?,
        PrimOp::MinP if boolean => x.f_logical_and(y)?,
        PrimOp::MaxP if boolean => x.f_logical_or(y)?,
        PrimOp::MinP if is_encoded(ty) => flip_sign(&flip_sign(x, ty)?.f_minimum(&flip_sign(y, ty)?)?, ty)?,
        PrimOp::MaxP if is_encoded(ty) => flip_sign(&flip_sign(x, ty)?.f_maximum(&flip_sign(y, ty)?)?, ty)?,
        PrimOp::MinP => x.f_minimum(y)?,
        PrimOp::MaxP => x.f_maximum(y)?,
        PrimOp::PowP => x.f_pow(y)?,
        PrimOp::Atan2P => x.f_atan2(y)?,
        PrimOp::AndP => x.f_bitwise_and_tensor(y)?,
        PrimOp::OrP => x.f_bitwise_or_tensor(y)?,
        PrimOp::XorP => x.f_bitwise_xor_tensor(y)?,
        // By a negative amount libtorch shifts as by the width or more, as the language has it; unsigned amounts that
        // large are negative bits.
        PrimOp::ShlP => x.f_bitwise_left_shift(y)?,
        PrimOp::ShrP => shift_right(ty, x, y)?,
        PrimOp::EqP => holds(ty, x, y, Tensor::f_eq_tensor, Tensor::f_eq_tensor_out)?,
        PrimOp::NeP => holds(ty, x, y, Tensor::f_ne_tensor, Tensor::f_ne_tensor_out)?,
        PrimOp::LtP => compare(ty, x, y, Tensor::f_lt_tensor, Tensor::f_lt_tensor_out)?,
        PrimOp::LeP => compare(ty, x, y, Tensor::f_le_tensor, Tensor::f_le_tensor_out)?,
        PrimOp::GtP => compare(ty, x, y, Tensor::f_gt_tensor, Tensor::f_gt_tensor_out)?,
        PrimOp::GeP => compare(ty, x, y, Tensor::f_ge_tensor, Tensor::f_ge_tensor_out)?,
        PrimOp::NegP => x.f_neg()?,
        PrimOp::AbsP if ty.is_signed() || ty.is_float() => x.f_abs()?,
        PrimOp::AbsP => x.shallow_clone(),
        PrimOp::SignumP if is_encoded(ty) => x.ne_number(0)?.f_to_kind(kind(ty))?,
        PrimOp::SignumP if ty.is_float() => {
            // Zeros and NaN stay what they are.
            let keep = x.f_isnan()?.f_logical_or(&x.eq_number(0)?)?;
            x.f_where_self(&keep, &x.f_sign()?)?
        }
        PrimOp::SignumP => x.f_sign()?,
        PrimOp::NotP if ty == ScalarType::Bool => x.f_logical_not()?,
        PrimOp::NotP => x.f_bitwise_not()?,
        PrimOp::PopCountP | PrimOp::LeadingZerosP | PrimOp::TrailingZerosP => bits::count(p, x, ty)?,
        PrimOp::SqrtP => x.f_sqrt()?,
        PrimOp::ExpP => x.f_exp()?,
        PrimOp::LnP => x.f_log()?,
        PrimOp::Log2P => x.f_log2()?,
        PrimOp::Log10P => x.f_log10()?,
        PrimOp::SinP => x.f_sin()?,
        PrimOp::CosP => x.f_cos()?,
        PrimOp::TanP => x.f_tan()?,
        PrimOp::AsinP => x.f_asin()?,
        PrimOp::AcosP => x.f_acos()?,
        PrimOp::AtanP => x.f_atan()?,
        PrimOp::SinhP => mended(x, ty, &x.f_sinh()?)?,
        PrimOp::CoshP => mended(x, ty, &x.f_cosh()?)?,
        PrimOp::TanhP => x.f_tanh()?,
        PrimOp::AsinhP => x.f_asinh()?,
        PrimOp::AcoshP => x.f_acosh()?,
        PrimOp::AtanhP => x.f_atanh()?,
        PrimOp::FloorP => x.f_floor()?,
        PrimOp::CeilP => x.f_ceil()?,
        PrimOp::RoundP => x.f_round()?,
        PrimOp::TruncP => x.f_trunc()?,
        PrimOp::IsNanP => x.f_isnan()?,
        PrimOp::IsInfiniteP => x.f_isinf()?,
    })
}

/// A divisor of the dividend's shape: by one of rank 0 libtorch multiplies with its reciprocal, which rounds twice.
fn spread_divisor(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    Ok(if y.dim() == 0 && x.dim() > 0 { y.f_expand(x.size(), false)? } else { y.shallow_clone() })
}

/// Numbers between two. The result goes to `place`, as in [`apply`].
pub(crate) fn clip(x: &Tensor, low: Lit, high: Lit, place: Option<(&Tensor, bool)>) -> Result<Tensor> {
    let place = place.filter(|(out, fits)| *fits || has_place(&[x], out)).map(|(out, _)| out);
    if let (Some(low), Some(high)) = (low.get::<i64>(), high.get::<i64>()) {
        return x.clamped(low, high, place);
    }
    if let (Some(low), Some(high)) = (low.get::<i32>(), high.get::<i32>()) {
        return x.clamped(i64::from(low), i64::from(high), place);
    }
    if let (Some(low), Some(high)) = (low.get::<f32>(), high.get::<f32>()) {
        return x.clamped(f64::from(low), f64::from(high), place);
    }
    match (low.get::<f64>(), high.get::<f64>()) {
        (Some(low), Some(high)) => x.clamped(low, high, place),
        _ => Err(TorchError::new(format!("numbers between {low} and {high}"))),
    }
}

/// Whether `out`, one of the operands of an element-wise operation, has memory for each element of the result.
pub(crate) fn has_place(operands: &[&Tensor], out: &Tensor) -> bool {
    let fits = |t: &&Tensor| std::ptr::eq(*t, out) || t.dim() == 0 || t.size() == out.size();
    // What is repeated, zeros for instance, is not in memory element by element.
    operands.iter().all(fits) && out.is_contiguous()
}

/// An operation whose result takes the place of an operand of its shape, if it is one of those that libtorch writes where
/// it is told.
fn in_place(p: PrimOp, ty: ScalarType, x: &Tensor, y: &Tensor, out: &Tensor) -> Result<Option<Tensor>> {
    if ty == ScalarType::F16 || is_encoded(ty) && matches!(p, PrimOp::MinP | PrimOp::MaxP) {
        return Ok(None);
    }
    let float = ty.is_float();
    let boolean = ty == ScalarType::Bool;
    Ok(Some(match p {
        PrimOp::AddP => x.f_add_out(out, y)?,
        PrimOp::SubP => x.f_sub_out(out, y)?,
        PrimOp::MulP => x.f_mul_out(out, y)?,
        PrimOp::DivP if float => x.f_div_out(out, &spread_divisor(x, y)?)?,
        PrimOp::MinP if !boolean => x.f_minimum_out(out, y)?,
        PrimOp::MaxP if !boolean => x.f_maximum_out(out, y)?,
        PrimOp::AndP => x.f_bitwise_and_tensor_out(out, y)?,
        PrimOp::OrP => x.f_bitwise_or_tensor_out(out, y)?,
        PrimOp::XorP => x.f_bitwise_xor_tensor_out(out, y)?,
        PrimOp::NegP => x.f_neg_out(out)?,
        PrimOp::AbsP if float => x.f_abs_out(out)?,
        PrimOp::SqrtP => x.f_sqrt_out(out)?,
        PrimOp::ExpP => x.f_exp_out(out)?,
        PrimOp::LnP => x.f_log_out(out)?,
        PrimOp::Log2P => x.f_log2_out(out)?,
        PrimOp::Log10P => x.f_log10_out(out)?,
        PrimOp::SinP => x.f_sin_out(out)?,
        PrimOp::CosP => x.f_cos_out(out)?,
        PrimOp::TanP => x.f_tan_out(out)?,
        PrimOp::AtanP => x.f_atan_out(out)?,
        PrimOp::TanhP => x.f_tanh_out(out)?,
        PrimOp::FloorP if float => x.f_floor_out(out)?,
        PrimOp::CeilP if float => x.f_ceil_out(out)?,
        PrimOp::RoundP if float => x.f_round_out(out)?,
        _ => return Ok(None),
    }))
}

/// An operation on f16: in f32, rounded once.
fn half(p: PrimOp, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (x, y) = (x.f_to_kind(Kind::Float)?, y.f_to_kind(Kind::Float)?);
    let args: &[&Tensor] = if p.arity() == 1 { &[&x] } else { &[&x, &y] };
    let wide = apply(p, ScalarType::F32, args, None, None)?;
    Ok(wide.f_to_kind(kind(p.result_type(ScalarType::F16)))?)
}

type Comparison = fn(&Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>;
type ComparisonInto = fn(&Tensor, &Tensor, &Tensor) -> std::result::Result<Tensor, tch::TchError>;

fn compare(ty: ScalarType, x: &Tensor, y: &Tensor, f: Comparison, into: ComparisonInto) -> Result<Tensor> {
    match is_encoded(ty) {
        true => holds(ty, &flip_sign(x, ty)?, &flip_sign(y, ty)?, f, into),
        false => holds(ty, x, y, f, into),
    }
}

/// From so many elements on comparing into numbers of the operands' type pays.
const MIN_STORED_ELEMENTS: usize = 1 << 13;

/// What a comparison says of each pair. libtorch vectorises a comparison only if its output has the operands' type, so
/// narrow numbers are compared into such an output, which is then converted; wide ones gain nothing.
fn holds(ty: ScalarType, x: &Tensor, y: &Tensor, f: Comparison, into: ComparisonInto) -> Result<Tensor> {
    use ScalarType as T;
    let narrow = matches!(ty, T::F32 | T::I32 | T::U32 | T::Char | T::I16 | T::U16);
    if !narrow || x.numel().max(y.numel()) < MIN_STORED_ELEMENTS || x.device() != tch::Device::Cpu {
        return Ok(f(x, y)?);
    }
    let numbers = Tensor::f_empty([0i64], (kind(ty), x.device()))?;
    Ok(into(x, &numbers, y)?.f_to_kind(Kind::Bool)?)
}

/// The quotient truncated towards zero. `MIN / -1` of 32 and 64 bits would kill the process: -1 is taken apart.
fn quot(ty: ScalarType, x: &Tensor, y: &Tensor, divisor: Option<Lit>) -> Result<Tensor> {
    let trunc = |x: &Tensor, y: &Tensor| x.f_div_tensor_mode(y, "trunc");
    Ok(match ty {
        ScalarType::U16 | ScalarType::U32 => trunc(&widen(x, ty)?, &widen(y, ty)?)?.f_to_kind(kind(ty))?,
        ScalarType::U64 => unsigned_quot(x, y)?,
        ScalarType::I32 | ScalarType::I64 if divisor.is_none_or(|l| l.bits == u64::MAX) => {
            let minus_one = y.eq_number(-1)?;
            let safe = y.fill_number(&minus_one, 1)?;
            x.f_neg()?.f_where_self(&minus_one, &trunc(x, &safe)?)?
        }
        _ => trunc(x, y)?,
    })
}

/// The quotient of 64-bit unsigned numbers: half the dividend by the divisor, doubled and corrected.
fn unsigned_quot(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let big = y.lt_number(0)?;
    let yp = y.fill_number(&big, 1)?;
    let half = x.shr_number(1)?.and_number(i64::MAX)?;
    let q = half.f_div_tensor_mode(&yp, "trunc")?.shl_number(1)?;
    let r = x.f_sub(&q.f_mul(&yp)?)?;
    let at_least =
        |a: &Tensor, b: &Tensor| compare(ScalarType::U64, a, b, Tensor::f_ge_tensor, Tensor::f_ge_tensor_out);
    let q = q.f_add(&at_least(&r, &yp)?.f_to_kind(Kind::Int64)?)?;
    Ok(at_least(x, y)?.f_to_kind(Kind::Int64)?.f_where_self(&big, &q)?)
}

fn rem(ty: ScalarType, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    Ok(match ty {
        ScalarType::U16 | ScalarType::U32 => widen(x, ty)?.f_fmod_tensor(&widen(y, ty)?)?.f_to_kind(kind(ty))?,
        ScalarType::U64 => x.f_sub(&unsigned_quot(x, y)?.f_mul(y)?)?,
        _ => x.f_fmod_tensor(y)?,
    })
}

fn shift_right(ty: ScalarType, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    Ok(match ty {
        ScalarType::U16 | ScalarType::U32 => {
            widen(x, ty)?.f_bitwise_right_shift(&widen(y, ty)?)?.f_to_kind(kind(ty))?
        }
        ScalarType::U64 => {
            let zero = y.eq_number(0)?;
            let keep = y.f_neg()?.add_number(64)?;
            let ones = y.f_ones_like()?;
            let mask = ones.f_bitwise_left_shift(&keep)?.sub_number(1)?;
            let shifted = x.f_bitwise_right_shift(y)?.f_bitwise_and_tensor(&mask)?;
            // By the width or more nothing is left; by zero everything is.
            let out = y.lt_number(0)?.f_logical_or(&y.ge_number(64)?)?;
            x.f_where_self(&zero, &shifted.fill_number(&out, 0)?)?
        }
        _ => x.f_bitwise_right_shift(y)?,
    })
}
