//! Folding: elements of tiles into one.

use crate::run::launch::{Combiner, JobOutput};
use crate::tile::lanes::{self, Lanes};
use crate::tile::machine::{Machine, Outcome};
use crate::tile::reduce::{self, WIDTH};
use acc_core::data::ScalarType;
use acc_core::ir::Dir;
use smallvec::SmallVec;

/// A single value of an output, leaf by leaf, as bits.
pub(super) type Total = SmallVec<[u64; 4]>;

/// A fold or scan in progress: values of the output's leaves, and what combines them.
pub(super) struct Acc<'a> {
    /// So many lanes.
    pub count: usize,
    pub lanes: Vec<Lanes>,
    pub combiner: Option<Combiner<'a>>,
}

impl<'a> Acc<'a> {
    pub(super) fn new(o: &'a JobOutput<'_>, lanes: usize) -> Acc<'a> {
        Acc { count: lanes, lanes: o.types.iter().map(|&t| Lanes::new(t, lanes)).collect(), combiner: o.combiner() }
    }

    /// For single elements given as bits alone.
    pub(super) fn of_totals(o: &'a JobOutput<'_>) -> Acc<'a> {
        let combiner = if o.known().is_some() { None } else { o.combiner() };
        Acc { count: 0, lanes: Vec::new(), combiner }
    }

    /// Takes a tile's first `n` elements.
    pub(super) fn take(&mut self, o: &JobOutput<'_>, m: &Machine<'_>, n: usize) {
        for (k, a) in self.lanes.iter_mut().enumerate() {
            lanes::copy(o.leaf(m, k, n), a.out());
        }
    }

    /// Combines a tile's elements, lane by lane, into the values; `swapped` puts the new ones on the left.
    pub(super) fn step(&mut self, o: &JobOutput<'_>, m: &Machine<'_>, n: usize, swapped: bool) -> Outcome {
        if let Some(ops) = o.known() {
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

    /// Starts to reduce the elements of a chunk.
    pub(super) fn begin_chunk(&mut self, o: &JobOutput<'_>) {
        if let Some(ops) = o.known() {
            for (a, (&op, &ty)) in self.lanes.iter_mut().zip(ops.iter().zip(&o.types)) {
                a.fill(WIDTH, reduce::identity(op, ty));
            }
        }
    }

    /// Reduces a tile's elements into the chunk's `total`: a known operator keeps [`WIDTH`] partial results, any other
    /// combines neighbours pairwise in steps of as many elements, which are combined in turn.
    pub(super) fn reduce(
        &mut self,
        o: &JobOutput<'_>,
        m: &Machine<'_>,
        n: usize,
        total: &mut Option<Total>,
    ) -> Outcome {
        if let Some(ops) = o.known() {
            for (k, (a, &op)) in self.lanes.iter_mut().zip(ops).enumerate() {
                reduce::reduce(op, a, o.leaf(m, k, n));
            }
            return Ok(());
        }
        self.take(o, m, n);
        let Some(c) = &mut self.combiner else { return Ok(()) };
        for step in 0..pairwise(c, &mut self.lanes, n)? {
            let here = self.lanes.iter().map(|a| lanes::first_bits(lanes::part(a.slice(n), step, 1)));
            let here: Total = here.collect();
            *total = Some(match total {
                Some(t) => combine_one(c, &o.types, t, &here)?,
                None => here,
            });
        }
        Ok(())
    }

    /// Reduces a tile's elements of a scan into the total of the chunk, in the order of the scan, if the operator is known.
    pub(super) fn sum_up(&mut self, o: &JobOutput<'_>, m: &Machine<'_>, n: usize, dir: Dir) {
        for (k, (a, &op)) in self.lanes.iter_mut().zip(o.known().into_iter().flatten()).enumerate() {
            let x = o.leaf(m, k, n);
            if dir == Dir::Left {
                reduce::reduce(op, a, x);
                continue;
            }
            let mut turned = Lanes::new(o.types[k], n);
            lanes::copy(x, turned.out());
            lanes::reverse(turned.out());
            reduce::reduce(op, a, turned.slice(n));
        }
    }

    /// The total of a chunk.
    pub(super) fn end_chunk(&mut self, o: &JobOutput<'_>, total: Option<Total>) -> Total {
        match o.known() {
            Some(ops) => self.lanes.iter_mut().zip(ops).map(|(a, &op)| reduce::collapse(op, a)).collect(),
            None => total.unwrap_or_default(),
        }
    }

    /// `f(a, b)` of single elements given as bits.
    pub(super) fn combine(&mut self, o: &JobOutput<'_>, a: &[u64], b: &[u64]) -> Outcome<Total> {
        if let Some(ops) = o.known() {
            let all = ops.iter().zip(&o.types).zip(a.iter().zip(b));
            return Ok(all.map(|((&op, &ty), (&a, &b))| reduce::combine_bits(op, ty, a, b)).collect());
        }
        match &mut self.combiner {
            Some(c) => combine_one(c, &o.types, a, b),
            None => Ok(Total::new()),
        }
    }
}

/// Reduces steps of [`WIDTH`] of the first `n` lanes of `values`, neighbours pairwise; how many steps there are, whose
/// values end up in as many lanes. Machine code has the same tree.
fn pairwise(c: &mut Combiner<'_>, values: &mut [Lanes], mut n: usize) -> Outcome<usize> {
    let leaves = values.len();
    for _ in 0..WIDTH.ilog2() {
        let half = n / 2;
        for (k, v) in values.iter().enumerate() {
            c.set(k, |o| lanes::strided(v.slice(n), 0, 2, half, o));
            c.set(leaves + k, |o| lanes::strided(v.slice(n), 1, 2, half, o));
        }
        c.call(half)?;
        for (k, v) in values.iter_mut().enumerate() {
            if n % 2 == 1 {
                lanes::squeeze_one(v, n - 1, half);
            }
            c.result(k, half, v.out());
        }
        n = half + n % 2;
    }
    Ok(n)
}

fn combine_one(c: &mut Combiner<'_>, types: &[ScalarType], a: &[u64], b: &[u64]) -> Outcome<Total> {
    for (k, &bits) in a.iter().chain(b).enumerate() {
        c.set(k, |o| lanes::fill_first(o, bits));
    }
    c.call(1)?;
    let m = &c.machine;
    Ok((0..types.len()).map(|k| lanes::first_bits(m.get(m.tape.results[k], 1))).collect())
}
