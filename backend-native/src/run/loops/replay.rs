//! Replays recordings: the steps of a loop, without anything that is equal in all of them.

use super::record::{Item, Part, Phase, Place, Recording, Row, Unit};
use super::rounds::Rounds;
use crate::buffer::AnyBuffer;
use crate::llvm::call::CallOutcome;
use crate::run::launch::Context;
use crate::run::scalar_eval::{self, Arrays};
use crate::run::{Value, shape};
use crate::tile::{lanes, memory, reduce};
use acc_core::Error;
use acc_core::data::ColumnSlice;
use acc_core::ir::{ArrayId, PrimOp};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// Steps between two polls of the limits, beside those of launches.
const STEPS_PER_POLL: usize = 64;

/// Why a recording is left.
pub(super) enum End {
    /// The loop is over.
    Ended,
    /// The next step must be launched.
    Left,
    /// A limit of the run is reached.
    Stopped(Error),
}

/// The steps that a recording completed, the phase of the next one, and why it was left.
pub(super) struct Replayed {
    pub steps: usize,
    pub phase: usize,
    pub end: End,
}

/// The arrays of a phase.
struct Elements<'r> {
    values: &'r [Option<Value>],
    places: &'r [(ArrayId, Place)],
    units: &'r [Unit],
}

impl Elements<'_> {
    fn at(&self, place: &Place, leaf: usize, at: usize) -> Option<u64> {
        Some(leaf_of(place, leaf, self.units)?.get(at)?.bits)
    }
}

impl Arrays for Elements<'_> {
    fn shape(&self, array: ArrayId) -> Option<&[usize]> {
        self.values.shape(array)
    }

    fn bits(&self, array: ArrayId, leaf: usize, at: usize) -> Option<u64> {
        match self.places.iter().find(|(a, _)| *a == array) {
            Some((_, place)) => self.at(place, leaf, at),
            None => self.values.bits(array, leaf, at),
        }
    }
}

impl Phase<'_> {
    /// An item of the test, or else of the step.
    fn item(&self, number: usize) -> Option<&Item<'_>> {
        self.test.get(number).or_else(|| self.step.get(number.checked_sub(self.test.len())?))
    }

    fn items(&self) -> impl Iterator<Item = &Item<'_>> {
        self.test.iter().chain(&self.step)
    }

    /// Whether the loop goes on, and the step is done; false if the recording is to be left, with the reason.
    fn run(
        &self,
        units: &mut [Unit],
        values: &[Option<Value>],
        launch: &dyn Fn(usize) -> CallOutcome,
    ) -> Result<(), Option<CallOutcome>> {
        self.block(&self.test, 0, units, values, launch)?;
        let go = Elements { values, places: &self.places, units }.at(&self.go, 0, 0);
        if go.is_none_or(|go| go == 0) {
            return Err(None);
        }
        self.block(&self.step, self.test.len(), units, values, launch)?;
        self.replace_rows(units, values)
    }

    /// Replaces rows; none if one is out of bounds.
    fn replace_rows(&self, units: &mut [Unit], values: &[Option<Value>]) -> Result<(), Option<CallOutcome>> {
        let elements = Elements { values, places: &self.places, units };
        let number = |row: &Row<'_>| {
            let number = *scalar_eval::evaluate(row.number, &elements)?.first()?;
            usize::try_from(number).ok().filter(|number| *number < row.extents[0])
        };
        let numbers: Option<SmallVec<[usize; 4]>> = self.rows.iter().map(number).collect();
        for (row, number) in self.rows.iter().zip(numbers.ok_or(Some(CallOutcome::BailedOut))?) {
            update_unit(units, row.unit, &row.source, (number, row.extents[1]), row.combine);
        }
        Ok(())
    }

    fn block(
        &self,
        items: &[Item<'_>],
        first: usize,
        units: &mut [Unit],
        values: &[Option<Value>],
        launch: &dyn Fn(usize) -> CallOutcome,
    ) -> Result<(), Option<CallOutcome>> {
        const LEFT: Option<CallOutcome> = Some(CallOutcome::BailedOut);
        for (number, item) in items.iter().enumerate() {
            let evaluate = |body, units: &[Unit]| {
                scalar_eval::evaluate(body, &Elements { values, places: &self.places, units }).ok_or(LEFT)
            };
            match item {
                Item::Same { body, value } => {
                    if evaluate(body, units)? != *value {
                        return Err(LEFT);
                    }
                }
                Item::Position { body, axes, extents, calls, .. } => {
                    let position = evaluate(body, units)?;
                    if !shape::inside(axes, &position, extents) {
                        return Err(LEFT);
                    }
                    for c in calls {
                        if let Some(Item::Launch { parts, .. }) = items.get(c.item)
                            && let Some(call) = parts.get(c.part).and_then(Part::call)
                            && let Some(&bits) = position.get(c.scalar as usize)
                        {
                            call.set_scalar(c.argument, bits);
                        }
                    }
                }
                Item::Scalars { body, units: into } => {
                    let mut results = evaluate(body, units)?.into_iter();
                    for &k in into {
                        let buffers = units.get_mut(k).map(|unit| &mut unit.buffers[..]).unwrap_or_default();
                        for (buffer, bits) in buffers.iter_mut().zip(&mut results) {
                            lanes::fill_first(buffer.as_out(), bits);
                        }
                    }
                }
                Item::Copy { from, to } => {
                    let len = units.get(*to).map_or(0, |unit| unit.len);
                    update_unit(units, *to, from, (0, len), None);
                }
                Item::Launch { .. } => match launch(first + number) {
                    CallOutcome::Done => {}
                    ended => return Err(Some(ended)),
                },
            }
        }
        Ok(())
    }
}

/// The elements of a leaf.
fn leaf_of<'a>(place: &'a Place, leaf: usize, units: &'a [Unit]) -> Option<ColumnSlice<'a>> {
    match place {
        Place::Unit(k) => Some(units.get(*k)?.buffers.get(leaf)?.as_slice()),
        Place::Outer(columns) => Some(columns.get(leaf)?.slice()),
    }
}

/// Replaces a row of a unit by an array, or combines them.
fn update_unit(units: &mut [Unit], to: usize, from: &Place, (row, len): (usize, usize), combine: Option<PrimOp>) {
    let Some(unit) = units.get_mut(to) else { return };
    let mut buffers = std::mem::take(&mut unit.buffers);
    for (leaf, column) in buffers.iter_mut().enumerate() {
        if let Some(from) = leaf_of(from, leaf, units) {
            update(column, row, len, combine, from);
        }
    }
    units[to].buffers = buffers;
}

/// Replaces the row of this number, of so many elements, or combines it with others.
pub(super) fn update(column: &mut AnyBuffer, row: usize, len: usize, combine: Option<PrimOp>, from: ColumnSlice<'_>) {
    let (_, rest) = column.as_out().split_at(row * len);
    let (to, from) = (rest.split_at(len).0, lanes::part(from, 0, len));
    match combine {
        None => lanes::copy(from, to),
        Some(op) => reduce::merge(op, to, from),
    }
}

/// Computes a part of a launch.
fn compute(item: Option<&Item<'_>>, part: usize) -> CallOutcome {
    let Some(Item::Launch { parts, streams, .. }) = item else { return CallOutcome::Done };
    let ended = parts.get(part).map_or(CallOutcome::Done, Part::run);
    if *streams {
        memory::finish();
    }
    ended
}

impl Recording<'_> {
    /// Runs steps, as long as they complete.
    pub(super) fn replay(&mut self, values: &[Option<Value>], cx: Context<'_>) -> Replayed {
        let Recording { units, phases, first, .. } = self;
        let (phases, first) = (&phases[..], *first);
        let is_parallel = |item: &Item<'_>| matches!(item, Item::Launch { is_parallel: true, .. });
        if !phases.iter().flat_map(Phase::items).any(is_parallel) {
            let launch = |phase: usize, number: usize| compute(phases.get(phase).and_then(|p| p.item(number)), 0);
            return steps(phases, first, units, values, cx, &launch);
        }
        // Launches are numbered through all phases.
        let most = phases.iter().map(|p| p.items().count()).max().unwrap_or(1);
        let item = |launch: usize| phases.get(launch / most).and_then(|p| p.item(launch % most));
        let part = |launch: usize, part: usize| compute(item(launch), part);
        let rounds = Rounds::new(cx.threads.count(), &part);
        let replayed = Mutex::new((units, None));
        rounds.run(cx.threads, || {
            let mut guard = replayed.lock().unwrap_or_else(PoisonError::into_inner);
            let (units, replayed) = &mut *guard;
            let launch = |phase: usize, number: usize| match item(phase * most + number) {
                Some(launch) if is_parallel(launch) => rounds.launch(phase * most + number),
                launch => compute(launch, 0),
            };
            *replayed = Some(steps(phases, first, units, values, cx, &launch));
        });
        let (_, replayed) = replayed.into_inner().unwrap_or_else(PoisonError::into_inner);
        replayed.unwrap_or(Replayed { steps: 0, phase: 0, end: End::Left })
    }
}

/// Runs steps; `launch` computes what a phase's item of some number does.
fn steps(
    phases: &[Phase<'_>],
    first: usize,
    units: &mut [Unit],
    values: &[Option<Value>],
    cx: Context<'_>,
    launch: &dyn Fn(usize, usize) -> CallOutcome,
) -> Replayed {
    let (mut steps, mut phase) = (0usize, 0);
    let stopped = || cx.limits.check().err();
    let end = loop {
        let Some(now) = phases.get(phase) else { break End::Left };
        match now.run(units, values, &|number| launch(phase, number)) {
            Ok(()) => {}
            Err(None) => break End::Ended,
            Err(Some(CallOutcome::Stopped)) => break stopped().map_or(End::Left, End::Stopped),
            Err(Some(CallOutcome::Done | CallOutcome::BailedOut)) => break End::Left,
        }
        steps += 1;
        phase = if phase + 1 < phases.len() { phase + 1 } else { first };
        if steps.is_multiple_of(STEPS_PER_POLL)
            && let Some(error) = stopped()
        {
            break End::Stopped(error);
        }
    };
    Replayed { steps, phase, end }
}
