//! Relaxed arithmetic ([`Options::relaxed`](crate::Options::relaxed)): contraction of products and sums, and the
//! processor's estimates of reciprocal square roots.

use crate::kernel::{Op, Region};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::text::value::{Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, number, put};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};

impl VectorCode {
    /// The fast-math flag of sums, differences and products.
    pub(crate) fn contract_flag(&self) -> &'static str {
        if self.relaxed { "contract " } else { "" }
    }

    /// AVX-512's estimate of reciprocal square roots, and the Newton steps after it: it has 14 bits, and a step doubles
    /// them. AVX's has 12, and flushes small numbers to zero.
    fn estimate(&self, ty: ScalarType) -> Option<(String, usize)> {
        let bits = 8 * self.width.lanes * ty.size();
        let (name, steps) = match ty {
            ScalarType::F32 => ("ps", 1),
            ScalarType::F64 => ("pd", 2),
            _ => return None,
        };
        let there = self.f.target.has_mask_registers() && matches!(bits, 128 | 256 | 512);
        there.then(|| (format!("@llvm.x86.avx512.rsqrt14.{name}.{bits}"), steps))
    }

    /// 1 / sqrt(x), within a few units in the last place.
    fn inverse_root(&mut self, ty: ScalarType, shape: Shape, x: &Operand) -> Operand {
        let (t, suffix) = (shape.of(element(ty)), shape.suffix(element(ty)));
        let (Shape::Vector(n), Some((name, steps))) = (shape, self.estimate(ty)) else {
            let one = self.f.constant(shape, element(ty), "1.0");
            let root = put!(self.f, "call {t} @llvm.sqrt.{suffix}({t} {x})");
            return put!(self.f, "fdiv {t} {one}, {root}");
        };
        let mut y = put!(self.f, "call {t} {name}({t} {x}, {t} zeroinitializer, i{} -1)", n.max(8));
        let [minus_half, three_halves] = ["-0.5", "1.5"].map(|c| self.f.constant(shape, element(ty), c));
        let flags = shape.of("i1");
        for _ in 0..steps {
            // The estimate is not squared, since that might underflow.
            let (root, less) = (put!(self.f, "fmul {t} {x}, {y}"), put!(self.f, "fmul {t} {y}, {minus_half}"));
            let factor = put!(self.f, "call {t} @llvm.fma.{suffix}({t} {root}, {t} {less}, {t} {three_halves})");
            // For zero and infinity the estimate is exact, and a step would yield NaN.
            let some = put!(self.f, "fcmp ord {t} {factor}, {factor}");
            let next = put!(self.f, "fmul {t} {y}, {factor}");
            y = put!(self.f, "select {flags} {some}, {t} {next}, {t} {y}");
        }
        y
    }
}

impl Emitter<'_> {
    /// A quotient by a square root as a product with the estimated reciprocal, if relaxed arithmetic allows it and the
    /// processor has the instruction.
    pub(crate) fn quotient_by_root(&mut self, p: PrimOp, args: &[Val]) -> Option<Value> {
        let [x, y] = *args else { return None };
        let ty = self.ty(x);
        if !self.facts.body.relaxed || p != PrimOp::DivP || self.code.estimate(ty).is_none() {
            return None;
        }
        let under = root_of(&self.facts.body.region, y)?;
        Some(self.map_parts(&[x, under], &mut |e, shape, a| {
            let inverse = e.code.inverse_root(ty, shape, &a[1]);
            let t = shape.of(element(ty));
            if number(&a[0]) == Some(1.0) { inverse } else { put!(e.code.f, "fmul {t} {}, {inverse}", a[0]) }
        }))
    }
}

/// The operand of the square root that defines a value.
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
