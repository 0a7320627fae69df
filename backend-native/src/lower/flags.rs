//! Sparse flags: boolean arrays set at few positions, such as the starts of segments, which scans read at their own
//! elements.
//!
//! Their kernel stores only the positions, in order; a chunk of a scan expands those of its own elements in the
//! first-level cache (`bind::flags`). Neither the dense flags nor their initial values go through memory.

use super::{Launch, Lowering, Plan, Step, Work};
use crate::kernel::{self, AxisKind, Initial, Ix, Kernel, KernelOp, Op, Output, Sink, Update, only};
use acc_core::data::{EltType, ScalarType};
use acc_core::ir::{ArrayId, ArrayType, Val};
use std::collections::HashSet;

impl Lowering<'_> {
    /// Finds the launches of a plan that compute flags, and the scans that read them.
    pub(super) fn flags(&self, plan: &mut Plan) {
        let mut read: HashSet<ArrayId> = HashSet::new();
        for step in &mut plan.steps {
            if let Work::Kernel { launch, .. } = &mut step.work {
                launch.flags = self.flags_read(launch);
                read.extend(&launch.flags);
            }
        }
        let dense_uses: HashSet<ArrayId> = plan.steps.iter().flat_map(dense_uses).collect();
        read.retain(|a| !dense_uses.contains(a));
        read.retain(|a| !plan.yielded().any(|r| r == *a));
        for k in 0..plan.steps.len() {
            let Work::Kernel { launch, .. } = &plan.steps[k].work else { continue };
            let Some(kernel) = places(&launch.kernel).filter(|k| read.contains(&k.outputs[0].result)) else { continue };
            let places = self.places(kernel, launch.over, plan);
            if let Work::Kernel { launch, .. } = &mut plan.steps[k].work {
                launch.flag_positions = Some(Box::new(places));
            }
        }
    }

    /// The boolean arrays that each point of a scan reads at its own element only.
    fn flags_read(&self, launch: &Launch) -> Vec<ArrayId> {
        let kernel = &launch.kernel;
        let Some(AxisKind::Scan(_)) = kernel.axes.last() else { return Vec::new() };
        let inner = kernel.axes.len() as u32 - 1;
        let is_marks = |a: &ArrayId| {
            let ty = self.program.ty(*a);
            ty.rank == 1 && ty.elt.leaves()[..] == [ScalarType::Bool]
        };
        let mut read: Vec<ArrayId> = kernel.element.arrays().into_iter().filter(is_marks).collect();
        let bodies = kernel.epilogue.iter().map(|e| &e.body);
        let others = bodies.chain(kernel.outputs.iter().filter_map(|o| o.sink.combine()));
        let mut elsewhere: HashSet<ArrayId> = HashSet::new();
        others.for_each(|b| b.region.visit(0, &mut |n, _| elsewhere.extend(element_of(&n.op))));
        kernel.element.region.visit(0, &mut |n, depth| {
            let own = |ix: &Ix| matches!(*ix, Ix::Affine { axis, scale: 1, offset: 0, base: None } if axis == inner);
            let at_point = matches!(&n.op, Op::Index(l) if depth == 0 && l.edge.is_none() && l.index.iter().all(own));
            elsewhere.extend(element_of(&n.op).filter(|_| !at_point));
        });
        read.retain(|a| !elsewhere.contains(a));
        read
    }

    /// The launch that stores the positions.
    fn places(&self, mut kernel: Kernel, over: ArrayId, plan: &mut Plan) -> Launch {
        let result = ArrayId(plan.types.len() as u32);
        plan.types.push(ArrayType { rank: 1, elt: EltType::Scalar(ScalarType::I64) });
        plan.def.push(None);
        kernel.outputs[0].result = result;
        self.alone(over, kernel)
    }
}

/// The array that an operation loads from or tests an index of.
fn element_of(op: &Op) -> Option<ArrayId> {
    match op {
        Op::Index(l) => Some(l.array),
        Op::Own(KernelOp::Inside { array, .. } | KernelOp::Check { array, .. }) => Some(*array),
        Op::Const(_) | Op::Prim(..) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } => None,
        Op::If { .. } | Op::While { .. } | Op::Extent { .. } => None,
        Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Table { .. }) => None,
        Op::Own(KernelOp::Call { .. } | KernelOp::Scalar { .. } | KernelOp::Unlikely(_)) => None,
    }
}

impl Plan {
    /// The arrays that blocks yield.
    fn yielded(&self) -> impl Iterator<Item = ArrayId> + '_ {
        let inner = self.steps.iter().flat_map(|s| match &s.work {
            Work::If { then, else_, .. } => vec![then, else_],
            Work::While { test, step, .. } => vec![test, step],
            Work::Foreign { fallback, .. } => vec![fallback],
            Work::Array { .. } | Work::Kernel { .. } => Vec::new(),
        });
        inner.chain([&self.body]).flat_map(|b| b.results.iter().copied())
    }
}

/// The arrays that a step needs dense in memory.
fn dense_uses(s: &Step) -> Vec<ArrayId> {
    match &s.work {
        Work::Array { op, .. } => op.arrays().to_vec(),
        Work::Kernel { launch, .. } => {
            let mut all: Vec<ArrayId> = launch.arrays.iter().copied().filter(|a| !launch.flags.contains(a)).collect();
            for o in &launch.kernel.outputs {
                if let Sink::Scatter { initial: Initial::Array(a), .. } = o.sink {
                    all.push(a);
                }
            }
            all
        }
        Work::While { init, .. } => init.clone(),
        Work::Foreign { xs, .. } => xs.clone(),
        Work::If { .. } => Vec::new(),
    }
}

/// The kernel that stores the positions at which a scatter sets `true`, if it does nothing else and its initial array
/// is all `false`.
fn places(kernel: &Kernel) -> Option<Kernel> {
    let ([o], None, [AxisKind::Parallel]) = (&kernel.outputs[..], &kernel.epilogue, &kernel.axes[..]) else {
        return None;
    };
    let Sink::Scatter { initial: Initial::Computed(initial), builtin: Some(known), rank: 1, .. } = &o.sink else {
        return None;
    };
    let [keep, place, value] = kernel.values(o)[..] else { return None };
    let constant = |b: &kernel::Body, v: Val| {
        let lit = b.consts.iter().find(|(c, _)| *c == v).map(|(_, lit)| lit)?;
        (lit.ty == ScalarType::Bool).then_some(lit.bits == 1)
    };
    let puts = known[..] == [Update::New] && constant(&kernel.element, value) == Some(true);
    let into = initial.region.results.first().and_then(|&v| constant(initial, v)) == Some(false);
    (puts && into).then(|| Kernel {
        element: only(&kernel.element, vec![keep, place]),
        outputs: vec![Output { values: 0..2, sink: Sink::Compact, stored: true, ..o.clone() }],
        ..kernel.clone()
    })
}
