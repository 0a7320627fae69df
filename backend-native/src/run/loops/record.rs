//! Recordings: the calls of a loop's steps, with all of their arguments.
//!
//! Each array that a step computes gets a *unit* of memory that holds nothing else in that step. After the step the units
//! of the state before it are free again. The units of the state so repeat after a few steps, mostly after two: a recording
//! consists of that many *phases*.

use super::State;
use super::order::{Action, Target};
use super::product::{self, BoundProduct};
use crate::buffer::AnyBuffer;
use crate::kernel::{Bits, Body, RowUpdate, Sink};
use crate::llvm::Variant;
use crate::llvm::call::{BoundCall, Call, CallOutcome, column_address};
use crate::run::Value;
use crate::run::elementwise::store::StoreCode;
use crate::run::launch::{Columns, Context, Job, finish, pieces};
use crate::run::rows::product::Plan;
use crate::run::rows::{BatchedRows, nested};
use crate::run::scatter;
use crate::run::scheduled::Tiles;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Axis, PrimOp};
use smallvec::SmallVec;

/// The most phases.
const MAX_PHASES: usize = 8;

/// Work from which on a launch of a recording is distributed over threads, in vectorised additions per lane: they meet within
/// a microsecond.
const MIN_PARALLEL_WORK: usize = 1 << 17;

/// The most bytes that a step copies, for a scatter to combine elements into: that takes about as long as a launch.
const MAX_COPIED_BYTES: usize = 1 << 15;

/// Where the elements of an array are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In memory that no step writes.
    Outer(Columns),
    /// In a unit.
    Unit(usize),
}

impl Place {
    fn is(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Unit(a), Place::Unit(b)) => a == b,
            (Place::Outer(a), Place::Outer(b)) => a.iter().zip(b).all(|(a, b)| a.ptr_eq(b)),
            (Place::Unit(_), Place::Outer(_)) | (Place::Outer(_), Place::Unit(_)) => false,
        }
    }
}

/// Memory for an array.
pub(super) struct Unit {
    types: SmallVec<[ScalarType; 2]>,
    pub len: usize,
    pub buffers: Vec<AnyBuffer>,
}

/// The calls of one step.
pub(super) struct Phase<'a> {
    pub test: Vec<Item<'a>>,
    pub go: Place,
    pub step: Vec<Item<'a>>,
    /// Replaced when all else is done.
    pub rows: Vec<Row<'a>>,
    /// The arrays that scalars are read from.
    pub places: Vec<(ArrayId, Place)>,
    /// The state before the step.
    state: Vec<Place>,
}

/// A row of an array of the state, which each step replaces where it is, or combines with other elements.
pub(super) struct Row<'a> {
    pub unit: usize,
    pub source: Place,
    pub combine: Option<PrimOp>,
    /// Its number.
    pub number: &'a Body,
    /// How many there are, and the elements of each.
    pub extents: [usize; 2],
}

/// Something that a step does.
pub(super) enum Item<'a> {
    /// Evaluates a closed function, which must yield what it did.
    Same { body: &'a Body, value: Bits },
    /// Evaluates the position of a slice, which must be in bounds, and is an argument of calls later in the step.
    Position {
        array: ArrayId,
        body: &'a Body,
        axes: &'a [Axis],
        extents: SmallVec<[usize; 4]>,
        calls: Vec<ScalarArgument>,
    },
    /// Evaluates scalars into units.
    Scalars { body: &'a Body, units: SmallVec<[usize; 2]> },
    /// Copies an array into a unit.
    Copy { from: Place, to: usize },
    /// Computes the parts of arrays, one for each thread.
    Launch { parts: Vec<Part<'a>>, is_parallel: bool, streams: bool },
}

/// What a thread does for a launch.
pub(super) enum Part<'a> {
    Call(BoundCall<'a>),
    Product(BoundProduct),
}

impl Part<'_> {
    pub(super) fn run(&self) -> CallOutcome {
        match self {
            Part::Call(call) => call.run(),
            Part::Product(product) => product.run(),
        }
    }

    /// The call, if it is one.
    pub(super) fn call(&self) -> Option<&BoundCall<'_>> {
        match self {
            Part::Call(call) => Some(call),
            Part::Product(_) => None,
        }
    }
}

/// An argument of a call that is a scalar of a position.
pub(super) struct ScalarArgument {
    /// The number of the launch among the items.
    pub item: usize,
    pub part: usize,
    /// The number of the argument.
    pub argument: usize,
    /// Which of the scalars it is.
    pub scalar: u32,
}

/// The steps of a loop.
pub(super) struct Recording<'a> {
    pub units: Vec<Unit>,
    pub phases: Vec<Phase<'a>>,
    /// The phase after the last one.
    pub first: usize,
    /// The state before the first phase.
    start: Vec<Place>,
}

/// A launch with the machine code for it.
pub(super) struct Prepared<'a> {
    job: &'a Job<'a>,
    code: LaunchCode<'a>,
    is_parallel: bool,
}

/// The machine code of a launch.
enum LaunchCode<'a> {
    Store(StoreCode<'a>),
    Fold(BatchedRows<'a>),
    Scatter(Call<'a>),
    Tiles(Tiles<'a>),
    Product(Plan),
}

impl<'a> Prepared<'a> {
    /// The launch of a product of matrices, if there is a plan for one. None if machine code is not ready, or is no plain loop nest over
    /// rows.
    pub(super) fn new(job: &'a Job<'a>, product: Option<Plan>) -> Option<Prepared<'a>> {
        let points = job.extents.iter().product::<usize>();
        let is_parallel = job.cx.threads.count() > 1 && points.saturating_mul(job.launch.cost) >= MIN_PARALLEL_WORK;
        let kernel = &job.launch.kernel;
        let is_scatter = kernel.outputs.iter().any(|o| matches!(o.sink, Sink::Scatter { .. }));
        let tiles = || Tiles::new(job, true).map(LaunchCode::Tiles);
        let code = match kernel.folded() {
            _ if product.as_ref().is_some_and(Plan::is_in_parts) => return None,
            // Those of many points are distributed over threads when they are launched.
            0 if is_scatter && is_parallel => return None,
            0 if is_scatter => LaunchCode::Scatter(job.call(Variant::Scatter)?),
            0 if kernel.is_scheduled() => tiles()?,
            0 => LaunchCode::Store(StoreCode::of(job)?),
            1 => match product {
                Some(plan) if plan.is_called(job) => LaunchCode::Product(plan),
                Some(_) => LaunchCode::Tiles(Tiles::in_order(job)?),
                None => match BatchedRows::outside_tiles(job) {
                    Some(rows) => LaunchCode::Fold(rows),
                    None if kernel.is_scheduled() => tiles()?,
                    None => return None,
                },
            },
            _ if product.is_some() || nested::has_rows(job) => return None,
            _ => tiles()?,
        };
        Some(Prepared { job, code, is_parallel })
    }
}

/// What phases are made of.
pub(super) struct Recorder<'a> {
    pub cx: Context<'a>,
    pub values: &'a [Option<Value>],
    /// The types of arrays.
    pub types: &'a dyn Fn(ArrayId) -> SmallVec<[ScalarType; 2]>,
    /// What the test does, and what the step does.
    pub actions: [Vec<Action<'a>>; 2],
    /// The components of the state of which steps replace rows.
    pub rows: &'a [(usize, RowUpdate)],
    /// The launches of both, in order.
    pub prepared: Vec<Prepared<'a>>,
    /// The parameters of both.
    pub params: [&'a [ArrayId]; 2],
    /// What the test yields, and the state after a step.
    pub results: [&'a [ArrayId]; 2],
}

impl<'a> Recorder<'a> {
    /// The recording of a loop that goes on from a state; without phases, if there is none.
    pub(super) fn record(&self, state: State) -> Recording<'a> {
        let mut recording = Recording { units: Vec::new(), phases: Vec::new(), first: 0, start: Vec::new() };
        recording.start = state.into_iter().map(|v| recording.place_of(v)).collect();
        let mut places = recording.start.clone();
        loop {
            if let Some(first) = recording.phase_from(&places) {
                return Recording { first, ..recording };
            }
            let next = match recording.phases.len() < MAX_PHASES {
                true => self.phase(&mut recording.units, places),
                false => None,
            };
            let Some((phase, next)) = next else { return Recording { phases: Vec::new(), ..recording } };
            recording.phases.push(phase);
            places = next;
        }
    }

    /// The calls of a step from a state on, and the state after it.
    fn phase(&self, units: &mut Vec<Unit>, state: Vec<Place>) -> Option<(Phase<'a>, Vec<Place>)> {
        let mut used: Vec<bool> =
            (0..units.len()).map(|k| state.iter().any(|place| matches!(place, Place::Unit(u) if *u == k))).collect();
        let mut places: Vec<(ArrayId, Place)> = Vec::new();
        let mut launches = self.prepared.iter();
        let mut items: [Vec<Item<'a>>; 2] = [Vec::new(), Vec::new()];
        for ((actions, items), params) in self.actions.iter().zip(&mut items).zip(self.params) {
            places.extend(params.iter().copied().zip(state.iter().cloned()));
            for action in actions {
                match action {
                    Action::Same { body, value } => items.push(Item::Same { body, value: value.clone() }),
                    Action::Position { array, source, axes, body } => {
                        let extents = self.values[source.index()].as_ref()?.shape.clone();
                        items.push(Item::Position { array: *array, body, axes, extents, calls: Vec::new() });
                    }
                    Action::Scalars { body, results } => {
                        let taken = self.take(units, &mut used, results)?;
                        places.extend(results.iter().copied().zip(taken.iter().map(|&k| Place::Unit(k))));
                        items.push(Item::Scalars { body, units: taken });
                    }
                    Action::Launch { results, target, .. } => {
                        let taken = match target {
                            None => self.take(units, &mut used, results)?,
                            Some(target) => self.begun(units, &mut used, results, target, &places, items)?,
                        };
                        let shape = &self.values[results.first()?.index()].as_ref()?.shape;
                        items.push(launch(launches.next()?, units, &taken, shape, &places)?);
                        places.extend(results.iter().copied().zip(taken.iter().map(|&k| Place::Unit(k))));
                    }
                    Action::View { array, source } => {
                        let place = self.place(&places, *source)?;
                        places.push((*array, place));
                    }
                }
            }
            arguments(items);
        }
        let mut rows = Vec::new();
        for (component, update) in self.rows {
            let array = &state[*component];
            let (Place::Unit(unit), source) = (array, self.place(&places, update.source)?) else { return None };
            if source.is(array) {
                return None;
            }
            let (count, row) = self.values[update.array.index()].as_ref()?.shape.split_first()?;
            let (combine, extents) = (update.combine, [*count, row.iter().product()]);
            rows.push(Row { unit: *unit, source, combine, number: &update.row, extents });
            places.push((*self.results[1].get(*component)?, array.clone()));
        }
        let of = |arrays: &[ArrayId]| arrays.iter().map(|&a| self.place(&places, a)).collect::<Option<Vec<Place>>>();
        let [go, next] = self.results.map(of);
        let [test, step] = items;
        Some((Phase { test, go: go?.into_iter().next()?, step, rows, places, state }, next?))
    }

    fn place(&self, places: &[(ArrayId, Place)], a: ArrayId) -> Option<Place> {
        let own = places.iter().find(|(b, _)| *b == a).map(|(_, place)| place.clone());
        own.or_else(|| self.values[a.index()].as_ref()?.columns.clone().map(Place::Outer))
    }

    /// A unit for the result of a scatter, which holds the array that elements are combined into.
    fn begun(
        &self,
        units: &mut Vec<Unit>,
        used: &mut Vec<bool>,
        results: &[ArrayId],
        target: &Target,
        places: &[(ArrayId, Place)],
        items: &mut Vec<Item<'a>>,
    ) -> Option<SmallVec<[usize; 2]>> {
        let from = self.place(places, target.array)?;
        if let Place::Unit(unit) = from
            && target.in_place
        {
            return Some(smallvec::smallvec![unit]);
        }
        let taken = self.take(units, used, results)?;
        let &to = taken.first()?;
        if units.get(to)?.bytes() > MAX_COPIED_BYTES {
            return None;
        }
        items.push(Item::Copy { from, to });
        Some(taken)
    }

    /// A unit for each of these arrays.
    fn take(&self, units: &mut Vec<Unit>, used: &mut Vec<bool>, arrays: &[ArrayId]) -> Option<SmallVec<[usize; 2]>> {
        let take = |&a: &ArrayId| {
            let (types, len) = ((self.types)(a), self.values[a.index()].as_ref()?.shape.iter().product());
            let free = units.iter().zip(used.iter()).position(|(u, used)| !used && u.len == len && u.types == types);
            let taken = match free {
                Some(free) => free,
                None => {
                    let buffers = self.cx.columns(&types, len).ok()?;
                    units.push(Unit { types, len, buffers });
                    used.push(false);
                    units.len() - 1
                }
            };
            *used.get_mut(taken)? = true;
            Some(taken)
        };
        arrays.iter().map(take).collect()
    }
}

/// The calls of a launch into units, the first one for an array of these extents; none if its machine code cannot store there.
fn launch<'a>(
    prepared: &Prepared<'a>,
    units: &mut [Unit],
    into: &[usize],
    shape: &[usize],
    places: &[(ArrayId, Place)],
) -> Option<Item<'a>> {
    let Prepared { job, code, is_parallel } = prepared;
    let threads = if *is_parallel { job.cx.threads.count() } else { 1 };
    let mut out: Vec<Vec<AnyBuffer>> = into.iter().map(|&k| std::mem::take(&mut units[k].buffers)).collect();
    let column = |a: ArrayId, leaf: u32| match &places.iter().find(|(b, _)| *b == a)?.1 {
        Place::Unit(k) => Some(column_address(units.get(*k)?.buffers.get(leaf as usize)?.as_slice())),
        Place::Outer(columns) => Some(column_address(columns.get(leaf as usize)?.slice())),
    };
    let calls = |calls: Vec<BoundCall<'a>>| calls.into_iter().map(Part::Call).collect();
    let (parts, streams) = match code {
        LaunchCode::Fold(code) => (code.bind(&mut out, code.count().div_ceil(threads), column).map(calls), false),
        LaunchCode::Tiles(code) => (code.bind(&mut out, threads, column).map(calls), false),
        LaunchCode::Product(plan) => {
            let products = product::bind(job, plan, &mut out, threads, column);
            (products.map(|products| products.into_iter().map(Part::Product).collect()), false)
        }
        LaunchCode::Scatter(code) => {
            let outs = out.iter_mut().flatten().map(|o| Some(o.as_out()));
            (Some(calls(vec![scatter::bound(job, code, shape, outs.collect(), column)])), false)
        }
        LaunchCode::Store(code) => {
            let n: usize = job.extents.iter().product();
            let mut buffers: Vec<AnyBuffer> = out.iter_mut().flat_map(std::mem::take).collect();
            let len = if *is_parallel { code.piece_len(n, threads) } else { n };
            let parts = pieces(&mut buffers, n, len).ok().and_then(|pieces| {
                let call = |mut piece| code.bind(&mut piece, column).map(Part::Call);
                pieces.into_iter().map(call).collect::<Option<Vec<Part<'a>>>>()
            });
            let mut buffers = buffers.into_iter();
            out = into.iter().map(|&k| buffers.by_ref().take(units[k].types.len()).collect()).collect();
            (parts, code.stream)
        }
    };
    into.iter().zip(out).for_each(|(&k, buffers)| units[k].buffers = buffers);
    let parts = parts?;
    Some(Item::Launch { is_parallel: parts.len() > 1, parts, streams })
}

/// Finds the arguments of calls that are positions of slices.
fn arguments(items: &mut [Item<'_>]) {
    for at in 0..items.len() {
        let (before, after) = items.split_at_mut(at + 1);
        let Some(Item::Position { array, calls, .. }) = before.last_mut() else { continue };
        for (number, item) in after.iter().enumerate() {
            let Item::Launch { parts, .. } = item else { continue };
            for (part, call) in parts.iter().enumerate() {
                let scalars = call.call().into_iter().flat_map(|call| call.scalars_of(*array));
                calls.extend(scalars.map(|(argument, scalar)| ScalarArgument {
                    item: at + 1 + number,
                    part,
                    argument,
                    scalar,
                }));
            }
        }
    }
}

impl Unit {
    fn bytes(&self) -> usize {
        self.types.iter().map(|ty| ty.size() * self.len).sum()
    }
}

impl Recording<'_> {
    /// The memory of a value, as a unit if nothing else uses it.
    fn place_of(&mut self, v: Value) -> Place {
        match AnyBuffer::reclaim_all(v.columns.unwrap_or_default()) {
            Ok(buffers) => {
                let types = buffers.iter().map(|b| b.as_slice().ty()).collect();
                let len = v.shape.iter().product();
                self.units.push(Unit { types, len, buffers });
                Place::Unit(self.units.len() - 1)
            }
            Err(columns) => Place::Outer(columns),
        }
    }

    /// The first phase from a state on.
    fn phase_from(&self, state: &[Place]) -> Option<usize> {
        self.phases.iter().position(|p| p.state.iter().zip(state).all(|(a, b)| a.is(b)))
    }

    /// The state before a phase, as values of parameters.
    pub(super) fn into_state(self, phase: usize, params: &[ArrayId], values: &[Option<Value>]) -> State {
        let state = self.phases.get(phase).map_or(&self.start, |p| &p.state);
        let units: Vec<Columns> = self.units.into_iter().map(|u| finish(u.buffers)).collect();
        let value = |(place, a): (&Place, &ArrayId)| {
            let columns = match place {
                Place::Outer(columns) => Some(columns.clone()),
                Place::Unit(k) => units.get(*k).cloned(),
            };
            let shape = values[a.index()].as_ref().map(|v| v.shape.clone()).unwrap_or_default();
            Value { shape, columns, flags: None, scalars: Bits::new() }
        };
        state.iter().zip(params).map(value).collect()
    }
}
