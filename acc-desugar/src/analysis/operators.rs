//! What operators of folds and scans do leaf by leaf, by what they compute, not by how they were written.

use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{Fun, PrimOp, ScalarOp, Val};

/// A built-in operator: an associative one that tensor libraries reduce and scan with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReduceOp {
    Sum,
    Product,
    Min,
    Max,
    /// Of `bool`.
    All,
    /// Of `bool`.
    Any,
}

impl ReduceOp {
    /// Every operation.
    pub const ALL: [ReduceOp; 6] =
        [ReduceOp::Sum, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max, ReduceOp::All, ReduceOp::Any];

    /// The built-in operator that a primitive is on scalars of a type.
    pub(crate) fn of(p: PrimOp, ty: ScalarType) -> Option<ReduceOp> {
        let boolean = ty == ScalarType::Bool;
        Some(match p {
            PrimOp::AddP => ReduceOp::Sum,
            PrimOp::MulP => ReduceOp::Product,
            PrimOp::MinP if !boolean => ReduceOp::Min,
            PrimOp::MaxP if !boolean => ReduceOp::Max,
            PrimOp::AndP | PrimOp::MinP if boolean => ReduceOp::All,
            PrimOp::OrP | PrimOp::MaxP if boolean => ReduceOp::Any,
            _ => return None,
        })
    }

    /// The name in exports.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Product => "product",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::All => "all",
            ReduceOp::Any => "any",
        }
    }

    /// The neutral element among scalars of a type: what the reduction of no element is.
    pub fn neutral(self, ty: ScalarType) -> Lit {
        match self {
            ReduceOp::Sum | ReduceOp::Any => Lit::zero(ty),
            ReduceOp::Product | ReduceOp::All => Lit::one(ty),
            ReduceOp::Min => greatest(ty),
            ReduceOp::Max => least(ty),
        }
    }
}

/// An operator on the bits of integers, or of `bool`, each by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BitOp {
    And,
    Or,
    Xor,
}

impl BitOp {
    /// Every operation.
    pub const ALL: [BitOp; 3] = [BitOp::And, BitOp::Or, BitOp::Xor];

    /// The operator that a primitive is.
    pub(crate) fn of(p: PrimOp) -> Option<BitOp> {
        BitOp::ALL.into_iter().find(|k| k.prim() == p)
    }

    /// The primitive that it is.
    pub fn prim(self) -> PrimOp {
        match self {
            BitOp::And => PrimOp::AndP,
            BitOp::Or => PrimOp::OrP,
            BitOp::Xor => PrimOp::XorP,
        }
    }

    /// The name in exports.
    pub fn name(self) -> &'static str {
        self.prim().name()
    }
}

/// The greatest value of a type; of floats infinity.
fn greatest(ty: ScalarType) -> Lit {
    match ty {
        ScalarType::I8 => i8::MAX.lit(),
        ScalarType::I16 => i16::MAX.lit(),
        ScalarType::I32 => i32::MAX.lit(),
        ScalarType::I64 => i64::MAX.lit(),
        ScalarType::U8 => u8::MAX.lit(),
        ScalarType::U16 => u16::MAX.lit(),
        ScalarType::U32 => u32::MAX.lit(),
        ScalarType::U64 => u64::MAX.lit(),
        ScalarType::F16 => Lit { ty, bits: 0x7c00 },
        ScalarType::F32 => f32::INFINITY.lit(),
        ScalarType::F64 => f64::INFINITY.lit(),
        ScalarType::Bool => true.lit(),
        ScalarType::Char => char::MAX.lit(),
    }
}

/// The least value of a type; of floats minus infinity.
fn least(ty: ScalarType) -> Lit {
    match ty {
        ScalarType::I8 => i8::MIN.lit(),
        ScalarType::I16 => i16::MIN.lit(),
        ScalarType::I32 => i32::MIN.lit(),
        ScalarType::I64 => i64::MIN.lit(),
        ScalarType::F16 => Lit { ty, bits: 0xfc00 },
        ScalarType::F32 => f32::NEG_INFINITY.lit(),
        ScalarType::F64 => f64::NEG_INFINITY.lit(),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 | ScalarType::Bool | ScalarType::Char => {
            Lit::zero(ty)
        }
    }
}

/// What an operator does to one leaf of its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component<O = PrimOp> {
    /// An associative and commutative operation on the leaf of both operands.
    Op(O),
    /// The left operand's leaf.
    First,
    /// The right operand's leaf.
    Second,
}

/// What an operator does to each leaf, if it is known in all of them: it is associative then.
pub fn components(f: &Fun) -> Option<Vec<Component>> {
    let (left, right) = f.body.params.split_at_checked(f.body.results.len())?;
    let leaves = f.body.results.iter().zip(left.iter().zip(right));
    leaves.map(|(result, (a, b))| component(f, *result, *a, *b)).collect()
}

/// The operation of each leaf, if an operator is one in all of them: it is associative and commutative then.
pub fn reductions(f: &Fun) -> Option<Vec<PrimOp>> {
    let operation = |c| match c {
        Component::Op(p) => Some(p),
        Component::First | Component::Second => None,
    };
    components(f)?.into_iter().map(operation).collect()
}

fn component(f: &Fun, result: Val, a: Val, b: Val) -> Option<Component> {
    if result == a {
        return Some(Component::First);
    }
    if result == b {
        return Some(Component::Second);
    }
    let ScalarOp::Prim(p, args) = &f.body.definition(result)?.op else { return None };
    is_of(*p, args, a, b).then_some(Component::Op(*p))
}

/// Whether a primitive is associative and commutative, and of these two values.
pub(crate) fn is_of(p: PrimOp, args: &[Val], a: Val, b: Val) -> bool {
    p.is_reduction() && (args == [a, b] || args == [b, a])
}

/// [`components`], with built-in operators in place of primitives.
pub(crate) fn built_in_components(f: &Fun) -> Option<Vec<Component<ReduceOp>>> {
    let built_in = |(c, ty)| {
        Some(match c {
            Component::Op(p) => Component::Op(ReduceOp::of(p, ty)?),
            Component::First => Component::First,
            Component::Second => Component::Second,
        })
    };
    components(f)?.into_iter().zip(f.result_types()).map(built_in).collect()
}

/// [`reductions`], with built-in operators in place of primitives.
pub(crate) fn built_in_reductions(f: &Fun) -> Option<Vec<ReduceOp>> {
    built_in(&reductions(f)?, f)
}

/// The built-in operators that the primitives of an operator's leaves are.
pub(crate) fn built_in(ops: &[PrimOp], f: &Fun) -> Option<Vec<ReduceOp>> {
    ops.iter().zip(f.result_types()).map(|(p, ty)| ReduceOp::of(*p, ty)).collect()
}

/// The comparison that holds exactly where `p` does not. With NaN around, only equality has one.
pub(crate) fn opposite(p: PrimOp, ty: ScalarType) -> Option<PrimOp> {
    use PrimOp as P;
    let total = !ty.is_float();
    match p {
        P::EqP => Some(P::NeP),
        P::NeP => Some(P::EqP),
        P::LtP if total => Some(P::GeP),
        P::GeP if total => Some(P::LtP),
        P::GtP if total => Some(P::LeP),
        P::LeP if total => Some(P::GtP),
        _ => None,
    }
}
