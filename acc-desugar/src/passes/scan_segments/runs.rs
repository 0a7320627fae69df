//! Segmented folds as loops over runs.
//!
//! A segment is cut into runs of at most [`RUN_ELEMENTS`] elements. One statement folds the elements of each run in order, and
//! another the runs of each segment: no element is stored, the operator is applied once for each, and neither many short segments
//! nor a few long ones leave lanes or threads without work.

use super::{Pass, SegmentedFold, fill};
use crate::passes::scan_segments::code::Code;
use acc_core::data::{EltType, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Block, Dir, Fun, PrimOp, Read, ScalarOp, Stmt, Val};
use smallvec::SmallVec;

/// The most elements of a run, as a power of two.
const LOG2_RUN_ELEMENTS: i64 = 5;
/// The most elements of a run.
const RUN_ELEMENTS: i64 = 1 << LOG2_RUN_ELEMENTS;

/// What the elements of a fold are read from.
enum Elements<'a> {
    /// Their array.
    Stored(ArrayId),
    /// The arrays that a function maps to them, each with the types of its elements.
    Mapped { f: &'a Fun, indexed: bool, xs: Vec<(ArrayId, Vec<ScalarType>)> },
}

impl Elements<'_> {
    fn read(&self, c: &mut Code, index: &[Val], leaves: &[ScalarType]) -> Vec<Val> {
        match self {
            Elements::Stored(xs) => read(c, *xs, index, leaves),
            Elements::Mapped { f, indexed, xs } => {
                let mut args = if *indexed { index.to_vec() } else { Vec::new() };
                for (x, leaves) in xs {
                    args.extend(read(c, *x, index, leaves));
                }
                c.inline(f, &args)
            }
        }
    }
}

fn read(c: &mut Code, xs: ArrayId, index: &[Val], leaves: &[ScalarType]) -> Vec<Val> {
    let columns: Vec<u32> = (0..leaves.len() as u32).collect();
    c.emit_all(ScalarOp::Index(Read::new(xs, columns, index.to_vec())), leaves)
}

impl Pass<'_> {
    /// A segmented fold of a block, whose segments are there.
    pub(super) fn runs(&mut self, fold: &SegmentedFold<'_>, offsets: ArrayId, block: &Block, out: &mut Vec<Stmt>) {
        let elt = self.types[fold.xs.index()].elt.clone();
        let rank = self.types[fold.xs.index()].rank;
        let elements = self.elements(fold.xs, block);
        let mut add = fold.adder(out);
        let numbers = |p: &mut Self| p.array(1, EltType::Scalar(ScalarType::I64));
        let counts = add(numbers(self), fold.run_counts(offsets));
        let firsts = add(numbers(self), fold.first_runs(counts));
        let none = add(numbers(self), fill(fold.all_runs(firsts), 0i64, fold.loc));
        let ids = add(numbers(self), fold.numbered(offsets));
        let heads = add(numbers(self), fold.heads(offsets, firsts, ids, none));
        let owners = add(numbers(self), fold.owners(heads));
        let runs = Runs { fold, offsets, firsts, leaves: elt.leaves(), rank };
        let totals = add(self.array(rank, elt.clone()), runs.totals(owners, &elements));
        add(fold.result, runs.of_segments(totals));
    }

    /// A function that maps arrays to the elements, if it is of no use but for this fold, and may be evaluated for any of them.
    fn elements<'b>(&self, xs: ArrayId, block: &'b Block) -> Elements<'b> {
        let source = block.stmts.iter().find(|s| s.results.contains(&xs));
        match source.map(|s| &s.op) {
            Some(ArrayOp::Map { f, xs: from, indexed }) if !f.body.is_partial() && self.readers.is_one(xs) => {
                let leaves = |a: &ArrayId| (*a, self.types[a.index()].elt.leaves().to_vec());
                Elements::Mapped { f, indexed: *indexed, xs: from.iter().map(leaves).collect() }
            }
            _ => Elements::Stored(xs),
        }
    }
}

impl SegmentedFold<'_> {
    /// How many runs each segment has.
    fn run_counts(&self, offsets: ArrayId) -> ArrayOp {
        let mut c = Code::new([ScalarType::I64], self.loc);
        let (start, end) = c.segment(offsets, Val(0));
        let length = c.prim(PrimOp::SubP, [end, start]);
        let (more, bits) = (c.int(RUN_ELEMENTS - 1), c.int(LOG2_RUN_ELEMENTS));
        let length = c.prim(PrimOp::AddP, [length, more]);
        let count = c.prim(PrimOp::ShrP, [length, bits]);
        ArrayOp::Generate { shape: self.count(offsets), f: c.done([count]) }
    }

    /// The number of each segment's first run, and the number of all runs.
    fn first_runs(&self, counts: ArrayId) -> ArrayOp {
        ArrayOp::Scan { dir: Dir::Left, f: self.of_numbers(PrimOp::AddP), init: self.zero(), xs: counts }
    }

    fn of_numbers(&self, p: PrimOp) -> Fun {
        let mut c = Code::new([ScalarType::I64; 2], self.loc);
        let both = c.prim(p, [Val(0), Val(1)]);
        c.done([both])
    }

    /// The number of all runs.
    fn all_runs(&self, firsts: ArrayId) -> Fun {
        let mut c = self.closed();
        let all = c.last(firsts);
        c.done([all])
    }

    /// The segments' numbers.
    fn numbered(&self, offsets: ArrayId) -> ArrayOp {
        let c = Code::new([ScalarType::I64], self.loc);
        ArrayOp::Generate { shape: self.count(offsets), f: c.done([Val(0)]) }
    }

    /// At each segment's first run the segment's number.
    fn heads(&self, offsets: ArrayId, firsts: ArrayId, ids: ArrayId, none: ArrayId) -> ArrayOp {
        let combine = Code::new([ScalarType::I64; 2], self.loc).done([Val(0)]);
        let mut c = Code::new([ScalarType::I64], self.loc);
        let (start, end) = c.segment(offsets, Val(0));
        let some = c.prim(PrimOp::LtP, [start, end]);
        let keep = c.emit(ScalarOp::Cast(some), ScalarType::U8);
        let first = c.element(firsts, &[Val(0)]);
        ArrayOp::Permute { combine, defaults: none, target: c.done([keep, first]), xs: ids }
    }

    /// The segment of the run before each one; with an initial value, so that no fold of runs is its epilogue, which threads share
    /// in longer pieces.
    fn owners(&self, heads: ArrayId) -> ArrayOp {
        ArrayOp::Scan { dir: Dir::Left, f: self.of_numbers(PrimOp::MaxP), init: self.zero(), xs: heads }
    }

    fn zero(&self) -> Option<Fun> {
        let mut c = self.closed();
        let zero = c.int(0);
        Some(c.done([zero]))
    }
}

/// The runs of the segments of a fold.
struct Runs<'a> {
    fold: &'a SegmentedFold<'a>,
    offsets: ArrayId,
    /// The number of each segment's first run.
    firsts: ArrayId,
    /// The types of an element.
    leaves: SmallVec<[ScalarType; 4]>,
    rank: usize,
}

impl Runs<'_> {
    /// The extents of the rows but for the last one, which is what `last` writes.
    fn shape(&self, last: impl FnOnce(&mut Code) -> Val) -> Fun {
        let mut c = self.fold.closed();
        let mut shape: Vec<Val> = (0..self.rank - 1).map(|axis| c.extent(self.fold.xs, axis)).collect();
        shape.push(last(&mut c));
        c.done(shape)
    }

    /// Code of a function of an index, and the index.
    fn at_index(&self) -> (Code, Vec<Val>) {
        let c = Code::new([ScalarType::I64].repeat(self.rank), self.fold.loc);
        let index = c.params();
        (c, index)
    }

    /// The elements of each run, combined in order.
    fn totals(&self, owners: ArrayId, elements: &Elements<'_>) -> ArrayOp {
        let (mut c, mut index) = self.at_index();
        let inner = self.rank - 1;
        let run = index[inner];
        let one = c.int(1);
        let after = c.prim(PrimOp::AddP, [run, one]);
        let segment = c.element(owners, &[after]);
        let (start, end) = c.segment(self.offsets, segment);
        let first = c.element(self.firsts, &[segment]);
        let (bits, most) = (c.int(LOG2_RUN_ELEMENTS), c.int(RUN_ELEMENTS));
        let number = c.prim(PrimOp::SubP, [run, first]);
        let before = c.prim(PrimOp::ShlP, [number, bits]);
        let start = c.prim(PrimOp::AddP, [start, before]);
        let whole = c.prim(PrimOp::AddP, [start, most]);
        let end = c.prim(PrimOp::MinP, [end, whole]);
        index[inner] = start;
        let total = elements.read(&mut c, &index, &self.leaves);
        let second = c.prim(PrimOp::AddP, [start, one]);
        let total = c.counted([second, end], &total, |c, k, total| {
            index[inner] = k;
            let element = elements.read(c, &index, &self.leaves);
            c.inline(self.fold.f, &[total, &element].concat())
        });
        ArrayOp::Generate { shape: self.shape(|c| c.last(self.firsts)), f: c.done(total) }
    }

    /// The totals of each segment's runs, combined in order, after the initial value.
    fn of_segments(&self, totals: ArrayId) -> ArrayOp {
        let (mut c, mut index) = self.at_index();
        let inner = self.rank - 1;
        let (first, end) = c.segment(self.firsts, index[inner]);
        let (from, total) = match self.fold.init {
            Some(init) => (first, c.inline(init, &[])),
            None => {
                index[inner] = first;
                let one = c.int(1);
                (c.prim(PrimOp::AddP, [first, one]), read(&mut c, totals, &index, &self.leaves))
            }
        };
        let total = c.counted([from, end], &total, |c, run, total| {
            index[inner] = run;
            let own = read(c, totals, &index, &self.leaves);
            c.inline(self.fold.f, &[total, &own].concat())
        });
        ArrayOp::Generate { shape: self.shape(|c| c.count(self.offsets)), f: c.done(total) }
    }
}
