//! Operators: built-in ones over lanes, and the bodies of users' operators.

use crate::kernel::Body;
use crate::llvm::emit::facts::Facts;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::scope::Scope;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, put, stored};
use crate::llvm::emit::{Emitter, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

impl<'a> Emitter<'a> {
    /// Writes a body inline, its parameters bound to `args`; returns the vectors of its results.
    pub(crate) fn inline(&mut self, body: &'a Body, args: &[Value]) -> Vec<Parts> {
        self.inlined(body, args, |e| body.region.results.iter().map(|&v| e.vectors(v)).collect(), Vec::new())
    }

    /// The same with scalars.
    pub(crate) fn inline_one(&mut self, body: &'a Body, args: &[Value]) -> Vec<Operand> {
        self.inlined(body, args, |e| body.region.results.iter().map(|&v| e.scope.scalar(v)).collect(), Vec::new())
    }

    /// Writes a body inline; `axes` are those that its indices follow.
    pub(crate) fn inlined<T>(
        &mut self,
        body: &'a Body,
        args: &[Value],
        results: impl FnOnce(&mut Self) -> T,
        axes: Vec<Axis>,
    ) -> T {
        let params: Vec<Uniformity> = args
            .iter()
            .map(|v| match v {
                Value::Uniform(_) => Uniformity::Uniform,
                Value::Affine(_, step) => Uniformity::Affine(*step),
                Value::Varying(_) => Uniformity::Varying,
            })
            .collect();
        let outer_facts = std::mem::replace(&mut self.facts, Facts::over_lanes(body, &params));
        let outer_scope = std::mem::replace(&mut self.scope, Scope { axes, ..Scope::new(body) });
        let outer_relaxed = std::mem::replace(&mut self.code.relaxed, body.relaxed);
        self.scope.bind_constants(body);
        for (&p, v) in body.region.params.iter().zip(args) {
            self.scope.set(p, v.clone());
        }
        self.region(&body.region);
        let results = results(self);
        self.facts = outer_facts;
        self.scope = outer_scope;
        self.code.relaxed = outer_relaxed;
        results
    }

    /// Writes a user's operator, its parameters bound to `args`. Lanes with a flag (all of a part without flags)
    /// combine two elements; the others have one, and yield `alone`. An operator that may fault or not end is evaluated
    /// for the former only.
    pub(crate) fn inline_where(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        args: &[Value],
        flags: &[Option<Operand>],
        alone: &[Parts],
    ) -> Vec<Parts> {
        let combined = match flags.iter().any(Option::is_some) && body.is_partial() {
            true => self.inline_if_any(body, types, args, flags),
            false => self.inline(body, args),
        };
        let mask = self.code.mask_type();
        let chosen = |e: &mut Self, ty: ScalarType, flag: &Option<Operand>, both: &Operand, alone: &Operand| match flag
        {
            None => both.clone(),
            Some(flag) => {
                let t = e.code.vector(ty);
                put!(e.code.f, "select {mask} {flag}, {t} {both}, {t} {alone}")
            }
        };
        let leaves = combined.iter().zip(alone).zip(types);
        leaves
            .map(|((both, alone), &ty)| {
                let parts = flags.iter().zip(both.iter().zip(alone));
                parts.map(|(flag, (both, alone))| chosen(self, ty, flag, both, alone)).collect()
            })
            .collect()
    }

    /// Writes a user's operator under a mask, where any lane has a flag.
    fn inline_if_any(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        args: &[Value],
        flags: &[Option<Operand>],
    ) -> Vec<Parts> {
        let all = self.code.f.constant(self.code.shape(), "i1", "true");
        let on = flags.iter().enumerate().map(|(part, flag)| match flag {
            Some(flag) => self.code.and_mask(part, flag),
            None => self.code.part_mask(part).unwrap_or_else(|| all.clone()),
        });
        let on: Parts = on.collect();
        let some = self.code.any_lane(&on);
        let (run, join, before) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.block);
        self.code.f.w.branch(&some, run, join);
        self.code.f.w.start(run);
        let outer = std::mem::replace(&mut self.code.mask, Mask::Lanes(on));
        let combined = self.inline(body, args);
        self.code.mask = outer;
        let last = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(join);
        let leaves = combined.iter().zip(types);
        leaves
            .map(|(parts, &ty)| {
                let t = self.code.vector(ty);
                parts
                    .iter()
                    .map(|x| put!(self.code.f, "phi {t} [ {x}, {last} ], [ zeroinitializer, {before} ]"))
                    .collect()
            })
            .collect()
    }
}

impl VectorCode {
    /// `op(acc, x)` in the active lanes of a part, `acc` in the others.
    pub(crate) fn accumulate(
        &mut self,
        op: PrimOp,
        ty: ScalarType,
        part: usize,
        acc: &Operand,
        x: &Operand,
    ) -> Operand {
        let next = self.operation(op, ty, self.shape(), &[acc.clone(), x.clone()]);
        self.where_active(ty, part, next, acc)
    }

    /// Vectors, each added to a scalar.
    pub(crate) fn added_to(&mut self, ty: ScalarType, scalar: &Operand, parts: &Parts) -> Parts {
        let splat = self.splat(scalar, element(ty));
        let add = |x: &Operand| self.operation(PrimOp::AddP, ty, self.shape(), &[splat.clone(), x.clone()]);
        parts.iter().map(add).collect()
    }

    /// `x * y + acc`, rounded once, in the active lanes of a part, `acc` in the others.
    pub(crate) fn accumulate_product(
        &mut self,
        ty: ScalarType,
        part: usize,
        acc: &Operand,
        [x, y]: [&Operand; 2],
    ) -> Operand {
        let next = self.f.fma(ty, self.shape(), [x, y, acc]);
        self.where_active(ty, part, next, acc)
    }

    fn where_active(&mut self, ty: ScalarType, part: usize, next: Operand, acc: &Operand) -> Operand {
        match self.part_mask(part) {
            None => next,
            Some(m) => {
                let (flags, t) = (self.mask_type(), self.vector(ty));
                put!(self.f, "select {flags} {m}, {t} {next}, {t} {acc}")
            }
        }
    }

    /// Combines all [`PARTIAL_RESULTS`](crate::kernel::grouping::PARTIAL_RESULTS) by halving; returns the scalar.
    pub(crate) fn reduce_lanes(&mut self, op: PrimOp, ty: ScalarType, mut parts: Parts) -> Operand {
        while parts.len() > 1 {
            let half = parts.len() / 2;
            parts = (0..half)
                .map(|k| self.operation(op, ty, self.shape(), &[parts[k].clone(), parts[k + half].clone()]))
                .collect();
        }
        let (mut lanes, mut x) = (self.width.lanes, parts.swap_remove(0));
        while lanes > 2 {
            let (t, half) = (Shape::Vector(lanes).of(element(ty)), lanes / 2);
            let [lower, upper] = [0, half].map(|first| {
                let order: Vec<String> = (first..first + half).map(|k| format!("i32 {k}")).collect();
                put!(self.f, "shufflevector {t} {x}, {t} poison, <{half} x i32> <{}>", order.join(", "))
            });
            x = self.operation(op, ty, Shape::Vector(half), &[lower, upper]);
            lanes = half;
        }
        let t = Shape::Vector(2).of(element(ty));
        let [first, second] = [0, 1].map(|k| put!(self.f, "extractelement {t} {x}, i64 {k}"));
        self.operation(op, ty, Shape::Scalar, &[first, second])
    }

    /// Stores the active lanes `stride` elements apart, from position `first` on.
    pub(crate) fn store_strided(
        &mut self,
        ty: ScalarType,
        parts: &Parts,
        out: &Operand,
        first: &Operand,
        stride: &Operand,
    ) {
        let positions = self.strided_positions(first, stride);
        self.scatter_vectors(ty, parts, out, &positions);
    }

    /// The positions of lanes that are so far apart.
    pub(crate) fn strided_positions(&mut self, first: &Operand, stride: &Operand) -> Parts {
        let indices = self.shape().of("i64");
        let (start, by) = (self.splat(first, "i64"), self.splat(stride, "i64"));
        let positions = (0..self.width.parts).map(|part| {
            let numbers = self.offsets(1, part);
            let offsets = put!(self.f, "mul {indices} {numbers}, {by}");
            put!(self.f, "add {indices} {start}, {offsets}")
        });
        positions.collect()
    }

    /// Converts vectors to their type in memory.
    pub(crate) fn memory_form(&mut self, ty: ScalarType, parts: &Parts) -> Parts {
        if ty != ScalarType::Bool {
            return parts.clone();
        }
        let (flags, bytes) = (self.mask_type(), self.shape().of("i8"));
        parts.iter().map(|x| put!(self.f, "zext {flags} {x} to {bytes}")).collect()
    }

    /// Stores the active lanes at their own positions, in order.
    pub(crate) fn scatter_vectors(&mut self, ty: ScalarType, parts: &Parts, out: &Operand, positions: &Parts) {
        let (lanes, size, mem, indices) = (self.width.lanes, ty.size(), stored(ty), self.shape().of("i64"));
        let (vector, suffix) = (self.shape().of(mem), self.shape().suffix(mem));
        let parts = self.memory_form(ty, parts);
        for (part, (x, at)) in parts.iter().zip(positions).enumerate() {
            let p = put!(self.f, "getelementptr {mem}, ptr {out}, {indices} {at}");
            let mask = match &self.mask {
                Mask::All => self.f.constant(self.shape(), "i1", "true"),
                Mask::Lanes(m) => m[part].clone(),
            };
            self.f.w.line(format_args!(
                "call void @llvm.masked.scatter.{suffix}.v{lanes}p0({vector} {x}, <{lanes} x ptr> {p}, i32 {size}, <{lanes} x i1> {mask}), !noalias !2"
            ));
        }
    }
}

impl Function {
    /// `x * y + z`, rounded once.
    pub(crate) fn fma(&mut self, ty: ScalarType, shape: Shape, [x, y, z]: [&Operand; 3]) -> Operand {
        let (t, suffix) = (shape.of(element(ty)), shape.suffix(element(ty)));
        put!(self, "call {t} @llvm.fma.{suffix}({t} {x}, {t} {y}, {t} {z})")
    }

    /// A scalar from its bits.
    pub(crate) fn scalar_of_bits(&mut self, ty: ScalarType, bits: &Operand) -> Operand {
        match ty {
            ScalarType::I64 | ScalarType::U64 => bits.clone(),
            ScalarType::F64 => put!(self, "bitcast i64 {bits} to double"),
            ScalarType::F32 => {
                let bits = put!(self, "trunc i64 {bits} to i32");
                put!(self, "bitcast i32 {bits} to float")
            }
            _ => put!(self, "trunc i64 {bits} to {}", element(ty)),
        }
    }

    /// The bits of a scalar.
    pub(crate) fn bits_of_scalar(&mut self, ty: ScalarType, x: &Operand) -> Operand {
        match ty {
            ScalarType::I64 | ScalarType::U64 => x.clone(),
            ScalarType::F64 => put!(self, "bitcast double {x} to i64"),
            ScalarType::F32 => {
                let bits = put!(self, "bitcast float {x} to i32");
                put!(self, "zext i32 {bits} to i64")
            }
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 => put!(self, "sext {} {x} to i64", element(ty)),
            _ => put!(self, "zext {} {x} to i64", element(ty)),
        }
    }
}
