//! Code over the lanes of a step: its width, the active lanes, and lanes that faulted.

use super::function::Function;
use super::value::{Mask, Parts, Shape, Value};
use super::{Operand, element, put};
use crate::llvm::emit::Width;
use acc_core::data::ScalarType;
use std::collections::HashMap;
use std::fmt::Write;

/// Writes code over lanes into a function.
pub(crate) struct VectorCode {
    pub f: Function,
    /// The vectors of a step.
    pub width: Width,
    /// The step of the index along the lane axis from lane to lane: 1, or -1 for scans from the right, whose first lane
    /// is the rightmost.
    pub lane_step: i64,
    pub mask: Mask,
    /// Lanes that faulted since the last check.
    pub faults: Option<Operand>,
    /// The vectors of scalar registers that were broadcast ahead.
    pub splats: HashMap<Operand, Operand>,
    /// Whether the step being written is one of full vectors away from boundaries.
    pub inner: bool,
    /// Whether arithmetic is [`relaxed`](crate::kernel::Body::relaxed).
    pub relaxed: bool,
}

impl VectorCode {
    pub(crate) fn new(f: Function, width: Width, relaxed: bool) -> VectorCode {
        let (mask, faults, splats) = (Mask::All, None, HashMap::new());
        VectorCode { f, width, lane_step: 1, mask, faults, splats, inner: false, relaxed }
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::Vector(self.width.lanes)
    }

    /// The type of vectors of a scalar type.
    pub(crate) fn vector(&self, ty: ScalarType) -> String {
        self.shape().of(element(ty))
    }

    /// The vectors of a value of any uniformity.
    pub(crate) fn broadcast(&mut self, value: &Value, element: &str) -> Parts {
        match value {
            Value::Varying(parts) => parts.clone(),
            Value::Uniform(o) => {
                let splat = self.splat(o, element);
                smallvec::smallvec![splat; self.width.parts]
            }
            Value::Affine(first, step) => {
                let splat = self.splat(first, "i64");
                let ty = self.shape().of("i64");
                (0..self.width.parts)
                    .map(|p| {
                        let offsets = self.offsets(*step, p);
                        put!(self.f, "add {ty} {splat}, {offsets}")
                    })
                    .collect()
            }
        }
    }

    /// A vector with the same value in every lane.
    pub(crate) fn splat(&mut self, o: &Operand, element: &str) -> Operand {
        if let Some(vector) = self.splats.get(o) {
            return vector.clone();
        }
        // Constants have no percent sign; named registers do.
        match o {
            Operand::Text(t) if !t.starts_with('%') => self.f.constant(self.shape(), element, t),
            _ => {
                let n = self.width.lanes;
                let one = put!(self.f, "insertelement <{n} x {element}> poison, {element} {o}, i64 0");
                put!(
                    self.f,
                    "shufflevector <{n} x {element}> {one}, <{n} x {element}> poison, <{n} x i32> zeroinitializer"
                )
            }
        }
    }

    /// `step * lane` for the lanes of a part, as a vector of `i64`.
    pub(crate) fn offsets(&mut self, step: i64, part: usize) -> Operand {
        if let Some(known) = self.f.prologue.constants.get(&(step, part)) {
            return known.clone();
        }
        let Width { lanes, .. } = self.width;
        let each: Vec<String> = (0..lanes).map(|k| format!("i64 {}", step * (part * lanes + k) as i64)).collect();
        let k = self.f.prologue.constants.len();
        // A name for a long constant, which LLVM folds.
        let _ = writeln!(self.f.prologue.text, "  %k{k} = add <{lanes} x i64> <{}>, zeroinitializer", each.join(", "));
        let operand = Operand::text(format!("%k{k}"));
        self.f.prologue.constants.insert((step, part), operand.clone());
        operand
    }

    /// The mask of a part; none if all lanes are active.
    pub(crate) fn part_mask(&self, part: usize) -> Option<Operand> {
        match &self.mask {
            Mask::All => None,
            Mask::Lanes(m) => Some(m[part].clone()),
        }
    }

    /// The vector type of masks.
    pub(crate) fn mask_type(&self) -> String {
        self.shape().of("i1")
    }

    /// The type of masks that cross blocks, or are shuffled. Without mask registers LLVM would narrow and widen flags
    /// each time, so they are full lanes, all ones or zeros.
    pub(crate) fn stored_mask_type(&self) -> ScalarType {
        match self.f.target.register / self.width.lanes {
            _ if self.f.target.has_mask_registers() => ScalarType::Bool,
            0 | 1 => ScalarType::I8,
            2 | 3 => ScalarType::I16,
            4..8 => ScalarType::I32,
            _ => ScalarType::I64,
        }
    }

    /// The vector type of stored masks, and the one that is all ones.
    pub(crate) fn stored_mask(&self) -> (String, Operand) {
        let flag = self.stored_mask_type();
        let all = if flag == ScalarType::Bool { "true" } else { "-1" };
        (self.vector(flag), self.f.constant(self.shape(), element(flag), all))
    }

    /// Flags to a stored mask.
    pub(crate) fn pack_mask(&mut self, flags: &Operand) -> Operand {
        match self.stored_mask_type() {
            ScalarType::Bool => flags.clone(),
            flag => put!(self.f, "sext {} {flags} to {}", self.mask_type(), self.vector(flag)),
        }
    }

    /// A stored mask to flags.
    pub(crate) fn unpack_mask(&mut self, kept: &Operand) -> Operand {
        match self.stored_mask_type() {
            ScalarType::Bool => kept.clone(),
            flag => put!(self.f, "icmp slt {} {kept}, zeroinitializer", self.vector(flag)),
        }
    }

    /// `mask & flags` of a part.
    pub(crate) fn and_mask(&mut self, part: usize, flags: &Operand) -> Operand {
        match self.part_mask(part) {
            None => flags.clone(),
            Some(m) => {
                let ty = self.mask_type();
                put!(self.f, "and {ty} {m}, {flags}")
            }
        }
    }

    /// The elements of one value in lanes with a flag, of another one in others.
    pub(crate) fn selected(&mut self, ty: ScalarType, flags: &Parts, xs: &Parts, ys: &Parts) -> Parts {
        let (mask, t) = (self.mask_type(), self.vector(ty));
        let parts = flags.iter().zip(xs.iter().zip(ys));
        parts.map(|(c, (x, y))| put!(self.f, "select {mask} {c}, {t} {x}, {t} {y}")).collect()
    }

    /// Whether any flag of any part is set, as an `i1`.
    pub(crate) fn any_lane(&mut self, flags: &[Operand]) -> Operand {
        let ty = self.mask_type();
        let mut all = flags.iter().cloned();
        let Some(mut sum) = all.next() else { return Operand::text("false") };
        for f in all {
            sum = put!(self.f, "or {ty} {sum}, {f}");
        }
        let n = self.width.lanes;
        let bits = put!(self.f, "bitcast {ty} {sum} to i{n}");
        put!(self.f, "icmp ne i{n} {bits}, 0")
    }

    /// Records a fault in the active lanes with a flag.
    pub(crate) fn record_fault(&mut self, part: usize, flags: &Operand) {
        let flags = self.and_mask(part, flags);
        let ty = self.mask_type();
        self.faults = Some(match self.faults.take() {
            None => flags,
            Some(before) => put!(self.f, "or {ty} {before}, {flags}"),
        });
    }

    /// Bails out if any lane has recorded a fault. Code after it may rely on there being none.
    pub(crate) fn bail_out_on_fault(&mut self) {
        if let Some(faults) = self.faults.take() {
            let any = self.any_lane(&[faults]);
            self.f.bail_out_if(&any);
        }
    }
}
