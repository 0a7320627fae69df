//! Scans by built-in operators over lanes.

use super::int::Int;
use super::lanes;
use super::prims::{maximum, minimum};
use super::reduce::{by_type, with_bool, with_char, with_float, with_int};
use crate::memory::OutSlice;
use crate::multiversion;
use crate::no_reductions;
use acc_core::data::{ColumnSlice, Prim};
use acc_core::ir::{Dir, PrimOp};
use half::f16;

/// Elements that are scanned on their own, by three doubling steps, before the prefix is combined with them. The tree
/// of a scan depends on it, so it is fixed.
pub const SCAN_GROUP: usize = 8;

// Directions are handled by the caller: code for one of them is half as much.

/// Scans the values in place after `start`; returns the last one. Each group is scanned by doubling distances, so that
/// only one operation per group depends on the group before.
#[inline(always)]
fn scan_typed<T: Copy>(values: &mut [T], start: Option<T>, f: impl Fn(T, T) -> T) -> Option<T> {
    let (groups, rest) = values.as_chunks_mut::<SCAN_GROUP>();
    let mut groups = groups.iter_mut();
    let mut carry = start;
    if carry.is_none()
        && let Some(group) = groups.next()
    {
        *group = doubled(*group, &f);
        carry = group.last().copied();
    }
    if let Some(mut c) = carry {
        for group in groups {
            c = scan_group(group, c, &f);
        }
        carry = Some(c);
    }
    let Some(mut y) = filled_up(rest) else { return carry };
    y = doubled(y, &f);
    if let Some(c) = carry {
        y = y.map(|y| f(c, y));
    }
    rest.copy_from_slice(&y[..rest.len()]);
    rest.last().copied()
}

/// The same, restarting at each flag.
#[inline(always)]
fn scan_segmented_typed<T: Copy>(
    flags: &[bool],
    values: &mut [T],
    start: Option<T>,
    f: impl Fn(T, T) -> T,
) -> Option<T> {
    let mut carry = start;
    let (groups, rest) = values.as_chunks_mut::<SCAN_GROUP>();
    let (flags, rest_marks) = flags.as_chunks::<SCAN_GROUP>();
    for (group, m) in groups.iter_mut().zip(flags) {
        carry = Some(match carry {
            // Most groups have no flag.
            Some(c) if *m == [false; SCAN_GROUP] => scan_group(group, c, &f),
            _ => scan_marked_group(group, *m, carry, &f),
        });
    }
    let (Some(mut y), Some(m)) = (filled_up(rest), filled_up(rest_marks)) else { return carry };
    scan_marked_group(&mut y, m, carry, &f);
    rest.copy_from_slice(&y[..rest.len()]);
    rest.last().copied()
}

/// Scans a group after its prefix; returns the last value.
#[inline(always)]
fn scan_group<T: Copy>(group: &mut [T; SCAN_GROUP], before: T, f: &impl Fn(T, T) -> T) -> T {
    let y = doubled(*group, f);
    // The last operation is repeated as a scalar, so that the next group need not wait for a lane of a vector.
    // Compilers would merge both if they saw that the operands are equal.
    let last = std::hint::black_box(y[SCAN_GROUP - 1]);
    *group = y.map(|y| f(before, y));
    f(before, last)
}

/// Scans a group that may have flags; returns the last value.
#[inline(always)]
fn scan_marked_group<T: Copy>(
    group: &mut [T; SCAN_GROUP],
    flags: [bool; SCAN_GROUP],
    before: Option<T>,
    f: &impl Fn(T, T) -> T,
) -> T {
    let (mut y, m) = double_segmented(*group, flags, f);
    if let Some(c) = before {
        y.iter_mut().zip(&m).for_each(|(y, m)| *y = if *m { *y } else { f(c, *y) });
    }
    *group = y;
    y[SCAN_GROUP - 1]
}

/// A group with some values, padded; none without values.
fn filled_up<T: Copy>(some: &[T]) -> Option<[T; SCAN_GROUP]> {
    let mut group = [*some.last()?; SCAN_GROUP];
    group[..some.len()].copy_from_slice(some);
    Some(group)
}

/// Scans a group without a prefix.
#[inline(always)]
fn doubled<T: Copy>(y: [T; SCAN_GROUP], f: &impl Fn(T, T) -> T) -> [T; SCAN_GROUP] {
    const { assert!(SCAN_GROUP == 8) }
    step::<4, T>(step::<2, T>(step::<1, T>(y, f), f), f)
}

/// The same, restarting at each flag; also which values follow a flag.
#[inline(always)]
fn double_segmented<T: Copy>(
    y: [T; SCAN_GROUP],
    m: [bool; SCAN_GROUP],
    f: &impl Fn(T, T) -> T,
) -> ([T; SCAN_GROUP], [bool; SCAN_GROUP]) {
    let (y, m) = segmented_step::<1, T>(y, m, f);
    let (y, m) = segmented_step::<2, T>(y, m, f);
    segmented_step::<4, T>(y, m, f)
}

#[inline(always)]
fn segmented_step<const BY: usize, T: Copy>(
    y: [T; SCAN_GROUP],
    m: [bool; SCAN_GROUP],
    f: &impl Fn(T, T) -> T,
) -> ([T; SCAN_GROUP], [bool; SCAN_GROUP]) {
    let (mut out, mut marked) = (y, m);
    for k in BY..SCAN_GROUP {
        out[k] = if m[k] { y[k] } else { f(y[k - BY], y[k]) };
        marked[k] = m[k] | m[k - BY];
    }
    (out, marked)
}

/// Combines each value with the one `BY` places before it.
#[inline(always)]
fn step<const BY: usize, T: Copy>(y: [T; SCAN_GROUP], f: &impl Fn(T, T) -> T) -> [T; SCAN_GROUP] {
    let mut out = y;
    for k in BY..SCAN_GROUP {
        out[k] = f(y[k - BY], y[k]);
    }
    out
}

/// A scan by an operation that keeps the first decisive value: true for `or`, false for `and`.
fn scan_until(decides: bool, values: &mut [bool], start: Option<bool>) -> Option<bool> {
    let before = if start == Some(decides) { Some(0) } else { values.iter().position(|&x| x == decides) };
    let (undecided, decided) = values.split_at_mut(before.unwrap_or(values.len()));
    undecided.fill(!decides);
    decided.fill(decides);
    values.last().copied().or(start)
}

#[inline(always)]
fn scan_impl(op: PrimOp, flags: Option<&[bool]>, mut values: OutSlice<'_>, start: Option<u64>) -> Option<u64> {
    if let (OutSlice::Bool(values), PrimOp::OrP | PrimOp::MaxP | PrimOp::AndP | PrimOp::MinP, None) =
        (&mut values, op, flags)
    {
        let decides = matches!(op, PrimOp::OrP | PrimOp::MaxP);
        return scan_until(decides, values, start.map(bool::from_bits64)).map(u64::from);
    }
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match values {
                $(OutSlice::$V(values) => {
                    let start = start.map(<$t>::from_bits64);
                    macro_rules! go {
                        ($f:expr) => {
                            match flags {
                                None => scan_typed::<$t>(values, start, $f),
                                Some(flags) => scan_segmented_typed::<$t>(flags, values, start, $f),
                            }
                            .map(|y| y.to_bits64())
                        };
                    }
                    $with!(op, $t, go)
                })*
            }
        };
    }
    by_type!(arms)
}

multiversion!(
    /// Scans values in place after `start`, restarting at flags, if given; returns the last value.
    scan_in_place, scan_impl, (op: PrimOp, flags: Option<&[bool]>, values: OutSlice<'_>, start: Option<u64>) -> Option<u64>
);

/// Scans `x` into `out` from one end after `start`, restarting at flags, if given; returns the last value.
pub fn scan(
    op: PrimOp,
    flags: Option<&[bool]>,
    x: ColumnSlice<'_>,
    out: OutSlice<'_>,
    start: Option<u64>,
    dir: Dir,
) -> Option<u64> {
    let mut values = out.split_at(x.len()).0;
    lanes::copy(x, values.reborrow());
    if dir == Dir::Left {
        return scan_in_place(op, flags, values, start);
    }
    lanes::reverse(values.reborrow());
    let flags: Option<Vec<bool>> = flags.map(|flags| flags.iter().rev().copied().collect());
    let last = scan_in_place(op, flags.as_deref(), values.reborrow(), start);
    lanes::reverse(values);
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_are_scanned_as_all_others_are() {
        for n in [0usize, 1, 5, 8, 9, 31, 70] {
            for first in [0, 1, 7, 8, n / 2, n.saturating_sub(1), n] {
                for (op, f) in [
                    (PrimOp::OrP, (|x, y| x | y) as fn(bool, bool) -> bool),
                    (PrimOp::AndP, |x, y| x & y),
                    (PrimOp::MaxP, |x, y| x | y),
                    (PrimOp::MinP, |x, y| x & y),
                    (PrimOp::XorP, |x, y| x ^ y),
                ] {
                    for (flip, dir, start) in [
                        (false, Dir::Left, None),
                        (true, Dir::Left, Some(0)),
                        (true, Dir::Right, Some(1)),
                        (false, Dir::Right, Some(0)),
                        (true, Dir::Right, None),
                    ] {
                        let x: Vec<bool> = (0..n).map(|k| (k >= first && (k - first) % 11 == 0) ^ flip).collect();
                        let (mut out, mut want) = (vec![false; n], vec![false; n]);
                        let last = scan(op, None, ColumnSlice::Bool(&x), OutSlice::Bool(&mut out), start, dir);
                        want.copy_from_slice(&x);
                        if dir == Dir::Right {
                            want.reverse();
                        }
                        let wanted = scan_typed(&mut want, start.map(|s| s != 0), f);
                        if dir == Dir::Right {
                            want.reverse();
                        }
                        assert_eq!((last, out), (wanted.map(u64::from), want), "{op:?} {dir:?} {start:?} {x:?}");
                    }
                }
            }
        }
    }

    /// A scan from the left by its definition: groups by doubling distances, each after its prefix.
    fn described(flags: &[bool], x: &[f32], start: Option<f32>) -> Vec<f32> {
        let mut carry = start;
        let mut out = Vec::new();
        for (x, flags) in x.chunks(SCAN_GROUP).zip(flags.chunks(SCAN_GROUP)) {
            let (mut y, mut m) = (x.to_vec(), flags.to_vec());
            for by in [1, 2, 4] {
                for k in (by..y.len()).rev() {
                    y[k] = if m[k] { y[k] } else { y[k - by] + y[k] };
                    m[k] |= m[k - by];
                }
            }
            if let Some(c) = carry {
                y.iter_mut().zip(&m).filter(|(_, m)| !**m).for_each(|(y, _)| *y += c);
            }
            carry = y.last().copied();
            out.extend(y);
        }
        out
    }

    #[test]
    fn groups_are_scanned_by_doubling_whole_or_not_and_from_both_ends() {
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for n in [1usize, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65] {
            for every in [1, 3, 8, 20, 100] {
                let x: Vec<f32> = (0..n).map(|k| ((k * 7919 % 1009) as f32 - 500.0) / 7.0).collect();
                let flags: Vec<bool> = (0..n).map(|k| k % every == every / 2).collect();
                for start in [None, Some(0.3f32)] {
                    for (dir, segmented) in
                        [(Dir::Left, false), (Dir::Left, true), (Dir::Right, false), (Dir::Right, true)]
                    {
                        let (mut x, mut m, mut out) = (x.clone(), flags.clone(), vec![0f32; n]);
                        if !segmented {
                            m.fill(false);
                        }
                        let want = described(&m, &x, start);
                        if dir == Dir::Right {
                            x.reverse();
                            m.reverse();
                        }
                        let (from, to) = (ColumnSlice::F32(&x), OutSlice::F32(&mut out));
                        let before = start.map(Prim::to_bits64);
                        let last = scan(PrimOp::AddP, segmented.then_some(&m[..]), from, to, before, dir);
                        if dir == Dir::Right {
                            out.reverse();
                        }
                        assert_eq!(bits(&out), bits(&want), "{n} {every} {start:?} {dir:?} {segmented}");
                        assert_eq!(last, want.last().map(|x| x.to_bits64()));
                    }
                }
            }
        }
    }
}
