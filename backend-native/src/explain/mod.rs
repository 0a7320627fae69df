//! Explanations of compiled programs: their kernels, what was fused, and what was not and why.

mod collapse;
mod steps;

pub use collapse::CollapseReport;
pub use steps::{StepKind, StepReport};

use crate::kernel::{Accesses, AxisKind, Initial, Ix, Kernel, Kernels, Op, Output, Sink};
use crate::llvm::{Unsupported, left_to_tiles};
use crate::lower::{BlockPlan, Materialization};
use crate::prepare::{Launch, Plan, Work};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayType, Loc, Names, Val};
use acc_desugar::analysis::access::Access;
use acc_desugar::fuse::Note;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// The kernels of a program and the decisions behind them. Its text form names arrays as the simplified program does.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// All steps, in order of execution.
    pub steps: Vec<StepReport>,
    /// The names of arrays in the source.
    pub names: Names,
    /// The kernels, in order of execution; those of loops and conditionals at the position of these.
    pub kernels: Vec<KernelReport>,
    /// Stored arrays that are not results of the program; excludes views and the state of loops.
    pub intermediates: Vec<ArrayId>,
    /// Kernels that may run with row blocking.
    pub row_blockings: Vec<RowBlockingReport>,
    /// The decision for each array that is a candidate for fusion.
    pub notes: Vec<Note>,
}

/// Kernels over the same rows, which machine code runs one after the other on a block of rows, if the program is large
/// enough for several threads.
#[derive(Clone, Debug)]
pub struct RowBlockingReport {
    /// Their numbers.
    pub kernels: Range<usize>,
    /// The arrays that are not stored as a whole in this case.
    pub transient: Vec<ArrayId>,
    /// Those of which the rows around a block are computed with it.
    pub halos: Vec<ArrayId>,
    /// Whether a schedule computes an array within the loops of its reader.
    pub is_scheduled: bool,
}

/// A kernel: one launch over one index space, with the combination of its partial results.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// Its title, also on [timelines](acc_core::timeline): `a3 = map, a5 = fold`.
    pub title: String,
    /// Where the user wrote the operations whose results it stores.
    pub locs: Vec<Loc>,
    /// The arrays that it stores, with their operations.
    pub results: Vec<(ArrayId, &'static str)>,
    /// The arrays that it reads, including initial arrays.
    pub reads: BTreeSet<ArrayId>,
    /// How each read moves through its array, in order.
    pub accesses: Vec<ReadReport>,
    /// The arrays computed inside and never stored.
    pub fused: Vec<ArrayId>,
    /// The axes of its index space, such as `parallel, reduce`.
    pub axes: String,
    /// Its loops, where they are not simply those over its axes, outermost first: `[i0 by 4, i1, i2, unrolled i0]`.
    pub loops: Option<String>,
    /// Whether the loops are those of a schedule of the program's.
    pub has_schedule: bool,
    /// How its collapsed axes are read along, if its schedule collapses any.
    pub collapsed: Option<CollapseReport>,
    /// Special strategies that the kernel IR does not show, such as a matrix product.
    pub manner: Vec<&'static str>,
    /// Why the tile executor runs it (or one of its variants) rather than machine code; none if it does not.
    pub on_tiles: Option<Unsupported>,
    /// Bytes read per point: each column counts once, however often a point reads it.
    pub bytes_read: usize,
    /// Bytes stored per point; excludes results of folds and permutes.
    pub bytes_stored: usize,
    /// The kernel IR, and that of the kernel with collapsed axes as one, if there is one.
    pub ir: Kernels,
}

/// A read of an array in a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadReport {
    /// The array.
    pub array: ArrayId,
    /// How the read moves through it along each axis of the kernel, the outermost first.
    pub along: Vec<Access>,
}

impl Explanation {
    pub(crate) fn new(plan: &Plan, names: &Names) -> Explanation {
        let mut out = Explanation { notes: plan.notes.clone(), names: names.clone(), ..Explanation::default() };
        let mut yielded = BTreeSet::new();
        out.block(plan, &plan.body, 0, &mut yielded);
        out.intermediates.retain(|a| !yielded.contains(a));
        out
    }

    fn block(&mut self, plan: &Plan, b: &BlockPlan, depth: usize, yielded: &mut BTreeSet<ArrayId>) {
        yielded.extend(&b.results);
        // The number of kernels before each step.
        let mut before = Vec::with_capacity(b.steps.len() + 1);
        for step in b.steps.iter().map(|&s| &plan.steps[s]) {
            before.push(self.kernels.len());
            self.steps.extend(StepReport::of(step, self.kernels.len(), depth));
            match &step.work {
                Work::Array { materialization: Materialization::View, op, .. } => {
                    // If a view is yielded, so is the array that it shows.
                    if step.results.iter().any(|r| yielded.contains(r)) {
                        yielded.extend(op.arrays());
                    }
                }
                Work::Array {
                    materialization: Materialization::Argsort | Materialization::Sort | Materialization::Selection(_),
                    ..
                } => self.intermediates.extend(&step.results),
                Work::Array { materialization: Materialization::Fused, .. } => {}
                Work::Kernel { launch, .. } => {
                    let report = KernelReport::new(launch, &plan.types);
                    self.intermediates.extend(report.results.iter().map(|(a, _)| a));
                    self.kernels.push(report);
                }
                Work::If { .. } | Work::Foreign { .. } | Work::While { .. } => {}
            }
            for (name, inner) in step.blocks() {
                if !inner.steps.is_empty() {
                    self.steps.push(StepReport { depth: depth + 1, what: StepKind::Block(name) });
                }
                acc_core::grow_stack(|| self.block(plan, inner, depth + 2, yielded));
            }
        }
        before.push(self.kernels.len());
        // Parts of one that has been told of are what remains of it where it does not apply.
        let is_part = |k: usize| {
            let own = &b.row_blockings[k].steps;
            b.row_blockings[..k].iter().any(|all| all.steps.start <= own.start && own.end <= all.steps.end)
        };
        let whole = b.row_blockings.iter().enumerate().filter(|(k, _)| !is_part(*k)).map(|(_, r)| r);
        self.row_blockings.extend(whole.map(|row_blocking| RowBlockingReport {
            kernels: before[row_blocking.steps.start]..before[row_blocking.steps.end],
            transient: row_blocking.transient.clone(),
            halos: row_blocking.halos(plan, b),
            is_scheduled: row_blocking.is_scheduled,
        }));
    }

    /// The kernel IR of all kernels, as text without source locations.
    pub fn kernel_ir(&self) -> String {
        format!("{:#}", self.all_kernels())
    }

    /// All kernels.
    pub fn all_kernels(&self) -> Kernels {
        self.kernels.iter().map(|k| k.ir.clone()).collect()
    }
}

impl KernelReport {
    fn new(launch: &Launch, types: &[ArrayType]) -> KernelReport {
        let k: &Kernel = launch.whole();
        let mut columns: BTreeSet<(ArrayId, u32)> = BTreeSet::new();
        let initial = |o: &Output| match &o.sink {
            Sink::Scatter { initial: Initial::Array(a), .. } => Some(*a),
            Sink::Scatter { initial: Initial::Computed(_), .. }
            | Sink::Store
            | Sink::Compact
            | Sink::Segments { .. }
            | Sink::Scan { .. }
            | Sink::Fold { .. } => None,
        };
        let mut reads: BTreeSet<ArrayId> = k.outputs.iter().filter_map(initial).collect();
        for o in &k.outputs {
            if let Sink::Segments { offsets, .. } = o.sink {
                reads.insert(offsets);
            }
        }
        let (of, mut accesses) = (Accesses::of(&k.element), Vec::new());
        k.element.region.visit(0, &mut |n, _| {
            if let Op::Index(l) = &n.op {
                reads.insert(l.array);
                let along = (0..k.axes.len()).map(|axis| of.access(&l.index, axis)).collect();
                accesses.push(ReadReport { array: l.array, along });
                let varies = |i: &Ix| match i {
                    Ix::Affine { .. } => true,
                    Ix::At(v) => !k.element.uniform[v.index()],
                };
                if l.index.iter().any(varies) {
                    columns.extend(l.leaves.iter().map(|&leaf| (l.array, leaf)));
                }
            }
        });
        let leaf =
            |(a, leaf): &(ArrayId, u32)| types[a.index()].elt.leaves().get(*leaf as usize).map_or(0, |t| t.size());
        let size = |vals: &[Val], ty: &dyn Fn(Val) -> ScalarType| vals.iter().map(|&v| ty(v).size()).sum::<usize>();
        let stored = |o: &Output| match o.sink {
            Sink::Store | Sink::Scan { .. } if o.stored => size(k.values(o), &|v| k.element.ty(v)),
            Sink::Store | Sink::Scan { .. } | Sink::Fold { .. } => 0,
            Sink::Scatter { .. } | Sink::Compact | Sink::Segments { .. } => 0,
        };
        let scans = matches!(k.axes.last(), Some(AxisKind::Scan(_)));
        let after = k.epilogue.iter().filter(|_| scans).map(|e| size(&e.body.region.results, &|v| e.body.ty(v)));
        let kinds: Vec<&str> = k.axes.iter().map(|a| a.name()).collect();
        KernelReport {
            title: k.title(),
            results: k.stored().map(|o| (o.result, o.op)).collect(),
            locs: k.stored().map(|o| o.loc.clone()).collect(),
            reads,
            accesses,
            fused: k.fused.iter().copied().chain(k.outputs.iter().filter(|o| !o.stored).map(|o| o.result)).collect(),
            axes: kinds.join(", "),
            loops: k.is_scheduled().then(|| match &launch.collapsed {
                Some(c) => c.schedule.to_string(),
                None => k.shown_loops(),
            }),
            collapsed: launch.collapsed.as_ref().map(|c| CollapseReport::new(c, k)),
            has_schedule: k.has_schedule,
            manner: manner(launch),
            on_tiles: std::iter::once(k).chain(launch.epilogue.iter().map(|e| &e.kernel)).find_map(left_to_tiles),
            bytes_read: columns.iter().map(leaf).sum(),
            bytes_stored: k.outputs.iter().map(stored).sum::<usize>() + after.sum::<usize>(),
            ir: [k]
                .into_iter()
                .chain(launch.collapsed.as_ref().map(|c| &c.launch.kernel))
                .cloned()
                .map(Kernels::from)
                .collect(),
        }
    }
}

/// Strategies of a launch that its kernel does not show.
fn manner(launch: &Launch) -> Vec<&'static str> {
    let by_rows = launch.joined.is_some() && launch.kernel.folded() > 0;
    let ways = [
        (launch.product.is_some() && !launch.kernel.has_schedule, "as a product of matrices"),
        (launch.packed.is_some(), "with packed operands, if their elements are read often enough"),
        (by_rows, "by rows, whose results are folded afterwards"),
        (launch.joined.is_some() && !by_rows, "with its last axes as one, where arrays have their extents"),
        (launch.is_compaction(), "as a compaction: what is kept is stored one after the other"),
        (launch.flag_positions.is_some(), "as marks: if they are few, their places are kept in their stead"),
    ];
    ways.into_iter().filter(|(is, _)| *is).map(|(_, way)| way).collect()
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| step.show(f, self))?;
        for RowBlockingReport { kernels, transient, halos, is_scheduled } in &self.row_blockings {
            let last = kernels.end.saturating_sub(1);
            let when = if *is_scheduled { ", by the program's schedule" } else { " if there are enough of them" };
            write!(f, "kernels {} to {last} take one block of rows after another{when}", kernels.start)?;
            let all = |arrays: &[ArrayId]| arrays.iter().map(ArrayId::to_string).collect::<Vec<_>>().join(", ");
            match &transient[..] {
                [] => {}
                [one] => write!(f, "; {one} is not stored as a whole then")?,
                some => write!(f, "; {} are not stored as a whole then", all(some))?,
            }
            if !halos.is_empty() {
                write!(f, "; of {} the rows around a block are computed, too", all(halos))?;
            }
            writeln!(f)?;
        }
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|n| writeln!(f, "{n}"))?;
        write!(f, "kernels: {}, ", self.kernels.len())?;
        match self.steps.iter().filter(|s| matches!(s.what, StepKind::Sort { .. })).count() {
            0 => {}
            sorts => write!(f, "sorts: {sorts}, ")?,
        }
        writeln!(f, "intermediate arrays: {}", self.intermediates.len())
    }
}
