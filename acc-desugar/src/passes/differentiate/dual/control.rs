//! Tangents of conditionals, loops and foreign functions.

use super::super::copy;
use super::Forward;
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, Block, ForeignFun, Fun, Stmt};

impl Forward<'_, '_> {
    /// The results of a statement that have a tangent.
    pub(super) fn active_results(&self, s: &Stmt) -> Vec<usize> {
        (0..s.results.len()).filter(|k| self.activity.is_active(s.results[*k])).collect()
    }

    /// New arrays for the tangents of these results of a statement.
    pub(super) fn new_tangents(&mut self, s: &Stmt, active: &[usize]) -> Vec<ArrayId> {
        let mut new = Vec::new();
        for k in active {
            let y = s.results[*k];
            let ty = acc_core::ir::ArrayType { rank: self.w.rank(y), elt: self.w.tangent_elt(y) };
            let t = self.w.array(ty);
            self.tangents.insert(y, t);
            new.push(t);
        }
        new
    }

    pub(super) fn branch(&mut self, s: &Stmt, cond: &Fun, then: &Block, else_: &Block) -> Result<(), Error> {
        let active = self.active_results(s);
        let then = self.with_tangents(then, &active, Vec::new())?;
        let else_ = self.with_tangents(else_, &active, Vec::new())?;
        let mut results = s.results.clone();
        results.extend(self.new_tangents(s, &active));
        let op = ArrayOp::If { cond: cond.clone(), then, else_ };
        self.w.stmts.push(Stmt { results, op, loc: s.loc.clone() });
        Ok(())
    }

    /// A block that yields the tangents of these of its results, too; and takes those parameters more.
    pub(super) fn with_tangents(&mut self, b: &Block, active: &[usize], more: Vec<ArrayId>) -> Result<Block, Error> {
        let around = std::mem::take(&mut self.w.stmts);
        let written = self.statements(&b.stmts);
        let mut results = b.results.clone();
        for k in active {
            results.push(self.tangent_of(b.results[*k]));
        }
        let stmts = std::mem::replace(&mut self.w.stmts, around);
        written?;
        let params = b.params.iter().copied().chain(more).collect();
        Ok(Block { params, stmts, results })
    }

    pub(super) fn looped(&mut self, s: &Stmt, init: &[ArrayId], test: &Block, step: &Block) -> Result<(), Error> {
        let active = self.active_results(s);
        let mut all = init.to_vec();
        for k in &active {
            all.push(self.tangent_of(init[*k]));
        }
        // The test looks at the numbers alone.
        let of = |this: &mut Self, b: &Block| {
            let new = |k: &usize| {
                let ty = this.w.ty(b.params[*k]).clone();
                let tangent = ty.tangent().unwrap_or(ty);
                this.w.array(tangent)
            };
            active.iter().map(new).collect::<Vec<_>>()
        };
        let test_params = of(self, test);
        let params = test.params.iter().copied().chain(test_params).collect();
        let test = Block { params, stmts: test.stmts.clone(), results: test.results.clone() };
        let step_params = of(self, step);
        for (k, t) in active.iter().zip(&step_params) {
            self.tangents.insert(step.params[*k], *t);
        }
        let step = self.with_tangents(step, &active, step_params)?;
        let mut results = s.results.clone();
        results.extend(self.new_tangents(s, &active));
        let op = ArrayOp::While { init: all, test, step };
        self.w.stmts.push(Stmt { results, op, loc: s.loc.clone() });
        Ok(())
    }

    pub(super) fn foreign(
        &mut self,
        s: &Stmt,
        function: &ForeignFun,
        xs: &[ArrayId],
        fallback: &Block,
    ) -> Result<(), Error> {
        self.w.stmts.push(s.clone());
        let active = self.active_results(s);
        if active.is_empty() {
            return Ok(());
        }
        let tangents: Vec<ArrayId> = match function {
            // What is shown is shown once, of the numbers; what is passed on has the tangents that it had.
            ForeignFun::Trace(_) => {
                let passed = &xs[xs.len() - s.results.len()..];
                active.iter().map(|k| self.tangent_of(passed[*k])).collect()
            }
            ForeignFun::Host(_) => {
                let same = copy(self.w, fallback, xs);
                same.stmts.iter().for_each(|s| self.activity.add(&self.w.types, s));
                self.statements(&same.stmts)?;
                active.iter().map(|k| self.tangent_of(same.results[*k])).collect()
            }
        };
        self.tangents.extend(active.iter().map(|k| s.results[*k]).zip(tangents));
        Ok(())
    }
}
