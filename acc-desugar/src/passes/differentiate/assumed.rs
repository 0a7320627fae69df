//! Extents that are assumed to be equal: those of arrays that a function combines element by element, as far as nothing is known
//! of them. Adjoints need no zeros beyond the shortest array then.
//!
//! Checks hold the assumption. Where it is wrong, the run ends with the fault of a check, and the program runs once more with
//! derivatives that assume nothing.

use super::writer::{Writer, and_equal};
use super::{rename, renamed};
use acc_core::exec::replay::EQUAL_EXTENTS;
use acc_core::ir::{ArrayId, ArrayOp, Block, Stmt};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An axis of an array.
type Axis = (ArrayId, usize);

/// The axes of arrays whose extents are assumed to be that of another axis.
pub(super) type Equal = BTreeMap<Axis, Axis>;

/// Writes the point of a function as arrays of their own, the function's parameters: it may read the point's arrays, too, as
/// constants. These and what else the function reads are checked to have the extents that they are assumed to have.
pub(super) fn with_equal_extents(w: &mut Writer<'_>, f: Block, at: &[ArrayId], equal: &Equal) -> Block {
    let mut names: HashMap<ArrayId, ArrayId> = HashMap::new();
    for (p, x) in f.params.iter().zip(at) {
        let op = checked(w, *x, *p, equal, &names).unwrap_or_else(|| {
            let c = w.code(w.elt(*x).leaves());
            let same = c.params();
            ArrayOp::Map { xs: vec![*x], f: c.done(same), indexed: false }
        });
        w.push(Stmt { results: [*p].into_iter().collect(), op, loc: w.loc.clone() });
    }
    let others: BTreeSet<ArrayId> = equal.keys().map(|(a, _)| *a).filter(|a| !f.params.contains(a)).collect();
    for a in others {
        if let Some(op) = checked(w, a, a, equal, &names) {
            let same = w.array(w.ty(a).clone());
            w.push(Stmt { results: [same].into_iter().collect(), op, loc: w.loc.clone() });
            names.insert(a, same);
        }
    }
    if names.is_empty() { f } else { rename(&f, &names) }
}

/// The check of an array, called so in the function, that its extents are what they are assumed to be; none if nothing is assumed.
fn checked(
    w: &Writer<'_>,
    xs: ArrayId,
    called: ArrayId,
    equal: &Equal,
    names: &HashMap<ArrayId, ArrayId>,
) -> Option<ArrayOp> {
    let assumed: Vec<(usize, Axis)> =
        (0..w.rank(xs)).filter_map(|axis| Some((axis, *equal.get(&(called, axis))?))).collect();
    if assumed.is_empty() {
        return None;
    }
    let mut c = w.code([]);
    let mut ok = c.truth(true);
    for (axis, (other, of)) in assumed {
        let other = if other == called { xs } else { renamed(names, other) };
        let (n, m) = (c.extent(xs, axis), c.extent(other, of));
        ok = and_equal(&mut c, ok, [n, m]);
    }
    Some(ArrayOp::Check { xs, ok: c.done([ok]), message: EQUAL_EXTENTS.into() })
}

/// The axes of arrays from around a function, parameters among them, whose extents are assumed to be that of another axis.
pub(super) fn equal_axes(w: &Writer<'_>, f: &Block) -> Equal {
    let own: HashSet<ArrayId> = f.stmts.iter().flat_map(|s| &s.results).copied().collect();
    let mut extents = w.extents.clone();
    extents.declare(&w.types);
    f.stmts.iter().for_each(|s| extents.note(s));
    let mut to = Equal::new();
    for s in &f.stmts {
        let ArrayOp::Map { xs, .. } = &s.op else { continue };
        for axis in 0..w.rank(s.results[0]) {
            let sources = xs.iter().map(|x| extents.sources(extents.of(*x)[axis])).collect::<Option<Vec<_>>>();
            let mut sources: Vec<Axis> = sources.into_iter().flatten().flatten().collect();
            sources.iter_mut().for_each(|source| *source = first(&to, *source));
            if sources.iter().any(|(a, _)| own.contains(a)) {
                continue;
            }
            // Checks refer to arrays that are there: to parameters, in order, and to others after those.
            let place = |a: &ArrayId| f.params.iter().position(|p| p == a).unwrap_or(f.params.len());
            let Some(least) = sources.iter().copied().min_by_key(|(a, axis)| (place(a), *a, *axis)) else { continue };
            to.extend(sources.into_iter().filter(|source| *source != least).map(|source| (source, least)));
        }
    }
    let all: Vec<Axis> = to.keys().copied().collect();
    all.into_iter().map(|axis| (axis, first(&to, axis))).collect()
}

/// What an axis is assumed to be equal to.
fn first(to: &Equal, mut axis: Axis) -> Axis {
    while let Some(next) = to.get(&axis) {
        axis = *next;
    }
    axis
}
