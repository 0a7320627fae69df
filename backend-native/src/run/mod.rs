//! Runs plans: array statements by need.

mod fold;
pub(crate) mod launch;
mod rows;
mod scan;
mod scatter;
mod shape;
mod sort;
mod store;

use crate::kernel::Finish;
use crate::lower::{BlockPlan, Closed, How, Launch, Plan, Step, Work};
use crate::tile::lanes::first_bits;
use crate::tile::machine::{Code, Input, Machine, Space, Stop};
use acc_core::data::{ArrayData, Column, ColumnSlice, Prim, ScalarType};
use acc_core::ir::{ArrayId, ArrayType, ForeignFun, Loc};
use acc_core::{Error, Fault, foreign, trace};
use launch::{Context, Job, JobOutput, NO_SPACE, Names, bind};
use smallvec::SmallVec;

/// An array of a run.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub shape: SmallVec<[usize; 4]>,
    /// None if the array is fused into its consumer: only its extents exist.
    pub columns: Option<SmallVec<[Column; 2]>>,
    /// The values of the statement's closed function that its elements depend on (the position of a slice).
    pub scalars: Vec<u64>,
}

/// One run of a plan.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    values: Vec<Option<Value>>,
    cx: Context<'a>,
}

/// Arrays and scalars as a launch sees them.
struct View<'a> {
    values: &'a [Option<Value>],
    /// The array being computed, and its scalars.
    own: Option<(ArrayId, &'a [u64])>,
}

impl Names for View<'_> {
    fn input(&self, a: ArrayId) -> Option<Input<'_>> {
        let v = self.values[a.index()].as_ref()?;
        let columns = v.columns.iter().flatten().map(Column::slice).collect();
        Some(Input { shape: &v.shape, columns })
    }

    fn scalar(&self, a: ArrayId, position: u32) -> u64 {
        let scalars = match self.own {
            Some((own, scalars)) if own == a => Some(scalars),
            _ => self.values[a.index()].as_ref().map(|v| &v.scalars[..]),
        };
        scalars.and_then(|s| s.get(position as usize)).copied().unwrap_or(0)
    }
}

/// Runs a plan on arguments.
pub(crate) fn run(plan: &Plan, args: &[ArrayData], cx: Context<'_>) -> Result<Vec<ArrayData>, Error> {
    let mut r = Run { plan, values: vec![None; plan.types.len()], cx };
    for (p, a) in plan.body.params.iter().zip(args) {
        r.values[p.index()] = Some(value_of(a));
    }
    let results = r.block(&plan.body)?;
    results.into_iter().zip(&plan.body.results).map(|(v, &a)| r.host_array(v, a)).collect()
}

fn value_of(a: &ArrayData) -> Value {
    let columns = Some(a.columns().iter().cloned().collect());
    Value { shape: a.shape().into(), columns, scalars: Vec::new() }
}

fn defect(message: String) -> Error {
    Error::Backend { backend: crate::NAME, message: format!("defect: {message}") }
}

impl Run<'_> {
    /// Evaluates a block whose parameters are set; its results.
    fn block(&mut self, b: &BlockPlan) -> Result<Vec<Value>, Error> {
        for &s in &b.steps {
            for r in &self.plan.steps[s].results {
                self.values[r.index()] = None;
            }
        }
        for ((&s, &strict), dead) in b.steps.iter().zip(&b.strict).zip(&b.dead) {
            if strict {
                self.force_step(s)?;
                for a in dead {
                    self.values[a.index()] = None;
                }
            }
        }
        b.results.iter().map(|&a| self.force(a)).collect()
    }

    /// The value of an array, evaluated now if it is not yet.
    fn force(&mut self, a: ArrayId) -> Result<Value, Error> {
        if let Some(v) = &self.values[a.index()] {
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

    /// Evaluates a step, and before it, in program order, the steps that it needs for sure.
    fn force_step(&mut self, s: usize) -> Result<(), Error> {
        if self.is_done(s) {
            return Ok(());
        }
        let plan = self.plan;
        let mut needed = vec![s];
        let mut at = 0;
        while at < needed.len() {
            let needs = plan.steps[needed[at]].needs.iter();
            for d in needs.filter_map(|a| plan.def[a.index()]) {
                if !self.is_done(d) && !needed.contains(&d) {
                    needed.push(d);
                }
            }
            at += 1;
        }
        needed.sort_unstable();
        acc_core::grow_stack(|| needed.into_iter().try_for_each(|s| self.step(&plan.steps[s])))
    }

    fn step(&mut self, s: &Step) -> Result<(), Error> {
        if s.results.iter().all(|r| self.values[r.index()].is_some()) {
            return Ok(());
        }
        self.cx.limits.check()?;
        match &s.work {
            Work::Array { op, closed, how } => {
                let result = s.results[0];
                let mut scalars = Vec::with_capacity(closed.len());
                for c in closed {
                    scalars.push(self.closed(c, s)?);
                }
                let value = self.array(s, result, op, how, scalars)?;
                self.values[result.index()] = Some(value);
            }
            Work::If { cond, then, else_ } => {
                let taken = self.closed(cond, s)?.first().is_some_and(|&c| c != 0);
                let values = self.block(if taken { then } else { else_ })?;
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
            Work::While { init, test, step } => {
                let mut state = init.iter().map(|&a| self.force(a)).collect::<Result<Vec<_>, _>>()?;
                loop {
                    self.cx.limits.check()?;
                    self.enter(test, &state);
                    let go = self.block(test)?;
                    let go = go.first().and_then(|v| v.columns.as_ref()?.first().map(|c| first_bits(c.slice())));
                    if go.is_none_or(|g| g == 0) {
                        break;
                    }
                    self.enter(step, &state);
                    state = self.block(step)?;
                }
                for (r, v) in s.results.iter().zip(state) {
                    self.values[r.index()] = Some(v);
                }
            }
        }
        Ok(())
    }

    /// A foreign function: the host's, if there is one of these types, else the fallback.
    fn foreign(
        &mut self,
        s: &Step,
        function: &ForeignFun,
        xs: &[ArrayId],
        fallback: &BlockPlan,
    ) -> Result<Vec<Value>, Error> {
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
                    let failed = |message: String| Error::Backend {
                        backend: crate::NAME,
                        message: format!("the foreign function `{name}` at {} failed: {message}", s.loc),
                    };
                    let results = function(&host_args()?).map_err(failed)?;
                    return Ok(results.into_iter().map(|a| value_of(&a)).collect());
                }
            }
        }
        self.enter(fallback, &args);
        self.block(fallback)
    }

    fn host_array(&self, v: Value, a: ArrayId) -> Result<ArrayData, Error> {
        let elt = self.plan.types[a.index()].elt.clone();
        ArrayData::new(v.shape, elt, v.columns.into_iter().flatten()).map_err(|e| defect(e.to_string()))
    }

    fn enter(&mut self, b: &BlockPlan, state: &[Value]) {
        for (p, v) in b.params.iter().zip(state) {
            self.values[p.index()] = Some(v.clone());
        }
    }

    fn array(
        &mut self,
        s: &Step,
        result: ArrayId,
        op: &acc_core::ir::ArrayOp,
        how: &How,
        closed: Vec<Vec<u64>>,
    ) -> Result<Value, Error> {
        let shape = shape::of(op, &closed, &self.values).map_err(|fault| located(fault, s, &s.loc))?;
        let scalars = match op {
            acc_core::ir::ArrayOp::Slice { .. } => closed.first().cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        match how {
            How::Fused => Ok(Value { shape, columns: None, scalars }),
            How::View => {
                let source = op.arrays().first().and_then(|a| self.values[a.index()].as_ref()?.columns.clone());
                Ok(Value { shape, columns: source, scalars })
            }
            How::Sort => {
                let source = op.arrays().first().and_then(|a| self.values[a.index()].as_ref()?.columns.clone());
                let columns: Vec<ColumnSlice<'_>> = source.iter().flatten().map(Column::slice).collect();
                Ok(Value { columns: Some(sort::argsort(&columns, &shape, self.cx)?), shape, scalars })
            }
            How::Launch(launch) => {
                let has_init = launch.kernel.outputs.iter().any(|o| o.finish.has_init());
                let init = closed.into_iter().next().filter(|_| has_init);
                let columns = self.launch(s, result, op, launch, &shape, &scalars, init)?;
                Ok(Value { shape, columns: Some(columns), scalars })
            }
        }
    }

    /// Launches a kernel until it demands nothing more.
    #[allow(clippy::too_many_arguments)] // What a statement's evaluation brings together.
    fn launch(
        &mut self,
        s: &Step,
        result: ArrayId,
        op: &acc_core::ir::ArrayOp,
        launch: &Launch,
        shape: &[usize],
        scalars: &[u64],
        init: Option<Vec<u64>>,
    ) -> Result<SmallVec<[Column; 2]>, Error> {
        let types: Vec<ScalarType> = self.plan.types[result.index()].elt.leaves().to_vec();
        let bytes = types.iter().try_fold(0usize, |b, t| {
            let column = shape::size(shape)?.checked_mul(t.size())?;
            b.checked_add(column).filter(|&b| b <= isize::MAX as usize)
        });
        if bytes.is_none() {
            let shape = shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
            return Err(located(Fault::ShapeOverflow { shape }, s, &s.loc));
        }
        let Some(output) = launch.kernel.outputs.first() else { return Err(defect(format!("no output {result}"))) };
        let extents: SmallVec<[usize; 4]> = match (op, &output.finish) {
            (_, Finish::Store) => shape.into(),
            (op, _) => {
                let source = op.arrays().last().and_then(|a| self.values[a.index()].as_ref());
                source.map(|v| v.shape.clone()).unwrap_or_default()
            }
        };
        loop {
            let done = {
                let view = View { values: &self.values, own: Some((result, scalars)) };
                let bound = |c| (c, bind(c, &view, self.cx.limits));
                let combine = launch.combine.first().and_then(Option::as_ref).map(bound);
                let output = JobOutput { output, combine, init: init.clone(), types: types.clone() };
                let job = Job {
                    launch,
                    element: bind(&launch.element, &view, self.cx.limits),
                    outputs: vec![output],
                    extents: extents.clone(),
                    cx: self.cx,
                };
                match &job.outputs[0].output.finish {
                    Finish::Store => store::store(&job),
                    Finish::Fold { .. } | Finish::Scan { .. } => rows::rows(&job),
                    Finish::Scatter { defaults, .. } => {
                        let defaults = self.values[defaults.index()].as_ref().and_then(|v| v.columns.as_ref());
                        let defaults: Vec<ColumnSlice<'_>> =
                            defaults.into_iter().flatten().map(Column::slice).collect();
                        scatter::scatter(&job, &job.outputs[0], shape, &defaults).map(|c| vec![c])
                    }
                }
            };
            match done {
                Ok(columns) => return Ok(columns.into_iter().next().unwrap_or_default()),
                Err(stop) => self.resolve(stop, s)?,
            }
        }
    }

    /// Answers a demand; anything else ends the run.
    fn resolve(&mut self, stop: Stop, s: &Step) -> Result<(), Error> {
        match stop {
            Stop::Demand(a) => self.force(a).map(|_| ()),
            Stop::Fault(fault, loc) => Err(located(fault, s, &loc)),
            Stop::Error(e) => Err(e),
        }
    }

    /// The values of a closed function.
    fn closed(&mut self, c: &Closed, s: &Step) -> Result<Vec<u64>, Error> {
        let code = match c {
            Closed::Known(bits) => return Ok(bits.clone()),
            Closed::Code(code) => code,
        };
        loop {
            match evaluate(code, &View { values: &self.values, own: None }, self.cx) {
                Ok(bits) => return Ok(bits),
                Err(stop) => self.resolve(stop, s)?,
            }
        }
    }
}

fn evaluate(code: &Code, view: &View<'_>, cx: Context<'_>) -> Result<Vec<u64>, Stop> {
    let bound = bind(code, view, cx.limits);
    let space: &Space = &NO_SPACE;
    let mut m = Machine::new(code, &bound, space);
    m.call(1).map_err(|e| e.stop)?;
    let results = &m.tape.results;
    Ok(results.iter().map(|&r| first_bits(m.get(r, 1))).collect())
}

fn located(fault: Fault, s: &Step, loc: &Loc) -> Error {
    Error::Fault { fault, op: s.op, loc: if loc.is_known() { loc.clone() } else { s.loc.clone() } }
}

/// The bits of an integer, for tests of extents.
pub(crate) fn int(bits: u64) -> i64 {
    i64::from_bits64(bits)
}
