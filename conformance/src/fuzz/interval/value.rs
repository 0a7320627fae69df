//! Scalars with the interval in which every correct implementation's value lies.

use crate::compare::{ulp16, ulp32, ulp64};
use acc_core::data::{Lit, Prim, ScalarType as T};
use acc_core::eval::{eval_bitcast, eval_cast, eval_prim};
use acc_core::ir::PrimOp;
use acc_core::prelude::f16;

/// A scalar: the interpreter's value, and where that of another executor may lie.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// The interpreter's value.
    pub lit: Lit,
    /// The least and the greatest value of a float; both NaN if it is certainly a NaN.
    lo: f64,
    hi: f64,
    /// Whether the interval means something. A value that is no float is the same everywhere, or not stable.
    pub stable: bool,
}

/// A float as an `f64`, which has every value of the narrower types.
pub fn float(l: Lit) -> f64 {
    eval_cast(l, T::F64).map_or(f64::NAN, |l| f64::from_bits64(l.bits))
}

/// A float type's value nearest to `x`.
fn rounded(x: f64, ty: T) -> Lit {
    eval_cast(x.lit(), ty).unwrap_or(Lit { ty, bits: 0 })
}

/// The distance between a float of this type and the next one.
fn ulp(x: f64, ty: T) -> f64 {
    match ty {
        T::F64 => ulp64(x),
        T::F32 => ulp32((x as f32).clamp(f32::MIN, f32::MAX)),
        T::F16 => ulp16(f16::from_f64(x).clamp(f16::MIN, f16::MAX)),
        T::I8 | T::I16 | T::I32 | T::I64 | T::U8 | T::U16 | T::U32 | T::U64 | T::Bool | T::Char => 0.0,
    }
}

impl Near {
    /// A value that is the same everywhere.
    pub fn exact(lit: Lit) -> Near {
        let x = if lit.ty.is_float() { float(lit) } else { 0.0 };
        Near { lit, lo: x, hi: x, stable: true }
    }

    /// The same value, but others may have any.
    pub fn unstable(self) -> Near {
        Near { stable: false, ..self }
    }

    /// Whether every executor has this value.
    pub fn is_exact(&self) -> bool {
        self.stable && (!self.lit.ty.is_float() || self.lo == self.hi || self.lo.is_nan())
    }

    /// The greatest magnitude.
    pub fn magnitude(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// An interval that holds both values and the interpreter's, made wider by units in the last place; it is not
    /// stable if it is not finite where the value is.
    fn spanning(lit: Lit, corners: &[f64], ulps: f64) -> Near {
        let x = float(lit);
        if corners.iter().chain([&x]).any(|c| !c.is_finite()) {
            return Near::exact(lit).unstable();
        }
        let lo = corners.iter().fold(x, |a, b| a.min(*b));
        let hi = corners.iter().fold(x, |a, b| a.max(*b));
        let (lo, hi) = (lo - ulps * ulp(lo, lit.ty), hi + ulps * ulp(hi, lit.ty));
        let stable = float(rounded(lo, lit.ty)).is_finite() && float(rounded(hi, lit.ty)).is_finite();
        Near { lit, lo, hi, stable }
    }

    /// The same where subnormal numbers may be 0.
    pub fn flushed(self) -> Near {
        let ty = self.lit.ty;
        let least = match ty {
            T::F64 => f64::MIN_POSITIVE,
            T::F32 => f64::from(f32::MIN_POSITIVE),
            T::F16 => f64::from(f16::MIN_POSITIVE),
            _ => return self,
        };
        let is_subnormal = |x: f64| x != 0.0 && x.abs() < least;
        let lo = if is_subnormal(self.lo) { self.lo.min(0.0) } else { self.lo };
        let hi = if is_subnormal(self.hi) { self.hi.max(0.0) } else { self.hi };
        Near { lo, hi, ..self }
    }

    /// The same where a zero may have either sign.
    pub fn of_either_sign(self) -> Near {
        let is_zero = self.lit.ty.is_float() && self.lo == 0.0 && self.hi == 0.0;
        if is_zero { self.widened(f64::from_bits(1)) } else { self }
    }

    /// The interval made wider by an absolute error on both sides.
    pub fn widened(self, by: f64) -> Near {
        if by == 0.0 || self.lo.is_nan() || self.lo.is_infinite() {
            return self;
        }
        Near { lo: self.lo - by, hi: self.hi + by, stable: self.stable && by.is_finite(), ..self }
    }

    /// Whether another executor may have this value.
    pub fn holds(&self, got: Lit) -> bool {
        if !self.lit.ty.is_float() {
            return self.lit == got;
        }
        let (want, got) = (float(self.lit), float(got));
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        self.lo <= got && got <= self.hi
    }
}

/// The error in units in the last place that an implementation of a primitive may have (see [`crate::bound`]).
fn own_error(op: PrimOp) -> f64 {
    crate::bound::own_bound(op, 0) as f64
}

/// A primitive on intervals; `None` if it faults.
pub fn prim(op: PrimOp, args: &[Near]) -> Option<Near> {
    let lits: Vec<Lit> = args.iter().map(|a| a.lit).collect();
    let lit = eval_prim(op, &lits).ok()?;
    if args.iter().any(|a| !a.stable) {
        return Some(Near::exact(lit).unstable());
    }
    let float_args = lits.first().is_some_and(|l| l.ty.is_float());
    if !float_args {
        return Some(Near::exact(lit));
    }
    let own = own_error(op);
    if args.iter().all(Near::is_exact) {
        return Some(match lit.ty.is_float() && own > 0.0 && float(lit).is_finite() {
            // Two implementations, each off by so much; near the greatest number one may overflow.
            true => Near::spanning(lit, &[], 2.0 * own),
            false => Near::exact(lit),
        });
    }
    use PrimOp as P;
    let at = |corner: &[f64]| {
        let lits: Vec<Lit> = corner.iter().zip(&lits).map(|(&c, l)| rounded(c, l.ty)).collect();
        eval_prim(op, &lits)
    };
    let corners: Vec<Vec<f64>> = match args {
        [x] => vec![vec![x.lo], vec![x.hi]],
        [x, y] => vec![vec![x.lo, y.lo], vec![x.lo, y.hi], vec![x.hi, y.lo], vec![x.hi, y.hi]],
        _ => return Some(Near::exact(lit).unstable()),
    };
    let values: Vec<Lit> = corners.iter().filter_map(|c| at(c).ok()).collect();
    let same = values.iter().all(|v| v.bits == lit.bits);
    let unstable = Some(Near::exact(lit).unstable());
    let spread = args.iter().map(|a| a.hi - a.lo).fold(0.0, f64::max);
    let straddles = |x: &Near, c: f64| x.lo <= c && x.hi >= c;
    let reals: Vec<f64> = match lit.ty.is_float() {
        true => values.iter().map(|&v| float(v)).collect(),
        false => Vec::new(),
    };
    match op {
        // Monotone in each operand, or nearly: the extremes are at the corners.
        P::AddP | P::SubP | P::MulP | P::MinP | P::MaxP | P::NegP => Some(Near::spanning(lit, &reals, 2.0)),
        P::DivP if straddles(&args[1], 0.0) => unstable,
        P::DivP => Some(Near::spanning(lit, &reals, 2.0)),
        P::AbsP if straddles(&args[0], 0.0) => Some(Near::spanning(lit, &[reals, vec![0.0]].concat(), 1.0)),
        P::CoshP if straddles(&args[0], 0.0) => {
            Some(Near::spanning(lit, &[reals, vec![1.0]].concat(), 2.0 * own + 1.0))
        }
        P::AbsP | P::CoshP => Some(Near::spanning(lit, &reals, 2.0 * own + 1.0)),
        P::SqrtP
        | P::ExpP
        | P::LnP
        | P::Log2P
        | P::Log10P
        | P::AsinP
        | P::AcosP
        | P::AtanP
        | P::SinhP
        | P::TanhP
        | P::AsinhP
        | P::AcoshP
        | P::AtanhP => Some(Near::spanning(lit, &reals, 2.0 * own + 1.0)),
        P::SinP | P::CosP => Some(Near::spanning(lit, &reals, 2.0 * own + 1.0).widened(spread)),
        // Steps, and comparisons: stable where both ends agree, and nothing between can differ.
        P::FloorP | P::CeilP | P::RoundP | P::TruncP | P::IsNanP | P::IsInfiniteP => match same {
            true => Some(Near::exact(lit)),
            false => unstable,
        },
        P::SignumP if straddles(&args[0], 0.0) => unstable,
        P::SignumP => Some(Near::exact(lit)),
        P::LtP | P::LeP | P::GtP | P::GeP | P::EqP | P::NeP => {
            let apart = args[0].hi < args[1].lo || args[0].lo > args[1].hi;
            if apart { Some(Near::exact(lit)) } else { unstable }
        }
        P::TanP | P::PowP | P::Atan2P | P::FmodP => unstable,
        P::QuotP
        | P::RemP
        | P::DivFloorP
        | P::ModFloorP
        | P::AndP
        | P::OrP
        | P::XorP
        | P::ShlP
        | P::ShrP
        | P::NotP
        | P::PopCountP
        | P::LeadingZerosP
        | P::TrailingZerosP => unstable,
    }
}

/// A conversion on intervals.
pub fn cast(x: Near, to: T) -> Option<Near> {
    let lit = eval_cast(x.lit, to).ok()?;
    if !x.stable {
        return Some(Near::exact(lit).unstable());
    }
    if x.is_exact() {
        return Some(Near::exact(lit));
    }
    let ends = [x.lo, x.hi].map(|e| eval_cast(rounded(e, x.lit.ty), to).ok());
    let [Some(lo), Some(hi)] = ends else { return None };
    Some(match to.is_float() {
        true => Near::spanning(lit, &[float(lo), float(hi)], 1.0),
        false if lo == hi => Near::exact(lit),
        false => Near::exact(lit).unstable(),
    })
}

/// The same bits as another type: stable if the value is exact.
pub fn bitcast(x: Near, to: T) -> Option<Near> {
    let lit = Near::exact(eval_bitcast(x.lit, to).ok()?);
    Some(if x.is_exact() { lit } else { lit.unstable() })
}
