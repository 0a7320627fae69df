//! Scalar evaluation of bodies of one point with a few integer operations: extents, conditions and loop counters.
//! Setting up the tile executor or calling machine code would take longer.

use super::Value;
use crate::kernel::Bits;
use crate::kernel::{Body, Ix, KernelOp, Load, Op, TRIVIAL_NODES};
use acc_core::data::Lit;
use acc_core::eval::{eval_cast, eval_prim};
use acc_core::ir::{ArrayId, Val};
use smallvec::SmallVec;

/// The arrays that a body reads.
pub(crate) trait Arrays {
    /// The extents of an array, if it has any yet.
    fn shape(&self, array: ArrayId) -> Option<&[usize]>;
    /// The bits of a leaf of an element, if the array is evaluated.
    fn bits(&self, array: ArrayId, leaf: usize, at: usize) -> Option<u64>;
}

impl Arrays for [Option<Value>] {
    fn shape(&self, array: ArrayId) -> Option<&[usize]> {
        Some(&self.get(array.index())?.as_ref()?.shape)
    }

    fn bits(&self, array: ArrayId, leaf: usize, at: usize) -> Option<u64> {
        let columns = self.get(array.index())?.as_ref()?.columns.as_ref()?;
        Some(columns.get(leaf)?.slice().get(at)?.bits)
    }
}

/// The results of a [trivial](Body::is_trivial) body; none if it faults or demands an array, which is left to the tile
/// executor to report.
pub(crate) fn evaluate(body: &Body, arrays: &(impl Arrays + ?Sized)) -> Option<Bits> {
    let mut values: SmallVec<[u64; 2 * TRIVIAL_NODES]> = smallvec::smallvec![0; body.types.len()];
    for (v, l) in &body.consts {
        values[v.index()] = l.bits;
    }
    for n in &body.region.nodes {
        let lit = |v: Val| Lit { ty: body.ty(v), bits: values[v.index()] };
        let bits = match &n.op {
            Op::Prim(op, args) => {
                let args: SmallVec<[Lit; 2]> = args.iter().map(|&v| lit(v)).collect();
                eval_prim(*op, &args).ok()?.bits
            }
            Op::Cast(x) => eval_cast(lit(*x), body.ty(n.results[0])).ok()?.bits,
            Op::Select { cond, then, else_ } => values[if values[cond.index()] != 0 { then } else { else_ }.index()],
            Op::Extent { array, axis } => *arrays.shape(*array)?.get(*axis as usize)? as u64,
            Op::Index(l) => {
                let at = position(l, arrays.shape(l.array)?, &values)?;
                for (v, &leaf) in n.results.iter().zip(&l.leaves) {
                    values[v.index()] = arrays.bits(l.array, leaf as usize, at)?;
                }
                continue;
            }
            Op::Own(KernelOp::Check { array, index }) if index.is_empty() => {
                arrays.shape(*array)?;
                continue;
            }
            Op::Const(none) => match *none {},
            Op::Bitcast(_) | Op::If { .. } | Op::While { .. } | Op::Own(_) => return None,
        };
        values[n.results[0].index()] = bits;
    }
    Some(body.region.results.iter().map(|v| values[v.index()]).collect())
}

/// The position of a load, if it is in bounds.
fn position(l: &Load, shape: &[usize], values: &[u64]) -> Option<usize> {
    let mut at = 0;
    for (ix, &extent) in l.index.iter().zip(shape) {
        let i = match *ix {
            Ix::At(v) => values[v.index()],
            Ix::Affine { offset, base, .. } => base.map_or(0, |v| values[v.index()]).wrapping_add(offset as u64),
        };
        at = at * extent + usize::try_from(i).ok().filter(|&i| i < extent)?;
    }
    Some(at)
}
