//! Runs bytecode over tiles of lanes.

use super::access::position;
use super::chain::Direct;
use super::lanes::{self, Lane, Lanes};
use super::prims;
use super::register_blocks::{MAX_BLOCK_LANES, Place};
use crate::bind::{FlagWindow, Input};
use crate::buffer::AlignedVec;
use crate::tile::access::transposed_load::TransposedRows;
use crate::tile::bytecode::{Bytecode, Call, Inst, Slot};
use acc_core::data::{ColumnSlice, Lit};
use acc_core::ir::{ArrayId, Loc};
use acc_core::{Cause, Error, Fault, RunLimits};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why a body stopped.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// A fault of the user's program.
    Fault(Fault, Loc),
    /// An array that is not evaluated yet is needed.
    Demand(ArrayId),
    /// A limit of the run, or no memory.
    Error(Error),
}

/// Why a body stopped, and the first lane concerned.
#[derive(Debug)]
pub(crate) struct Event {
    pub lane: usize,
    pub stop: Stop,
}

/// Bodies stop rarely, so what they stop with is boxed.
pub(crate) type Outcome<T = ()> = Result<T, Box<Event>>;

pub(crate) fn event<T>(lane: usize, stop: Stop) -> Outcome<T> {
    Err(Box::new(Event { lane, stop }))
}

/// Compiled bytecode with the buffers of former runs, for reuse.
pub(crate) struct Code {
    pub bytecode: Bytecode,
    /// Lanes of a tile.
    pub lanes: usize,
    frames: Mutex<Vec<Vec<Lanes>>>,
}

impl Code {
    pub(crate) fn new(bytecode: Bytecode, lanes: usize) -> Code {
        Code { bytecode, lanes, frames: Mutex::new(Vec::new()) }
    }

    fn frame(&self) -> Vec<Lanes> {
        let kept = self.frames.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if kept.is_some() {
            RETAINED_FRAME_BYTES.fetch_sub(self.frame_bytes(), Ordering::Relaxed);
        }
        kept.unwrap_or_else(|| {
            let mut own: Vec<Lanes> = self
                .bytecode
                .slots
                .iter()
                .map(|&t| Lanes::new(t, self.lanes.next_multiple_of(MAX_BLOCK_LANES)))
                .collect();
            for &(s, bits) in &self.bytecode.consts {
                own[s as usize].fill(self.lanes, bits);
            }
            own
        })
    }

    fn keep(&self, frame: Vec<Lanes>) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = RETAINED_FRAME_BYTES.fetch_add(self.frame_bytes(), Ordering::Relaxed);
        if frames.len() < MAX_RETAINED_FRAMES && kept <= MAX_RETAINED_FRAME_BYTES {
            frames.push(frame);
        } else {
            RETAINED_FRAME_BYTES.fetch_sub(self.frame_bytes(), Ordering::Relaxed);
        }
    }

    fn frame_bytes(&self) -> usize {
        self.lanes * self.bytecode.slots.iter().map(|t| t.size()).sum::<usize>()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        let frames = self.frames.get_mut().unwrap_or_else(PoisonError::into_inner).len();
        RETAINED_FRAME_BYTES.fetch_sub(frames * self.frame_bytes(), Ordering::Relaxed);
    }
}

/// Frames kept per body: enough for a program that several threads call at once.
const MAX_RETAINED_FRAMES: usize = 32;
/// Bytes of frames kept by all bodies, of which there may be many.
const MAX_RETAINED_FRAME_BYTES: usize = 128 << 20;
static RETAINED_FRAME_BYTES: AtomicUsize = AtomicUsize::new(0);

/// What the names in bytecode are bound to in a launch.
pub(crate) struct Bound<'a> {
    /// By the bytecode's numbers; `None` if not evaluated.
    pub inputs: Vec<Option<Input<'a>>>,
    /// By the bytecode's numbers, as bits.
    pub scalars: Vec<u64>,
    /// Results of the uniform groups.
    pub uniforms: Vec<OnceLock<Result<Vec<u64>, Stop>>>,
    pub limits: &'a RunLimits,
}

/// The index space, and the axes `lo..hi` that the lanes of a tile run over, row-major; the others are fixed.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub extents: SmallVec<[usize; 4]>,
    pub lo: usize,
    pub hi: usize,
}

impl Space {
    pub(crate) fn lane_extents(&self) -> &[usize] {
        &self.extents[self.lo..self.hi]
    }
}

/// How the address of an affine load follows the lanes.
#[derive(Clone, Debug)]
pub(crate) enum AccessPlan {
    /// Not decided yet.
    Unknown,
    /// `constant + sum(coefficient * index)` over all axes, in bounds for the whole launch.
    Affine { constant: i64, coefficients: SmallVec<[i64; 4]>, shape: AccessPattern },
    /// Rows of an affine load with boundaries, in an array with these strides: see `access::boundary`.
    Boundary { strides: SmallVec<[i64; 4]> },
    /// Computed and checked lane by lane.
    PerLane,
}

/// The pattern of an affine load over the lanes of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessPattern {
    /// Consecutive elements.
    Contiguous,
    /// One element for all lanes.
    Uniform,
    /// A stride along the last lane axis.
    Strided,
}

/// Where a chain finds the lanes of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoadedLanes {
    /// In their buffer, or in place in memory.
    Plain,
    /// One block of equal lanes is in the buffer.
    Uniform,
    /// In place in memory; the first or the last block is in the buffer if `first` or `last` is set.
    InPlace { memory: *mut u8, first: bool, last: bool },
}

/// Runs bytecode; one per worker and launch.
pub(crate) struct Machine<'a> {
    pub code: &'a Code,
    pub bytecode: &'a Bytecode,
    pub bound: &'a Bound<'a>,
    pub space: &'a Space,
    /// The values of the fixed axes.
    pub fixed: SmallVec<[i64; 4]>,
    /// The lane position of the tile's first lane.
    pub start: usize,
    pub own: Vec<Lanes>,
    pub refs: Vec<Option<ColumnSlice<'a>>>,
    pub plans: Vec<AccessPlan>,
    /// Where the lanes of the latest load into each buffer are, if only chains use them.
    pub(super) loaded: Vec<LoadedLanes>,
    /// The row before which consecutive tiles over the same lanes of each row end; loads across rows are transposed
    /// then.
    pub transposes_until_row: Option<usize>,
    /// Lanes loaded in advance for the next rows, by plan.
    pub(super) transposed: Vec<Option<TransposedRows>>,
    filled: Vec<bool>,
    /// Scratch: positions of a gather.
    pub at: Vec<usize>,
    /// Scratch: one index.
    pub index: Vec<i64>,
    /// Scratch: blocks of chains.
    pub(super) pieces: AlignedVec<u64>,
    /// Results that the current tile writes directly to memory.
    pub(super) memory: Direct,
    /// Scratch: where the operands of a chain lie.
    pub(super) places: Vec<Place>,
    pub(super) lists: Vec<Vec<u32>>,
    /// Lane operations since the limits were last polled.
    work: usize,
    /// The flags around the current rows.
    pub window: FlagWindow,
}

/// All buffers of a machine except one that is written.
pub(super) struct Others<'m, 'a> {
    before: &'m [Lanes],
    after: &'m [Lanes],
    refs: &'m [Option<ColumnSlice<'a>>],
}

impl<'m> Others<'m, '_> {
    /// The lanes of a buffer other than the one that is written.
    #[inline(always)]
    pub(super) fn get(&self, s: Slot, n: usize) -> ColumnSlice<'m> {
        let (at, written) = (s as usize, self.before.len());
        debug_assert_ne!(at, written, "a buffer that is read while it is written");
        match self.refs[at] {
            Some(r) => lanes::prefix(r, n),
            None if at < written => self.before[at].slice(n),
            None => self.after[at - written - 1].slice(n),
        }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        self.code.keep(std::mem::take(&mut self.own));
    }
}

/// Lane operations between two polls of the limits: a few milliseconds for the slowest ones.
const WORK_PER_POLL: usize = 1 << 17;

impl<'a> Machine<'a> {
    pub(crate) fn new(code: &'a Code, bound: &'a Bound<'a>, space: &'a Space) -> Machine<'a> {
        let bytecode = &code.bytecode;
        Machine {
            code,
            bytecode,
            bound,
            space,
            fixed: smallvec::smallvec![0; space.extents.len()],
            start: 0,
            own: code.frame(),
            refs: vec![None; bytecode.slots.len()],
            plans: vec![AccessPlan::Unknown; bytecode.plans],
            loaded: vec![LoadedLanes::Plain; bytecode.slots.len()],
            transposes_until_row: None,
            transposed: (0..bytecode.plans).map(|_| None).collect(),
            filled: vec![false; bytecode.groups],
            at: Vec::new(),
            index: Vec::new(),
            pieces: AlignedVec::default(),
            memory: Direct::new(),
            places: Vec::new(),
            lists: Vec::new(),
            work: 0,
            window: FlagWindow::default(),
        }
    }

    /// Evaluates the body for `n` lanes from lane position `start` on.
    pub(crate) fn tile(&mut self, start: usize, n: usize) -> Outcome {
        self.start = start;
        for axis in 0..self.space.extents.len() {
            if self.bytecode.param_used[axis] {
                self.fill_param(axis, n);
            }
        }
        self.run(&self.bytecode.code, n, true)
    }

    /// Evaluates the body for `n` lanes whose parameters are set already.
    pub(crate) fn call(&mut self, n: usize) -> Outcome {
        self.run(&self.bytecode.code, n, true)
    }

    /// Polls the limits now and then.
    pub(crate) fn tick(&mut self, work: usize) -> Outcome {
        self.work += work;
        if self.work >= WORK_PER_POLL {
            self.work = 0;
            if let Err(e) = self.bound.limits.check() {
                return event(0, Stop::Error(e));
            }
        }
        Ok(())
    }

    fn fill_param(&mut self, axis: usize, n: usize) {
        let slot = self.bytecode.params[axis] as usize;
        let mut lanes = std::mem::take(&mut self.own[slot]);
        self.axis_index(axis, &mut i64::of_mut(&mut lanes)[..n]);
        self.own[slot] = lanes;
        self.refs[slot] = None;
    }

    /// The index along an axis, for the first lanes of the tile.
    pub(crate) fn axis_index(&self, axis: usize, out: &mut [i64]) {
        let Space { extents, lo, hi } = self.space;
        if axis < *lo || axis >= *hi {
            out.fill(self.fixed[axis]);
            return;
        }
        let extent = extents[axis].max(1);
        let run: usize = extents[axis + 1..*hi].iter().product::<usize>().max(1);
        let mut k = 0;
        let mut pos = self.start;
        while k < out.len() {
            let value = (pos / run) % extent;
            let len = if run == 1 { extent - value } else { run - pos % run }.min(out.len() - k);
            if run == 1 {
                position::count(value as i64, &mut out[k..k + len]);
            } else {
                out[k..k + len].fill(value as i64);
            }
            k += len;
            pos += len;
        }
    }

    /// The lanes of a buffer.
    pub(crate) fn get(&self, s: Slot, n: usize) -> ColumnSlice<'_> {
        match self.refs[s as usize] {
            Some(r) => lanes::prefix(r, n),
            None => self.own[s as usize].slice(n),
        }
    }

    pub(crate) fn typed<T: Lane>(&self, s: Slot, n: usize) -> &[T] {
        T::of_slice_or_empty(self.get(s, n))
    }

    /// A buffer to be written, and those to be read meanwhile.
    #[inline(always)]
    pub(super) fn writing(&mut self, out: Slot) -> (&mut Lanes, Others<'_, 'a>) {
        self.refs[out as usize] = None;
        let (before, rest) = self.own.split_at_mut(out as usize);
        let (written, after) = rest.split_at_mut(1);
        (&mut written[0], Others { before, after, refs: &self.refs })
    }

    /// Takes a buffer out to be written.
    pub(crate) fn take(&mut self, s: Slot) -> Lanes {
        self.refs[s as usize] = None;
        std::mem::take(&mut self.own[s as usize])
    }

    pub(crate) fn put(&mut self, s: Slot, lanes: Lanes) {
        self.own[s as usize] = lanes;
    }

    pub(super) fn run(&mut self, code: &'a [Inst], n: usize, contiguous: bool) -> Outcome {
        self.tick((n + 64) * (1 + code.len()))?;
        for inst in code {
            self.step(inst, n, contiguous)?;
        }
        Ok(())
    }

    fn step(&mut self, inst: &'a Inst, n: usize, contiguous: bool) -> Outcome {
        match inst {
            Inst::Unary { op, a, out } => {
                let (o, from) = self.writing(*out);
                prims::unary(*op, from.get(*a, n), o);
            }
            Inst::Binary { op, a, b, out, loc } => {
                let (o, from) = self.writing(*out);
                if let Err(lane) = prims::binary(*op, from.get(*a, n), from.get(*b, n), o) {
                    return event(lane, Stop::Fault(Fault::DivisionByZero, loc.clone()));
                }
            }
            Inst::Chain(chain) => self.chain(chain, n),
            Inst::Fma { a, b, c, out } => {
                let (o, from) = self.writing(*out);
                prims::fma(from.get(*a, n), from.get(*b, n), from.get(*c, n), o);
            }
            Inst::Table { words, a, out } => {
                let (o, from) = self.writing(*out);
                prims::table(words, i64::of_slice_or_empty(from.get(*a, n)), o);
            }
            Inst::Cast { a, out } => {
                let (o, from) = self.writing(*out);
                prims::cast(from.get(*a, n), o);
            }
            Inst::Bitcast { a, out } => {
                let (o, from) = self.writing(*out);
                prims::bitcast(from.get(*a, n), o);
            }
            Inst::Select { c, a, b, out } => {
                let (o, from) = self.writing(*out);
                prims::select(bool::of_slice_or_empty(from.get(*c, n)), from.get(*a, n), from.get(*b, n), o);
            }
            Inst::Call(call) => return self.call_host(call, n),
            Inst::Scalar { scalar, out } => {
                let bits = self.bound.scalars[*scalar as usize];
                self.refs[*out as usize] = None;
                self.own[*out as usize].fill(n, bits);
            }
            Inst::Extent { array, axis, out } => {
                let Some(input) = &self.bound.inputs[*array as usize] else {
                    return event(0, Stop::Demand(self.bytecode.arrays[*array as usize]));
                };
                let extent = input.shape[*axis as usize] as u64;
                self.refs[*out as usize] = None;
                self.own[*out as usize].fill(n, extent);
            }
            Inst::Load { access, leaves, outs } => return self.load(access, leaves, outs, n, contiguous),
            Inst::Inside { access, out } => return self.inside(access, *out, n, contiguous),
            Inst::Check { access } => return self.load(access, &[], &[], n, contiguous),
            Inst::If { cond, then, else_, outs } => {
                return acc_core::grow_stack(|| self.branch(*cond, then, else_, outs, n, contiguous));
            }
            Inst::While(l) => return acc_core::grow_stack(|| self.while_(l, n, contiguous)),
            Inst::LoopUniform { code, filled } => {
                self.run(code, 1, false)?;
                for &s in filled {
                    let bits = lanes::first_bits(self.get(s, 1));
                    self.refs[s as usize] = None;
                    self.own[s as usize].fill(n, bits);
                }
            }
            Inst::Uniform { group, code, outs } => return self.uniform(*group, code, outs),
        }
        Ok(())
    }

    /// Calls a host function for each lane.
    fn call_host(&mut self, call: &Call, n: usize) -> Outcome {
        let Some(function) = acc_core::foreign::scalars(&call.name, &call.params, &call.results) else {
            let source = Cause::new("it was defined anew with other types");
            let error = Error::Foreign { name: call.name.clone(), loc: call.loc.clone(), source };
            return event(0, Stop::Error(error));
        };
        let mut outs: SmallVec<[Lanes; 4]> = call.outs.iter().map(|&s| self.take(s)).collect();
        let mut args: SmallVec<[Lit; 4]> = SmallVec::new();
        for lane in 0..n {
            args.clear();
            args.extend(call.args.iter().filter_map(|&s| self.get(s, n).get(lane)));
            for (out, l) in outs.iter_mut().zip(function(&args)) {
                lanes::set(out, lane, l.bits);
            }
        }
        for (&s, lanes) in call.outs.iter().zip(outs) {
            self.put(s, lanes);
        }
        // A host function may be slow.
        self.tick(n * 64)
    }

    fn uniform(&mut self, group: u32, code: &'a [Inst], outs: &[Slot]) -> Outcome {
        if self.filled[group as usize] {
            return Ok(());
        }
        let bound = self.bound;
        let computed = bound.uniforms[group as usize].get_or_init(|| match self.run(code, 1, false) {
            Ok(()) => Ok(outs.iter().map(|&s| lanes::first_bits(self.get(s, 1))).collect()),
            Err(e) => Err(e.stop),
        });
        match computed {
            Ok(bits) => {
                for (&s, &bits) in outs.iter().zip(bits) {
                    self.refs[s as usize] = None;
                    let all = self.code.lanes;
                    self.own[s as usize].fill(all, bits);
                }
                self.filled[group as usize] = true;
                Ok(())
            }
            Err(stop) => event(0, stop.clone()),
        }
    }
}
