//! Values of the code: scalars, or one vector per part of a step.

use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, Width};
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use smallvec::SmallVec;
use std::fmt::Write;

/// One vector per part.
pub(crate) type Parts = SmallVec<[Operand; 4]>;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar, equal for all lanes.
    Uniform(Operand),
    /// An `i64`: the first lane's value, and the step from lane to lane.
    Affine(Operand, i64),
    /// Vectors.
    Varying(Parts),
}

/// Which lanes are active.
#[derive(Clone, Debug)]
pub(crate) enum Mask {
    All,
    Lanes(Parts),
}

/// Whether an operation is on scalars or on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Scalar,
    Vector(usize),
}

impl Shape {
    /// The type of values of this shape.
    pub(crate) fn of(self, element: &str) -> String {
        match self {
            Shape::Scalar => element.to_string(),
            Shape::Vector(n) => format!("<{n} x {element}>"),
        }
    }

    /// The suffix of an intrinsic over this type.
    pub(crate) fn suffix(self, element: &str) -> String {
        let name = match element {
            "float" => "f32",
            "double" => "f64",
            "half" => "f16",
            other => other,
        };
        match self {
            Shape::Scalar => name.to_string(),
            Shape::Vector(n) => format!("v{n}{name}"),
        }
    }
}

impl Emitter<'_> {
    /// A constant of a shape, without its type.
    pub(crate) fn constant(&self, shape: Shape, element: &str, text: &str) -> Operand {
        match shape {
            Shape::Scalar => Operand::text(text),
            Shape::Vector(_) if text == "zeroinitializer" => Operand::text(text),
            Shape::Vector(_) if self.target.splats => Operand::text(format!("splat ({element} {text})")),
            Shape::Vector(n) => {
                let each = format!("{element} {text}");
                Operand::text(format!("<{}>", vec![each; n].join(", ")))
            }
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::Vector(self.width.lanes)
    }

    /// The type of vectors of a scalar type.
    pub(crate) fn vector(&self, ty: ScalarType) -> String {
        self.shape().of(element(ty))
    }

    /// The value that was written for `v`. Verified bodies define values before their uses.
    pub(crate) fn value(&self, v: Val) -> Value {
        debug_assert!(self.values[v.index()].is_some(), "{v} is not written yet");
        self.values[v.index()].clone().unwrap_or_else(|| Value::Uniform(Operand::text("0")))
    }

    pub(crate) fn set(&mut self, v: Val, value: Value) {
        self.values[v.index()] = Some(value);
    }

    /// The scalar of a uniform value; of an affine one that of the first lane.
    pub(crate) fn scalar(&self, v: Val) -> Operand {
        match self.value(v) {
            Value::Uniform(o) | Value::Affine(o, _) => o,
            Value::Varying(parts) => {
                debug_assert!(false, "{v} differs from lane to lane");
                parts.first().cloned().unwrap_or_else(|| Operand::text("0"))
            }
        }
    }

    /// The vectors of a value.
    pub(crate) fn vectors(&mut self, v: Val) -> Parts {
        let value = self.value(v);
        self.broadcast(&value, element(self.ty(v)))
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
                        put!(self, "add {ty} {splat}, {offsets}")
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
            Operand::Text(t) if !t.starts_with('%') => self.constant(self.shape(), element, t),
            _ => {
                let n = self.width.lanes;
                let one = put!(self, "insertelement <{n} x {element}> poison, {element} {o}, i64 0");
                put!(
                    self,
                    "shufflevector <{n} x {element}> {one}, <{n} x {element}> poison, <{n} x i32> zeroinitializer"
                )
            }
        }
    }

    /// `step * lane` for the lanes of a part, as a vector of `i64`.
    pub(crate) fn offsets(&mut self, step: i64, part: usize) -> Operand {
        if let Some(known) = self.constants.get(&(step, part)) {
            return known.clone();
        }
        let Width { lanes, .. } = self.width;
        let each: Vec<String> = (0..lanes).map(|k| format!("i64 {}", step * (part * lanes + k) as i64)).collect();
        let k = self.constants.len();
        // A name for a long constant, which LLVM folds.
        let _ = writeln!(self.entry, "  %k{k} = add <{lanes} x i64> <{}>, zeroinitializer", each.join(", "));
        let operand = Operand::text(format!("%k{k}"));
        self.constants.insert((step, part), operand.clone());
        operand
    }

    /// Writes an operation once for uniform operands, else for each part.
    pub(crate) fn map_parts(
        &mut self,
        args: &[Val],
        f: &mut dyn FnMut(&mut Self, Shape, &[Operand]) -> Operand,
    ) -> Value {
        let values: SmallVec<[Value; 4]> = args.iter().map(|&v| self.value(v)).collect();
        if values.iter().all(|v| matches!(v, Value::Uniform(_))) {
            let ones: SmallVec<[Operand; 4]> = args.iter().map(|&v| self.scalar(v)).collect();
            return Value::Uniform(f(self, Shape::Scalar, &ones));
        }
        let spread: SmallVec<[Parts; 4]> = args.iter().map(|&v| self.vectors(v)).collect();
        let parts = (0..self.width.parts).map(|p| {
            let operands: SmallVec<[Operand; 4]> = spread.iter().map(|s| s[p].clone()).collect();
            f(self, self.shape(), &operands)
        });
        Value::Varying(parts.collect())
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
        match self.target.register / self.width.lanes {
            _ if self.target.has_mask_registers() => ScalarType::Bool,
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
        (self.vector(flag), self.constant(self.shape(), element(flag), all))
    }

    /// Flags to a stored mask.
    pub(crate) fn to_stored_mask(&mut self, flags: &Operand) -> Operand {
        match self.stored_mask_type() {
            ScalarType::Bool => flags.clone(),
            flag => put!(self, "sext {} {flags} to {}", self.mask_type(), self.vector(flag)),
        }
    }

    /// A stored mask to flags.
    pub(crate) fn from_stored_mask(&mut self, kept: &Operand) -> Operand {
        match self.stored_mask_type() {
            ScalarType::Bool => kept.clone(),
            flag => put!(self, "icmp slt {} {kept}, zeroinitializer", self.vector(flag)),
        }
    }

    /// `mask & flags` of a part.
    pub(crate) fn and_mask(&mut self, part: usize, flags: &Operand) -> Operand {
        match self.part_mask(part) {
            None => flags.clone(),
            Some(m) => {
                let ty = self.mask_type();
                put!(self, "and {ty} {m}, {flags}")
            }
        }
    }

    /// Whether any flag of any part is set, as an `i1`.
    pub(crate) fn any_lane(&mut self, flags: &[Operand]) -> Operand {
        let ty = self.mask_type();
        let mut all = flags.iter().cloned();
        let Some(mut sum) = all.next() else { return Operand::text("false") };
        for f in all {
            sum = put!(self, "or {ty} {sum}, {f}");
        }
        let n = self.width.lanes;
        let bits = put!(self, "bitcast {ty} {sum} to i{n}");
        put!(self, "icmp ne i{n} {bits}, 0")
    }

    /// Records a fault in the active lanes with a flag.
    pub(crate) fn record_fault(&mut self, part: usize, flags: &Operand) {
        let flags = self.and_mask(part, flags);
        let ty = self.mask_type();
        self.faults = Some(match self.faults.take() {
            None => flags,
            Some(before) => put!(self, "or {ty} {before}, {flags}"),
        });
    }

    /// Bails out if a scalar flag is set.
    pub(crate) fn bail_out_if(&mut self, flag: &Operand) {
        let go_on = self.w.label();
        self.w.unlikely_branch(flag, self.bail_out, go_on);
        self.w.start(go_on);
    }

    /// Bails out if any lane has recorded a fault. Code after it may rely on there being none.
    pub(crate) fn bail_out_on_fault(&mut self) {
        if let Some(faults) = self.faults.take() {
            let any = self.any_lane(&[faults]);
            self.bail_out_if(&any);
        }
    }
}
