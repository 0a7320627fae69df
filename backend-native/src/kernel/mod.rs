//! The kernel IR: one loop nest with a scalar body.
//!
//! A [`Kernel`] computes one or more arrays. Its [`axes`](Kernel::axes) span an index space, outermost first, whose
//! extents are run-time values; each axis is parallel, reduced or scanned. For every point of the space the
//! [`element`](Kernel::element) body computes scalars from the point's index. Each of the [`outputs`](Kernel::outputs)
//! takes some of them, and its [`sink`](Output::sink) says where they go: stored, folded along the innermost axis,
//! scanned along it, or scattered. One fold by built-in operators may run along several axes, in row-major order.
//! Outputs of one kernel agree on the axes:
//!
//! | innermost axis | outputs |
//! |---|---|
//! | parallel | `Store`, any number; or one `Scatter` or `Segments`; or, of one axis, one `Compact` |
//! | reduced | `Fold` and `Store`, at least one `Fold` |
//! | scanned | `Scan`, all from one end, and `Store`; from the left also `Fold` |
//!
//! The [`epilogue`](Kernel::epilogue) is computed of the finished results of folds, scans, a scatter or a compaction,
//! at the same index.
//!
//! The order of the points is given by the kernel's [`loops`](Kernel::loops), which can be tiled, interchanged and
//! unrolled (`schedule`).
//!
//! Bodies are SSA with structured control flow ([`Op::If`], [`Op::While`]). What an executor must know:
//!
//! * *Bit-exact.* Each operation is rounded on its own; nothing is contracted, unless the body is
//!   [`relaxed`](Body::relaxed), or reassociated. A fold of products may be fused: each is added with one rounding. Folds and
//!   scans group as [`grouping`] says, whatever the loops and the number of threads.
//! * *Nothing is speculated.* A node is evaluated only for the points whose control flow reaches its region. Loads,
//!   integer divisions and loops may fault or not end. Of a kernel's faults, the one of the first point in row-major
//!   order counts, and in it the first in the order of nodes.
//! * *Loads* name an array and an index per dimension ([`Ix`]): affine in one axis where that is known, so that an
//!   executor sees contiguous, strided and broadcast reads without analysis, or any value. A load out of bounds is a
//!   fault; the launch proves most affine loads in bounds at once, from the extents.
//! * *Uniform* values ([`Body::uniform`]) depend on no axis and no operand of a fold: they are equal for all points,
//!   and computed once per launch, when control first reaches them.
//! * An array may be *unavailable* at launch: not evaluated, because nothing was known to need it. Reaching a load of
//!   it stops the launch with a demand, in order with faults; the caller evaluates it and launches again.

pub(crate) mod access;
mod build;
mod forward_loads;
pub(crate) mod grouping;
mod guards;
mod layout;
#[allow(clippy::excessive_precision, reason = "coefficients stand as they were published")]
mod math;
mod op;
mod packing;
mod scatters;
mod schedule;
mod text;
mod trivial;
mod verify;

pub(crate) use access::{Accesses, Uniformity};
pub(crate) use build::{Builder, Keep, Loads, Reads, only, region_cost};
pub(crate) use guards::{Guard, Ranges};
pub(crate) use math::{expand, without_scales};
pub(crate) use op::{Edge, Ix, KernelIr, KernelOp, Load, Node, Op, OpExt, Region, divisor, is_partial, visit_likely};
pub(crate) use scatters::{Record, RowUpdate};
pub(crate) use schedule::{CollapsedPair, Dependences, FIRST_INNER_EXTENT, LoadAxes, Loop, row_major};
pub use text::Kernels;
pub(crate) use trivial::TRIVIAL_NODES;
pub(crate) use verify::verify;

use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, Dir, Loc, PrimOp, Renumbering, Val, Vals};
use acc_desugar::analysis::choice::Choice;
use acc_desugar::analysis::segmented_operator::SegmentedOperator;
use smallvec::SmallVec;
use std::ops::Range;

/// Scalars as bits.
pub(crate) type Bits = SmallVec<[u64; 4]>;

/// A loop nest that computes arrays over one index space.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Kernel {
    /// The axes, outermost first.
    pub axes: Vec<AxisKind>,
    /// The loops over them, outermost first: the order of the points.
    pub loops: Vec<Loop>,
    /// Whether the loops are those of a schedule of the program's, which no launch changes.
    pub has_schedule: bool,
    /// The axes that are several neighbouring ones of the nest that the program writes, collapsed.
    pub collapsed: Vec<usize>,
    /// From the index (one `i64` per axis) to the scalars that the outputs take.
    pub element: Body,
    /// The arrays computed, at least one.
    pub outputs: Vec<Output>,
    /// What is computed of their finished results.
    pub epilogue: Option<Epilogue>,
    /// The arrays fused into the body, which are never stored.
    pub fused: Vec<ArrayId>,
}

impl Kernel {
    /// The arrays that it stores, with their operations.
    pub fn stored(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().filter(|o| o.stored).chain(self.epilogue.iter().flat_map(|e| &e.outputs))
    }

    /// What it is called: the arrays that it stores, and their operations.
    pub fn title(&self) -> String {
        self.stored().map(|o| format!("{} = {}", o.result, o.op)).collect::<Vec<_>>().join(", ")
    }
}

/// An array that a kernel computes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Output {
    /// The array.
    pub result: ArrayId,
    /// The array operation, for messages.
    pub op: &'static str,
    /// Where the user wrote it.
    pub loc: Loc,
    /// Which results of the element body it takes.
    pub values: Range<usize>,
    /// Where they go.
    pub sink: Sink,
    /// Whether the array is stored; if not, only the epilogue needs it.
    pub stored: bool,
}

impl Output {
    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.values.len().saturating_sub(self.sink.lead()) / self.sink.values_per_leaf()
    }
}

/// Arrays over the index space of the results of folds, scans, a scatter or a compaction, which for folds lacks the
/// folded axes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Epilogue {
    /// From the index of an element and the leaves of that element of every output that is not a `Store`, in order, to
    /// the scalars that the epilogue's outputs take.
    pub body: Body,
    /// How many of its parameters are leaves.
    pub leaves: usize,
    /// The arrays, all of them `Store`.
    pub outputs: Vec<Output>,
    /// The permutation of their axes in memory: for each the axis of the index space along which it runs; `None` is the
    /// identity. Only after a single scan.
    pub order: Option<Vec<usize>>,
}

/// How an axis runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AxisKind {
    /// Independent points.
    Parallel,
    /// Combined to one element, in order.
    Reduction,
    /// Running combination from one end.
    Scan(Dir),
}

impl AxisKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            AxisKind::Parallel => "parallel",
            AxisKind::Reduction => "reduce",
            AxisKind::Scan(Dir::Left) => "scan left",
            AxisKind::Scan(Dir::Right) => "scan right",
        }
    }
}

/// Where the values of an output go.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Sink {
    /// Stored at their point.
    Store,
    /// Combined along the innermost axis, after an initial value (from the launch), if there is one.
    Fold {
        /// From the leaves of two elements to those of one.
        combine: Body,
        /// The built-in operator of each leaf, if the combination is nothing else.
        builtin: Option<Vec<PrimOp>>,
        /// Whether the launch brings an initial value.
        init: bool,
        /// Whether the elements are products, added with one rounding for both operations: of each leaf there are two values,
        /// the factors. The built-in operators are sums, the types `f32` and `f64`.
        fused: bool,
    },
    /// Combined along the innermost axis, every intermediate value stored.
    Scan {
        /// From the leaves of two elements to those of one; the left operand is the one of lesser index.
        combine: Body,
        /// As for a fold.
        builtin: Option<Vec<PrimOp>>,
        /// The segmented operator, if the combination is one.
        segmented: Option<SegmentedOperator>,
        /// Whether elements are divided into [runs](grouping).
        runs: bool,
        /// Whether the launch brings an initial value, which makes the result one element longer.
        init: bool,
    },
    /// Combined with the current value of a target, in row-major order of the points. The values are a `u8` (0:
    /// dropped), the target index and the leaves.
    Scatter {
        /// The initial contents of the target.
        initial: Initial,
        /// From the leaves of the new element and those of the current one to those stored.
        combine: Body,
        /// The combination of each leaf, if it is simple.
        builtin: Option<Vec<Update>>,
        /// The rank of the target.
        rank: usize,
    },
    /// Combined segment by segment along the innermost axis, after an initial value, if there is one.
    Segments {
        /// From the leaves of two elements to those of one.
        combine: Body,
        /// What the combination is.
        operator: SegmentOperator,
        /// Whether the launch brings an initial value.
        init: bool,
        /// Where each segment begins, and where the last one ends.
        offsets: ArrayId,
    },
    /// Those that are kept, stored one after the other. The values are a `u8` (0: dropped) and the leaves.
    Compact,
}

/// The operator of a segmented fold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SegmentOperator {
    /// A built-in operator of each leaf.
    Builtin(Vec<PrimOp>),
    /// One that keeps one of two elements whole.
    Choice(Choice),
}

/// The initial contents of a scatter's target.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Initial {
    /// A copy of an array, or its memory if nothing else needs it.
    Array(ArrayId),
    /// Computed from the index in the result.
    Computed(Body),
}

/// A simple combination of one leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    /// The new value replaces the old.
    New,
    /// The old value stays.
    Old,
    /// A primitive operation of both, new value first.
    Prim(PrimOp),
    /// A primitive operation of both, old value first.
    PrimOldFirst(PrimOp),
}

impl Update {
    /// Whether the tile executor has a loop for it on elements of this type.
    pub(crate) fn has_loop(self, ty: ScalarType) -> bool {
        use PrimOp as P;
        match self {
            Update::New | Update::Old => true,
            Update::PrimOldFirst(p) | Update::Prim(p) => {
                let own_order = matches!(self, Update::Prim(_)) && matches!(p, P::SubP | P::DivP);
                let arithmetic = own_order || matches!(p, P::AddP | P::MulP | P::MinP | P::MaxP);
                let bits = matches!(p, P::AndP | P::OrP | P::XorP);
                (ty.is_num() && arithmetic) || (ty.is_int() && bits)
            }
        }
    }
}

/// The constants of a body.
pub(crate) type Consts = [(Val, Lit)];

/// A scalar function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Body {
    /// The type of every value.
    pub types: Vec<ScalarType>,
    /// Whether a value is equal for all points.
    pub uniform: Vec<bool>,
    /// The constants, defined before everything else.
    pub consts: Vec<(Val, Lit)>,
    /// Whether machine code may contract a product and a sum.
    pub relaxed: bool,
    /// The code; its parameters are those of the body.
    pub region: Region,
}

impl Kernel {
    /// How many of the innermost axes are folded.
    pub(crate) fn folded(&self) -> usize {
        self.axes.iter().rev().take_while(|k| **k == AxisKind::Reduction).count()
    }

    /// The rank of the index space of the results of folds, scans, a scatter or a compaction.
    pub(crate) fn result_rank(&self) -> usize {
        let rank = |o: &Output| match o.sink {
            Sink::Fold { .. } => Some(self.axes.len().saturating_sub(self.folded().max(1))),
            Sink::Scatter { rank, .. } => Some(rank),
            Sink::Store | Sink::Scan { .. } | Sink::Segments { .. } | Sink::Compact => None,
        };
        self.outputs.iter().rev().find_map(rank).unwrap_or(self.axes.len())
    }

    /// The types of an output's leaves.
    pub(crate) fn leaf_types(&self, o: &Output) -> SmallVec<[ScalarType; 2]> {
        let values = self.values(o).iter().skip(o.sink.lead()).step_by(o.sink.values_per_leaf());
        values.map(|&v| self.element.ty(v)).collect()
    }

    /// The results of the element body that an output takes.
    pub(crate) fn values(&self, o: &Output) -> &[Val] {
        self.element.region.results.get(o.values.clone()).unwrap_or(&[])
    }
}

impl Sink {
    /// Its name in the text form.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Sink::Store => "store",
            Sink::Fold { .. } => "fold",
            Sink::Scan { .. } => "scan",
            Sink::Scatter { .. } => "scatter",
            Sink::Segments { .. } => "segments",
            Sink::Compact => "compact",
        }
    }

    /// The combination of a fold, scan or scatter.
    pub(crate) fn combine(&self) -> Option<&Body> {
        match self {
            Sink::Store | Sink::Compact => None,
            Sink::Fold { combine, .. } | Sink::Scan { combine, .. } => Some(combine),
            Sink::Scatter { combine, .. } | Sink::Segments { combine, .. } => Some(combine),
        }
    }

    /// The built-in operator of each leaf of a fold or scan, if the combination is nothing else.
    pub(crate) fn builtin(&self) -> Option<&[PrimOp]> {
        match self {
            Sink::Fold { builtin, .. } | Sink::Scan { builtin, .. } => builtin.as_deref(),
            Sink::Segments { operator: SegmentOperator::Builtin(ops), .. } => Some(ops),
            Sink::Segments { operator: SegmentOperator::Choice(_), .. } => None,
            Sink::Store | Sink::Scatter { .. } | Sink::Compact => None,
        }
    }

    /// The segmented operator of a scan, if its combination is one.
    pub(crate) fn segmented(&self) -> Option<&SegmentedOperator> {
        match self {
            Sink::Scan { segmented, .. } => segmented.as_ref(),
            Sink::Store | Sink::Fold { .. } | Sink::Segments { .. } => None,
            Sink::Scatter { .. } | Sink::Compact => None,
        }
    }

    /// Whether it is a scan that divides its elements into [runs](grouping).
    pub(crate) fn scans_runs(&self) -> bool {
        matches!(self, Sink::Scan { runs: true, .. })
    }

    /// Whether the launch brings an initial value.
    pub(crate) fn has_init(&self) -> bool {
        match self {
            Sink::Fold { init, .. } | Sink::Scan { init, .. } | Sink::Segments { init, .. } => *init,
            Sink::Store | Sink::Scatter { .. } | Sink::Compact => false,
        }
    }

    /// Whether an epilogue takes the results.
    pub(crate) fn is_combined(&self) -> bool {
        !matches!(self, Sink::Store)
    }

    /// Whether products are added with one rounding.
    pub(crate) fn is_fused(&self) -> bool {
        matches!(self, Sink::Fold { fused: true, .. })
    }

    /// The number of values that make up a leaf.
    pub(crate) fn values_per_leaf(&self) -> usize {
        if self.is_fused() { 2 } else { 1 }
    }

    /// The number of values before the leaves: the keep flag and the target.
    pub(crate) fn lead(&self) -> usize {
        match self {
            Sink::Store | Sink::Fold { .. } | Sink::Scan { .. } | Sink::Segments { .. } => 0,
            Sink::Compact => 1,
            Sink::Scatter { rank, .. } => 1 + rank,
        }
    }
}

impl Epilogue {
    /// The epilogue as a kernel of its own, which reads the results.
    pub(crate) fn kernel(&self, outputs: &[Output]) -> Kernel {
        let mut element = self.body.clone();
        let rank = element.region.params.len() - self.leaves;
        let mut leaves = element.region.params.split_off(rank).into_iter();
        let mut loads = Vec::new();
        for o in outputs.iter().filter(|o| o.sink.is_combined()) {
            let results: Vals = leaves.by_ref().take(o.leaves()).collect();
            let index = (0..rank as u32).map(|axis| Ix::Affine { axis, scale: 1, offset: 0, base: None }).collect();
            let load = Load { array: o.result, leaves: (0..results.len() as u32).collect(), index, edge: None };
            loads.push(Node { results, op: Op::Index(load), loc: o.loc.clone() });
        }
        element.region.nodes.splice(0..0, loads);
        let (axes, loops) = (vec![AxisKind::Parallel; rank], row_major(rank));
        Kernel {
            axes,
            loops,
            has_schedule: false,
            collapsed: Vec::new(),
            element,
            outputs: self.outputs.clone(),
            epilogue: None,
            fused: Vec::new(),
        }
    }

    /// Whether it uses the elements alone, not their positions.
    pub(crate) fn is_placeless(&self) -> bool {
        let region = &self.body.region;
        let places = region.params.len() - self.leaves;
        let mut used = region.results.iter().any(|v| region.params[..places].contains(v));
        region.visit(0, &mut |n, _| {
            n.op.visit_operands(&mut |v| used |= region.params[..places].contains(&v));
            used |= n.op.index().iter().any(|i| matches!(i, Ix::Affine { .. }));
            used |= n.op.regions().iter().any(|r| r.results.iter().any(|v| region.params[..places].contains(v)));
        });
        !used
    }
}

impl Body {
    /// The body without checks: a read out of bounds reads some element.
    pub(crate) fn unchecked(mut self) -> Body {
        op::unchecked(&mut self.region);
        self
    }

    /// The body with its values numbered in the order of the text form, and nothing unused in its tables.
    pub(crate) fn canonical(&self) -> Body {
        let (mut body, mut n) = (self.clone(), Renumbering::new(self.types.len()));
        self.region.params.iter().for_each(|v| n.renumber(&mut v.clone()));
        body.consts.iter_mut().for_each(|(v, _)| n.renumber(v));
        body.region.visit_vals_mut(&mut |v| n.renumber(v));
        (body.types, body.uniform) = (n.table(&self.types), n.table(&self.uniform));
        body
    }

    /// The type of a value.
    pub(crate) fn ty(&self, v: Val) -> ScalarType {
        self.types[v.index()]
    }

    /// Whether it can fault, demand an array, or fail to end.
    pub(crate) fn is_partial(&self) -> bool {
        is_partial(&self.region, &self.consts)
    }
    /// Whether a value is the constant 0, which is not -0.
    pub(crate) fn is_zero(&self, v: Val) -> bool {
        self.consts.iter().any(|(c, l)| *c == v && l.bits == 0)
    }
    /// For each value whether it has a use.
    pub(crate) fn used(&self) -> Vec<bool> {
        self.uses().into_iter().map(|n| n > 0).collect()
    }

    /// The number of uses of each value.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.types.len()];
        let results = |r: &Region, uses: &mut Vec<usize>| r.results.iter().for_each(|v| uses[v.index()] += 1);
        results(&self.region, &mut uses);
        self.region.visit(0, &mut |n, _| {
            n.op.visit_operands(&mut |v| uses[v.index()] += 1);
            n.op.regions().into_iter().for_each(|r| results(r, &mut uses));
        });
        uses
    }
}
