//! Adjoints of array loops.
//!
//! The steps are gone through from the last to the first. Where one needs of the state before it, some states are kept
//! ([`kept`]), and the others are computed again from the newest kept one before them.

mod history;
mod invariant;
mod kept;
mod lift;
pub(super) mod rounds;
mod unnest;

use super::super::{copy, pruned};
use super::Reverse;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Block, PrimOp, Read, ScalarOp, Stmt, Val, free_arrays};
use history::in_history;
use smallvec::SmallVec;

/// A loop whose adjoints are taken.
struct Loop<'s> {
    /// The state before the first step.
    init: &'s [ArrayId],
    step: &'s Block,
    /// From the state before a step and the adjoints after it to those before it.
    back: Block,
    /// The components of the state that are in a [history].
    in_history: Option<Vec<usize>>,
    /// Whether these have the same extents in all steps, where that is found as the program runs.
    keeps_extents: Option<ArrayId>,
}

/// What of a loop has adjoints.
struct Active {
    /// The components of its state.
    state: Vec<usize>,
    /// The arrays from around that a step uses.
    around: Vec<ArrayId>,
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
            adjoints.push(self.w.zeros(*a));
        }
        let active = Active { state, around };
        let back = self.block(&[init, &adjoints[..]].concat(), |this, params| {
            let (state, adjoints) = params.split_at(init.len());
            this.back_step(step, &active, state, adjoints)
        })?;
        let back = pruned(&back);
        let in_history = in_history(self.w, &back, init.len());
        step.stmts.iter().for_each(|s| self.w.extents.note(s));
        let is_kept = |k: &usize| self.w.same_extents(step.params[*k], step.results[*k]);
        let changing: Vec<usize> = in_history.iter().flatten().copied().filter(|k| !is_kept(k)).collect();
        let (steps, keeps_extents) = self.steps(s, init, (test, step), &changing)?;
        let found = if in_history.as_ref().is_some_and(Vec::is_empty) {
            self.w.note("its steps from the last one, without their states");
            self.back_over(&back, steps, &adjoints, |_, _| init.to_vec())?
        } else {
            self.back_through(&Loop { init, step, back, in_history, keeps_extents }, steps, &adjoints)?
        };
        let (of_state, of_around) = found.split_at(active.state.len());
        for (k, adjoint) in active.state.iter().zip(of_state) {
            self.contribute(init[*k], *adjoint);
        }
        for (a, adjoint) in active.around.iter().zip(of_around) {
            self.contribute(*a, *adjoint);
        }
        Ok(())
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

    /// The number of steps of a loop, which counts them from here on, and whether some components of its state have the same extents
    /// in all of them, if that is a question.
    fn steps(
        &mut self,
        s: &Stmt,
        init: &[ArrayId],
        (test, step): (&Block, &Block),
        changing: &[usize],
    ) -> Result<(ArrayId, Option<ArrayId>), Error> {
        let Some(at) = self.w.stmts.iter().rposition(|other| other.results == s.results) else {
            return Err(
                Error::defect("differentiate", "a loop is gone through that is not there").during("awhile", &s.loc)
            );
        };
        let after = self.w.stmts.split_off(at + 1);
        self.w.stmts.truncate(at);
        let zero = self.number(|c| c.int(0));
        let keeps = (!changing.is_empty()).then(|| self.number(|c| c.truth(true)));
        let all: Vec<ArrayId> = init.iter().copied().chain([zero]).chain(keeps).collect();
        let test = self.block(&all, |this, params| Ok(this.once_more(test, &params[..init.len()])))?;
        let mut step = self.counted(step, &all)?;
        if keeps.is_some() {
            let (stmts, keeps) = self.inner(|this| this.still_kept(&step, changing));
            step.stmts.extend(stmts);
            step.results.push(keeps);
        }
        let steps = self.w.array(self.w.ty(zero).clone());
        let keeps = keeps.map(|keeps| self.w.array(self.w.ty(keeps).clone()));
        let results = s.results.iter().copied().chain([steps]).chain(keeps).collect();
        self.w.stmts.push(Stmt { results, op: ArrayOp::While { init: all, test, step }, loc: s.loc.clone() });
        self.w.stmts.extend(after);
        Ok((steps, keeps))
    }

    /// Whether components of the state have kept their extents so far, as the last parameter says, and in this step.
    fn still_kept(&mut self, step: &Block, components: &[usize]) -> ArrayId {
        let so_far = step.params[step.params.len() - 1];
        let pairs: Vec<(ArrayId, ArrayId)> = components.iter().map(|k| (step.params[*k], step.results[*k])).collect();
        let ranks: Vec<usize> = pairs.iter().map(|(a, _)| self.w.rank(*a)).collect();
        self.number(|c| {
            let mut same = c.read(so_far, &[ScalarType::Bool], &[])[0];
            for ((a, b), rank) in pairs.into_iter().zip(ranks) {
                for axis in 0..rank {
                    let (n, m) = (c.extent(a, axis), c.extent(b, axis));
                    let equal = c.two(PrimOp::EqP, n, m);
                    same = c.two(PrimOp::AndP, same, equal);
                }
            }
            same
        })
    }

    /// A copy of a loop's step with a counter behind the state.
    fn counted(&mut self, step: &Block, like: &[ArrayId]) -> Result<Block, Error> {
        self.block(like, |this, params| {
            let (state, n) = params.split_at(step.params.len());
            let mut next = this.once_more(step, state);
            next.push(this.next(n[0]));
            Ok(next)
        })
    }

    /// From the adjoints after so many steps of a loop to those before them. The state before a step is found by its number.
    fn back_over(
        &mut self,
        back: &Block,
        steps: ArrayId,
        adjoints: &[ArrayId],
        state: impl Fn(&mut Self, ArrayId) -> Vec<ArrayId>,
    ) -> Result<Vec<ArrayId>, Error> {
        let all = [&[steps], adjoints].concat();
        let test = self.block(&all, |this, params| Ok(vec![this.any_left(params[0])]))?;
        let step = self.block(&all, |this, params| {
            let left = this.number(|c| {
                let (left, one) = (int(c, params[0]), c.int(1));
                c.two(PrimOp::SubP, left, one)
            });
            let state = state(this, left);
            Ok([vec![left], this.once_more(back, &[&state[..], &params[1..]].concat())].concat())
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

    /// The state so many steps after this one.
    fn later(&mut self, step: &Block, state: &[ArrayId], steps: ArrayId) -> Result<Vec<ArrayId>, Error> {
        let zero = self.number(|c| c.int(0));
        let all: Vec<ArrayId> = state.iter().copied().chain([zero]).collect();
        let test = self.block(&all, |this, params| {
            let n = params[state.len()];
            Ok(vec![this.number(|c| {
                let (n, steps) = (int(c, n), int(c, steps));
                c.two(PrimOp::LtP, n, steps)
            })])
        })?;
        let step = self.counted(step, &all)?;
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
        for k in &active.state {
            self.activity.insert_like(state[*k], step.params[*k]);
        }
        let same = copy(self.w, step, state);
        let by: Vec<(ArrayId, ArrayId)> =
            active.state.iter().map(|k| same.results[*k]).zip(adjoints.iter().copied()).collect();
        // Contributions are added to those of the steps after it, so that a scatter adds to an array that is there.
        let so_far = active.around.iter().copied().zip(adjoints[active.state.len()..].iter().copied());
        so_far.for_each(|(a, adjoint)| self.contribute(a, adjoint));
        let done = self.replaced(&same.stmts, &by);
        let mut before = Vec::new();
        for k in &active.state {
            before.push(self.take(state[*k]).unwrap_or_else(|| self.w.zeros(state[*k])));
        }
        for a in &active.around {
            before.push(self.adjoint_so_far(*a));
        }
        self.adjoints = around;
        done.map(|()| before)
    }
}

/// An integer in an array of rank 0.
pub(super) fn int(c: &mut Code, a: ArrayId) -> Val {
    let op = ScalarOp::Index(Read::new(a, [0].as_slice(), SmallVec::new()));
    c.emit(op, ScalarType::I64)
}
