//! Several rows of lanes at once: what does not depend on the axis they follow is computed and read once for all of them,
//! and their folds stay in registers. This is how products of matrices are register-tiled, whatever their operators.

use super::ending::{Ending, Leaf};
use super::nest::{Axis, State};
use super::text::{Operand, put};
use super::value::{Parts, V};
use super::{Emitter, Width, Word};
use crate::kernel::{Finish, Ix, Kernel, Node, Op, Region};
use std::collections::HashSet;

/// Rows that are folded at once.
pub(crate) const BLOCK: usize = 4;

/// Vectors that are folded at once: of sixteen registers, half.
const VECTORS: usize = 8;

/// Which nodes of the outermost region depend on an axis.
pub(super) fn depends_on(region: &Region, axis: usize) -> Vec<bool> {
    let mut of = HashSet::from([region.params[axis]]);
    let nodes = region.nodes.iter().map(|n| {
        let mut depends = n.op.index().iter().any(|i| matches!(i, Ix::Affine { axis: a, .. } if *a as usize == axis));
        n.op.operands(&mut |v| depends |= of.contains(&v));
        if depends {
            of.extend(n.results.iter().copied());
        }
        depends
    });
    nodes.collect()
}

/// The width of vectors with which a kernel's rows are taken in blocks; the error says why they are not.
pub(super) fn width(kernel: &Kernel, width: Width) -> Result<Width, String> {
    let region = &kernel.element.region;
    let Some(axis) = kernel.axes.len().checked_sub(3) else { return Err("no axis for blocks".into()) };
    let folds = kernel.outputs.iter().all(|o| matches!(o.finish, Finish::Fold { known: Some(_), .. }));
    let plain = region.nodes.iter().all(|n| match &n.op {
        Op::Load(l) => l.edge.is_none(),
        Op::Inside { .. } => false,
        op => op.regions().is_empty(),
    });
    if !folds || !plain {
        return Err("a block of rows with more than folds by known operators".into());
    }
    let shared = |(n, depends): (&Node, bool)| matches!(n.op, Op::Load(_)) && !depends;
    if !region.nodes.iter().zip(depends_on(region, axis)).any(shared) {
        return Err("nothing that a block of rows shares".into());
    }
    let leaves: usize = kernel.outputs.iter().map(|o| o.values.len()).sum();
    match VECTORS / (BLOCK * leaves) {
        0 => Err("a block of rows does not fit into the registers".into()),
        parts => Ok(Width { parts, ..width }),
    }
}

impl<'a> Ending<'a> {
    /// Folds [`BLOCK`] rows from one end to the other; `own` is what each computes on its own, `along` what they share.
    pub(super) fn block(&self, e: &mut Emitter<'a>, along: &[&'a Node], own: &[&'a Node], first: &Operand) {
        let axis = self.kernel.axes.len() - 1;
        let extent = e.word(Word::Extent(axis as u32));
        let outer = axis - 2;
        let at = e.one(e.body.region.params[outer]);
        let rows: Vec<Operand> = (0..BLOCK).map(|k| put!(e, "add i64 {at}, {k}")).collect();
        let leaves: Vec<(usize, usize)> = self.leaves();
        let mut state = State::default();
        for &(o, k) in rows.iter().flat_map(|_| &leaves) {
            let ty = e.vector(self.outs[o].leaves[k].ty);
            let start = self.start(e, &self.outs[o], k).unwrap_or_default();
            state.0.extend(start.into_iter().map(|x| (x, ty.clone())));
        }
        let mut after: Vec<Parts> = Vec::new();
        e.along([&Operand::int(0), &extent], state, self.cost * BLOCK, |e, t, accs| {
            e.axes[axis] = Axis::One(t.clone());
            e.set(e.body.region.params[axis], V::One(t.clone()));
            along.iter().for_each(|n| e.node(n));
            let mut so_far = accs.0.into_iter().map(|(o, _)| o);
            for row in &rows {
                e.axes[outer] = Axis::One(row.clone());
                e.set(e.body.region.params[outer], V::One(row.clone()));
                own.iter().for_each(|n| e.node(n));
                for o in &self.outs {
                    let elements: Vec<Parts> = o.leaves.iter().map(|l| e.lanes(l.value)).collect();
                    let accs: Vec<Parts> = elements.iter().map(|x| so_far.by_ref().take(x.len()).collect()).collect();
                    after.extend(self.combine(e, o, t, &accs, &elements));
                }
            }
            e.settle();
            after.iter().flatten().cloned().collect()
        });
        let lanes = e.word(Word::Extent(axis as u32 - 1));
        let mut after = after.into_iter();
        let mut row = self.row.clone();
        for _ in &rows {
            for (&(o, k), parts) in leaves.iter().zip(after.by_ref()) {
                let leaf: Leaf = self.outs[o].leaves[k];
                self.store_in(e, leaf, &parts, &row, first);
            }
            row = put!(e, "add i64 {row}, {lanes}");
        }
        // As it was for the next step of vectors.
        e.axes[outer] = Axis::One(at.clone());
        e.set(e.body.region.params[outer], V::One(at));
    }
}
