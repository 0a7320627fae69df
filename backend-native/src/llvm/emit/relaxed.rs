//! What relaxed arithmetic allows ([`Options::relaxed`](crate::Options::relaxed)): products and sums that are rounded once, and
//! reciprocals of square roots by estimates of the processor.

use super::Emitter;
use super::text::{Operand, element, number, put};
use super::value::{Shape, V};
use crate::kernel::{Op, Region};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

impl Emitter<'_> {
    /// The flag of sums, differences and products.
    pub(super) fn rounded_once(&self) -> &'static str {
        if self.body.relaxed { "contract " } else { "" }
    }

    /// A quotient whose divisor is a square root, as a product, if that is allowed and there is an instruction for it.
    pub(super) fn quotient_by_root(&mut self, p: PrimOp, args: &[Val]) -> Option<V> {
        let [x, y] = *args else { return None };
        let ty = self.ty(x);
        if !self.body.relaxed || p != PrimOp::DivP || self.estimate(ty).is_none() {
            return None;
        }
        let under = root_of(&self.body.region, y)?;
        Some(self.each(&[x, under], &mut |e, shape, a| {
            let inverse = e.inverse_root(ty, shape, &a[1]);
            let t = shape.of(element(ty));
            if number(&a[0]) == Some(1.0) { inverse } else { put!(e, "fmul {t} {}, {inverse}", a[0]) }
        }))
    }

    /// The instruction of AVX-512 that estimates the reciprocal of a square root, and how many steps of Newton's method follow: it
    /// yields 14 bits, and a step twice as many. That of AVX yields 12, and takes small numbers for zeros.
    fn estimate(&self, ty: ScalarType) -> Option<(String, usize)> {
        let bits = 8 * self.width.lanes * ty.size();
        let (name, steps) = match ty {
            ScalarType::F32 => ("ps", 1),
            ScalarType::F64 => ("pd", 2),
            _ => return None,
        };
        let there = self.target.has_mask_registers() && matches!(bits, 128 | 256 | 512);
        there.then(|| (format!("@llvm.x86.avx512.rsqrt14.{name}.{bits}"), steps))
    }

    /// 1 / sqrt(x), off by a few units in the last place.
    fn inverse_root(&mut self, ty: ScalarType, shape: Shape, x: &Operand) -> Operand {
        let (t, suffix) = (shape.of(element(ty)), shape.suffix(element(ty)));
        let (Shape::Lanes(n), Some((name, steps))) = (shape, self.estimate(ty)) else {
            let one = self.constant(shape, element(ty), "1.0");
            let root = put!(self, "call {t} @llvm.sqrt.{suffix}({t} {x})");
            return put!(self, "fdiv {t} {one}, {root}");
        };
        let mut y = put!(self, "call {t} {name}({t} {x}, {t} zeroinitializer, i{} -1)", n.max(8));
        let [minus_half, three_halves] = ["-0.5", "1.5"].map(|c| self.constant(shape, element(ty), c));
        let flags = shape.of("i1");
        for _ in 0..steps {
            // No square of the estimate, which might be too small.
            let (root, less) = (put!(self, "fmul {t} {x}, {y}"), put!(self, "fmul {t} {y}, {minus_half}"));
            let factor = put!(self, "call {t} @llvm.fma.{suffix}({t} {root}, {t} {less}, {t} {three_halves})");
            // Of zeros and of infinity the estimate is exact, and there is no step from it.
            let some = put!(self, "fcmp ord {t} {factor}, {factor}");
            let next = put!(self, "fmul {t} {y}, {factor}");
            y = put!(self, "select {flags} {some}, {t} {next}, {t} {y}");
        }
        y
    }
}

/// What a value is the square root of.
fn root_of(r: &Region, v: Val) -> Option<Val> {
    let mut found = None;
    r.visit(0, &mut |n, _| {
        if let Op::Prim(PrimOp::SqrtP, x) = &n.op
            && n.results.contains(&v)
        {
            found = x.first().copied();
        }
    });
    found
}
