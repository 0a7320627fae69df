//! Stencil reads beyond the boundary of an array along the lane axis.
//!
//! The lanes inside the array are a contiguous read, and so are those beyond a boundary: further on where indices wrap
//! around, reversed where they are mirrored, one element where they are clamped. Each is read under a mask; nothing is
//! gathered.

use crate::kernel::{Edge, Ix, Load, Node};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE};
use crate::llvm::emit::text::value::{Mask, Parts, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::ir::ArrayId;

/// The elements that stand for those beyond a boundary.
enum BoundaryElements {
    /// One element, at this position.
    One(Operand),
    /// Contiguous ones, the first lane's at this position, ascending or descending.
    Run(Operand, i64),
}

impl Emitter<'_> {
    /// Writes a read whose innermost index follows the lanes and may cross a boundary; false if it is to be gathered, or
    /// crosses none.
    pub(crate) fn load_boundary(&mut self, n: &Node, l: &Load, edge: Edge) -> bool {
        let Some((last, outer)) = l.index.split_last() else { return false };
        let lanes = matches!(self.code.mask, Mask::Lanes(_));
        if !self.has_masked_loads(n) || !lanes || self.is_proven(l.array, outer.len(), last) {
            return false;
        }
        let Value::Affine(first, _) = self.index(last) else { return false };
        let Some(row) = self.row_of(l, outer, edge) else { return false };
        let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, outer.len() as u32));
        let empty = put!(self.code.f, "icmp eq i64 {extent}, 0");
        self.code.f.bail_out_if(&empty);

        // Lane numbers: those below `lower` are beyond the lower boundary, those from `upper` on beyond the upper one.
        let lower = put!(self.code.f, "sub i64 0, {first}");
        let upper = put!(self.code.f, "sub i64 {extent}, {first}");
        let [below, before] = [&lower, &upper].map(|end| self.code.lanes_below(end));
        let (above, at_least) = (self.code.inverted(&before), self.code.inverted(&below));
        let within = self.code.and_masks(&at_least, &before);
        // Wrapped and mirrored indices are corrected once; those further out are a fault.
        let reach = match edge {
            Edge::Clamp | Edge::Any => None,
            Edge::Wrap => {
                Some([put!(self.code.f, "sub i64 {lower}, {extent}"), put!(self.code.f, "add i64 {upper}, {extent}")])
            }
            Edge::Mirror => {
                let last = put!(self.code.f, "sub i64 {extent}, 1");
                Some([put!(self.code.f, "sub i64 {lower}, {last}"), put!(self.code.f, "add i64 {upper}, {last}")])
            }
        };
        let (mut low, mut high) = (below.clone(), above.clone());
        if let Some([from, to]) = reach {
            let [under, inside] = [&from, &to].map(|end| self.code.lanes_below(end));
            let over = self.code.inverted(&inside);
            for part in 0..self.code.width.parts {
                self.code.record_fault(part, &under[part]);
                self.code.record_fault(part, &over[part]);
            }
            let from = self.code.inverted(&under);
            (low, high) = (self.code.and_masks(&below, &from), self.code.and_masks(&above, &inside));
        }

        let start = put!(self.code.f, "add i64 {row}, {first}");
        let (one, other) = match edge {
            Edge::Clamp | Edge::Any => {
                let end = put!(self.code.f, "add i64 {row}, {extent}");
                let last = put!(self.code.f, "sub i64 {end}, 1");
                let ends = if outer.is_empty() { self.readable_ends(l.array, [row, last]) } else { [row, last] };
                let [one, other] = ends.map(BoundaryElements::One);
                (one, other)
            }
            Edge::Wrap => {
                let ends =
                    [put!(self.code.f, "add i64 {start}, {extent}"), put!(self.code.f, "sub i64 {start}, {extent}")];
                let [one, other] = ends.map(|at| BoundaryElements::Run(at, 1));
                (one, other)
            }
            Edge::Mirror => {
                let one = put!(self.code.f, "sub i64 {row}, {first}");
                let twice = put!(self.code.f, "shl i64 {extent}, 1");
                let other = put!(self.code.f, "add i64 {one}, {twice}");
                (BoundaryElements::Run(one, -1), BoundaryElements::Run(put!(self.code.f, "sub i64 {other}, 2"), -1))
            }
        };
        for (&leaf, &result) in l.leaves.iter().zip(&n.results) {
            let ty = self.ty(result);
            let column = self.code.f.arg(KernelArg::Column(l.array, leaf));
            let mut values = self.code.load_contiguous(ty, &column, &start, 1, Some(&within), INPUT_SCOPE);
            for (at, flags, good) in [(&one, &below, &low), (&other, &above, &high)] {
                let beyond = match at {
                    BoundaryElements::Run(at, step) => {
                        self.code.load_contiguous(ty, &column, at, *step, Some(good), INPUT_SCOPE)
                    }
                    BoundaryElements::One(at) => {
                        let x = self.code.f.load_element(ty, &column, at);
                        self.code.broadcast(&Value::Uniform(x), element(ty))
                    }
                };
                let (mask, vector) = (self.code.mask_type(), self.code.vector(ty));
                for ((v, x), m) in values.iter_mut().zip(&beyond).zip(flags) {
                    *v = put!(self.code.f, "select {mask} {m}, {vector} {x}, {vector} {v}");
                }
            }
            self.scope.set(result, Value::Varying(values));
        }
        true
    }

    /// The first and the last element of a vector of which only some elements are perhaps materialised, or the nearest of those; no
    /// lane needs the first or the last one then.
    fn readable_ends(&mut self, array: ArrayId, ends: [Operand; 2]) -> [Operand; 2] {
        let [start, end] =
            [KernelArg::ReadableStart(array), KernelArg::ReadableEnd(array)].map(|word| self.code.f.arg(word));
        let last = put!(self.code.f, "sub i64 {end}, 1");
        ends.map(|at| {
            let at = put!(self.code.f, "call i64 @llvm.smax.i64(i64 {at}, i64 {start})");
            put!(self.code.f, "call i64 @llvm.smin.i64(i64 {at}, i64 {last})")
        })
    }

    /// The position of the row's first element; none if lanes read different rows.
    fn row_of(&mut self, l: &Load, outer: &[Ix], edge: Edge) -> Option<Operand> {
        if outer.is_empty() {
            return Some(Operand::int(0));
        }
        let (mut index, _) = self.checked_index(l.array, outer, Some(edge));
        index.push(Value::Uniform(Operand::int(0)));
        match self.code.address(l.array, &index) {
            Address::Uniform(at) => Some(at),
            Address::Contiguous(..) | Address::Strided(..) | Address::Gathered(_) => None,
        }
    }
}

impl VectorCode {
    /// The lanes whose number is less than a uniform one.
    pub(crate) fn lanes_below(&mut self, end: &Operand) -> Parts {
        let (lanes, step) = (self.width.lanes, self.width.step());
        let end = put!(self.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {step})");
        let end = put!(self.f, "call i64 @llvm.smax.i64(i64 {end}, i64 0)");
        let end = put!(self.f, "trunc i64 {end} to i32");
        let end = self.splat(&end, "i32");
        let parts = (0..self.width.parts).map(|p| {
            let numbers: Vec<String> = (0..lanes).map(|k| format!("i32 {}", p * lanes + k)).collect();
            put!(self.f, "icmp slt <{lanes} x i32> <{}>, {end}", numbers.join(", "))
        });
        parts.collect()
    }
}
