//! Adjoints of functions with rules.

use super::super::ruled::{Ruled, transposed};
use super::super::{copy, copy_where};
use super::Reverse;
use super::control::given;
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, Stmt, free_arrays};
use smallvec::smallvec;
use std::collections::HashMap;

impl Reverse<'_, '_> {
    pub(super) fn ruled(&mut self, s: &Stmt) -> Result<(), Error> {
        let Some(r) = Ruled::of(s) else { return Ok(()) };
        if r.is_checkpoint() {
            return self.again(s, &r);
        }
        let of_residuals: Vec<Option<ArrayId>> = r.residuals.iter().map(|y| self.take(*y)).collect();
        if of_residuals.iter().any(Option::is_some) {
            let code = r.residual_code(self.w);
            self.replaced(&code.stmts, &given(&code, &of_residuals))?;
            self.w.at(s);
        }
        let values = self.w.with_float(r.values);
        let by: Vec<Option<ArrayId>> = values.iter().map(|y| self.take(*y)).collect();
        if by.iter().all(Option::is_none) {
            return Ok(());
        }
        let ybar = values.iter().zip(by).map(|(y, by)| by.unwrap_or_else(|| self.w.zeros(*y))).collect::<Vec<_>>();
        let args = self.w.with_float(r.at);
        let xbar = match (r.jvp, r.vjp) {
            (_, Some(rule)) => {
                let same = copy(self.w, rule, &[r.residuals, &ybar].concat());
                self.w.stmts.extend(same.stmts.iter().cloned());
                same.results.clone()
            }
            (Some(rule), None) => transposed(self.w, rule, &[r.at, r.residuals].concat(), &args, &ybar)?,
            (None, None) => Vec::new(),
        };
        let xbar = self.w.given(r.at, &xbar);
        for (x, xbar) in args.into_iter().zip(xbar) {
            self.contribute(x, xbar);
        }
        Ok(())
    }

    /// A checkpoint: the function once more, of stored arrays, so that no later pass takes the first computation for it.
    fn again(&mut self, s: &Stmt, r: &Ruled<'_>) -> Result<(), Error> {
        let by: Vec<Option<ArrayId>> = s.results.iter().map(|y| self.take(*y)).collect();
        let captured = free_arrays(r.f).into_iter().filter(|a| self.is_active(*a)).map(|a| (a, a));
        let all: Vec<(ArrayId, ArrayId)> =
            r.f.params.iter().copied().zip(r.at.iter().copied()).chain(captured).collect();
        let (mut stmts, mut names) = (Vec::new(), HashMap::new());
        for (name, xs) in all {
            let stored = self.w.array(self.w.ty(xs).clone());
            stmts.push(Stmt {
                results: smallvec![stored],
                op: ArrayOp::Compute { xs, schedule: None },
                loc: s.loc.clone(),
            });
            names.insert(name, stored);
        }
        let same = copy_where(self.w, r.f, names);
        stmts.extend(same.stmts.iter().cloned());
        self.replaced(&stmts, &given(&same, &by))
    }
}
