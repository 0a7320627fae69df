//! Operators for folds and scans, associative by construction.
//!
//! `+ * min max & | ^` on integers, `& | ^` on booleans, `min max` everywhere, first and last, composition of affine maps
//! and of 2x2 matrices over wrapping integers, segmented lifting of these, tuples of these, and conjugation by a
//! bijection; sums modulo a constant, and now and then `&` that faults where no bit is left, though not in segments: what is
//! before the last flag would fault in some groupings alone. In the tolerant mode also `+` and `*` of floats, whose
//! association is free, and in the dyadic mode exact.

use super::generate::{Generator, Mode, list};
use crate::bound::own_bound;
use acc_core::data::ScalarType as T;
use acc_core::ir::{PrimOp, Yields};

/// The operations on floats that are exact on small integers, and yield small integers.
const KEEP_INTEGERS: [PrimOp; 7] =
    [PrimOp::AddP, PrimOp::SubP, PrimOp::MulP, PrimOp::MinP, PrimOp::MaxP, PrimOp::NegP, PrimOp::AbsP];

/// An operator's text over the names of two operands' leaves: nodes, and their results.
type Combined = (String, Vec<String>);

impl Generator {
    /// An associative function on elements with these leaves.
    pub(super) fn associative(&mut self, leaves: &[T]) -> String {
        let a: Vec<(String, T)> = leaves.iter().map(|&t| (self.fresh(), t)).collect();
        let b: Vec<(String, T)> = leaves.iter().map(|&t| (self.fresh(), t)).collect();
        let names = |x: &[(String, T)]| -> Vec<String> { x.iter().map(|(n, _)| n.clone()).collect() };
        let (nodes, results) = self.combined(leaves, &names(&a), &names(&b), true);
        let params = list(&[a, b].concat());
        format!("|{params}| {{ {nodes}yield {} }}", results.join(", "))
    }

    /// The operator, which may fault if that is said.
    fn combined(&mut self, leaves: &[T], a: &[String], b: &[String], may_fault: bool) -> Combined {
        let all_int = |n: usize| leaves.len() == n && leaves[0].is_int() && leaves.iter().all(|t| *t == leaves[0]);
        match self.choices.below(10) {
            0 => (String::new(), if self.choices.chance(50) { a.to_vec() } else { b.to_vec() }),
            1 | 2 if leaves.len() > 1 && leaves[0] == T::Bool => self.segmented(leaves, a, b),
            1..=4 if all_int(2) => self.formula(
                // (x -> a1 x + a0) then (x -> b1 x + b0)
                &[format!("mul({}, {})", b[0], a[0]), format!("add(mul({}, {}), {})", b[0], a[1], b[1])],
                leaves[0],
            ),
            1..=4 if all_int(4) => {
                let cell = |i: usize, j: usize| {
                    format!("add(mul({}, {}), mul({}, {}))", a[2 * i], b[j], a[2 * i + 1], b[2 + j])
                };
                self.formula(&[cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)], leaves[0])
            }
            _ => {
                let (mut nodes, mut results) = (String::new(), Vec::new());
                for ((&t, x), y) in leaves.iter().zip(a).zip(b) {
                    let (more, result) = self.scalar_operator(t, x, y, may_fault);
                    nodes += &more;
                    results.push(result);
                }
                (nodes, results)
            }
        }
    }

    fn formula(&mut self, formulas: &[String], ty: T) -> Combined {
        let (mut nodes, mut results) = (String::new(), Vec::new());
        for f in formulas {
            let name = self.fresh();
            nodes += &format!("{name}: {ty} = {f} ");
            results.push(name);
        }
        (nodes, results)
    }

    /// A flag in the right operand starts a new segment.
    fn segmented(&mut self, leaves: &[T], a: &[String], b: &[String]) -> Combined {
        let (inner, values) = self.combined(&leaves[1..], &a[1..], &b[1..], false);
        let flag = self.fresh();
        let results: Vec<String> = leaves[1..].iter().map(|_| self.fresh()).collect();
        let typed: Vec<String> = results.iter().zip(&leaves[1..]).map(|(n, t)| format!("{n}: {t}")).collect();
        let nodes = format!(
            "{flag}: bool = or({}, {}) {} = if {} {{ yield {} }} else {{ {inner}yield {} }} ",
            a[0],
            b[0],
            typed.join(", "),
            b[0],
            b[1..].join(", "),
            values.join(", ")
        );
        (nodes, [vec![flag], results].concat())
    }

    fn scalar_operator(&mut self, ty: T, x: &str, y: &str, may_fault: bool) -> (String, String) {
        let mut ops: Vec<&str> = match ty {
            T::Bool => vec!["and", "or", "xor", "min", "max"],
            T::Char => vec!["min", "max"],
            _ if ty.is_int() => vec!["add", "add", "mul", "min", "max", "and", "or", "xor"],
            _ => vec!["min", "max"],
        };
        if ty.is_float() && self.mode != Mode::Exact {
            ops.extend(["add", "add", "add", "mul"]);
        }
        if ty.is_int() && self.choices.chance(12) {
            return self.divided(ty, x, y, may_fault);
        }
        let op = *self.choices.pick(&ops);
        let (mut nodes, mut define) = (String::new(), Vec::new());
        if ty.is_float() && matches!(op, "min" | "max") {
            // Either zero may be the lesser: there is one alone after this.
            for z in [x, y] {
                let name = self.fresh();
                nodes += &format!("{name}: {ty} = add({z}, 0.0{ty}) ");
                define.push(name);
            }
        } else if ty.is_int() && self.choices.chance(20) {
            // The operator seen through a bijection: g'(g(x) op g(y)).
            let (to, from, with) = match self.choices.below(3) {
                0 => ("xor", "xor", self.literal(ty)),
                1 => ("add", "sub", self.literal(ty)),
                _ => ("sub", "add", self.literal(ty)),
            };
            let [gx, gy, both, result] = [self.fresh(), self.fresh(), self.fresh(), self.fresh()];
            nodes += &format!(
                "{gx}: {ty} = {to}({x}, {with}) {gy}: {ty} = {to}({y}, {with}) {both}: {ty} = {op}({gx}, {gy}) \
                 {result}: {ty} = {from}({both}, {with}) "
            );
            return (nodes, result);
        } else {
            define = vec![x.to_string(), y.to_string()];
        }
        let result = self.fresh();
        nodes += &format!("{result}: {ty} = {op}({}, {}) ", define[0], define[1]);
        (nodes, result)
    }

    /// An operator that divides.
    fn divided(&mut self, ty: T, x: &str, y: &str, may_fault: bool) -> (String, String) {
        let [a, b, both, result] = [self.fresh(), self.fresh(), self.fresh(), self.fresh()];
        let nodes = if self.choices.chance(85) || !may_fault {
            // Twice the divisor is no more than any type holds.
            let m = format!("{}{ty}", 2 + self.choices.below(60));
            format!(
                "{a}: {ty} = mod_floor({x}, {m}) {b}: {ty} = mod_floor({y}, {m}) {both}: {ty} = add({a}, {b}) \
                 {result}: {ty} = mod_floor({both}, {m}) "
            )
        } else {
            // A value that has lost all bits stays so in every order.
            format!(
                "{a}: {ty} = and({x}, {y}) {b}: {ty} = quot({a}, {a}) {both}: {ty} = sub({b}, 1{ty}) \
                 {result}: {ty} = add({a}, {both}) "
            )
        };
        (nodes, result)
    }

    /// Whether a primitive may be used in this mode.
    pub(super) fn allows(&self, op: PrimOp, from: T) -> bool {
        match self.mode {
            Mode::Exact => own_bound(op, 0) == 0,
            Mode::Tolerant | Mode::Smooth => true,
            Mode::Dyadic => !from.is_float() || op.yields() == Yields::Bool || KEEP_INTEGERS.contains(&op),
        }
    }
}
