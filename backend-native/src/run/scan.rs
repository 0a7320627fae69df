//! Scanning: tiles of a chunk, each with what comes before it.

use super::fold::Acc;
use super::launch::{Combiner, JobOutput};
use crate::buffer::OutSlice;
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome};
use crate::tile::reduce;
use acc_core::ir::Dir;

/// A chunk's scan in progress.
pub(super) struct Scan<'a> {
    /// What comes before the chunk, in the order of the scan.
    pub before: Option<&'a [u64]>,
    /// The chunk's own elements so far, combined; of a fold, too.
    pub carry: Option<Vec<u64>>,
}

impl Scan<'_> {
    /// Scans a tile's first `n` elements on their own, prepends what comes before the chunk, and stores the results in
    /// `to`, one slice per leaf, if they are wanted.
    pub(super) fn tile(
        &mut self,
        o: &JobOutput<'_>,
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        to: Option<&mut [OutSlice<'_>]>,
    ) -> Outcome {
        match o.known() {
            Some(ops) => self.known(o, ops, dir, acc, m, n, to),
            None => return self.general(o, dir, acc, m, n, to),
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // A tile and all that it meets.
    fn known(
        &mut self,
        o: &JobOutput<'_>,
        ops: &[acc_core::ir::PrimOp],
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        mut to: Option<&mut [OutSlice<'_>]>,
    ) {
        let mut carry = Vec::with_capacity(ops.len());
        for (k, (&op, a)) in ops.iter().zip(&mut acc.lanes).enumerate() {
            let start = self.carry.as_ref().map(|c| c[k]);
            let x = o.leaf(m, k, n);
            let Some(to) = to.as_deref_mut() else {
                carry.extend(reduce::scan(op, x, a.out(), start, dir));
                continue;
            };
            carry.extend(reduce::scan(op, x, to[k].reborrow(), start, dir));
            if let Some(before) = self.before {
                reduce::prepend(op, to[k].reborrow(), before[k]);
            }
        }
        self.carry = Some(carry);
    }

    fn general(
        &mut self,
        o: &JobOutput<'_>,
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        to: Option<&mut [OutSlice<'_>]>,
    ) -> Outcome {
        acc.take(o, m, n);
        let Some(c) = &mut acc.combiner else { return Ok(()) };
        turn(dir, &mut acc.lanes, n);
        scan_tile(dir, c, &mut acc.lanes, n, self.carry.as_deref())?;
        self.carry = Some(acc.lanes.iter().map(|a| lanes::first_bits(lanes::part(a.slice(n), n - 1, 1))).collect());
        let Some(to) = to else { return Ok(()) };
        if let Some(before) = self.before {
            prepend(dir, c, &mut acc.lanes, n, before)?;
        }
        turn(dir, &mut acc.lanes, n);
        for (a, to) in acc.lanes.iter().zip(to) {
            lanes::copy(a.slice(n), to.reborrow());
        }
        Ok(())
    }
}

/// Puts the first `n` lanes in the order of the scan, or back.
fn turn(dir: Dir, values: &mut [Lanes], n: usize) {
    if dir == Dir::Right {
        values.iter_mut().for_each(|v| lanes::reverse(v.out().split_at(n).0));
    }
}

/// Where the earlier and the later operand of the combination stand.
fn sides(dir: Dir, leaves: usize) -> (usize, usize) {
    if dir == Dir::Left { (0, leaves) } else { (leaves, 0) }
}

/// Scans the first `n` lanes with any operator: columns of consecutive lanes step by step, then the columns one after
/// the other.
fn scan_tile(dir: Dir, c: &mut Combiner<'_>, values: &mut [Lanes], n: usize, carry: Option<&[u64]>) -> Outcome {
    const COLUMNS: usize = 32;
    let (first, second) = sides(dir, values.len());
    let len = n.div_ceil(COLUMNS);
    for t in 1..len {
        let count = (n - t).div_ceil(len);
        for (k, v) in values.iter().enumerate() {
            c.set(first + k, |o| lanes::strided(v.slice(n), t - 1, len as isize, count, o));
            c.set(second + k, |o| lanes::strided(v.slice(n), t, len as isize, count, o));
        }
        c.call(count)?;
        for (k, v) in values.iter_mut().enumerate() {
            lanes::store_strided(c.machine.get(c.machine.tape.results[k], count), v.out(), t, len);
        }
    }
    let mut carry: Option<Vec<u64>> = carry.map(<[u64]>::to_vec);
    let mut at = 0;
    while at < n {
        let count = len.min(n - at);
        if let Some(before) = &carry {
            for (k, v) in values.iter().enumerate() {
                c.set(first + k, |o| lanes::fill(o.split_at(count).0, before[k]));
                c.set(second + k, |o| lanes::copy(lanes::part(v.slice(n), at, count), o));
            }
            c.call(count)?;
            for (k, v) in values.iter_mut().enumerate() {
                c.result(k, count, v.out().split_at(at).1);
            }
        }
        at += count;
        carry = Some(values.iter().map(|v| lanes::first_bits(lanes::part(v.slice(n), at - 1, 1))).collect());
    }
    Ok(())
}

/// Combines the first `n` lanes with what comes before them all.
fn prepend(dir: Dir, c: &mut Combiner<'_>, values: &mut [Lanes], n: usize, before: &[u64]) -> Outcome {
    let (first, second) = sides(dir, values.len());
    for (k, v) in values.iter().enumerate() {
        c.set(first + k, |o| lanes::fill(o.split_at(n).0, before[k]));
        c.set(second + k, |o| lanes::copy(v.slice(n), o));
    }
    c.call(n)?;
    for (k, v) in values.iter_mut().enumerate() {
        c.result(k, n, v.out());
    }
    Ok(())
}

/// Combines all `len` elements of a scanned chunk with what comes before them.
pub(super) fn prepend_all(
    o: &JobOutput<'_>,
    dir: Dir,
    acc: &mut Acc<'_>,
    outs: &mut [OutSlice<'_>],
    len: usize,
    before: &[u64],
) -> Outcome {
    if let Some(ops) = o.known() {
        for ((&op, out), &before) in ops.iter().zip(outs).zip(before) {
            reduce::prepend(op, out.reborrow(), before);
        }
        return Ok(());
    }
    let Some(c) = &mut acc.combiner else { return Ok(()) };
    for at in (0..len).step_by(acc.count.max(1)) {
        let n = acc.count.min(len - at);
        for (a, out) in acc.lanes.iter_mut().zip(&mut *outs) {
            lanes::copy_out(out.reborrow().split_at(at).1.split_at(n).0, a.out());
        }
        prepend(dir, c, &mut acc.lanes, n, before)?;
        for (a, out) in acc.lanes.iter().zip(&mut *outs) {
            lanes::copy(a.slice(n), out.reborrow().split_at(at).1);
        }
    }
    Ok(())
}
