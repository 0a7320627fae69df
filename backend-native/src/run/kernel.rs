//! Launches the kernels of a run: computes the extents of results and the initial values, and picks the executor that
//! fits the kernel's axes.

use super::elementwise::{epilogue, store};
use super::launch::flags;
use super::launch::{Binding, Columns, Job, JobEpilogue, JobOutput, finish, first_event};
use super::rows::{product, segments};
use super::{Run, Value, View, compact, located, rows, scalar_eval, scalars_of, scatter, shape};
use crate::bind::{Names, SparseFlags};
use crate::buffer::AnyBuffer;
use crate::kernel::Bits;
use crate::kernel::grouping::TermBlocks;
use crate::kernel::{AxisKind, Guard, Initial, Output, Sink};
use crate::prepare::{Launch, Part, Step};
use crate::tile::lanes;
use crate::tile::machine::{Space, Stop};
use acc_core::data::{Column, ColumnSlice, ScalarType};
use acc_core::ir::ArrayId;
use acc_core::{Error, Fault, timeline};
use smallvec::SmallVec;

/// Points that are tried alone to find out which arrays they need.
const MAX_FIRST_POINTS: usize = 16;

/// The initial value of each result of a kernel.
pub(super) type Inits = SmallVec<[Option<Bits>; 2]>;

impl Run<'_> {
    /// Launches a kernel, again after each demand has been resolved.
    pub(super) fn kernel(&mut self, s: &Step, launch: &Launch, parts: &[Part]) -> Result<(), Error> {
        let (counts, mut written) = match launch.is_compaction() {
            true => self.counted(s, launch, parts).map(|(counts, written)| (Some(counts), written))?,
            false => (None, None),
        };
        let inits = self.extents(s, launch, parts)?;
        if self.keep_positions(s, launch)? {
            return Ok(());
        }
        self.evaluate_reads(launch)?;
        while let Some(a) = self.first_demand(launch, &inits) {
            self.force(a)?;
        }
        let mut begun = self.take_initial(launch);
        loop {
            let mut span = timeline::span(timeline::Kind::Kernel, || launch.kernel.title());
            let done = written.take().map(Ok).or_else(|| self.at_point(launch));
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

    /// Sets the extents of the results of a kernel; returns the initial value of each.
    pub(super) fn extents(&mut self, s: &Step, launch: &Launch, parts: &[Part]) -> Result<Inits, Error> {
        let mut inits = Inits::new();
        for (p, o) in parts.iter().zip(launch.outputs()) {
            if matches!(o.sink, Sink::Compact) {
                inits.push(None);
                continue;
            }
            // Extents of what depends on results of the kernel itself are known only now.
            for a in &p.needs {
                if self.values[a.index()].is_none() {
                    self.force(*a)?;
                }
            }
            let fault = |fault| located(fault, p.name, &p.loc);
            let mut closed: SmallVec<[Bits; 2]> = SmallVec::new();
            // Where no segment starts with it, an initial value is not evaluated.
            let segments = matches!(o.sink, Sink::Segments { .. });
            if !segments || !shape::of(&p.op, &[], &self.values).map_err(fault)?.contains(&0) {
                for c in &p.closed {
                    closed.push(self.closed(c, s)?);
                }
            }
            let shape = shape::of(&p.op, &closed, &self.values).map_err(fault)?;
            self.addressable(p.result, &shape).map_err(fault)?;
            let scalars = scalars_of(&p.op, &closed);
            inits.push(closed.into_iter().next().filter(|_| o.sink.has_init()));
            self.values[p.result.index()] = Some(Value { shape, columns: None, flags: None, scalars });
        }
        Ok(inits)
    }

    /// Evaluates the arrays that a launch is certain to read: it would stop for each of them, and begin anew. Where the first fault is
    /// to be found it does so, since an element may need another array before.
    fn evaluate_reads(&mut self, launch: &Launch) -> Result<(), Error> {
        if self.cx.in_order || self.all_there(launch) {
            return Ok(());
        }
        for of in [Some(launch), launch.epilogue.as_deref()].into_iter().flatten() {
            let points = self.values[of.over.index()].as_ref().map(|v| v.shape.iter().product::<usize>());
            if points.is_none_or(|n| n == 0) {
                continue;
            }
            for a in of.kernel.element.certain_reads() {
                if self.values[a.index()].is_none() {
                    self.force(a)?;
                }
            }
        }
        Ok(())
    }

    /// Whether all arrays that a launch may read are evaluated.
    fn all_there(&self, launch: &Launch) -> bool {
        launch.arrays.iter().all(|a| self.values[a.index()].is_some())
    }

    /// The array that one of the first points of a launch needs and that is not evaluated yet. To find it costs less than a launch that
    /// stops for it.
    fn first_demand(&self, launch: &Launch, inits: &[Option<Bits>]) -> Option<ArrayId> {
        let in_order = |o: &Output| matches!(o.sink, Sink::Store | Sink::Fold { .. });
        if self.all_there(launch) || launch.is_trivial || !launch.kernel.outputs.iter().all(in_order) {
            return None;
        }
        let found = self.job(launch, inits, |job, _| {
            let space = Space { extents: job.extents.clone(), lo: 0, hi: job.extents.len() };
            let points = job.extents.iter().product::<usize>().min(MAX_FIRST_POINTS).min(job.lanes());
            first_event(&mut job.machine(&space), points, |m, n| m.tile(0, n))
        });
        match found {
            Err(Stop::Demand(a)) => Some(a),
            // The launch finds other events in their order.
            Ok(()) | Err(Stop::Fault(..) | Stop::Error(_)) => None,
        }
    }

    /// Keeps only the positions of the flags that a scatter sets; whether that is possible.
    fn keep_positions(&mut self, s: &Step, launch: &Launch) -> Result<bool, Error> {
        let Some(places) = &launch.flag_positions else { return Ok(false) };
        let Some(result) = launch.kernel.outputs.first().map(|o| o.result) else { return Ok(false) };
        let extent = |v: &Option<Value>| v.as_ref().and_then(|v| v.shape.first().copied()).unwrap_or(0);
        let all = extent(&self.values[result.index()]);
        if !flags::are_sparse(extent(&self.values[places.over.index()]), all) {
            return Ok(false);
        }
        let columns = loop {
            match self.job(places, &[None], |job, _| compact::compact(job, &compact::count(job)?)) {
                Ok(columns) => break columns,
                Err(stop) => self.resolve(stop, s)?,
            }
        };
        // Positions out of order or out of bounds are left to the scatter.
        let flags = columns.into_iter().flatten().next().and_then(|places| SparseFlags::new(places, all));
        let Some(value) = self.values[result.index()].as_mut().filter(|_| flags.is_some()) else { return Ok(false) };
        value.flags = flags;
        Ok(true)
    }

    /// The memory of the array that a scatter combines into, if nothing else uses that array and the launch is not
    /// repeated: it becomes the memory of the result.
    fn take_initial(&mut self, launch: &Launch) -> Option<Vec<AnyBuffer>> {
        let [o] = &launch.kernel.outputs[..] else { return None };
        let Sink::Scatter { initial: Initial::Array(a), .. } = o.sink else { return None };
        let all_there = launch.arrays.iter().all(|&b| b == o.result || self.values[b.index()].is_some());
        if !self.dying.contains(&a) || launch.reads(a) || !all_there {
            return None;
        }
        let value = self.values[a.index()].as_mut()?;
        match AnyBuffer::reclaim_all(value.columns.take()?) {
            Ok(buffers) => Some(buffers),
            Err(columns) => {
                value.columns = Some(columns);
                None
            }
        }
    }

    /// An error if the bytes of an array exceed the address space.
    fn addressable(&self, a: ArrayId, shape: &[usize]) -> Result<(), Fault> {
        let bytes = self.plan.types[a.index()].elt.leaves().iter().try_fold(0usize, |b, t| {
            let column = shape::size(shape)?.checked_mul(t.size())?;
            b.checked_add(column).filter(|&b| b <= isize::MAX as usize)
        });
        let shape = || shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        bytes.map(|_| ()).ok_or_else(|| Fault::ShapeOverflow { shape: shape() })
    }

    /// Counts the elements that a compaction keeps, and possibly writes them in the same pass; sets the extents of its
    /// result.
    fn counted(
        &mut self,
        s: &Step,
        launch: &Launch,
        parts: &[Part],
    ) -> Result<(compact::Counts, Option<Vec<Columns>>), Error> {
        for a in parts.iter().take(1).flat_map(|p| &p.needs) {
            self.force(*a)?;
        }
        let counted = |job: &Job<'_>| match compact::count_and_write(job)? {
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
        // This includes the initial array of a permute.
        let own = parts.iter().take(1).map(|p| p.result);
        let begun = s.results.iter().copied().filter(|r| parts.iter().all(|p| p.result != *r));
        for a in own.chain(begun) {
            self.values[a.index()] =
                Some(Value { shape: shape.clone(), columns: None, flags: None, scalars: Bits::new() });
        }
        for p in parts.iter().take(1) {
            self.addressable(p.result, &shape).map_err(|fault| located(fault, p.name, &p.loc))?;
        }
        Ok((counts, written))
    }

    /// The results of a kernel of one point that is too small for a launch; none if it must be launched.
    fn at_point(&self, launch: &Launch) -> Option<Result<Vec<Columns>, Stop>> {
        if !launch.is_trivial {
            return None;
        }
        let (element, mut results) =
            (&launch.kernel.element, scalar_eval::evaluate(&launch.kernel.element, &self.values[..])?.into_iter());
        let columns = launch.kernel.outputs.iter().map(|o| {
            let types: SmallVec<[ScalarType; 2]> = launch.kernel.values(o).iter().map(|&v| element.ty(v)).collect();
            let mut columns = self.cx.columns(&types, 1).map_err(Stop::Error)?;
            columns.iter_mut().zip(&mut results).for_each(|(column, bits)| lanes::fill(column.as_out(), bits));
            Ok(finish(columns))
        });
        Some(columns.collect())
    }

    /// Launches a kernel whose results have extents. For a compaction the counts are known; a scatter may combine into
    /// the memory in `begun`.
    fn launch(
        &self,
        launch: &Launch,
        inits: &[Option<Bits>],
        counts: Option<&compact::Counts>,
        begun: Option<Vec<AnyBuffer>>,
    ) -> Result<Vec<Columns>, Stop> {
        let launch = self.unguarded(launch);
        let product = product::plan(launch, &self.values);
        if product.is_none()
            && let Some(columns) = self.packed_rows(launch, inits, &View { values: &self.values })?
        {
            return Ok(columns);
        }
        self.job(launch, inits, |job, view| self.launched(job, launch, product.as_ref(), view, counts, begun))
    }

    /// The launch without guards, if those hold.
    pub(super) fn unguarded<'a>(&self, launch: &'a Launch) -> &'a Launch {
        let unguarded = launch.unguarded.as_ref().filter(|u| self.hold(&u.guards, launch.over));
        unguarded.map_or(launch, |u| &u.launch)
    }

    /// Whether guards hold at all points.
    pub(super) fn hold(&self, guards: &[Guard], over: ArrayId) -> bool {
        let extent = |a: ArrayId, dim: usize| self.values[a.index()].as_ref()?.shape.get(dim).copied();
        guards.iter().all(|g| {
            let all = extent(over, g.axis).zip(extent(g.array, g.dim as usize));
            all.is_some_and(|(points, there)| points <= there)
        })
    }

    /// Binds a launch to the arrays that it reads.
    fn job<T>(
        &self,
        launch: &Launch,
        inits: &[Option<Bits>],
        run: impl FnOnce(&Job<'_>, &View<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let view = View { values: &self.values };
        run(&self.bound(launch, inits, &view), &view)
    }

    /// Binds a launch to the arrays of a view.
    pub(super) fn bound<'a>(&'a self, launch: &'a Launch, inits: &[Option<Bits>], view: &'a dyn Names) -> Job<'a> {
        let shape = |a: ArrayId| self.values[a.index()].as_ref().map(|v| v.shape.clone()).unwrap_or_default();
        let types = |a: ArrayId| self.plan.types[a.index()].elt.leaves().as_slice().into();
        let outputs =
            launch.kernel.outputs.iter().zip(&launch.code.combine).zip(inits).map(|((output, combine), init)| {
                let combine = combine.as_ref().map(|c| Binding::new(c, view, self.cx.limits));
                let types = launch.kernel.leaf_types(output);
                JobOutput { output, combine, init: init.clone(), types }
            });
        let epilogue =
            launch.code.epilogue.as_ref().zip(launch.kernel.epilogue.as_ref()).map(|(code, e)| JobEpilogue {
                body: Binding::new(code, view, self.cx.limits),
                outputs: e.outputs.iter().map(|o| (o.values.clone(), types(o.result))).collect(),
            });
        let extents = shape(launch.over);
        let folded = extents.len().saturating_sub(launch.kernel.folded());
        Job {
            launch,
            element: Binding::new(&launch.code.element, view, self.cx.limits),
            outputs: outputs.collect(),
            epilogue,
            terms: TermBlocks::of(&extents[folded..]),
            extents,
            names: view,
            cx: self.cx,
        }
    }

    fn launched(
        &self,
        job: &Job<'_>,
        launch: &Launch,
        product: Option<&product::Plan>,
        view: &View<'_>,
        counts: Option<&compact::Counts>,
        begun: Option<Vec<AnyBuffer>>,
    ) -> Result<Vec<Columns>, Stop> {
        if let Some(counts) = counts {
            return compact::compact(job, counts);
        }
        match launch.kernel.axes.last() {
            Some(AxisKind::Reduction | AxisKind::Scan(_)) => {
                let called = product.filter(|plan| plan.is_called(job));
                let columns = called.map(|plan| product::product(job, plan, &self.values)).transpose()?;
                match (columns.flatten(), job.extents.split_last()) {
                    (Some(columns), Some((_, outer))) => epilogue::epilogue(job, outer, vec![columns]),
                    _ if launch.kernel.folded() > 1 => rows::nested::nested(job),
                    _ => rows::rows(job, product),
                }
            }
            Some(AxisKind::Parallel) | None => match &job.outputs[..] {
                [o] if matches!(o.output.sink, Sink::Segments { .. }) => {
                    let shape = self.values[o.output.result.index()].as_ref().map(|v| v.shape.clone());
                    let columns = segments::segments(job, o)?;
                    epilogue::epilogue(job, &shape.unwrap_or_default(), vec![columns])
                }
                [o] if matches!(o.output.sink, Sink::Scatter { .. }) => {
                    let shape = self.values[o.output.result.index()].as_ref().map(|v| v.shape.clone());
                    let shape = shape.unwrap_or_default();
                    let initial = begun.map_or_else(|| self.initial(job, o, &shape, view), Ok)?;
                    let columns = scatter::scatter(job, o, &shape, initial)?;
                    epilogue::epilogue(job, &shape, vec![columns])
                }
                _ => store::store(job),
            },
        }
    }

    /// The initial array of a scatter.
    fn initial(
        &self,
        job: &Job<'_>,
        o: &JobOutput<'_>,
        shape: &[usize],
        view: &View<'_>,
    ) -> Result<Vec<AnyBuffer>, Stop> {
        let computed = match (&o.output.sink, &job.launch.code.initial) {
            (Sink::Scatter { initial: Initial::Array(a), .. }, _) => {
                let columns = self.values[a.index()].as_ref().and_then(|v| v.columns.as_ref());
                let columns: Vec<ColumnSlice<'_>> = columns.into_iter().flatten().map(Column::slice).collect();
                return scatter::copied(self.cx, &o.types, shape.iter().product(), &columns);
            }
            (_, Some(code)) => code,
            (_, None) => return Ok(Vec::new()),
        };
        let body = Binding::new(computed, view, self.cx.limits);
        let results: Vec<usize> = (0..o.types.len()).collect();
        store::fill(self.cx, &body, shape, &o.types, &results, job.launch.cost, false, None)
    }
}

/// The bytes that the results of a kernel take.
fn bytes(arrays: &[Columns]) -> usize {
    arrays.iter().flatten().map(|c| c.len() * c.ty().size()).sum()
}
