//! Stencils: shifted views of one padded tensor.

use crate::flatten::Flattener;
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, PadMode, SizeOp, Value, Values};
use acc_core::data::Prim;
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
        let mode = match boundary {
            // What a function yields replaces the padding.
            Boundary::Clamp | Boundary::Function(_) => PadMode::Nearest,
            Boundary::Mirror => PadMode::Mirror,
            Boundary::Wrap => PadMode::Wrap,
        };
        let mut padded: Vec<Value> = columns.iter().map(|c| self.b.pad(*c, widths.clone(), mode)).collect();
        let shape: Values = from.shape.iter().zip(&widths).map(|(n, w)| padded_extent(&mut self.b, *n, *w)).collect();
        if let Boundary::Function(g) = boundary {
            padded = self.rim(g, window, &from.shape, &shape, padded);
        }
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
    fn rim(&mut self, g: &Fun, window: &[usize], inner: &[Value], shape: &[Value], padded: Vec<Value>) -> Vec<Value> {
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

/// The extent of a padded axis.
fn padded_extent(b: &mut Builder, n: Value, width: u32) -> Value {
    let (one, both) = (b.size(1), b.size(2 * i64::from(width)));
    let some = b.size_op(SizeOp::Min, n, one);
    let more = b.size_op(SizeOp::Mul, some, both);
    b.size_op(SizeOp::Add, n, more)
}
