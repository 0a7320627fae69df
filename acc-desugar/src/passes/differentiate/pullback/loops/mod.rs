//! Adjoints of array loops.
//!
//! The steps are gone through from the last to the first; each needs the state before it. Some states are kept ([`kept`]),
//! the others are computed again from the newest kept one before them.

mod kept;
mod lift;
pub(super) mod rounds;
mod unnest;

use super::super::copy;
use super::Reverse;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Block, PrimOp, Read, ScalarOp, Stmt, Val, free_arrays};
use smallvec::SmallVec;

/// A loop whose adjoints are taken.
struct Loop<'s> {
    /// The state before the first step.
    init: &'s [ArrayId],
    step: &'s Block,
    /// The active components of its state.
    active: Vec<usize>,
    /// The active arrays from around that a step uses.
    around: Vec<ArrayId>,
}

impl Reverse<'_, '_> {
    pub(super) fn looped(&mut self, s: &Stmt, init: &[ArrayId], test: &Block, step: &Block) -> Result<(), Error> {
        let active: Vec<usize> = (0..init.len()).filter(|k| self.is_active(step.params[*k])).collect();
        let by: Vec<Option<ArrayId>> = s.results.iter().map(|y| self.take(*y)).collect();
        let mut adjoints: Vec<ArrayId> = Vec::new();
        for k in &active {
            adjoints.push(by[*k].unwrap_or_else(|| self.w.zeros(s.results[*k])));
        }
        let around: Vec<ArrayId> = free_arrays(step).into_iter().filter(|a| self.is_active(*a)).collect();
        for a in &around {
            adjoints.push(self.w.zeros(*a));
        }
        let steps = self.steps(init, test, step)?;
        let l = Loop { init, step, active, around };
        let found = self.back_through(&l, steps, &adjoints)?;
        let (of_state, of_around) = found.split_at(l.active.len());
        for (k, adjoint) in l.active.iter().zip(of_state) {
            self.contribute(init[*k], *adjoint);
        }
        for (a, adjoint) in l.around.iter().zip(of_around) {
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

    /// The number of steps of a loop.
    fn steps(&mut self, init: &[ArrayId], test: &Block, step: &Block) -> Result<ArrayId, Error> {
        let zero = self.number(|c| c.int(0));
        let all: Vec<ArrayId> = init.iter().copied().chain([zero]).collect();
        let test = self.block(&all, |this, params| Ok(this.once_more(test, &params[..init.len()])))?;
        let step = self.counted(step, &all)?;
        let end = self.while_(all, test, step);
        Ok(end[init.len()])
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
    fn back_step(&mut self, l: &Loop<'_>, state: &[ArrayId], adjoints: &[ArrayId]) -> Result<Vec<ArrayId>, Error> {
        let around = std::mem::take(&mut self.adjoints);
        for k in &l.active {
            self.activity.insert(state[*k]);
        }
        let same = copy(self.w, l.step, state);
        let by: Vec<(ArrayId, ArrayId)> =
            l.active.iter().map(|k| same.results[*k]).zip(adjoints.iter().copied()).collect();
        let done = self.replaced(&same.stmts, &by);
        let found = self.take_all();
        self.adjoints = around;
        done?;
        let mut before = Vec::new();
        for k in &l.active {
            let own = found.get(&state[*k]).copied();
            before.push(own.unwrap_or_else(|| self.w.zeros(state[*k])));
        }
        for (a, so_far) in l.around.iter().zip(&adjoints[l.active.len()..]) {
            before.push(match found.get(a) {
                Some(more) => self.w.sum(*so_far, *more),
                None => *so_far,
            });
        }
        Ok(before)
    }
}

/// An integer in an array of rank 0.
pub(super) fn int(c: &mut Code, a: ArrayId) -> Val {
    let op = ScalarOp::Index(Read::new(a, [0].as_slice(), SmallVec::new()));
    c.emit(op, ScalarType::I64)
}
