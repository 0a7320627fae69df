//! Calls of compiled kernels.

use super::c::Loaded;
use super::{Compiled, KernelArg, Variant};
use crate::bind::{FlagWindow, Input, Names};
use crate::buffer::{AnyBuffer, OutSlice};
use acc_core::RunLimits;
use acc_core::data::{Column, ColumnSlice};
use acc_core::ir::ArrayId;
use backend_native_lanes::all_types;
use half::f16;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The function of a module.
pub(crate) struct Entry(Loaded);

/// Arguments, range of rows, range of columns: see [`emit`](super::emit).
type Function = unsafe extern "C" fn(*const c_void, i64, i64, i64, i64) -> i64;

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallOutcome {
    /// Everything is computed.
    Done,
    /// Something faults, or is not evaluated: tiles must run this part.
    BailedOut,
    /// A limit of the run was reached.
    Stopped,
}

impl Entry {
    pub(super) fn new(code: Loaded) -> Entry {
        Entry(code)
    }

    fn function(&self) -> Function {
        // SAFETY: the address is that of the module's one function, which has this type; `Loaded` keeps it in memory.
        unsafe { std::mem::transmute::<*mut c_void, Function>(self.0.address.as_ptr()) }
    }

    /// Runs the small kernel with which a library is tried.
    pub(super) fn probe(&self, x: &mut [f32; 4]) -> i64 {
        // SAFETY: that kernel squares four floats in place and adds two of the numbers.
        unsafe { (self.function())(x.as_mut_ptr().cast(), 40, 0, 0, 2) }
    }
}

/// A part of an index space: positions over the outer axes and the lane axis, in row-major order.
pub(crate) struct Part {
    pub positions: Range<usize>,
    /// The extent of the lane axis.
    pub row: usize,
    /// Positions between two polls of the limits.
    pub most: usize,
    /// Columns per call, for all rows.
    pub panel: usize,
    /// For rows that are lanes, the folded elements; for rows in transposed blocks, the points in between.
    pub along: Range<usize>,
}

impl Part {
    /// These positions in one call, in rows of this extent.
    pub(crate) fn of(positions: Range<usize>, row: usize) -> Part {
        Part { positions, row, most: usize::MAX, panel: usize::MAX, along: 0..row }
    }
}

/// The memory that a part of an index space is computed into.
#[derive(Default)]
pub(crate) struct Memory<'m, 'o> {
    /// For each leaf of the results the memory of this part, if it is stored; for a scatter all of it.
    pub outs: &'m mut [Option<OutSlice<'o>>],
    /// For each leaf the value that a fold or scan starts from.
    pub before: &'m [u64],
    /// For each leaf whether a chunk has a prefix.
    pub preceded: &'m [bool],
    /// For each leaf the total of a chunk.
    pub totals: &'m mut [u64],
    /// For each leaf memory for the totals of a chunk's runs.
    pub run_totals: &'m mut [OutSlice<'o>],
    /// The extents of a scatter's target.
    pub target: &'m [usize],
    /// Positions that a scatter has combined, if it stopped early.
    pub progress: u64,
    /// The flags of the chunk's own elements.
    pub window: Option<&'m FlagWindow>,
    /// Partly materialised arrays.
    pub computed: &'m [Computed],
    /// The distance, in elements, to the next chunk of the thread.
    pub ahead: i64,
    /// The memory of the leaves behind `outs`, which several parts share.
    pub shared: Option<&'m Shared<'o>>,
}

/// A partly materialised array: some rows are computed, and no others are read.
pub(crate) struct Computed {
    array: ArrayId,
    /// The positions of these elements.
    there: Range<usize>,
    /// For each leaf the address that element 0 would have.
    origins: SmallVec<[u64; 2]>,
}

impl Computed {
    /// The array whose elements at these positions are in `memory`, leaf by leaf.
    pub(crate) fn new<'o>(array: ArrayId, there: Range<usize>, memory: impl Iterator<Item = OutSlice<'o>>) -> Computed {
        let origin =
            |mut m: OutSlice<'o>| out_address(&mut m).wrapping_sub((there.start * m.as_slice().ty().size()) as u64);
        Computed { array, origins: memory.map(origin).collect(), there: there.clone() }
    }

    /// All elements of an array, whose memory is in these columns.
    pub(crate) fn whole(array: ArrayId, columns: &[Column]) -> Computed {
        let there = 0..columns.first().map_or(0, Column::len);
        Computed { array, there, origins: columns.iter().map(|c| column_address(c.slice())).collect() }
    }

    /// The same elements under another name.
    pub(crate) fn named(&self, array: ArrayId) -> Computed {
        Computed { array, there: self.there.clone(), origins: self.origins.clone() }
    }
}

/// The memory of results that several calls fill at the same time, each at positions of its own.
pub(crate) struct Shared<'o> {
    starts: SmallVec<[u64; 2]>,
    of: PhantomData<&'o mut [AnyBuffer]>,
}

impl<'o> Shared<'o> {
    pub(crate) fn new(memory: impl Iterator<Item = &'o mut AnyBuffer>) -> Shared<'o> {
        Shared { starts: memory.map(|m| out_address(&mut m.as_out())).collect(), of: PhantomData }
    }

    /// The memory of these columns.
    pub(crate) fn of(memory: impl Iterator<Item = OutSlice<'o>>) -> Shared<'o> {
        Shared { starts: memory.map(|mut m| out_address(&mut m)).collect(), of: PhantomData }
    }
}

/// The arguments of a function.
type ArgWords = SmallVec<[u64; 24]>;

/// A compiled kernel with its arguments bound.
pub(crate) struct Call<'a> {
    code: &'a Compiled,
    entry: &'a Entry,
    args: ArgWords,
    limits: &'a RunLimits,
    /// Whether results are stored non-temporally, if they begin at cache lines.
    pub streams: bool,
}

extern "C" fn tick(limits: *const c_void) -> i32 {
    // SAFETY: the argument `PollContext` is the address of the limits that the call borrows.
    let limits = unsafe { &*limits.cast::<RunLimits>() };
    i32::from(limits.check().is_err())
}

fn address<T>(p: *const T) -> u64 {
    p.expose_provenance() as u64
}

pub(crate) fn column_address(c: ColumnSlice<'_>) -> u64 {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match c { $(ColumnSlice::$V(x) => address::<$t>(x.as_ptr())),* } };
    }
    all_types!(typed)
}

pub(crate) fn out_address(out: &mut OutSlice<'_>) -> u64 {
    macro_rules! typed {
        ($(($V:ident, $t:ty)),*) => { match out { $(OutSlice::$V(x) => address::<$t>(x.as_mut_ptr())),* } };
    }
    all_types!(typed)
}

impl<'a> Call<'a> {
    /// Binds what a kernel reads; none until its code is compiled. The code sees arrays that are not evaluated as
    /// empty.
    pub(crate) fn new(
        code: &'a Compiled,
        names: &'a dyn Names,
        variant: Variant,
        extents: &[usize],
        limits: &'a RunLimits,
    ) -> Option<Call<'a>> {
        let entry = code.entry()?;
        let flat = matches!(variant, Variant::Store { flat: true, .. });
        let inputs: SmallVec<[Option<Input<'a>>; 4]> = code.arrays.iter().map(|&a| names.input(a)).collect();
        let input = |a: ArrayId| inputs.get(code.arrays.binary_search(&a).ok()?)?.as_ref();
        let args = code.args.iter().map(|arg| match *arg {
            KernelArg::Poll => address(tick as *const ()),
            KernelArg::PollContext => address(std::ptr::from_ref(limits)),
            KernelArg::Extent(_) if flat => extents.iter().product::<usize>() as u64,
            KernelArg::Extent(axis) => extents.get(axis as usize).map_or(1, |&n| n as u64),
            KernelArg::ArrayExtent(a, _) if flat => input(a).map_or(0, |i| i.shape.iter().product::<usize>() as u64),
            KernelArg::ArrayExtent(a, axis) => {
                input(a).and_then(|i| i.shape.get(axis as usize)).map_or(0, |&n| n as u64)
            }
            KernelArg::Evaluated(a) => u64::from(input(a).is_some()),
            KernelArg::ReadableStart(_) => 0,
            KernelArg::ReadableEnd(a) => input(a).map_or(0, |i| i.shape.iter().product::<usize>() as u64),
            KernelArg::Column(a, leaf) => {
                input(a).and_then(|i| i.columns.get(leaf as usize)).map_or(0, |c| column_address(c.slice()))
            }
            KernelArg::Scalar(a, position) => names.scalar(a, position),
            KernelArg::Output(_)
            | KernelArg::OutputStart
            | KernelArg::RangeStart
            | KernelArg::RangeEnd
            | KernelArg::PrefetchDistance
            | KernelArg::CarryIn(_)
            | KernelArg::HasCarryIn(_)
            | KernelArg::Total(_) => 0,
            KernelArg::RunTotals(_) | KernelArg::TargetExtent(_) | KernelArg::Progress => 0,
        });
        let args = args.collect();
        let streams = matches!(
            variant,
            Variant::Store { stream: true, .. } | Variant::UnalignedStreaming | Variant::Chunk { stream: true }
        );
        Some(Call { code, entry, args, limits, streams })
    }

    /// The arguments of a part whose first element is at a position.
    fn args_of(&self, first: usize, along: &Range<usize>, memory: &mut Memory<'_, '_>) -> ArgWords {
        let Memory { outs, before, preceded, totals, run_totals, target, progress, window, shared, computed, ahead } =
            memory;
        let count = outs.len();
        let shared = |k: usize| shared.and_then(|s| s.starts.get(k.checked_sub(count)?)).copied();
        let rows = |a: ArrayId| computed.iter().find(|c| c.array == a);
        let flags = |a: ArrayId| window.and_then(|window| window.of(a).map(|flags| (window, flags)));
        let mut args = self.args.clone();
        for (arg, place) in self.code.args.iter().zip(&mut args) {
            match *arg {
                KernelArg::Output(k) => {
                    let own = outs.get_mut(k as usize).and_then(Option::as_mut).map(out_address);
                    *place = own.or_else(|| shared(k as usize)).unwrap_or(0);
                }
                KernelArg::OutputStart => *place = first as u64,
                KernelArg::RangeStart => *place = along.start as u64,
                KernelArg::RangeEnd => *place = along.end as u64,
                KernelArg::PrefetchDistance => *place = *ahead as u64,
                KernelArg::CarryIn(k) => *place = before.get(k as usize).copied().unwrap_or(0),
                KernelArg::HasCarryIn(k) => *place = preceded.get(k as usize).map_or(0, |&p| u64::from(p)),
                KernelArg::Total(k) => {
                    *place = totals.get_mut(k as usize).map_or(0, |t| address(std::ptr::from_mut(t)))
                }
                KernelArg::RunTotals(k) => *place = run_totals.get_mut(k as usize).map_or(0, out_address),
                KernelArg::TargetExtent(axis) => *place = target.get(axis as usize).map_or(0, |&n| n as u64),
                KernelArg::Progress => *place = address(std::ptr::from_mut(progress)),
                KernelArg::ArrayExtent(a, _) => {
                    if let Some((_, flags)) = flags(a) {
                        *place = flags.extent as u64;
                    }
                }
                KernelArg::Evaluated(a) => *place |= u64::from(flags(a).is_some()),
                // Biased so that the part's own elements are found; those before them are not read.
                KernelArg::Column(a, leaf) => {
                    if let Some((window, flags)) = flags(a) {
                        *place = address(flags.values.as_ptr()).wrapping_sub(window.range.start as u64);
                    }
                    let origin = rows(a).and_then(|c| c.origins.get(leaf as usize));
                    *place = origin.copied().unwrap_or(*place);
                }
                KernelArg::ReadableStart(a) => *place = rows(a).map_or(*place, |c| c.there.start as u64),
                KernelArg::ReadableEnd(a) => *place = rows(a).map_or(*place, |c| c.there.end as u64),
                KernelArg::Poll | KernelArg::PollContext | KernelArg::Extent(_) | KernelArg::Scalar(..) => {}
            }
        }
        args
    }

    /// Computes the points in these ranges of the first two axes, and of the first folded one (`along`), in the order
    /// of the kernel's loops; `first` is the position of the first point, at which the memory begins.
    pub(crate) fn run_loops(
        &self,
        axes: [Range<usize>; 2],
        along: &Range<usize>,
        first: usize,
        memory: &mut Memory<'_, '_>,
    ) -> CallOutcome {
        let args = self.args_of(first, along, memory);
        let [rows, columns] = axes;
        self.call(&args, rows, columns)
    }

    /// Computes all rows of some columns, a panel at a time; for rows in blocks, those of some points `between`.
    /// Results are in shared memory.
    pub(crate) fn run_columns(
        &self,
        rows: usize,
        between: &Range<usize>,
        (columns, panel): (Range<usize>, usize),
        shared: &Shared<'_>,
    ) -> CallOutcome {
        let args = self.args_of(0, between, &mut Memory { shared: Some(shared), ..Memory::default() });
        for first in columns.clone().step_by(panel) {
            let ended = self.call(&args, 0..rows, first..columns.end.min(first + panel));
            if ended != CallOutcome::Done {
                return ended;
            }
        }
        CallOutcome::Done
    }

    /// Computes whole rows; results are in shared memory.
    pub(crate) fn run_rows(&self, rows: Range<usize>, columns: usize, shared: &Shared<'_>) -> CallOutcome {
        let args = self.args_of(0, &(0..0), &mut Memory { shared: Some(shared), ..Memory::default() });
        self.call(&args, rows, 0..columns)
    }

    /// Computes a part of the index space.
    pub(crate) fn run(&self, part: Part, memory: &mut Memory<'_, '_>) -> CallOutcome {
        let args = self.args_of(part.positions.start, &part.along, memory);
        part.run(self.limits, |rows, columns| self.call(&args, rows, columns))
    }

    /// The call for a part with all of its arguments, to be repeated; `column` is the address of a leaf of those arrays
    /// whose memory is not that of the names.
    pub(crate) fn bind(
        &self,
        part: Part,
        memory: &mut Memory<'_, '_>,
        column: impl Fn(ArrayId, u32) -> Option<u64>,
    ) -> BoundCall<'a> {
        let first = part.positions.start;
        self.bind_from(first, part, memory, column)
    }

    /// The same in the order of the kernel's loops. The part is of the first two axes; its first point is at the position `first`.
    pub(crate) fn bind_from(
        &self,
        first: usize,
        part: Part,
        memory: &mut Memory<'_, '_>,
        column: impl Fn(ArrayId, u32) -> Option<u64>,
    ) -> BoundCall<'a> {
        let args = self.args_of(first, &part.along, memory);
        let progress = Box::new(AtomicU64::new(0));
        let bound = self.code.args.iter().zip(args).map(|(arg, word)| match *arg {
            KernelArg::Column(a, leaf) => column(a, leaf).unwrap_or(word),
            KernelArg::Progress => address(progress.as_ptr()),
            _ => word,
        });
        let args = bound.map(AtomicU64::new).collect();
        BoundCall { code: self.code, entry: self.entry, args, limits: self.limits, part, _progress: progress }
    }

    fn call(&self, args: &[u64], rows: Range<usize>, columns: Range<usize>) -> CallOutcome {
        self.entry.call(args.as_ptr().cast(), rows, columns)
    }
}

impl Entry {
    /// Calls the function for these rows and columns.
    fn call(&self, args: *const c_void, rows: Range<usize>, columns: Range<usize>) -> CallOutcome {
        let [r0, r1, c0, c1] = [rows.start, rows.end, columns.start, columns.end].map(|n| n as i64);
        // SAFETY: the arguments are those that the code was generated for, with the meaning of their kinds: extents,
        // and addresses of columns that have as many elements as the array's extents say, of the type that the verified
        // kernel has for them. Flag windows have the elements of the part alone, and the kernel reads no others
        // (`lower::flags`); nor does it read other rows of partly materialised arrays (`lower::row_blocking`). The code
        // reads a column only at indices that it compared with the extents, and bytes of the aligned words around such
        // elements, whose values are ignored (`emit::access::subword_gather`). It writes results only at the positions
        // asked for, for which there is memory; calls that share memory are asked for different positions
        // (`run::rows::permuted_scan_store`, `run::elementwise::column_panels`), and the memory of a bound call lives as
        // long as its recording (`run::loops`).
        let said = unsafe { (self.function())(args, r0, r1, c0, c1) };
        match said {
            0 => CallOutcome::Done,
            1 => CallOutcome::BailedOut,
            _ => CallOutcome::Stopped,
        }
    }
}

impl Part {
    /// Calls for all of its rectangles, with polls of the limits in between.
    fn run(&self, limits: &RunLimits, call: impl Fn(Range<usize>, Range<usize>) -> CallOutcome) -> CallOutcome {
        let Range { mut start, end } = self.positions;
        while start < end {
            let next = end.min(start.saturating_add(self.most.max(1)));
            for (rows, columns) in rectangles(start..next, self.row.max(1)) {
                for first in columns.clone().step_by(self.panel.max(1)) {
                    let columns = first..columns.end.min(first.saturating_add(self.panel));
                    let ended = call(rows.clone(), columns);
                    if ended != CallOutcome::Done {
                        return ended;
                    }
                }
            }
            if limits.check().is_err() {
                return CallOutcome::Stopped;
            }
            start = next;
        }
        CallOutcome::Done
    }
}

/// A call for a part of an index space whose arguments are computed once, for launches that are repeated.
pub(crate) struct BoundCall<'a> {
    code: &'a Compiled,
    entry: &'a Entry,
    args: Box<[AtomicU64]>,
    limits: &'a RunLimits,
    part: Part,
    /// Where a scatter counts the positions that it has combined: an argument is its address.
    _progress: Box<AtomicU64>,
}

impl BoundCall<'_> {
    /// The arguments that are scalars of an array's closed function: their numbers, and the positions of the scalars.
    pub(crate) fn scalars_of(&self, array: ArrayId) -> impl Iterator<Item = (usize, u32)> {
        self.code.args.iter().enumerate().filter_map(move |(number, arg)| match *arg {
            KernelArg::Scalar(a, position) if a == array => Some((number, position)),
            _ => None,
        })
    }

    /// Replaces an argument that is a scalar; no other thread calls meanwhile.
    pub(crate) fn set_scalar(&self, number: usize, bits: u64) {
        if let (Some(KernelArg::Scalar(..)), Some(arg)) = (self.code.args.get(number), self.args.get(number)) {
            arg.store(bits, Ordering::Relaxed);
        }
    }

    /// Computes the part.
    pub(crate) fn run(&self) -> CallOutcome {
        self.part.run(self.limits, |rows, columns| self.entry.call(self.args.as_ptr().cast(), rows, columns))
    }
}

/// Cuts a range of row-major positions into rectangles: part of a row, whole rows, part of a row.
fn rectangles(positions: Range<usize>, row: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let Range { mut start, end } = positions;
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        let (r, c) = (start / row, start % row);
        let whole = if c == 0 { (end - start) / row } else { 0 };
        let (rows, columns) = match whole {
            0 => (r..r + 1, c..row.min(c + end - start)),
            n => (r..r + n, 0..row),
        };
        start += rows.len() * columns.len();
        Some((rows, columns))
    })
}

#[cfg(test)]
mod tests {
    use super::rectangles;

    #[test]
    fn rectangles_cover_a_range_once() {
        for (start, end, row) in [(0, 0, 3), (0, 12, 4), (1, 2, 4), (3, 22, 5), (5, 10, 5), (7, 9, 1), (2, 9, 100)] {
            let mut positions = Vec::new();
            for (rows, columns) in rectangles(start..end, row) {
                for r in rows {
                    positions.extend(columns.clone().map(|c| r * row + c));
                }
            }
            assert_eq!(positions, (start..end).collect::<Vec<_>>());
        }
    }
}
