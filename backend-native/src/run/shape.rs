//! Extents of results, and the faults that belong to them.

use super::{Bits, Value, int};
use acc_core::Fault;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Boundary, StencilInput};
use smallvec::SmallVec;

type Shape = SmallVec<[usize; 4]>;

/// The number of elements, if it fits.
pub(super) fn size(shape: &[usize]) -> Option<usize> {
    acc_core::data::shape_size(shape).ok()
}

fn asked(extents: Option<&Bits>) -> Result<Shape, Fault> {
    let extents: SmallVec<[i64; 4]> = extents.into_iter().flatten().map(|&b| int(b)).collect();
    if extents.iter().any(|&e| e < 0) {
        return Err(Fault::NegativeExtent { shape: extents.to_vec() });
    }
    let shape: Shape = extents.iter().map(|&e| e as usize).collect();
    match size(&shape) {
        Some(_) => Ok(shape),
        None => Err(Fault::ShapeOverflow { shape: extents.to_vec() }),
    }
}

/// The extents that an operation's result has; `closed` are the values of its closed functions. Operands are
/// evaluated.
pub(super) fn of(op: &ArrayOp, closed: &[Bits], values: &[Option<Value>]) -> Result<Shape, Fault> {
    let shape = |a: &ArrayId| values[a.index()].as_ref().map(|v| v.shape.clone()).unwrap_or_default();
    match op {
        ArrayOp::Generate { .. } | ArrayOp::Backpermute { .. } => asked(closed.first()),
        ArrayOp::Map { xs, .. } => Ok(intersection(xs.iter().map(shape))),
        ArrayOp::Fold { init, xs, .. } => {
            let mut s = shape(xs);
            if init.is_none() && s.last() == Some(&0) {
                return Err(Fault::EmptyFold { shape: s.to_vec() });
            }
            s.pop();
            checked(s)
        }
        ArrayOp::FoldSeg { xs, offsets, .. } => {
            let (mut s, count) = (shape(xs), shape(offsets).first().map_or(0, |n| n.saturating_sub(1)));
            if let Some(n) = s.last_mut() {
                *n = count;
            }
            checked(s)
        }
        ArrayOp::Scan { init, xs, .. } => {
            let mut s = shape(xs);
            if let (Some(n), Some(_)) = (s.last_mut(), init) {
                *n += 1;
            }
            checked(s)
        }
        ArrayOp::Permute { defaults, .. } => Ok(shape(defaults)),
        ArrayOp::Stencil { inputs, .. } => {
            for i in inputs {
                wide_enough(i, &shape(&i.xs))?;
            }
            Ok(intersection(inputs.iter().map(|i| shape(&i.xs))))
        }
        ArrayOp::Argsort { xs } => Ok(shape(xs)),
        ArrayOp::Check { message, xs, .. } => match closed.first().and_then(|answer| answer.split_first()) {
            Some((0, numbers)) => {
                let numbers: Vec<i64> = numbers.iter().map(|&b| int(b)).collect();
                Err(Fault::check_failed(message, &numbers))
            }
            _ => Ok(shape(xs)),
        },
        ArrayOp::Reshape { xs, .. } => {
            let to = asked(closed.first())?;
            let from = shape(xs);
            if size(&from) != size(&to) {
                return Err(Fault::ReshapeSize { from: from.to_vec(), to: to.to_vec() });
            }
            Ok(to)
        }
        ArrayOp::Replicate { axes, xs, .. } => {
            let fixed = asked(closed.first())?;
            let (mut fixed, kept) = (fixed.into_iter(), shape(xs));
            let mut kept = kept.into_iter();
            let from = |a: &Axis| if *a == Axis::All { kept.next() } else { fixed.next() };
            checked(axes.iter().filter_map(from).collect())
        }
        ArrayOp::Slice { axes, xs, .. } => {
            let source = shape(xs);
            let mut fixed = closed.first().into_iter().flatten().map(|&b| int(b));
            let at: Vec<i64> =
                axes.iter().map(|a| if *a == Axis::All { 0 } else { fixed.next().unwrap_or_default() }).collect();
            let mut out = Shape::new();
            for ((a, &i), &n) in axes.iter().zip(&at).zip(&source) {
                match a {
                    Axis::All => out.push(n),
                    Axis::Fixed if (i as u64) < n as u64 => {}
                    Axis::Fixed => return Err(crate::tile::load::out_of_bounds(*xs, &at, &source)),
                }
            }
            Ok(out)
        }
        // Control flow has no shape of its own.
        ArrayOp::If { .. } | ArrayOp::While { .. } | ArrayOp::Foreign { .. } => Ok(Shape::new()),
        ArrayOp::Compute { xs } => Ok(shape(xs)),
    }
}

fn intersection(mut shapes: impl Iterator<Item = Shape>) -> Shape {
    let first = shapes.next().unwrap_or_default();
    shapes.fold(first, |a, b| a.iter().zip(&b).map(|(m, n)| *m.min(n)).collect())
}

/// One reflection or wrap must be enough, unless there is nothing to read.
fn wide_enough(input: &StencilInput, shape: &Shape) -> Result<(), Fault> {
    let (boundary, more) = match input.boundary {
        Boundary::Mirror => ("mirror", 1),
        Boundary::Wrap => ("wrap", 0),
        Boundary::Clamp | Boundary::Function(_) => return Ok(()),
    };
    let small = shape.iter().zip(&input.window).any(|(&n, &w)| w > 1 && n < w / 2 + more);
    if small && shape.iter().all(|&n| n > 0) {
        return Err(Fault::StencilExtent { shape: shape.to_vec(), window: input.window.clone(), boundary });
    }
    Ok(())
}

/// A shape made of others, whose product may not fit.
fn checked(shape: Shape) -> Result<Shape, Fault> {
    match size(&shape) {
        Some(_) => Ok(shape),
        None => {
            Err(Fault::ShapeOverflow { shape: shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect() })
        }
    }
}
