//! Values while code is written: one for all lanes, or one vector per part.

use super::text::{Operand, element, put};
use super::{Emitter, Width};
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use smallvec::SmallVec;
use std::fmt::Write;

/// One vector per part.
pub(super) type Parts = SmallVec<[Operand; 4]>;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum V {
    /// The same in every lane.
    One(Operand),
    /// An `i64`: that of the first lane, and what it grows by from lane to lane.
    Linear(Operand, i64),
    /// Vectors.
    Lanes(Parts),
}

/// The lanes for which code is evaluated.
#[derive(Clone, Debug)]
pub(super) enum Mask {
    All,
    Lanes(Parts),
}

/// Whether an operation is on scalars or on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    One,
    Lanes(usize),
}

impl Shape {
    /// The type of values of this shape.
    pub(super) fn of(self, element: &str) -> String {
        match self {
            Shape::One => element.to_string(),
            Shape::Lanes(n) => format!("<{n} x {element}>"),
        }
    }

    /// The suffix of an intrinsic over this type.
    pub(super) fn suffix(self, element: &str) -> String {
        let name = match element {
            "float" => "f32",
            "double" => "f64",
            "half" => "f16",
            other => other,
        };
        match self {
            Shape::One => name.to_string(),
            Shape::Lanes(n) => format!("v{n}{name}"),
        }
    }
}

impl Emitter<'_> {
    /// A constant of a shape, without its type.
    pub(super) fn constant(&self, shape: Shape, element: &str, text: &str) -> Operand {
        match shape {
            Shape::One => Operand::text(text),
            Shape::Lanes(_) if text == "zeroinitializer" => Operand::text(text),
            Shape::Lanes(_) if self.target.splats => Operand::text(format!("splat ({element} {text})")),
            Shape::Lanes(n) => {
                let each = format!("{element} {text}");
                Operand::text(format!("<{}>", vec![each; n].join(", ")))
            }
        }
    }

    pub(super) fn shape(&self) -> Shape {
        Shape::Lanes(self.width.lanes)
    }

    /// The type of vectors of a scalar type.
    pub(super) fn vector(&self, ty: ScalarType) -> String {
        self.shape().of(element(ty))
    }

    /// The value that was written for `v`. Verified bodies define values before their uses.
    pub(super) fn value(&self, v: Val) -> V {
        debug_assert!(self.values[v.index()].is_some(), "{v} is not written yet");
        self.values[v.index()].clone().unwrap_or_else(|| V::One(Operand::text("0")))
    }

    pub(super) fn set(&mut self, v: Val, value: V) {
        self.values[v.index()] = Some(value);
    }

    /// The scalar of a value that is the same in all lanes; of a linear one that of the first lane.
    pub(super) fn one(&self, v: Val) -> Operand {
        match self.value(v) {
            V::One(o) | V::Linear(o, _) => o,
            V::Lanes(parts) => {
                debug_assert!(false, "{v} differs from lane to lane");
                parts.first().cloned().unwrap_or_else(|| Operand::text("0"))
            }
        }
    }

    /// The vectors of a value.
    pub(super) fn lanes(&mut self, v: Val) -> Parts {
        let value = self.value(v);
        self.spread(&value, element(self.ty(v)))
    }

    /// The vectors of a value, whatever its level.
    pub(super) fn spread(&mut self, value: &V, element: &str) -> Parts {
        match value {
            V::Lanes(parts) => parts.clone(),
            V::One(o) => {
                let splat = self.splat(o, element);
                smallvec::smallvec![splat; self.width.parts]
            }
            V::Linear(first, step) => {
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
    pub(super) fn splat(&mut self, o: &Operand, element: &str) -> Operand {
        if let Some(vector) = self.splats.get(o) {
            return vector.clone();
        }
        // Registers that hold constants have names and no number; those begin with a percent sign, too.
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

    /// `step * lane` for the lanes of a part, as vectors of `i64`.
    pub(super) fn offsets(&mut self, step: i64, part: usize) -> Operand {
        if let Some(known) = self.constants.get(&(step, part)) {
            return known.clone();
        }
        let Width { lanes, .. } = self.width;
        let each: Vec<String> = (0..lanes).map(|k| format!("i64 {}", step * (part * lanes + k) as i64)).collect();
        let k = self.constants.len();
        // A name for a long constant: LLVM sees through it.
        let _ = writeln!(self.entry, "  %k{k} = add <{lanes} x i64> <{}>, zeroinitializer", each.join(", "));
        let operand = Operand::text(format!("%k{k}"));
        self.constants.insert((step, part), operand.clone());
        operand
    }

    /// Writes an operation on one value for all lanes, if all operands are, else on each part.
    pub(super) fn each(&mut self, args: &[Val], f: &mut dyn FnMut(&mut Self, Shape, &[Operand]) -> Operand) -> V {
        let values: SmallVec<[V; 4]> = args.iter().map(|&v| self.value(v)).collect();
        if values.iter().all(|v| matches!(v, V::One(_))) {
            let ones: SmallVec<[Operand; 4]> = args.iter().map(|&v| self.one(v)).collect();
            return V::One(f(self, Shape::One, &ones));
        }
        let spread: SmallVec<[Parts; 4]> = args.iter().map(|&v| self.lanes(v)).collect();
        let parts = (0..self.width.parts).map(|p| {
            let operands: SmallVec<[Operand; 4]> = spread.iter().map(|s| s[p].clone()).collect();
            f(self, self.shape(), &operands)
        });
        V::Lanes(parts.collect())
    }

    /// The mask's vector of a part; none if all lanes are on.
    pub(super) fn mask_of(&self, part: usize) -> Option<Operand> {
        match &self.mask {
            Mask::All => None,
            Mask::Lanes(m) => Some(m[part].clone()),
        }
    }

    /// The vector type of masks.
    pub(super) fn mask_type(&self) -> String {
        self.shape().of("i1")
    }

    /// The type of flags that are kept from block to block, or moved between lanes. Without registers of masks LLVM would
    /// narrow and widen them each time: there they are lanes of one register, all ones or zeros.
    pub(super) fn kept_flag(&self) -> ScalarType {
        match self.target.register / self.width.lanes {
            _ if self.target.has_mask_registers() => ScalarType::Bool,
            0 | 1 => ScalarType::I8,
            2 | 3 => ScalarType::I16,
            4..8 => ScalarType::I32,
            _ => ScalarType::I64,
        }
    }

    /// The type of masks that are kept, and the one that is all ones.
    pub(super) fn kept_mask(&self) -> (String, Operand) {
        let flag = self.kept_flag();
        let all = if flag == ScalarType::Bool { "true" } else { "-1" };
        (self.vector(flag), self.constant(self.shape(), element(flag), all))
    }

    /// Flags as a mask that is kept.
    pub(super) fn keep(&mut self, flags: &Operand) -> Operand {
        match self.kept_flag() {
            ScalarType::Bool => flags.clone(),
            flag => put!(self, "sext {} {flags} to {}", self.mask_type(), self.vector(flag)),
        }
    }

    /// The flags of a mask that was kept.
    pub(super) fn flags(&mut self, kept: &Operand) -> Operand {
        match self.kept_flag() {
            ScalarType::Bool => kept.clone(),
            flag => put!(self, "icmp slt {} {kept}, zeroinitializer", self.vector(flag)),
        }
    }

    /// `mask & flags` of a part.
    pub(super) fn masked(&mut self, part: usize, flags: &Operand) -> Operand {
        match self.mask_of(part) {
            None => flags.clone(),
            Some(m) => {
                let ty = self.mask_type();
                put!(self, "and {ty} {m}, {flags}")
            }
        }
    }

    /// Whether any flag of all parts is set, as an `i1`.
    pub(super) fn any(&mut self, flags: &[Operand]) -> Operand {
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

    /// Notes lanes that met a fault, for a part; `flags` are of any lanes, on or off.
    pub(super) fn fault(&mut self, part: usize, flags: &Operand) {
        let flags = self.masked(part, flags);
        let ty = self.mask_type();
        self.faults = Some(match self.faults.take() {
            None => flags,
            Some(before) => put!(self, "or {ty} {before}, {flags}"),
        });
    }

    /// Declines if a flag, the same for all lanes, is set.
    pub(super) fn decline_if(&mut self, flag: &Operand) {
        let go_on = self.w.label();
        self.w.rare(flag, self.decline, go_on);
        self.w.start(go_on);
    }

    /// Declines if a lane met a fault. What is written afterwards may rely on there being none.
    pub(super) fn settle(&mut self) {
        if let Some(faults) = self.faults.take() {
            let any = self.any(&[faults]);
            self.decline_if(&any);
        }
    }
}
