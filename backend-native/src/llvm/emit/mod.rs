//! From kernels to the text of LLVM modules, with explicit vectors, and masks for control flow.
//!
//! There is one function per kernel and [`Variant`]. It covers a rectangle of the index space: rows, which are
//! positions over the outer axes, by columns along the axis whose points are the *lanes* of vectors. A step of the
//! innermost loop evaluates the body for [`Width::parts`] vectors of [`Width::lanes`] lanes each:
//!
//! * uniform values are scalars ([`Uniformity`]); loop-invariant ones are computed before the loops, those that
//!   depend on outer axes alone once per row;
//! * a conditional runs each side under a mask, if any lane takes it; a loop runs until no lane is active, and the
//!   result of a lane is captured when it leaves;
//! * contiguous reads are vector loads, others are shuffles or gathers; indices that follow an axis are checked once
//!   per row.
//!
//! The code of a kernel computes the same bits as the tile executor: each operation is written out as the language
//! defines it, and no flag allows LLVM more, unless the body is [`relaxed`](Body::relaxed). Code does not describe
//! faults. It *bails out* of the rectangle, and the tile executor runs that again and finds the fault. An array that is
//! not evaluated yet is a reason to bail out, too.

mod access;
mod analysis;
mod arith;
mod facts;
mod loops;
mod scope;
mod sinks;
mod text;
mod unsupported;
mod variant;

use super::Target;
use crate::kernel::{AxisKind, Body, Kernel, KernelOp, Node, Op, Region, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Dir, Val};
pub(crate) use access::interleaved::reads_interleaved;
pub(crate) use access::transposed_load::{MAX_BLOCK_ROWS, MAX_PANEL_COLUMNS, axes_between, transposed_axis};
pub(crate) use access::unaligned_streaming::can_stream_unaligned;
use analysis::elementwise;
pub(crate) use analysis::elementwise::elementwise_reads;
use arith::prim;
use facts::Facts;
pub(crate) use loops::multi_row::has_divergent_loop;
pub(crate) use loops::tile_shape::tile_shape;
use loops::width::Width;
use loops::{multi_row, scheduled};
use scope::Scope;
use sinks::{compact, pairwise_fold, scatter};
use text::Operand;
use text::function::Function;
use text::vector_code::VectorCode;
pub use unsupported::Unsupported;
pub(crate) use variant::Variant;

/// An argument of a function, one word each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KernelArg {
    /// The host function that tells whether to stop.
    Poll,
    /// The argument of that function.
    PollContext,
    /// The extent of an axis of the index space.
    Extent(u32),
    /// The extent of an array along an axis; 0 if it is not evaluated.
    ArrayExtent(ArrayId, u32),
    /// Whether an array is evaluated.
    Evaluated(ArrayId),
    /// The range of positions at which an array is materialised: speculative reads, which happen whatever the index is,
    /// stay within it.
    ReadableStart(ArrayId),
    ReadableEnd(ArrayId),
    /// The memory of a leaf of an array.
    Column(ArrayId, u32),
    /// A scalar of the launch.
    Scalar(ArrayId, u32),
    /// The memory of a leaf of a result, counted over all outputs.
    Output(u32),
    /// The position, among those of rows and columns, of the first element of `Output`.
    OutputStart,
    /// The value that a fold or scan starts from: for rows the initial value, for a chunk the prefix before it.
    CarryIn(u32),
    /// The range of the first folded axis that this call folds. What lies before it, if anything does, is combined in
    /// `Output` already; a scheduled kernel folds this part alone. Of rows in transposed blocks, the range of columns
    /// of the block matrix.
    RangeStart,
    /// The end of that range.
    RangeEnd,
    /// The distance, in elements of a row, from a chunk to the next one of the same thread.
    PrefetchDistance,
    /// Whether a chunk has a prefix.
    HasCarryIn(u32),
    /// Where the total of a chunk is stored, as bits.
    Total(u32),
    /// Memory for the totals of a chunk's [runs](crate::kernel::grouping), which the pass for its total leaves to the one for its
    /// results; null if there is none.
    RunTotals(u32),
    /// An extent of the array that a scatter writes to.
    TargetExtent(u32),
    /// Where a scatter records its progress: positions, counted from `OutputStart`.
    Progress,
}

/// The text of a module, and the arguments of its function.
pub(crate) struct Emitted {
    pub text: String,
    pub args: Vec<KernelArg>,
}

/// Bodies from this size on are written once, for any mask; smaller ones also for full vectors.
const MIN_NODES_COMPILED_ONCE: usize = 200;
/// Bodies up to this size leave registers for several vectors side by side.
const MAX_SMALL_BODY_NODES: usize = 12;
/// Bytes of a row per step where rows are walked across memory: several cache lines of each, so that few pages are
/// touched at a time.
const STRIP_BYTES: usize = 256;
/// Larger bodies are left to tiles: LLVM would take seconds for them.
const MAX_BODY_NODES: usize = 4000;
/// More loops in one another are left to tiles: LLVM's time grows with the square of their depth and more.
const MAX_LOOP_DEPTH: usize = 12;
/// Stack that pairwise folds may use for elements not combined yet; a thread of the host's may have little.
const MAX_FOLD_STACK_BYTES: usize = 128 << 10;

/// Writes the module of a kernel.
pub(crate) fn emit(kernel: &Kernel, variant: Variant, target: &Target) -> Result<Emitted, Unsupported> {
    let (flat, derived);
    let kernel = match variant {
        Variant::Store { .. } if kernel.axes.is_empty() => {
            derived = elementwise::one_row(kernel);
            &derived
        }
        Variant::Store { flat: true, .. } => {
            flat = elementwise::flattened(kernel)
                .ok_or(Unsupported::Variant("a kernel that is not element by element"))?;
            &flat
        }
        Variant::CompactCount => {
            derived = compact::counting(kernel);
            &derived
        }
        Variant::ScatterTargets => {
            derived = scatter::located(kernel);
            return emit(&derived, Variant::Store { flat: false, stream: false, transposed: false }, target);
        }
        Variant::Store { .. }
        | Variant::Scheduled
        | Variant::UnalignedStreaming
        | Variant::MultiRow
        | Variant::RowLanes
        | Variant::Scatter
        | Variant::AosScatter => kernel,
        Variant::Compact | Variant::Chunk { .. } | Variant::ChunkTotals | Variant::BatchedRows => kernel,
    };
    let (width, size) = plan(kernel, variant, target)?;
    let multi_row = || Width::of(&kernel.element, &multi_row::axes(&kernel.element), target);
    if variant == Variant::MultiRow && (width.parts == 1 || multi_row() != width) {
        // There is one row only, or values that differ per row would need vector registers.
        return emit(kernel, Variant::Store { flat: false, stream: false, transposed: false }, target);
    }
    let mut e = Emitter::new(&kernel.element, width, target);
    e.hints.stream = matches!(
        variant,
        Variant::Store { stream: true, .. } | Variant::UnalignedStreaming | Variant::Chunk { stream: true }
    );
    e.hints.ahead = variant == Variant::Chunk { stream: true };
    if variant.is_along() && kernel.axes.last() == Some(&AxisKind::Scan(Dir::Right)) {
        e.code.lane_step = -1;
    }
    match variant {
        Variant::Scheduled => e.scheduled(kernel, size >= MIN_NODES_COMPILED_ONCE),
        Variant::MultiRow => e.multi_row(kernel),
        _ => e.nest(kernel, variant, size >= MIN_NODES_COMPILED_ONCE),
    }
    Ok(e.code.f.finish())
}

/// The vector width of a kernel's function, and the number of nodes in its element body; an error if it cannot be
/// compiled.
fn plan(kernel: &Kernel, variant: Variant, target: &Target) -> Result<(Width, usize), Unsupported> {
    let size = supported(&kernel.element)?;
    for o in &kernel.outputs {
        if let Some(combine) = o.sink.combine() {
            supported(combine)?;
        }
    }
    let scans = matches!(kernel.axes.last(), Some(AxisKind::Scan(_)));
    if let Some(e) = kernel.epilogue.as_ref().filter(|_| scans || variant == Variant::Compact) {
        supported(&e.body)?;
        if !scans && !e.is_placeless() {
            return Err(Unsupported::CompactedPositions);
        }
    }
    if kernel.axes.len() < if variant == Variant::RowLanes { 2 } else { 1 } {
        return Err(Unsupported::Variant("too few axes for lanes"));
    }
    let (lane, _) = variant.axes(kernel.axes.len());
    let axes: Vec<Uniformity> = (0..kernel.axes.len())
        .map(|axis| if axis == lane { Uniformity::Affine(1) } else { Uniformity::Uniform })
        .collect();
    let mut width = Width::of(&kernel.element, &axes, target);
    if variant.is_along() {
        // Groups of a scan must not straddle vectors.
        width.lanes = width.lanes.max(crate::kernel::grouping::SCAN_GROUP);
        width.parts = crate::kernel::grouping::PARTIAL_RESULTS / width.lanes;
        let bytes = pairwise_fold::spilled_bytes(kernel, width.parts);
        if bytes > MAX_FOLD_STACK_BYTES {
            return Err(Unsupported::FoldStack { bytes });
        }
    }
    if variant == Variant::Scheduled {
        width = scheduled::width(kernel, width, target)?;
    }
    if variant.is_scatter() {
        width = scatter::width(kernel, size, &axes, width);
    }
    if variant == Variant::RowLanes && size <= MAX_SMALL_BODY_NODES && kernel.is_column_major() {
        // Several cache lines of each row per step, so that few pages are touched repeatedly.
        width.parts = (STRIP_BYTES / (width.lanes * 4)).max(width.parts);
    }
    if matches!(variant, Variant::Store { .. } | Variant::UnalignedStreaming)
        && kernel.has_strided_access(kernel.axes.len() - 1)
    {
        // Narrow panels, whose cache lines stay in L1.
        width.parts = 1;
    }
    Ok((width, size))
}

/// Why there is no machine code that follows a kernel's loops, if so.
pub(crate) fn unsupported_loops(kernel: &Kernel, target: &Target) -> Option<Unsupported> {
    plan(kernel, Variant::Scheduled, target).err()
}

/// Why some variant of a kernel is not compiled, if so.
pub(crate) fn unsupported(kernel: &Kernel, target: &Target) -> Option<Unsupported> {
    let point = kernel.axes.is_empty().then(|| elementwise::one_row(kernel));
    let kernel = point.as_ref().unwrap_or(kernel);
    Variant::of(kernel).into_iter().find_map(|variant| plan(kernel, variant, target).err())
}

/// The number of nodes of a body; an error if it contains something that is not compiled.
fn supported(body: &Body) -> Result<usize, Unsupported> {
    let mut size = 0;
    let mut problem = None;
    body.region.visit(0, &mut |n, _| {
        size += 1;
        match &n.op {
            Op::Own(KernelOp::Call { name, .. }) => problem = Some(Unsupported::HostFunction(name.to_string())),
            Op::Prim(p, _) if !prim::is_written(*p) => problem = Some(Unsupported::Operation(*p)),
            _ => {}
        }
    });
    match problem {
        Some(p) => Err(p),
        None if size > MAX_BODY_NODES => Err(Unsupported::Body { nodes: size }),
        None => match loop_depth(&body.region) {
            0..=MAX_LOOP_DEPTH => Ok(size),
            levels => Err(Unsupported::LoopDepth { levels }),
        },
    }
}

/// How many loops of a region are in one another.
fn loop_depth(r: &Region) -> usize {
    let of = |n: &Node| {
        let inner = n.op.regions().into_iter().map(|r| acc_core::grow_stack(|| loop_depth(r)));
        usize::from(matches!(n.op, Op::While { .. })) + inner.max().unwrap_or(0)
    };
    r.nodes.iter().map(of).max().unwrap_or(0)
}

/// Writes the nodes of a kernel's bodies.
struct Emitter<'a> {
    code: VectorCode,
    facts: Facts<'a>,
    scope: Scope,
    hints: MemoryHints,
}

/// How memory is accessed.
#[derive(Default)]
struct MemoryHints {
    /// Whether full vectors of results are stored non-temporally.
    stream: bool,
    /// A column at which a cache line of the result's row begins; the first one, if none is known.
    line: Option<Operand>,
    /// Whether the thread's next chunk is prefetched while results are stored.
    ahead: bool,
    /// The axis whose next index is prefetched.
    prefetching: Option<usize>,
}

impl<'a> Emitter<'a> {
    fn new(body: &'a Body, width: Width, target: &Target) -> Emitter<'a> {
        Emitter {
            code: VectorCode::new(Function::new(*target), width, body.relaxed),
            facts: Facts::new(body),
            scope: Scope::new(body),
            hints: MemoryHints::default(),
        }
    }

    /// The type of the registers that hold a value.
    fn ty(&self, v: Val) -> ScalarType {
        if self.scope.halved.has(v) { ScalarType::I32 } else { self.facts.body.ty(v) }
    }

    /// Writes the nodes of a region.
    fn region(&mut self, r: &Region) {
        for n in &r.nodes {
            acc_core::grow_stack(|| self.node(n));
        }
        self.code.bail_out_on_fault();
    }
}
