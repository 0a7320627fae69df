//! Random arrays for the properties of Accelerate's own suite, and the same on the host, as rows.

use crate::choices::Choices;
use acc_core::data::{ArrayData, Lit};
use acc_core::prelude::*;
use std::ops::Range;

/// Numbers whose sums do not depend on their order: integers that wrap, and small multiples of a quarter.
pub(super) trait Sample: NumScalar + Copy + PartialOrd {
    /// A random number.
    fn sample(c: &mut Choices) -> Self;
    /// The sum, on the host.
    fn plus(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Sample for $t {
            fn sample(c: &mut Choices) -> Self {
                (c.bits() >> c.below(64)) as $t
            }
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Sample for $t {
            // Even 200 of them, in quarters, are below the 2048 that a half holds exactly.
            fn sample(c: &mut Choices) -> Self {
                quarters(c) as $t
            }
            fn plus(self, other: Self) -> Self {
                self + other
            }
        }
    )* };
}
floats!(f32, f64);

impl Sample for f16 {
    fn sample(c: &mut Choices) -> Self {
        f16::from_f32(quarters(c))
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// A multiple of a quarter from -2 to 2.
fn quarters(c: &mut Choices) -> f32 {
    (c.below(17) as f32 - 8.0) / 4.0
}

/// A number of a range.
pub(super) fn within(c: &mut Choices, range: Range<i64>) -> i64 {
    range.start + c.below((range.end - range.start) as usize) as i64
}

/// An array of these extents and elements.
pub(super) fn array<Sh: Shape, E: Elt>(dims: &[usize], elements: impl IntoIterator<Item = E>) -> Array<Sh, E> {
    let leaves = elements.into_iter().map(|x| {
        let mut out: Vec<Lit> = Vec::new();
        x.write(&mut |l| out.push(l));
        out
    });
    let data = ArrayData::from_leaves(dims.iter().copied(), E::ty(), leaves);
    match data.map(Array::from_data) {
        Ok(Ok(a)) => a,
        Ok(Err(e)) | Err(e) => unreachable!("a case gives other elements than its shape has: {e}"),
    }
}

/// Which array of a property this is, and of how many elements its rows are at least.
#[derive(Clone, Copy)]
pub(super) struct Try {
    /// The first ones, as many as there are dimensions, have no extent in one of these.
    pub nth: usize,
    /// The least innermost extent.
    pub least: usize,
}

/// Random extents of a rank up to 3: up to 200, 12 x 30, 4 x 6 x 9.
pub(super) fn extents(c: &mut Choices, rank: usize, Try { nth, least }: Try) -> Vec<usize> {
    let most: &[usize] = [&[][..], &[200], &[12, 30], &[4, 6, 9]][rank];
    let mut dims: Vec<usize> = most.iter().map(|&m| 1 + c.below(m)).collect();
    if let Some(none) = dims.get_mut(nth) {
        *none = 0;
    }
    if let Some(inner) = dims.last_mut() {
        *inner = (*inner).max(least);
    }
    dims
}

/// A random array as the device sees it, and as rows.
pub(super) struct Rows<Sh, E> {
    /// The array.
    pub array: Array<Sh, E>,
    /// The extents without the innermost one.
    pub outer: Vec<usize>,
    /// The innermost extent.
    pub n: usize,
    /// The rows.
    pub rows: Vec<Vec<E>>,
}

impl<Sh: Reducible, E: Elt> Rows<Sh, E> {
    /// Random rows.
    pub fn random(c: &mut Choices, of: Try, mut element: impl FnMut(&mut Choices) -> E) -> Self {
        let mut outer = extents(c, Sh::RANK, of);
        let dims = outer.clone();
        let n = outer.pop().unwrap_or(0);
        let rows: Vec<Vec<E>> = (0..outer.iter().product()).map(|_| (0..n).map(|_| element(c)).collect()).collect();
        Rows { array: array(&dims, rows.concat()), outer, n, rows }
    }

    /// The array of a value for each row.
    pub fn fold<F: Elt>(&self, f: impl Fn(&[E]) -> F) -> Array<Sh::Inner, F> {
        array(&self.outer, self.rows.iter().map(|r| f(r)))
    }

    /// The array of rows of another length.
    pub fn each<F: Elt>(&self, n: usize, f: impl Fn(&[E]) -> Vec<F>) -> Array<Sh, F> {
        let dims: Vec<usize> = self.outer.iter().copied().chain([n]).collect();
        array(&dims, self.rows.iter().flat_map(|r| f(r)))
    }
}

/// Random lengths of segments, of at least so many elements each, that fit into `n` elements together.
pub(super) fn lengths(c: &mut Choices, n: usize, least: usize) -> Vec<usize> {
    let (mut left, mut out) = (n, Vec::new());
    for _ in 0..c.below(20) {
        let length = least + if c.chance(20) { 0 } else { c.below(20) };
        if length > left {
            break;
        }
        left -= length;
        out.push(length);
    }
    out
}

/// The segments of a row, what is beyond them left out.
pub(super) fn segments<'a, E>(row: &'a [E], lengths: &'a [usize]) -> impl Iterator<Item = &'a [E]> {
    lengths.iter().scan(row, |rest, &n| {
        let (own, tail) = rest.split_at(n);
        *rest = tail;
        Some(own)
    })
}

/// The left scan from `init`: one more value than there are elements.
pub(super) fn left<E: Clone>(init: &E, row: &[E], f: impl Fn(&E, &E) -> E) -> Vec<E> {
    let mut out = vec![init.clone()];
    row.iter().for_each(|x| out.push(f(&out[out.len() - 1], x)));
    out
}

/// The right scan from `init`, in the order of the elements.
pub(super) fn right<E: Clone>(init: &E, row: &[E], f: impl Fn(&E, &E) -> E) -> Vec<E> {
    let mut out = vec![init.clone()];
    row.iter().rev().for_each(|x| out.push(f(x, &out[out.len() - 1])));
    out.reverse();
    out
}

/// The inclusive scan from the left.
pub(super) fn left1<E: Clone>(row: &[E], f: impl Fn(&E, &E) -> E) -> Vec<E> {
    row.split_first().map_or(Vec::new(), |(first, rest)| left(first, rest, f))
}

/// The inclusive scan from the right.
pub(super) fn right1<E: Clone>(row: &[E], f: impl Fn(&E, &E) -> E) -> Vec<E> {
    row.split_last().map_or(Vec::new(), |(last, rest)| right(last, rest, f))
}
