//! Tangents of functions with rules.

use super::super::copy;
use super::super::ruled::{Ruled, transposed};
use super::Forward;
use acc_core::Error;
use acc_core::ir::{ArrayOp, Stmt};

impl Forward<'_, '_> {
    pub(super) fn ruled(&mut self, s: &Stmt) -> Result<(), Error> {
        let Some(r) = Ruled::of(s) else { return Ok(()) };
        if r.is_checkpoint() {
            return self.checkpoint(s, &r);
        }
        self.w.stmts.push(s.clone());
        if self.active_results(s).is_empty() {
            return Ok(());
        }
        let mut dx = Vec::new();
        for x in self.w.with_float(r.at) {
            dx.push(self.tangent_of(x));
        }
        let values = self.w.with_float(r.values);
        let dy = match (r.jvp, r.vjp) {
            (Some(rule), _) => {
                let same = copy(self.w, rule, &[r.at, r.residuals, &dx].concat());
                self.w.stmts.extend(same.stmts.iter().cloned());
                same.results.clone()
            }
            (None, Some(rule)) => transposed(self.w, rule, r.residuals, &values, &dx)?,
            (None, None) => Vec::new(),
        };
        let dy = self.w.given(r.values, &dy);
        self.tangents.extend(values.into_iter().zip(dy));
        let code = r.residual_code(self.w);
        code.stmts.iter().for_each(|s| self.activity.add(&self.w.types, s));
        self.statements(&code.stmts)?;
        for (residual, same) in r.residuals.iter().zip(&code.results) {
            if self.w.elt(*residual).has_float() {
                let tangent = self.tangent_of(*same);
                self.tangents.insert(*residual, tangent);
            }
        }
        Ok(())
    }

    /// A checkpoint of the function and its tangents.
    fn checkpoint(&mut self, s: &Stmt, r: &Ruled<'_>) -> Result<(), Error> {
        let active = self.active_results(s);
        let (mut at, mut more) = (r.at.to_vec(), Vec::new());
        for (p, x) in r.f.params.iter().zip(r.at) {
            if let Some(t) = self.tangents.get(x).copied() {
                let own = self.w.array(self.w.ty(t).clone());
                self.tangents.insert(*p, own);
                at.push(t);
                more.push(own);
            }
        }
        let f = self.with_tangents(r.f, &active, more)?;
        let mut results = s.results.clone();
        results.extend(self.new_tangents(s, &active));
        let op = ArrayOp::Ruled { at, residuals: 0, f, jvp: None, vjp: None };
        self.w.stmts.push(Stmt { results, op, loc: s.loc.clone() });
        Ok(())
    }
}
