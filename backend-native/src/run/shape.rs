//! Extents of results, and faults in them.

use super::{Value, int};
use crate::kernel::Bits;
use acc_core::Fault;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Boundary, Extents, Fun, Sizes, StencilInput, result_extents};

type Shape = Extents<usize>;

/// The number of elements, unless it overflows.
pub(super) fn size(shape: &[usize]) -> Option<usize> {
    acc_core::data::shape_size(shape).ok()
}

/// The extents of the result of an operation whose operands are evaluated; `closed` are the values of its closed
/// functions.
pub(super) fn of(op: &ArrayOp, closed: &[Bits], values: &[Option<Value>]) -> Result<Shape, Fault> {
    let mut operands = Operands { closed, values };
    if let ArrayOp::Fold { init: None, xs, .. } = op {
        let shape = operands.shape(*xs);
        if shape.last() == Some(&0) {
            return Err(Fault::EmptyFold { shape: shape.to_vec() });
        }
    }
    if let ArrayOp::Stencil { inputs, .. } = op {
        inputs.iter().try_for_each(|i| wide_enough(i, operands.shape(i.xs)))?;
    }
    if let (ArrayOp::Check { message, .. }, Some((0, numbers))) = (op, operands.first().split_first()) {
        let numbers: Vec<i64> = numbers.iter().map(|&b| int(b)).collect();
        return Err(Fault::check_failed(message, &numbers));
    }
    if let ArrayOp::Slice { axes, xs, .. } = op {
        let (source, mut fixed) = (operands.shape(*xs), operands.first().iter().map(|&b| int(b)));
        let at = |a: &Axis| if *a == Axis::All { 0 } else { fixed.next().unwrap_or_default() };
        let at: Vec<i64> = axes.iter().map(at).collect();
        if !inside(axes, operands.first(), source) {
            return Err(crate::tile::access::load::out_of_bounds(*xs, &at, source));
        }
    }
    // Control flow has no extents of its own.
    let to = checked(result_extents(op, &mut operands)?.unwrap_or_default())?;
    if let ArrayOp::Reshape { xs, .. } = op {
        let from = operands.shape(*xs);
        if size(from) != size(&to) {
            return Err(Fault::ReshapeSize { from: from.to_vec(), to: to.to_vec() });
        }
    }
    Ok(to)
}

/// Whether the position of a slice, along the axes that it fixes, is in bounds.
pub(super) fn inside(axes: &[Axis], fixed: &[u64], source: &[usize]) -> bool {
    let fixed_extents = axes.iter().zip(source).filter(|(a, _)| **a != Axis::All).map(|(_, &n)| n as u64);
    fixed_extents.zip(fixed).all(|(n, &at)| at < n)
}

/// The extents of the (evaluated) operands, and the values of closed functions.
struct Operands<'a> {
    closed: &'a [Bits],
    values: &'a [Option<Value>],
}

impl<'a> Operands<'a> {
    fn shape(&self, a: ArrayId) -> &'a [usize] {
        self.values[a.index()].as_ref().map_or(&[], |v| &v.shape)
    }

    /// The values of the first closed function.
    fn first(&self) -> &'a [u64] {
        self.closed.first().map_or(&[], |bits| bits)
    }
}

impl Sizes<'_> for Operands<'_> {
    type Size = usize;
    type Error = Fault;

    fn of(&self, a: ArrayId) -> Result<Shape, Fault> {
        Ok(self.shape(a).into())
    }
    /// The value of the closed function of an operation with explicit extents.
    fn closed(&mut self, _: &Fun) -> Result<Shape, Fault> {
        let extents: Extents<i64> = self.first().iter().map(|&b| int(b)).collect();
        let shape: Option<Shape> = extents.iter().map(|&e| usize::try_from(e).ok()).collect();
        match shape {
            None => Err(Fault::NegativeExtent { shape: extents.into_vec() }),
            Some(shape) if size(&shape).is_none() => Err(Fault::ShapeOverflow { shape: extents.into_vec() }),
            Some(shape) => Ok(shape),
        }
    }
    fn least(&mut self, sizes: &[usize]) -> usize {
        sizes.iter().copied().min().unwrap_or(0)
    }
    fn succ(&mut self, n: usize) -> usize {
        n + 1
    }
    fn pred(&mut self, n: usize) -> usize {
        n.saturating_sub(1)
    }
}

/// A stencil may reach at most one array length over its boundary, unless its result is empty: one mirror or wrap must
/// be enough.
fn wide_enough(input: &StencilInput, shape: &[usize]) -> Result<(), Fault> {
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

/// A shape, or a fault if its size overflows.
fn checked(shape: Shape) -> Result<Shape, Fault> {
    match size(&shape) {
        Some(_) => Ok(shape),
        None => {
            Err(Fault::ShapeOverflow { shape: shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect() })
        }
    }
}
