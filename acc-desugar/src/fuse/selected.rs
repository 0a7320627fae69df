//! Sorts of which only the first, or only the last, elements of each row are read.
//!
//! These are selected, and the others not sorted: their positions are left undefined. That is so where all that reads the positions
//! that sort rows reads them from one end, in an array whose rows have an extent that is known before the sort, or passes
//! them on, element by element and perhaps in reverse order, to what does. Of what passes them on nothing may be stored, since
//! it would read positions that are not there.

use super::Fusion;
use super::sorted::keys;
use super::uses::{By, Read, Uses};
use crate::analysis::extents::{Extent, Extents};
use acc_core::data::Prim;
use acc_core::ir::{ArrayId, ArrayOp, Fun, PrimOp, Program, ScalarOp, Stmt};

/// An end of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The beginning.
    First,
    /// The end.
    Last,
}

/// The part of each sorted row that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct Selection {
    /// At which end it is.
    pub end: End,
    /// How many elements it has, from extents; where a row has fewer, all of them.
    pub count: Fun,
}

/// A sort whose positions may be selected.
pub(super) struct Candidate {
    pub positions: ArrayId,
    pub selection: Selection,
    /// What passes positions on.
    passing: Vec<ArrayId>,
}

impl Candidate {
    /// Whether nothing of what passes positions on is stored.
    pub(super) fn holds(&self, fusion: &Fusion) -> bool {
        self.passing.iter().all(|a| fusion.is_inlined(*a))
    }
}

/// How many statements positions are followed through.
const MAX_PASSING: usize = 16;

/// The selection that a statement, by its number, may be.
pub(super) fn candidate(p: &Program, uses: &Uses<'_>, extents: &mut Extents, k: usize) -> Option<Candidate> {
    let s = uses.sites[k].stmt;
    let (Some(xs), &[positions]) = (keys(s), &s.results[..]) else { return None };
    let mut search = Search { p, uses, extents, block: uses.sites[k].block, found: None, passing: Vec::new() };
    search.follow(positions, End::First)?;
    let Search { found, passing, .. } = search;
    let (end, count) = found?;
    let is_early = |a: ArrayId| a == xs || p.body.params.contains(&a);
    let count = extents.function(count, &is_early, &s.loc)?;
    Some(Candidate { positions, selection: Selection { end, count }, passing })
}

struct Search<'a> {
    p: &'a Program,
    uses: &'a Uses<'a>,
    extents: &'a mut Extents,
    /// The block of the sort.
    block: usize,
    /// From which end positions are read, and how many.
    found: Option<(End, Extent)>,
    passing: Vec<ArrayId>,
}

impl End {
    fn opposite(self) -> End {
        match self {
            End::First => End::Last,
            End::Last => End::First,
        }
    }
}

impl Search<'_> {
    /// Follows what reads an array that begins with this end of each sorted row; none if that is not only from one end.
    fn follow(&mut self, a: ArrayId, begins: End) -> Option<()> {
        let mut readers: Vec<usize> = Vec::new();
        for u in &self.uses.of[a.index()] {
            match (u.read, u.by) {
                (Read::Measured, _) => {}
                (Read::Stored(_) | Read::Once | Read::Initial | Read::Window(_), _) | (_, By::Block(_)) => return None,
                (Read::Point | Read::Times(_), By::Stmt(by)) => readers.push(by),
            }
        }
        readers.dedup();
        for by in readers {
            let site = &self.uses.sites[by];
            let &[result] = &site.stmt.results[..] else { return None };
            if site.block != self.block || self.passing.len() > MAX_PASSING {
                return None;
            }
            let ends = self.ends(site.stmt, a, result)?;
            let n = *self.extents.of(result).last()?;
            let passes = Some(&n) == self.extents.of(a).last();
            if passes {
                self.passing.push(result);
            }
            for end in ends {
                let begins = if end == End::First { begins } else { begins.opposite() };
                match self.found {
                    _ if passes => acc_core::grow_stack(|| self.follow(result, begins))?,
                    None => self.found = Some((begins, n)),
                    Some(found) if found == (begins, n) => {}
                    Some(_) => return None,
                }
            }
        }
        Some(())
    }

    /// For each read of an array by an element-wise statement, from which end of its rows: in order, or in reverse order. None if
    /// there is another read.
    fn ends(&mut self, s: &Stmt, a: ArrayId, result: ArrayId) -> Option<Vec<End>> {
        let point: Vec<Extent> = (0..self.p.ty(result).rank).map(|axis| self.extents.point(axis)).collect();
        let mut at: Vec<Extent> = Vec::new();
        let f = match &s.op {
            ArrayOp::Generate { f, .. } => f,
            ArrayOp::Map { f, xs, .. } => {
                at.extend(point.last().filter(|_| xs.contains(&a)));
                f
            }
            ArrayOp::Backpermute { index, xs, .. } => {
                if *xs == a {
                    at.push(*self.extents.values(index, &point, None).last()?);
                }
                index
            }
            // Others do not pass on elements one by one.
            _ => return None,
        };
        // Elements that a map takes are not known, unlike its point.
        let args = if matches!(s.op, ArrayOp::Map { indexed: false, .. }) { &[][..] } else { &point };
        let known = self.extents.known_values(f, args, None);
        let mut all_known = true;
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Index(read) = &n.op
                && read.array == a
            {
                match read.index.last().and_then(|v| known.get(v)) {
                    Some(index) => at.push(*index),
                    None => all_known = false,
                }
            }
        });
        let (inner, n) = (*point.last()?, *self.extents.of(a).last()?);
        let one = self.extents.literal(1i64.lit());
        let last = self.extents.prim(PrimOp::SubP, vec![n, one]);
        let reversed = self.extents.prim(PrimOp::SubP, vec![last, inner]);
        let [in_order, reversed] = [inner, reversed].map(|e| self.extents.sum(e));
        let end = |e: &Extent| match self.extents.sum(*e) {
            sum if sum == in_order => Some(End::First),
            sum if sum == reversed => Some(End::Last),
            _ => None,
        };
        at.iter().map(end).collect::<Option<Vec<End>>>().filter(|ends| all_known && !ends.is_empty())
    }
}
