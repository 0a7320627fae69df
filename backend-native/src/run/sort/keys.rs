//! Keys of what is sorted: unsigned numbers whose order is that of values.

use super::places::Plain;
use crate::buffer::PoolElt;
use crate::types::all_types;
use acc_core::data::ColumnSlice;
use half::f16;

/// A scalar with a key that sorts as it does: see [`Lit::sort_key`](acc_core::data::Lit::sort_key).
pub(super) trait Key: Plain + PoolElt {
    /// Bits of a key.
    const KEY_BITS: u32;
    fn sort_key(self) -> u64;
}

macro_rules! integers {
    ($($t:ty: $bits:ty, $sign:expr;)*) => { $(impl Key for $t {
        const KEY_BITS: u32 = <$bits>::BITS;
        fn sort_key(self) -> u64 {
            (self as $bits ^ $sign) as u64
        }
    })* };
}
integers! {
    u8: u8, 0; u16: u16, 0; u32: u32, 0; u64: u64, 0; bool: u8, 0; char: u32, 0;
    i8: u8, 1 << 7; i16: u16, 1 << 15; i32: u32, 1 << 31; i64: u64, 1 << 63;
}

macro_rules! floats {
    ($($t:ty: $bits:ty;)*) => { $(impl Key for $t {
        const KEY_BITS: u32 = <$bits>::BITS;
        fn sort_key(self) -> u64 {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            // Of zeros the sum is the positive one.
            let bits = (self + <$t>::from(0i8)).to_bits();
            let key = match bits & SIGN {
                _ if self.is_nan() => <$bits>::MAX,
                0 => bits | SIGN,
                _ => !bits,
            };
            key as u64
        }
    })* };
}
floats! { f16: u16; f32: u32; f64: u64; }

/// Leaves whose keys are one, so few as the bits of a key allow.
pub(super) fn keys<'a, 'b>(columns: &'a [ColumnSlice<'b>]) -> Vec<&'a [ColumnSlice<'b>]> {
    let mut keys = Vec::new();
    let (mut start, mut width) = (0, 0);
    for (k, column) in columns.iter().enumerate() {
        if width + bits(*column) > u64::BITS {
            keys.push(&columns[start..k]);
            (start, width) = (k, 0);
        }
        width += bits(*column);
    }
    keys.extend(columns.get(start..).filter(|rest| !rest.is_empty()));
    keys
}

/// Bits of the keys of a leaf.
pub(super) fn bits(column: ColumnSlice<'_>) -> u32 {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match column { $(ColumnSlice::$V(_) => <$t>::KEY_BITS,)* } };
    }
    all_types!(typed)
}

/// Appends keys to others, as less significant bits.
pub(super) fn append<T: Key>(keys: &mut [u64], values: &[T]) {
    for (key, value) in keys.iter_mut().zip(values) {
        *key = key.unbounded_shl(T::KEY_BITS) | value.sort_key();
    }
}

/// A key, and the position of what it is of.
pub(super) trait Pair: Plain {
    fn of(key: u64, at: u64) -> Self;
    fn key(self) -> u64;
    fn at(self) -> u64;
}

/// Of 32 bits each.
impl Pair for u64 {
    fn of(key: u64, at: u64) -> u64 {
        key << 32 | at
    }
    fn key(self) -> u64 {
        self >> 32
    }
    fn at(self) -> u64 {
        self & u64::from(u32::MAX)
    }
}

impl Pair for [u64; 2] {
    fn of(key: u64, at: u64) -> [u64; 2] {
        [key, at]
    }
    fn key(self) -> u64 {
        self[0]
    }
    fn at(self) -> u64 {
        self[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::Prim;

    /// Keys order values as the language does.
    fn same_order<T: Key + Prim + std::fmt::Debug>(values: &[T]) {
        for a in values {
            for b in values {
                assert_eq!(a.sort_key().cmp(&b.sort_key()), a.lit().sort_key().cmp(&b.lit().sort_key()), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn keys_sort_as_values_do() {
        let f = [0.0, -0.0, 1.0, -1.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, 1e-45];
        same_order(&f);
        same_order(&f.map(f64::from));
        same_order(&f.map(f16::from_f32));
        same_order(&[i8::MIN, -1, 0, 1, i8::MAX]);
        same_order(&[i16::MIN, -1, 0, 1, i16::MAX]);
        same_order(&[i32::MIN, -1, 0, 1, i32::MAX]);
        same_order(&[i64::MIN, -1, 0, 1, i64::MAX]);
        same_order(&[0, 1, u8::MAX]);
        same_order(&[0, 1, u16::MAX]);
        same_order(&[0, 1, u32::MAX]);
        same_order(&[0, 1, u64::MAX]);
        same_order(&[false, true]);
        same_order(&['\0', 'a', char::MAX]);
    }
}
