//! Adjoints of array loops.
//!
//! The steps are gone through from the last to the first. Where one needs of the state before it, some states are kept
//! ([`kept`]), and the others are computed again from the newest kept one before them.

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
use smallvec::SmallVec;

/// A loop whose adjoints are taken.
struct Loop<'s> {
    /// The state before the first step.
    init: &'s [ArrayId],
    step: &'s Block,
    /// From the state before a step and the adjoints after it to those before it.
    back: Block,
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
        let steps = self.steps(s, init, test, step)?;
        let back = self.block(&[init, &adjoints[..]].concat(), |this, params| {
            let (state, adjoints) = params.split_at(init.len());
            this.back_step(step, &active, state, adjoints)
        })?;
        let back = pruned(&back);
        let found = if reads(&back, &back.params[..init.len()]) {
            self.back_through(&Loop { init, step, back }, steps, &adjoints)?
        } else {
            self.back_without_states(&back, init, steps, &adjoints)?
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

    /// The number of steps of a loop, which counts them from here on.
    fn steps(&mut self, s: &Stmt, init: &[ArrayId], test: &Block, step: &Block) -> Result<ArrayId, Error> {
        let Some(at) = self.w.stmts.iter().rposition(|other| other.results == s.results) else {
            return Err(
                Error::defect("differentiate", "a loop is gone through that is not there").during("awhile", &s.loc)
            );
        };
        let after = self.w.stmts.split_off(at + 1);
        self.w.stmts.truncate(at);
        let zero = self.number(|c| c.int(0));
        let all: Vec<ArrayId> = init.iter().copied().chain([zero]).collect();
        let test = self.block(&all, |this, params| Ok(this.once_more(test, &params[..init.len()])))?;
        let step = self.counted(step, &all)?;
        let steps = self.w.array(self.w.ty(zero).clone());
        let results = s.results.iter().copied().chain([steps]).collect();
        self.w.stmts.push(Stmt { results, op: ArrayOp::While { init: all, test, step }, loc: s.loc.clone() });
        self.w.stmts.extend(after);
        Ok(steps)
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

    /// From the adjoints after so many steps of a loop to those before them, where a step back reads no state.
    fn back_without_states(
        &mut self,
        back: &Block,
        init: &[ArrayId],
        steps: ArrayId,
        adjoints: &[ArrayId],
    ) -> Result<Vec<ArrayId>, Error> {
        self.w.note("its steps from the last one, without their states");
        let all = [&[steps], adjoints].concat();
        let test = self.block(&all, |this, params| Ok(vec![this.any_left(params[0])]))?;
        let step = self.block(&all, |this, params| {
            let left = this.number(|c| {
                let (left, one) = (int(c, params[0]), c.int(1));
                c.two(PrimOp::SubP, left, one)
            });
            Ok([vec![left], this.once_more(back, &[init, &params[1..]].concat())].concat())
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
        let done = self.replaced(&same.stmts, &by);
        let mut before = Vec::new();
        for k in &active.state {
            before.push(self.take(state[*k]).unwrap_or_else(|| self.w.zeros(state[*k])));
        }
        for (a, so_far) in active.around.iter().zip(&adjoints[active.state.len()..]) {
            before.push(match self.take(*a) {
                Some(more) => self.w.sum(*so_far, more),
                None => *so_far,
            });
        }
        self.adjoints = around;
        done.map(|()| before)
    }
}

/// Whether a block reads one of these parameters of it.
fn reads(b: &Block, params: &[ArrayId]) -> bool {
    let inside = Block { params: Vec::new(), stmts: b.stmts.clone(), results: b.results.clone() };
    free_arrays(&inside).iter().any(|a| params.contains(a))
}

/// An integer in an array of rank 0.
pub(super) fn int(c: &mut Code, a: ArrayId) -> Val {
    let op = ScalarOp::Index(Read::new(a, [0].as_slice(), SmallVec::new()));
    c.emit(op, ScalarType::I64)
}
