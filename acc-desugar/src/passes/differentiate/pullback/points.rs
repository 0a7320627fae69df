//! Adjoints of element-wise operations.

use super::Reverse;
use acc_core::Error;
use acc_core::ir::{ArrayId, Fun, Stmt, Val};

impl Reverse<'_, '_> {
    pub(super) fn generate(&mut self, f: &Fun, by: ArrayId) -> Result<(), Error> {
        let (code, lanes) = self.lanes(&[by]);
        let active = vec![false; lanes.index.len()];
        let swept = self.swept(code, f, &lanes.index, &lanes.index, &active, &lanes.elements[0])?;
        self.sites(&lanes, &swept)
    }

    pub(super) fn map(&mut self, s: &Stmt, xs: &[ArrayId], f: &Fun, indexed: bool, by: ArrayId) -> Result<(), Error> {
        let (code, lanes) = self.lanes(&[xs, &[by]].concat());
        let (own, last) = lanes.elements.split_at(xs.len());
        let index = if indexed { lanes.index.clone() } else { Vec::new() };
        let args: Vec<Val> = index.iter().chain(own.iter().flatten()).copied().collect();
        let active = self.activity.active_params(&self.w.types, s, "f", f);
        let swept = self.swept(code, f, &args, &lanes.index, &active, &last[0])?;
        let mut first = index.len();
        for x in xs {
            let elt = self.w.elt(*x).clone();
            if self.is_active(*x) {
                let adjoint = self.adjoint_of(&lanes, &swept, first, &elt);
                self.contribute_points(*x, adjoint);
            }
            first += elt.leaf_count();
        }
        self.sites(&lanes, &swept)
    }
}
