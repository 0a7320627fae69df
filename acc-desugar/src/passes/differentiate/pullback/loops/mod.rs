//! Adjoints of array loops.
//!
//! The steps are gone through from the last to the first. What one needs of the state before it and of the step ([`residuals`]) the
//! loop puts in a [`history`]. Where that has no room for all steps, some states are kept ([`kept`]), and the others are computed again
//! from the newest kept one before them.

mod history;
mod invariant;
mod kept;
mod lift;
mod residuals;
pub(super) mod rounds;
mod unnest;

use super::super::writer::and_equal;
use super::super::{copy, pruned};
use super::Reverse;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::exec::replay::LOOP_EXTENTS;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Fun, PrimOp, Read, ScalarOp, Stmt, Val, free_arrays};
use acc_core::verify::MAX_RANK;
use history::Rows;
use residuals::{Copied, OfStep, StepExtents};
use smallvec::SmallVec;

/// A loop whose adjoints are taken.
struct Loop {
    /// The state before the first step.
    init: Vec<ArrayId>,
    /// The step, which yields the next state and then what a step back reads.
    step: Block,
    of_step: OfStep,
    history: History,
    /// Components of the state that have the same extents in all steps if the first step keeps these, which have these extents after
    /// it.
    assumed: Vec<(ArrayId, Fun)>,
}

/// Whether what steps back read is put in [histories](history).
enum History {
    /// It is not: each step is computed again alone.
    None,
    /// The loop itself does so.
    Recorded,
    /// When steps are computed again, as long as these components of the state have the same extents.
    Again { changing: Vec<usize>, keeps_extents: Option<ArrayId> },
}

impl Loop {
    /// The loop with those components of its state alone that steps back depend on.
    fn restricted(self) -> Loop {
        let Loop { init, step, .. } = &self;
        let (next, read) = step.results.split_at(init.len());
        let mut needed = vec![false; init.len()];
        loop {
            let next = next.iter().zip(&needed).filter(|(_, needed)| **needed).map(|(a, _)| *a);
            let results = next.chain(read.iter().copied()).collect();
            let mut inside = pruned(&Block { params: Vec::new(), stmts: step.stmts.clone(), results });
            let used = free_arrays(&inside);
            let now: Vec<bool> = step.params.iter().zip(&needed).map(|(p, old)| *old || used.contains(p)).collect();
            if now == needed {
                let kept = |all: &[ArrayId]| -> Vec<ArrayId> {
                    all.iter().zip(&needed).filter(|(_, needed)| **needed).map(|(a, _)| *a).collect()
                };
                inside.params = kept(&step.params);
                return Loop { init: kept(init), step: inside, ..self };
            }
            needed = now;
        }
    }
}

/// What of a loop has adjoints.
struct Active {
    /// The components of its state.
    state: Vec<usize>,
    /// The arrays from around that a step uses.
    around: Vec<ArrayId>,
}

/// What the loop itself finds for the way back.
struct Way {
    /// The number of its steps.
    steps: ArrayId,
    /// Its last steps, if it writes them to histories.
    last: Option<(Rows, Vec<ArrayId>)>,
}

impl Reverse<'_, '_> {
    pub(super) fn looped(&mut self, s: &Stmt, init: &[ArrayId], test: &Block, step: &Block) -> Result<(), Error> {
        let state: Vec<usize> = (0..init.len()).filter(|k| self.is_active(step.params[*k])).collect();
        let by: Vec<Option<ArrayId>> = s.results.iter().map(|y| self.take(*y)).collect();
        let mut adjoints: Vec<ArrayId> = Vec::new();
        for k in &state {
            adjoints.push(by[*k].unwrap_or_else(|| self.w.zeros(s.results[*k])));
        }
        let around: Vec<ArrayId> = free_arrays(step).into_iter().filter(|a| self.is_active(*a)).collect();
        for a in &around {
            adjoints.push(self.w.no_adjoint(*a));
        }
        let active = Active { state, around };
        let mut l = self.loop_back(init, step, &active, &adjoints)?;
        let way = self.there(s, test, &mut l)?;
        let found = if l.of_step.read.is_empty() {
            self.w.note("its steps from the last one, without their states");
            self.back_over(&l.of_step.back, way.steps, &adjoints, |_, left| vec![left])?
        } else {
            self.back_through(&l.restricted(), &way, &adjoints)?
        };
        let (of_state, of_around) = found.split_at(active.state.len());
        for (k, adjoint) in active.state.iter().zip(of_state) {
            self.contribute(init[*k], *adjoint);
        }
        for (a, adjoint) in active.around.iter().zip(of_around) {
            self.contribute_any(*a, *adjoint);
        }
        Ok(())
    }

    /// A loop with its step back.
    fn loop_back(
        &mut self,
        init: &[ArrayId],
        step: &Block,
        active: &Active,
        adjoints: &[ArrayId],
    ) -> Result<Loop, Error> {
        let mut copies: Vec<(ArrayId, ArrayId)> = Vec::new();
        let back = self.block(&[init, adjoints].concat(), |this, params| {
            let (state, adjoints) = params.split_at(init.len());
            for k in &active.state {
                this.activity.insert_like(state[*k], step.params[*k]);
            }
            let same = copy(this.w, step, state);
            copies.extend(step.params.iter().copied().zip(state.iter().copied()));
            let results = |b: &Block| b.stmts.iter().flat_map(|s| s.results.clone()).collect::<Vec<_>>();
            copies.extend(results(step).into_iter().zip(results(&same)));
            this.back_step(&same, active, state, adjoints)
        })?;
        step.stmts.iter().for_each(|s| self.w.extents.note(s));
        let number = self.w.array(ArrayType { rank: 0, elt: ScalarType::I64.into() });
        let copied = Copied { step, copies, back, init, number };
        let mut of_step = copied.of_state(self.w);
        let has_room = self.w.histories && of_step.read.iter().all(|a| self.w.rank(*a) < MAX_RANK);
        let extents = StepExtents::new(self.w, step);
        let mut assumed = Vec::new();
        let history = if !has_room || of_step.read.is_empty() {
            History::None
        } else if self.w.assumes && of_step.read.iter().all(|a| extents.is_fixed(*a)) {
            of_step = copied.with_residuals(self.w, &extents);
            assumed = extents.assumed_of(&of_step);
            if of_step.read.is_empty() { History::None } else { History::Recorded }
        } else {
            let component = |a: &ArrayId| step.params.iter().position(|p| p == a);
            let changes = |k: &usize| !self.w.same_extents(step.params[*k], step.results[*k]);
            let changing = of_step.read.iter().filter_map(component).filter(changes).collect();
            History::Again { changing, keeps_extents: None }
        };
        let mut step = step.clone();
        step.results.extend(&of_step.read);
        Ok(Loop { init: init.to_vec(), step, of_step, history, assumed })
    }

    /// A number, as an array of rank 0.
    pub(super) fn number(&mut self, write: impl FnOnce(&mut Code) -> Val) -> ArrayId {
        let mut c = self.w.code([]);
        let v = write(&mut c);
        let ty = c.ty(v);
        let shape = self.w.code([]).done([]);
        self.w.stmt(0, ty.into(), ArrayOp::Generate { shape, f: c.done([v]) })
    }

    pub(super) fn while_(&mut self, init: Vec<ArrayId>, test: Block, step: Block) -> Vec<ArrayId> {
        let results = self.w.like(&init);
        let op = ArrayOp::While { init, test, step };
        let loc = self.w.loc.clone();
        self.w.stmts.push(Stmt { results: results.iter().copied().collect(), op, loc });
        results
    }

    /// A copy of a block's statements at these arguments; its results.
    fn once_more(&mut self, b: &Block, args: &[ArrayId]) -> Vec<ArrayId> {
        let same = copy(self.w, b, args);
        self.w.stmts.extend(same.stmts.iter().cloned());
        same.results.clone()
    }

    pub(super) fn next(&mut self, n: ArrayId) -> ArrayId {
        self.number(|c| {
            let (n, one) = (int(c, n), c.int(1));
            c.two(PrimOp::AddP, n, one)
        })
    }

    /// Makes the loop find what the way back needs: it counts its steps, and writes the last ones to histories, or finds out whether
    /// its states have the same extents.
    fn there(&mut self, s: &Stmt, test: &Block, l: &mut Loop) -> Result<Way, Error> {
        let Some(at) = self.w.stmts.iter().rposition(|other| other.results == s.results) else {
            return Err(
                Error::defect("differentiate", "a loop is gone through that is not there").during("awhile", &s.loc)
            );
        };
        let after = self.w.stmts.split_off(at + 1);
        self.w.stmts.truncate(at);
        let n = l.init.len();
        let zero = self.number(|c| c.int(0));
        let (mut all, mut rows) = (l.init.clone(), zero);
        // Steps back may take nothing but extents of the state from the first one.
        let kept = self.if_kept(zero, l);
        all.push(if matches!(l.history, History::None) { kept } else { zero });
        match &l.history {
            History::None => {}
            History::Recorded => {
                all.push(kept);
                let histories = self.histories(l, &l.init);
                // Nothing but the rows that it writes is asked of a history in the loop, so that it is written in place.
                rows = self.number(|c| c.extent(histories[0], 0));
                all.extend(histories);
            }
            History::Again { changing, .. } if changing.is_empty() => {}
            History::Again { .. } => all.push(self.number(|c| c.truth(true))),
        }
        let test = self.block(&all, |this, params| Ok(this.once_more(test, &params[..n])))?;
        let step = self.block(&all, |this, params| {
            let (state, more) = params.split_at(n);
            if let (History::Recorded, [count, row, histories @ ..]) = (&l.history, more) {
                let (next, recorded) = this.recorded(l, state, *row, histories);
                let numbers = vec![this.next(*count), this.next_row(*row, rows)];
                return Ok([next, numbers, recorded].concat());
            }
            let mut next = this.once_more(&l.step, state);
            next.truncate(n);
            let mut results = [&next[..], &[this.next(more[0])]].concat();
            if let (History::Again { changing, .. }, [_, so_far]) = (&l.history, more) {
                let pairs = changing.iter().map(|k| (state[*k], next[*k])).collect();
                results.push(this.still_kept(*so_far, pairs));
            }
            Ok(results)
        })?;
        let found = self.w.like(&all[n..]);
        let results = s.results.iter().chain(&found).copied().collect();
        self.w.stmts.push(Stmt { results, op: ArrayOp::While { init: all, test, step }, loc: s.loc.clone() });
        let mut way = Way { steps: found[0], last: None };
        match &mut l.history {
            History::None => {}
            History::Recorded => {
                let valid = self.valid_rows(found[0], found[2]);
                way.last = Some((Rows { valid, next: found[1] }, found[2..].to_vec()));
            }
            History::Again { keeps_extents, .. } => *keeps_extents = found.get(1).copied(),
        }
        self.w.stmts.extend(after);
        Ok(way)
    }

    /// An array, with a check that the first step of a loop keeps the extents of its state.
    fn if_kept(&mut self, xs: ArrayId, l: &Loop) -> ArrayId {
        if l.assumed.is_empty() {
            return xs;
        }
        let at = |a: &ArrayId| at_state(&l.step, &l.init, *a);
        let mut c = self.w.code([]);
        let mut ok = c.truth(true);
        for (a, after) in &l.assumed {
            for (axis, n) in c.inline(&after.map_arrays(&mut |a| at(a)), &[]).into_iter().enumerate() {
                let own = c.extent(at(a), axis);
                ok = and_equal(&mut c, ok, [own, n]);
            }
        }
        let op = ArrayOp::Check { xs, ok: c.done([ok]), message: LOOP_EXTENTS.into() };
        self.w.add(self.w.ty(xs).clone(), op)
    }

    /// Whether components of the state have kept their extents so far, and in the step that takes the first of each pair to the second.
    fn still_kept(&mut self, so_far: ArrayId, pairs: Vec<(ArrayId, ArrayId)>) -> ArrayId {
        let ranks: Vec<usize> = pairs.iter().map(|(a, _)| self.w.rank(*a)).collect();
        self.number(|c| {
            let mut same = c.read(so_far, &[ScalarType::Bool], &[])[0];
            for ((a, b), rank) in pairs.into_iter().zip(ranks) {
                for axis in 0..rank {
                    let (n, m) = (c.extent(a, axis), c.extent(b, axis));
                    same = and_equal(c, same, [n, m]);
                }
            }
            same
        })
    }

    /// From the adjoints after so many steps of a loop to those before them. What a step back takes before the adjoints is found
    /// by the number of the step.
    fn back_over(
        &mut self,
        back: &Block,
        steps: ArrayId,
        adjoints: &[ArrayId],
        read: impl Fn(&mut Self, ArrayId) -> Vec<ArrayId>,
    ) -> Result<Vec<ArrayId>, Error> {
        let all = [&[steps], adjoints].concat();
        let test = self.block(&all, |this, params| Ok(vec![this.any_left(params[0])]))?;
        let step = self.block(&all, |this, params| {
            let left = this.number(|c| {
                let (left, one) = (int(c, params[0]), c.int(1));
                c.two(PrimOp::SubP, left, one)
            });
            let read = read(this, left);
            Ok([vec![left], this.once_more(back, &[&read[..], &params[1..]].concat())].concat())
        })?;
        let mut end = self.while_(all, test, step);
        Ok(end.split_off(1))
    }

    /// Whether there are steps left.
    fn any_left(&mut self, left: ArrayId) -> ArrayId {
        self.number(|c| {
            let (left, zero) = (int(c, left), c.int(0));
            c.two(PrimOp::GtP, left, zero)
        })
    }

    /// Whether a number is less than another one.
    fn is_below(&mut self, n: ArrayId, most: ArrayId) -> ArrayId {
        self.number(|c| {
            let (n, most) = (int(c, n), int(c, most));
            c.two(PrimOp::LtP, n, most)
        })
    }

    /// The state so many steps after this one.
    fn later(&mut self, step: &Block, state: &[ArrayId], steps: ArrayId) -> Result<Vec<ArrayId>, Error> {
        let zero = self.number(|c| c.int(0));
        let all: Vec<ArrayId> = state.iter().copied().chain([zero]).collect();
        let test = self.block(&all, |this, params| {
            let n = params[state.len()];
            Ok(vec![this.is_below(n, steps)])
        })?;
        let step = self.block(&all, |this, params| {
            let (state, n) = params.split_at(state.len());
            let mut next = this.once_more(step, state);
            next.truncate(state.len());
            next.push(this.next(n[0]));
            Ok(next)
        })?;
        let mut end = self.while_(all, test, step);
        end.truncate(state.len());
        Ok(end)
    }

    /// From the adjoints after one step to those before it, where this is the state.
    fn back_step(
        &mut self,
        step: &Block,
        active: &Active,
        state: &[ArrayId],
        adjoints: &[ArrayId],
    ) -> Result<Vec<ArrayId>, Error> {
        let around = std::mem::take(&mut self.adjoints);
        let by: Vec<(ArrayId, ArrayId)> =
            active.state.iter().map(|k| step.results[*k]).zip(adjoints.iter().copied()).collect();
        // Contributions are added to those of the steps after it, so that a scatter adds to an array that is there.
        let so_far = active.around.iter().copied().zip(adjoints[active.state.len()..].iter().copied());
        for (a, adjoint) in so_far {
            self.contribute_any(a, adjoint);
            if !self.w.has_costly_extents(a) {
                self.carried.insert(adjoint);
            }
        }
        let done = self.replaced(&step.stmts, &by);
        let mut before = Vec::new();
        for k in &active.state {
            before.push(self.take(state[*k]).unwrap_or_else(|| self.w.zeros(state[*k])));
        }
        for a in &active.around {
            before.push(self.points_so_far(*a));
        }
        self.adjoints = around;
        done.map(|()| before)
    }
}

/// What an array of a loop's step is at a state: a component of that, or the array itself.
fn at_state(step: &Block, state: &[ArrayId], a: ArrayId) -> ArrayId {
    step.params.iter().position(|p| *p == a).map_or(a, |k| state[k])
}

/// An integer in an array of rank 0.
pub(super) fn int(c: &mut Code, a: ArrayId) -> Val {
    let op = ScalarOp::Index(Read::new(a, [0].as_slice(), SmallVec::new()));
    c.emit(op, ScalarType::I64)
}
