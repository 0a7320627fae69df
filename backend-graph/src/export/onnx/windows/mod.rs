//! Reads at windows, contractions and convolutions.

mod products;

use super::Unsupported;
use super::body::Exporter;
use super::writer::{Name, along, ints_attribute};
use acc_core::data::{Lit, ScalarType as T};
use acc_core::ir::PrimOp;
use acc_desugar::graph::{Extent, Op, ReduceOp, Value};

impl Exporter<'_> {
    pub(super) fn windows(&mut self, op: &Op) -> Result<Name, Unsupported> {
        match op {
            Op::Unfold { x, axis, start, lens, steps, .. } if let Some(step) = self.one_step(lens, steps) => {
                let (start, len) = (self.value(*start)?, self.value(lens[0])?);
                self.slice(*x, i64::from(*axis), &start, &len, step)
            }
            Op::Unfold { x, axis, start, lens, steps, padded } => {
                let mut at = self.value(*start)?;
                for (own, (len, step)) in lens.iter().zip(steps).enumerate() {
                    let (len, step) = (self.value(*len)?, self.value(*step)?);
                    let k = self.w.range(&len);
                    let k = self.w.op2("Mul", &k, &step);
                    let others: Vec<i64> = (0..lens.len() as i64).filter(|a| *a != own as i64).collect();
                    let k = self.unsqueezed(&k, &others);
                    at = self.w.op2("Add", &at, &k);
                }
                let name = self.value(*x)?;
                Ok(self.taken(&name, Lit::zero(self.scalar(*x)), i64::from(*axis), self.rank(*x), &at, *padded))
            }
            Op::Take { x, axis, at } => {
                let (name, at) = (self.value(*x)?, self.value(*at)?);
                Ok(self.taken(&name, Lit::zero(self.scalar(*x)), i64::from(*axis), self.rank(*x), &at, false))
            }
            Op::Contract { left, right, mask, axes } => {
                if let Some(sums) = self.matmul(op)? {
                    return Ok(sums);
                }
                let (x, y, ty) = (self.value(*left)?, self.value(*right)?, self.scalar(*left));
                let mut product = self.w.prim(PrimOp::MulP, ty, &[x, y])?;
                if let Some(mask) = mask {
                    let (mask, zero) = (self.value(*mask)?, self.w.literal(Lit::zero(ty)));
                    product = self.w.node("Where", &[&mask, &product, &zero], Vec::new());
                }
                self.summed(product, ty, self.rank(*left), *axes as usize)
            }
            Op::Convolve { x, filters, starts, places, strides, dilations } => {
                if let Some(y) = self.conv(op)? {
                    return Ok(y);
                }
                let numbers = [strides, dilations].map(|n| n.iter().map(|n| i64::from(*n)).collect());
                self.convolution([*x, *filters], [starts, places], numbers)
            }
            _ => Err(Unsupported { what: format!("{} as a read at windows", op.name()) }),
        }
    }

    /// The elements of the windows along a new axis, reduced along it. Runtimes' own pools lose NaN.
    pub(super) fn pooled(&mut self, op: &Op) -> Result<Name, Unsupported> {
        let Op::Pool { with, x, axis, start, places, window, stride, dilation, padded } = op else {
            return Err(Unsupported { what: format!("{} as a pool", op.name()) });
        };
        let (rank, ty, axis) = (self.rank(*x), self.scalar(*x), i64::from(*axis));
        let mut at = self.value(*start)?;
        for (len, step, other) in [(places, stride, 1), (window, dilation, 0)] {
            let len = self.value(*len)?;
            let (k, step) = (self.w.range(&len), self.w.int(i64::from(*step)));
            let k = self.w.op2("Mul", &k, &step);
            let k = self.unsqueezed(&k, &[other]);
            at = self.w.op2("Add", &at, &k);
        }
        let x = self.value(*x)?;
        let around = if *padded { with.neutral(ty) } else { Lit::zero(ty) };
        let windows = self.taken(&x, around, axis, rank, &at, *padded);
        let order = (0..=rank as i64).filter(|k| *k != axis + 1).chain([axis + 1]).collect();
        let windows = self.w.node("Transpose", &[&windows], vec![ints_attribute("perm", order)]);
        self.reduced(*with, &windows, ty, rank + 1)
    }

    /// The step between positions along one axis, if it is known and they go forward.
    fn one_step(&self, lens: &[Value], steps: &[Value]) -> Option<i64> {
        let ([_], [step]) = (lens, steps) else { return None };
        match self.shapes.size(*step) {
            Extent::Const(step) if step > 0 => Some(step),
            Extent::Const(_) | Extent::Size(_) | Extent::Unknown => None,
        }
    }

    fn unsqueezed(&mut self, x: &Name, axes: &[i64]) -> Name {
        if axes.is_empty() {
            return x.clone();
        }
        let axes = self.w.ints(axes);
        self.w.op2("Unsqueeze", x, &axes)
    }

    /// Sums along the innermost axes.
    fn summed(&mut self, mut x: Name, ty: T, rank: usize, axes: usize) -> Result<Name, Unsupported> {
        for k in 0..axes {
            x = self.reduced(ReduceOp::Sum, &x, ty, rank - k)?;
        }
        Ok(x)
    }

    /// Slices at positions of an axis. Out of bounds, where there was no fault, is what lies around the axis if `padded`, and else
    /// nothing.
    fn taken(&mut self, x: &Name, around: Lit, axis: i64, rank: usize, at: &Name, padded: bool) -> Name {
        let around = self.w.literal(around);
        let (n, first) = (self.w.extent(x, axis), self.w.int(0));
        let with_around = self.w.with_one_more(x, axis, rank, &around);
        let at = if padded {
            let before = self.w.op2("Less", at, &first);
            self.w.node("Where", &[&before, &n, at], Vec::new())
        } else {
            // Where there is nothing to take, positions are none.
            self.w.greater(at, &first)
        };
        let at = self.w.lesser(&at, &n);
        self.w.node("Gather", &[&with_around, &at], along(axis))
    }

    /// The windows times the filters, summed.
    fn convolution(
        &mut self,
        [x, filters]: [Value; 2],
        [starts, places]: [&[Value]; 2],
        [strides, dilations]: [Vec<i64>; 2],
    ) -> Result<Name, Unsupported> {
        let (name, by, ty) = (self.value(x)?, self.value(filters)?, self.scalar(x));
        let (starts, places) = (self.values(starts)?, self.values(places)?);
        let window: Vec<Name> = (0..places.len() as i64).map(|k| self.w.extent(&by, 3 + k)).collect();
        let mut windows = name;
        let (mut rank, spatial) = (self.rank(x), places.len() as i64);
        for (k, (place, window)) in places.iter().zip(&window).enumerate() {
            let axis = 3 + 2 * k as i64;
            let positions = [(place, strides[k]), (window, dilations[k])].map(|(len, step)| {
                let (at, step) = (self.w.range(len), self.w.int(step));
                self.w.op2("Mul", &at, &step)
            });
            let [place, within] = positions;
            let place = self.unsqueezed(&place, &[1]);
            let at = self.w.op2("Add", &place, &within);
            let at = self.w.op2("Add", &at, &starts[k]);
            windows = self.taken(&windows, Lit::zero(ty), axis, rank, &at, true);
            rank += 1;
        }
        // [image, group, filter, place.., channel, window..]
        let axes = |from: i64| (0..spatial).map(move |k| from + 2 * k);
        let order: Vec<i64> = [0, 1].into_iter().chain(axes(3)).chain([2]).chain(axes(4)).collect();
        let windows = self.w.node("Transpose", &[&windows], vec![ints_attribute("perm", order)]);
        let windows = self.unsqueezed(&windows, &[2]);
        let before: Vec<i64> = std::iter::once(0).chain(3..3 + spatial).collect();
        let by = self.unsqueezed(&by, &before);
        let product = self.w.prim(PrimOp::MulP, ty, &[windows, by])?;
        self.summed(product, ty, rank + 1, 1 + places.len())
    }
}
