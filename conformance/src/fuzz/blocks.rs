//! Random conditionals, loops and foreign functions of arrays: operations that hold blocks of statements.

use super::generate::{ArrayVar, Generator};
use acc_core::data::ScalarType as T;
use std::fmt::Write;

impl Generator {
    /// The body of a block: some statements, and one array of this rank and these leaves that it yields.
    fn block(&mut self, from: &ArrayVar, arrays: &[ArrayVar]) -> String {
        self.blocks += 1;
        let mut inner = arrays.to_vec();
        let count = self.choices.below(3);
        let mut text = self.statements(count, &mut inner);
        self.blocks -= 1;
        let fitting: Vec<&ArrayVar> =
            inner.iter().filter(|a| a.leaves == from.leaves && a.rank() == from.rank()).collect();
        let last = (*self.choices.pick(&fitting)).clone();
        let result = if self.choices.chance(60) {
            let (name, f) = (self.array_name(), self.function(&last.leaves, &last.leaves, &inner));
            let _ = writeln!(text, "  {name}: [{}]{} = map({}, f: {f})", last.rank(), last.elt(), last.name);
            name
        } else {
            last.name
        };
        format!("{text}  yield {result}\n")
    }

    pub(super) fn acond(&mut self, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let a = self.choices.pick(arrays).clone();
        let cond = self.function(&[], &[T::Bool], arrays);
        let (then, else_) = (self.block(&a, arrays), self.block(&a, arrays));
        let name = self.array_name();
        let ty = format!("[{}]{}", a.rank(), a.elt());
        let _ = writeln!(text, "  {name}: {ty} = acond(cond: {cond}, then: {{\n{then}}}, else: {{\n{else_}}})");
        vec![ArrayVar { name, leaves: a.leaves, dims: vec![None; a.dims.len()] }]
    }

    /// A loop of a few steps over a counter and an array.
    pub(super) fn awhile(&mut self, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let a = self.choices.pick(arrays).clone();
        let [zero, count, state, test, next, last, result] = std::array::from_fn(|_| self.array_name());
        let ty = format!("[{}]{}", a.rank(), a.elt());
        let steps = self.choices.below(4);
        let inner = ArrayVar { name: state.clone(), leaves: a.leaves.clone(), dims: vec![None; a.dims.len()] };
        let visible = [arrays, std::slice::from_ref(&inner)].concat();
        let body = self.block(&inner, &visible);
        let (body, yielded) = body.rsplit_once("yield ").unwrap_or((&body, &state));
        let _ = writeln!(
            text,
            "  {zero}: [0]i64 = generate(shape: || (), f: || 0i64)\n  \
             {last}: [0]i64, {result}: {ty} = awhile({zero}, {}, test: |{count}: [0]i64, {state}: {ty}| {{\n  \
             {test}: [0]bool = generate(shape: || (), f: || lt({count}[], {steps}i64))\n  yield {test}\n}}, \
             step: |{count}: [0]i64, {state}: {ty}| {{\n{body}  \
             {next}: [0]i64 = generate(shape: || (), f: || add({count}[], 1i64))\n  yield {next}, {}\n}})",
            a.name,
            yielded.trim()
        );
        let counter = ArrayVar { name: last, leaves: vec![T::I64], dims: Vec::new() };
        vec![counter, ArrayVar { name: result, leaves: a.leaves, dims: vec![None; a.dims.len()] }]
    }

    /// A call of a host function that nobody has, so that its fallback runs.
    pub(super) fn foreign(&mut self, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let (a, b) = (self.choices.pick(arrays).clone(), self.choices.pick(arrays).clone());
        let [p, q, result] = std::array::from_fn(|_| self.array_name());
        let param = |name: &str, of: &ArrayVar| ArrayVar {
            name: name.to_string(),
            leaves: of.leaves.clone(),
            dims: vec![None; of.dims.len()],
        };
        let params = [param(&p, &a), param(&q, &b)];
        let types: Vec<String> = params.iter().map(|v| format!("{}: [{}]{}", v.name, v.rank(), v.elt())).collect();
        let visible = [arrays, &params].concat();
        let body = self.block(&params[0], &visible);
        let _ = writeln!(
            text,
            "  {result}: [{}]{} = foreign({}, {}, name: \"nobody's\", fallback: |{}| {{\n{body}}})",
            a.rank(),
            a.elt(),
            a.name,
            b.name,
            types.join(", ")
        );
        vec![param(&result, &a)]
    }
}
