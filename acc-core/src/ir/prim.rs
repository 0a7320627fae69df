//! Primitive scalar operations.

use crate::data::ScalarType;

/// The types an operation accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Integers and floats.
    Num,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Integers and `bool`.
    Bits,
    /// Every scalar type.
    Any,
}

impl Domain {
    /// Whether `ty` is in the domain.
    pub fn contains(self, ty: ScalarType) -> bool {
        match self {
            Domain::Num => ty.is_num(),
            Domain::Int => ty.is_int(),
            Domain::Float => ty.is_float(),
            Domain::Bits => ty.is_int() || ty == ScalarType::Bool,
            Domain::Any => true,
        }
    }
}

/// What an operation yields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yields {
    /// A value of the operands' type.
    Same,
    /// A `bool`.
    Bool,
    /// An `i32` (bit counts).
    I32,
}

macro_rules! prim_ops {
    ($($(#[doc = $doc:literal])* $Variant:ident $name:literal $arity:literal $domain:ident $yields:ident;)*) => {
        /// A primitive operation on scalars. All operands have one type, in [`PrimOp::domain`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum PrimOp { $($(#[doc = $doc])* $Variant),* }

        impl PrimOp {
            /// Every operation.
            pub const ALL: &'static [PrimOp] = &[$(PrimOp::$Variant),*];

            /// The name in the text form.
            pub fn name(self) -> &'static str {
                match self { $(PrimOp::$Variant => $name),* }
            }
            /// The operation of this name.
            pub fn from_name(name: &str) -> Option<PrimOp> {
                match name { $($name => Some(PrimOp::$Variant),)* _ => None }
            }
            /// The number of operands.
            pub fn arity(self) -> usize {
                match self { $(PrimOp::$Variant => $arity),* }
            }
            /// The types of operands it accepts.
            pub fn domain(self) -> Domain {
                match self { $(PrimOp::$Variant => Domain::$domain),* }
            }
            /// What it yields.
            pub fn yields(self) -> Yields {
                match self { $(PrimOp::$Variant => Yields::$yields),* }
            }
        }
    };
}

prim_ops! {
    /// Sum; integers wrap.
    AddP "add" 2 Num Same;
    /// Difference; integers wrap.
    SubP "sub" 2 Num Same;
    /// Product; integers wrap.
    MulP "mul" 2 Num Same;
    /// Quotient of floats (IEEE 754: division by zero is an infinity or NaN).
    DivP "div" 2 Float Same;
    /// Integer quotient truncated towards zero; a zero divisor is a fault, `MIN / -1 = MIN`.
    QuotP "quot" 2 Int Same;
    /// Remainder with the sign of the dividend: of integers (`x - quot(x, y) * y`; a zero divisor is a fault,
    /// `MIN rem -1 = 0`).
    RemP "rem" 2 Int Same;
    /// Integer quotient rounded down (Haskell's `div`); a zero divisor is a fault, `MIN / -1 = MIN`.
    DivFloorP "div_floor" 2 Int Same;
    /// Remainder with the sign of the divisor (Haskell's `mod`); a zero divisor is a fault.
    ModFloorP "mod_floor" 2 Int Same;
    /// Remainder of floats with the sign of the dividend (C's `fmod`).
    FmodP "fmod" 2 Float Same;
    /// The lesser; of floats, NaN if either is NaN (IEEE 754-2019 `minimum`, but either zero may be taken).
    MinP "min" 2 Any Same;
    /// The greater; of floats, NaN if either is NaN (IEEE 754-2019 `maximum`, but either zero may be taken).
    MaxP "max" 2 Any Same;
    /// `x` to the power of `y`.
    PowP "pow" 2 Float Same;
    /// The angle of the point `(y, x)`: operands in the order of C's `atan2`.
    Atan2P "atan2" 2 Float Same;
    /// Bitwise and; of `bool`, strict logical and.
    AndP "and" 2 Bits Same;
    /// Bitwise or; of `bool`, strict logical or.
    OrP "or" 2 Bits Same;
    /// Bitwise exclusive or.
    XorP "xor" 2 Bits Same;
    /// Shift left; by the width or more, or by a negative amount: 0.
    ShlP "shl" 2 Int Same;
    /// Shift right, arithmetic if signed; by the width or more, or by a negative amount: 0, or -1 if negative.
    ShrP "shr" 2 Int Same;
    /// Equal (floats: IEEE 754, NaN is unequal to all).
    EqP "eq" 2 Any Bool;
    /// Not equal.
    NeP "ne" 2 Any Bool;
    /// Less.
    LtP "lt" 2 Any Bool;
    /// Less or equal.
    LeP "le" 2 Any Bool;
    /// Greater.
    GtP "gt" 2 Any Bool;
    /// Greater or equal.
    GeP "ge" 2 Any Bool;
    /// Negation; integers wrap.
    NegP "neg" 1 Num Same;
    /// Absolute value; `abs MIN = MIN`.
    AbsP "abs" 1 Num Same;
    /// -1, 0 or 1; of floats, zeros keep their sign and NaN stays NaN.
    SignumP "signum" 1 Num Same;
    /// Bitwise complement; of `bool`, logical not.
    NotP "not" 1 Bits Same;
    /// The number of one bits.
    PopCountP "count_ones" 1 Int I32;
    /// The number of leading zero bits.
    LeadingZerosP "leading_zeros" 1 Int I32;
    /// The number of trailing zero bits; the width for zero.
    TrailingZerosP "trailing_zeros" 1 Int I32;
    /// Square root.
    SqrtP "sqrt" 1 Float Same;
    /// e to the power of `x`.
    ExpP "exp" 1 Float Same;
    /// Natural logarithm.
    LnP "ln" 1 Float Same;
    /// Base-2 logarithm.
    Log2P "log2" 1 Float Same;
    /// Base-10 logarithm.
    Log10P "log10" 1 Float Same;
    /// Sine (radians).
    SinP "sin" 1 Float Same;
    /// Cosine (radians).
    CosP "cos" 1 Float Same;
    /// Tangent (radians).
    TanP "tan" 1 Float Same;
    /// Inverse sine.
    AsinP "asin" 1 Float Same;
    /// Inverse cosine.
    AcosP "acos" 1 Float Same;
    /// Inverse tangent.
    AtanP "atan" 1 Float Same;
    /// Hyperbolic sine.
    SinhP "sinh" 1 Float Same;
    /// Hyperbolic cosine.
    CoshP "cosh" 1 Float Same;
    /// Hyperbolic tangent.
    TanhP "tanh" 1 Float Same;
    /// Inverse hyperbolic sine.
    AsinhP "asinh" 1 Float Same;
    /// Inverse hyperbolic cosine.
    AcoshP "acosh" 1 Float Same;
    /// Inverse hyperbolic tangent.
    AtanhP "atanh" 1 Float Same;
    /// Rounded down, as a float.
    FloorP "floor" 1 Float Same;
    /// Rounded up, as a float.
    CeilP "ceil" 1 Float Same;
    /// Rounded to nearest, ties to even, as a float.
    RoundP "round" 1 Float Same;
    /// Rounded towards zero, as a float.
    TruncP "trunc" 1 Float Same;
    /// Whether it is NaN.
    IsNanP "is_nan" 1 Float Bool;
    /// Whether it is an infinity.
    IsInfiniteP "is_infinite" 1 Float Bool;
}

impl PrimOp {
    /// The result type for operands of type `ty`.
    pub fn result_type(self, ty: ScalarType) -> ScalarType {
        match self.yields() {
            Yields::Same => ty,
            Yields::Bool => ScalarType::Bool,
            Yields::I32 => ScalarType::I32,
        }
    }

    /// Whether it can fault (a zero divisor): such an operation is never evaluated unless its value is demanded.
    pub fn is_partial(self) -> bool {
        matches!(self, PrimOp::QuotP | PrimOp::RemP | PrimOp::DivFloorP | PrimOp::ModFloorP)
    }

    /// Whether exchanging the operands changes nothing, not even the bits of a float.
    pub fn is_commutative(self) -> bool {
        use PrimOp as P;
        matches!(self, P::AddP | P::MulP | P::AndP | P::OrP | P::XorP | P::EqP | P::NeP)
    }

    /// Whether folds and scans may group and reorder operands, for it is associative and commutative and has a neutral
    /// element: of floats but for rounding, and for which zero or NaN is the least or greatest.
    pub fn is_reduction(self) -> bool {
        use PrimOp as P;
        matches!(self, P::AddP | P::MulP | P::MinP | P::MaxP | P::AndP | P::OrP | P::XorP)
    }
}

/// Whether a cast between these types exists: between numbers, from `bool` to numbers, between `char` and `u32`.
///
/// A cast has the meaning of Rust's `as`: integers wrap, floats saturate (NaN becomes 0), to a float rounds to
/// nearest. A `u32` that is no code point becomes U+FFFD.
pub fn cast_exists(from: ScalarType, to: ScalarType) -> bool {
    use ScalarType::{Bool, Char, U32};
    (from.is_num() && to.is_num())
        || (from == Bool && to.is_num())
        || (from == Char && to == U32)
        || (from == U32 && to == Char)
}

/// Whether the bits of one type can be read as the other: numbers of one width.
pub fn bitcast_exists(from: ScalarType, to: ScalarType) -> bool {
    from.is_num() && to.is_num() && from.size() == to.size()
}
