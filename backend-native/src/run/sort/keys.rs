//! Sort keys: unsigned numbers with the order of the values.

use crate::buffer::PoolElt;
use crate::run::sort::sorting_network::{Column, Double, Line};
use crate::run::sort::write_combining::Plain;
use acc_core::data::{ColumnSlice, Prim};
use backend_native_lanes::all_types;
use backend_native_lanes::multiversion;
use half::f16;

/// A scalar with an order-preserving key: see [`Lit::sort_key`](acc_core::data::Lit::sort_key).
pub(super) trait Key: Plain + PoolElt + Prim {
    /// Bits of a key.
    const KEY_BITS: u32;
    /// A column of such keys, one per row.
    type Column: Column;

    fn sort_key(self) -> u64;
    /// Computes the keys of values; false if different values have the same key.
    fn to_keys(values: &[Self], keys: &mut Vec<Item<Self>>) -> bool;
    /// The values of keys, if the mapping is injective.
    fn of_keys(keys: &[Item<Self>], values: &mut [Self]);
}

/// A key within a column.
pub(super) type Item<T> = <<T as Key>::Column as Column>::Item;

/// Implements `Key` for a type, given the functions from value to key and back.
macro_rules! keyed {
    ($t:ty, $bits:ty, $column:ty) => {
        impl Key for $t {
            const KEY_BITS: u32 = <$bits>::BITS;
            type Column = $column;

            fn sort_key(self) -> u64 {
                of_value(self) as u64
            }
            fn to_keys(values: &[$t], keys: &mut Vec<Item<$t>>) -> bool {
                #[inline(always)]
                fn each(values: &[$t], keys: &mut [Item<$t>]) -> bool {
                    let mut differing = 0;
                    for (key, &value) in keys.iter_mut().zip(values) {
                        let of = of_value(value);
                        *key = of.into();
                        differing |= of_key(of).to_bits64() ^ value.to_bits64();
                    }
                    differing == 0
                }
                multiversion!(all, each, (values: &[$t], keys: &mut [Item<$t>]) -> bool);
                keys.resize(values.len(), 0);
                all(values, keys)
            }
            fn of_keys(keys: &[Item<$t>], values: &mut [$t]) {
                #[inline(always)]
                fn each(keys: &[Item<$t>], values: &mut [$t]) {
                    for (&key, value) in keys.iter().zip(values) {
                        *value = of_key(key as $bits);
                    }
                }
                multiversion!(all, each, (keys: &[Item<$t>], values: &mut [$t]) -> ());
                all(keys, values);
            }
        }
    };
}

macro_rules! integers {
    ($($t:ty: $bits:ty, $sign:expr, $column:ty;)*) => { $(const _: () = {
        #[inline(always)]
        fn of_value(value: $t) -> $bits {
            value as $bits ^ $sign
        }
        #[inline(always)]
        fn of_key(key: $bits) -> $t {
            <$t>::from_bits64((key ^ $sign) as u64)
        }
        keyed!($t, $bits, $column);
    };)* };
}
integers! {
    u8: u8, 0, Line<u32, 16>; u16: u16, 0, Line<u32, 16>; u32: u32, 0, Line<u32, 16>; u64: u64, 0, Line<u64, 8>;
    i8: u8, 1 << 7, Line<u32, 16>; i16: u16, 1 << 15, Line<u32, 16>; i32: u32, 1 << 31, Line<u32, 16>; i64: u64, 1 << 63, Line<u64, 8>;
    bool: u8, 0, Line<u32, 16>; char: u32, 0, Line<u32, 16>;
}

macro_rules! floats {
    ($($t:ty: $bits:ty, $column:ty;)*) => { $(const _: () = {
        const SIGN: $bits = 1 << (<$bits>::BITS - 1);

        #[inline(always)]
        fn of_value(value: $t) -> $bits {
            // Maps negative zero to positive zero.
            let bits = (value + <$t>::from(0i8)).to_bits();
            let negative = (bits >> (<$bits>::BITS - 1)).wrapping_neg();
            if value.is_nan() { <$bits>::MAX } else { bits ^ (negative | SIGN) }
        }
        #[inline(always)]
        fn of_key(key: $bits) -> $t {
            let positive = (key >> (<$bits>::BITS - 1)).wrapping_sub(1);
            if key == <$bits>::MAX { <$t>::NAN } else { <$t>::from_bits(key ^ (positive | SIGN)) }
        }
        keyed!($t, $bits, $column);
    };)* };
}
floats! { f16: u16, Line<u32, 16>; f32: u32, Line<u32, 16>; f64: u64, Line<u64, 8>; }

/// Groups leaves such that the keys of a group fit one key.
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

/// Appends keys to other keys, as less significant bits.
pub(super) fn append<T: Key>(keys: &mut [u64], values: &[T]) {
    for (key, value) in keys.iter_mut().zip(values) {
        *key = key.unbounded_shl(T::KEY_BITS) | value.sort_key();
    }
}

/// How a key and the position of its element are one item.
pub(super) trait Pairing: Copy + Send + Sync {
    type Item: Plain;
    /// A column of such items, one per row.
    type Column: Column<Item = Self::Item>;

    fn pair(self, key: u64, position: u64) -> Self::Item;
    fn key(self, item: Self::Item) -> u64;
    fn position(self, item: Self::Item) -> u64;
}

/// In one word, the key above the position. High bits of the key that there is no room for are the same in all keys.
#[derive(Clone, Copy)]
pub(super) struct OneWord {
    pub position_bits: u32,
}

impl Pairing for OneWord {
    type Item = u64;
    type Column = Line<u64, 8>;

    fn pair(self, key: u64, position: u64) -> u64 {
        key << self.position_bits | position
    }
    fn key(self, item: u64) -> u64 {
        item >> self.position_bits
    }
    fn position(self, item: u64) -> u64 {
        item & !(u64::MAX << self.position_bits)
    }
}

/// In a word each.
#[derive(Clone, Copy)]
pub(super) struct TwoWords;

impl Pairing for TwoWords {
    type Item = [u64; 2];
    type Column = Double;

    fn pair(self, key: u64, position: u64) -> [u64; 2] {
        [key, position]
    }
    fn key(self, item: [u64; 2]) -> u64 {
        item[0]
    }
    fn position(self, item: [u64; 2]) -> u64 {
        item[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys have the order that the language defines for values.
    fn same_order<T: Key + std::fmt::Debug>(values: &[T]) {
        for a in values {
            for b in values {
                assert_eq!(a.sort_key().cmp(&b.sort_key()), a.lit().sort_key().cmp(&b.lit().sort_key()), "{a:?} {b:?}");
            }
            let (mut keys, mut own) = (Vec::new(), [*a]);
            if T::to_keys(&own, &mut keys) {
                T::of_keys(&keys, &mut own);
                assert_eq!(own[0].lit(), a.lit());
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
