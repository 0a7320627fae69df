//! Reduction of tiles to single values.

use crate::kernel::grouping::{PAIRWISE_BLOCK, PARTIAL_RESULTS};
use crate::run::launch::{Combiner, JobOutput};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome};
use crate::tile::reduce;
use acc_core::data::ScalarType;
use acc_core::ir::{Dir, PrimOp};
use smallvec::SmallVec;

/// A single value of an output, leaf by leaf, as bits.
pub(super) type Total = SmallVec<[u64; 4]>;

/// A fold or scan in progress: values of the output's leaves, and the machine that combines them.
pub(super) struct Acc<'a> {
    /// The number of lanes.
    pub count: usize,
    pub lanes: Vec<Lanes>,
    /// The sums of the finished blocks of a fused fold: `lanes` are the sums of the current one.
    sums: Vec<Lanes>,
    pub combiner: Option<Combiner<'a>>,
    /// Elements of a chunk that are buffered, to be combined as a block.
    kept: usize,
}

impl<'a> Acc<'a> {
    pub(super) fn new(o: &'a JobOutput<'_>, lanes: usize) -> Acc<'a> {
        Acc {
            count: lanes,
            lanes: o.types.iter().map(|&t| Lanes::new(t, lanes)).collect(),
            sums: o.types.iter().filter(|_| o.is_fused()).map(|&t| Lanes::new(t, lanes)).collect(),
            combiner: o.combiner(),
            kept: 0,
        }
    }

    /// For totals of a single element, given as bits.
    pub(super) fn of_totals(o: &'a JobOutput<'_>) -> Acc<'a> {
        let combiner = if o.builtin().is_some() { None } else { o.combiner() };
        Acc { count: 0, lanes: Vec::new(), sums: Vec::new(), combiner, kept: 0 }
    }

    /// Starts the folds of `n` lanes with initial values, if there are any; a fused fold has neutral ones at least.
    pub(super) fn begin(&mut self, o: &JobOutput<'_>, init: Option<&[u64]>, n: usize) {
        if o.is_fused() {
            let neutral = o.types.iter().map(|&ty| reduce::identity(PrimOp::AddP, ty)).collect::<Total>();
            let starts = init.unwrap_or(&neutral);
            self.sums.iter_mut().zip(starts).for_each(|(sum, &bits)| sum.fill(n, bits));
            self.lanes.iter_mut().for_each(|a| a.fill(n, 0));
        } else {
            self.lanes.iter_mut().zip(init.into_iter().flatten()).for_each(|(a, &bits)| a.fill(n, bits));
        }
    }

    /// Ends a block of terms of `n` lanes.
    pub(super) fn end_block(&mut self, n: usize) {
        for (sum, a) in self.sums.iter_mut().zip(&mut self.lanes) {
            reduce::accumulate(PrimOp::AddP, sum, a.slice(n));
            a.fill(n, 0);
        }
    }

    /// The results of lanes, all of whose blocks have ended.
    pub(super) fn results(&self) -> &[Lanes] {
        if self.sums.is_empty() { &self.lanes } else { &self.sums }
    }

    /// Takes the first `n` elements of a tile as values, from lane `first` on.
    pub(super) fn take(&mut self, o: &JobOutput<'_>, m: &Machine<'_>, first: usize, n: usize) {
        for (k, a) in self.lanes.iter_mut().enumerate() {
            lanes::copy(o.leaf(m, k, n), a.out().split_at(first).1);
        }
    }

    /// Combines the elements of a tile lane-wise with the values; `swapped` makes the new elements the left operands.
    pub(super) fn step(&mut self, o: &JobOutput<'_>, m: &Machine<'_>, n: usize, swapped: bool) -> Outcome {
        if o.is_fused() {
            for (k, acc) in self.lanes.iter_mut().enumerate() {
                let [x, y] = o.factors(m, k, n);
                reduce::accumulate_products(acc, x, y);
            }
            return Ok(());
        }
        if let Some(ops) = o.builtin() {
            for (k, (acc, op)) in self.lanes.iter_mut().zip(ops).enumerate() {
                reduce::accumulate(*op, acc, o.leaf(m, k, n));
            }
            return Ok(());
        }
        let Some(c) = &mut self.combiner else { return Ok(()) };
        let leaves = self.lanes.len();
        let (first, second) = if swapped { (leaves, 0) } else { (0, leaves) };
        for (k, a) in self.lanes.iter().enumerate() {
            c.set(first + k, |to| lanes::copy(a.slice(n), to));
            c.set(second + k, |to| lanes::copy(o.leaf(m, k, n), to));
        }
        c.call(n)?;
        for (k, a) in self.lanes.iter_mut().enumerate() {
            c.result(k, n, a.out());
        }
        Ok(())
    }

    /// Starts the reduction of a chunk.
    pub(super) fn begin_chunk(&mut self, o: &JobOutput<'_>) {
        self.kept = 0;
        if let Some(ops) = o.builtin() {
            for (a, (&op, &ty)) in self.lanes.iter_mut().zip(ops.iter().zip(&o.types)) {
                a.fill(PARTIAL_RESULTS, reduce::identity(op, ty));
            }
        }
    }

    /// Reduces a tile's elements into the chunk's `total`: a built-in operator keeps [`PARTIAL_RESULTS`] partial
    /// results; any other combines neighbours pairwise within blocks of [`PAIRWISE_BLOCK`] elements, whose results are
    /// combined in order.
    pub(super) fn reduce(
        &mut self,
        o: &JobOutput<'_>,
        m: &Machine<'_>,
        n: usize,
        total: &mut Option<Total>,
    ) -> Outcome {
        if o.is_fused() {
            for (k, acc) in self.lanes.iter_mut().enumerate() {
                let [x, y] = o.factors(m, k, n);
                reduce::reduce_products(acc, x, y);
            }
            return Ok(());
        }
        if let Some(ops) = o.builtin() {
            for (k, (a, &op)) in self.lanes.iter_mut().zip(ops).enumerate() {
                reduce::reduce(op, a, o.leaf(m, k, n));
            }
            return Ok(());
        }
        let mut taken = 0;
        while taken < n {
            let here = (n - taken).min(PAIRWISE_BLOCK - self.kept);
            for (k, a) in self.lanes.iter_mut().enumerate() {
                lanes::copy(lanes::part(o.leaf(m, k, n), taken, here), a.out().split_at(self.kept).1);
            }
            self.kept += here;
            taken += here;
            if self.kept == PAIRWISE_BLOCK {
                self.combine_kept(o, total)?;
            }
        }
        Ok(())
    }

    /// Combines the buffered elements, if any, and appends the result to `total`.
    fn combine_kept(&mut self, o: &JobOutput<'_>, total: &mut Option<Total>) -> Outcome {
        let n = std::mem::take(&mut self.kept);
        let Some(c) = self.combiner.as_mut().filter(|_| n > 0) else { return Ok(()) };
        pairwise(c, &mut self.lanes, n)?;
        let here: Total = self.lanes.iter().map(|a| lanes::first_bits(a.slice(1))).collect();
        *total = Some(match total {
            Some(t) => combine_one(c, &o.types, t, &here)?,
            None => here,
        });
        Ok(())
    }

    /// Reduces a tile's elements of a scan into the chunk's total, in scan order, if the operator is built in.
    pub(super) fn reduce_scan(&mut self, o: &JobOutput<'_>, m: &Machine<'_>, n: usize, dir: Dir) {
        for (k, (a, &op)) in self.lanes.iter_mut().zip(o.builtin().into_iter().flatten()).enumerate() {
            let x = o.leaf(m, k, n);
            if dir == Dir::Left {
                reduce::reduce(op, a, x);
                continue;
            }
            let mut reversed = Lanes::new(o.types[k], n);
            lanes::copy(x, reversed.out());
            lanes::reverse(reversed.out());
            reduce::reduce(op, a, reversed.slice(n));
        }
    }

    /// The total of a chunk.
    pub(super) fn end_chunk(&mut self, o: &JobOutput<'_>, mut total: Option<Total>) -> Outcome<Total> {
        if let Some(ops) = o.builtin() {
            return Ok(self.lanes.iter_mut().zip(ops).map(|(a, &op)| reduce::collapse(op, a)).collect());
        }
        self.combine_kept(o, &mut total)?;
        Ok(total.unwrap_or_default())
    }

    /// `f(a, b)` of single elements given as bits.
    pub(super) fn combine(&mut self, o: &JobOutput<'_>, a: &[u64], b: &[u64]) -> Outcome<Total> {
        if let Some(ops) = o.builtin() {
            let all = ops.iter().zip(&o.types).zip(a.iter().zip(b));
            return Ok(all.map(|((&op, &ty), (&a, &b))| reduce::combine_bits(op, ty, a, b)).collect());
        }
        match &mut self.combiner {
            Some(c) => combine_one(c, &o.types, a, b),
            None => Ok(Total::new()),
        }
    }
}

/// Reduces the first `n` lanes of `values` pairwise, neighbours first. Machine code uses the same reduction tree.
fn pairwise(c: &mut Combiner<'_>, values: &mut [Lanes], mut n: usize) -> Outcome {
    let (leaves, most) = (values.len(), c.machine.code.lanes);
    while n > 1 {
        let pairs = n / 2;
        for first in (0..pairs).step_by(most) {
            let count = most.min(pairs - first);
            for (k, v) in values.iter().enumerate() {
                c.set(k, |o| lanes::strided(v.slice(n), 2 * first, 2, count, o));
                c.set(leaves + k, |o| lanes::strided(v.slice(n), 2 * first + 1, 2, count, o));
            }
            c.call(count)?;
            for (k, v) in values.iter_mut().enumerate() {
                c.result(k, count, v.out().split_at(first).1);
            }
        }
        if n % 2 == 1 {
            // An element without a neighbour is carried to the next level.
            values.iter_mut().for_each(|v| lanes::squeeze_one(v, n - 1, pairs));
        }
        n -= pairs;
    }
    Ok(())
}

fn combine_one(c: &mut Combiner<'_>, types: &[ScalarType], a: &[u64], b: &[u64]) -> Outcome<Total> {
    for (k, &bits) in a.iter().chain(b).enumerate() {
        c.set(k, |o| lanes::fill_first(o, bits));
    }
    c.call(1)?;
    let m = &c.machine;
    Ok((0..types.len()).map(|k| lanes::first_bits(m.get(m.bytecode.results[k], 1))).collect())
}
