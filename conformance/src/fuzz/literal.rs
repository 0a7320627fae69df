//! Random values, extreme ones often.

use super::generate::{Generator, Mode};
use acc_core::data::ScalarType as T;

/// Floats at which something happens: zeros, denormals, greatest, infinities, NaN, and what lies between.
fn special_floats(ty: T) -> &'static [&'static str] {
    match ty {
        T::F16 => &["6e-8", "6.104e-5", "65504.0", "-65504.0", "2049.0", "1e-3"],
        T::F32 => &["1e-45", "1.1754944e-38", "3.4028235e38", "-3.4028235e38", "16777217.0", "1e10", "-1e-3"],
        T::F64 => &["5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993.0", "1e19", "0.1"],
        T::I8 | T::I16 | T::I32 | T::I64 | T::U8 | T::U16 | T::U32 | T::U64 | T::Bool | T::Char => &[],
    }
}

impl Generator {
    /// A value as text; a literal of untyped text is of the type that is wanted where it stands.
    pub(super) fn untyped(&mut self, ty: T) -> String {
        match ty {
            T::Bool => (*self.choices.pick(&["true", "false"])).to_string(),
            T::Char => {
                format!("{:?}", *self.choices.pick(&['\0', 'a', 'Z', '7', ' ', '\'', 'λ', '\u{ffff}', '\u{10ffff}']))
            }
            _ if ty.is_float() && self.mode == Mode::Dyadic => format!("{}.0", self.choices.below(5) as i64 - 2),
            // Off the numbers at which functions have edges.
            _ if ty.is_float() && self.mode == Mode::Smooth => {
                format!("{:?}", self.choices.below(4001) as f64 / 1000.0 - 1.99973)
            }
            _ if ty.is_float() => match self.choices.below(12) {
                0 => (*self.choices.pick(&["0.0", "-0.0", "1.0", "-1.0"])).to_string(),
                1 => (*self.choices.pick(&["inf", "-inf", "nan"])).to_string(),
                2 if !special_floats(ty).is_empty() => (*self.choices.pick(special_floats(ty))).to_string(),
                _ => format!("{:?}", self.choices.below(257) as f64 / 8.0 - 16.0),
            },
            _ => {
                let bits = ty.bits();
                let (min, max) = match ty.is_signed() {
                    true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    false => (0, (1i128 << bits) - 1),
                };
                let n = match self.choices.below(10) {
                    0 => *self.choices.pick(&[min, max, min + 1, max - 1, 0]),
                    1 => min + (i128::from(self.choices.bits()) & (max - min)),
                    2 => i128::from(bits) + self.choices.below(3) as i128 - 1,
                    _ => self.choices.below(16) as i128 - if min == 0 { 0 } else { 6 },
                };
                n.clamp(min, max).to_string()
            }
        }
    }

    /// A literal that says its type.
    pub(super) fn literal(&mut self, ty: T) -> String {
        let text = self.untyped(ty);
        match ty {
            T::Bool | T::Char => text,
            _ if text.ends_with(|c: char| c.is_ascii_digit()) => format!("{text}{ty}"),
            _ => format!("{ty}({text})"),
        }
    }
}
