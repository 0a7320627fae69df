//! Stencils: shifted views of one padded tensor.

use super::{Flat, Flattener};
use crate::graph::{FaultKind, SizeOp, Value, Values};
use acc_core::data::Prim;
use acc_core::ir::{Boundary, Fun, PrimOp, StencilInput};

impl Flattener<'_> {
    pub(super) fn stencil(&mut self, f: &Fun, inputs: &[StencilInput]) -> Flat {
        let flats: Vec<Flat> = inputs.iter().map(|i| self.array(i.xs)).collect();
        for (input, from) in inputs.iter().zip(&flats) {
            self.check_extents(&input.window, &input.boundary, &from.shape);
        }
        let space = self.intersection(&flats);
        let mut args = Vec::new();
        for (input, from) in inputs.iter().zip(&flats) {
            args.extend(self.neighbours(input, from, &space));
        }
        let columns = self.map_lanes(f, &[], &args, &space, None);
        Flat { shape: space, columns: columns.into() }
    }

    /// The leaves of the window's elements in row-major order, each over the index space of the result.
    fn neighbours(&mut self, input: &StencilInput, from: &Flat, space: &[Value]) -> Vec<Value> {
        let StencilInput { window, boundary, xs: _ } = input;
        let columns = self.after_raise(&from.columns);
        // Each axis by its own positions; an empty one stays empty.
        let mut padded = columns.to_vec();
        let mut shape = Values::new();
        for (axis, (n, w)) in from.shape.iter().zip(window).enumerate() {
            let (len, at) = self.positions(*n, w / 2, boundary);
            shape.push(len);
            padded = padded.into_iter().map(|c| self.b.take(c, axis as u32, at)).collect();
        }
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

    /// The extent of a padded axis and the position that each of its places reads.
    fn positions(&mut self, n: Value, radius: usize, boundary: &Boundary) -> (Value, Value) {
        let (one, r2) = (self.b.size(1), self.b.size(2 * radius as i64));
        let some = self.b.size_op(SizeOp::Min, n, one);
        let pad = self.b.size_op(SizeOp::Mul, some, r2);
        let len = self.b.size_op(SizeOp::Add, n, pad);
        let iota = self.b.iota(len);
        let r = self.b.constant((radius as i64).lit());
        let i = self.b.prim(PrimOp::SubP, &[iota, r]);
        let (zero, n_t, one_t) = (self.b.constant(0i64.lit()), self.b.tensor_of_size(n), self.b.constant(1i64.lit()));
        let last = self.b.prim(PrimOp::SubP, &[n_t, one_t]);
        let at = match boundary {
            // What a function yields replaces what is read here.
            Boundary::Clamp | Boundary::Function(_) => {
                let i = self.b.prim(PrimOp::MinP, &[i, last]);
                self.b.prim(PrimOp::MaxP, &[i, zero])
            }
            // |i| reflects about the first element; last - |last - i| about the last.
            Boundary::Mirror => {
                let i = self.b.prim(PrimOp::AbsP, &[i]);
                let d = self.b.prim(PrimOp::SubP, &[last, i]);
                let d = self.b.prim(PrimOp::AbsP, &[d]);
                let i = self.b.prim(PrimOp::SubP, &[last, d]);
                self.in_bounds(i, last)
            }
            Boundary::Wrap => {
                let low = self.b.prim(PrimOp::LtP, &[i, zero]);
                let high = self.b.prim(PrimOp::GtP, &[i, last]);
                let (up, down) = (self.b.prim(PrimOp::AddP, &[i, n_t]), self.b.prim(PrimOp::SubP, &[i, n_t]));
                let i = self.b.where_(high, down, i);
                let i = self.b.where_(low, up, i);
                self.in_bounds(i, last)
            }
        };
        (len, at)
    }

    /// Positions of an array whose other extents make it empty may need more than one reflection; nothing reads them.
    fn in_bounds(&mut self, i: Value, last: Value) -> Value {
        let zero = self.b.constant(0i64.lit());
        let i = self.b.prim(PrimOp::MinP, &[i, last]);
        self.b.prim(PrimOp::MaxP, &[i, zero])
    }

    /// Padded columns with a function of the index outside the array.
    fn rim(&mut self, g: &Fun, window: &[usize], inner: &[Value], shape: &[Value], padded: Vec<Value>) -> Vec<Value> {
        let iotas = self.iotas(shape);
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
        let values = self.map_lanes(g, &[], &index, shape, Some(outside));
        padded.into_iter().zip(values).map(|(p, v)| self.b.where_(outside, v, p)).collect()
    }
}
