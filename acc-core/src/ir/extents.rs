//! The extents of an operation's result, from those of its operands: one rule for all representations of extents.

use super::{ArrayId, ArrayOp, Axis, Fun};
use smallvec::SmallVec;

/// The extents of an array.
pub type Extents<Size> = SmallVec<[Size; 4]>;

/// What extents are: numbers at run time, expressions of an analysis, values of another program.
pub trait Sizes<'p> {
    /// An extent.
    type Size: Copy;
    /// Why extents may not be known.
    type Error;
    /// The extents of an operand.
    fn of(&self, a: ArrayId) -> Result<Extents<Self::Size>, Self::Error>;
    /// Those that a closed function yields.
    fn closed(&mut self, f: &'p Fun) -> Result<Extents<Self::Size>, Self::Error>;
    /// The least of one or more.
    fn least(&mut self, sizes: &[Self::Size]) -> Self::Size;
    /// One more.
    fn succ(&mut self, n: Self::Size) -> Self::Size;
    /// One less.
    fn pred(&mut self, n: Self::Size) -> Self::Size;
}

/// The extents of an operation's result; none if it has blocks, whose results have them.
pub fn result_extents<'p, S: Sizes<'p>>(op: &'p ArrayOp, sizes: &mut S) -> Result<Option<Extents<S::Size>>, S::Error> {
    Ok(Some(match op {
        ArrayOp::Generate { shape, .. } | ArrayOp::Backpermute { shape, .. } | ArrayOp::Reshape { shape, .. } => {
            sizes.closed(shape)?
        }
        ArrayOp::Map { xs, .. } => least_of(sizes, xs.iter().copied())?,
        ArrayOp::Stencil { inputs, .. } => least_of(sizes, inputs.iter().map(|i| i.xs))?,
        ArrayOp::Fold { xs, .. } => {
            let mut out = sizes.of(*xs)?;
            out.pop();
            out
        }
        ArrayOp::FoldSeg { xs, offsets, .. } => {
            let mut out = sizes.of(*xs)?;
            if let (Some(n), Some(count)) = (out.last_mut(), sizes.of(*offsets)?.into_iter().next()) {
                *n = sizes.pred(count);
            }
            out
        }
        ArrayOp::Scan { init, xs, .. } => {
            let mut out = sizes.of(*xs)?;
            if let (Some(_), Some(n)) = (init, out.last_mut()) {
                *n = sizes.succ(*n);
            }
            out
        }
        ArrayOp::Permute { defaults: xs, .. }
        | ArrayOp::Argsort { xs }
        | ArrayOp::Check { xs, .. }
        | ArrayOp::Compute { xs, .. } => sizes.of(*xs)?,
        ArrayOp::Replicate { axes, extents, xs } => {
            let (mut fixed, mut kept) = (sizes.closed(extents)?.into_iter(), sizes.of(*xs)?.into_iter());
            axes.iter().filter_map(|a| if *a == Axis::All { kept.next() } else { fixed.next() }).collect()
        }
        ArrayOp::Slice { axes, xs, .. } => {
            let all = axes.iter().zip(sizes.of(*xs)?);
            all.filter(|(a, _)| **a == Axis::All).map(|(_, n)| n).collect()
        }
        ArrayOp::Foreign { .. }
        | ArrayOp::If { .. }
        | ArrayOp::While { .. }
        | ArrayOp::Derivative { .. }
        | ArrayOp::Ruled { .. } => return Ok(None),
    }))
}

/// The extents of the intersection of arrays of one rank.
fn least_of<'p, S: Sizes<'p>>(sizes: &mut S, xs: impl Iterator<Item = ArrayId>) -> Result<Extents<S::Size>, S::Error> {
    let shapes = xs.map(|x| sizes.of(x)).collect::<Result<Extents<_>, _>>()?;
    let rank = shapes.first().map_or(0, |s| s.len());
    let along = |axis: usize| shapes.iter().filter_map(|s| s.get(axis).copied()).collect::<Extents<_>>();
    Ok((0..rank).map(|axis| sizes.least(&along(axis))).collect())
}
