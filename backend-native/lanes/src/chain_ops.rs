//! The operations of chains, on an accumulator.

use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

/// What a step does. `acc` is the accumulator, `a` and `b` are the operands.
#[allow(missing_docs, reason = "groups of them are described")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepOp {
    /// `acc = a`
    Load,
    /// The accumulator stays; it may be stored.
    Keep,

    // Floats: `acc = acc op a`, or `a op acc` where the name says so.
    Add,
    Sub,
    SubFrom,
    Mul,
    Div,
    DivFrom,
    Min,
    MinFrom,
    Max,
    MaxFrom,
    /// `acc + acc`
    Double,
    /// `acc * acc`
    Square,
    Neg,
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Round,
    Trunc,
    /// `acc * a + b`, rounded once.
    Fma,
    /// `a * b + acc`, rounded once.
    FmaOnto,
    /// `acc + a * b`, the product rounded too; the others likewise.
    AddProduct,
    /// `acc - a * b`
    SubProduct,
    /// `a * b - acc`
    SubFromProduct,
    /// Comparisons of `acc` with `a`: the flags are stored, and the accumulator is unchanged.
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,

    // Integers.
    AddInt,
    SubInt,
    SubFromInt,
    MulInt,
    NegInt,
    And,
    Or,
    Xor,
    Not,
    Shl,
    ShrSigned,
    ShrUnsigned,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    AbsSigned,
    EqInt,
    NeInt,
    LtSigned,
    LeSigned,
    GtSigned,
    GeSigned,
    LtUnsigned,
    LeUnsigned,
    GtUnsigned,
    GeUnsigned,
    /// Integers to floats.
    OfSigned,
    OfUnsigned,

    /// `if b { acc } else { a }`
    Select,
    /// `if b { a } else { acc }`
    SelectNot,

    // Operations on the flags `a` and `b`: the result is stored, and the accumulator is unchanged.
    BothFlags,
    EitherFlag,
    OneFlag,
    NoFlag,
}

/// The bytes of a lane, if chains run on the type.
pub fn width(ty: ScalarType) -> Option<usize> {
    use ScalarType as T;
    match ty {
        T::F32 | T::I32 | T::U32 => Some(4),
        T::F64 | T::I64 | T::U64 => Some(8),
        T::I8 | T::I16 | T::U8 | T::U16 | T::F16 | T::Bool | T::Char => None,
    }
}

/// Whether the lanes of a chain are floats.
pub fn is_float(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F32 | ScalarType::F64)
}

fn is_signed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::I32 | ScalarType::I64)
}

impl StepOp {
    /// The step for a binary operation with its left operand in the accumulator, and the one with its right operand
    /// there.
    pub fn binary(op: PrimOp, ty: ScalarType) -> Option<(StepOp, Option<StepOp>)> {
        use PrimOp as P;
        width(ty)?;
        let both = |d: StepOp| Some((d, Some(d)));
        if is_float(ty) {
            return match op {
                P::AddP => both(StepOp::Add),
                P::SubP => Some((StepOp::Sub, Some(StepOp::SubFrom))),
                P::MulP => both(StepOp::Mul),
                P::DivP => Some((StepOp::Div, Some(StepOp::DivFrom))),
                P::MinP => Some((StepOp::Min, Some(StepOp::MinFrom))),
                P::MaxP => Some((StepOp::Max, Some(StepOp::MaxFrom))),
                P::EqP => both(StepOp::Eq),
                P::NeP => both(StepOp::Ne),
                P::LtP => Some((StepOp::Lt, Some(StepOp::Gt))),
                P::LeP => Some((StepOp::Le, Some(StepOp::Ge))),
                P::GtP => Some((StepOp::Gt, Some(StepOp::Lt))),
                P::GeP => Some((StepOp::Ge, Some(StepOp::Le))),
                _ => None,
            };
        }
        let by_sign = |signed: StepOp, unsigned: StepOp| if is_signed(ty) { signed } else { unsigned };
        match op {
            P::AddP => both(StepOp::AddInt),
            P::SubP => Some((StepOp::SubInt, Some(StepOp::SubFromInt))),
            P::MulP => both(StepOp::MulInt),
            P::AndP => both(StepOp::And),
            P::OrP => both(StepOp::Or),
            P::XorP => both(StepOp::Xor),
            P::ShlP => Some((StepOp::Shl, None)),
            P::ShrP => Some((by_sign(StepOp::ShrSigned, StepOp::ShrUnsigned), None)),
            P::MinP => both(by_sign(StepOp::MinSigned, StepOp::MinUnsigned)),
            P::MaxP => both(by_sign(StepOp::MaxSigned, StepOp::MaxUnsigned)),
            P::EqP => both(StepOp::EqInt),
            P::NeP => both(StepOp::NeInt),
            P::LtP => Some((
                by_sign(StepOp::LtSigned, StepOp::LtUnsigned),
                Some(by_sign(StepOp::GtSigned, StepOp::GtUnsigned)),
            )),
            P::LeP => Some((
                by_sign(StepOp::LeSigned, StepOp::LeUnsigned),
                Some(by_sign(StepOp::GeSigned, StepOp::GeUnsigned)),
            )),
            P::GtP => Some((
                by_sign(StepOp::GtSigned, StepOp::GtUnsigned),
                Some(by_sign(StepOp::LtSigned, StepOp::LtUnsigned)),
            )),
            P::GeP => Some((
                by_sign(StepOp::GeSigned, StepOp::GeUnsigned),
                Some(by_sign(StepOp::LeSigned, StepOp::LeUnsigned)),
            )),
            _ => None,
        }
    }

    /// The step for a unary operation.
    pub fn unary(op: PrimOp, ty: ScalarType) -> Option<StepOp> {
        use PrimOp as P;
        width(ty)?;
        match (op, is_float(ty)) {
            (P::NegP, true) => Some(StepOp::Neg),
            (P::AbsP, true) => Some(StepOp::Abs),
            (P::SqrtP, true) => Some(StepOp::Sqrt),
            (P::FloorP, true) => Some(StepOp::Floor),
            (P::CeilP, true) => Some(StepOp::Ceil),
            (P::RoundP, true) => Some(StepOp::Round),
            (P::TruncP, true) => Some(StepOp::Trunc),
            (P::NegP, false) => Some(StepOp::NegInt),
            (P::NotP, false) => Some(StepOp::Not),
            (P::AbsP, false) => Some(if is_signed(ty) { StepOp::AbsSigned } else { StepOp::Keep }),
            _ => None,
        }
    }

    /// The step for an operation on flags.
    pub fn flags(op: PrimOp) -> Option<StepOp> {
        match op {
            PrimOp::AndP => Some(StepOp::BothFlags),
            PrimOp::OrP => Some(StepOp::EitherFlag),
            PrimOp::XorP => Some(StepOp::OneFlag),
            PrimOp::NotP => Some(StepOp::NoFlag),
            _ => None,
        }
    }

    /// The step for a conversion; those that keep the bits are [`StepOp::Keep`].
    pub fn cast(from: ScalarType, to: ScalarType) -> Option<StepOp> {
        if width(from)? != width(to)? {
            return None;
        }
        match (is_float(from), is_float(to)) {
            (false, true) => Some(if is_signed(from) { StepOp::OfSigned } else { StepOp::OfUnsigned }),
            (false, false) => Some(StepOp::Keep),
            (true, true) => (from == to).then_some(StepOp::Keep),
            // Saturating conversions take several instructions, which compilers do not vectorise here.
            (true, false) => None,
        }
    }

    /// Whether it stores flags and leaves the accumulator unchanged.
    pub fn makes_flags(self) -> bool {
        use StepOp as D;
        let floats = matches!(self, D::Eq | D::Ne | D::Lt | D::Le | D::Gt | D::Ge);
        let signed = matches!(self, D::EqInt | D::NeInt | D::LtSigned | D::LeSigned | D::GtSigned | D::GeSigned);
        let unsigned = matches!(self, D::LtUnsigned | D::LeUnsigned | D::GtUnsigned | D::GeUnsigned);
        floats || signed || unsigned || matches!(self, D::BothFlags | D::EitherFlag | D::OneFlag | D::NoFlag)
    }
}

/// Stands for a missing operand.
pub const NO_OPERAND: u16 = u16::MAX;

/// A step: operands by their number in the chain.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The operation.
    pub does: StepOp,
    /// The first operand, or [`NO_OPERAND`].
    pub a: u16,
    /// The second, or [`NO_OPERAND`].
    pub b: u16,
    /// Whether `a` and `b` are uniform.
    pub one: [bool; 2],
    /// Where the result is stored too, or [`NO_OPERAND`].
    pub out: u16,
}
