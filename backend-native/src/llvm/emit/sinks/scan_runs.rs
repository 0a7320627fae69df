//! Scans along a row with a user's operator.
//!
//! The elements of a [block](crate::kernel::grouping::SCAN_BLOCK) are kept on the stack, transposed, so that the elements of equal
//! number of all [runs](crate::kernel::grouping) lie side by side. A loop combines those of each run to its total; the totals,
//! one lane each, are scanned like the elements of a step; a second loop combines what precedes each run with its elements. The
//! results are transposed back, and a loop over the steps of the block stores them. The tile executor has the same tree.

use crate::kernel::Body;
use crate::kernel::grouping::{PARTIAL_RESULTS, SCAN_BLOCK, SCAN_RUN};
use crate::llvm::emit::access::transposed_load::SHUFFLE_LANE_BYTES;
use crate::llvm::emit::loops::loop_state::{Columns, LoopState};
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::sinks::scan::Carry;
use crate::llvm::emit::sinks::sink::{SinkEmitter, SinkOutput};
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg, Variant};
use acc_core::data::ScalarType;

/// Elements of a buffer of results: those of the last run are stored as if it had the length of a run of a whole block.
pub(crate) const KEPT_ELEMENTS: usize = SCAN_BLOCK + SCAN_RUN;

/// The buffers of a leaf.
pub(crate) struct RunBuffers {
    /// The elements in order, later the results.
    pub kept: Operand,
    /// Element `r` of all runs, then element `r + 1`.
    pub transposed: Operand,
}

/// How the elements of a block are divided.
struct Runs {
    /// The elements of a run, and how many runs there are.
    len: Operand,
    count: Operand,
    /// The elements of the last run.
    rest: Operand,
    /// The number of the last run.
    last: Operand,
}

impl Runs {
    fn of(e: &mut Emitter<'_>, elements: &Operand) -> Runs {
        let f = &mut e.code.f;
        let divided = |f: &mut Function, n: &Operand, by: &Operand| {
            let n = put!(f, "add i64 {n}, {by}");
            let n = put!(f, "sub i64 {n}, 1");
            put!(f, "udiv i64 {n}, {by}")
        };
        let len = divided(f, elements, &Operand::int(PARTIAL_RESULTS as i64));
        let count = divided(f, elements, &len);
        let last = put!(f, "sub i64 {count}, 1");
        let others = put!(f, "mul i64 {last}, {len}");
        let rest = put!(f, "sub i64 {elements}, {others}");
        Runs { len, count, rest, last }
    }

    /// Flags the runs that have an element of this number.
    fn having(&self, e: &mut Emitter<'_>, number: &Operand) -> Parts {
        let all = put!(e.code.f, "icmp slt i64 {number}, {}", self.rest);
        let count = put!(e.code.f, "select i1 {all}, i64 {}, i64 {}", self.count, self.last);
        e.code.lanes_below(&count)
    }
}

impl<'a> SinkEmitter<'a> {
    /// Scans the elements of a block that its steps have kept, and stores the results.
    pub(crate) fn end_scan_block(&self, e: &mut Emitter<'a>, state: LoopState, columns: &Columns) -> LoopState {
        let elements = put!(e.code.f, "sub i64 {}, {}", columns.to, columns.from);
        let runs = Runs::of(e, &elements);
        let (mut before, mut after) = (state.0.into_iter(), LoopState::default());
        for o in &self.outs {
            match (o.output.sink.scans_runs(), o.output.sink.combine()) {
                (true, Some(combine)) => {
                    let Some(carry) = o.carried(&mut before) else { continue };
                    let next = self.scan_runs(e, o, combine, &runs, &carry);
                    o.carry(e, next, &mut after);
                }
                _ => after.0.extend(before.by_ref().take(self.carried_by(e, o))),
            }
        }
        if self.variant == Variant::ChunkTotals {
            return after;
        }
        let stored = e.code.f.w.label();
        e.steps(columns, LoopState::default(), stored, &mut |e, number, none| {
            let first = e.code.column(number);
            e.at_column(self.lane_axis(), first.clone());
            let at = put!(e.code.f, "sub i64 {number}, {}", columns.from);
            let (parts, mut combined) = (e.code.width.parts, Vec::new());
            for o in self.outs.iter().filter(|o| o.is_scan()) {
                for (leaf, buffers) in o.leaves.iter().zip(&o.runs) {
                    let load = |e: &mut Emitter<'a>| e.code.load_contiguous(leaf.ty, &buffers.kept, &at, 1, None, "");
                    combined.push(e.on_parts(parts, load));
                }
            }
            self.store_combined(e, combined, Vec::new(), &first);
            none
        });
        e.code.f.w.start(stored);
        after
    }

    /// Scans the kept elements of an output after `carry`; returns the next carry.
    fn scan_runs(
        &self,
        e: &mut Emitter<'a>,
        o: &SinkOutput<'a>,
        combine: &'a Body,
        runs: &Runs,
        carry: &Carry,
    ) -> Carry {
        let types = o.types();
        for (buffers, &ty) in o.runs.iter().zip(&types) {
            e.code.transpose_runs(ty, buffers, runs);
        }
        let totals = self.totals_of_runs(e, o, combine, runs);
        let there = e.code.lanes_below(&runs.count);
        let outer = std::mem::replace(&mut e.code.mask, Mask::Lanes(there));
        if self.variant == Variant::ChunkTotals {
            let next = e.fold_by(combine, &types, &totals, carry, Some(&runs.last));
            e.code.mask = outer;
            return next;
        }
        let (through, next) = e.scan_by(combine, &types, &totals, carry, Some(&runs.last));
        // What precedes a run: everything up to the run before, or the carry.
        let lanes = e.code.width.lanes;
        let shifted = |((parts, carried), &ty): ((&Parts, &Operand), &ScalarType)| {
            let earlier = std::iter::once(carried).chain(parts);
            let pairs = earlier.zip(parts);
            pairs.map(|(a, b)| e.code.shuffle(ty, a, b, &|k| lanes + k - 1)).collect()
        };
        let mut before: Vec<Parts> = through.iter().zip(&carry.leaves).zip(&types).map(shifted).collect();
        let mut preceded = carry.there.clone();
        if self.is_preceded(o) {
            let chunk = self.before_chunk(e, o);
            let later = e.code.but_first(&carry.there);
            let flags = later.iter().map(|flag| {
                let there = e.code.splat(&chunk.there, "i1");
                let mask = e.code.mask_type();
                Some(match flag {
                    Some(flag) => put!(e.code.f, "and {mask} {flag}, {there}"),
                    None => there,
                })
            });
            let flags: Vec<_> = flags.collect();
            let parts = e.code.width.parts;
            let firsts = chunk.leaves.iter().map(|b| Value::Varying(smallvec::smallvec![b.clone(); parts]));
            let combined = e.combined_where(combine, &types, firsts.collect(), &before, &flags);
            let mask = e.code.mask_type();
            before = combined;
            for ((parts, chunk), &ty) in before.iter_mut().zip(&chunk.leaves).zip(&types) {
                if let Some(flag) = &later[0] {
                    let t = e.code.vector(ty);
                    parts[0] = put!(e.code.f, "select {mask} {flag}, {t} {}, {t} {chunk}", parts[0]);
                }
            }
            preceded = put!(e.code.f, "or i1 {preceded}, {}", chunk.there);
        }
        e.code.mask = outer;
        e.results_of_runs(combine, &types, &o.runs, runs, before, &preceded);
        for (buffers, &ty) in o.runs.iter().zip(&types) {
            e.code.transpose_results(ty, buffers, runs);
        }
        next
    }
}

impl<'a> SinkEmitter<'a> {
    /// The total of each run: in the pass for the results of a chunk those that the pass for its total has left.
    fn totals_of_runs(&self, e: &mut Emitter<'a>, o: &SinkOutput<'a>, combine: &'a Body, runs: &Runs) -> Vec<Parts> {
        let (types, parts) = (o.types(), e.code.width.parts);
        if self.variant == Variant::BatchedRows {
            return e.totals_of_runs(combine, &types, &o.runs, runs);
        }
        let memories: Vec<Operand> = o.leaves.iter().map(|l| e.code.f.arg(KernelArg::RunTotals(l.number))).collect();
        let Some(memory) = memories.first() else { return Vec::new() };
        let left = put!(e.code.f, "icmp ne ptr {memory}, null");
        let at = put!(e.code.f, "sub i64 {}, {}", self.scan_block, self.start);
        let at = put!(e.code.f, "udiv i64 {at}, {SCAN_RUN}");
        if self.variant == Variant::ChunkTotals {
            let totals = e.totals_of_runs(combine, &types, &o.runs, runs);
            e.if_then(&left, &[], Vec::new(), |e, none| {
                for ((parts, memory), &ty) in totals.iter().zip(&memories).zip(&types) {
                    e.spill_lanes(ty, parts, memory, &at);
                }
                none
            });
            return totals;
        }
        let vectors = types.iter().flat_map(|&ty| std::iter::repeat_n(e.code.vector(ty), parts));
        let vectors: Vec<String> = vectors.collect();
        let load = |e: &mut Emitter<'a>, _| {
            let leaves = memories.iter().zip(&types);
            let loaded = leaves.flat_map(|(memory, &ty)| e.code.load_contiguous(ty, memory, &at, 1, None, ""));
            loaded.collect::<Vec<_>>()
        };
        let compute =
            |e: &mut Emitter<'a>, _| e.totals_of_runs(combine, &types, &o.runs, runs).into_iter().flatten().collect();
        by_leaves(e.if_else(&left, &vectors, Vec::new(), load, compute).into_iter(), parts)
    }
}

impl<'a> Emitter<'a> {
    /// The total of each run.
    fn totals_of_runs(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        buffers: &[RunBuffers],
        runs: &Runs,
    ) -> Vec<Parts> {
        let parts = self.code.width.parts;
        let firsts: Vec<Parts> = self.elements_of_runs(types, buffers, &Operand::int(0));
        let vectors: Vec<String> =
            types.iter().flat_map(|&ty| std::iter::repeat_n(self.code.vector(ty), parts)).collect();
        let several = put!(self.code.f, "icmp sgt i64 {}, 1", runs.len);
        let flat: Vec<Operand> = firsts.into_iter().flatten().collect();
        let totals = self.if_then(&several, &vectors.clone(), flat, |e, firsts| {
            let state = LoopState(firsts.into_iter().zip(vectors).collect());
            e.counted_loop([&Operand::int(1), &runs.len], 1, state, None, |e, r, totals| {
                let totals = by_leaves(totals.0.into_iter().map(|(o, _)| o), parts);
                let flags: Vec<_> = runs.having(e, r).into_iter().map(Some).collect();
                let next = e.elements_of_runs(types, buffers, r);
                let earlier = totals.iter().cloned().map(Value::Varying).collect();
                let later = next.into_iter().map(Value::Varying).collect();
                e.in_order_where(body, types, [earlier, later], &flags, &totals).into_iter().flatten().collect()
            })
        });
        by_leaves(totals.into_iter(), parts)
    }

    /// Replaces the elements of each run by the results: each combined with those before it in the run, after what precedes the
    /// run, which nothing does the first one unless `preceded`.
    fn results_of_runs(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        buffers: &[RunBuffers],
        runs: &Runs,
        before: Vec<Parts>,
        preceded: &Operand,
    ) {
        let parts = self.code.width.parts;
        let vectors = types.iter().flat_map(|&ty| std::iter::repeat_n(self.code.vector(ty), parts));
        let state = LoopState(before.into_iter().flatten().zip(vectors).collect());
        self.counted_loop([&Operand::int(0), &runs.len], 1, state, None, |e, r, before| {
            let before = by_leaves(before.0.into_iter().map(|(o, _)| o), parts);
            let inside = put!(e.code.f, "icmp ne i64 {r}, 0");
            let there = put!(e.code.f, "or i1 {inside}, {preceded}");
            let (mask, later) = (e.code.mask_type(), e.code.but_first(&there));
            let having = runs.having(e, r);
            let flags = having.iter().zip(&later).map(|(having, later)| match later {
                Some(later) => Some(put!(e.code.f, "and {mask} {having}, {later}")),
                None => Some(having.clone()),
            });
            let flags: Vec<_> = flags.collect();
            let elements = e.elements_of_runs(types, buffers, r);
            let earlier = before.into_iter().map(Value::Varying).collect();
            let results = e.combined_where(body, types, earlier, &elements, &flags);
            let at = put!(e.code.f, "mul i64 {r}, {PARTIAL_RESULTS}");
            for ((parts, buffers), &ty) in results.iter().zip(buffers).zip(types) {
                e.spill_lanes(ty, parts, &buffers.transposed, &at);
            }
            results.into_iter().flatten().collect()
        });
    }

    /// Element `number` of each run.
    fn elements_of_runs(&mut self, types: &[ScalarType], buffers: &[RunBuffers], number: &Operand) -> Vec<Parts> {
        let at = put!(self.code.f, "mul i64 {number}, {PARTIAL_RESULTS}");
        let leaves = types.iter().zip(buffers);
        leaves.map(|(&ty, b)| self.code.load_contiguous(ty, &b.transposed, &at, 1, None, "")).collect()
    }
}

/// Vectors, leaf by leaf.
fn by_leaves(mut vectors: impl Iterator<Item = Operand>, parts: usize) -> Vec<Parts> {
    std::iter::from_fn(|| Some(vectors.by_ref().take(parts).collect::<Parts>()).filter(|p| !p.is_empty())).collect()
}

impl VectorCode {
    /// Flags all lanes, the first one only under a condition; parts without flags have all lanes.
    fn but_first(&mut self, first: &Operand) -> Vec<Option<Operand>> {
        let (mask, later) = (self.mask_type(), self.lanes_where(|k| k > 0));
        let first = self.splat(first, "i1");
        let mut flags = vec![None; self.width.parts];
        flags[0] = Some(put!(self.f, "or {mask} {first}, {later}"));
        flags
    }

    /// Transposes the kept elements of a leaf.
    fn transpose_runs(&mut self, ty: ScalarType, buffers: &RunBuffers, runs: &Runs) {
        let RunBuffers { kept, transposed } = buffers;
        self.squares_of_runs(ty, runs, |c, rows, run| {
            for of_run in (0..SCAN_RUN).step_by(rows) {
                let square = (0..rows).map(|k| {
                    let at = c.place_in_run(run, k, &runs.len, of_run);
                    c.load_row(ty, rows, kept, &at)
                });
                let square = square.collect();
                for (k, row) in c.f.transpose(square, &memory_of(ty), SHUFFLE_LANE_BYTES / ty.size()).iter().enumerate()
                {
                    let at = put!(c.f, "add i64 {run}, {}", (of_run + k) * PARTIAL_RESULTS);
                    c.store_row(ty, rows, row, transposed, &at);
                }
            }
        });
    }

    /// Transposes the results of a leaf back. Each run is stored as if it had [`SCAN_RUN`] elements; those behind its last one are
    /// overwritten by the next run.
    fn transpose_results(&mut self, ty: ScalarType, buffers: &RunBuffers, runs: &Runs) {
        let RunBuffers { kept, transposed } = buffers;
        self.squares_of_runs(ty, runs, |c, rows, run| {
            let squares = (0..SCAN_RUN).step_by(rows).map(|of_run| {
                let square = (0..rows).map(|k| {
                    let at = put!(c.f, "add i64 {run}, {}", (of_run + k) * PARTIAL_RESULTS);
                    c.load_row(ty, rows, transposed, &at)
                });
                let square = square.collect();
                (of_run, c.f.transpose(square, &memory_of(ty), SHUFFLE_LANE_BYTES / ty.size()))
            });
            let squares: Vec<_> = squares.collect();
            for k in 0..rows {
                for (of_run, square) in &squares {
                    let at = c.place_in_run(run, k, &runs.len, *of_run);
                    c.store_row(ty, rows, &square[k], kept, &at);
                }
            }
        });
    }

    /// A loop over the runs, as many at a time as rows are transposed at once.
    fn squares_of_runs(&mut self, ty: ScalarType, runs: &Runs, write: impl FnOnce(&mut Self, usize, &Operand)) {
        let rows = self.f.transposed_rows(ty.size());
        self.counted_loop([&Operand::int(0), &runs.count], rows, LoopState::default(), None, |c, run, _| {
            write(c, rows, run);
            Vec::new()
        });
    }

    /// The place of an element of the run that is `k` after `run`.
    fn place_in_run(&mut self, run: &Operand, k: usize, len: &Operand, number: usize) -> Operand {
        let run = put!(self.f, "add i64 {run}, {k}");
        let at = put!(self.f, "mul i64 {run}, {len}");
        put!(self.f, "add i64 {at}, {number}")
    }

    fn load_row(&mut self, ty: ScalarType, n: usize, memory: &Operand, at: &Operand) -> Operand {
        let (mem, size) = (memory_of(ty), ty.size());
        let p = put!(self.f, "getelementptr {mem}, ptr {memory}, i64 {at}");
        put!(self.f, "load <{n} x {mem}>, ptr {p}, align {size}")
    }

    fn store_row(&mut self, ty: ScalarType, n: usize, row: &Operand, memory: &Operand, at: &Operand) {
        let (mem, size) = (memory_of(ty), ty.size());
        let p = put!(self.f, "getelementptr {mem}, ptr {memory}, i64 {at}");
        self.f.w.line(format_args!("store <{n} x {mem}> {row}, ptr {p}, align {size}"));
    }
}

/// Elements in memory as integers.
fn memory_of(ty: ScalarType) -> String {
    format!("i{}", ty.size() * 8)
}
