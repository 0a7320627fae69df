//! Branches and loops. Their regions read the values around them.

use super::body::{Emitter, Held, Size};
use super::writer::{Form, Operation, Result, Shape, Tensor};
use super::{Need, Stop};
use acc_core::data::ScalarType as T;
use acc_desugar::graph::{Body, Extent, Node, Op, Value};

/// How a value goes from one step of a loop to the next, or comes out of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Carried {
    /// Not at all: it is a number.
    Number(i64),
    /// A size, as a scalar.
    Scalar,
    Tensor(Form),
}

impl Carried {
    fn of(held: &Held) -> Result<Carried> {
        match held {
            Held::Size(Size::Number(n)) => Ok(Carried::Number(*n)),
            Held::Size(Size::Device(_)) => Ok(Carried::Scalar),
            Held::Tensor(t) => Ok(Carried::Tensor(t.form())),
            Held::Token => Err(Stop::Defect("a check as the state of a loop")),
        }
    }

    fn form(&self) -> Option<Form> {
        match self {
            Carried::Number(_) => None,
            Carried::Scalar => Some(Form::scalar(T::I64)),
            Carried::Tensor(form) => Some(form.clone()),
        }
    }
}

/// How often the body of a loop is written until it is known what a step changes.
const MAX_ROUNDS: usize = 8;

impl<'g> Emitter<'g> {
    /// One value that comes from two sides, which must agree; each side is the value of the graph there, and what it is.
    ///
    /// A size that differs is a scalar. An extent that differs is none of the array's own, which would change: on one side
    /// it is a 1 that repeats.
    fn joined(&self, results: &[Value], at: usize, sides: [(Value, &Carried); 2]) -> Result<Carried> {
        let [(v, left), (w, right)] = sides;
        Ok(match (left, right) {
            (Carried::Number(n), Carried::Number(m)) if n == m => left.clone(),
            (Carried::Number(_) | Carried::Scalar, Carried::Number(_) | Carried::Scalar) => Carried::Scalar,
            (Carried::Tensor(a), Carried::Tensor(b)) if a == b => left.clone(),
            (Carried::Tensor(a), Carried::Tensor(b)) if a.shape.len() == b.shape.len() => {
                let own = results.get(at).map_or(&[][..], |r| self.shapes.get(*r));
                let mut shape = Shape::new();
                for (k, (n, m)) in a.shape.iter().zip(&b.shape).enumerate() {
                    let repeats = |side: Value| self.shapes.get(side).get(k) == Some(&Extent::Const(1));
                    let changes = matches!(own.get(k), Some(Extent::Size(s)) if results.contains(s));
                    shape.push(match (*n, *m) {
                        (n, m) if n == m => n,
                        (1, m) if repeats(v) && !changes => m,
                        (n, 1) if repeats(w) && !changes => n,
                        _ => return Err(Stop::Local),
                    });
                }
                Carried::Tensor(Form { shape, ty: a.ty })
            }
            _ => return Err(Stop::Shapes),
        })
    }

    /// A value in the form in which it is carried.
    fn carry(&mut self, held: &Held, form: &Form) -> Result {
        match held {
            Held::Size(s) => self.scalar_of(s),
            Held::Tensor(t) => self.w.spread(t, &form.shape),
            Held::Token => Err(Stop::Defect("a check as the state of a loop")),
        }
    }

    fn carry_all(&mut self, all: &[Held], carried: &[Carried]) -> Result<Vec<Tensor>> {
        let mut out = Vec::new();
        for (held, form) in all.iter().zip(carried) {
            if let Some(form) = form.form() {
                out.push(self.carry(held, &form)?);
            }
        }
        Ok(out)
    }

    /// The values that tensors carry, in order.
    fn carried(carried: &[Carried], tensors: &[Tensor]) -> Vec<Held> {
        let mut tensors = tensors.iter();
        let held = carried.iter().map(|c| match c {
            Carried::Number(n) => Some(Held::Size(Size::Number(*n))),
            Carried::Scalar => tensors.next().map(|t| Held::Size(Size::Device(t.clone()))),
            Carried::Tensor(_) => tensors.next().map(|t| Held::Tensor(t.clone())),
        });
        held.map_while(|held| held).collect()
    }

    // ---- branches

    pub(super) fn branch(
        &mut self,
        results: &[Value],
        cond: Value,
        then: &'g Body,
        other: &'g Body,
    ) -> Result<Vec<Held>> {
        let cond = self.held(cond)?;
        let (number, root) = match &cond {
            Held::Size(Size::Number(n)) => (Some(*n), None),
            Held::Size(Size::Device(t)) | Held::Tensor(t) => (t.number, t.root),
            Held::Token => (None, None),
        };
        if let Some(n) = number {
            return self.inline_once(if n != 0 { then } else { other });
        }
        let cond = self.condition(&cond)?;
        // Which branch is taken tells what the extents are.
        self.inside(|e| e.branches(results, &cond, [then, other])).map_err(|stop| match stop {
            Stop::Local | Stop::Shapes | Stop::TooLarge(_) => self.host_needs(root),
            stop => stop,
        })
    }

    fn branches(&mut self, results: &[Value], cond: &Tensor, bodies: [&'g Body; 2]) -> Result<Vec<Held>> {
        let mut sides = Vec::new();
        for body in bodies {
            self.open(&[]);
            let yielded = self.inline(body, Vec::new())?;
            sides.push((body, yielded, self.suspend()));
        }
        let [(then, left, _), (other, right, _)] = &sides[..] else { return Err(Stop::Defect("two branches")) };
        let mut carried = Vec::new();
        for (k, (l, r)) in left.iter().zip(right).enumerate() {
            let of = |body: &Body| body.results.get(k).copied().ok_or(Stop::Defect("a branch without a result"));
            let (l, r) = (Carried::of(l)?, Carried::of(r)?);
            carried.push(self.joined(results, k, [(of(then)?, &l), (of(other)?, &r)])?);
        }
        let mut regions = Vec::new();
        for (_, yielded, region) in sides {
            self.resume(region);
            let mut out = self.carry_all(&yielded, &carried)?;
            let none = self.w.int(0)?;
            out.push(self.fault_here(&none)?);
            regions.push(self.close(&out));
        }
        let mut forms: Vec<Form> = carried.iter().filter_map(Carried::form).collect();
        forms.push(Form::scalar(T::I64));
        // XLA's constant folding ends the process where it finds all of a conditional to be constant.
        let cond = self.w.unary("optimization_barrier", cond)?;
        let mut all = self.w.general(&Operation::plain("if"), &[cond], &regions, &forms)?;
        if let Some(fault) = all.pop() {
            self.add_fault(&fault)?;
        }
        Ok(Self::carried(&carried, &all))
    }

    // ---- loops

    pub(super) fn whiles(
        &mut self,
        node: &'g Node,
        init: &[Value],
        test: &'g Body,
        step: &'g Body,
    ) -> Result<Vec<Held>> {
        let state = init.iter().map(|v| self.held(*v)).collect::<Result<Vec<Held>>>()?;
        // What the first test needs is written here, before the loop.
        let more = match self.tested(test, state.clone()) {
            Err(Stop::Local) => return Err(self.host_runs(node)),
            more => more?,
        };
        if let Held::Size(Size::Number(0)) = more {
            return Ok(state);
        }
        let more = self.condition(&more)?;
        match self.loop_from(&node.results, init, [test, step], &state, &more, None) {
            // Its extents change, or follow from what it computes.
            Err(Stop::Local) => Err(self.host_runs(node)),
            done => done.map(|(state, _)| state),
        }
    }

    /// At most `budget` steps of a loop from a state, which the parameters of its step are; the next state, and whether the
    /// loop goes on.
    pub(super) fn steps(
        &mut self,
        results: &[Value],
        [test, step]: [&'g Body; 2],
        budget: &Tensor,
    ) -> Result<(Vec<Held>, Tensor)> {
        let state = step.params.iter().map(|v| self.held(*v)).collect::<Result<Vec<Held>>>()?;
        let more = self.tested(test, state.clone())?;
        let more = self.condition(&more)?;
        self.loop_from(results, &step.params, [test, step], &state, &more, Some(budget))
    }

    /// A loop from a state, written until it is known what a step changes.
    fn loop_from(
        &mut self,
        results: &[Value],
        init: &[Value],
        bodies: [&'g Body; 2],
        state: &[Held],
        more: &Tensor,
        budget: Option<&Tensor>,
    ) -> Result<(Vec<Held>, Tensor)> {
        let mut carried = state.iter().map(Carried::of).collect::<Result<Vec<Carried>>>()?;
        for _ in 0..MAX_ROUNDS {
            match self.inside(|e| e.loop_of(results, init, bodies, state, more, &carried, budget)) {
                Err(Stop::Again(changed)) => carried = changed,
                Err(Stop::Shapes | Stop::TooLarge(_)) => return Err(Stop::Local),
                done => return done,
            }
        }
        Err(Stop::Local)
    }

    /// That the host must run a node, if it can.
    pub(super) fn host_runs(&self, node: &Node) -> Stop {
        match node.results.first() {
            Some(v) if self.at_host() => Stop::Host(Need::Node(*v)),
            _ => Stop::Local,
        }
    }

    fn tested(&mut self, test: &'g Body, state: Vec<Held>) -> Result<Held> {
        let results = self.inline(test, state)?;
        results.into_iter().next().ok_or(Stop::Defect("a test without a result"))
    }

    #[allow(clippy::too_many_arguments, reason = "a loop has so many parts")]
    fn loop_of(
        &mut self,
        results: &[Value],
        init: &[Value],
        [test, step]: [&'g Body; 2],
        state: &[Held],
        more: &Tensor,
        carried: &[Carried],
        budget: Option<&Tensor>,
    ) -> Result<(Vec<Held>, Tensor)> {
        let operands = self.carry_all(state, carried)?;
        let (all, more) = self.looped(operands, more, budget, |e, inside| {
            let next = e.inline(step, Self::carried(carried, inside))?;
            let mut changed = Vec::new();
            for (k, (next, before)) in next.iter().zip(carried).enumerate() {
                let sides = (init.get(k), step.results.get(k));
                let (Some(v), Some(w)) = sides else { return Err(Stop::Defect("a state without a value")) };
                changed.push(e.joined(results, k, [(*v, before), (*w, &Carried::of(next)?)])?);
            }
            if changed != carried {
                return Err(Stop::Again(changed));
            }
            let out = e.carry_all(&next, carried)?;
            let more = e.tested(test, next)?;
            Ok((e.condition(&more)?, out))
        })?;
        Ok((Self::carried(carried, &all), more))
    }

    /// A loop from tensors while a scalar is true and there is no fault, of at most `budget` steps if that is given; `step`
    /// writes what the next ones are. What they are in the end, and whether the scalar is true.
    fn looped(
        &mut self,
        mut operands: Vec<Tensor>,
        more: &Tensor,
        budget: Option<&Tensor>,
        step: impl FnOnce(&mut Self, &[Tensor]) -> Result<(Tensor, Vec<Tensor>)>,
    ) -> Result<(Vec<Tensor>, Tensor)> {
        let count = operands.len();
        operands.push(more.clone());
        operands.push(self.w.int(0)?);
        operands.extend(budget.cloned());
        let forms: Vec<Form> = operands.iter().map(Tensor::form).collect();
        let missing = || Stop::Defect("a loop has a condition");
        let inside = self.open(&forms);
        let [more, fault, left @ ..] = inside.get(count..).unwrap_or(&[]) else { return Err(missing()) };
        let none = self.w.int(0)?;
        let fine = self.w.compare("EQ", fault, &none)?;
        let mut goes_on = self.w.binary("and", more, &fine)?;
        for n in left {
            let some = self.w.compare("GT", n, &none)?;
            goes_on = self.w.binary("and", &goes_on, &some)?;
        }
        let test = self.close(&[goes_on]);
        let inside = self.open(&forms);
        let [_, fault, left @ ..] = inside.get(count..).unwrap_or(&[]) else { return Err(missing()) };
        let (more, mut next) = step(self, inside.get(..count).unwrap_or(&[]))?;
        next.push(more);
        next.push(self.fault_here(fault)?);
        for n in left {
            let one = self.w.int(1)?;
            next.push(self.w.binary("subtract", n, &one)?);
        }
        let body = self.close(&next);
        let mut all = self.w.general(&Operation::plain("while"), &operands, &[test, body], &forms)?;
        let fault = all.get(count + 1).cloned().ok_or_else(missing)?;
        self.add_fault(&fault)?;
        let more = all.get(count).cloned().ok_or_else(missing)?;
        all.truncate(count);
        Ok((all, more))
    }

    /// A tensor over a space, as a vector.
    fn flat(&mut self, x: &Tensor, space: &[i64]) -> Result {
        let x = self.w.spread(x, space)?;
        self.w.reshape(&x, &[space.iter().product()])
    }

    fn flat_all(&mut self, all: &[Value], space: &[i64]) -> Result<Vec<Tensor>> {
        let mut out = Vec::new();
        for v in all {
            let x = self.tensor(*v)?;
            out.push(self.flat(&x, space)?);
        }
        Ok(out)
    }

    /// A loop that lanes leave one by one: all are computed in each step, and those that are on take their next state. With a
    /// budget, at most so many steps: from the node's results if these are known, and else from the beginning. The state, which
    /// lanes are on, and whether any is.
    pub(super) fn lanes(
        &mut self,
        results: &[Value],
        lanes: &LaneLoop<'g>,
        budget: Option<&Tensor>,
    ) -> Result<(Vec<Tensor>, Tensor, Tensor)> {
        let LaneLoop { on, space, init, captured, test, step } = *lanes;
        let space = self.shape(space)?;
        let count: i64 = space.iter().product();
        let captured = self.flat_all(captured, &space)?;
        let went_on = step.params.get(1).copied().filter(|v| budget.is_some() && self.is_known(*v));
        let mut state = match went_on {
            Some(_) => self.flat_all(results, &space)?,
            None => self.flat_all(init, &space)?,
        };
        let on = self.tensor(went_on.unwrap_or(on))?;
        let on = self.flat(&on, &space)?;
        let more = self.any(&on)?;
        state.insert(0, on);
        let (all, more) = self.inside(|e| {
            e.looped(state, &more, budget, |e, inside| {
                let [on, state @ ..] = inside else { return Err(Stop::Defect("lanes are on or off")) };
                let params = |on: &Tensor| {
                    let tensors = std::iter::once(on).chain(state).chain(&captured).cloned().map(Held::Tensor);
                    std::iter::once(Held::Size(Size::Number(count))).chain(tensors).collect()
                };
                let holds = e.tested(test, params(on))?;
                let holds = e.condition(&holds)?;
                let on = e.w.binary("and", on, &holds)?;
                let next = e.inline(step, params(&on))?;
                let mut out = vec![on.clone()];
                for (next, before) in next.iter().zip(state) {
                    let Held::Tensor(next) = next else { return Err(Stop::Defect("lanes yield tensors")) };
                    out.push(e.w.select(&on, next, before)?);
                }
                Ok((e.any(&on)?, out))
            })
        })?;
        let mut shaped = all.iter().map(|x| self.w.reshape(x, &space)).collect::<Result<Vec<Tensor>>>()?;
        Ok((shaped.split_off(1), shaped.pop().ok_or(Stop::Defect("lanes are on or off"))?, more))
    }
}

/// The parts of an [`Op::LaneLoop`].
#[derive(Clone, Copy)]
pub(super) struct LaneLoop<'g> {
    on: Value,
    space: &'g [Value],
    init: &'g [Value],
    captured: &'g [Value],
    test: &'g Body,
    step: &'g Body,
}

impl<'g> LaneLoop<'g> {
    /// Of a node that is one.
    pub(super) fn of(node: &'g Node) -> Option<LaneLoop<'g>> {
        let Op::LaneLoop { on, space, init, captured, kept: _, test, step } = &node.op else { return None };
        Some(LaneLoop { on: *on, space, init, captured, test, step })
    }
}
