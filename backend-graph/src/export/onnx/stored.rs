//! How values are stored: in the types that runtimes compute in.
//!
//! | value | stored as |
//! |---|---|
//! | integers up to 64 bits but `u64`, `char`, sizes | `int64`, the number itself |
//! | `u64` | `int64`, the same bits |
//! | `f16` | `float`, rounded to `float16` after each operation |
//! | `f32`, `f64`, `bool` | `float`, `double`, `bool` |
//!
//! Arithmetic on narrower integers is brought back into their range by a remainder: the wrap-around is explicit.

use super::proto::DataType;
use super::writer::{Name, Writer, int_attribute};
use acc_core::data::{Lit, ScalarType as T};
use acc_core::eval::eval_cast;

/// What a scalar type is stored as.
pub(super) fn stored(ty: T) -> DataType {
    match ty {
        T::Bool => DataType::Bool,
        T::F16 | T::F32 => DataType::Float,
        T::F64 => DataType::Double,
        T::I8 | T::I16 | T::I32 | T::I64 | T::U8 | T::U16 | T::U32 | T::U64 | T::Char => DataType::Int64,
    }
}

/// What a scalar type is in inputs and outputs.
pub(super) fn natural(ty: T) -> DataType {
    match ty {
        T::Bool => DataType::Bool,
        T::I8 => DataType::Int8,
        T::I16 => DataType::Int16,
        T::I32 => DataType::Int32,
        T::I64 => DataType::Int64,
        T::U8 => DataType::Uint8,
        T::U16 => DataType::Uint16,
        T::U32 | T::Char => DataType::Uint32,
        T::U64 => DataType::Uint64,
        T::F16 => DataType::Float16,
        T::F32 => DataType::Float,
        T::F64 => DataType::Double,
    }
}

/// The bits of an integer type, and whether it is signed; `None` if all of `int64` are its values.
pub(super) fn range(ty: T) -> Option<(u32, bool)> {
    match ty {
        T::I8 => Some((8, true)),
        T::I16 => Some((16, true)),
        T::I32 => Some((32, true)),
        T::U8 => Some((8, false)),
        T::U16 => Some((16, false)),
        T::U32 | T::Char => Some((32, false)),
        T::I64 | T::U64 | T::F16 | T::F32 | T::F64 | T::Bool => None,
    }
}

impl Writer {
    /// From inputs and outputs into what is computed with, and back.
    pub(super) fn convert(&mut self, x: &Name, from: DataType, to: DataType) -> Name {
        if from == to { x.clone() } else { self.cast(x, to) }
    }

    /// A literal, of rank 0.
    pub(super) fn literal(&mut self, l: Lit) -> Name {
        match stored(l.ty) {
            DataType::Bool => self.truth(l.bits != 0),
            DataType::Float => {
                let wide = eval_cast(l, T::F32).map_or(0, |l| l.bits as u32);
                self.constant(DataType::Float, &[], wide.to_le_bytes().to_vec())
            }
            DataType::Double => self.constant(DataType::Double, &[], l.bits.to_le_bytes().to_vec()),
            _ => self.int(l.bits as i64),
        }
    }

    /// The value of an integer type that a sum, difference or product of its values wraps to; a float of `f16` rounded.
    pub(super) fn wrapped(&mut self, x: &Name, ty: T) -> Name {
        if ty == T::F16 {
            let half = self.cast(x, DataType::Float16);
            return self.cast(&half, DataType::Float);
        }
        let Some((bits, signed)) = range(ty) else { return x.clone() };
        let modulus = self.int(1 << bits);
        if !signed {
            return self.node("Mod", &[x, &modulus], vec![int_attribute("fmod", 0)]);
        }
        let half = self.int(1 << (bits - 1));
        let up = self.node("Add", &[x, &half], Vec::new());
        let low = self.node("Mod", &[&up, &modulus], vec![int_attribute("fmod", 0)]);
        self.node("Sub", &[&low, &half], Vec::new())
    }
}
