//! The table of partial derivatives of primitive operations.
//!
//! At ties and kinks: the operand that `min` or `max` returns has all of the derivative, the first of equal ones; `abs`
//! has 0 at 0; infinite slopes are infinite. Rounding, comparisons and operations on integers have none.

use crate::data::{Lit, Prim, ScalarType, nearest_f16};
use crate::ir::PrimOp;

/// Scalar code: to be computed, or to be written down.
pub trait Arithmetic {
    /// A scalar.
    type Value: Clone;
    /// Why an operation may have no value.
    type Error;
    /// The type of a scalar.
    fn ty(&self, x: &Self::Value) -> ScalarType;
    /// A literal.
    fn literal(&mut self, l: Lit) -> Self::Value;
    /// The value of an operation.
    fn prim(&mut self, op: PrimOp, args: &[Self::Value]) -> Result<Self::Value, Self::Error>;
    /// One of two values.
    fn select(
        &mut self,
        cond: &Self::Value,
        then: &Self::Value,
        else_: &Self::Value,
    ) -> Result<Self::Value, Self::Error>;
    /// Whether it is known before anything runs that this is a number other than 0 and the infinities.
    fn is_ordinary(&self, _: &Self::Value) -> bool {
        false
    }
    /// Whether it is known before anything runs that this is 1.
    fn is_one(&self, _: &Self::Value) -> bool {
        false
    }
    /// One by this number, if that is computed already.
    fn reciprocal(&self, _: &Self::Value) -> Option<Self::Value> {
        None
    }
}

/// The partial derivative of an operation by one of its operands.
#[derive(Clone, Debug)]
pub enum Partial<V> {
    /// None: the result does not depend on the operand, or in steps.
    Zero,
    /// 1.
    One,
    /// -1.
    MinusOne,
    /// A factor, finite unless something overflows.
    Times(V),
    /// A factor that may be infinite or no number.
    TimesSteep(V),
    /// One by this number, which may be 0.
    Over(V),
    /// 1 where this holds, else 0.
    Where(V),
    /// 0 where this holds, else 1.
    WhereNot(V),
}

/// The literal of a float type that is nearest to `x`.
pub fn float(ty: ScalarType, x: f64) -> Lit {
    match ty {
        ScalarType::F16 => nearest_f16(x).lit(),
        ScalarType::F32 => (x as f32).lit(),
        _ => x.lit(),
    }
}

/// The partial derivative of `y = op(args)` by its operand `which`.
pub fn partial<A: Arithmetic>(
    a: &mut A,
    op: PrimOp,
    args: &[A::Value],
    y: &A::Value,
    which: usize,
) -> Result<Partial<A::Value>, A::Error> {
    use PrimOp as P;
    let Some(x) = args.get(which) else { return Ok(Partial::Zero) };
    if !a.ty(x).is_float() {
        return Ok(Partial::Zero);
    }
    let mut c = Code { ty: a.ty(x), a };
    let first = which == 0;
    Ok(match op {
        P::AddP => Partial::One,
        P::SubP if first => Partial::One,
        P::SubP | P::NegP => Partial::MinusOne,
        P::MulP => Partial::Times(args[1 - which].clone()),
        P::DivP if first => Partial::Over(args[1].clone()),
        P::DivP => {
            // The reciprocal's is its square.
            let q = if c.a.is_one(&args[0]) { c.two(P::MulP, y, y)? } else { c.two(P::DivP, y, &args[1])? };
            Partial::TimesSteep(c.neg(&q)?)
        }
        P::FmodP if first => Partial::One,
        P::FmodP => {
            let q = c.two(P::DivP, &args[0], &args[1])?;
            let whole = c.one(P::TruncP, &q)?;
            Partial::TimesSteep(c.neg(&whole)?)
        }
        P::MinP | P::MaxP => {
            // The first of equal numbers, and the first that is none: what the result is.
            let before = c.two(if op == P::MinP { P::LeP } else { P::GeP }, &args[0], &args[1])?;
            let no_number = c.one(P::IsNanP, &args[0])?;
            let wins = c.two(P::OrP, &before, &no_number)?;
            if first { Partial::Where(wins) } else { Partial::WhereNot(wins) }
        }
        P::PowP if first => {
            // x^0 is 1, at 0 too.
            let (base, exponent) = (&args[0], &args[1]);
            let less = c.minus_one(exponent)?;
            let power = c.two(P::PowP, base, &less)?;
            let slope = c.two(P::MulP, exponent, &power)?;
            let (zero, at_zero) = c.is_zero(exponent)?;
            Partial::TimesSteep(c.a.select(&at_zero, &zero, &slope)?)
        }
        P::PowP => {
            // 0^y is 0 for all y > 0, and is left at 0 only to an infinity.
            let (base, exponent) = (&args[0], &args[1]);
            let ln = c.one(P::LnP, base)?;
            let slope = c.two(P::MulP, y, &ln)?;
            let (zero, at_zero) = c.is_zero(base)?;
            let nan = c.number(f64::NAN);
            let positive = c.two(P::GeP, exponent, &zero)?;
            let there = c.a.select(&positive, &zero, &nan)?;
            Partial::TimesSteep(c.a.select(&at_zero, &there, &slope)?)
        }
        P::Atan2P => {
            let square = c.square_sum(&args[0], &args[1])?;
            let other = if first { args[1].clone() } else { c.neg(&args[0])? };
            Partial::TimesSteep(c.two(P::DivP, &other, &square)?)
        }
        P::AbsP => Partial::Times(c.one(P::SignumP, x)?),
        P::SqrtP => match c.a.reciprocal(y) {
            // A product takes less time than another quotient.
            Some(reciprocal) => Partial::TimesSteep(c.scaled(&reciprocal, 0.5)?),
            None => Partial::Over(c.two(P::AddP, y, y)?),
        },
        P::ExpP => Partial::Times(y.clone()),
        P::LnP => Partial::Over(x.clone()),
        P::Log2P => Partial::Over(c.scaled(x, std::f64::consts::LN_2)?),
        P::Log10P => Partial::Over(c.scaled(x, std::f64::consts::LN_10)?),
        P::SinP => Partial::Times(c.one(P::CosP, x)?),
        P::CosP => {
            let sin = c.one(P::SinP, x)?;
            Partial::Times(c.neg(&sin)?)
        }
        P::TanP => {
            let square = c.two(P::MulP, y, y)?;
            Partial::Times(c.plus_one(&square)?)
        }
        P::AsinP => Partial::Over(c.leg(x)?),
        P::AcosP => {
            let leg = c.leg(x)?;
            Partial::Over(c.neg(&leg)?)
        }
        P::AtanP => {
            let square = c.two(P::MulP, x, x)?;
            Partial::Over(c.plus_one(&square)?)
        }
        P::SinhP => Partial::Times(c.one(P::CoshP, x)?),
        P::CoshP => Partial::Times(c.one(P::SinhP, x)?),
        P::TanhP => Partial::Times(c.one_minus_square(y)?),
        P::AsinhP => {
            // Where the square would overflow, the root is the number itself.
            let square = c.two(P::MulP, x, x)?;
            let more = c.plus_one(&square)?;
            let root = c.one(P::SqrtP, &more)?;
            let abs = c.one(P::AbsP, x)?;
            let limit = c.number(large_with_finite_square(c.ty));
            let large = c.two(P::GtP, &abs, &limit)?;
            Partial::Over(c.a.select(&large, &abs, &root)?)
        }
        P::AcoshP => {
            let (less, more) = (c.minus_one(x)?, c.plus_one(x)?);
            let (less, more) = (c.one(P::SqrtP, &less)?, c.one(P::SqrtP, &more)?);
            Partial::Over(c.two(P::MulP, &less, &more)?)
        }
        P::AtanhP => Partial::Over(c.one_minus_square(x)?),
        P::QuotP
        | P::RemP
        | P::DivFloorP
        | P::ModFloorP
        | P::AndP
        | P::OrP
        | P::XorP
        | P::ShlP
        | P::ShrP
        | P::EqP
        | P::NeP
        | P::LtP
        | P::LeP
        | P::GtP
        | P::GeP
        | P::SignumP
        | P::NotP
        | P::PopCountP
        | P::LeadingZerosP
        | P::TrailingZerosP
        | P::FloorP
        | P::CeilP
        | P::RoundP
        | P::TruncP
        | P::IsNanP
        | P::IsInfiniteP => Partial::Zero,
    })
}

/// `t` times a partial derivative, if it has one.
///
/// Zero times a slope that is no number is zero: 0 is the derivative along no direction, and what a branch not taken
/// contributes. With `careful` also where a factor overflows: `t` may be such a zero.
pub fn scaled<A: Arithmetic>(
    a: &mut A,
    partial: Partial<A::Value>,
    t: &A::Value,
    careful: bool,
) -> Result<Option<A::Value>, A::Error> {
    let mut c = Code { ty: a.ty(t), a };
    Ok(Some(match partial {
        Partial::Zero => return Ok(None),
        Partial::One => t.clone(),
        Partial::MinusOne => c.neg(t)?,
        Partial::Times(p) if !careful || c.a.is_ordinary(&p) => c.two(PrimOp::MulP, t, &p)?,
        Partial::Times(p) | Partial::TimesSteep(p) => {
            let product = c.two(PrimOp::MulP, t, &p)?;
            c.zero_stays(t, product)?
        }
        Partial::Over(d) => {
            let quotient = c.two(PrimOp::DivP, t, &d)?;
            if c.a.is_ordinary(&d) { quotient } else { c.zero_stays(t, quotient)? }
        }
        Partial::Where(cond) => {
            let zero = c.number(0.0);
            c.a.select(&cond, t, &zero)?
        }
        Partial::WhereNot(cond) => {
            let zero = c.number(0.0);
            c.a.select(&cond, &zero, t)?
        }
    }))
}

/// The tangent of `y = op(args)`, of those of its operands; none if none of these goes through. `careful` as for [`scaled`].
pub fn tangent<A: Arithmetic>(
    a: &mut A,
    op: PrimOp,
    args: &[A::Value],
    y: &A::Value,
    tangents: &[Option<A::Value>],
    careful: bool,
) -> Result<Option<A::Value>, A::Error> {
    // One choice between two tangents.
    if let (PrimOp::MinP | PrimOp::MaxP, [Some(t), Some(u)]) = (op, tangents)
        && let Partial::Where(wins) = partial(a, op, args, y, 0)?
    {
        return a.select(&wins, t, u).map(Some);
    }
    let mut sum: Option<A::Value> = None;
    for (which, t) in tangents.iter().enumerate() {
        let Some(t) = t else { continue };
        let p = partial(a, op, args, y, which)?;
        sum = match (sum, &p) {
            (Some(s), Partial::MinusOne) => Some(a.prim(PrimOp::SubP, &[s, t.clone()])?),
            (None, _) => scaled(a, p, t, careful)?,
            (Some(s), _) => match scaled(a, p, t, careful)? {
                Some(t) => Some(a.prim(PrimOp::AddP, &[s, t])?),
                None => Some(s),
            },
        };
    }
    Ok(sum)
}

/// A number whose square is finite, and so large that one more makes no difference.
fn large_with_finite_square(ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F16 => 128.0,
        ScalarType::F32 => 1e18,
        _ => 1e150,
    }
}

/// Arithmetic on scalars of one float type.
struct Code<'a, A> {
    a: &'a mut A,
    ty: ScalarType,
}

impl<A: Arithmetic> Code<'_, A> {
    fn one(&mut self, op: PrimOp, x: &A::Value) -> Result<A::Value, A::Error> {
        self.a.prim(op, std::slice::from_ref(x))
    }
    fn two(&mut self, op: PrimOp, x: &A::Value, y: &A::Value) -> Result<A::Value, A::Error> {
        self.a.prim(op, &[x.clone(), y.clone()])
    }
    fn number(&mut self, x: f64) -> A::Value {
        self.a.literal(float(self.ty, x))
    }
    fn neg(&mut self, x: &A::Value) -> Result<A::Value, A::Error> {
        self.one(PrimOp::NegP, x)
    }
    fn plus_one(&mut self, x: &A::Value) -> Result<A::Value, A::Error> {
        let one = self.number(1.0);
        self.two(PrimOp::AddP, x, &one)
    }
    fn minus_one(&mut self, x: &A::Value) -> Result<A::Value, A::Error> {
        let one = self.number(1.0);
        self.two(PrimOp::SubP, x, &one)
    }
    fn scaled(&mut self, x: &A::Value, by: f64) -> Result<A::Value, A::Error> {
        let by = self.number(by);
        self.two(PrimOp::MulP, x, &by)
    }
    /// 0, and whether `x` is.
    fn is_zero(&mut self, x: &A::Value) -> Result<(A::Value, A::Value), A::Error> {
        let zero = self.number(0.0);
        let is = self.two(PrimOp::EqP, x, &zero)?;
        Ok((zero, is))
    }
    fn square_sum(&mut self, x: &A::Value, y: &A::Value) -> Result<A::Value, A::Error> {
        let (x, y) = (self.two(PrimOp::MulP, x, x)?, self.two(PrimOp::MulP, y, y)?);
        self.two(PrimOp::AddP, &x, &y)
    }
    /// `1 - x²`, without a loss near 1.
    fn one_minus_square(&mut self, x: &A::Value) -> Result<A::Value, A::Error> {
        let one = self.number(1.0);
        let (less, more) = (self.two(PrimOp::SubP, &one, x)?, self.two(PrimOp::AddP, &one, x)?);
        self.two(PrimOp::MulP, &less, &more)
    }
    /// The leg of a right triangle with this other one and the hypotenuse 1.
    fn leg(&mut self, x: &A::Value) -> Result<A::Value, A::Error> {
        let square = self.one_minus_square(x)?;
        self.one(PrimOp::SqrtP, &square)
    }
    /// The product of `t` and something, but 0 where `t` is 0 and the product no number.
    fn zero_stays(&mut self, t: &A::Value, product: A::Value) -> Result<A::Value, A::Error> {
        let (zero, is_zero) = self.is_zero(t)?;
        let no_number = self.one(PrimOp::IsNanP, &product)?;
        let both = self.two(PrimOp::AndP, &is_zero, &no_number)?;
        self.a.select(&both, &zero, &product)
    }
}
