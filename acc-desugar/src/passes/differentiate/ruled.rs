//! Functions with rules, seen from their derivatives.

use super::writer::Writer;
use super::{copy, copy_where, pruned, pullback};
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, Block, Stmt};
use std::collections::HashMap;

/// A function with rules, and its arguments and results.
pub(super) struct Ruled<'s> {
    pub(super) at: &'s [ArrayId],
    pub(super) f: &'s Block,
    pub(super) jvp: Option<&'s Block>,
    pub(super) vjp: Option<&'s Block>,
    /// The results but the residuals.
    pub(super) values: &'s [ArrayId],
    pub(super) residuals: &'s [ArrayId],
}

impl<'s> Ruled<'s> {
    pub(super) fn of(s: &'s Stmt) -> Option<Ruled<'s>> {
        let ArrayOp::Ruled { at, residuals, f, jvp, vjp } = &s.op else { return None };
        let (values, residuals) = s.results.split_at(s.results.len().saturating_sub(*residuals));
        Some(Ruled { at, f, jvp: jvp.as_ref(), vjp: vjp.as_ref(), values, residuals })
    }

    /// Whether it has no rule.
    pub(super) fn is_checkpoint(&self) -> bool {
        self.jvp.is_none() && self.vjp.is_none()
    }

    /// How the residuals are computed from the arguments and the other results. The derivatives of the latter are the rules';
    /// those of the residuals are those of this code.
    pub(super) fn residual_code(&self, w: &mut Writer<'_>) -> Block {
        let mut names: HashMap<ArrayId, ArrayId> = HashMap::new();
        for (y, value) in self.f.results.iter().zip(self.values) {
            if self.f.stmts.iter().any(|s| s.results.contains(y)) {
                names.entry(*y).or_insert(*value);
            }
        }
        let mut stmts = Vec::new();
        for s in &self.f.stmts {
            if s.results.iter().all(|r| names.contains_key(r)) {
                continue;
            }
            // What it defines is used by nobody where it is known.
            let own = |r: &ArrayId| if names.contains_key(r) { w.array(w.ty(*r).clone()) } else { *r };
            let results = s.results.iter().map(own).collect();
            stmts.push(Stmt { results, op: s.op.clone(), loc: s.loc.clone() });
        }
        let results = self.f.results[self.values.len()..].to_vec();
        names.extend(self.f.params.iter().copied().zip(self.at.iter().copied()));
        let code = pruned(&Block { params: Vec::new(), stmts, results });
        copy_where(w, &code, names)
    }
}

/// The transpose of a rule, applied to `along`: the adjoints of what it maps, which is like `of`; `fixed` are its other
/// arguments. Since a rule is linear, its derivative is the same everywhere.
pub(super) fn transposed(
    w: &mut Writer<'_>,
    rule: &Block,
    fixed: &[ArrayId],
    of: &[ArrayId],
    along: &[ArrayId],
) -> Result<Vec<ArrayId>, Error> {
    let zeros: Vec<ArrayId> = of.iter().map(|a| w.zeros(*a)).collect();
    let same = copy(w, rule, &[fixed, &zeros].concat());
    w.stmts.extend(same.stmts.iter().cloned());
    let f = Block { params: zeros, stmts: same.stmts.clone(), results: same.results.clone() };
    let along = w.given(&f.results, along);
    let mut all = pullback::derivative(w, &f, &along)?;
    Ok(all.split_off(f.results.len()))
}
