//! Combinations: known operations over lanes, and bodies of users.

use super::nest::Axis;
use super::text::{Operand, element, put, stored};
use super::value::{Mask, Parts, Shape, V};
use super::{Emitter, Level};
use crate::kernel::{Body, levels};
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;

impl<'a> Emitter<'a> {
    /// Writes a body where the code stands, its parameters bound to `args`; the vectors of its results.
    pub(super) fn inline(&mut self, body: &'a Body, args: &[V]) -> Vec<Parts> {
        self.inlined(body, args, |e| body.region.results.iter().map(|&v| e.lanes(v)).collect(), Vec::new())
    }

    /// The same of a body whose parameters are scalars; the scalars of its results.
    pub(super) fn inline_one(&mut self, body: &'a Body, args: &[V]) -> Vec<Operand> {
        self.inlined(body, args, |e| body.region.results.iter().map(|&v| e.one(v)).collect(), Vec::new())
    }

    /// Writes a body; `axes` are those that its indices follow.
    pub(super) fn inlined<T>(
        &mut self,
        body: &'a Body,
        args: &[V],
        results: impl FnOnce(&mut Self) -> T,
        axes: Vec<Axis>,
    ) -> T {
        let params: Vec<Level> = args
            .iter()
            .map(|v| match v {
                V::One(_) => Level::One,
                V::Linear(_, step) => Level::Linear(*step),
                V::Lanes(_) => Level::Lanes,
            })
            .collect();
        let outer_body = std::mem::replace(&mut self.body, body);
        let outer_levels = std::mem::replace(&mut self.levels, levels(body, &params));
        let outer_around = std::mem::take(&mut self.around);
        let outer_clamped = std::mem::take(&mut self.clamped);
        let outer_values = std::mem::replace(&mut self.values, vec![None; body.types.len()]);
        let outer_used = std::mem::replace(&mut self.used, body.used());
        let outer_axes = std::mem::replace(&mut self.axes, axes);
        let outer_proven = std::mem::take(&mut self.proven);
        self.constants_of(body);
        for (&p, v) in body.region.params.iter().zip(args) {
            self.set(p, v.clone());
        }
        self.region(&body.region);
        let results = results(self);
        self.body = outer_body;
        self.levels = outer_levels;
        self.around = outer_around;
        self.clamped = outer_clamped;
        self.values = outer_values;
        self.used = outer_used;
        self.axes = outer_axes;
        self.proven = outer_proven;
        results
    }

    /// Writes an operator of the user's, its parameters bound to `args`. Of each part the lanes with a flag, if not all of them,
    /// combine two elements; in the others, which have one, the result is that of `alone`, and an operator that may fault
    /// or not end is not seen to do so.
    pub(super) fn inline_where(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        args: &[V],
        flags: &[Option<Operand>],
        alone: &[Parts],
    ) -> Vec<Parts> {
        let combined = match flags.iter().any(Option::is_some) && body.is_partial() {
            true => self.inline_if_any(body, types, args, flags),
            false => self.inline(body, args),
        };
        let mask = self.mask_type();
        let chosen = |e: &mut Self, ty: ScalarType, flag: &Option<Operand>, both: &Operand, alone: &Operand| match flag
        {
            None => both.clone(),
            Some(flag) => {
                let t = e.vector(ty);
                put!(e, "select {mask} {flag}, {t} {both}, {t} {alone}")
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

    /// Writes an operator for the lanes with a flag, where there are any.
    fn inline_if_any(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        args: &[V],
        flags: &[Option<Operand>],
    ) -> Vec<Parts> {
        let all = self.constant(self.shape(), "i1", "true");
        let on = flags.iter().enumerate().map(|(part, flag)| match flag {
            Some(flag) => self.masked(part, flag),
            None => self.mask_of(part).unwrap_or_else(|| all.clone()),
        });
        let on: Parts = on.collect();
        let some = self.any(&on);
        let (run, join, before) = (self.w.label(), self.w.label(), self.w.block);
        self.w.branch(&some, run, join);
        self.w.start(run);
        let outer = std::mem::replace(&mut self.mask, Mask::Lanes(on));
        let combined = self.inline(body, args);
        self.mask = outer;
        let last = self.w.block;
        self.w.jump(join);
        self.w.start(join);
        let leaves = combined.iter().zip(types);
        leaves
            .map(|(parts, &ty)| {
                let t = self.vector(ty);
                parts.iter().map(|x| put!(self, "phi {t} [ {x}, {last} ], [ zeroinitializer, {before} ]")).collect()
            })
            .collect()
    }

    /// `op(acc, x)` in the lanes of a part that are on, `acc` in the others.
    pub(super) fn accumulate(
        &mut self,
        op: PrimOp,
        ty: ScalarType,
        part: usize,
        acc: &Operand,
        x: &Operand,
    ) -> Operand {
        let next = self.operation(op, ty, self.shape(), &[acc.clone(), x.clone()]);
        match self.mask_of(part) {
            None => next,
            Some(m) => {
                let (flags, t) = (self.mask_type(), self.vector(ty));
                put!(self, "select {flags} {m}, {t} {next}, {t} {acc}")
            }
        }
    }

    /// Combines [`WIDTH`](crate::kernel::grouping::WIDTH) partial results by halving; the scalar.
    pub(super) fn collapse(&mut self, op: PrimOp, ty: ScalarType, mut parts: Parts) -> Operand {
        while parts.len() > 1 {
            let half = parts.len() / 2;
            parts = (0..half)
                .map(|k| self.operation(op, ty, self.shape(), &[parts[k].clone(), parts[k + half].clone()]))
                .collect();
        }
        let (mut lanes, mut x) = (self.width.lanes, parts.swap_remove(0));
        while lanes > 2 {
            let (t, half) = (Shape::Lanes(lanes).of(element(ty)), lanes / 2);
            let [lower, upper] = [0, half].map(|first| {
                let order: Vec<String> = (first..first + half).map(|k| format!("i32 {k}")).collect();
                put!(self, "shufflevector {t} {x}, {t} poison, <{half} x i32> <{}>", order.join(", "))
            });
            x = self.operation(op, ty, Shape::Lanes(half), &[lower, upper]);
            lanes = half;
        }
        let t = Shape::Lanes(2).of(element(ty));
        let [first, second] = [0, 1].map(|k| put!(self, "extractelement {t} {x}, i64 {k}"));
        self.operation(op, ty, Shape::One, &[first, second])
    }

    /// A scalar of bits.
    pub(super) fn scalar_of(&mut self, ty: ScalarType, bits: &Operand) -> Operand {
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
    pub(super) fn bits_of(&mut self, ty: ScalarType, x: &Operand) -> Operand {
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

    /// Stores the lanes that are on, `stride` elements apart, from position `first` on.
    pub(super) fn store_strided(
        &mut self,
        ty: ScalarType,
        parts: &Parts,
        out: &Operand,
        first: &Operand,
        stride: &Operand,
    ) {
        let positions = self.strided(first, stride);
        self.store_at(ty, parts, out, &positions);
    }

    /// The positions of lanes that lie so far apart.
    pub(super) fn strided(&mut self, first: &Operand, stride: &Operand) -> Parts {
        let indices = self.shape().of("i64");
        let (start, by) = (self.splat(first, "i64"), self.splat(stride, "i64"));
        let positions = (0..self.width.parts).map(|part| {
            let numbers = self.offsets(1, part);
            let offsets = put!(self, "mul {indices} {numbers}, {by}");
            put!(self, "add {indices} {start}, {offsets}")
        });
        positions.collect()
    }

    /// Vectors as they are stored.
    pub(super) fn in_memory(&mut self, ty: ScalarType, parts: &Parts) -> Parts {
        if ty != ScalarType::Bool {
            return parts.clone();
        }
        let (flags, bytes) = (self.mask_type(), self.shape().of("i8"));
        parts.iter().map(|x| put!(self, "zext {flags} {x} to {bytes}")).collect()
    }

    /// Stores the lanes that are on at positions of their own, in order.
    pub(super) fn store_at(&mut self, ty: ScalarType, parts: &Parts, out: &Operand, positions: &Parts) {
        let (lanes, size, mem, indices) = (self.width.lanes, ty.size(), stored(ty), self.shape().of("i64"));
        let (vector, suffix) = (self.shape().of(mem), self.shape().suffix(mem));
        let parts = self.in_memory(ty, parts);
        for (part, (x, at)) in parts.iter().zip(positions).enumerate() {
            let p = put!(self, "getelementptr {mem}, ptr {out}, {indices} {at}");
            let mask = match &self.mask {
                Mask::All => self.constant(self.shape(), "i1", "true"),
                Mask::Lanes(m) => m[part].clone(),
            };
            self.w.line(format_args!(
                "call void @llvm.masked.scatter.{suffix}.v{lanes}p0({vector} {x}, <{lanes} x ptr> {p}, i32 {size}, <{lanes} x i1> {mask}), !noalias !2"
            ));
        }
    }
}
