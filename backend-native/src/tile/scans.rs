//! Scans by known operators over lanes.

use super::int::Int;
use super::ops::no_reductions;
use super::prims::{maximum, minimum};
use super::reduce::{by_type, with_bool, with_char, with_float, with_int};
use super::versions::multiversion;
use crate::buffer::OutSlice;
use acc_core::data::{ColumnSlice, Prim};
use acc_core::ir::{Dir, PrimOp};
use half::f16;
use std::ops::Range;

/// Elements of a scan that are scanned on their own, in three steps, before what comes before them is put in front. The
/// tree of a scan depends on it, so it is fixed.
pub(crate) const GROUP: usize = 8;

/// Scans the values from one end to the other, `start` before them; the last one. Each group is scanned by doubling
/// steps, so that only one operation per group waits for the group before.
#[inline(always)]
fn scan_typed<T: Copy>(x: &[T], out: &mut [T], start: Option<T>, dir: Dir, f: impl Fn(T, T) -> T) -> Option<T> {
    let mut carry = start;
    for group in groups(x.len(), dir) {
        let mut y = doubled(group_of(x, &group, dir), &f);
        if let Some(c) = carry {
            y.iter_mut().for_each(|y| *y = f(c, *y));
        }
        carry = Some(last(y, group.len()));
        store(y, out, &group, dir);
    }
    carry
}

/// The same, afresh at each mark.
#[inline(always)]
fn scan_afresh_typed<T: Copy>(
    marks: &[bool],
    x: &[T],
    out: &mut [T],
    start: Option<T>,
    dir: Dir,
    f: impl Fn(T, T) -> T,
) -> Option<T> {
    let mut carry = start;
    for group in groups(x.len(), dir) {
        let (mut y, mut m) = (group_of(x, &group, dir), group_of(marks, &group, dir));
        // Most groups have no mark.
        if m == [false; GROUP] {
            y = doubled(y, &f);
            if let Some(c) = carry {
                y.iter_mut().for_each(|y| *y = f(c, *y));
            }
        } else {
            (y, m) = doubled_afresh(y, m, &f);
            if let Some(c) = carry {
                y.iter_mut().zip(&m).for_each(|(y, m)| *y = if *m { *y } else { f(c, *y) });
            }
        }
        carry = Some(last(y, group.len()));
        store(y, out, &group, dir);
    }
    carry
}

/// The groups of a scan of `n` values, from the end at which it begins.
fn groups(n: usize, dir: Dir) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(GROUP).map(move |done| {
        let len = GROUP.min(n - done);
        let from = if dir == Dir::Left { done } else { n - done - len };
        from..from + len
    })
}

// Values of a group stay in registers: only what is cold takes them at places that are not constants.

/// The values of a group, in the order of the scan.
#[inline(always)]
fn group_of<T: Copy>(x: &[T], group: &Range<usize>, dir: Dir) -> [T; GROUP] {
    let x = &x[group.clone()];
    turned(x.as_array().copied().unwrap_or_else(|| filled_up(x, dir)), dir)
}

/// The values in the order of the scan, or back.
#[inline(always)]
fn turned<T: Copy>(y: [T; GROUP], dir: Dir) -> [T; GROUP] {
    let mut back = y;
    for k in 0..GROUP {
        back[k] = y[GROUP - 1 - k];
    }
    if dir == Dir::Left { y } else { back }
}

/// A shorter group, with values beyond its end in the order of the scan.
#[cold]
#[inline(never)]
fn filled_up<T: Copy>(x: &[T], dir: Dir) -> [T; GROUP] {
    let from = if dir == Dir::Left { 0 } else { GROUP - x.len() };
    std::array::from_fn(|k| x[k.saturating_sub(from).min(x.len() - 1)])
}

/// The last of a group's first `n` values.
#[inline(always)]
fn last<T: Copy>(y: [T; GROUP], n: usize) -> T {
    #[cold]
    #[inline(never)]
    fn of_some<T: Copy>(y: [T; GROUP], n: usize) -> T {
        y[n - 1]
    }
    if n == GROUP { y[GROUP - 1] } else { of_some(y, n) }
}

/// Stores what a group came to.
#[inline(always)]
fn store<T: Copy>(y: [T; GROUP], out: &mut [T], group: &Range<usize>, dir: Dir) {
    #[cold]
    #[inline(never)]
    fn some<T: Copy>(y: [T; GROUP], out: &mut [T], dir: Dir) {
        let from = if dir == Dir::Left { 0 } else { GROUP - out.len() };
        out.copy_from_slice(&y[from..from + out.len()]);
    }
    let (y, out) = (turned(y, dir), &mut out[group.clone()]);
    match out.as_mut_array() {
        Some(out) => *out = y,
        None => some(y, out, dir),
    }
}

/// A group, scanned.
#[inline(always)]
fn doubled<T: Copy>(y: [T; GROUP], f: &impl Fn(T, T) -> T) -> [T; GROUP] {
    const { assert!(GROUP == 8) }
    step::<4, T>(step::<2, T>(step::<1, T>(y, f), f), f)
}

/// The same, afresh at each mark; and which values come after one.
#[inline(always)]
fn doubled_afresh<T: Copy>(y: [T; GROUP], m: [bool; GROUP], f: &impl Fn(T, T) -> T) -> ([T; GROUP], [bool; GROUP]) {
    let (y, m) = step_afresh::<1, T>(y, m, f);
    let (y, m) = step_afresh::<2, T>(y, m, f);
    step_afresh::<4, T>(y, m, f)
}

#[inline(always)]
fn step_afresh<const BY: usize, T: Copy>(
    y: [T; GROUP],
    m: [bool; GROUP],
    f: &impl Fn(T, T) -> T,
) -> ([T; GROUP], [bool; GROUP]) {
    let (mut out, mut marked) = (y, m);
    for k in BY..GROUP {
        out[k] = if m[k] { y[k] } else { f(y[k - BY], y[k]) };
        marked[k] = m[k] | m[k - BY];
    }
    (out, marked)
}

/// Each value combined with the one so many places before it.
#[inline(always)]
fn step<const BY: usize, T: Copy>(y: [T; GROUP], f: &impl Fn(T, T) -> T) -> [T; GROUP] {
    let mut out = y;
    for k in BY..GROUP {
        out[k] = f(y[k - BY], y[k]);
    }
    out
}

/// A scan by an operation that keeps to the first value that decides it: true for `or`, false for `and`.
fn scan_until(decides: bool, x: &[bool], out: &mut [bool], start: Option<u64>, dir: Dir) -> Option<u64> {
    let n = x.len().min(out.len());
    let (x, out) = (&x[..n], &mut out[..n]);
    let decided = start == Some(u64::from(decides));
    let undecided = if decided {
        0
    } else {
        let before = match dir {
            Dir::Left => x.iter().position(|&x| x == decides),
            Dir::Right => x.iter().rev().position(|&x| x == decides),
        };
        before.unwrap_or(n)
    };
    let (first, second) = out.split_at_mut(if dir == Dir::Left { undecided } else { n - undecided });
    first.fill(decides == (dir == Dir::Right));
    second.fill(decides == (dir == Dir::Left));
    if n == 0 { start } else { Some(u64::from((undecided < n) == decides)) }
}

#[inline(always)]
fn scan_impl(
    op: PrimOp,
    marks: Option<&[bool]>,
    x: ColumnSlice<'_>,
    out: OutSlice<'_>,
    start: Option<u64>,
    dir: Dir,
) -> Option<u64> {
    if let (ColumnSlice::Bool(x), PrimOp::OrP | PrimOp::MaxP | PrimOp::AndP | PrimOp::MinP, None) = (x, op, marks)
        && let OutSlice::Bool(out) = out
    {
        return scan_until(matches!(op, PrimOp::OrP | PrimOp::MaxP), x, out, start, dir);
    }
    macro_rules! arms {
        ($(($V:ident, $t:ty, $with:ident)),*) => {
            match (x, out) {
                $((ColumnSlice::$V(x), OutSlice::$V(out)) => {
                    let start = start.map(<$t>::from_bits64);
                    macro_rules! go {
                        ($f:expr) => {
                            match marks {
                                None => scan_typed::<$t>(x, out, start, dir, $f),
                                Some(marks) => scan_afresh_typed::<$t>(marks, x, out, start, dir, $f),
                            }
                            .map(|y| y.to_bits64())
                        };
                    }
                    $with!(op, $t, go)
                })*
                _ => {
                    debug_assert!(false, "lanes of another type");
                    None
                }
            }
        };
    }
    by_type!(arms)
}

multiversion!(
    /// Scans `x` into `out` from one end, beginning with `start`, and afresh at each mark if there are any; the last value.
    scan, scan_impl, (op: PrimOp, marks: Option<&[bool]>, x: ColumnSlice<'_>, out: OutSlice<'_>, start: Option<u64>, dir: Dir) -> Option<u64>
);

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
                        let wanted = scan_typed(&x, &mut want, start.map(|s| s != 0), dir, f);
                        assert_eq!((last, out), (wanted.map(u64::from), want), "{op:?} {dir:?} {start:?} {x:?}");
                    }
                }
            }
        }
    }

    /// A scan from the left as it is described: groups by doubling steps, what comes before each in front.
    fn described(marks: &[bool], x: &[f32], start: Option<f32>) -> Vec<f32> {
        let mut carry = start;
        let mut out = Vec::new();
        for (x, marks) in x.chunks(GROUP).zip(marks.chunks(GROUP)) {
            let (mut y, mut m) = (x.to_vec(), marks.to_vec());
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
                let marks: Vec<bool> = (0..n).map(|k| k % every == every / 2).collect();
                for start in [None, Some(0.3f32)] {
                    for (dir, afresh) in
                        [(Dir::Left, false), (Dir::Left, true), (Dir::Right, false), (Dir::Right, true)]
                    {
                        let (mut x, mut m, mut out) = (x.clone(), marks.clone(), vec![0f32; n]);
                        if !afresh {
                            m.fill(false);
                        }
                        let want = described(&m, &x, start);
                        if dir == Dir::Right {
                            x.reverse();
                            m.reverse();
                        }
                        let (from, to) = (ColumnSlice::F32(&x), OutSlice::F32(&mut out));
                        let before = start.map(Prim::to_bits64);
                        let last = scan(PrimOp::AddP, afresh.then_some(&m[..]), from, to, before, dir);
                        if dir == Dir::Right {
                            out.reverse();
                        }
                        assert_eq!(bits(&out), bits(&want), "{n} {every} {start:?} {dir:?} {afresh}");
                        assert_eq!(last, want.last().map(|x| x.to_bits64()));
                    }
                }
            }
        }
    }
}
