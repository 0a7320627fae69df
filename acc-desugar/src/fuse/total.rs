//! Which statements may be evaluated though nothing needs them, and which end.

use super::cost::facts;
use super::uses::{Site, Uses};
use crate::analysis::extents::Extents;
use crate::analysis::total::is_total;
use acc_core::ir::{ArrayId, Stmt, arrays_of_fun};

/// For each statement, whether something holds of it and of all it needs that is not needed anyway.
fn with_all_it_needs(uses: &Uses<'_>, holds: impl Fn(&Stmt) -> bool) -> Vec<bool> {
    let mut all: Vec<bool> = Vec::with_capacity(uses.sites.len());
    for Site { stmt, .. } in &uses.sites {
        let there = |a: ArrayId| uses.def[a.index()].is_none_or(|d| uses.sites[d].strict || all.get(d) == Some(&true));
        let code = stmt.op.funs();
        let mut read =
            stmt.op.arrays().into_iter().chain(code.iter().flat_map(|(_, f)| arrays_of_fun(f)).map(|(a, _)| a));
        let here = holds(stmt) && read.all(there);
        all.push(here);
    }
    all
}

/// For each statement, whether it and all it needs end without a fault or are needed anyway.
pub(super) fn total_statements(uses: &Uses<'_>, extents: &Extents) -> Vec<bool> {
    with_all_it_needs(uses, |s| is_total(s, extents))
}

/// For each statement, whether it and all it needs end, be it with a fault, or are needed anyway.
pub(super) fn ending_statements(uses: &Uses<'_>) -> Vec<bool> {
    with_all_it_needs(uses, |s| s.op.blocks().is_empty() && !facts(s).loops)
}
