//! Which statements may be evaluated though nothing needs them, which end, and which are needed where they have elements.

use super::cost::facts;
use super::uses::{Site, Uses};
use crate::analysis::comparison::{Comparison, add_conjuncts, comparison};
use crate::analysis::extents::Extents;
use crate::analysis::total::is_total;
use acc_core::ir::{ArrayId, ArrayOp, Fun, PrimOp, ScalarOp, Stmt, Val, arrays_needed, arrays_of_fun};
use std::collections::HashSet;

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

/// For each statement, whether the evaluation of its block certainly needs it, if the arrays that it is read for have elements.
pub(super) fn needed_statements(uses: &Uses<'_>) -> Vec<bool> {
    let mut needed: Vec<bool> = uses.sites.iter().map(|site| site.strict).collect();
    let mut read: HashSet<ArrayId> = HashSet::new();
    for (k, Site { stmt, block, .. }) in uses.sites.iter().enumerate().rev() {
        needed[k] |= stmt.results.iter().any(|r| read.contains(r));
        if needed[k] {
            let here = |a: &ArrayId| uses.def[a.index()].is_some_and(|d| uses.sites[d].block == *block);
            read.extend(arrays_needed(stmt).into_iter().chain(arrays_of_elements(stmt)).filter(here));
        }
    }
    needed
}

/// The arrays that some element of a statement certainly reads, if both have elements: outside of branches, or where nothing but
/// coordinates are compared with the array's extents, which holds at the first point.
fn arrays_of_elements(s: &Stmt) -> Vec<ArrayId> {
    let (ArrayOp::Generate { f, .. } | ArrayOp::Map { f, .. }) = &s.op else { return Vec::new() };
    let mut arrays: Vec<ArrayId> = Vec::new();
    for n in &f.body.nodes {
        match &n.op {
            ScalarOp::Index(read) => arrays.push(read.array),
            ScalarOp::If { cond, then, .. } => arrays.extend(then.nodes.iter().filter_map(|n| match &n.op {
                ScalarOp::Index(read) => Some(read.array).filter(|a| holds_at_first_point(f, *cond, *a)),
                _ => None,
            })),
            _ => {}
        }
    }
    arrays
}

/// Whether a condition compares nothing but coordinates, with the extents of an array.
fn holds_at_first_point(f: &Fun, cond: Val, a: ArrayId) -> bool {
    let definition = |v: Val| f.body.definition(v).map(|n| &n.op);
    let mut conjuncts = Vec::new();
    add_conjuncts(f, &definition, cond, &mut conjuncts);
    conjuncts.into_iter().all(|v| match definition(v) {
        Some(ScalarOp::Prim(PrimOp::AndP, _)) => true,
        Some(op) => comparison(f, op).is_some_and(|(how, i, end)| {
            let is_extent = matches!(definition(end), Some(ScalarOp::Extent { array, .. }) if *array == a);
            how == Comparison::Below && f.body.params.contains(&i) && is_extent
        }),
        None => false,
    })
}
