//! The best element of each segment of lanes, by the order of one of their leaves.
//!
//! Values become *keys*, signed numbers of which a greater one is better, so that all orders share one loop. As a reduction
//! does, a segment has partial results, each with its position: the best of elements `k`, `k + PARTIAL_RESULTS` and so on.
//! Which of equal elements is the first or the last one follows from positions, whatever the order of comparisons. Where there
//! is a NaN, elements are compared one after the other.

use crate::all_types;
use crate::multiversion;
use acc_core::data::{ColumnSlice, Prim, ScalarType};
use half::f16;

/// Partial results of a segment.
const PARTIAL_RESULTS: usize = 16;
/// Lanes behind the last segment that may be read.
const READ_BEYOND: usize = PARTIAL_RESULTS;
/// Segments whose partial results are combined together, as vectors over segments.
const SEGMENTS_PER_BATCH: usize = 64;
/// In place of a position: the initial value is the best.
pub const INITIAL: u32 = u32::MAX;

/// Which of two values is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The greater one, or else the lesser one.
    pub greatest: bool,
    /// Of equal ones the last, or else the first.
    pub last: bool,
    /// Whether a later NaN takes the place of a number.
    pub nan_takes: bool,
    /// Whether a NaN keeps its place.
    pub nan_stays: bool,
}

impl Order {
    /// Whether an element takes the place of an earlier one, by the keys of values of a type.
    pub fn takes(self, ty: ScalarType, earlier: i64, later: i64) -> bool {
        let nan = nan(ty);
        if nan == Some(earlier) {
            !self.nan_stays
        } else if nan == Some(later) {
            self.nan_takes
        } else if self.last {
            later >= earlier
        } else {
            later > earlier
        }
    }
}

/// The key of a NaN, less than those of all numbers.
fn nan(ty: ScalarType) -> Option<i64> {
    match ty {
        ScalarType::F16 | ScalarType::F32 => Some(i32::MIN.into()),
        ScalarType::F64 => Some(i64::MIN),
        _ => None,
    }
}

/// Keys of values.
pub struct Keys {
    ty: ScalarType,
    order: Order,
    keys: Numbers,
    has_nan: bool,
}

/// Numbers of 32 bits, for values of at most as many, or 64 bits.
enum Numbers {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl Keys {
    /// Memory for the keys of `n` values of a type.
    pub fn new(ty: ScalarType, order: Order, n: usize) -> Keys {
        let keys = match ty.size() {
            8 => Numbers::Wide(vec![0; n + READ_BEYOND]),
            _ => Numbers::Narrow(vec![0; n + READ_BEYOND]),
        };
        Keys { ty, order, keys, has_nan: false }
    }

    /// Computes the keys of the first values.
    pub fn fill(&mut self, x: ColumnSlice<'_>) {
        let greatest = self.order.greatest;
        let least = match &mut self.keys {
            Numbers::Narrow(keys) => fill_narrow(keys, x, greatest).into(),
            Numbers::Wide(keys) => fill_wide(keys, x, greatest),
        };
        self.has_nan = nan(self.ty) == Some(least);
    }

    /// A key.
    fn get(&self, at: usize) -> i64 {
        match &self.keys {
            Numbers::Narrow(keys) => keys.get(at).map_or(0, |k| i64::from(*k)),
            Numbers::Wide(keys) => keys.get(at).copied().unwrap_or(0),
        }
    }

    /// The position of the best element of each segment, or [`INITIAL`], after an initial value with this key if there is one.
    /// Segment `k` begins at `offsets[k] - origin` and ends where the next one begins. Of a segment without elements and initial
    /// value some position.
    pub fn best(&self, offsets: &[i64], origin: i64, initial: Option<i64>, at: &mut Vec<u32>) {
        at.clear();
        at.resize(offsets.len().saturating_sub(1), 0);
        if self.has_nan {
            return self.best_in_order(offsets, origin, initial, at);
        }
        let last = self.order.last;
        match &self.keys {
            Numbers::Narrow(keys) => best_narrow(keys, offsets, origin, last, at),
            Numbers::Wide(keys) => best_wide(keys, offsets, origin, last, at),
        }
        let Some(initial) = initial else { return };
        for (at, ends) in at.iter_mut().zip(offsets.windows(2)) {
            if ends[0] == ends[1] || !self.order.takes(self.ty, initial, self.get(*at as usize)) {
                *at = INITIAL;
            }
        }
    }

    fn best_in_order(&self, offsets: &[i64], origin: i64, initial: Option<i64>, at: &mut [u32]) {
        for (at, ends) in at.iter_mut().zip(offsets.windows(2)) {
            let mut elements = (ends[0] - origin) as u32..(ends[1] - origin) as u32;
            let first = match initial {
                Some(initial) => Some((initial, INITIAL)),
                None => elements.next().map(|k| (self.get(k as usize), k)),
            };
            let Some((mut best, mut place)) = first else { continue };
            for k in elements {
                let key = self.get(k as usize);
                if self.order.takes(self.ty, best, key) {
                    (best, place) = (key, k);
                }
            }
            *at = place;
        }
    }
}

/// The key of a value, given by its bits.
pub fn key(ty: ScalarType, bits: u64, order: Order) -> i64 {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match ty { $(ScalarType::$V => <$t>::from_bits64(bits).key(order.greatest).into(),)* } };
    }
    all_types!(typed)
}

/// A value with a key.
trait Keyed: Copy {
    type Key: Number + Into<i64>;
    fn key(self, greatest: bool) -> Self::Key;
}

macro_rules! integers {
    ($($t:ty: $key:ty, $to:expr;)*) => { $(
        impl Keyed for $t {
            type Key = $key;
            #[inline(always)]
            fn key(self, greatest: bool) -> $key {
                let key: $key = $to(self);
                if greatest { key } else { !key }
            }
        }
    )* };
}
integers! {
    i8: i32, i32::from; i16: i32, i32::from; i32: i32, i32::from; i64: i64, i64::from;
    u8: i32, i32::from; u16: i32, i32::from; bool: i32, i32::from;
    u32: i32, |x: u32| (x ^ 1 << 31).cast_signed();
    u64: i64, |x: u64| (x ^ 1 << 63).cast_signed();
    char: i32, |x: char| u32::from(x).cast_signed();
}

macro_rules! floats {
    ($($t:ty: $key:ty;)*) => { $(
        impl Keyed for $t {
            type Key = $key;
            #[inline(always)]
            fn key(self, greatest: bool) -> $key {
                // Zeros of either sign are equal: the sum is never -0. The bits of negative numbers descend but for the sign.
                let bits = (self + 0.0).to_bits().cast_signed();
                let ascending = bits ^ ((bits >> (<$key>::BITS - 1)) & <$key>::MAX);
                let key = if greatest { ascending } else { !ascending };
                if self.is_nan() { <$key>::MIN } else { key }
            }
        }
    )* };
}
floats! { f32: i32; f64: i64; }

impl Keyed for f16 {
    type Key = i32;
    #[inline(always)]
    fn key(self, greatest: bool) -> i32 {
        self.to_f32().key(greatest)
    }
}

macro_rules! fill {
    ($(($V:ident, $t:ty)),*; $key:ty, $name:ident, $each:ident) => {
        #[inline(always)]
        fn $each(keys: &mut [$key], x: ColumnSlice<'_>, greatest: bool) -> $key {
            match x {
                $(ColumnSlice::$V(x) => fill_typed::<$t>(keys, x, greatest),)*
                _ => <$key>::MAX,
            }
        }
        multiversion!(
            /// The keys of values; returns the least one.
            $name, $each, (keys: &mut [$key], x: ColumnSlice<'_>, greatest: bool) -> $key
        );
    };
}
fill! { (I8, i8), (I16, i16), (I32, i32), (U8, u8), (U16, u16), (U32, u32), (F16, f16), (F32, f32), (Bool, bool), (Char, char);
i32, fill_narrow, fill_narrow_impl }
fill! { (I64, i64), (U64, u64), (F64, f64); i64, fill_wide, fill_wide_impl }

#[inline(always)]
fn fill_typed<T: Keyed>(keys: &mut [T::Key], x: &[T], greatest: bool) -> T::Key {
    // With a known order there is no condition in the loop.
    if greatest { fill_by(keys, x, |x| x.key(true)) } else { fill_by(keys, x, |x| x.key(false)) }
}

#[inline(always)]
fn fill_by<T: Keyed>(keys: &mut [T::Key], x: &[T], of: impl Fn(T) -> T::Key) -> T::Key {
    let mut least = T::Key::GREATEST_NUMBER;
    for (key, &x) in keys.iter_mut().zip(x) {
        *key = of(x);
        least = least.min(*key);
    }
    least
}

macro_rules! best {
    ($t:ty, $name:ident, $each:ident) => {
        #[inline(always)]
        fn $each(keys: &[$t], offsets: &[i64], origin: i64, last: bool, at: &mut [u32]) {
            if last {
                best_typed(keys, offsets, origin, at, |a, b| b >= a, |a, b| b > a);
            } else {
                best_typed(keys, offsets, origin, at, |a, b| b > a, |a, b| b < a);
            }
        }
        multiversion!(
            /// The positions of the best elements of segments.
            $name, $each, (keys: &[$t], offsets: &[i64], origin: i64, last: bool, at: &mut [u32]) -> ()
        );
    };
}
best!(i32, best_narrow, best_narrow_impl);
best!(i64, best_wide, best_wide_impl);

/// A signed number that keys and positions are.
trait Number: Copy + Ord {
    const LEAST_NUMBER: Self;
    const GREATEST_NUMBER: Self;
    fn of(n: usize) -> Self;
    fn position(self) -> u32;
    fn plus(self, n: usize) -> Self;
}

macro_rules! number {
    ($($t:ty),*) => { $(
        impl Number for $t {
            const LEAST_NUMBER: $t = <$t>::MIN;
            const GREATEST_NUMBER: $t = <$t>::MAX;
            #[inline(always)]
            fn of(n: usize) -> $t {
                n as $t
            }
            #[inline(always)]
            fn position(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn plus(self, n: usize) -> $t {
                self.wrapping_add(n as $t)
            }
        }
    )* };
}
number!(i32, i64);

/// Keys with their positions.
#[derive(Clone, Copy)]
struct Partial<T, const N: usize> {
    key: [T; N],
    at: [T; N],
}

impl<T: Number, const N: usize> Partial<T, N> {
    fn none() -> Self {
        Partial { key: [T::LEAST_NUMBER; N], at: [T::of(0); N] }
    }

    /// Of each pair `k`, `k + M` the better one: that with the greater key, or, where these are equal, what the position says.
    #[inline(always)]
    fn halved<const M: usize>(&self, wins: impl Fn(T, T) -> bool) -> Partial<T, M> {
        let mut half = Partial::none();
        for k in 0..M {
            let ([a, b], [i, j]) = ([self.key[k], self.key[k + M]], [self.at[k], self.at[k + M]]);
            let second = (b > a) | ((b == a) & wins(i, j));
            half.key[k] = if second { b } else { a };
            half.at[k] = if second { j } else { i };
        }
        half
    }
}

/// The best of segments: `takes` says of two keys whether the later one takes the place of the earlier one, `wins` of the positions
/// of equal keys whether the second one does.
#[inline(always)]
fn best_typed<T: Number>(
    keys: &[T],
    offsets: &[i64],
    origin: i64,
    at: &mut [u32],
    takes: impl Fn(T, T) -> bool + Copy,
    wins: impl Fn(T, T) -> bool + Copy,
) {
    let mut partial = [Partial::<T, 4>::none(); SEGMENTS_PER_BATCH];
    for (at, first) in at.chunks_mut(SEGMENTS_PER_BATCH).zip((0..).step_by(SEGMENTS_PER_BATCH)) {
        let ends = offsets.iter().skip(first).zip(offsets.iter().skip(first + 1));
        for (p, (from, to)) in partial.iter_mut().zip(ends).take(at.len()) {
            let (start, n) = ((from - origin) as usize, (to - from) as usize);
            *p = segment(keys, start, n, takes).halved::<8>(wins).halved::<4>(wins);
        }
        for (at, p) in at.iter_mut().zip(&partial) {
            *at = p.halved::<2>(wins).halved::<1>(wins).at[0].position();
        }
    }
}

/// The partial results of a segment.
#[inline(always)]
fn segment<T: Number>(keys: &[T], start: usize, n: usize, takes: impl Fn(T, T) -> bool) -> Partial<T, PARTIAL_RESULTS> {
    // A partial result without elements is the segment's first element, as bad as can be: no better than it is.
    let mut best = Partial { key: [T::LEAST_NUMBER; PARTIAL_RESULTS], at: [T::of(start); PARTIAL_RESULTS] };
    let mut number = [T::of(0); PARTIAL_RESULTS];
    for (k, number) in number.iter_mut().enumerate() {
        *number = T::of(start + k);
    }
    let end = T::of(start + n);
    let some = keys.get(start..).unwrap_or(&[]).as_chunks::<PARTIAL_RESULTS>().0;
    for x in some.iter().take(n.div_ceil(PARTIAL_RESULTS)) {
        for k in 0..PARTIAL_RESULTS {
            let next = takes(best.key[k], x[k]) & (number[k] < end);
            best.key[k] = if next { x[k] } else { best.key[k] };
            best.at[k] = if next { number[k] } else { best.at[k] };
            number[k] = number[k].plus(PARTIAL_RESULTS);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> impl Iterator<Item = Order> {
        let bit = |k: usize, b: usize| k >> b & 1 > 0;
        (0..16).map(move |k| Order { greatest: bit(k, 0), last: bit(k, 1), nan_takes: bit(k, 2), nan_stays: bit(k, 3) })
    }

    #[test]
    fn keys_have_the_order_of_values() {
        let ascending = |ty, bits: &[u64]| {
            for order in orders() {
                let mut k: Vec<i64> = bits.iter().map(|b| key(ty, *b, order)).collect();
                if !order.greatest {
                    k.reverse();
                }
                assert!(k.windows(2).all(|w| w[0] < w[1]), "{ty:?} {order:?}");
                assert!(nan(ty).is_none_or(|nan| nan < k[0]), "{ty:?} {order:?}");
            }
        };
        let f = [f32::NEG_INFINITY, -1.5, -1e-45, 0.0, 1e-45, 1.5, f32::INFINITY];
        ascending(ScalarType::F32, &f.map(Prim::to_bits64));
        ascending(ScalarType::F64, &f.map(|x| f64::from(x).to_bits64()));
        ascending(ScalarType::F16, &[-2.0, -1.0, 0.0, 1.0].map(|x| f16::from_f32(x).to_bits64()));
        ascending(ScalarType::I64, &[i64::MIN, -1, 0, i64::MAX].map(Prim::to_bits64));
        ascending(ScalarType::U64, &[0, 1, u64::MAX].map(Prim::to_bits64));
        ascending(ScalarType::U32, &[0, 1, u32::MAX].map(Prim::to_bits64));
        ascending(ScalarType::I8, &[i8::MIN, -1, 0, i8::MAX].map(Prim::to_bits64));
        ascending(ScalarType::Bool, &[false, true].map(Prim::to_bits64));
        for order in orders() {
            let [zero, negative, of_nan] = [0.0, -0.0, f32::NAN].map(|x| key(ScalarType::F32, x.to_bits64(), order));
            assert_eq!(zero, negative);
            assert_eq!(nan(ScalarType::F32), Some(of_nan));
        }
    }

    /// The positions are those of one comparison after the other.
    fn as_in_order<T: Prim + Keyed>(ty: ScalarType, values: &[T], slice: impl Fn(&[T]) -> ColumnSlice<'_>) {
        let mut offsets = vec![7i64];
        for length in [1, 2, 0, 15, 16, 17, 31, 32, 33, 0, 48, 100, 1, 3] {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let origin = 5;
        for order in orders() {
            let mut keys = Keys::new(ty, order, values.len());
            keys.fill(slice(values));
            let of = |k: u32| key(ty, values[k as usize].to_bits64(), order);
            for initial in [None, Some(of(9))] {
                let (mut at, mut want) = (Vec::new(), vec![0; offsets.len() - 1]);
                keys.best(&offsets, origin, initial, &mut at);
                keys.best_in_order(&offsets, origin, initial, &mut want);
                for ((at, want), ends) in at.iter().zip(&want).zip(offsets.windows(2)) {
                    let some = ends[0] < ends[1] || initial.is_some();
                    assert!(!some || at == want, "{ty:?} {order:?} {ends:?} {initial:?}: {at}, not {want}");
                }
            }
        }
    }

    #[test]
    fn the_best_of_segments_are_those_of_a_loop() {
        let numbers: Vec<i64> = (0..400).map(|k| k * 7919 % 101 % 9 - 4).collect();
        as_in_order(ScalarType::I64, &numbers, |x| ColumnSlice::I64(x));
        let floats: Vec<f32> = numbers.iter().map(|k| *k as f32 / 2.0).collect();
        as_in_order(ScalarType::F32, &floats, |x| ColumnSlice::F32(x));
        let with_nan: Vec<f32> = floats.iter().map(|x| if *x == 1.5 { f32::NAN } else { *x }).collect();
        as_in_order(ScalarType::F32, &with_nan, |x| ColumnSlice::F32(x));
        let least: Vec<i32> = numbers.iter().map(|k| if *k > 0 { i32::MAX } else { i32::MIN }).collect();
        as_in_order(ScalarType::I32, &least, |x| ColumnSlice::I32(x));
        as_in_order(ScalarType::U8, &[0u8; 400], |x| ColumnSlice::U8(x));
    }
}
