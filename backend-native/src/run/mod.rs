//! Runs plans: array statements are evaluated lazily, when their value is first needed.

mod compact;
mod elementwise;
mod kernel;
pub(crate) mod launch;
mod loops;
pub(crate) mod pool;
mod row_blocking;
mod rows;
pub(crate) mod scalar_eval;
mod scatter;
mod scheduled;
mod shape;
mod sort;
#[cfg(test)]
mod testing;

use crate::bind::{Input, Names, SparseFlags};
use crate::kernel::Bits;
use crate::lower::{BlockPlan, Materialization};
use crate::prepare::{Closed, FunCode, Plan, Step, Work};
use crate::tile::lanes::first_bits;
use crate::tile::machine::{Code, Stop};
use acc_core::data::{ArrayData, Column, ColumnSlice, Prim};
use acc_core::foreign::{self, trace};
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, ForeignFun, Loc};
use acc_core::{Error, Fault};
use launch::{Binding, Columns, Context, NO_SPACE, flags};
pub(crate) use rows::grouping::schedules_keep_bits;
use smallvec::SmallVec;

/// An array of a run.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub shape: SmallVec<[usize; 4]>,
    /// None if the array is fused into its consumer, so that only its extents exist, or if it exists only as sparse
    /// flags.
    pub columns: Option<SmallVec<[Column; 2]>>,
    /// The array as sparse flags, until its elements are needed in memory.
    pub flags: Option<SparseFlags>,
    /// The values of the statement's closed function that the elements depend on (the position of a slice).
    pub scalars: Bits,
}

impl Value {
    /// An array of which only the extents are known.
    pub(crate) fn of_shape(shape: &[usize]) -> Value {
        Value { shape: shape.into(), columns: None, flags: None, scalars: Bits::new() }
    }
}

/// One run of a plan.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    values: Vec<Option<Value>>,
    /// The arrays whose last use is the current step.
    dying: SmallVec<[ArrayId; 4]>,
    /// How often each step of the plan was evaluated, since a loop around it last counted from zero.
    evaluations: Vec<usize>,
    cx: Context<'a>,
}

/// Arrays and scalars, as visible to a launch.
struct View<'a> {
    values: &'a [Option<Value>],
}

impl Names for View<'_> {
    fn input(&self, a: ArrayId) -> Option<Input<'_>> {
        let v = self.values[a.index()].as_ref()?;
        if v.flags.is_some() {
            return None;
        }
        Some(Input { shape: &v.shape, columns: v.columns.as_deref().unwrap_or(&[]) })
    }

    fn flags(&self, a: ArrayId) -> Option<(&SparseFlags, usize)> {
        let v = self.values[a.index()].as_ref()?;
        v.flags.as_ref().zip(v.shape.first().copied())
    }

    fn scalar(&self, a: ArrayId, position: u32) -> u64 {
        let value = self.values[a.index()].as_ref();
        value.and_then(|v| v.scalars.get(position as usize)).copied().unwrap_or(0)
    }
}

/// Runs a plan on arguments.
pub(crate) fn run(plan: &Plan, args: &[ArrayData], cx: Context<'_>) -> Result<Vec<ArrayData>, Error> {
    let evaluations = vec![0; plan.steps.len()];
    let mut r = Run { plan, values: vec![None; plan.types.len()], dying: SmallVec::new(), evaluations, cx };
    for (p, a) in plan.body.params.iter().zip(args) {
        r.values[p.index()] = Some(value_of(a));
    }
    let results = r.block(&plan.body, &[])?;
    results.into_iter().zip(&plan.body.results).map(|(v, &a)| r.host_array(v, a)).collect()
}

fn value_of(a: &ArrayData) -> Value {
    let columns = Some(a.columns().iter().cloned().collect());
    Value { shape: a.shape().into(), columns, flags: None, scalars: Bits::new() }
}

fn defect(message: String) -> Error {
    Error::defect(crate::NAME, message)
}

impl<'p> Run<'p> {
    /// Evaluates a block whose parameters are set, and returns its results. `ending` are the arrays of enclosing blocks
    /// whose last use is this block.
    fn block(&mut self, b: &'p BlockPlan, ending: &[ArrayId]) -> Result<SmallVec<[Value; 2]>, Error> {
        for &s in &b.steps {
            for r in &self.plan.steps[s].results {
                self.values[r.index()] = None;
            }
        }
        let mut done = 0;
        for (at, (((&s, &strict), dead), last)) in b.steps.iter().zip(&b.strict).zip(&b.dead).zip(&b.last).enumerate() {
            for row_blocking in b.row_blockings.iter().filter(|row_blocking| row_blocking.steps.start == at) {
                if at >= done && self.run_row_blocking(b, row_blocking)? {
                    let dead = b.dead[row_blocking.steps.clone()].iter().flatten();
                    dead.for_each(|a| self.values[a.index()] = None);
                    done = row_blocking.steps.end;
                }
            }
            if strict && at >= done {
                let dying = dead.iter().chain(last.iter().filter(|a| ending.contains(a))).copied().collect();
                let around = std::mem::replace(&mut self.dying, dying);
                self.force_step(s)?;
                self.dying = around;
                for a in dead {
                    self.values[a.index()] = None;
                }
            }
        }
        b.results.iter().map(|&a| self.force(a)).collect()
    }

    /// The value of an array, which is evaluated now unless it already has been.
    fn force(&mut self, a: ArrayId) -> Result<Value, Error> {
        if let Some(v) = &mut self.values[a.index()] {
            if let Some(flags) = v.flags.take() {
                let all = v.shape.first().copied().unwrap_or(0);
                v.columns = Some(smallvec::smallvec![flags::column(&flags, all, self.cx)?]);
            }
            return Ok(v.clone());
        }
        match self.plan.def[a.index()] {
            Some(s) => self.force_step(s)?,
            None => return Err(defect(format!("{a} has no value"))),
        }
        self.values[a.index()].clone().ok_or_else(|| defect(format!("{a} was not computed")))
    }

    fn is_done(&self, s: usize) -> bool {
        self.plan.steps[s].results.iter().all(|r| self.values[r.index()].is_some())
    }

    /// Evaluates a step. Before it the steps that it strictly needs are evaluated, in program order.
    fn force_step(&mut self, s: usize) -> Result<(), Error> {
        if self.is_done(s) {
            return Ok(());
        }
        let plan = self.plan;
        let mut needed = vec![s];
        let mut at = 0;
        while at < needed.len() {
            // Arrays of a kernel under evaluation already have their extents, which is all that is read here.
            let needs = plan.steps[needed[at]].needs.iter().filter(|a| self.values[a.index()].is_none());
            for d in needs.filter_map(|a| plan.def[a.index()]) {
                if !self.is_done(d) && !needed.contains(&d) {
                    needed.push(d);
                }
            }
            at += 1;
        }
        needed.sort_unstable();
        let evaluate = |s: usize| {
            self.evaluations[s] += 1;
            self.step(&plan.steps[s])
        };
        acc_core::grow_stack(|| needed.into_iter().try_for_each(evaluate))
    }

    fn step(&mut self, s: &'p Step) -> Result<(), Error> {
        if s.results.iter().all(|r| self.values[r.index()].is_some()) {
            return Ok(());
        }
        self.cx.limits.check()?;
        match &s.work {
            Work::Array { op, closed, materialization } => {
                let result = s.results[0];
                let mut scalars: SmallVec<[Bits; 2]> = SmallVec::new();
                for c in closed {
                    scalars.push(self.closed(c, s)?);
                }
                let value = self.array(s, op, materialization, &scalars).map_err(|e| e.during(s.op, &s.loc))?;
                self.values[result.index()] = Some(value);
            }
            Work::Kernel { launch, parts } => self.kernel(s, launch, parts).map_err(|e| e.during(s.op, &s.loc))?,
            Work::If { cond, then, else_ } => {
                let taken = self.closed(cond, s)?.first().is_some_and(|&c| c != 0);
                let ending = self.dying.clone();
                let values = self.block(if taken { then } else { else_ }, &ending)?;
                for (r, v) in s.results.iter().zip(values) {
                    self.values[r.index()] = Some(v);
                }
            }
            Work::Foreign { function, xs, fallback } => {
                let values = self.foreign(s, function, xs, fallback)?;
                for (r, v) in s.results.iter().zip(values) {
                    self.values[r.index()] = Some(v);
                }
            }
            Work::While { init, only_initial, test, step } => {
                let state = init.iter().map(|&a| self.force(a)).collect::<Result<_, _>>()?;
                // The first step updates them in place.
                for (a, _) in only_initial.iter().filter(|(a, alone)| *alone || self.dying.contains(a)) {
                    self.values[a.index()] = None;
                }
                let state = self.iterate(test, step, state)?;
                for (r, v) in s.results.iter().zip(state) {
                    self.values[r.index()] = Some(v);
                }
            }
        }
        Ok(())
    }

    /// Calls a foreign function: the host's if it registered one for these types, else its fallback.
    fn foreign(
        &mut self,
        s: &Step,
        function: &ForeignFun,
        xs: &[ArrayId],
        fallback: &'p BlockPlan,
    ) -> Result<SmallVec<[Value; 2]>, Error> {
        let args = xs.iter().map(|&a| self.force(a)).collect::<Result<Vec<_>, _>>()?;
        let host_args = || {
            let arrays = args.iter().zip(xs).map(|(v, &a)| self.host_array(v.clone(), a));
            arrays.collect::<Result<Vec<ArrayData>, Error>>()
        };
        let type_of = |a: &ArrayId| self.plan.types[a.index()].clone();
        match function {
            ForeignFun::Trace(message) => trace::emit(message, &host_args()?, s.results.len()),
            ForeignFun::Host(name) => {
                let params: Vec<ArrayType> = xs.iter().map(type_of).collect();
                let wanted: Vec<ArrayType> = s.results.iter().map(type_of).collect();
                if let Some(function) = foreign::arrays(name, &params, &wanted) {
                    let failed = |source| Error::Foreign { name: name.clone(), loc: s.loc.clone(), source };
                    let results = function(&host_args()?).map_err(failed)?;
                    return Ok(results.into_iter().map(|a| value_of(&a)).collect());
                }
            }
        }
        self.enter(fallback, args);
        self.block(fallback, &[])
    }

    fn host_array(&self, v: Value, a: ArrayId) -> Result<ArrayData, Error> {
        let elt = self.plan.types[a.index()].elt.clone();
        ArrayData::new(v.shape, elt, v.columns.into_iter().flatten()).map_err(|e| defect(e.to_string()))
    }

    fn enter(&mut self, b: &BlockPlan, state: impl IntoIterator<Item = Value>) {
        for (p, v) in b.params.iter().zip(state) {
            self.values[p.index()] = Some(v);
        }
    }

    /// Drops the values of a block that has been evaluated.
    fn leave(&mut self, b: &BlockPlan) {
        let plan = self.plan;
        for a in b.steps.iter().flat_map(|&s| &plan.steps[s].results).chain(&b.params) {
            self.values[a.index()] = None;
        }
    }

    fn array(
        &mut self,
        s: &Step,
        op: &ArrayOp,
        materialization: &Materialization,
        closed: &[Bits],
    ) -> Result<Value, Error> {
        let shape = shape::of(op, closed, &self.values).map_err(|fault| located(fault, s.op, &s.loc))?;
        let scalars = scalars_of(op, closed);
        let source = || op.arrays().first().and_then(|a| self.values[a.index()].as_ref()?.columns.clone());
        let of_source = |sort: &dyn Fn(&[ColumnSlice<'_>]) -> Result<Columns, Error>| {
            let source = source();
            sort(&source.iter().flatten().map(Column::slice).collect::<Vec<_>>()).map(Some)
        };
        let columns = match materialization {
            Materialization::Fused => None,
            Materialization::View => source(),
            Materialization::Argsort => of_source(&|columns| sort::argsort(columns, &shape, self.cx))?,
            Materialization::Sort => of_source(&|columns| sort::sorted(columns, &shape, self.cx))?,
            Materialization::Selection(end) => {
                let count = closed.first().and_then(|count| count.first()).map_or(0, |bits| int(*bits));
                let part = (*end, usize::try_from(count).unwrap_or(0));
                of_source(&|columns| sort::selected(columns, &shape, part, self.cx))?
            }
        };
        Ok(Value { shape, columns, flags: None, scalars })
    }

    /// Resolves a demand; any other event ends the run.
    fn resolve(&mut self, stop: Stop, s: &Step) -> Result<(), Error> {
        match stop {
            Stop::Demand(a) => self.force(a).map(|_| ()),
            Stop::Fault(fault, loc) => Err(located(fault, s.op, if loc.is_known() { &loc } else { &s.loc })),
            Stop::Error(e) => Err(e),
        }
    }

    /// Evaluates a closed function.
    fn closed(&mut self, c: &Closed, s: &Step) -> Result<Bits, Error> {
        let code = match c {
            Closed::Known(bits) => return Ok(bits.clone()),
            Closed::Code(FunCode { code, body }) => {
                match body.as_ref().and_then(|body| scalar_eval::evaluate(body, &self.values[..])) {
                    Some(bits) => return Ok(bits),
                    None => code,
                }
            }
        };
        loop {
            match evaluate(code, &View { values: &self.values }, self.cx) {
                Ok(bits) => return Ok(bits),
                Err(stop) => self.resolve(stop, s)?,
            }
        }
    }
}

fn evaluate(code: &Code, view: &View<'_>, cx: Context<'_>) -> Result<Bits, Stop> {
    let body = Binding::new(code, view, cx.limits);
    let mut m = body.machine(&NO_SPACE);
    m.call(1).map_err(|e| e.stop)?;
    let results = &m.bytecode.results;
    Ok(results.iter().map(|&r| first_bits(m.get(r, 1))).collect())
}

fn located(fault: Fault, op: &'static str, loc: &Loc) -> Error {
    Error::Fault { fault, op, loc: loc.clone() }
}

/// The values of the closed function that an array's elements depend on.
fn scalars_of(op: &ArrayOp, closed: &[Bits]) -> Bits {
    match op {
        ArrayOp::Slice { .. } => closed.first().cloned().unwrap_or_default(),
        // The closed functions of others give extents and initial values.
        _ => Bits::new(),
    }
}

/// The bits of an integer as an extent check compares them.
pub(crate) fn int(bits: u64) -> i64 {
    i64::from_bits64(bits)
}
