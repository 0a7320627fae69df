//! What windows hold beyond the edges of an array: its adjoints go to the elements from which the boundary takes it.

use super::super::super::writer::adder;
use super::super::Reverse;
use super::{Windows, moved};
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Boundary, PrimOp, StencilInput, Val};

impl Reverse<'_, '_> {
    /// The adjoints of an input's elements, with those of the border around it added: what is before and after an axis, and
    /// within the border along the axes outside of it. `windows` have the extents of the input.
    pub(super) fn with_border(&mut self, input: &StencilInput, windows: &Windows, mut adjoint: ArrayId) -> ArrayId {
        let ty = self.w.ty(adjoint).clone();
        let (from, leaves) = (windows.array, ty.elt.leaves());
        let point = self.w.elt(from).leaves();
        let widths: Vec<i64> = input.window.iter().map(|w| (*w / 2) as i64).collect();
        for axis in (0..widths.len()).filter(|axis| widths[*axis] > 0) {
            let mut shape = self.w.code([]);
            let extents = self.border_extents(&mut shape, from, axis, &widths);
            let mut c = Code::of_index(widths.len(), &self.w.loc);
            let index = c.params();
            let place = placed(&mut c, from, axis, &widths, &index);
            let mut sum: Option<Vec<Val>> = None;
            for n in windows.neighbours.iter().filter(|n| n.offset[axis] != 0) {
                let at = moved(&mut c, &place, &n.offset, PrimOp::SubP);
                let inside = c.within(&from, &at);
                let read = |c: &mut Code| n.adjoint_at(c, from, &point, &at);
                let own = c.branch(inside, &leaves, read, |c| c.zeros(&leaves));
                sum = Some(match sum {
                    Some(s) => s.into_iter().zip(own).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect(),
                    None => own,
                });
            }
            // Windows that do not reach beyond this axis have no border there.
            let Some(sum) = sum else { continue };
            let op = ArrayOp::Generate { shape: shape.done(extents), f: c.done(sum) };
            let xs = self.w.stmt(ty.rank, ty.elt.clone(), op);
            let mut target = Code::of_index(widths.len(), &self.w.loc);
            let index = target.params();
            let place = placed(&mut target, from, axis, &widths, &index);
            let mut to = vec![target.literal(Lit::one(ScalarType::U8))];
            for (k, i) in place.into_iter().enumerate() {
                let beyond = k <= axis && widths[k] > 0;
                to.push(if beyond { taken_from(&mut target, &input.boundary, from, k, i) } else { i });
            }
            let combine = adder(&ty.elt, &self.w.loc);
            let op = ArrayOp::Permute { defaults: adjoint, xs, combine, target: target.done(to) };
            adjoint = self.w.add(ty.clone(), op);
        }
        adjoint
    }

    /// The extents of the part of a border that is before and after an axis; there is none around an array without elements.
    fn border_extents(&self, c: &mut Code, a: ArrayId, axis: usize, widths: &[i64]) -> Vec<Val> {
        let own: Vec<Val> = (0..widths.len()).map(|k| c.extent(a, k)).collect();
        let one = c.int(1);
        let some = own.iter().fold(one, |some, n| c.two(PrimOp::MinP, some, *n));
        let extent = |(k, n): (usize, Val)| {
            let both = c.int(2 * widths[k]);
            match k.cmp(&axis) {
                std::cmp::Ordering::Less => c.two(PrimOp::AddP, n, both),
                std::cmp::Ordering::Equal => c.two(PrimOp::MulP, some, both),
                std::cmp::Ordering::Greater => n,
            }
        };
        own.into_iter().enumerate().map(extent).collect()
    }
}

/// The index, by that of the array, of an element of the part of a border that is before and after an axis.
fn placed(c: &mut Code, a: ArrayId, axis: usize, widths: &[i64], index: &[Val]) -> Vec<Val> {
    let mut place = index.to_vec();
    for k in (0..=axis).filter(|k| widths[*k] > 0) {
        let width = c.int(widths[k]);
        place[k] = c.two(PrimOp::SubP, index[k], width);
    }
    let (zero, n) = (c.int(0), c.extent(a, axis));
    let before = c.two(PrimOp::LtP, place[axis], zero);
    let after = c.two(PrimOp::AddP, place[axis], n);
    place[axis] = c.choose(before, place[axis], after);
    place
}

/// Where a boundary takes an element from whose coordinate may be beyond an edge.
fn taken_from(c: &mut Code, boundary: &Boundary, a: ArrayId, axis: usize, i: Val) -> Val {
    let (n, zero, one) = (c.extent(a, axis), c.int(0), c.int(1));
    let last = c.two(PrimOp::SubP, n, one);
    match boundary {
        Boundary::Clamp | Boundary::Function(_) => {
            let low = c.two(PrimOp::MaxP, i, zero);
            c.two(PrimOp::MinP, low, last)
        }
        Boundary::Mirror => {
            let low = c.op(PrimOp::AbsP, &[i]);
            let twice = c.two(PrimOp::AddP, last, last);
            let high = c.two(PrimOp::SubP, twice, low);
            c.two(PrimOp::MinP, low, high)
        }
        Boundary::Wrap => {
            let (more, less) = (c.two(PrimOp::AddP, i, n), c.two(PrimOp::SubP, i, n));
            let (low, high) = (c.two(PrimOp::LtP, i, zero), c.two(PrimOp::GtP, i, last));
            let inside = c.choose(high, less, i);
            c.choose(low, more, inside)
        }
    }
}
