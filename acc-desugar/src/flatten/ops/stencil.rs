//! Stencils: shifted views of one padded tensor.

use crate::flatten::Flattener;
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, PadMode, SizeOp, Value, Values};
use acc_core::data::{Lit, Prim};
use acc_core::ir::{Boundary, Fun, PrimOp, StencilInput, Stmt};
use smallvec::SmallVec;

impl Flattener<'_> {
    pub(crate) fn stencil(&mut self, f: &Fun, inputs: &[StencilInput], s: &Stmt) -> Flat {
        let flats: Vec<Flat> = inputs.iter().map(|i| self.array(i.xs)).collect();
        for (input, from) in inputs.iter().zip(&flats) {
            self.check_extents(&input.window, &input.boundary, &from.shape);
        }
        let space = self.extents_of(s);
        let mut args = Vec::new();
        for (input, from) in inputs.iter().zip(&flats) {
            args.extend(self.neighbours(input, from, &space));
        }
        let columns = self.map_lanes(f, false, &args, &space, None);
        Flat { shape: space, columns: columns.into() }
    }

    /// The leaves of the window's elements in row-major order, each over the index space of the result.
    fn neighbours(&mut self, input: &StencilInput, from: &Flat, space: &[Value]) -> Vec<Value> {
        let StencilInput { window, boundary, xs: _ } = input;
        let columns = self.after_raise(&from.columns);
        let widths: SmallVec<[u32; 4]> = window.iter().map(|w| (w / 2) as u32).collect();
        let mut pad = |mode| columns.iter().map(|c| self.b.pad(*c, widths.clone(), mode)).collect::<Vec<Value>>();
        let padded = match boundary {
            Boundary::Clamp => pad(PadMode::Nearest),
            Boundary::Mirror => pad(PadMode::Mirror),
            Boundary::Wrap => pad(PadMode::Wrap),
            Boundary::Function(g) => {
                match g.body.results.iter().map(|v| g.body.literal(*v)).collect::<Option<Vec<_>>>() {
                    Some(all) => {
                        let columns = columns.iter().zip(all);
                        columns.map(|(c, value)| framed(&mut self.b, *c, value, &widths, &from.shape)).collect()
                    }
                    None => {
                        // What the function yields replaces the padding.
                        let padded = pad(PadMode::Nearest);
                        self.rim(g, window, &from.shape, &widths, padded)
                    }
                }
            }
        };
        let mut args = Vec::new();
        for k in 0..window.iter().product::<usize>() {
            let mut offsets = vec![0; window.len()];
            let mut rest = k;
            for (o, w) in offsets.iter_mut().zip(window).rev() {
                *o = (rest % w) as i64;
                rest /= w;
            }
            for c in &padded {
                let mut v = *c;
                for (axis, (o, n)) in offsets.iter().zip(space).enumerate() {
                    let start = self.b.size(*o);
                    v = self.b.slice(v, axis as u32, start, *n, 1);
                }
                args.push(v);
            }
        }
        args
    }

    /// Reflections and wraps are single: an array that needs more is a fault, unless it is empty.
    fn check_extents(&mut self, window: &[usize], boundary: &Boundary, shape: &[Value]) {
        let (name, extra) = match boundary {
            Boundary::Mirror => ("mirror", 1),
            Boundary::Wrap => ("wrap", 0),
            Boundary::Clamp | Boundary::Function(_) => return,
        };
        let (zero, mut bad) = (self.b.size(0), self.b.size(0));
        for (n, w) in shape.iter().zip(window) {
            let need = self.b.size((w / 2) as i64 + extra);
            let small = self.b.size_op(SizeOp::Lt, *n, need);
            bad = self.b.or_size(bad, small);
        }
        let count = self.b.product(shape);
        let some = self.b.size_op(SizeOp::Lt, zero, count);
        let bad = self.b.size_op(SizeOp::Min, bad, some);
        let mut details = shape.to_vec();
        details.extend(window.iter().map(|w| self.b.size(*w as i64)));
        self.check_stmt(FaultKind::StencilExtent { boundary: name }, bad, &[], details);
    }

    /// Padded columns with a function of the index outside the array.
    fn rim(&mut self, g: &Fun, window: &[usize], inner: &[Value], widths: &[u32], padded: Vec<Value>) -> Vec<Value> {
        let shape: Values = inner.iter().zip(widths).map(|(n, w)| padded_extent(&mut self.b, *n, *w)).collect();
        let shape = &shape;
        let iotas: Vec<Value> =
            self.indices.index_of(&mut self.b, shape).into_iter().map(|s| self.indices.value(&mut self.b, s)).collect();
        let mut outside: Option<Value> = None;
        let mut index = Vec::new();
        for ((iota, n), w) in iotas.iter().zip(inner).zip(window) {
            let r = self.b.constant(((w / 2) as i64).lit());
            let i = self.b.prim(PrimOp::SubP, &[*iota, r]);
            index.push(i);
            let (zero, n) = (self.b.constant(0i64.lit()), self.b.tensor_of_size(*n));
            let low = self.b.prim(PrimOp::LtP, &[i, zero]);
            let high = self.b.prim(PrimOp::GeP, &[i, n]);
            let out = self.b.prim(PrimOp::OrP, &[low, high]);
            outside = Some(match outside {
                Some(o) => self.b.prim(PrimOp::OrP, &[o, out]),
                None => out,
            });
        }
        let Some(outside) = outside else { return padded };
        let values = self.map_lanes(g, false, &index, shape, Some(outside));
        padded.into_iter().zip(values).map(|(p, v)| self.b.where_(outside, v, p)).collect()
    }
}

/// A column with a literal around it, so wide along each axis; an empty axis stays so.
fn framed(b: &mut Builder, column: Value, value: Lit, widths: &[u32], shape: &[Value]) -> Value {
    let value = b.constant(value);
    let (mut framed, mut shape) = (column, shape.to_vec());
    for axis in (0..widths.len()).rev().filter(|axis| widths[*axis] > 0) {
        let width = border_width(b, shape[axis], widths[axis]);
        let mut border = shape.clone();
        border[axis] = width;
        let border = b.full(value, &border);
        framed = b.concat(&[border, framed, border], axis as u32);
        shape[axis] = padded_extent(b, shape[axis], widths[axis]);
    }
    framed
}

/// How wide one border of an axis is that is to be so wide.
fn border_width(b: &mut Builder, n: Value, width: u32) -> Value {
    let (one, width) = (b.size(1), b.size(i64::from(width)));
    let some = b.size_op(SizeOp::Min, n, one);
    b.size_op(SizeOp::Mul, some, width)
}

/// The extent of a padded axis.
fn padded_extent(b: &mut Builder, n: Value, width: u32) -> Value {
    let both = border_width(b, n, 2 * width);
    b.size_op(SizeOp::Add, n, both)
}
