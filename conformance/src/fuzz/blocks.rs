//! Random conditionals, loops, foreign functions and functions with rules: operations that hold blocks of statements.

use super::generate::{ArrayVar, Generator, Mode, list};
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

    /// A checkpoint, or a function of elements with rules for its derivatives: each float times a literal.
    pub(super) fn ruled(&mut self, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let has_float = |a: &&ArrayVar| a.leaves.iter().any(|t| t.is_float());
        let of_floats: Vec<&ArrayVar> = arrays.iter().filter(has_float).collect();
        let a = if of_floats.is_empty() { self.choices.pick(arrays) } else { self.choices.pick(&of_floats) }.clone();
        let [x, y, r, t, z, result, residual] = std::array::from_fn(|_| self.array_name());
        let ty = format!("[{}]{}", a.rank(), a.elt());
        let made =
            |name: &str| ArrayVar { name: name.to_string(), leaves: a.leaves.clone(), dims: vec![None; a.rank()] };
        let floats: Vec<T> = a.leaves.iter().copied().filter(|t| t.is_float()).collect();
        let rules = if floats.is_empty() { 0 } else { self.choices.below(4) };
        if rules == 0 {
            let visible = [arrays, &[made(&x)]].concat();
            let body = self.block(&made(&x), &visible);
            let _ = writeln!(text, "  {result}: {ty} = checkpoint({}, f: |{x}: {ty}| {{\n{body}}})", a.name);
            return vec![made(&result)];
        }
        let factor = *self.choices.pick(&["-1.0", "2.0", "3.0"]);
        // A rule may say what is not so, but where differences of values are taken.
        let slope = if self.mode == Mode::Smooth { factor } else { *self.choices.pick(&["-1.0", "2.0", "3.0"]) };
        let of = |name: &str, types: &[T]| -> Vec<(String, T)> {
            types.iter().enumerate().map(|(k, t)| (format!("%{name}{k}"), *t)).collect()
        };
        let (values, tangents) = (of("x", &a.leaves), of("t", &floats));
        let scaled = |of: &[(String, T)], by: &str| -> String {
            let one = |(name, t): &(String, T)| match t.is_float() {
                true => format!("mul({name}, {by}{t})"),
                false => name.clone(),
            };
            of.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        // Others than floats have no column.
        let parts: Vec<String> =
            a.leaves.iter().map(|t| if t.is_float() { t.to_string() } else { "()".into() }).collect();
        let tangent = match &parts[..] {
            [one] => format!("[{}]{one}", a.rank()),
            several => format!("[{}]({})", a.rank(), several.join(", ")),
        };
        let rule = |name: &str| {
            let params = list(&[&values[..], &tangents].concat());
            format!(
                "{name}: |{r}: {ty}, {t}: {tangent}| {{\n  {z}: {tangent} = zip_with({r}, {t}, \
                 f: |{params}| {{ yield {} }})\n  yield {z}\n}}",
                scaled(&tangents, slope)
            )
        };
        // Of both rules the forward one takes the residual behind the argument.
        let both = rule("jvp").replacen(&format!("{t}: "), &format!("{x}: {ty}, {t}: "), 1);
        let (name, rules, keeps) = match rules {
            1 => ("custom_jvp", rule("jvp"), false),
            2 => ("custom_vjp", rule("vjp"), true),
            _ => ("custom_derivative", format!("{both}, {}", rule("vjp")), true),
        };
        let (defined, count, kept) = match keeps {
            true => (format!("{result}: {ty}, {residual}: {ty}"), ", residuals: 1", format!(", {x}")),
            false => (format!("{result}: {ty}"), "", String::new()),
        };
        let _ = writeln!(
            text,
            "  {defined} = {name}({}{count}, f: |{x}: {ty}| {{\n  {y}: {ty} = map({x}, f: |{}| {{ yield {} }})\n  \
             yield {y}{kept}\n}}, {rules})",
            a.name,
            list(&values),
            scaled(&values, factor)
        );
        vec![made(&result)]
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
