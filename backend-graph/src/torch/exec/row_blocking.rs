//! Groups of steps, through which blocks of rows go one by one (see [`Group`]).

use super::fault::Flag;
use super::ops::reduce::reduce;
use super::{Result, Rt, Run, Stop};
use crate::plan::row_blocking::{Dim, Group};
use crate::plan::{Step, StepId};
use crate::torch::setup::Session;
use crate::torch::transfer::kind;
use crate::torch::{TorchError, threads, workers};
use acc_desugar::graph::{Op, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use tch::Tensor;

type TorchResult<T> = std::result::Result<T, TorchError>;

/// Of fewer blocks the threads are awake too late.
const MIN_BLOCKS: i64 = 4;
/// So many blocks are all values of a group together from which on blocks pay, 32 MiB of the usual ones: fewer are in the
/// last-level cache from one operation to the next, and larger calls are fewer. (`sqrt(x * x + 1)` of 1,000,000 `f32` takes 1.24
/// of the time in blocks, of 16,000,000 it takes 0.87; L1 distances between 1000 and 1024 points in 256 dimensions take 0.4.)
const MIN_MADE_BLOCKS: i64 = 128;
/// A number of rows is a multiple of this, if there are so many: whole lines of the caches.
const ROWS_MULTIPLE: i64 = 64;

/// What a block is part of.
pub(super) struct Outer<'a> {
    /// The values of the run.
    values: &'a [Option<Rt>],
    /// Those of which each block takes its rows.
    cut: Vec<(Value, Tensor)>,
    /// Those to which each block writes its rows.
    results: Vec<(Value, Tensor)>,
}

// SAFETY: other threads make handles and views of the tensors, which counts references atomically. They write to rows of
// `results` alone, each to its own, which nobody reads before all are done.
unsafe impl Sync for Outer<'_> {}

impl Outer<'_> {
    pub(super) fn value(&self, v: Value) -> Option<&Rt> {
        self.values.get(v.index()).and_then(Option::as_ref)
    }
}

/// The rows that a run is about, if it is that of a block.
pub(super) struct Block<'a> {
    pub(super) outer: &'a Outer<'a>,
    /// How many.
    rows: i64,
    /// Their places in what the run before it needs.
    pub(super) results: HashMap<Value, Tensor>,
    /// The totals of blocks, with the first row of each.
    totals: Vec<(i64, Vec<Tensor>)>,
}

impl Run<'_> {
    /// Runs steps in blocks, if the tensors are so large that this pays; says whether it did.
    pub(super) fn group(&mut self, group: &Group, steps: &[StepId]) -> Result<bool> {
        let Some(block) = self.exe.block else { return Ok(false) };
        if self.block.is_some() {
            return Ok(false);
        }
        let rows = self.dim(group.rows)?;
        let mut row = 0;
        for v in &group.cut {
            let t = self.tensor(*v)?;
            if t.size().first() != Some(&rows) {
                return Ok(false);
            }
            row = row.max((t.numel() * t.f_kind()?.elt_size_in_bytes()) as i64 / rows.max(1));
        }
        for (shape, bytes) in &group.shapes {
            let inner = self.dims(shape.get(1..).unwrap_or(&[]))?.into_iter().fold(*bytes as i64, i64::saturating_mul);
            row = row.max(inner);
        }
        // A row that is longer than a block goes through on its own.
        let bytes = rows.saturating_mul(row);
        let blocks = if row > block { rows / threads::most() as i64 } else { bytes / block };
        let made = bytes.saturating_mul(group.made.len() as i64) / block;
        if rows < 2 || blocks < MIN_BLOCKS || made < MIN_MADE_BLOCKS {
            return Ok(false);
        }
        let tensors = |vs: &[Value]| -> TorchResult<Vec<(Value, Tensor)>> {
            vs.iter().map(|v| Ok((*v, self.tensor(*v)?.shallow_clone()))).collect()
        };
        let cut = tensors(&group.cut)?;
        let steps: Vec<&Step> = steps.iter().filter_map(|id| self.exe.plan.step(*id)).collect();
        let mut results = Vec::new();
        for (v, shape) in &group.results {
            let made = Tensor::f_empty(self.dims(shape)?, (kind(self.scalar(*v)), self.exe.device.tch()));
            let node = steps.iter().map(|s| &s.node).find(|n| n.results.contains(v));
            let failed = |e: TorchError| match node {
                Some(n) => Stop::Error(e.at(self.exe.source_name(n), &n.loc)),
                None => e.into(),
            };
            results.push((*v, made.map_err(TorchError::from).map_err(failed)?));
        }
        let outer = Outer { values: &self.values, cut, results };
        let next = AtomicI64::new(0);
        let (exe, args, limits, meter) = (self.exe, self.args, self.limits, &self.meter);
        let block = |threads: usize, session: &Session| {
            let (outer, len) = (&outer, block_rows(block, rows, row, threads));
            let mut run = Run {
                exe,
                threads: &session.threads,
                args,
                limits,
                meter: meter.clone(),
                values: std::iter::repeat_with(|| None).take(outer.values.len()).collect(),
                pending: HashMap::new(),
                flags: Vec::new(),
                block: Some(Block { outer, rows: 0, results: HashMap::new(), totals: Vec::new() }),
            };
            loop {
                let start = next.fetch_add(len, Ordering::Relaxed);
                if start >= rows {
                    return Ok((run.flags, run.block.map_or_else(Vec::new, |block| block.totals)));
                }
                if let Err(stop) = session.outcome(run.rows(group, &steps, start, len.min(rows - start))) {
                    next.store(rows, Ordering::Relaxed);
                    return Err(stop);
                }
            }
        };
        // In numbers of four bytes.
        let outcomes = self.threads.work(rows.saturating_mul(row) / 4, |threads| {
            let threads = if workers::are_there() { threads } else { 1 };
            workers::on_each(threads, limits, meter, |session| block(threads, session))
        });
        let results = outer.results;
        let mut totals = Vec::new();
        for outcome in outcomes {
            let (flags, of_blocks): (Vec<Flag>, Vec<(i64, Vec<Tensor>)>) = outcome?;
            self.flags.extend(flags);
            totals.extend(of_blocks);
        }
        totals.sort_by_key(|(start, _)| *start);
        for (k, (v, op)) in group.totals.iter().enumerate() {
            let of_blocks: Vec<&Tensor> = totals.iter().filter_map(|(_, all)| all.get(k)).collect();
            let total = reduce(*op, &Tensor::f_stack(&of_blocks, 0).map_err(TorchError::from)?, self.scalar(*v))?;
            self.set(*v, Rt::Tensor(total.into()));
        }
        for (v, t) in results {
            self.set(v, Rt::Tensor(t.into()));
        }
        for token in steps.iter().filter(|s| matches!(s.node.op, Op::Fault { .. })).flat_map(|s| &s.node.results) {
            self.set(*token, Rt::Token);
        }
        self.settle_many()?;
        Ok(true)
    }

    /// Runs steps for some rows.
    fn rows(&mut self, group: &Group, steps: &[&Step], start: i64, len: i64) -> Result<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        let outer = block.outer;
        block.rows = len;
        for (v, t) in &outer.results {
            block.results.insert(*v, t.f_narrow(0, start, len)?);
        }
        for (v, t) in &outer.cut {
            let part = t.f_narrow(0, start, len)?;
            self.set(*v, Rt::Tensor(part.into()));
        }
        for step in steps {
            self.recorded(step)?;
            for v in &step.node.results {
                self.keep(*v)?;
            }
            self.free(&step.last_use_of);
        }
        let totals: Vec<Tensor> =
            group.totals.iter().map(|(v, _)| Ok(self.tensor(*v)?.shallow_clone())).collect::<TorchResult<_>>()?;
        if let Some(block) = self.block.as_mut().filter(|_| !totals.is_empty()) {
            block.totals.push((start, totals));
        }
        for step in steps {
            self.free(&step.node.results);
        }
        outer.cut.iter().for_each(|(v, _)| self.free(&[*v]));
        Ok(())
    }

    /// Puts a result of a block to its rows, unless it is there.
    fn keep(&mut self, v: Value) -> Result<()> {
        let Some(place) = self.block.as_ref().and_then(|b| b.results.get(&v)) else { return Ok(()) };
        let t = self.tensor(v)?;
        if t.data_ptr() == place.data_ptr() {
            return Ok(());
        }
        if t.size() != place.size() {
            let message = format!("rows of {v} have the shape {:?} where {:?} was expected", t.size(), place.size());
            return Err(Stop::from(TorchError::new(message)));
        }
        place.shallow_clone().f_copy_(t)?;
        Ok(())
    }

    /// A shape whose first extent is that of a block's rows, if there is one.
    pub(super) fn shape(&self, shape: &[Value]) -> TorchResult<Vec<i64>> {
        let mut shape = self.sizes(shape)?;
        if let (Some(first), Some(rows)) = (shape.first_mut(), self.block.as_ref().map(|b| b.rows)) {
            *first = rows;
        }
        Ok(shape)
    }

    fn dim(&self, d: Dim) -> TorchResult<i64> {
        match d {
            Dim::Const(n) => Ok(n),
            Dim::Size(v) => self.size(v),
            Dim::Of(v, axis) => Ok(self.tensor(v)?.size().get(axis).copied().unwrap_or(0)),
        }
    }

    fn dims(&self, dims: &[Dim]) -> TorchResult<Vec<i64>> {
        dims.iter().map(|d| self.dim(*d)).collect()
    }
}

/// How many rows of so many bytes a block has, of so many bytes or fewer, if so many threads share them.
fn block_rows(block: i64, rows: i64, row: i64, threads: usize) -> i64 {
    let shares = threads as i64 * 4;
    let len = (block / row.max(1)).min(rows / shares + 1).max(1);
    if len < ROWS_MULTIPLE { len } else { (len + ROWS_MULTIPLE - 1) / ROWS_MULTIPLE * ROWS_MULTIPLE }
}
