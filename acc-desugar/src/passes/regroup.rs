//! Folds by partial results, where a schedule says so.
//!
//! Of a fold over `k` terms, in tiles of `n`, become
//!
//! 1. the partial results: for each full tile the fold of its terms, computed by the loops of the schedule;
//! 2. the fold of these and then of the `k % n` terms that no full tile has, in order from the initial value of the program's fold.
//!
//! No neutral element is needed, so that the operator may be any. Where the terms are folds themselves that the nest has (folds of
//! folds), these move along.
//!
//! Each term is computed once, as before: what the fold alone reads is written once more for either kind of term, at the indices that
//! these have, so that nothing is stored because two statements read it.

use crate::analysis::contraction::Definitions;
use crate::analysis::readers::{Readers, visit_reads};
use crate::passes::simplify::map_op;
use crate::settings::Settings;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{
    ArrayId, ArrayOp, ArrayType, Axis, Block, Class, Fun, Loc, Names, PrimOp, Program, Schedule, Stmt, Val,
};
use acc_core::{BuildError, Error};
use smallvec::smallvec;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Makes partial results of folds that are regrouped.
pub(crate) fn pass<'p>(program: &'p Program, _: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    let defs = Definitions::new(program);
    let mut wanted = HashMap::new();
    find(program, &defs, &program.body, &mut wanted)?;
    if wanted.is_empty() {
        return Ok(Cow::Borrowed(program));
    }
    let arrays = (0..program.types.len()).filter_map(|k| u32::try_from(k).ok().map(ArrayId));
    let names = arrays.map(|a| program.names.get(a).cloned()).collect();
    let mut p = Pass { defs, types: program.types.clone(), names, wanted, readers: Readers::new(&program.body) };
    let body = p.block(&program.body);
    Ok(Cow::Owned(Program { types: p.types, names: Names::new(p.names), body }))
}

/// A schedule of partial results, and where the program says it.
#[derive(Clone, Copy)]
struct Wanted<'p> {
    schedule: &'p Schedule,
    terms: usize,
    loc: &'p Loc,
}

/// Finds the folds that are regrouped, by their results.
fn find<'p>(
    program: &Program,
    defs: &Definitions<'p>,
    b: &'p Block,
    out: &mut HashMap<ArrayId, Wanted<'p>>,
) -> Result<(), Error> {
    for s in &b.stmts {
        if let ArrayOp::Compute { xs, schedule: Some(schedule) } = &s.op
            && let Some(regroup) = schedule.regrouped()
        {
            let refused = |why: &str| {
                let (array, why) = (Some(program.names.show(*xs)), format!("`{regroup}`: {why}"));
                let (loops, used) = (schedule.to_string(), s.loc.clone());
                Error::from(Arc::new(BuildError::Schedule { array, why, loops, used }))
            };
            let mut folds = HashSet::new();
            folds_of(program, defs, *xs, &mut folds);
            let mut folds = folds.into_iter();
            let (Some(fold), None) = (folds.next(), folds.next()) else {
                return Err(refused("the nest of the array has not one fold"));
            };
            let wanted = Wanted { schedule, terms: regroup.terms, loc: &s.loc };
            if out.insert(fold, wanted).is_some_and(|before| before.schedule != schedule) {
                return Err(refused("another schedule has other partial results of what is folded"));
            }
        }
        s.op.blocks().into_iter().try_for_each(|b| acc_core::grow_stack(|| find(program, defs, b, out)))?;
    }
    Ok(())
}

/// The folds that an array is computed of element by element.
fn folds_of(program: &Program, defs: &Definitions<'_>, a: ArrayId, out: &mut HashSet<ArrayId>) {
    let Some(s) = defs.get(a) else { return };
    match s.op.class() {
        Class::Fold => {
            out.insert(a);
        }
        Class::Pointwise => {
            let mut at_own_points = HashSet::new();
            visit_reads(s, &mut |x| {
                if program.ty(x).rank == program.ty(a).rank {
                    at_own_points.insert(x);
                }
            });
            at_own_points.into_iter().for_each(|x| acc_core::grow_stack(|| folds_of(program, defs, x, out)));
        }
        Class::Segments | Class::Scan | Class::Scatter | Class::Sort | Class::View | Class::Control => {}
    }
}

/// Some of the terms of a fold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terms {
    /// Those in full tiles: along an axis for the tiles, and one for the terms of each.
    OfTiles,
    /// Those behind the last full tile.
    Last,
    /// The same, behind as many terms as there are full tiles: at the points where they are folded.
    LastOfRow,
}

/// A fold by partial results.
struct Regrouped<'a> {
    loc: &'a Loc,
    /// What the program folds.
    xs: ArrayId,
    /// The rank of its results.
    rank: usize,
    /// The terms of a tile.
    terms: usize,
    /// The axes of extent 1 before those of the results, where partial results and last terms are folded.
    lone: usize,
    /// The arrays that are defined in its block.
    defined: &'a HashSet<ArrayId>,
}

impl Regrouped<'_> {
    /// The number of its terms, of those of a tile, and of tiles.
    fn numbers(&self, c: &mut Code) -> [Val; 3] {
        let all = c.extent(self.xs, self.rank);
        let per_tile = c.int(i64::try_from(self.terms).unwrap_or(i64::MAX));
        let tiles = c.two(PrimOp::QuotP, all, per_tile);
        [all, per_tile, tiles]
    }

    /// The term before the last ones.
    fn before_last(&self, terms: Terms, c: &mut Code) -> Val {
        let [_, per_tile, tiles] = self.numbers(c);
        let of_tiles = c.two(PrimOp::MulP, tiles, per_tile);
        if terms == Terms::LastOfRow { c.two(PrimOp::SubP, of_tiles, tiles) } else { of_tiles }
    }

    /// The axes of an array of terms before those of the terms.
    fn outer(&self, terms: Terms) -> usize {
        self.rank + if terms == Terms::LastOfRow { self.lone } else { 0 }
    }

    /// The axes of an array of terms, of which the innermost ones are those of other arrays.
    fn axes(&self, terms: Terms, inner: &[ArrayId]) -> usize {
        self.outer(terms) + if terms == Terms::OfTiles { 2 } else { 1 } + inner.len()
    }

    /// The extents of an array of terms, of which the innermost ones are those of other arrays.
    fn shape(&self, terms: Terms, inner: &[ArrayId], types: &[ArrayType]) -> Fun {
        let mut c = Code::new([], self.loc);
        let mut extents: Vec<Val> = (self.rank..self.outer(terms)).map(|_| c.int(1)).collect();
        extents.extend((0..self.rank).map(|axis| c.extent(self.xs, axis)));
        if terms == Terms::OfTiles {
            let [_, per_tile, tiles] = self.numbers(&mut c);
            extents.extend([tiles, per_tile]);
        } else {
            let (all, before) = (c.extent(self.xs, self.rank), self.before_last(terms, &mut c));
            extents.push(c.two(PrimOp::SubP, all, before));
        }
        extents.extend(inner.iter().map(|x| c.extent(*x, types[x.index()].rank - 1)));
        c.done(extents)
    }

    /// A function over an array of terms, which is given the index in what the program folds, and then values of these types.
    fn at(
        &self,
        terms: Terms,
        inner: &[ArrayId],
        values: &[ScalarType],
        f: impl FnOnce(&mut Code, Vec<Val>) -> Vec<Val>,
    ) -> Fun {
        let index = vec![ScalarType::I64; self.axes(terms, inner)];
        let mut c = Code::new(index.into_iter().chain(values.iter().copied()), self.loc);
        let params = c.params();
        let (outer, rest) = params.split_at(self.outer(terms));
        let (first, rest) = match rest {
            [tile, rest @ ..] if terms == Terms::OfTiles => {
                let [_, per_tile, _] = self.numbers(&mut c);
                (c.two(PrimOp::MulP, *tile, per_tile), rest)
            }
            rest => (self.before_last(terms, &mut c), rest),
        };
        let mut args = outer[outer.len() - self.rank..].to_vec();
        if let [within, rest @ ..] = rest {
            args.push(c.two(PrimOp::AddP, first, *within));
            args.extend(rest);
        }
        let results = f(&mut c, args);
        c.done(results)
    }
}

struct Pass<'p> {
    defs: Definitions<'p>,
    types: Vec<ArrayType>,
    names: Vec<Option<Arc<str>>>,
    wanted: HashMap<ArrayId, Wanted<'p>>,
    readers: Readers,
}

impl Pass<'_> {
    fn block(&mut self, b: &Block) -> Block {
        let defined: HashSet<ArrayId> = b.stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            let mut s = s.clone();
            if let ArrayOp::Compute { xs, schedule } = &mut s.op
                && schedule.as_ref().is_some_and(|schedule| schedule.regrouped().is_some())
            {
                let rank = self.types[xs.index()].rank;
                *schedule = (rank > 0).then(|| Schedule::row_major(rank + 1));
            }
            if let (ArrayOp::Fold { f, xs, init }, [result]) = (&s.op, &s.results[..])
                && let Some(wanted) = self.wanted.get(result).copied()
            {
                let rank = self.types[result.index()].rank;
                let lone = usize::from(rank == 0);
                let of = Regrouped { loc: &s.loc, xs: *xs, rank, terms: wanted.terms, lone, defined: &defined };
                s.op = self.regrouped(&of, (f, init.as_ref(), *result), wanted, &mut stmts);
            } else if !s.op.blocks().is_empty() {
                s.op = map_op(&s.op, &mut Fun::clone, &mut |a| a, &mut |b, _| acc_core::grow_stack(|| self.block(b)));
            }
            stmts.push(s);
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    /// What a fold becomes. One that has a single result becomes a row, whose terms machine code adds in order.
    fn regrouped(
        &mut self,
        of: &Regrouped<'_>,
        (f, init, result): (&Fun, Option<&Fun>, ArrayId),
        wanted: Wanted<'_>,
        out: &mut Vec<Stmt>,
    ) -> ArrayOp {
        let folds = wanted.schedule.axes().saturating_sub(of.rank + 2);
        let elt = self.types[of.xs.index()].elt.clone();
        let ty = |rank: usize| ArrayType { rank, elt: elt.clone() };
        let tiles = self.moved(of, Terms::OfTiles, &[], (of.xs, folds), out);
        let partial = ArrayOp::Fold { f: f.clone(), xs: tiles, init: None };
        let partial = self.add(ty(of.rank + 1), partial, of.loc, out);
        self.names[partial.index()] = self.names[result.index()].as_ref().map(|name| format!("partial {name}").into());
        let schedule = Some(wanted.schedule.of_partial_results());
        let partial = self.add(ty(of.rank + 1), ArrayOp::Compute { xs: partial, schedule }, wanted.loc, out);
        // What is computed where it is read is at the points where it is folded.
        let terms = if folds == 0 { Terms::LastOfRow } else { Terms::Last };
        let last = self.moved(of, terms, &[], (of.xs, folds), out);

        let row = row(of, partial, (terms, last), &elt.leaves());
        let row = self.add(ty(of.lone + of.rank + 1), row, of.loc, out);
        let fold = ArrayOp::Fold { f: f.clone(), xs: row, init: init.cloned() };
        if of.lone == 0 {
            return fold;
        }
        let row = self.add(ty(1), fold, of.loc, out);
        self.names[row.index()] = self.names[result.index()].clone();
        let row = ArrayOp::Compute { xs: row, schedule: Some(Schedule::row_major(2)) };
        let xs = self.add(ty(1), row, wanted.loc, out);
        let mut c = Code::new([], of.loc);
        let first = c.int(0);
        ArrayOp::Slice { xs, axes: vec![Axis::Fixed], index: c.done([first]) }
    }

    /// An array of some of the terms; `a`, which is what the program folds or what that is made of, has as many axes after that of the
    /// terms as there are arrays in `inner`, whose innermost ones they are. So many folds are moved instead of their results.
    fn moved(
        &mut self,
        of: &Regrouped<'_>,
        terms: Terms,
        inner: &[ArrayId],
        (a, folds): (ArrayId, usize),
        out: &mut Vec<Stmt>,
    ) -> ArrayId {
        let ty = ArrayType { rank: of.axes(terms, inner), elt: self.types[a.index()].elt.clone() };
        let shape = of.shape(terms, inner, &self.types);
        let once = self.readers.is_one(a) && of.defined.contains(&a);
        let alone = self.defs.get(a).filter(|_| once);
        let op = match alone.map(|s| &s.op) {
            Some(ArrayOp::Fold { f, xs, init }) if folds > 0 => {
                let inner: Vec<ArrayId> = inner.iter().copied().chain([*xs]).collect();
                let xs = acc_core::grow_stack(|| self.moved(of, terms, &inner, (*xs, folds - 1), out));
                ArrayOp::Fold { f: f.clone(), xs, init: init.clone() }
            }
            Some(ArrayOp::Map { f, xs, indexed }) => {
                let mut operand = |x: &ArrayId| self.moved(of, terms, inner, (*x, folds), out);
                let xs: Vec<ArrayId> = xs.iter().map(|x| acc_core::grow_stack(|| operand(x))).collect();
                let leaves: Vec<ScalarType> = xs.iter().flat_map(|x| self.types[x.index()].elt.leaves()).collect();
                let at_index = |c: &mut Code, index: Vec<Val>| {
                    let values = c.params().split_off(of.axes(terms, inner));
                    c.inline(f, &index.into_iter().chain(values).collect::<Vec<_>>())
                };
                let f = if *indexed { of.at(terms, inner, &leaves, at_index) } else { f.clone() };
                ArrayOp::Map { f, xs, indexed: *indexed }
            }
            Some(ArrayOp::Generate { f, .. }) => {
                ArrayOp::Generate { shape, f: of.at(terms, inner, &[], |c, index| c.inline(f, &index)) }
            }
            Some(ArrayOp::Backpermute { xs, index, .. }) => {
                let index = of.at(terms, inner, &[], |c, at| c.inline(index, &at));
                ArrayOp::Backpermute { xs: *xs, shape, index }
            }
            _ => ArrayOp::Backpermute { xs: a, shape, index: of.at(terms, inner, &[], |_, index| index) },
        };
        self.add(ty, op, alone.map_or(of.loc, |s| &s.loc), out)
    }

    fn add(&mut self, ty: ArrayType, op: ArrayOp, loc: &Loc, out: &mut Vec<Stmt>) -> ArrayId {
        let result = ArrayId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(ty);
        self.names.push(None);
        out.push(Stmt { results: smallvec![result], op, loc: loc.clone() });
        result
    }
}

/// The partial results of each row, and behind them its last terms.
fn row(of: &Regrouped<'_>, partial: ArrayId, (terms, last): (Terms, ArrayId), leaves: &[ScalarType]) -> ArrayOp {
    let mut c = Code::new([], of.loc);
    let mut extents: Vec<Val> = (0..of.lone).map(|_| c.int(1)).collect();
    extents.extend((0..of.rank).map(|axis| c.extent(of.xs, axis)));
    let (all, before) = (c.extent(of.xs, of.rank), of.before_last(Terms::LastOfRow, &mut c));
    extents.push(c.two(PrimOp::SubP, all, before));
    let shape = c.done(extents);
    let mut c = Code::of_index(of.lone + of.rank + 1, of.loc);
    let params = c.params();
    let of_partial = params[of.lone..].to_vec();
    let (outer, at) = of_partial.split_at(of.rank);
    let tiles = c.extent(partial, of.rank);
    let is_partial = c.two(PrimOp::LtP, at[0], tiles);
    let of_last = match terms {
        Terms::LastOfRow => params.clone(),
        Terms::Last | Terms::OfTiles => [outer, &[c.two(PrimOp::SubP, at[0], tiles)]].concat(),
    };
    let element =
        c.branch(is_partial, leaves, |c| c.read(partial, leaves, &of_partial), |c| c.read(last, leaves, &of_last));
    ArrayOp::Generate { shape, f: c.done(element) }
}
