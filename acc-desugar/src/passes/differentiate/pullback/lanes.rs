//! Functions of the points of a statement: over one or more arrays of one rank, on the intersection of their extents.

use super::super::sweep::{Swept, sweep};
use super::Reverse;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::EltType;
use acc_core::ir::{ArrayId, ArrayOp, Fun, Val};
use std::collections::HashSet;

/// The parameters of a function of points.
pub(super) struct Lanes {
    pub(super) xs: Vec<ArrayId>,
    pub(super) index: Vec<Val>,
    /// The leaves of each array's element.
    pub(super) elements: Vec<Vec<Val>>,
}

impl Reverse<'_, '_> {
    /// A function of points over these arrays, of which nothing is written yet.
    pub(super) fn lanes(&self, xs: &[ArrayId]) -> (Code, Lanes) {
        let rank = xs.first().map_or(0, |x| self.w.rank(*x));
        let mut code = Code::of_index(rank, &self.w.loc);
        let index = code.params();
        let of = |x: &ArrayId| self.w.elt(*x).leaves().iter().map(|ty| code.param(*ty)).collect::<Vec<Val>>();
        let elements = xs.iter().map(of).collect();
        (code, Lanes { xs: xs.to_vec(), index, elements })
    }

    /// What a function of points yields, as an array. It is one of the arrays whose elements the function uses, and of those
    /// without which it would have more points.
    pub(super) fn at_points(&mut self, lanes: &Lanes, code: Code, results: Vec<Val>, elt: EltType) -> ArrayId {
        let mut f = code.done(results);
        let (rank, seen) = (lanes.index.len(), used(&f));
        let extents = self.w.extents.common(&lanes.xs);
        let mut kept: Vec<bool> = vec![true; lanes.xs.len()];
        for (k, element) in lanes.elements.iter().enumerate() {
            kept[k] = element.iter().any(|v| seen.contains(v));
            let xs: Vec<ArrayId> = lanes.xs.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(x, _)| *x).collect();
            kept[k] |= self.w.extents.common(&xs) != extents || !kept.contains(&true);
        }
        let indexed = lanes.index.iter().any(|i| seen.contains(i));
        let index = lanes.index.iter().filter(|_| indexed);
        let elements = lanes.elements.iter().zip(&kept).filter(|(_, kept)| **kept).flat_map(|(e, _)| e);
        f.body.params = index.chain(elements).copied().collect();
        let xs = lanes.xs.iter().zip(kept).filter(|(_, kept)| *kept).map(|(x, _)| *x).collect();
        self.w.stmt(rank, elt, ArrayOp::Map { xs, f, indexed })
    }

    /// Sweeps a function of points with these coordinates. `by` are the adjoints of the floats among its results.
    pub(super) fn swept(
        &self,
        code: Code,
        f: &Fun,
        args: &[Val],
        point: &[Val],
        active: &[bool],
        by: &[Val],
    ) -> Result<Swept, Error> {
        sweep(code, f, args, point, active, &|a, leaf| self.activity.is_leaf_active(a, leaf), &of_floats(f, by))
    }

    /// The same for the adjoints of its parameters alone, not for those of what it reads.
    pub(super) fn swept_alone(
        &self,
        code: Code,
        f: &Fun,
        args: &[Val],
        active: &[bool],
        by: &[Val],
    ) -> Result<Swept, Error> {
        sweep(code, f, args, &[], active, &|_, _| false, &of_floats(f, by))
    }

    /// The adjoints of these parameters, which are the leaves of an array's element, as an array of points.
    pub(super) fn adjoint_of(&mut self, lanes: &Lanes, swept: &Swept, first: usize, element: &EltType) -> ArrayId {
        let mut swept = swept.clone();
        let floats = element.leaves().into_iter().enumerate().filter(|(_, ty)| ty.is_float());
        let results: Vec<Val> = floats.map(|(leaf, ty)| swept.adjoint(first + leaf, ty)).collect();
        self.at_points(lanes, swept.code, results, element.tangent())
    }

    /// An array of adjoints with zeros added where it has fewer points than `like`.
    pub(super) fn padded(&mut self, a: ArrayId, like: ArrayId) -> ArrayId {
        if self.w.same_extents(a, like) {
            return a;
        }
        let elt = self.w.elt(a).clone();
        let leaves = elt.leaves();
        self.over(like, elt, |c, index| {
            let inside = c.within(&a, index);
            c.read_where(inside, a, &leaves, index)
        })
    }
}

/// The adjoints of a function's results, by those of the floats among them.
fn of_floats(f: &Fun, by: &[Val]) -> impl Fn(&mut Code, usize) -> Option<Val> {
    let mut by = by.iter().copied();
    let all: Vec<Option<Val>> = f.result_types().map(|ty| if ty.is_float() { by.next() } else { None }).collect();
    move |_, k| all.get(k).copied().flatten()
}

/// The values that a function uses.
pub(super) fn used(f: &Fun) -> HashSet<Val> {
    let mut seen: HashSet<Val> = f.body.results.iter().copied().collect();
    f.body.visit(0, &mut |n, _| {
        seen.extend(n.op.operands());
        seen.extend(n.op.regions().into_iter().flat_map(|r| r.results.iter().copied()));
    });
    seen
}
