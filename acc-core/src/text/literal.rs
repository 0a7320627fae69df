//! Literals in text.

use crate::data::{Lit, Prim, ScalarType, nearest_f16};
use half::f16;
use std::fmt::{self, Write};

/// Writes a literal so that [`read_lit`] gives the same bits; its type is not written.
pub(super) fn write_lit(out: &mut impl Write, l: Lit) -> fmt::Result {
    let quiet = match l.ty {
        ScalarType::F16 if f16::from_bits64(l.bits).is_nan() => u64::from(QUIET_F16),
        ScalarType::F32 if f32::from_bits64(l.bits).is_nan() => u64::from(QUIET_F32),
        ScalarType::F64 if f64::from_bits64(l.bits).is_nan() => QUIET_F64,
        _ => return write!(out, "{l}"),
    };
    if l.bits == quiet { out.write_str("nan") } else { write!(out, "nan(0x{:x})", l.bits) }
}

const QUIET_F16: u16 = 0x7e00;
const QUIET_F32: u32 = 0x7fc0_0000;
const QUIET_F64: u64 = 0x7ff8_0000_0000_0000;

/// A number, `inf`, `-inf`, `nan`, `true` or `false` as a literal of a type. The error says what does not fit.
pub(super) fn read_lit(text: &str, ty: ScalarType) -> Result<Lit, String> {
    fn parsed<T: std::str::FromStr + Prim>(text: &str) -> Option<Lit> {
        text.parse::<T>().ok().map(Prim::lit)
    }
    let infinity = matches!(text, "inf" | "-inf");
    let is_number = !infinity && text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let float = infinity || (is_number && text != "-");
    let lit = match ty {
        ScalarType::I8 => parsed::<i8>(text),
        ScalarType::I16 => parsed::<i16>(text),
        ScalarType::I32 => parsed::<i32>(text),
        ScalarType::I64 => parsed::<i64>(text),
        ScalarType::U8 => parsed::<u8>(text),
        ScalarType::U16 => parsed::<u16>(text),
        ScalarType::U32 => parsed::<u32>(text),
        ScalarType::U64 => parsed::<u64>(text),
        ScalarType::F16 if text == "nan" => Some(f16::from_bits(QUIET_F16).lit()),
        ScalarType::F32 if text == "nan" => Some(f32::from_bits(QUIET_F32).lit()),
        ScalarType::F64 if text == "nan" => Some(f64::from_bits(QUIET_F64).lit()),
        // A number that is too large is none of the type: infinity is written `inf`.
        ScalarType::F16 if float => {
            text.parse().ok().map(nearest_f16).filter(|x| x.is_finite() || !is_number).map(Prim::lit)
        }
        ScalarType::F32 if float => text.parse().ok().filter(|x: &f32| x.is_finite() || !is_number).map(Prim::lit),
        ScalarType::F64 if float => text.parse().ok().filter(|x: &f64| x.is_finite() || !is_number).map(Prim::lit),
        ScalarType::Bool => parsed::<bool>(text),
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 | ScalarType::Char => None,
    };
    lit.ok_or_else(|| format!("`{text}` is not a value of type {ty}"))
}

/// The NaN with these bits, written in hexadecimal with `0x`.
pub(super) fn read_nan(text: &str, ty: ScalarType) -> Result<Lit, String> {
    let bits = text.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok());
    let lit = match (ty, bits) {
        (ScalarType::F16, Some(b)) => u16::try_from(b).is_ok_and(|b| f16::from_bits(b).is_nan()).then_some(b),
        (ScalarType::F32, Some(b)) => u32::try_from(b).is_ok_and(|b| f32::from_bits(b).is_nan()).then_some(b),
        (ScalarType::F64, Some(b)) => f64::from_bits(b).is_nan().then_some(b),
        _ => None,
    };
    lit.map(|bits| Lit { ty, bits }).ok_or_else(|| format!("`{text}` is not the encoding of a NaN of type {ty}"))
}
