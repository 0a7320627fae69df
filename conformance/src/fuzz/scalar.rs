//! Random scalar code: nodes in regions, as text.
//!
//! A node is made because something in its region needs its value, so that partial nodes stand where the verifier
//! wants them; values made before are used again.

use super::generate::{ArrayVar, Generator, list};
use acc_core::data::ScalarType as T;
use acc_core::ir::{Domain, PrimOp, Yields, bitcast_exists, cast_exists};

/// A region in the making: its nodes, and the scalars that are visible in it.
#[derive(Clone, Default)]
pub(super) struct Region {
    nodes: Vec<String>,
    visible: Vec<(String, T)>,
}

impl Region {
    pub(super) fn new(params: &[(String, T)]) -> Region {
        Region { nodes: Vec::new(), visible: params.to_vec() }
    }

    /// A region inside this one.
    fn inner(&self, params: &[(String, T)]) -> Region {
        Region { nodes: Vec::new(), visible: self.visible.iter().chain(params).cloned().collect() }
    }

    fn node(&mut self, name: &str, ty: T, operation: &str) {
        self.nodes.push(format!("{name}: {ty} = {operation}"));
        self.visible.push((name.to_string(), ty));
    }

    /// `{ nodes yield values }`
    pub(super) fn close(self, results: &[String]) -> String {
        let nodes: String = self.nodes.iter().map(|n| format!("{n} ")).collect();
        format!("{{ {nodes}yield {} }}", results.join(", "))
    }
}

impl Generator {
    /// A scalar type, those of everyday programs more often.
    pub(super) fn scalar_type(&mut self) -> T {
        let ty = match self.choices.below(10) {
            0..=3 => *self.choices.pick(&[T::I64, T::I32, T::F32, T::F64, T::Bool]),
            4 => T::U8,
            _ => *self.choices.pick(T::ALL),
        };
        match self.mode.is_of_doubles() && (ty.is_float() || self.choices.chance(60)) {
            true => T::F64,
            false => ty,
        }
    }

    /// An operand of this type: a visible value, a literal, or a new node of the region.
    pub(super) fn value(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        self.depth += 1;
        let v = if self.depth > 4 || self.budget == 0 || self.choices.chance(20) {
            self.leaf(ty, r)
        } else {
            self.budget -= 1;
            self.node(ty, r, arrays)
        };
        self.depth -= 1;
        v
    }

    fn leaf(&mut self, ty: T, r: &Region) -> String {
        let fitting: Vec<&String> = r.visible.iter().filter(|(_, t)| *t == ty).map(|(n, _)| n).collect();
        if !fitting.is_empty() && self.choices.chance(75) {
            return self.choices.pick(&fitting).to_string();
        }
        self.literal(ty)
    }

    /// Defines a new node of the region.
    fn define(&mut self, ty: T, r: &mut Region, operation: String) -> String {
        let name = self.fresh();
        r.node(&name, ty, &operation);
        name
    }

    fn node(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        match self.choices.below(20) {
            0 | 1 => self.conditional(ty, r, arrays),
            2 => {
                let c = self.value(T::Bool, r, arrays);
                let (x, y) = (self.value(ty, r, arrays), self.value(ty, r, arrays));
                self.define(ty, r, format!("select({c}, {x}, {y})"))
            }
            3 | 4 => self.read(ty, r, arrays),
            5 => self.scalar_loop(ty, r, arrays),
            6 | 7 => self.converted(ty, r, arrays),
            8 if self.choices.chance(40) => self.foreign_scalar(ty, r, arrays),
            _ => self.primitive(ty, r, arrays),
        }
    }

    fn conditional(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        let c = self.value(T::Bool, r, arrays);
        let (mut then, mut else_) = (r.inner(&[]), r.inner(&[]));
        let (x, y) = (self.value(ty, &mut then, arrays), self.value(ty, &mut else_, arrays));
        let operation = format!("if {c} {} else {}", then.close(&[x]), else_.close(&[y]));
        self.define(ty, r, operation)
    }

    /// A call of a host function that nobody has, so that its fallback runs.
    fn foreign_scalar(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        let types = [ty, self.scalar_type()];
        let args = types.map(|t| self.value(t, r, arrays));
        let params = types.map(|t| (self.fresh(), t));
        let mut fallback = r.inner(&params);
        let x = self.value(ty, &mut fallback, arrays);
        let operation =
            format!("foreign \"nobody's\" ({}) |{}| {}", args.join(", "), list(&params), fallback.close(&[x]));
        self.define(ty, r, operation)
    }

    /// A loop of a few steps.
    fn scalar_loop(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        let mut start = self.value(ty, r, arrays);
        let count = self.choices.below(5);
        let [i, s, j, t] = [self.fresh(), self.fresh(), self.fresh(), self.fresh()];
        let mut test = r.inner(&[(i.clone(), T::I64), (s.clone(), ty)]);
        let mut go = self.define(T::Bool, &mut test, format!("lt({i}, {count}i64)"));
        if self.choices.chance(30) {
            let more = self.value(T::Bool, &mut test, arrays);
            go = self.define(T::Bool, &mut test, format!("and({go}, {more})"));
        }
        let mut step = r.inner(&[(j.clone(), T::I64), (t.clone(), ty)]);
        let state = match self.choices.chance(40) {
            // A reduction, if the value does not use the state.
            true => {
                let mut x = self.value(ty, &mut step, arrays);
                let op = if ty == T::Bool {
                    "or"
                } else if ty == T::Char {
                    "max"
                } else {
                    *self.choices.pick(&["add", "sub", "max", "min"])
                };
                if ty.is_float() && matches!(op, "min" | "max") {
                    // Either zero may be the lesser: there is one alone among what is compared.
                    start = self.define(ty, r, format!("add({start}, 0.0{ty})"));
                    x = self.define(ty, &mut step, format!("add({x}, 0.0{ty})"));
                }
                self.define(ty, &mut step, format!("{op}({t}, {x})"))
            }
            false => self.value(ty, &mut step, arrays),
        };
        let next = self.define(T::I64, &mut step, format!("add({j}, 1i64)"));
        let (k, result) = (self.fresh(), self.fresh());
        r.nodes.push(format!(
            "{k}: i64, {result}: {ty} = while (0i64, {start}) test |{i}: i64, {s}: {ty}| {} step |{j}: i64, {t}: {ty}| {}",
            test.close(&[go]),
            step.close(&[next, state])
        ));
        r.visible.push((k, T::I64));
        r.visible.push((result.clone(), ty));
        result
    }

    /// A leaf of an element of an array, mostly guarded in one way or another.
    fn read(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        let fitting: Vec<&ArrayVar> = arrays.iter().filter(|a| a.leaves.contains(&ty)).collect();
        if fitting.is_empty() {
            return self.leaf(ty, r);
        }
        let a = (*self.choices.pick(&fitting)).clone();
        let leaves: Vec<usize> = (0..a.leaves.len()).filter(|&k| a.leaves[k] == ty).collect();
        let leaf = *self.choices.pick(&leaves);
        let read = |index: &[String]| match a.leaves.len() {
            1 => format!("{}[{}]", a.name, index.join(", ")),
            _ => format!("{}[{}].({leaf})", a.name, index.join(", ")),
        };
        if a.rank() == 0 {
            return self.define(ty, r, read(&[]));
        }
        let index: Vec<String> = (0..a.rank()).map(|_| self.value(T::I64, r, arrays)).collect();
        match self.choices.below(50) {
            0 => self.define(ty, r, read(&index)),
            1..=20 => {
                // In bounds, or something else.
                let mut c = "true".to_string();
                for (k, i) in index.iter().enumerate() {
                    let above = self.define(T::Bool, r, format!("ge({i}, 0i64)"));
                    let below = self.define(T::Bool, r, format!("lt({i}, extent({}, {k}))", a.name));
                    let both = self.define(T::Bool, r, format!("and({above}, {below})"));
                    c = self.define(T::Bool, r, format!("and({c}, {both})"));
                }
                let (mut then, mut else_) = (r.inner(&[]), r.inner(&[]));
                let position =
                    if self.choices.chance(30) { self.brought_inside(&mut then, &a.name, &index) } else { index };
                let x = self.define(ty, &mut then, read(&position));
                let y = self.value(ty, &mut else_, arrays);
                self.define(ty, r, format!("if {c} {} else {}", then.close(&[x]), else_.close(&[y])))
            }
            _ => {
                // Brought into bounds, unless there is nothing to read.
                let mut size = "1i64".to_string();
                for k in 0..a.rank() {
                    size = self.define(T::I64, r, format!("mul({size}, extent({}, {k}))", a.name));
                }
                let c = self.define(T::Bool, r, format!("gt({size}, 0i64)"));
                let (mut then, mut else_) = (r.inner(&[]), r.inner(&[]));
                let mut inside = Vec::new();
                for (k, i) in index.iter().enumerate() {
                    inside.push(self.define(T::I64, &mut then, format!("mod_floor({i}, extent({}, {k}))", a.name)));
                }
                let x = self.define(ty, &mut then, read(&inside));
                let y = self.leaf(ty, &else_);
                let else_ = std::mem::take(&mut else_);
                self.define(ty, r, format!("if {c} {} else {}", then.close(&[x]), else_.close(&[y])))
            }
        }
    }

    /// Positions no less than 0 and less than the extents of an array.
    fn brought_inside(&mut self, r: &mut Region, array: &str, index: &[String]) -> Vec<String> {
        let inside = index.iter().enumerate().map(|(k, i)| {
            let last = self.define(T::I64, r, format!("sub(extent({array}, {k}), 1i64)"));
            let above = self.define(T::I64, r, format!("max({i}, 0i64)"));
            self.define(T::I64, r, format!("min({above}, {last})"))
        });
        inside.collect()
    }

    fn converted(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        let doubles = self.mode.is_of_doubles();
        let fits = |t: T| {
            // Integers that become doubles are small, and floats are read as bits in the other modes alone.
            let small = matches!(t, T::I8 | T::U8 | T::Bool);
            t != ty && !(doubles && (t.is_float() && t != T::F64 || ty.is_float() && !small))
        };
        let from: Vec<T> = T::ALL.iter().copied().filter(|&t| fits(t) && cast_exists(t, ty)).collect();
        let bits: Vec<T> = T::ALL
            .iter()
            .copied()
            .filter(|&t| t != ty && !(doubles && (t.is_float() || ty.is_float())) && bitcast_exists(t, ty))
            .collect();
        if !bits.is_empty() && self.choices.chance(30) {
            let from = *self.choices.pick(&bits);
            let x = self.value(from, r, arrays);
            if !from.is_float() {
                return self.define(ty, r, format!("bitcast({x}, {ty})"));
            }
            // Which NaN it is, is not defined.
            let number = self.define(T::Bool, r, format!("eq({x}, {x})"));
            let one = match from {
                T::F32 => "1.0f32".to_string(),
                T::F64 => "1.0f64".to_string(),
                other => self.literal(other),
            };
            let x = self.define(from, r, format!("select({number}, {x}, {one})"));
            // In the tolerant mode the bits of an inexact value are not stable; they are compared all the same, and
            // the element is left out.
            return self.define(ty, r, format!("bitcast({x}, {ty})"));
        }
        if from.is_empty() {
            return self.leaf(ty, r);
        }
        let from = *self.choices.pick(&from);
        let x = self.value(from, r, arrays);
        self.define(ty, r, format!("cast({x}, {ty})"))
    }

    /// Primitives that yield this type from this one.
    fn primitives(&self, from: T, to: T) -> Vec<PrimOp> {
        let fits = |op: &PrimOp| op.domain().contains(from) && op.result_type(from) == to && self.allows(*op, from);
        PrimOp::ALL.iter().copied().filter(fits).collect()
    }

    fn primitive(&mut self, ty: T, r: &mut Region, arrays: &[ArrayVar]) -> String {
        let from = match ty {
            T::Bool if self.choices.chance(70) => self.scalar_type(),
            T::I32 if self.choices.chance(10) => *self.choices.pick(&[T::U8, T::I16, T::U32, T::I64, T::U64]),
            _ => ty,
        };
        let ops = self.primitives(from, ty);
        if ops.is_empty() {
            return self.leaf(ty, r);
        }
        let op = *self.choices.pick(&ops);
        debug_assert!(op.yields() != Yields::Same || from == ty);
        let mut operands: Vec<String> = (0..op.arity()).map(|_| self.value(from, r, arrays)).collect();
        if matches!(op, PrimOp::MinP | PrimOp::MaxP) && from.is_float() {
            // Either zero may be the lesser: there is one alone after this.
            operands = operands.iter().map(|x| self.define(from, r, format!("add({x}, 0.0{from})"))).collect();
        }
        if op.is_partial() && op.domain() == Domain::Int && !self.choices.chance(3) {
            let [x, y] = &operands[..] else { return self.leaf(ty, r) };
            let zero = format!("0{from}");
            let c = self.define(T::Bool, r, format!("ne({y}, {zero})"));
            let (mut then, mut else_) = (r.inner(&[]), r.inner(&[]));
            let q = self.define(ty, &mut then, format!("{}({x}, {y})", op.name()));
            let z = self.value(ty, &mut else_, arrays);
            return self.define(ty, r, format!("if {c} {} else {}", then.close(&[q]), else_.close(&[z])));
        }
        self.define(ty, r, format!("{}({})", op.name(), operands.join(", ")))
    }
}
