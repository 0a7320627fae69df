//! Kernels whose neighbouring axes are collapsed: one axis over the points of both, in row-major order.
//!
//! An array that is always read at the indices along both axes, in two dimensions that are neighbours, is read as if these were one: with
//! one stride. That is the same element if its inner dimension has the extent of the inner axis, which is known at launch. Other reads
//! take the quotient and the remainder of the collapsed index by this extent.

use super::Loop;
use crate::kernel::math::Values;
use crate::kernel::{Ix, Kernel, KernelOp, Node, Op, Region};
use acc_core::data::Prim;
use acc_core::data::ScalarType::I64;
use acc_core::ir::{ArrayId, Loc, PrimOp, Schedule, Val};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// From this position on, scalars of the array with the extents of the index space are the extents of inner axes that are collapsed, one for
/// each [step](CollapsedPair).
pub(crate) const FIRST_INNER_EXTENT: u32 = 1 << 16;

/// Two axes that become one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CollapsedPair {
    /// The outer one, which both are then; the inner one is the next.
    pub axis: usize,
    /// The arrays whose dimension of this number and the next one become one.
    pub merged: Vec<(ArrayId, usize)>,
    /// The other arrays that are read at indices along these axes.
    pub divided: Vec<ArrayId>,
}

impl Kernel {
    /// The kernel by the loops of a schedule that collapses axes, without its epilogue, and the pairs of axes that become one after
    /// another. `over` is the array with the extents of its index space.
    pub(crate) fn collapsed(&self, schedule: &Schedule, over: ArrayId) -> (Kernel, Vec<CollapsedPair>) {
        let mut kernel = Kernel { epilogue: None, ..self.clone() };
        let mut pairs = Vec::new();
        for c in schedule.collapsed().iter().rev() {
            for axis in (c.first..c.last).rev() {
                pairs.push(kernel.collapse(axis, over, pairs.len()));
            }
        }
        kernel.loops = schedule.loops_of_collapsed().map(Loop::from).collect();
        kernel.collapsed = schedule.collapsed().iter().map(|c| schedule.number_of_collapsed(c.first)).collect();
        (kernel, pairs)
    }

    /// Makes one axis of an axis and the next one, the pair of this number.
    pub(super) fn collapse(&mut self, axis: usize, over: ArrayId, number: usize) -> CollapsedPair {
        let inner = Op::Own(KernelOp::Scalar { array: over, position: FIRST_INNER_EXTENT + number as u32 });
        let pair = reads_of_pair(&self.element.region, axis);
        let body = &self.element;
        let loc = body.region.nodes.first().map_or_else(Loc::unknown, |n| n.loc.clone());
        let (mut region, mut values) = (body.region.clone(), Values::of(body));
        let point = values.fresh(I64, false);
        let [outer, inner_index] = [0, 1].map(|k| region.params[axis + k]);
        region.params[axis] = point;
        region.params.remove(axis + 1);
        let mut rewriting = Rewriting { pair: &pair, index: [outer, inner_index], values };
        rewriting.region(&mut region);
        let mut values = rewriting.values;
        let extent = values.fresh(I64, true);
        let node = |result, op| Node { results: smallvec![result], op, loc: loc.clone() };
        let divided = |p, result| node(result, Op::Prim(p, smallvec![point, extent]));
        let mut first = vec![node(extent, inner), divided(PrimOp::QuotP, outer), divided(PrimOp::RemP, inner_index)];
        first.append(&mut region.nodes);
        region.nodes = first;
        let mut element = values.into_body(region, body.relaxed);
        // Where neither index is needed alone, nothing is divided.
        for unneeded in [[outer, inner_index], [extent; 2]] {
            let used = element.used();
            element.region.nodes.retain(|n| {
                !n.results.iter().any(|v| unneeded.contains(v)) || n.results.iter().any(|v| used[v.index()])
            });
        }
        self.axes.remove(axis + 1);
        self.element = element;
        pair
    }
}

/// How a region reads arrays along an axis and the next one.
fn reads_of_pair(region: &Region, axis: usize) -> CollapsedPair {
    let mut arrays: BTreeMap<ArrayId, Option<usize>> = BTreeMap::new();
    let mut divided: Vec<ArrayId> = Vec::new();
    region.visit(0, &mut |n, _| {
        let (array, at) = match &n.op {
            Op::Index(l) => {
                let along = |ix: &Ix| is_along(ix, axis).is_some();
                if l.index.iter().any(along) {
                    divided.push(l.array);
                }
                (l.array, dimensions(&l.index, axis).filter(|_| l.edge.is_none()))
            }
            Op::Own(KernelOp::Inside { array, index } | KernelOp::Check { array, index }) => {
                (*array, dimensions(index, axis))
            }
            // The extent of a dimension that is no more.
            Op::Extent { array, .. } => (*array, None),
            // Nothing else names an array by its elements.
            _ => return,
        };
        let known = arrays.entry(array).or_insert(at);
        if *known != at {
            *known = None;
        }
    });
    let merged: Vec<(ArrayId, usize)> = arrays.into_iter().filter_map(|(a, at)| Some((a, at?))).collect();
    divided.retain(|a| merged.iter().all(|(of, _)| of != a));
    divided.sort_unstable();
    divided.dedup();
    CollapsedPair { axis, merged, divided }
}

/// Which of an axis and the next one an index is along: 0 or 1.
fn is_along(ix: &Ix, axis: usize) -> Option<usize> {
    match *ix {
        Ix::Affine { axis: of, scale, .. } if scale != 0 => (of as usize).checked_sub(axis).filter(|k| *k < 2),
        Ix::Affine { .. } | Ix::At(_) => None,
    }
}

/// The first of the two neighbouring dimensions that are read at the indices along an axis and the next one.
fn dimensions(index: &[Ix], axis: usize) -> Option<usize> {
    let own = |axis: usize| Ix::Affine { axis: axis as u32, scale: 1, offset: 0, base: None };
    index.windows(2).position(|pair| pair == [own(axis), own(axis + 1)])
}

/// A body whose reads are rewritten.
struct Rewriting<'a> {
    pair: &'a CollapsedPair,
    /// The indices along the outer and the inner axis.
    index: [Val; 2],
    values: Values,
}

impl Rewriting<'_> {
    fn region(&mut self, r: &mut Region) {
        for mut n in std::mem::take(&mut r.nodes) {
            match &mut n.op {
                Op::Index(l) => self.read(l.array, &mut l.index, &n.loc, &mut r.nodes),
                Op::Own(KernelOp::Inside { array, index } | KernelOp::Check { array, index }) => {
                    self.read(*array, index, &n.loc, &mut r.nodes);
                }
                op => op.regions_mut().into_iter().for_each(|r| acc_core::grow_stack(|| self.region(r))),
            }
            r.nodes.push(n);
        }
    }

    /// Rewrites the index of a read; what it is computed by comes before.
    fn read(&mut self, array: ArrayId, index: &mut SmallVec<[Ix; 4]>, loc: &Loc, before: &mut Vec<Node>) {
        let merged = self.pair.merged.iter().find(|(a, _)| *a == array).map(|(_, dim)| *dim);
        if let Some(dim) = merged {
            index.remove(dim + 1);
        }
        // That of both dimensions is along the axis that both axes are.
        for (_, ix) in index.iter_mut().enumerate().filter(|(dim, _)| Some(*dim) != merged) {
            *ix = self.index(ix, loc, before);
        }
    }

    fn index(&mut self, ix: &Ix, loc: &Loc, before: &mut Vec<Node>) -> Ix {
        let Ix::Affine { axis, scale, offset, base } = *ix else { return *ix };
        let Some(which) = is_along(ix, self.pair.axis) else {
            let axis = if axis as usize > self.pair.axis { axis - 1 } else { axis };
            return Ix::Affine { axis, scale, offset, base };
        };
        let mut v = self.index[which];
        let scale = (scale != 1).then(|| self.values.constant(scale.lit()));
        let offset = (offset != 0).then(|| self.values.constant(offset.lit()));
        for (p, by) in [(PrimOp::MulP, scale), (PrimOp::AddP, offset), (PrimOp::AddP, base)] {
            let Some(by) = by else { continue };
            let result = self.values.fresh(I64, false);
            before.push(Node { results: smallvec![result], op: Op::Prim(p, smallvec![v, by]), loc: loc.clone() });
            v = result;
        }
        Ix::At(v)
    }
}
