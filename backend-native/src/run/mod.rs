//! Runs plans: array statements by need.

mod after;
mod chained;
mod chunks;
mod compact;
mod fold;
mod keys;
pub(crate) mod launch;
pub(crate) mod marks;
mod nested;
mod partition;
mod places;
mod private;
mod processor;
mod product;
mod radix;
mod rows;
mod scan;
mod scatter;
mod scheduled;
mod segments;
mod shape;
mod shares;
mod sort;
mod store;
pub(crate) mod team;
mod whole;

use crate::buffer::AnyBuffer;
use crate::kernel::{AxisKind, Finish, Initial};
use crate::lower::{BlockPlan, Closed, How, Launch, Part, Plan, Step, Work};
use crate::tile::lanes::first_bits;
use crate::tile::machine::{Code, Input, Machine, Space, Stop};
use acc_core::data::{ArrayData, Column, ColumnSlice, Prim};
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, ForeignFun, Loc};
use acc_core::{Error, Fault, foreign, timeline, trace};
use launch::{Columns, Context, Job, JobEpilogue, JobOutput, NO_SPACE, Names, bind};
use marks::Marks;
use smallvec::SmallVec;

/// An array of a run.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub shape: SmallVec<[usize; 4]>,
    /// None if the array is fused into its consumer: only its extents exist; or if marks are all there is of it.
    pub columns: Option<SmallVec<[Column; 2]>>,
    /// Its elements, where few are marked, until they are needed in memory.
    pub marks: Option<Marks>,
    /// The values of the statement's closed function that its elements depend on (the position of a slice).
    pub scalars: Vec<u64>,
}

/// One run of a plan.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    values: Vec<Option<Value>>,
    /// The arrays that nothing needs after the step being evaluated.
    dying: &'a [ArrayId],
    cx: Context<'a>,
}

/// Arrays and scalars as a launch sees them.
struct View<'a> {
    values: &'a [Option<Value>],
}

impl Names for View<'_> {
    fn input(&self, a: ArrayId) -> Option<Input<'_>> {
        let v = self.values[a.index()].as_ref()?;
        if v.marks.is_some() {
            return None;
        }
        let columns = v.columns.iter().flatten().map(Column::slice).collect();
        Some(Input { shape: &v.shape, columns })
    }

    fn marks(&self, a: ArrayId) -> Option<(&Marks, usize)> {
        let v = self.values[a.index()].as_ref()?;
        v.marks.as_ref().zip(v.shape.first().copied())
    }

    fn scalar(&self, a: ArrayId, position: u32) -> u64 {
        let value = self.values[a.index()].as_ref();
        value.and_then(|v| v.scalars.get(position as usize)).copied().unwrap_or(0)
    }
}

/// Runs a plan on arguments.
pub(crate) fn run(plan: &Plan, args: &[ArrayData], cx: Context<'_>) -> Result<Vec<ArrayData>, Error> {
    let mut r = Run { plan, values: vec![None; plan.types.len()], dying: &[], cx };
    for (p, a) in plan.body.params.iter().zip(args) {
        r.values[p.index()] = Some(value_of(a));
    }
    let results = r.block(&plan.body)?;
    results.into_iter().zip(&plan.body.results).map(|(v, &a)| r.host_array(v, a)).collect()
}

fn value_of(a: &ArrayData) -> Value {
    let columns = Some(a.columns().iter().cloned().collect());
    Value { shape: a.shape().into(), columns, marks: None, scalars: Vec::new() }
}

fn defect(message: String) -> Error {
    Error::Backend { backend: crate::NAME, message: format!("defect: {message}") }
}

impl<'p> Run<'p> {
    /// Evaluates a block whose parameters are set; its results.
    fn block(&mut self, b: &'p BlockPlan) -> Result<Vec<Value>, Error> {
        for &s in &b.steps {
            for r in &self.plan.steps[s].results {
                self.values[r.index()] = None;
            }
        }
        for ((&s, &strict), dead) in b.steps.iter().zip(&b.strict).zip(&b.dead) {
            if strict {
                let around = std::mem::replace(&mut self.dying, dead);
                self.force_step(s)?;
                self.dying = around;
                for a in dead {
                    self.values[a.index()] = None;
                }
            }
        }
        b.results.iter().map(|&a| self.force(a)).collect()
    }

    /// The value of an array, evaluated now if it is not yet.
    fn force(&mut self, a: ArrayId) -> Result<Value, Error> {
        if let Some(v) = &mut self.values[a.index()] {
            if let Some(marks) = v.marks.take() {
                let all = v.shape.first().copied().unwrap_or(0);
                v.columns = Some(smallvec::smallvec![marks.column(all, self.cx)?]);
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

    /// Evaluates a step, and before it, in program order, the steps that it needs for sure.
    fn force_step(&mut self, s: usize) -> Result<(), Error> {
        if self.is_done(s) {
            return Ok(());
        }
        let plan = self.plan;
        let mut needed = vec![s];
        let mut at = 0;
        while at < needed.len() {
            // An array of a kernel that is being evaluated has its extents already, and that is all that is needed here.
            let needs = plan.steps[needed[at]].needs.iter().filter(|a| self.values[a.index()].is_none());
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

    fn step(&mut self, s: &'p Step) -> Result<(), Error> {
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
                let value = self.array(s, op, how, scalars)?;
                self.values[result.index()] = Some(value);
            }
            Work::Kernel { launch, parts } => self.kernel(s, launch, parts)?,
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
                    self.enter(test, state.iter().cloned());
                    let go = self.block(test)?;
                    self.leave(test);
                    let go = go.first().and_then(|v| v.columns.as_ref()?.first().map(|c| first_bits(c.slice())));
                    if go.is_none_or(|g| g == 0) {
                        break;
                    }
                    // The step alone has the state, so that it can write into it.
                    self.enter(step, state);
                    state = self.block(step)?;
                    self.leave(step);
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
        fallback: &'p BlockPlan,
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
        self.enter(fallback, args);
        self.block(fallback)
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

    /// Forgets the values of a block that has been evaluated.
    fn leave(&mut self, b: &BlockPlan) {
        let plan = self.plan;
        for a in b.steps.iter().flat_map(|&s| &plan.steps[s].results).chain(&b.params) {
            self.values[a.index()] = None;
        }
    }

    fn array(&mut self, s: &Step, op: &ArrayOp, how: &How, closed: Vec<Vec<u64>>) -> Result<Value, Error> {
        let shape = shape::of(op, &closed, &self.values).map_err(|fault| located(fault, s.op, &s.loc))?;
        let scalars = scalars_of(op, &closed);
        let source = || op.arrays().first().and_then(|a| self.values[a.index()].as_ref()?.columns.clone());
        let columns = match how {
            How::Fused => None,
            How::View => source(),
            How::Argsort | How::Sort => {
                let source = source();
                let columns: Vec<ColumnSlice<'_>> = source.iter().flatten().map(Column::slice).collect();
                let sort = if matches!(how, How::Sort) { sort::sorted } else { sort::argsort };
                Some(sort(&columns, &shape, self.cx)?)
            }
        };
        Ok(Value { shape, columns, marks: None, scalars })
    }

    /// Launches a kernel until it demands nothing more.
    fn kernel(&mut self, s: &Step, launch: &Launch, parts: &[Part]) -> Result<(), Error> {
        let mut inits = Vec::with_capacity(parts.len());
        let (counts, mut written) = match launch.is_compaction() {
            true => self.counted(s, launch, parts).map(|(counts, written)| (Some(counts), written))?,
            false => (None, None),
        };
        let outputs = launch.kernel.outputs.iter().chain(launch.kernel.epilogue.iter().flat_map(|e| &e.outputs));
        for (p, o) in parts.iter().zip(outputs) {
            if matches!(o.finish, Finish::Compact) {
                inits.push(None);
                continue;
            }
            // What is computed of results of the kernel itself has its extents only now.
            for a in &p.needs {
                if self.values[a.index()].is_none() {
                    self.force(*a)?;
                }
            }
            let fault = |fault| located(fault, p.name, &p.loc);
            let mut closed = Vec::with_capacity(p.closed.len());
            // Where no segment begins with it, an initial value is not needed.
            let segments = matches!(o.finish, Finish::Segments { .. });
            if !segments || !shape::of(&p.op, &[], &self.values).map_err(fault)?.contains(&0) {
                for c in &p.closed {
                    closed.push(self.closed(c, s)?);
                }
            }
            let shape = shape::of(&p.op, &closed, &self.values).map_err(fault)?;
            self.addressable(p.result, &shape).map_err(fault)?;
            let scalars = scalars_of(&p.op, &closed);
            inits.push(closed.into_iter().next().filter(|_| o.finish.has_init()));
            self.values[p.result.index()] = Some(Value { shape, columns: None, marks: None, scalars });
        }
        if self.marked(s, launch)? {
            return Ok(());
        }
        let mut begun = self.take_initial(launch);
        loop {
            let mut span = timeline::span(timeline::Kind::Kernel, || launch.kernel.title());
            let done = written.take().map(Ok);
            match done.unwrap_or_else(|| self.launch(launch, &inits, counts.as_ref(), begun.take())) {
                Ok(columns) => {
                    span.note("bytes", || bytes(&columns));
                    drop(span);
                    for (p, c) in parts.iter().zip(columns) {
                        if let Some(v) = &mut self.values[p.result.index()] {
                            v.columns = Some(c);
                        }
                    }
                    return Ok(());
                }
                Err(stop) => {
                    drop(span);
                    self.resolve(stop, s)?;
                }
            }
        }
    }

    /// Keeps the places alone of what a scatter marks; whether that is done.
    fn marked(&mut self, s: &Step, launch: &Launch) -> Result<bool, Error> {
        let Some(places) = &launch.places else { return Ok(false) };
        let Some(result) = launch.kernel.outputs.first().map(|o| o.result) else { return Ok(false) };
        let extent = |v: &Option<Value>| v.as_ref().and_then(|v| v.shape.first().copied()).unwrap_or(0);
        let all = extent(&self.values[result.index()]);
        if !marks::are_rare(extent(&self.values[places.over.index()]), all) {
            return Ok(false);
        }
        let columns = loop {
            match self.job(places, &[None], |job, _| compact::compact(job, &compact::count(job)?)) {
                Ok(columns) => break columns,
                Err(stop) => self.resolve(stop, s)?,
            }
        };
        // Places out of order, or out of bounds, are for the scatter.
        let marks = columns.into_iter().flatten().next().and_then(|places| Marks::new(places, all));
        let Some(value) = self.values[result.index()].as_mut().filter(|_| marks.is_some()) else { return Ok(false) };
        value.marks = marks;
        Ok(true)
    }

    /// The memory of the array that a scatter begins with, if nothing else needs it and the launch will not be repeated: it
    /// becomes that of the result.
    fn take_initial(&mut self, launch: &Launch) -> Option<Vec<AnyBuffer>> {
        let [o] = &launch.kernel.outputs[..] else { return None };
        let Finish::Scatter { initial: Initial::Array(a), .. } = o.finish else { return None };
        let all_there = launch.arrays().all(|b| b == o.result || self.values[b.index()].is_some());
        if !self.dying.contains(&a) || launch.reads(a) || !all_there {
            return None;
        }
        let value = self.values[a.index()].as_mut()?;
        let mut columns = value.columns.take()?.into_iter().map(AnyBuffer::reclaim);
        let mut buffers = Vec::new();
        let shared = columns.by_ref().find_map(|column| column.map(|b| buffers.push(b)).err());
        let Some(shared) = shared else { return Some(buffers) };
        // Others have a column: all stay as they were.
        let before = buffers.into_iter().map(AnyBuffer::column).chain([shared]);
        let after = columns.map(|column| column.map_or_else(|own| own, AnyBuffer::column));
        value.columns = Some(before.chain(after).collect());
        None
    }

    /// That the bytes of an array can be addressed.
    fn addressable(&self, a: ArrayId, shape: &[usize]) -> Result<(), Fault> {
        let bytes = self.plan.types[a.index()].elt.leaves().iter().try_fold(0usize, |b, t| {
            let column = shape::size(shape)?.checked_mul(t.size())?;
            b.checked_add(column).filter(|&b| b <= isize::MAX as usize)
        });
        let shape = || shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        bytes.map(|_| ()).ok_or_else(|| Fault::ShapeOverflow { shape: shape() })
    }

    /// Counts the elements that a compaction keeps, and may write them: then its result has extents.
    fn counted(
        &mut self,
        s: &Step,
        launch: &Launch,
        parts: &[Part],
    ) -> Result<(compact::Counts, Option<Vec<Columns>>), Error> {
        for a in parts.iter().take(1).flat_map(|p| &p.needs) {
            self.force(*a)?;
        }
        let counted = |job: &Job<'_>| match compact::at_once(job)? {
            Some((counts, columns)) => Ok((counts, Some(columns))),
            None => compact::count(job).map(|counts| (counts, None)),
        };
        let (counts, written) = loop {
            match self.job(launch, &[None], |job, _| counted(job)) {
                Ok(done) => break done,
                Err(stop) => self.resolve(stop, s)?,
            }
        };
        let shape = SmallVec::from_slice(&[counts.total()]);
        // Of what the permute begins with, too.
        let own = parts.iter().take(1).map(|p| p.result);
        let begun = s.results.iter().copied().filter(|r| parts.iter().all(|p| p.result != *r));
        for a in own.chain(begun) {
            self.values[a.index()] =
                Some(Value { shape: shape.clone(), columns: None, marks: None, scalars: Vec::new() });
        }
        for p in parts.iter().take(1) {
            self.addressable(p.result, &shape).map_err(|fault| located(fault, p.name, &p.loc))?;
        }
        Ok((counts, written))
    }

    /// Launches a kernel whose results have their extents; of a compaction the counts are known, and a scatter may combine into
    /// memory that is `begun`.
    fn launch(
        &self,
        launch: &Launch,
        inits: &[Option<Vec<u64>>],
        counts: Option<&compact::Counts>,
        begun: Option<Vec<AnyBuffer>>,
    ) -> Result<Vec<Columns>, Stop> {
        self.job(launch, inits, |job, view| self.launched(job, launch, view, counts, begun))
    }

    /// Binds a launch to what it reads.
    fn job<T>(
        &self,
        launch: &Launch,
        inits: &[Option<Vec<u64>>],
        run: impl FnOnce(&Job<'_>, &View<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let view = View { values: &self.values };
        let shape = |a: ArrayId| self.values[a.index()].as_ref().map(|v| v.shape.clone()).unwrap_or_default();
        let types = |a: ArrayId| self.plan.types[a.index()].elt.leaves().to_vec();
        let outputs = launch.kernel.outputs.iter().zip(&launch.combine).zip(inits).map(|((output, combine), init)| {
            let combine = combine.as_ref().map(|c| (c, bind(c, &view, self.cx.limits)));
            JobOutput { output, combine, init: init.clone(), types: types(output.result) }
        });
        let epilogue = launch.epilogue.as_ref().zip(launch.kernel.epilogue.as_ref()).map(|(code, e)| JobEpilogue {
            code,
            bound: bind(code, &view, self.cx.limits),
            outputs: e.outputs.iter().map(|o| (o.values.clone(), types(o.result))).collect(),
        });
        let job = Job {
            launch,
            element: bind(&launch.element, &view, self.cx.limits),
            outputs: outputs.collect(),
            epilogue,
            extents: shape(launch.over),
            names: &view,
            cx: self.cx,
        };
        run(&job, &view)
    }

    fn launched(
        &self,
        job: &Job<'_>,
        launch: &Launch,
        view: &View<'_>,
        counts: Option<&compact::Counts>,
        begun: Option<Vec<AnyBuffer>>,
    ) -> Result<Vec<Columns>, Stop> {
        if let Some(counts) = counts {
            return compact::compact(job, counts);
        }
        match launch.kernel.axes.last() {
            Some(AxisKind::Reduction | AxisKind::Scan(_)) => {
                let product = launch.product.as_ref().map(|c| product::product(job, c, &self.values)).transpose()?;
                match (product.flatten(), job.extents.split_last()) {
                    (Some(columns), Some((_, outer))) => after::epilogue(job, outer, vec![columns]),
                    _ if launch.kernel.folded() > 1 => nested::nested(job),
                    _ => rows::rows(job),
                }
            }
            Some(AxisKind::Parallel) | None => match &job.outputs[..] {
                [o] if matches!(o.output.finish, Finish::Segments { .. }) => {
                    let shape = self.values[o.output.result.index()].as_ref().map(|v| v.shape.clone());
                    let columns = segments::segments(job, o)?;
                    after::epilogue(job, &shape.unwrap_or_default(), vec![columns])
                }
                [o] if matches!(o.output.finish, Finish::Scatter { .. }) => {
                    let shape = self.values[o.output.result.index()].as_ref().map(|v| v.shape.clone());
                    let shape = shape.unwrap_or_default();
                    let initial = begun.map_or_else(|| self.initial(job, o, &shape, view), Ok)?;
                    let columns = scatter::scatter(job, o, &shape, initial)?;
                    after::epilogue(job, &shape, vec![columns])
                }
                _ => store::store(job),
            },
        }
    }

    /// What a scatter begins with.
    fn initial(
        &self,
        job: &Job<'_>,
        o: &JobOutput<'_>,
        shape: &[usize],
        view: &View<'_>,
    ) -> Result<Vec<AnyBuffer>, Stop> {
        let computed = match (&o.output.finish, &job.launch.initial) {
            (Finish::Scatter { initial: Initial::Array(a), .. }, _) => {
                let columns = self.values[a.index()].as_ref().and_then(|v| v.columns.as_ref());
                let columns: Vec<ColumnSlice<'_>> = columns.into_iter().flatten().map(Column::slice).collect();
                return scatter::copied(self.cx, &o.types, shape.iter().product(), &columns);
            }
            (_, Some(code)) => code,
            (_, None) => return Ok(Vec::new()),
        };
        let bound = bind(computed, view, self.cx.limits);
        let results: Vec<usize> = (0..o.types.len()).collect();
        store::fill(self.cx, (computed, &bound), shape, &o.types, &results, job.launch.cost, false, None)
    }

    /// Answers a demand; anything else ends the run.
    fn resolve(&mut self, stop: Stop, s: &Step) -> Result<(), Error> {
        match stop {
            Stop::Demand(a) => self.force(a).map(|_| ()),
            Stop::Fault(fault, loc) => Err(located(fault, s.op, if loc.is_known() { &loc } else { &s.loc })),
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
            match evaluate(code, &View { values: &self.values }, self.cx) {
                Ok(bits) => return Ok(bits),
                Err(stop) => self.resolve(stop, s)?,
            }
        }
    }
}

/// What the results of a kernel take.
fn bytes(arrays: &[Columns]) -> usize {
    arrays.iter().flatten().map(|c| c.len() * c.ty().size()).sum()
}

fn evaluate(code: &Code, view: &View<'_>, cx: Context<'_>) -> Result<Vec<u64>, Stop> {
    let bound = bind(code, view, cx.limits);
    let space: &Space = &NO_SPACE;
    let mut m = Machine::new(code, &bound, space);
    m.call(1).map_err(|e| e.stop)?;
    let results = &m.tape.results;
    Ok(results.iter().map(|&r| first_bits(m.get(r, 1))).collect())
}

fn located(fault: Fault, op: &'static str, loc: &Loc) -> Error {
    Error::Fault { fault, op, loc: loc.clone() }
}

/// The values of the closed function that an array's elements depend on.
fn scalars_of(op: &ArrayOp, closed: &[Vec<u64>]) -> Vec<u64> {
    match op {
        ArrayOp::Slice { .. } => closed.first().cloned().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The bits of an integer, for tests of extents.
pub(crate) fn int(bits: u64) -> i64 {
    i64::from_bits64(bits)
}
