//! What steps back read of the steps of a loop: of the state before a step, and *residuals*, arrays that the step computes.
//!
//! A step back computes again what it needs of the step. Where that takes a fold, a scan, a sort or a loop, its result is put in the
//! history with the state. Counters are computed from the number of the step.

use super::super::super::extents::KnownExtents;
use super::super::super::writer::Writer;
use super::super::super::{pruned, rename};
use super::super::lanes::used;
use super::{at_state, int};
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{
    ArrayId, ArrayOp, Block, Class, Fun, Node, PrimOp, ScalarOp, Stmt, Val, arrays_of_fun, free_arrays,
};
use acc_core::verify::MAX_RANK;
use std::collections::{HashMap, HashSet};

/// What a step back reads of a step.
pub(super) struct OfStep {
    /// Arrays of the step.
    pub read: Vec<ArrayId>,
    /// The extents of each, as functions of arrays from around the loop and of the state before the step.
    pub extents: Vec<Fun>,
    /// The components of the state that a step back takes to have the extents of the first ones.
    same_as_first: Vec<ArrayId>,
    /// From the number of a step, these and the adjoints after the step to the adjoints before it.
    pub back: Block,
}

/// A step of a loop with a step back, in which a copy of it is.
pub(super) struct Copied<'s> {
    pub step: &'s Block,
    /// The copy of each array of the step.
    pub copies: Vec<(ArrayId, ArrayId)>,
    /// With the state and the adjoints as parameters.
    pub back: Block,
    /// The state before the first step.
    pub init: &'s [ArrayId],
    /// The number of the step.
    pub number: ArrayId,
}

impl Copied<'_> {
    /// What the step back reads of the state alone.
    pub(super) fn of_state(&self, w: &Writer<'_>) -> OfStep {
        self.with(w, &KnownExtents::default(), self.back.stmts.clone(), Vec::new())
    }

    /// The same with residuals, where all states have the extents of this one.
    pub(super) fn with_residuals(&self, w: &Writer<'_>, extents: &StepExtents<'_>) -> OfStep {
        let originals: HashMap<ArrayId, ArrayId> = self.copies.iter().map(|(a, copy)| (*copy, *a)).collect();
        let most = self.step.params.iter().map(|a| w.rank(*a)).max().unwrap_or(0).min(MAX_RANK - 1);
        let has_room = |a: ArrayId| w.rank(a) <= most && extents.of(w, a).is_some();
        let residuals = self.residuals(w, &originals, &has_room);
        let at = |a: &ArrayId| at_state(self.step, self.init, *a);
        // Where the extents of an array are all that is used of it, zeros do, and the first state.
        let mut elements: HashSet<ArrayId> = self.back.results.iter().copied().collect();
        let (mut stmts, mut same_as_first) = (Vec::new(), Vec::new());
        for s in self.back.stmts.iter().rev().filter(|s| !s.results.iter().any(|a| residuals.contains(a))) {
            let shape = match s.results[..] {
                [a] if !elements.contains(&a) => originals.get(&a).and_then(|a| extents.of(w, *a)),
                _ => None,
            };
            stmts.push(match shape {
                Some(shape) => {
                    same_as_first.extend(arrays_of_fun(&shape).into_iter().map(|(a, _)| a));
                    zeros(w, s, shape.map_arrays(&mut |a| at(a)))
                }
                None => {
                    elements.extend(element_reads(w, s));
                    s.clone()
                }
            });
        }
        stmts.reverse();
        let mut names = HashMap::new();
        for ((a, copy), init) in self.copies.iter().zip(self.init).filter(|((_, copy), _)| !elements.contains(copy)) {
            same_as_first.push(*a);
            names.insert(*copy, *init);
        }
        let renamed = rename(&Block { params: Vec::new(), stmts, results: Vec::new() }, &names);
        self.with(w, &extents.known, renamed.stmts.clone(), same_as_first)
    }

    /// The copies of those arrays of the step that are residuals.
    fn residuals(
        &self,
        w: &Writer<'_>,
        originals: &HashMap<ArrayId, ArrayId>,
        has_room: &dyn Fn(ArrayId) -> bool,
    ) -> HashSet<ArrayId> {
        let back = pruned(&self.back);
        // Of each array that the copy computes, which arrays are to be in the history so that it need not be computed from others.
        let mut kept: HashMap<ArrayId, Vec<ArrayId>> = HashMap::new();
        let mut residuals = HashSet::new();
        let of = |kept: &HashMap<ArrayId, Vec<ArrayId>>, a: ArrayId| kept.get(&a).cloned().unwrap_or_default();
        for s in &back.stmts {
            let mut own: Vec<ArrayId> = element_reads(w, s).into_iter().flat_map(|a| of(&kept, a)).collect();
            own.sort();
            own.dedup();
            match s.results[..] {
                [a] if originals.contains_key(&a) => {
                    // One array takes less room than several of its rank.
                    let several = own.iter().filter(|b| w.rank(**b) == w.rank(a)).count() > 1;
                    let stored = (several || is_costly(s)) && has_room(originals[&a]);
                    kept.insert(a, if stored { vec![a] } else { own });
                }
                ref results if results.iter().any(|a| originals.contains_key(a)) => {
                    kept.extend(results.iter().map(|a| (*a, own.clone())));
                }
                _ => residuals.extend(own),
            }
        }
        residuals.extend(back.results.iter().flat_map(|a| of(&kept, *a)));
        residuals
    }

    /// What a step back with these statements reads.
    fn with(&self, w: &Writer<'_>, known: &KnownExtents, stmts: Vec<Stmt>, same_as_first: Vec<ArrayId>) -> OfStep {
        let mut back = pruned(&Block { params: Vec::new(), stmts, results: self.back.results.clone() });
        let used: HashSet<ArrayId> = free_arrays(&back).into_iter().collect();
        let (counters, read): (Vec<_>, Vec<_>) =
            self.copies.iter().filter(|(_, c)| used.contains(c)).partition(|(a, _)| self.increment(w, *a).is_some());
        let (read, copies): (Vec<ArrayId>, Vec<ArrayId>) = read.into_iter().copied().unzip();
        for (a, copy) in counters {
            back.stmts.splice(0..0, self.counter(w, *a, *copy));
        }
        let adjoints = &self.back.params[self.step.params.len()..];
        back.params = [&[self.number], &copies[..], adjoints].concat();
        let extents = read.iter().map(|a| extents(w, known, *a)).collect();
        OfStep { read, extents, same_as_first, back }
    }

    /// The component of the state that this is, and what each step adds to it, if it is a number to which steps add a literal.
    fn increment(&self, w: &Writer<'_>, a: ArrayId) -> Option<(usize, i64)> {
        let k = self.step.params.iter().position(|p| *p == a).filter(|_| w.rank(a) == 0)?;
        let s = self.step.stmts.iter().find(|s| s.results[..] == [self.step.results[k]])?;
        let (f, is_own): (&Fun, Option<Val>) = match &s.op {
            ArrayOp::Map { xs, f, .. } if xs[..] == [a] => (f, f.body.params.first().copied()),
            ArrayOp::Generate { f, .. } => (f, None),
            _ => return None,
        };
        let ([result], true) = (&f.body.results[..], f.body.params.len() == usize::from(is_own.is_some())) else {
            return None;
        };
        let node = |v: &Val| f.body.nodes.iter().find(|n| n.results.contains(v)).map(|n| &n.op);
        let reads =
            |v: &Val| matches!(node(v), Some(ScalarOp::Index(read)) if read.array == a && read.index.is_empty());
        let is_counter = |v: &Val| is_own == Some(*v) || reads(v);
        match node(result)? {
            ScalarOp::Prim(PrimOp::AddP, args) if f.ty(*result) == ScalarType::I64 => {
                let by = args.iter().find_map(|v| f.body.literal(*v))?;
                args.iter().any(is_counter).then_some((k, by.bits as i64))
            }
            _ => None,
        }
    }

    /// The statement of a counter.
    fn counter(&self, w: &Writer<'_>, a: ArrayId, copy: ArrayId) -> Option<Stmt> {
        let (k, by) = self.increment(w, a)?;
        let mut c = w.code([]);
        let [first, number] = [self.init[k], self.number].map(|a| int(&mut c, a));
        let by = c.int(by);
        let more = c.two(PrimOp::MulP, number, by);
        let now = c.two(PrimOp::AddP, first, more);
        let op = ArrayOp::Generate { shape: w.code([]).done([]), f: c.done([now]) };
        Some(Stmt { results: [copy].into_iter().collect(), op, loc: w.loc.clone() })
    }
}

/// The arrays whose elements a statement uses. Of others it uses the extents.
fn element_reads(w: &Writer<'_>, s: &Stmt) -> Vec<ArrayId> {
    let mut out: Vec<ArrayId> = s.op.blocks().into_iter().flat_map(free_arrays).collect();
    for (_, f) in s.op.funs() {
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Index(read) = &n.op {
                out.push(read.array);
            }
        });
    }
    match &s.op {
        ArrayOp::Map { xs, f, .. } => {
            let used = used(f);
            let mut leaves = f.body.params.iter().rev();
            for x in xs.iter().rev() {
                let own: Vec<&Val> = leaves.by_ref().take(w.elt(*x).leaf_count()).collect();
                out.extend(own.iter().any(|v| used.contains(v)).then_some(*x));
            }
        }
        op => out.extend(op.arrays()),
    }
    out
}

/// The statement of zeros of these extents in place of another one.
fn zeros(w: &Writer<'_>, s: &Stmt, shape: Fun) -> Stmt {
    let mut c = Code::of_index(shape.body.results.len(), &s.loc);
    let zeros = c.zeros(&w.elt(s.results[0]).leaves());
    Stmt { op: ArrayOp::Generate { shape, f: c.done(zeros) }, ..s.clone() }
}

/// The extents of what a loop's step computes.
pub(super) struct StepExtents<'s> {
    step: &'s Block,
    known: KnownExtents,
    inside: HashSet<ArrayId>,
    /// The components of the state that have the same extents in all steps, for certain or if the first step keeps them.
    fixed: HashSet<ArrayId>,
    /// Those of the second kind, with the extents that they have after a step.
    assumed: Vec<(ArrayId, Fun)>,
}

impl<'s> StepExtents<'s> {
    pub(super) fn new(w: &Writer<'_>, step: &'s Block) -> StepExtents<'s> {
        let mut known = KnownExtents::default();
        step.stmts.iter().for_each(|s| known.note(s, &|a| w.rank(a), &s.loc));
        let inside = step.stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
        let mut found = StepExtents { step, known, inside, fixed: HashSet::new(), assumed: Vec::new() };
        let (certain, others): (Vec<_>, Vec<_>) =
            step.params.iter().copied().zip(step.results.iter().copied()).partition(|(a, b)| w.same_extents(*a, *b));
        found.fixed = step.params.iter().copied().collect();
        // Those which depend on others that are not fixed are not either.
        let mut assumed = others;
        loop {
            let after = |(a, b): &(ArrayId, ArrayId)| Some((*a, found.of(w, *b).filter(is_selection)?));
            let now: Vec<(ArrayId, Fun)> = assumed.iter().filter_map(after).collect();
            let is_done = now.len() == assumed.len();
            assumed.retain(|(a, _)| now.iter().any(|(other, _)| other == a));
            found.fixed = certain.iter().map(|(a, _)| *a).chain(now.iter().map(|(a, _)| *a)).collect();
            if is_done {
                return StepExtents { assumed: now, ..found };
            }
        }
    }

    /// The components of the state whose extents matter to what a step back reads, and are to be kept by the first step.
    pub(super) fn assumed_of(&self, of_step: &OfStep) -> Vec<(ArrayId, Fun)> {
        let of = |f: &Fun| arrays_of_fun(f).into_iter().map(|(a, _)| a).collect::<Vec<_>>();
        let mut open: Vec<ArrayId> =
            of_step.extents.iter().flat_map(of).chain(of_step.same_as_first.iter().copied()).collect();
        let mut found: Vec<(ArrayId, Fun)> = Vec::new();
        while let Some(a) = open.pop() {
            let own = self.assumed.iter().find(|(other, _)| *other == a);
            if let Some((_, f)) = own.filter(|_| !found.iter().any(|(other, _)| *other == a)) {
                open.extend(of(f));
                found.push((a, f.clone()));
            }
        }
        found
    }

    /// Whether an array that is not made in the step has the same extents in all steps.
    pub(super) fn is_fixed(&self, a: ArrayId) -> bool {
        self.fixed.contains(&a) || !self.step.params.contains(&a)
    }

    /// The extents of an array, if they are those of arrays that are fixed, or read from arrays around the loop.
    fn of(&self, w: &Writer<'_>, a: ArrayId) -> Option<Fun> {
        let f = extents(w, &self.known, a);
        let mut is_known = arrays_of_fun(&f).into_iter().all(|(a, _)| !self.inside.contains(&a) && self.is_fixed(a));
        f.body.visit(0, &mut |n, _| {
            is_known &= !matches!(&n.op, ScalarOp::Index(read) if self.step.params.contains(&read.array));
        });
        is_known.then_some(f)
    }
}

/// Whether each of a function's results is an extent, a literal, an element, or the least of some.
fn is_selection(f: &Fun) -> bool {
    let selects = |n: &Node| match &n.op {
        ScalarOp::Prim(op, _) => *op == PrimOp::MinP,
        op => matches!(op, ScalarOp::Extent { .. } | ScalarOp::Const(_) | ScalarOp::Index(_)),
    };
    f.body.nodes.iter().all(selects)
}

/// The extents of an array.
fn extents(w: &Writer<'_>, known: &KnownExtents, a: ArrayId) -> Fun {
    let mut c: Code = w.code([]);
    let extents = known.extents(&mut c, a, w.rank(a));
    c.done(extents)
}

/// Whether an array costs more to compute again than to read.
fn is_costly(s: &Stmt) -> bool {
    match s.op.class() {
        Class::Fold | Class::Scan | Class::Scatter | Class::Segments | Class::Sort | Class::Control => true,
        Class::Pointwise => s.op.funs().into_iter().any(|(_, f)| {
            let mut loops = false;
            f.body.visit(0, &mut |n, _| loops |= matches!(n.op, ScalarOp::While { .. }));
            loops
        }),
        Class::View => false,
    }
}
