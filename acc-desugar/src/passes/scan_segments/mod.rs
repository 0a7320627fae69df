//! Segmented folds as scans with flags, as loops over runs, or with their segments checked.
//!
//! A fold of segments becomes a scan of all elements, whose operator restarts where a segment begins, and a read at
//! the end of each segment: balanced however long the segments are. Where loops suit an executor better it asks for
//! [`mod@runs`]. Where a backend has something better for an operator it says so, and such folds stay.

mod code;
mod runs;

use crate::analysis::readers::Readers;
use crate::settings::{Segmented, Settings};
use acc_core::Error;
use acc_core::data::{EltType, Prim, ScalarType};
use acc_core::ir::{
    ArrayId, ArrayOp, ArrayType, Block, Dir, Fun, Loc, PrimOp, Program, Read, Region, SEGMENT_EMPTY, SEGMENTS_WRONG,
    ScalarOp, Stmt, Val,
};
use code::Code;
use smallvec::smallvec;
use std::borrow::Cow;

/// Makes of segmented folds what the executor says, by their operator and, if there is one, initial value.
pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    let fate = &|f: &Fun, init: Option<&Fun>| (settings.segmented)(settings.faults, f, init);
    if !any_folds(&program.body, fate) {
        return Ok(Cow::Borrowed(program));
    }
    let mut p = Pass { types: program.types.clone(), readers: Readers::new(&program.body), fate };
    let body = p.block(&program.body);
    Ok(Cow::Owned(Program { types: p.types, names: program.names.clone(), body }))
}

/// A segmented fold as a scan with flags: statements of the same result, and checks of its segments before.
pub(crate) fn as_scan(types: &mut Vec<ArrayType>, s: &Stmt) -> Vec<Stmt> {
    let block = Block { params: Vec::new(), stmts: vec![s.clone()], results: Vec::new() };
    let readers = Readers::new(&block);
    let mut p = Pass { types: std::mem::take(types), readers, fate: &|_, _| Segmented::Scan };
    let block = p.block(&block);
    *types = p.types;
    block.stmts.clone()
}

fn any_folds(b: &Block, fate: &dyn Fn(&Fun, Option<&Fun>) -> Segmented) -> bool {
    b.stmts.iter().any(|s| match &s.op {
        ArrayOp::FoldSeg { f, init, .. } => fate(f, init.as_ref()) != Segmented::Kept,
        op => op.blocks().into_iter().any(|b| acc_core::grow_stack(|| any_folds(b, fate))),
    })
}

struct Pass<'a> {
    types: Vec<ArrayType>,
    readers: Readers,
    fate: &'a dyn Fn(&Fun, Option<&Fun>) -> Segmented,
}

impl Pass<'_> {
    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            if let ArrayOp::FoldSeg { f, init, xs, offsets } = &s.op {
                let fold = SegmentedFold { f, init: init.as_ref(), xs: *xs, result: s.results[0], loc: &s.loc };
                match (self.fate)(f, init.as_ref()) {
                    Segmented::Scan => {
                        let offsets = self.checked(&fold, *offsets, &mut stmts);
                        self.scan(&fold, offsets, &mut stmts);
                        continue;
                    }
                    Segmented::Runs => {
                        let offsets = self.checked(&fold, *offsets, &mut stmts);
                        self.runs(&fold, offsets, b, &mut stmts);
                        continue;
                    }
                    Segmented::Checked => {
                        let offsets = self.checked(&fold, *offsets, &mut stmts);
                        let op = ArrayOp::FoldSeg { f: f.clone(), init: init.clone(), xs: *xs, offsets };
                        stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
                        continue;
                    }
                    Segmented::Kept => {}
                }
            }
            let op = crate::map_op(&s.op, &mut |f: &Fun| f.clone(), &mut |a| a, &mut |b, _| self.block(b));
            stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    fn array(&mut self, rank: usize, elt: EltType) -> ArrayId {
        self.types.push(ArrayType { rank, elt });
        ArrayId(self.types.len() as u32 - 1)
    }

    /// The offsets of a fold's segments, once these are there.
    fn checked(&mut self, fold: &SegmentedFold<'_>, offsets: ArrayId, out: &mut Vec<Stmt>) -> ArrayId {
        let mut add = fold.adder(out);
        let rank = self.types[fold.xs.index()].rank;
        let int = EltType::Scalar(ScalarType::I64);
        let offsets_elt = |p: &mut Self| p.array(1, int.clone());
        let some = fold.some_offsets(offsets, rank);
        let offsets = add(offsets_elt(self), check(some, SEGMENTS_WRONG, offsets));
        let lengths = add(offsets_elt(self), fold.lengths(offsets));
        let least = add(self.array(0, int.clone()), fold.least(lengths));
        let ascending = fold.within(offsets, least, rank);
        let offsets = add(offsets_elt(self), check(ascending, SEGMENTS_WRONG, offsets));
        match fold.init {
            Some(_) => offsets,
            None => add(offsets_elt(self), check(fold.none_empty(least), SEGMENT_EMPTY, offsets)),
        }
    }

    fn scan(&mut self, fold: &SegmentedFold<'_>, offsets: ArrayId, out: &mut Vec<Stmt>) {
        let loc = fold.loc;
        let mut add = fold.adder(out);
        let ArrayType { rank, elt } = self.types[fold.xs.index()].clone();
        let flag = EltType::Scalar(ScalarType::Bool);

        // Which elements are the first of a segment.
        let [one_each, none] = [fold.count(offsets), fold.extent_of(fold.xs, rank - 1)];
        let ones = add(self.array(1, flag.clone()), fill(one_each, true, loc));
        let zeros = add(self.array(1, flag.clone()), fill(none, false, loc));
        let heads = add(self.array(1, flag.clone()), fold.mark(offsets, ones, zeros));

        let marked_elt = EltType::tuple([flag, elt.clone()]);
        let marked = add(self.array(rank, marked_elt.clone()), fold.marked(heads, offsets, rank, &elt));
        let scanned = ArrayOp::Scan { dir: Dir::Left, f: fold.restarting(&elt), init: None, xs: marked };
        let scanned = add(self.array(rank, marked_elt), scanned);
        add(fold.result, fold.read(offsets, scanned, rank, &elt));
    }
}

fn check(ok: Fun, message: &str, xs: ArrayId) -> ArrayOp {
    ArrayOp::Check { ok, message: message.into(), xs }
}

fn fill(shape: Fun, value: impl Prim, loc: &Loc) -> ArrayOp {
    let mut c = Code::new([ScalarType::I64], loc);
    let value = c.literal(value.lit());
    ArrayOp::Generate { shape, f: c.done([value]) }
}

/// A segmented fold.
struct SegmentedFold<'a> {
    f: &'a Fun,
    init: Option<&'a Fun>,
    xs: ArrayId,
    result: ArrayId,
    loc: &'a Loc,
}

impl SegmentedFold<'_> {
    /// Adds statements; yields their results.
    fn adder<'o>(&self, out: &'o mut Vec<Stmt>) -> impl FnMut(ArrayId, ArrayOp) -> ArrayId + use<'o> {
        let loc = self.loc.clone();
        move |result, op| {
            out.push(Stmt { results: smallvec![result], op, loc: loc.clone() });
            result
        }
    }

    fn closed(&self) -> Code {
        Code::new([], self.loc)
    }

    /// Whether there are offsets, and the rows' extent.
    fn some_offsets(&self, offsets: ArrayId, rank: usize) -> Fun {
        let mut c = self.closed();
        let (n, one, extent) = (c.extent(offsets, 0), c.int(1), c.extent(self.xs, rank - 1));
        let some = c.prim(PrimOp::GeP, [n, one]);
        c.done([some, extent])
    }

    fn lengths(&self, offsets: ArrayId) -> ArrayOp {
        let mut c = Code::new([ScalarType::I64], self.loc);
        let k = Val(0);
        let (start, end) = c.segment(offsets, k);
        // From an offset that is not negative this does not wrap, and an end that is negative stays a wrong one.
        let none = c.int(-1);
        let end = c.prim(PrimOp::MaxP, [end, none]);
        let length = c.prim(PrimOp::SubP, [end, start]);
        ArrayOp::Generate { shape: self.count(offsets), f: c.done([length]) }
    }

    /// How many segments there are.
    fn count(&self, offsets: ArrayId) -> Fun {
        let mut c = self.closed();
        let count = c.count(offsets);
        c.done([count])
    }

    fn extent_of(&self, a: ArrayId, axis: usize) -> Fun {
        let mut c = self.closed();
        let n = c.extent(a, axis);
        c.done([n])
    }

    /// The least length, or 1 where that is less.
    fn least(&self, lengths: ArrayId) -> ArrayOp {
        let mut c = Code::new([ScalarType::I64; 2], self.loc);
        let least = c.prim(PrimOp::MinP, [Val(0), Val(1)]);
        let f = c.done([least]);
        let mut c = self.closed();
        let one = c.int(1);
        ArrayOp::Fold { f, init: Some(c.done([one])), xs: lengths }
    }

    /// Whether the segments, of which the shortest has this length, are within the rows; and the rows' extent.
    fn within(&self, offsets: ArrayId, least: ArrayId, rank: usize) -> Fun {
        let mut c = self.closed();
        let (zero, extent, count) = (c.int(0), c.extent(self.xs, rank - 1), c.count(offsets));
        let [least, first, last] = [c.element(least, &[]), c.element(offsets, &[zero]), c.element(offsets, &[count])];
        let ascending = c.prim(PrimOp::GeP, [least, zero]);
        let begin = c.prim(PrimOp::GeP, [first, zero]);
        let end = c.prim(PrimOp::LeP, [last, extent]);
        let within = c.prim(PrimOp::AndP, [begin, end]);
        let ok = c.prim(PrimOp::AndP, [ascending, within]);
        c.done([ok, extent])
    }

    fn none_empty(&self, least: ArrayId) -> Fun {
        let mut c = self.closed();
        let (one, least) = (c.int(1), c.element(least, &[]));
        let ok = c.prim(PrimOp::GeP, [least, one]);
        c.done([ok])
    }

    fn mark(&self, offsets: ArrayId, ones: ArrayId, zeros: ArrayId) -> ArrayOp {
        let combine = Code::new([ScalarType::Bool; 2], self.loc).done([Val(0)]);
        let mut c = Code::new([ScalarType::I64], self.loc);
        let (start, end) = c.segment(offsets, Val(0));
        let some = c.prim(PrimOp::LtP, [start, end]);
        let keep = c.emit(ScalarOp::Cast(some), ScalarType::U8);
        ArrayOp::Permute { combine, defaults: zeros, target: c.done([keep, start]), xs: ones }
    }

    /// Each element with whether it is the first of a segment, or in none: what is outside of all is combined with nothing by an
    /// operator that may fault or not end.
    fn marked(&self, heads: ArrayId, offsets: ArrayId, rank: usize, elt: &EltType) -> ArrayOp {
        let index = [ScalarType::I64].repeat(rank);
        let mut c = Code::new(index.into_iter().chain(elt.leaves()), self.loc);
        let element = c.params().split_off(rank);
        let at = Val(rank as u32 - 1);
        let head = ScalarOp::Index(Read::new(heads, [0].as_slice(), [at].as_slice()));
        let head = c.emit(head, ScalarType::Bool);
        let mark = if self.f.body.is_partial() {
            let (zero, count) = (c.int(0), c.count(offsets));
            let [first, last] = [zero, count].map(|k| c.element(offsets, &[k]));
            let (before, after) = (c.prim(PrimOp::LtP, [at, first]), c.prim(PrimOp::GeP, [at, last]));
            let outside = c.prim(PrimOp::OrP, [before, after]);
            c.prim(PrimOp::OrP, [head, outside])
        } else {
            head
        };
        ArrayOp::Map { f: c.done(std::iter::once(mark).chain(element)), xs: vec![self.xs], indexed: true }
    }

    /// The operator that restarts at a mark.
    fn restarting(&self, elt: &EltType) -> Fun {
        let leaves = elt.leaves();
        let one = || std::iter::once(ScalarType::Bool).chain(leaves.iter().copied());
        let mut c = Code::new(one().chain(one()), self.loc);
        let params = c.params();
        let (left, right) = params.split_at(leaves.len() + 1);
        let mark = c.prim(PrimOp::OrP, [left[0], right[0]]);
        let (else_, results) = c.apart(self.f, &[&left[1..], &right[1..]].concat());
        let then = Region { params: Vec::new(), nodes: Vec::new(), results: right[1..].to_vec() };
        let results = c.choice(right[0], then, Region { params: Vec::new(), nodes: else_, results }, &leaves);
        c.done(std::iter::once(mark).chain(results))
    }

    /// The reduction of each segment: its last element.
    fn read(&self, offsets: ArrayId, scanned: ArrayId, rank: usize, elt: &EltType) -> ArrayOp {
        let mut c = self.closed();
        let mut shape: Vec<Val> = (0..rank - 1).map(|axis| c.extent(self.xs, axis)).collect();
        shape.push(c.count(offsets));
        let shape = c.done(shape);
        let leaves = elt.leaves();
        let mut c = Code::new([ScalarType::I64].repeat(rank), self.loc);
        let mut index = c.params();
        let (start, end) = c.segment(offsets, Val(rank as u32 - 1));
        let one = c.int(1);
        let last = c.prim(PrimOp::SubP, [end, one]);
        index[rank - 1] = last;
        let read = ScalarOp::Index(Read::new(scanned, (1..=leaves.len() as u32).collect::<Vec<_>>(), index));
        let Some(init) = self.init else {
            let sums = c.emit_all(read, &leaves);
            return ArrayOp::Generate { shape, f: c.done(sums) };
        };
        let some = c.prim(PrimOp::LtP, [start, end]);
        let init = c.inline(init, &[]);
        let sums = c.fresh(&leaves);
        let mut nodes = vec![c.node(sums.iter().copied(), read)];
        let (combined, results) = c.apart(self.f, &[init.clone(), sums].concat());
        nodes.extend(combined);
        let then = Region { params: Vec::new(), nodes, results };
        let else_ = Region { params: Vec::new(), nodes: Vec::new(), results: init };
        let results = c.choice(some, then, else_, &leaves);
        ArrayOp::Generate { shape, f: c.done(results) }
    }
}
