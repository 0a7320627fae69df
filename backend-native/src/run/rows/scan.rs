//! Scans of tiles within a chunk.

use super::fold::{Acc, Total};
use crate::buffer::OutSlice;
use crate::kernel::grouping::{PARTIAL_RESULTS, SCAN_BLOCK, SCAN_GROUP, SCAN_RUN};
use crate::run::launch::{Combiner, JobOutput};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome};
use crate::tile::memory;
use crate::tile::{reduce, scans};
use acc_core::data::{ColumnSlice, ScalarType};
use acc_core::ir::Dir;
use acc_desugar::analysis::segmented_operator::SegmentedOperator;
use std::ops::Range;

/// The scan of a chunk in progress.
pub(super) struct Scan<'a> {
    /// The prefix of the chunk, in scan order.
    pub before: Option<&'a [u64]>,
    /// The combination of the chunk's elements so far; of a fold, too.
    pub carry: Option<Total>,
    /// Whether results are stored non-temporally, through scratch memory, which totals do not read.
    pub stream: bool,
}

impl Scan<'_> {
    /// Scans a tile's first `n` elements, combines them with the chunk's prefix, and stores the results in `to`, one
    /// slice per leaf, if they are wanted.
    pub(super) fn tile(
        &mut self,
        o: &JobOutput<'_>,
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        to: Option<&mut [OutSlice<'_>]>,
    ) -> Outcome {
        match (o.builtin(), o.segmented()) {
            (Some(ops), _) => to.into_iter().for_each(|to| self.known(o, ops, dir, acc, m, n, to)),
            (None, Some(restart)) => self.restarting(o, restart, dir, acc, m, n, to),
            (None, None) => return self.general(o, dir, acc, m, n, to),
        }
        Ok(())
    }

    /// Scans a tile with a segmented operator: the chunk's prefix applies to the elements before its first flag.
    #[allow(clippy::too_many_arguments, reason = "as for a known operator")]
    fn restarting(
        &mut self,
        o: &JobOutput<'_>,
        restart: &SegmentedOperator,
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        mut to: Option<&mut [OutSlice<'_>]>,
    ) {
        let ColumnSlice::Bool(marks) = o.leaf(m, restart.mark, n) else { return };
        let marked = self.carry.as_ref().is_some_and(|c| c[restart.mark] != 0);
        let before = self.before.filter(|_| !marked);
        let mut carry = Total::with_capacity(restart.ops.len());
        for (k, (&op, a)) in restart.ops.iter().zip(&mut acc.lanes).enumerate() {
            let start = self.carry.as_ref().map(|c| c[k]);
            let mut to = to.as_deref_mut().map(|to| to[k].reborrow());
            let x = o.leaf(m, k, n);
            let mut out = to.as_mut().filter(|_| !self.stream).map_or_else(|| a.out(), OutSlice::reborrow);
            let marks_of_others = (k != restart.mark).then_some(marks);
            carry.extend(scans::scan(op, marks_of_others, x, out.reborrow(), start, dir));
            if let Some(before) = before {
                reduce::prepend(op, part(out, &unmarked(marks, dir)), before[k]);
            }
            if let (true, Some(to)) = (self.stream, to) {
                memory::stream(a.slice(n), to);
            }
        }
        self.carry = Some(carry);
    }

    /// Scans a tile with a built-in operator, whose totals are computed separately.
    #[allow(clippy::too_many_arguments, reason = "a tile and all that it meets")]
    fn known(
        &mut self,
        o: &JobOutput<'_>,
        ops: &[acc_core::ir::PrimOp],
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        to: &mut [OutSlice<'_>],
    ) {
        let mut carry = Total::with_capacity(ops.len());
        for (k, ((&op, a), to)) in ops.iter().zip(&mut acc.lanes).zip(to).enumerate() {
            let start = self.carry.as_ref().map(|c| c[k]);
            let mut out = if self.stream { a.out().split_at(n).0 } else { to.reborrow() };
            carry.extend(scans::scan(op, None, o.leaf(m, k, n), out.reborrow(), start, dir));
            if let Some(before) = self.before {
                reduce::prepend(op, out, before[k]);
            }
            if self.stream {
                memory::stream(a.slice(n), to.reborrow());
            }
        }
        self.carry = Some(carry);
    }

    /// Scans a tile with a user's operator.
    fn general(
        &mut self,
        o: &JobOutput<'_>,
        dir: Dir,
        acc: &mut Acc<'_>,
        m: &Machine<'_>,
        n: usize,
        to: Option<&mut [OutSlice<'_>]>,
    ) -> Outcome {
        acc.take(o, m, 0, n);
        let Some(c) = &mut acc.combiner else { return Ok(()) };
        to_scan_order(dir, &mut acc.lanes, n);
        self.carry = scan_tile(dir, c, &o.types, &mut acc.lanes, n, self.carry.take())?.pop();
        let Some(to) = to else { return Ok(()) };
        if let Some(before) = self.before {
            prepend(dir, c, &mut acc.lanes, n, before)?;
        }
        to_scan_order(dir, &mut acc.lanes, n);
        for (a, to) in acc.lanes.iter().zip(to) {
            lanes::copy(a.slice(n), to.reborrow());
        }
        Ok(())
    }

    /// Scans the first `n` elements that `acc` has taken in runs, after the chunk's prefix, and stores the results
    /// in `to`, one slice per leaf, if they are wanted.
    pub(super) fn taken(
        &mut self,
        o: &JobOutput<'_>,
        dir: Dir,
        acc: &mut Acc<'_>,
        n: usize,
        to: Option<&mut [OutSlice<'_>]>,
    ) -> Outcome {
        let Some(c) = &mut acc.combiner else { return Ok(()) };
        to_scan_order(dir, &mut acc.lanes, n);
        let whole = n / SCAN_BLOCK * SCAN_BLOCK;
        for (elements, run) in [(0..whole, SCAN_RUN), (whole..n, (n - whole).div_ceil(PARTIAL_RESULTS))] {
            if !elements.is_empty() {
                let runs = Runs { elements, run };
                self.runs(dir, c, &o.types, &mut acc.lanes, &runs, to.is_some())?;
            }
        }
        let Some(to) = to else { return Ok(()) };
        to_scan_order(dir, &mut acc.lanes, n);
        for (a, to) in acc.lanes.iter().zip(to) {
            lanes::copy(a.slice(n), to.reborrow());
        }
        Ok(())
    }

    /// Scans runs, whose elements are in scan order; without `results` for the carry alone.
    fn runs(
        &mut self,
        dir: Dir,
        c: &mut Combiner<'_>,
        types: &[ScalarType],
        values: &mut [Lanes],
        runs: &Runs,
        results: bool,
    ) -> Outcome {
        let count = runs.elements.len().div_ceil(runs.run);
        let mut totals: Vec<Lanes> = types.iter().map(|&t| Lanes::new(t, count)).collect();
        runs.load(values, 0, &mut totals);
        let mut next: Vec<Lanes> = types.iter().map(|&t| Lanes::new(t, count)).collect();
        for k in 1..runs.run {
            let n = runs.load(values, k, &mut next);
            combine_lanes(dir, c, &mut totals, &next, 0..n, Side::Earlier)?;
        }
        let begins = self.carry.is_none();
        let mut carries = scan_tile(dir, c, types, &mut totals, count, self.carry.take())?;
        self.carry = carries.pop();
        if !results {
            return Ok(());
        }
        // What precedes each run: of a step's first one what is carried into it.
        let mut before: Vec<Lanes> = types.iter().map(|&t| Lanes::new(t, count)).collect();
        for (k, (b, t)) in before.iter_mut().zip(&totals).enumerate() {
            lanes::copy(lanes::part(t.slice(count), 0, count - 1), b.out().split_at(1).1);
            for (step, bits) in carries.iter().enumerate().filter_map(|(step, carry)| Some((step, *carry.get(k)?))) {
                lanes::set(b, step * PARTIAL_RESULTS, bits);
            }
        }
        if let Some(chunk) = self.before {
            for (n, &bits) in next.iter_mut().zip(chunk) {
                n.fill(count, bits);
            }
            combine_lanes(dir, c, &mut before, &next, usize::from(begins)..count, Side::Later)?;
            for (b, &bits) in before.iter_mut().zip(chunk).filter(|_| begins) {
                lanes::fill_first(b.out(), bits);
            }
        }
        let first = usize::from(begins && self.before.is_none());
        for k in 0..runs.run {
            let n = runs.load(values, k, &mut next);
            let alone = if k == 0 { first } else { 0 };
            combine_lanes(dir, c, &mut before, &next, alone..n, Side::Earlier)?;
            for (b, x) in before.iter_mut().zip(&next) {
                lanes::copy(x.slice(alone), b.out());
            }
            runs.store(&before, k, n, values);
        }
        Ok(())
    }
}

/// Consecutive elements that are divided into runs of this length; the last one may be shorter.
struct Runs {
    elements: Range<usize>,
    run: usize,
}

impl Runs {
    /// Copies element `k` of each run that has so many; returns how many have.
    fn load(&self, values: &[Lanes], k: usize, to: &mut [Lanes]) -> usize {
        let n = (self.elements.len() - k).div_ceil(self.run);
        for (v, to) in values.iter().zip(to) {
            lanes::strided(v.slice(self.elements.end), self.elements.start + k, self.run as isize, n, to.out());
        }
        n
    }

    /// Sets element `k` of the first `n` runs.
    fn store(&self, from: &[Lanes], k: usize, n: usize, values: &mut [Lanes]) {
        for (v, from) in values.iter_mut().zip(from) {
            lanes::store_strided(
                from.slice(n),
                v.out().split_at(self.elements.end).0,
                self.elements.start + k,
                self.run,
            );
        }
    }
}

/// Which operand of a combination values are, in scan order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Earlier,
    Later,
}

/// Combines a range of lanes of `values`, on this side, with others.
fn combine_lanes(
    dir: Dir,
    c: &mut Combiner<'_>,
    values: &mut [Lanes],
    others: &[Lanes],
    range: Range<usize>,
    side: Side,
) -> Outcome {
    if range.is_empty() {
        return Ok(());
    }
    let (earlier, later) = sides(dir, values.len());
    let (own, other) = if side == Side::Earlier { (earlier, later) } else { (later, earlier) };
    let of = |v: &Lanes, o: OutSlice<'_>| lanes::copy(lanes::part(v.slice(range.end), range.start, range.len()), o);
    for (k, (v, x)) in values.iter().zip(others).enumerate() {
        c.set(own + k, |o| of(v, o));
        c.set(other + k, |o| of(x, o));
    }
    c.call(range.len())?;
    for (k, v) in values.iter_mut().enumerate() {
        c.result(k, range.len(), v.out().split_at(range.start).1);
    }
    Ok(())
}

/// The lanes before the first flag, in scan order.
fn unmarked(marks: &[bool], dir: Dir) -> Range<usize> {
    match dir {
        Dir::Left => 0..marks.iter().position(|m| *m).unwrap_or(marks.len()),
        Dir::Right => marks.iter().rposition(|m| *m).map_or(0, |k| k + 1)..marks.len(),
    }
}

fn part<'a>(values: OutSlice<'a>, range: &Range<usize>) -> OutSlice<'a> {
    values.split_at(range.end).0.split_at(range.start).1
}

/// Reverses the first `n` lanes for a right scan; maps to scan order and back.
fn to_scan_order(dir: Dir, values: &mut [Lanes], n: usize) {
    if dir == Dir::Right {
        values.iter_mut().for_each(|v| lanes::reverse(v.out().split_at(n).0));
    }
}

/// The positions of the earlier and the later operand among the parameters of the combination.
fn sides(dir: Dir, leaves: usize) -> (usize, usize) {
    if dir == Dir::Left { (0, leaves) } else { (leaves, 0) }
}

/// Groups of a step.
const GROUPS_PER_STEP: usize = PARTIAL_RESULTS / SCAN_GROUP;

/// Scans the first `n` lanes with any operator and the incoming `carry`; returns what is carried into each step and out of
/// the last. Within steps of
/// [`PARTIAL_RESULTS`] lanes, first the lanes of each group of [`SCAN_GROUP`] and then the groups are scanned by
/// doubling (Hillis and Steele), so that only one operation per step depends on the previous step. The tree depends on
/// these numbers only; machine code uses the same.
fn scan_tile(
    dir: Dir,
    c: &mut Combiner<'_>,
    types: &[ScalarType],
    values: &mut [Lanes],
    n: usize,
    carry: Option<Total>,
) -> Outcome<Vec<Total>> {
    let (first, second) = sides(dir, values.len());
    doubling(dir, c, values, n, SCAN_GROUP)?;
    let groups = n.div_ceil(SCAN_GROUP);
    let mut totals: Vec<Lanes> = types.iter().map(|&t| Lanes::new(t, groups)).collect();
    for (v, total) in values.iter().zip(&mut totals) {
        lanes::strided(v.slice(n), SCAN_GROUP - 1, SCAN_GROUP as isize, n / SCAN_GROUP, total.out());
        if !n.is_multiple_of(SCAN_GROUP) {
            lanes::copy(lanes::part(v.slice(n), n - 1, 1), total.out().split_at(n / SCAN_GROUP).1);
        }
    }
    doubling(dir, c, &mut totals, groups, GROUPS_PER_STEP)?;
    // The exclusive prefix of each group: for the first one of a step the carry, then that combined with the groups
    // between.
    let mut before: Vec<Lanes> = types.iter().map(|&t| Lanes::new(t, groups)).collect();
    let begins = carry.is_none();
    let mut carries = vec![carry.unwrap_or_default()];
    for from in (0..groups).step_by(GROUPS_PER_STEP) {
        let end = groups.min(from + GROUPS_PER_STEP);
        let total: Total = totals.iter().map(|t| lanes::first_bits(lanes::part(t.slice(groups), end - 1, 1))).collect();
        let carried = carries.last().filter(|carried| !carried.is_empty());
        for (b, &bits) in before.iter_mut().zip(carried.into_iter().flatten()) {
            lanes::fill(b.out().split_at(from).1.split_at(end - from).0, bits);
        }
        carries.push(carried.map_or(Ok(total.clone()), |carried| one(dir, c, carried, &total))?);
    }
    if c.partial {
        let mut runs = later(groups, 1, GROUPS_PER_STEP);
        if begins {
            let alone = groups.min(GROUPS_PER_STEP);
            runs.retain(|run| run.start > alone);
            for (b, t) in before.iter_mut().zip(&totals) {
                lanes::copy(lanes::part(t.slice(groups), 0, alone - 1), b.out().split_at(1).1);
            }
        }
        if !runs.is_empty() {
            combine_runs(dir, c, (&before, 0), (&totals, 1), &runs)?;
            take_runs(c, &runs, &mut before);
        }
    } else if groups > 1 {
        for (k, (b, t)) in before.iter().zip(&totals).enumerate() {
            c.set(first + k, |o| lanes::copy(lanes::part(b.slice(groups), 1, groups - 1), o));
            c.set(second + k, |o| lanes::copy(lanes::part(t.slice(groups), 0, groups - 1), o));
        }
        c.call(groups - 1)?;
        for (k, (b, t)) in before.iter_mut().zip(&totals).enumerate() {
            lanes::copy_within_groups(c.results(k, groups - 1), 1, GROUPS_PER_STEP, b.out());
            if begins {
                let alone = groups.min(GROUPS_PER_STEP) - 1;
                lanes::copy(lanes::part(t.slice(groups), 0, alone), b.out().split_at(1).1);
            }
        }
    }
    let from = if begins { SCAN_GROUP.min(n) } else { 0 };
    if from == n {
        return Ok(carries);
    }
    let rest = n - from;
    for (k, (b, v)) in before.iter().zip(&*values).enumerate() {
        let before = |o: OutSlice<'_>| {
            let groups = lanes::part(b.slice(groups), from / SCAN_GROUP, groups - from / SCAN_GROUP);
            lanes::repeat_each(groups, SCAN_GROUP, o.split_at(rest).0);
        };
        c.set(first + k, before);
        c.set(second + k, |o| lanes::copy(lanes::part(v.slice(n), from, rest), o));
    }
    c.call(rest)?;
    for (k, v) in values.iter_mut().enumerate() {
        c.result(k, rest, v.out().split_at(from).1);
    }
    Ok(carries)
}

/// The lanes of each group except the first `by`. An operator that may fault is applied to those only, so that it
/// cannot fault on lanes that do not contribute to a result.
fn later(n: usize, by: usize, group: usize) -> Vec<Range<usize>> {
    let runs = (0..n).step_by(group).map(|first| first + by..n.min(first + group));
    runs.filter(|run| !run.is_empty()).collect()
}

/// Scans each group of the first `n` lanes by doubling.
fn doubling(dir: Dir, c: &mut Combiner<'_>, values: &mut [Lanes], n: usize, group: usize) -> Outcome {
    let (first, second) = sides(dir, values.len());
    let mut by = 1;
    while by < group.min(n) {
        if c.partial {
            let runs = later(n, by, group);
            combine_runs(dir, c, (values, by), (values, 0), &runs)?;
            take_runs(c, &runs, values);
            by *= 2;
            continue;
        }
        for (k, v) in values.iter().enumerate() {
            c.set(first + k, |o| lanes::copy(lanes::part(v.slice(n), 0, n - by), o));
            c.set(second + k, |o| lanes::copy(lanes::part(v.slice(n), by, n - by), o));
        }
        c.call(n - by)?;
        for (k, v) in values.iter_mut().enumerate() {
            lanes::copy_within_groups(c.results(k, n - by), by, group, v.out().split_at(n).0);
        }
        by *= 2;
    }
    Ok(())
}

/// Combines the lanes of runs with the lanes `back` before them.
fn combine_runs(
    dir: Dir,
    c: &mut Combiner<'_>,
    earlier: (&[Lanes], usize),
    later: (&[Lanes], usize),
    runs: &[Range<usize>],
) -> Outcome {
    let (first, second) = sides(dir, earlier.0.len());
    for (side, (values, back)) in [(first, earlier), (second, later)] {
        for (k, v) in values.iter().enumerate() {
            c.set(side + k, |mut o| {
                let mut at = 0;
                for run in runs {
                    lanes::copy(
                        lanes::part(v.slice(run.end), run.start - back, run.len()),
                        o.reborrow().split_at(at).1,
                    );
                    at += run.len();
                }
            });
        }
    }
    c.call(runs.iter().map(Range::len).sum())
}

/// Copies the results of a combination to the lanes of runs.
fn take_runs(c: &Combiner<'_>, runs: &[Range<usize>], to: &mut [Lanes]) {
    let all = runs.iter().map(Range::len).sum();
    for (k, v) in to.iter_mut().enumerate() {
        let mut from = 0;
        for run in runs {
            lanes::copy(lanes::part(c.results(k, all), from, run.len()), v.out().split_at(run.start).1);
            from += run.len();
        }
    }
}

/// Combines two elements, given in scan order.
fn one(dir: Dir, c: &mut Combiner<'_>, earlier: &[u64], later: &[u64]) -> Outcome<Total> {
    let (first, second) = sides(dir, earlier.len());
    for (k, (&a, &b)) in earlier.iter().zip(later).enumerate() {
        c.set(first + k, |o| lanes::fill_first(o, a));
        c.set(second + k, |o| lanes::fill_first(o, b));
    }
    c.call(1)?;
    Ok((0..earlier.len()).map(|k| lanes::first_bits(c.results(k, 1))).collect())
}

/// Combines the first `n` lanes with a prefix.
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

/// Combines all `len` elements of a scanned chunk with a prefix.
pub(super) fn prepend_all(
    o: &JobOutput<'_>,
    dir: Dir,
    acc: &mut Acc<'_>,
    outs: &mut [OutSlice<'_>],
    len: usize,
    before: &[u64],
) -> Outcome {
    if let Some(ops) = o.builtin() {
        for ((&op, out), &before) in ops.iter().zip(outs).zip(before) {
            reduce::prepend(op, out.reborrow(), before);
        }
        return Ok(());
    }
    if let Some(restart) = o.segmented() {
        let ColumnSlice::Bool(marks) = outs[restart.mark].as_slice() else { return Ok(()) };
        let free = unmarked(marks, dir);
        for ((&op, out), &before) in restart.ops.iter().zip(outs).zip(before) {
            reduce::prepend(op, part(out.reborrow(), &free), before);
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
