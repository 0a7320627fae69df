//! Branches and loops, and reductions that need one.

use super::Unsupported;
use super::body::Exporter;
use super::proto::{DataType, Shape, TensorType, ValueInfo, ValueType};
use super::stored::stored;
use super::writer::{Name, graph_attribute, int_attribute, ints_attribute};
use acc_core::data::{Lit, ScalarType as T};
use acc_core::ir::PrimOp;
use acc_desugar::graph::{Body, ReduceOp, Type, Value};

/// An input of a loop's body, of which ONNX wants the type. Without a rank its extents may change.
fn input(name: &Name, element: DataType, scalar: bool) -> ValueInfo {
    let shape = scalar.then(Shape::default);
    let tensor = TensorType { element: element as i32, shape };
    ValueInfo { name: name.clone(), ty: Some(ValueType { tensor: Some(tensor) }) }
}

/// What a loop's body yields: whether it goes on, whether a fault was met, the next state, and what is collected of each
/// step.
struct Iteration {
    more: Name,
    fault: Name,
    state: Vec<Name>,
    collected: Vec<Name>,
}

impl<'g> Exporter<'g> {
    fn element(&self, v: Value) -> DataType {
        match self.graph.ty(v) {
            Type::Tensor { scalar, .. } => stored(scalar),
            Type::Size => DataType::Int64,
            Type::Token => DataType::Bool,
        }
    }

    pub(super) fn branch(&mut self, cond: Value, then: &'g Body, else_: &'g Body) -> Result<Vec<Name>, Unsupported> {
        let cond = self.condition(cond)?;
        let mut bodies = Vec::new();
        for (role, body) in [("then_branch", then), ("else_branch", else_)] {
            self.w.open();
            let (mut results, fault) = self.inline(body, &[])?;
            results.push(fault);
            bodies.push(graph_attribute(role, self.w.close(Vec::new(), &results)));
        }
        let mut names: Vec<Name> = then.results.iter().map(|_| self.w.fresh()).collect();
        let fault = self.w.fresh();
        names.push(fault.clone());
        self.w.node_into("If", &[&cond], bodies, names.clone());
        self.fault(fault);
        names.pop();
        Ok(names)
    }

    /// A loop from a state while a rank-0 boolean is true, at most `count` times; `iterate` writes its body.
    fn looped(
        &mut self,
        count: Option<&Name>,
        more: &Name,
        state: &[(Name, DataType)],
        collected: usize,
        iterate: impl FnOnce(&mut Self, &Name, &[Name]) -> Result<Iteration, Unsupported>,
    ) -> Result<(Vec<Name>, Vec<Name>), Unsupported> {
        let (step, on, fault) = (self.w.fresh(), self.w.fresh(), self.w.fresh());
        let inside: Vec<Name> = state.iter().map(|_| self.w.fresh()).collect();
        self.w.open();
        let iteration = iterate(self, &step, &inside)?;
        let fault_now = self.w.op2("Or", &fault, &iteration.fault);
        // After a fault nothing need end by itself.
        let fine = self.w.op1("Not", &fault_now);
        let more_now = self.w.op2("And", &iteration.more, &fine);
        let mut inputs = vec![
            input(&step, DataType::Int64, true),
            input(&on, DataType::Bool, true),
            input(&fault, DataType::Bool, true),
        ];
        inputs.extend(inside.iter().zip(state).map(|(name, (_, element))| input(name, *element, false)));
        let outputs = [vec![more_now, fault_now], iteration.state, iteration.collected].concat();
        let body = self.w.close(inputs, &outputs);
        let (endless, no) = (String::new(), self.w.truth(false));
        let mut operands = vec![count.unwrap_or(&endless), more, &no];
        operands.extend(state.iter().map(|(name, _)| name));
        let fault = self.w.fresh();
        let results: Vec<Name> = state.iter().map(|_| self.w.fresh()).collect();
        let all: Vec<Name> = (0..collected).map(|_| self.w.fresh()).collect();
        let names = [vec![fault.clone()], results.clone(), all.clone()].concat();
        self.w.node_into("Loop", &operands, vec![graph_attribute("body", body)], names);
        self.fault(fault);
        Ok((results, all))
    }

    pub(super) fn whiles(&mut self, init: &[Value], test: &'g Body, step: &'g Body) -> Result<Vec<Name>, Unsupported> {
        let names = self.values(init)?;
        let (first, fault) = self.inline(test, &names)?;
        self.fault(fault);
        let more = self.truthy(&first[0], test.results[0]);
        let state: Vec<(Name, DataType)> = names.into_iter().zip(init).map(|(n, v)| (n, self.element(*v))).collect();
        let (results, _) = self.looped(None, &more, &state, 0, |e, _, inside| {
            let (next, of_step) = e.inline(step, inside)?;
            let (more, of_test) = e.inline(test, &next)?;
            let more = e.truthy(&more[0], test.results[0]);
            let fault = e.w.op2("Or", &of_step, &of_test);
            Ok(Iteration { more, fault, state: next, collected: Vec::new() })
        })?;
        Ok(results)
    }

    /// A value over a space, as a vector.
    fn flat(&mut self, v: Value, shape: &Name) -> Result<Name, Unsupported> {
        let (x, all) = (self.value(v)?, self.w.ints(&[-1]));
        let x = self.w.op2("Expand", &x, shape);
        Ok(self.w.op2("Reshape", &x, &all))
    }

    pub(super) fn lanes(
        &mut self,
        on: Value,
        space: &[Value],
        init: &[Value],
        captured: &[Value],
        test: &'g Body,
        step: &'g Body,
    ) -> Result<Vec<Name>, Unsupported> {
        let shape = self.shape(space)?;
        let on_now = self.condition(on)?;
        let all = self.w.ints(&[-1]);
        let on_now = self.w.op2("Expand", &on_now, &shape);
        let on_now = self.w.op2("Reshape", &on_now, &all);
        let n = self.w.extent(&on_now, 0);
        let mut captures = Vec::new();
        for v in captured {
            captures.push(self.flat(*v, &shape)?);
        }
        let mut state = vec![(on_now.clone(), DataType::Bool)];
        for v in init {
            state.push((self.flat(*v, &shape)?, self.element(*v)));
        }
        let more = self.w.any(&on_now);
        let types: Vec<T> = init.iter().map(|v| self.scalar(*v)).collect();
        let (mut results, _) = self.looped(None, &more, &state, 0, |e, _, inside| {
            let (on, state) = (&inside[0], &inside[1..]);
            let args = |on: &Name| [&[n.clone(), on.clone()][..], state, &captures[..]].concat();
            let (holds, of_test) = e.inline(test, &args(on))?;
            let on = e.w.op2("And", on, &holds[0]);
            let (next, of_step) = e.inline(step, &args(&on))?;
            let kept = next.iter().zip(state).zip(&types);
            let mut next: Vec<Name> = kept.map(|((new, old), ty)| e.w.select(&on, new, old, *ty)).collect();
            let more = e.w.any(&on);
            let fault = e.w.op2("Or", &of_test, &of_step);
            next.insert(0, on);
            Ok(Iteration { more, fault, state: next, collected: Vec::new() })
        })?;
        results.remove(0);
        let back = results.iter().map(|x| self.w.node("Reshape", &[x, &shape], vec![int_attribute("allowzero", 1)]));
        Ok(back.collect())
    }

    /// Position `k` of the innermost axis, which stays with extent 1.
    fn column(&mut self, x: &Name, k: &Name) -> Name {
        let at = self.w.lifted(k);
        self.w.node("Gather", &[x, &at], vec![int_attribute("axis", -1)])
    }

    /// The running combination of rows, its last value and each value: both from a loop over the innermost axis.
    fn running(&mut self, columns: &[Value], combine: &'g Body) -> Result<(Vec<Name>, Vec<Name>), Unsupported> {
        let (zero, one) = (self.w.int(0), self.w.int(1));
        let types: Vec<T> = columns.iter().map(|v| self.scalar(*v)).collect();
        let (mut padded, mut state) = (Vec::new(), Vec::new());
        let mut count = one.clone();
        // Rows without elements get one: the loop runs at least once, so that what it collects has a shape.
        for (v, ty) in columns.iter().zip(&types) {
            let (x, nought) = (self.value(*v)?, self.w.literal(Lit::zero(*ty)));
            let n = self.w.extent(&x, -1);
            count = self.w.greater(&n, &one);
            let rank = self.rank(*v);
            let x = self.w.with_one_more(&x, rank as i64 - 1, rank, &nought);
            state.push((self.column(&x, &zero), self.element(*v)));
            padded.push(x);
        }
        let always = self.w.truth(true);
        self.looped(Some(&count), &always, &state, columns.len(), |e, k, inside| {
            let here: Vec<Name> = padded.iter().map(|x| e.column(x, k)).collect();
            let (both, fault) = e.inline(combine, &[vec![one.clone()], inside.to_vec(), here.clone()].concat())?;
            let first = e.w.op2("Equal", k, &zero);
            let later = e.w.op1("Not", &first);
            let fault = e.w.op2("And", &fault, &later);
            let each = here.iter().zip(&both).zip(&types);
            let next: Vec<Name> = each.map(|((here, both), ty)| e.w.select(&first, here, both, *ty)).collect();
            Ok(Iteration { more: always.clone(), fault, collected: next.clone(), state: next })
        })
    }

    pub(super) fn fold(&mut self, columns: &[Value], combine: &'g Body) -> Result<Vec<Name>, Unsupported> {
        let (last, _) = self.running(columns, combine)?;
        let axis = self.w.ints(&[-1]);
        Ok(last.iter().map(|x| self.w.op2("Squeeze", x, &axis)).collect())
    }

    pub(super) fn scan(&mut self, columns: &[Value], combine: &'g Body) -> Result<Vec<Name>, Unsupported> {
        let (_, each) = self.running(columns, combine)?;
        let rank = self.rank(columns[0]) as i64;
        // The steps are the outermost axis, and each has an innermost one of extent 1: they change places.
        let axes: Vec<i64> = (1..rank).chain([rank, 0]).collect();
        let mut results = Vec::new();
        for (v, all) in columns.iter().zip(&each) {
            let (inner, zero, last) = (self.w.ints(&[-2]), self.w.ints(&[0]), self.w.ints(&[-1]));
            let rows = self.w.node("Transpose", &[all], vec![ints_attribute("perm", axes.clone())]);
            let rows = self.w.op2("Squeeze", &rows, &inner);
            let x = self.value(*v)?;
            let n = self.w.extent(&x, -1);
            let n = self.w.lifted(&n);
            results.push(self.w.node("Slice", &[&rows, &zero, &n, &last], Vec::new()));
        }
        Ok(results)
    }

    pub(super) fn cumulative(&mut self, k: ReduceOp, x: &Name, ty: T, rank: usize) -> Result<Name, Unsupported> {
        if k == ReduceOp::Sum {
            let axis = self.w.int(-1);
            let y = self.w.op2("CumSum", x, &axis);
            return Ok(self.w.wrapped(&y, ty));
        }
        let p = match k {
            ReduceOp::Product => PrimOp::MulP,
            ReduceOp::Min => PrimOp::MinP,
            ReduceOp::Max => PrimOp::MaxP,
            ReduceOp::All => PrimOp::AndP,
            ReduceOp::Any | ReduceOp::Sum => PrimOp::OrP,
        };
        // A neutral element of each row's shape starts it.
        let axis = rank as i64 - 1;
        let shape = self.w.op1("Shape", x);
        let (zero, end) = (self.w.ints(&[0]), self.w.ints(&[axis]));
        let outer = self.w.node("Slice", &[&shape, &zero, &end], Vec::new());
        let neutral = self.w.literal(k.neutral(ty));
        let start = self.w.op2("Expand", &neutral, &outer);
        // And one ends it, and steps are the outermost axis: a scan without a step, or one along another axis of what has no
        // elements, ends the process of onnxruntime 1.32.
        let padded = self.w.with_one_more(x, axis, rank, &neutral);
        let outwards: Vec<i64> = [axis].into_iter().chain(0..axis).collect();
        let steps = self.w.node("Transpose", &[&padded], vec![ints_attribute("perm", outwards)]);
        let (state, here) = (self.w.fresh(), self.w.fresh());
        self.w.open();
        let next = self.w.prim(p, ty, &[state.clone(), here.clone()])?;
        let element = stored(ty);
        let body =
            self.w.close(vec![input(&state, element, false), input(&here, element, false)], &[next.clone(), next]);
        let (end, y) = (self.w.fresh(), self.w.fresh());
        let attributes = vec![graph_attribute("body", body), int_attribute("num_scan_inputs", 1)];
        self.w.node_into("Scan", &[&start, &steps], attributes, vec![end, y.clone()]);
        let before = self.w.ints(&[-1]);
        let scanned = self.w.node("Slice", &[&y, &zero, &before], Vec::new());
        let inwards: Vec<i64> = (1..=axis).chain([0]).collect();
        Ok(self.w.node("Transpose", &[&scanned], vec![ints_attribute("perm", inwards)]))
    }
}
