//! The code of kernels and closed functions: bytecode for the tile executor, and caches for machine code, which is
//! compiled when a kernel is first run.

use super::{Launch, Plan, Step};
use crate::kernel::{Body, Initial, Kernel, Output, Sink};
use crate::llvm::{CodeCache, elementwise_reads, has_divergent_loop};
use crate::lower::{self, Closed, Part, Work};
use crate::tile::bytecode::Inst;
use crate::tile::bytecode::compile::compile as bytecode;
use crate::tile::machine::Code;
use acc_core::ir::ArrayId;
use acc_core::{Error, RunLimits};
use smallvec::SmallVec;

/// The code of a kernel.
pub(crate) struct KernelCode {
    pub element: Code,
    /// The combination of each output that has one.
    pub combine: Vec<Option<Code>>,
    /// The initial array of a scatter, if it is computed.
    pub initial: Option<Code>,
    /// The epilogue, if it is fused with the scan or compaction.
    pub epilogue: Option<Code>,
    pub elementwise: Elementwise,
    /// The kernel's machine code.
    pub machine: CodeCache,
    /// The machine code of the kernel with permuted epilogue.
    pub permuted: CodeCache,
}

/// What launches that store each element at its point ask about their kernel.
#[derive(Default)]
pub(crate) struct Elementwise {
    /// The arrays that must have the extents of the index space, for all axes to be one; none if they cannot be.
    pub reads: Option<SmallVec<[ArrayId; 4]>>,
    /// Whether it has a loop that lanes leave at different iterations.
    pub diverges: bool,
}

impl Elementwise {
    fn of(kernel: &Kernel) -> Elementwise {
        if kernel.outputs.iter().any(|o| !matches!(o.sink, Sink::Store)) {
            return Elementwise::default();
        }
        Elementwise { reads: elementwise_reads(kernel), diverges: has_divergent_loop(kernel) }
    }
}

/// The code of a closed function, and its body if that is trivial, for scalar evaluation.
pub(crate) struct FunCode {
    pub code: Box<Code>,
    pub body: Option<Box<Body>>,
}

/// Compiles the code of a plan, within the limits of a run.
pub(super) fn compile(plan: lower::Plan, limits: &RunLimits) -> Result<Plan, Error> {
    let steps = plan.steps.into_iter().map(|s| step(s, limits)).collect::<Result<_, Error>>()?;
    let lower::Plan { def, types, body, notes, .. } = lower::Plan { steps: Vec::new(), ..plan };
    Ok(Plan { steps, def, types, body, notes })
}

fn step(s: lower::Step, limits: &RunLimits) -> Result<Step, Error> {
    limits.check()?;
    let work = match s.work {
        Work::Array { op, closed, materialization } => {
            Work::Array { op, closed: closed.into_iter().map(function).collect(), materialization }
        }
        Work::Kernel { launch: l, parts } => {
            Work::Kernel { launch: Box::new(launch(*l, limits)?), parts: parts.into_iter().map(part).collect() }
        }
        Work::If { cond, then, else_ } => Work::If { cond: function(cond), then, else_ },
        Work::While { init, only_initial, test, step } => Work::While { init, only_initial, test, step },
        Work::Foreign { function, xs, fallback } => Work::Foreign { function, xs, fallback },
    };
    Ok(Step { results: s.results, loc: s.loc, op: s.op, needs: s.needs, work })
}

fn part(p: Part) -> super::Part {
    let closed = p.closed.into_iter().map(function).collect();
    Part { result: p.result, name: p.name, loc: p.loc, op: p.op, closed, needs: p.needs }
}

fn function(f: Closed) -> super::Closed {
    match f {
        Closed::Known(bits) => Closed::Known(bits),
        Closed::Code(body) => Closed::Code(FunCode {
            code: Box::new(Code::new(bytecode(&body), 1)),
            body: body.is_trivial().then(|| Box::new(body)),
        }),
    }
}

fn launch(l: lower::Launch, limits: &RunLimits) -> Result<Launch, Error> {
    let boxed = |l: Box<lower::Launch>| launch(*l, limits).map(Box::new);
    Ok(Launch {
        code: kernel_code(&l.kernel, l.fuses_epilogue, limits)?,
        over: l.over,
        fuses_epilogue: l.fuses_epilogue,
        epilogue: l.epilogue.map(boxed).transpose()?,
        permuted: l.permuted,
        cost: l.cost,
        is_trivial: l.is_trivial,
        column_major: l.column_major,
        combine_partial: l.combine_partial,
        checks: l.checks,
        product: l.product,
        packed: l.packed.map(|p| packed(*p, limits).map(Box::new)).transpose()?,
        arrays: l.arrays,
        flags: l.flags,
        flag_positions: l.flag_positions.map(boxed).transpose()?,
        unguarded: l.unguarded.map(|u| unguarded(*u, limits).map(Box::new)).transpose()?,
        collapsed: l.collapsed.map(|c| collapsed(*c, limits).map(Box::new)).transpose()?,
        joined: l.joined.map(|j| joined(*j, limits).map(Box::new)).transpose()?,
        kernel: l.kernel,
    })
}

pub(crate) fn collapsed(c: lower::Collapsed, limits: &RunLimits) -> Result<lower::Collapsed<KernelCode>, Error> {
    Ok(lower::Collapsed { launch: launch(c.launch, limits)?, pairs: c.pairs, schedule: c.schedule })
}

fn joined(j: lower::Joined, limits: &RunLimits) -> Result<lower::Joined<KernelCode>, Error> {
    Ok(lower::Joined { launch: launch(j.launch, limits)?, pairs: j.pairs })
}

fn packed(p: lower::Packed, limits: &RunLimits) -> Result<lower::Packed<KernelCode>, Error> {
    Ok(lower::Packed { launch: launch(p.launch, limits)?, arrays: p.arrays })
}

fn unguarded(u: lower::Unguarded, limits: &RunLimits) -> Result<lower::Unguarded<KernelCode>, Error> {
    Ok(lower::Unguarded { launch: launch(u.launch, limits)?, guards: u.guards })
}

fn kernel_code(kernel: &Kernel, fuses_epilogue: bool, limits: &RunLimits) -> Result<KernelCode, Error> {
    let combine = kernel.outputs.iter().map(|o| o.sink.combine().map(code)).collect();
    let initial = kernel.outputs.iter().find_map(|o| match &o.sink {
        Sink::Scatter { initial: Initial::Computed(b), .. } => Some(code(b)),
        Sink::Scatter { .. } | Sink::Compact | Sink::Segments { .. } => None,
        Sink::Store | Sink::Fold { .. } | Sink::Scan { .. } => None,
    });
    limits.check()?;
    let element = elements(kernel);
    limits.check()?;
    let epilogue = kernel.epilogue.as_ref().filter(|_| fuses_epilogue).map(|e| code(&e.body));
    let (machine, permuted) = (CodeCache::default(), CodeCache::default());
    Ok(KernelCode { element, combine, initial, epilogue, elementwise: Elementwise::of(kernel), machine, permuted })
}

/// Compiles the element body of a kernel.
fn elements(kernel: &Kernel) -> Code {
    // Folded elements are not stored: larger tiles need no more memory, and amortise the dispatch of each operation
    // better.
    const MAX_FOLD_LANES: usize = 4096;
    let folds = |o: &Output| matches!(o.sink, Sink::Fold { .. }) && o.sink.builtin().is_some();
    sized(&kernel.element, if kernel.outputs.iter().all(folds) { MAX_FOLD_LANES } else { MAX_TILE_LANES })
}

/// Compiles a body.
fn code(body: &Body) -> Code {
    sized(body, MAX_TILE_LANES)
}

/// The most lanes of a tile: beyond this, dispatch costs are negligible and buffers leave the first-level cache.
const MAX_TILE_LANES: usize = 1024;

/// Compiles a body for tiles of at most `most` lanes, few enough that all buffers stay in the second-level cache.
fn sized(body: &Body, most: usize) -> Code {
    const MAX_TILE_BYTES: usize = 192 << 10;
    // Where lanes leave loops one by one, start with more lanes, so that many remain active, and these soon take less
    // memory.
    const MAX_DIVERGENT_LANES_AND_BYTES: (usize, usize) = (4096, 512 << 10);
    let bytecode = bytecode(body);
    let bytes: usize = bytecode.slots.iter().map(|t| t.size()).sum::<usize>().max(1);
    let leave = bytecode.code.iter().any(|i| matches!(i, Inst::While(l) if !l.together));
    let (mut lanes, all) = if leave { MAX_DIVERGENT_LANES_AND_BYTES } else { (most, MAX_TILE_BYTES) };
    while lanes > 128 && lanes * bytes > all {
        lanes /= 2;
    }
    Code::new(bytecode, lanes)
}
