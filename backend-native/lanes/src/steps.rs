//! The steps of chains: operations on an accumulator.

use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

/// What a step does. `acc` is the accumulator, `a` and `b` are the operands.
#[allow(missing_docs, reason = "groups of them are described")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Do {
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
    /// Comparisons of `acc` with `a`: the flags are stored, and the accumulator stays.
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

    // Flags: of `a` and `b`, stored; the accumulator stays.
    BothFlags,
    EitherFlag,
    OneFlag,
    NoFlag,
}

/// Of how many bytes the lanes of a type are, if chains run on it.
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

impl Do {
    /// The step for a binary operation whose left operand is the accumulator, and that for one whose right operand is.
    pub fn binary(op: PrimOp, ty: ScalarType) -> Option<(Do, Option<Do>)> {
        use PrimOp as P;
        width(ty)?;
        let both = |d: Do| Some((d, Some(d)));
        if is_float(ty) {
            return match op {
                P::AddP => both(Do::Add),
                P::SubP => Some((Do::Sub, Some(Do::SubFrom))),
                P::MulP => both(Do::Mul),
                P::DivP => Some((Do::Div, Some(Do::DivFrom))),
                P::MinP => Some((Do::Min, Some(Do::MinFrom))),
                P::MaxP => Some((Do::Max, Some(Do::MaxFrom))),
                P::EqP => both(Do::Eq),
                P::NeP => both(Do::Ne),
                P::LtP => Some((Do::Lt, Some(Do::Gt))),
                P::LeP => Some((Do::Le, Some(Do::Ge))),
                P::GtP => Some((Do::Gt, Some(Do::Lt))),
                P::GeP => Some((Do::Ge, Some(Do::Le))),
                _ => None,
            };
        }
        let by_sign = |signed: Do, unsigned: Do| if is_signed(ty) { signed } else { unsigned };
        match op {
            P::AddP => both(Do::AddInt),
            P::SubP => Some((Do::SubInt, Some(Do::SubFromInt))),
            P::MulP => both(Do::MulInt),
            P::AndP => both(Do::And),
            P::OrP => both(Do::Or),
            P::XorP => both(Do::Xor),
            P::ShlP => Some((Do::Shl, None)),
            P::ShrP => Some((by_sign(Do::ShrSigned, Do::ShrUnsigned), None)),
            P::MinP => both(by_sign(Do::MinSigned, Do::MinUnsigned)),
            P::MaxP => both(by_sign(Do::MaxSigned, Do::MaxUnsigned)),
            P::EqP => both(Do::EqInt),
            P::NeP => both(Do::NeInt),
            P::LtP => Some((by_sign(Do::LtSigned, Do::LtUnsigned), Some(by_sign(Do::GtSigned, Do::GtUnsigned)))),
            P::LeP => Some((by_sign(Do::LeSigned, Do::LeUnsigned), Some(by_sign(Do::GeSigned, Do::GeUnsigned)))),
            P::GtP => Some((by_sign(Do::GtSigned, Do::GtUnsigned), Some(by_sign(Do::LtSigned, Do::LtUnsigned)))),
            P::GeP => Some((by_sign(Do::GeSigned, Do::GeUnsigned), Some(by_sign(Do::LeSigned, Do::LeUnsigned)))),
            _ => None,
        }
    }

    /// The step for an operation of one operand.
    pub fn unary(op: PrimOp, ty: ScalarType) -> Option<Do> {
        use PrimOp as P;
        width(ty)?;
        match (op, is_float(ty)) {
            (P::NegP, true) => Some(Do::Neg),
            (P::AbsP, true) => Some(Do::Abs),
            (P::SqrtP, true) => Some(Do::Sqrt),
            (P::FloorP, true) => Some(Do::Floor),
            (P::CeilP, true) => Some(Do::Ceil),
            (P::RoundP, true) => Some(Do::Round),
            (P::TruncP, true) => Some(Do::Trunc),
            (P::NegP, false) => Some(Do::NegInt),
            (P::NotP, false) => Some(Do::Not),
            (P::AbsP, false) => Some(if is_signed(ty) { Do::AbsSigned } else { Do::Keep }),
            _ => None,
        }
    }

    /// The step for an operation on flags.
    pub fn flags(op: PrimOp) -> Option<Do> {
        match op {
            PrimOp::AndP => Some(Do::BothFlags),
            PrimOp::OrP => Some(Do::EitherFlag),
            PrimOp::XorP => Some(Do::OneFlag),
            PrimOp::NotP => Some(Do::NoFlag),
            _ => None,
        }
    }

    /// The step for a conversion; those that keep the bits are [`Do::Keep`].
    pub fn cast(from: ScalarType, to: ScalarType) -> Option<Do> {
        if width(from)? != width(to)? {
            return None;
        }
        match (is_float(from), is_float(to)) {
            (false, true) => Some(if is_signed(from) { Do::OfSigned } else { Do::OfUnsigned }),
            (false, false) => Some(Do::Keep),
            (true, true) => (from == to).then_some(Do::Keep),
            // Saturated, which takes a few instructions that compilers do not make for vectors here.
            (true, false) => None,
        }
    }

    /// Whether it stores flags and leaves the accumulator.
    pub fn makes_flags(self) -> bool {
        use Do as D;
        let floats = matches!(self, D::Eq | D::Ne | D::Lt | D::Le | D::Gt | D::Ge);
        let signed = matches!(self, D::EqInt | D::NeInt | D::LtSigned | D::LeSigned | D::GtSigned | D::GeSigned);
        let unsigned = matches!(self, D::LtUnsigned | D::LeUnsigned | D::GtUnsigned | D::GeUnsigned);
        floats || signed || unsigned || matches!(self, D::BothFlags | D::EitherFlag | D::OneFlag | D::NoFlag)
    }
}

/// The number of no operand.
pub const NONE: u16 = u16::MAX;

/// A step: operands by their number in the chain.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The operation.
    pub does: Do,
    /// The first operand, or [`NONE`].
    pub a: u16,
    /// The second, or [`NONE`].
    pub b: u16,
    /// Whether all lanes of `a` and of `b` are the same.
    pub one: [bool; 2],
    /// Where the result is stored too, or [`NONE`].
    pub out: u16,
}
