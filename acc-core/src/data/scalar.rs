//! Scalar types and literals.

use half::f16;
use std::convert::Infallible;
use std::fmt;

/// Calls `$mac!` with the list of (variant, Rust type) pairs of all scalar types.
macro_rules! scalar_types_list {
    ($mac:ident) => {
        $mac! { (I8, i8), (I16, i16), (I32, i32), (I64, i64), (U8, u8), (U16, u16), (U32, u32), (U64, u64),
        (F16, f16), (F32, f32), (F64, f64), (Bool, bool), (Char, char) }
    };
}

pub(crate) use scalar_types_list;

macro_rules! scalar_types {
    ($(($Variant:ident, $rust:ty, $name:literal, $size:literal)),* $(,)?) => {
        /// The type of one scalar: one leaf of an element type, one column of an array.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum ScalarType { $($Variant),* }

        impl ScalarType {
            /// Every scalar type.
            pub const ALL: &'static [ScalarType] = &[$(ScalarType::$Variant),*];

            /// The name in the text form, the same as Rust's.
            pub fn name(self) -> &'static str {
                match self { $(ScalarType::$Variant => $name),* }
            }

            /// Bytes of one value in a column.
            pub fn size(self) -> usize {
                match self { $(ScalarType::$Variant => $size),* }
            }

            /// The type with this name in the text form.
            pub fn from_name(name: &str) -> Option<ScalarType> {
                match name { $($name => Some(ScalarType::$Variant),)* _ => None }
            }
        }

        $(impl HasScalarType for $rust { const TYPE: ScalarType = ScalarType::$Variant; })*
    };
}
scalar_types! {
    (I8, i8, "i8", 1), (I16, i16, "i16", 2), (I32, i32, "i32", 4), (I64, i64, "i64", 8),
    (U8, u8, "u8", 1), (U16, u16, "u16", 2), (U32, u32, "u32", 4), (U64, u64, "u64", 8),
    (F16, f16, "f16", 2), (F32, f32, "f32", 4), (F64, f64, "f64", 8), (Bool, bool, "bool", 1), (Char, char, "char", 4),
}

impl ScalarType {
    /// `f16`, `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }
    /// A signed or unsigned integer (not `bool`, not `char`).
    pub fn is_int(self) -> bool {
        self <= Self::U64
    }
    /// A signed integer.
    pub fn is_signed(self) -> bool {
        self <= Self::I64
    }
    /// An integer or a float.
    pub fn is_num(self) -> bool {
        self <= Self::F64
    }
    /// Width in bits.
    pub fn bits(self) -> u32 {
        8 * self.size() as u32
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl fmt::Debug for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Rust types that are scalars of the array language.
pub trait HasScalarType {
    /// The dynamic type.
    const TYPE: ScalarType;
}

/// A scalar value: type and bits.
///
/// Integers are sign- or zero-extended to 64 bits, floats are their IEEE 754 encodings, `bool` is 0 or 1, `char` its
/// code point. Equality and hash are those of the bits, so `-0.0` differs from `0.0` and a NaN equals itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lit {
    /// The type.
    pub ty: ScalarType,
    /// The value's bits, as described above.
    pub bits: u64,
}

/// Rust scalars as bits: the bridge between typed values and [`Lit`].
pub trait Prim: Copy + HasScalarType + 'static {
    /// The bits of a literal.
    fn to_bits64(self) -> u64;
    /// The value of these bits; `bits` must come from a literal of the same type.
    fn from_bits64(bits: u64) -> Self;
    /// As a dynamically typed literal.
    fn lit(self) -> Lit {
        Lit { ty: Self::TYPE, bits: self.to_bits64() }
    }
}

macro_rules! prim_int {
    ($($t:ty),*) => { $(impl Prim for $t {
        fn to_bits64(self) -> u64 { self as u64 }
        fn from_bits64(bits: u64) -> Self { bits as $t }
    })* };
}
prim_int!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Prim for f16 {
    fn to_bits64(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn from_bits64(bits: u64) -> Self {
        f16::from_bits(bits as u16)
    }
}
impl Prim for f32 {
    fn to_bits64(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn from_bits64(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}
impl Prim for f64 {
    fn to_bits64(self) -> u64 {
        self.to_bits()
    }
    fn from_bits64(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}
impl Prim for bool {
    fn to_bits64(self) -> u64 {
        u64::from(self)
    }
    fn from_bits64(bits: u64) -> Self {
        bits != 0
    }
}
impl Prim for char {
    fn to_bits64(self) -> u64 {
        u64::from(u32::from(self))
    }
    fn from_bits64(bits: u64) -> Self {
        // A code point that is no `char` (a lone surrogate, say) reads as the replacement character.
        char::from_u32(bits as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

impl Lit {
    /// Zero, `false` or `'\0'`.
    pub fn zero(ty: ScalarType) -> Lit {
        Lit { ty, bits: 0 }
    }

    /// One in any numeric type.
    pub fn one(ty: ScalarType) -> Lit {
        match ty {
            ScalarType::F16 => f16::ONE.lit(),
            ScalarType::F32 => 1f32.lit(),
            ScalarType::F64 => 1f64.lit(),
            _ => Lit { ty, bits: 1 },
        }
    }

    /// A number that sorts as the value does among those of its type: floats by value, with zeros of either sign equal
    /// and every NaN after all numbers.
    pub fn sort_key(self) -> u64 {
        const SIGN: u64 = 1 << 63;
        let float = |x: f64| {
            // Of zeros the sum is the positive one.
            let bits = (x + 0.0).to_bits();
            match bits & SIGN {
                _ if x.is_nan() => u64::MAX,
                0 => bits | SIGN,
                _ => !bits,
            }
        };
        match self.ty {
            ScalarType::F16 => float(f64::from(f16::from_bits64(self.bits))),
            ScalarType::F32 => float(f64::from(f32::from_bits64(self.bits))),
            ScalarType::F64 => float(f64::from_bits64(self.bits)),
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => self.bits ^ SIGN,
            ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::Bool
            | ScalarType::Char => self.bits,
        }
    }

    /// The typed value, if the type is `T`.
    pub fn get<T: Prim>(self) -> Option<T> {
        (self.ty == T::TYPE).then(|| T::from_bits64(self.bits))
    }
}

/// Where no node is a literal, there is none to be one.
impl From<Infallible> for Lit {
    fn from(none: Infallible) -> Lit {
        match none {}
    }
}

impl fmt::Display for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        macro_rules! show {
            ($(($V:ident, $t:ty)),*) => { match self.ty { $(ScalarType::$V => write!(f, "{:?}", <$t>::from_bits64(self.bits))),* } };
        }
        scalar_types_list!(show)
    }
}
impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{}", self.ty)
    }
}

/// The `f16` nearest to a number, ties to even. (`f16::from_f64` rounds to `f32` first, on some processors.)
///
/// ```
/// use acc_core::data::nearest_f16;
///
/// // A little above the middle between 1 and the next number: the way over `f32` would forget the little.
/// assert_eq!(nearest_f16(1.0 + 0.5f64.powi(11) + 0.5f64.powi(40)).to_bits(), 0x3c01);
/// ```
pub fn nearest_f16(x: f64) -> f16 {
    // To `f32` rounded to odd: an inexact result gets an odd last digit, so that it is no tie for the second rounding.
    let near = x as f32;
    let exact = f64::from(near) == x || x.is_nan();
    let towards_zero = if f64::from(near).abs() > x.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f16::from_f32(if exact { near } else { f32::from_bits(towards_zero | 1) })
}
