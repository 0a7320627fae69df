//! Compactions: permutes that put the elements of a vector that are kept one after the other, in order.
//!
//! Element `i` goes to place `s[i]` where `keep(i)`, if `s` counts the elements before `i` that are kept, and there are as
//! many places as elements that are kept. This is what `filter` and `compact` are, and what programs write with a scan and
//! a permute: functions are compared as what they compute of the index, through element-wise statements, however they are
//! spelled. Places are then all met, and each once, so that nothing is combined, and neither the counts nor what the
//! permute begins with need be computed.

use super::uses::{By, Read, Uses};
use crate::analysis::contraction::Definitions;
use crate::analysis::extents::{Extent, Extents, Inside};
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{self, ArrayId, ArrayOp, Dir, Fun, PrimOp, Program, ScalarOp};
use std::collections::HashSet;

/// A permute that is a compaction.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// What the permute begins with: of its result nothing is left, and no more than its extent is known.
    pub defaults: ArrayId,
    /// The counts that the permute reads at its own point.
    pub counts: Vec<ArrayId>,
    /// All that nothing else needs: counts, what they count, and the number of places.
    pub absorbed: Vec<ArrayId>,
}

/// How many statements values are followed through.
const MAX_FOLLOWED_STATEMENTS: usize = 16;

/// The compaction that a statement is, by its number.
pub(super) fn compaction(
    p: &Program,
    defs: &Definitions<'_>,
    uses: &Uses<'_>,
    extents: &mut Extents,
    k: usize,
) -> Option<Compaction> {
    let s = uses.sites[k].stmt;
    let ArrayOp::Permute { target, combine, defaults, xs } = &s.op else { return None };
    if p.ty(*xs).rank != 1 || p.ty(s.results[0]).rank != 1 || !replaces(combine) {
        return None;
    }
    let inside = Inside { program: p, defs };
    let point = extents.point(0);
    let [keep, place] = extents.values(target, &[point], Some((&inside, MAX_FOLLOWED_STATEMENTS)))[..] else {
        return None;
    };
    let (kept, _) = extents.indicated(keep)?;
    let place = extents.under(place, kept);
    // The count that the place is, and what it counts.
    let mut reads: Vec<ArrayId> = Vec::new();
    target.body.visit(0, &mut |n, _| {
        if let ScalarOp::Index(ir::Read { array, .. }) = &n.op {
            reads.push(*array);
        }
    });
    let scan = follow(p, &inside, extents, &reads, place)?;
    let ArrayOp::Scan { dir: Dir::Left, f, init, xs: counted } = &defs.get(scan)?.op else { return None };
    if !adds(f) || p.ty(*counted).rank != 1 || extents.of(*counted) != extents.of(*xs) {
        return None;
    }
    let one = extents.literal(Lit { ty: ScalarType::I64, bits: 1 });
    let at_point = extents.read(scan, 0, &[point]);
    let before = match init {
        Some(init) => extents.closed_is_zero(init).then_some(at_point)?,
        None => extents.prim(PrimOp::SubP, vec![at_point, one]),
    };
    let is_one = |e: &mut Extents, a: ArrayId| {
        let element = e.element(&inside, a, &[point], MAX_FOLLOWED_STATEMENTS);
        element.first().is_some_and(|&x| e.indicated(x) == Some((kept, 1)))
    };
    if place != before || !is_one(extents, *counted) {
        return None;
    }
    // As many places as elements that are kept: the last count, or their sum.
    let length = *extents.of(*xs).first()?;
    let places = *extents.of(*defaults).first()?;
    let all = init.as_ref().map(|_| extents.read(scan, 0, &[length]));
    if all != Some(places) && !is_sum_of(p, defs, extents, places, length, &is_one) {
        return None;
    }
    let harmless = |f: &Fun| !f.body.is_partial();
    match &defs.get(*defaults)?.op {
        ArrayOp::Generate { f, .. } if harmless(f) => {}
        ArrayOp::Replicate { .. } => {}
        _ => return None,
    }
    let is_count = |e: &mut Extents, a: ArrayId| {
        let one_leaf = p.ty(a).rank == 1 && p.ty(a).elt.leaves().len() == 1;
        one_leaf && (a == scan || e.element(&inside, a, &[point], MAX_FOLLOWED_STATEMENTS).first() == Some(&at_point))
    };
    absorbed(uses, extents, k, *defaults, scan, &is_count)
}

/// The scan that a place is made of.
fn follow(
    p: &Program,
    inside: &Inside<'_>,
    extents: &mut Extents,
    reads: &[ArrayId],
    place: Extent,
) -> Option<ArrayId> {
    let point = extents.point(0);
    let one = extents.literal(Lit { ty: ScalarType::I64, bits: 1 });
    let mut todo = reads.to_vec();
    let mut seen: HashSet<ArrayId> = HashSet::new();
    while let Some(a) = todo.pop() {
        if !seen.insert(a) || seen.len() > MAX_FOLLOWED_STATEMENTS {
            continue;
        }
        let Some(s) = inside.defs.get(a) else { continue };
        if matches!(s.op, ArrayOp::Scan { .. }) && p.ty(a).rank == 1 {
            let at_point = extents.read(a, 0, &[point]);
            if at_point == place || extents.prim(PrimOp::SubP, vec![at_point, one]) == place {
                return Some(a);
            }
        }
        todo.extend(s.op.arrays());
    }
    None
}

/// Whether a number is the sum of what is one for each element that is kept.
fn is_sum_of(
    p: &Program,
    defs: &Definitions<'_>,
    extents: &mut Extents,
    places: Extent,
    length: Extent,
    is_one: &dyn Fn(&mut Extents, ArrayId) -> bool,
) -> bool {
    let Some(fold) = extents.scalar_read(places) else { return false };
    let Some(ArrayOp::Fold { f, init: Some(init), xs }) = defs.get(fold).map(|s| &s.op) else { return false };
    adds(f)
        && p.ty(*xs).rank == 1
        && extents.of(*xs) == [length]
        && extents.closed_is_zero(init)
        && is_one(extents, *xs)
}

/// Whether a combination yields the new element.
fn replaces(combine: &Fun) -> bool {
    let n = combine.body.results.len();
    combine.body.params.get(..n) == Some(&combine.body.results[..])
}

/// Whether a function of 64-bit integers adds them.
fn adds(f: &Fun) -> bool {
    let ([a, b], [node], [r]) = (&f.body.params[..], &f.body.nodes[..], &f.body.results[..]) else { return false };
    let adds = matches!(&node.op, ScalarOp::Prim(PrimOp::AddP, v) if v[..] == [*a, *b] || v[..] == [*b, *a]);
    adds && node.results[..] == [*r] && f.ty(*r) == ScalarType::I64
}

/// What nothing but the compaction needs, if the scan is of that kind.
fn absorbed(
    uses: &Uses<'_>,
    extents: &mut Extents,
    k: usize,
    defaults: ArrayId,
    scan: ArrayId,
    is_count: &dyn Fn(&mut Extents, ArrayId) -> bool,
) -> Option<Compaction> {
    let block = uses.sites[k].block;
    let mut absorbed: Vec<ArrayId> = Vec::new();
    let mut counts: Vec<ArrayId> = Vec::new();
    let alone = uses.of[defaults.index()].iter().all(|u| match u.by {
        By::Stmt(by) if by == k => u.read == Read::Initial,
        // What comes before the permute may be what it needs.
        By::Stmt(by) => by > k && u.read == Read::Measured,
        By::Block(_) => false,
    });
    if !alone || uses.sites[uses.def[defaults.index()]?].block != block {
        return None;
    }
    for d in (0..k).rev().filter(|&d| uses.sites[d].block == block) {
        let [a] = uses.sites[d].stmt.results[..] else { continue };
        let inside = |by: usize| uses.sites[by].stmt.results.iter().all(|r| absorbed.contains(r) || *r == defaults);
        let mut counted = false;
        let ours = !uses.of[a.index()].is_empty()
            && a != defaults
            && uses.of[a.index()].iter().all(|u| match u.by {
                By::Stmt(by) if by == k => {
                    counted = true;
                    u.read == Read::Point
                }
                By::Stmt(by) => inside(by),
                By::Block(_) => false,
            });
        if ours && (!counted || is_count(extents, a)) && uses.sites[d].stmt.op.blocks().is_empty() {
            absorbed.push(a);
            if counted {
                counts.push(a);
            }
        }
    }
    absorbed.contains(&scan).then_some(Compaction { defaults, counts, absorbed })
}

impl Extents {
    /// Whether a closed function yields the integer 0.
    fn closed_is_zero(&mut self, f: &Fun) -> bool {
        let zero = self.literal(Lit { ty: ScalarType::I64, bits: 0i64.to_bits64() });
        self.values(f, &[], None) == [zero]
    }
}
