//! Operations that tensor libraries know.

use acc_core::data::{Lit, Prim, ScalarType};

/// An associative operation known to tensor libraries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Known {
    Sum,
    Product,
    Min,
    Max,
    /// Of `bool`.
    All,
    /// Of `bool`.
    Any,
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

impl Known {
    /// Every operation.
    pub const ALL: [Known; 6] = [Known::Sum, Known::Product, Known::Min, Known::Max, Known::All, Known::Any];

    /// The name in exports.
    pub fn name(self) -> &'static str {
        match self {
            Known::Sum => "sum",
            Known::Product => "product",
            Known::Min => "min",
            Known::Max => "max",
            Known::All => "all",
            Known::Any => "any",
        }
    }

    /// The neutral element among scalars of a type: what the reduction of no element is.
    pub fn neutral(self, ty: ScalarType) -> Lit {
        match self {
            Known::Sum | Known::Any => Lit::zero(ty),
            Known::Product | Known::All => Lit::one(ty),
            Known::Min => greatest(ty),
            Known::Max => least(ty),
        }
    }
}
