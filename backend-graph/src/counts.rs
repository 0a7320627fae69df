//! What running a graph costs in calls of libtorch, on the CPU, counted before a run.
//!
//! A call *launches work* if it computes elements or moves them. Views and what happens on the host alone do not. Bodies
//! count once, whichever way a run takes and however often, and so do steps that go through large tensors in blocks. Some
//! calls depend on the extents: the counts are those of small tensors (a selection among many elements is several calls).
//! Sums at positions of less than 32 bits are one call more than is counted, unless they count ones, and these look for the
//! greatest position first if it is narrow. Those of a scan of segments depend on how long these are: the counts are for
//! lengths that differ, but not so much that they do not fit side by side. Segments of one length take a fifth of that; very
//! unlike ones a sequence of steps, as scans with operators of their own do.

use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use acc_desugar::graph::{Body, Graph, Node, Op, ReduceOp, Type, Value};
use std::collections::{HashMap, HashSet};

/// How many calls of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Calls that launch work of the program.
    pub launches: usize,
    /// Calls that make a view.
    pub views: usize,
    /// Calls that launch work only to find faults.
    pub checks: usize,
    /// How often the host waits for the device: reads of sizes and conditions, and one for what the checks found.
    pub read_backs: usize,
}

impl Counts {
    /// Counts the calls of a graph.
    pub fn of(graph: &Graph) -> Counts {
        let mut counts = Counter::new(graph).counts;
        if counts.checks > 0 {
            counts.read_backs += 1;
        }
        counts
    }

    /// Counts the calls of each node, without those of its bodies, by the node's first result.
    pub fn of_nodes(graph: &Graph) -> HashMap<Value, Counts> {
        Counter::new(graph).of_nodes
    }

    /// What is counted since another count.
    fn since(self, before: Counts) -> Counts {
        Counts {
            launches: self.launches - before.launches,
            views: self.views - before.views,
            checks: self.checks - before.checks,
            read_backs: self.read_backs - before.read_backs,
        }
    }
}

struct Counter<'a> {
    graph: &'a Graph,
    counts: Counts,
    of_nodes: HashMap<Value, Counts>,
    constants: HashMap<Value, u64>,
    /// How often each value is used, other than by checks.
    uses: HashMap<Value, usize>,
}

impl<'a> Counter<'a> {
    /// Counts the calls of a graph.
    fn new(graph: &'a Graph) -> Counter<'a> {
        let (counts, of_nodes) = (Counts::default(), HashMap::new());
        let mut counter = Counter { graph, counts, of_nodes, constants: HashMap::new(), uses: HashMap::new() };
        counter.used(&graph.body);
        let checks = counter.checks_only(&graph.body);
        counter.body(&graph.body, &checks);
        counter
    }

    fn used(&mut self, b: &Body) {
        for n in &b.nodes {
            if !matches!(n.op, Op::Fault { .. }) {
                for v in n.op.operands() {
                    *self.uses.entry(v).or_default() += 1;
                }
            }
            if let (Op::Const(l), [v]) = (&n.op, &n.results[..]) {
                self.constants.insert(*v, l.bits);
            }
            for inner in n.op.bodies() {
                acc_core::grow_stack(|| self.used(inner));
            }
        }
        for r in &b.results {
            *self.uses.entry(*r).or_default() += 1;
        }
    }

    /// The values that only checks use, directly or not.
    fn checks_only(&mut self, b: &Body) -> HashSet<Value> {
        let mut out = HashSet::new();
        self.mark(b, &mut out);
        out
    }

    fn mark(&mut self, b: &Body, out: &mut HashSet<Value>) {
        for n in b.nodes.iter().rev() {
            for inner in n.op.bodies().into_iter().rev() {
                acc_core::grow_stack(|| self.mark(inner, out));
            }
            let is_check = matches!(n.op, Op::Fault { .. });
            let unused = n.results.iter().all(|r| self.uses.get(r).copied().unwrap_or(0) == 0);
            let branches = matches!(n.op, Op::If { .. });
            if !is_check && unused && (branches || n.op.bodies().is_empty()) {
                out.extend(n.results.iter().copied());
                let inner = n.op.bodies().into_iter().flat_map(|b| &b.nodes);
                out.extend(inner.flat_map(|n| &n.results).copied());
                for v in n.op.operands() {
                    if let Some(uses) = self.uses.get_mut(&v) {
                        *uses -= 1;
                    }
                }
            }
        }
    }

    fn body(&mut self, b: &Body, checks: &HashSet<Value>) {
        for n in &b.nodes {
            let before = self.counts;
            let (launches, views) = self.node(n);
            let for_checks = n.results.iter().all(|r| checks.contains(r));
            if for_checks || matches!(n.op, Op::Fault { .. } | Op::InBounds { .. }) {
                self.counts.checks += launches;
            } else {
                self.counts.launches += launches;
            }
            self.counts.views += views;
            if let Some(v) = n.results.first() {
                self.of_nodes.insert(*v, self.counts.since(before));
            }
            for inner in n.op.bodies() {
                acc_core::grow_stack(|| self.body(inner, checks));
            }
        }
    }

    fn scalar(&self, v: Value) -> (ScalarType, usize) {
        match self.graph.ty(v) {
            Type::Tensor { scalar, rank } => (scalar, rank),
            Type::Size | Type::Token => (ScalarType::I64, 0),
        }
    }

    /// The calls that launch work, and those that make views.
    fn node(&mut self, n: &Node) -> (usize, usize) {
        match &n.op {
            Op::Size(_) | Op::SizeOp(..) | Op::Argument(_) | Op::Outside { .. } | Op::Extent(..) | Op::Const(_) => {
                (0, 0)
            }
            Op::ReadBack(_) => {
                self.counts.read_backs += 1;
                (0, 0)
            }
            Op::If { cond: c, .. } => {
                self.condition(*c);
                (0, 0)
            }
            Op::While { test, .. } => {
                if let Some(c) = test.results.first() {
                    self.condition(*c);
                }
                (0, 0)
            }
            // Whether any lane goes on, and what is held back for those that do not.
            Op::LaneLoop { kept, .. } => {
                self.counts.read_backs += 1;
                (1 + kept.iter().filter(|k| **k).count(), 0)
            }
            Op::FromSize(_) | Op::Iota { .. } | Op::Where(..) | Op::Clip { .. } | Op::Clamp(..) | Op::Flip(..) => {
                (1, 0)
            }
            Op::Prim(p, v) => {
                let (ty, rank) = v.first().map_or((ScalarType::I64, 0), |x| self.scalar(*x));
                let divisor = v.get(1).and_then(|y| self.constants.get(y)).copied();
                let narrow = v.get(1).is_some_and(|y| self.scalar(*y).1 == 0) && rank > 0;
                prim(*p, ty, divisor, narrow)
            }
            Op::Cast(x, to) => (cast(self.scalar(*x).0, *to), 0),
            Op::Bitcast(..) | Op::Reshape(..) | Op::Broadcast(..) | Op::Transpose(..) | Op::Slice { .. } => (0, 1),
            Op::Select { .. } => (0, 1),
            Op::InsertAxes(_, axes) => (0, axes.len()),
            Op::Unfold { padded, .. } => (usize::from(*padded), 2),
            Op::Gather(_, at) => (1 + self.widened(*at), if self.scalar(*at).1 == 1 { 0 } else { 2 }),
            Op::Take { at, .. } => (1 + self.widened(*at), 0),
            Op::Pad { .. } => (1, 4),
            Op::Scatter { base, .. } => (if self.scalar(*base).0 == ScalarType::F16 { 4 } else { 1 }, 0),
            Op::Concat(..) | Op::Nonzero(_) | Op::Sort { .. } => (1, 0),
            Op::Reduce(_, x) | Op::Cumulative(_, x) => (if self.scalar(*x).0 == ScalarType::F16 { 3 } else { 1 }, 0),
            Op::Exclusive(k, x) => match (k, self.scalar(*x).0) {
                (_, ScalarType::F16) => (4, 1),
                (ReduceOp::Sum | ReduceOp::Product, _) => (2, 2),
                (ReduceOp::Min | ReduceOp::Max | ReduceOp::All | ReduceOp::Any, _) => (2, 1),
            },
            // Whether the segments are of one length, three numbers; where they are; then of integers two sums, of others a
            // scan of them side by side.
            Op::SegmentScan { with, x, .. } => {
                self.counts.read_backs += 5;
                let scan = if *with == ReduceOp::Sum && self.scalar(*x).0.is_int() { (9, 3) } else { (9, 6) };
                (3 + 9 + scan.0, 4 + 10 + scan.1)
            }
            Op::SegmentReduce { with, x, .. } => {
                // Whether the segments are there: their lengths, and the least and the greatest of these.
                self.counts.checks += 2;
                segment_reduce(*with, self.scalar(*x).0)
            }
            Op::Contract { left, .. } => (1, if self.scalar(*left).1 == 1 { 0 } else { 4 }),
            Op::Pool { .. } => (1, 2),
            Op::Convolve { .. } => (1, 3),
            Op::ArgExtreme(..) | Op::Softmax { .. } | Op::Normalize { .. } => (1, 0),
            Op::AnyLane(_) => (1, 2),
            Op::Fold { .. } | Op::Scan { columns: _, .. } => (0, 0),
            Op::Fault { bad, .. } => match self.graph.ty(*bad) {
                Type::Tensor { rank, .. } if rank > 0 => (1, 2),
                Type::Tensor { .. } => (0, 0),
                Type::Size | Type::Token => (0, 0),
            },
            Op::InBounds { by_use, .. } => (usize::from(!by_use), 0),
            Op::Divisor(_) | Op::Checked { .. } | Op::Confine { .. } => (0, 0),
            Op::Trace { .. } => (0, 0),
        }
    }

    /// Positions of less than 32 bits are made wider before they are used.
    fn widened(&self, at: Value) -> usize {
        usize::from(self.scalar(at).0.bits() < 32)
    }

    fn condition(&mut self, c: Value) {
        if matches!(self.graph.ty(c), Type::Tensor { .. }) {
            self.counts.read_backs += 1;
        }
    }
}

/// The calls of a reduction of segments.
fn segment_reduce(with: ReduceOp, ty: ScalarType) -> (usize, usize) {
    match with {
        ReduceOp::Sum if ty.is_int() => (4, 4),
        _ if ty == ScalarType::F16 => (3, 1),
        _ if ty.is_float() => (1, 1),
        // As floats, which hold these.
        ReduceOp::Min | ReduceOp::Max | ReduceOp::All | ReduceOp::Any if ty.size() < 8 => {
            (if matches!(ty, ScalarType::U16 | ScalarType::U32) { 5 } else { 3 }, 1)
        }
        ReduceOp::Sum | ReduceOp::Product | ReduceOp::Min | ReduceOp::Max | ReduceOp::All | ReduceOp::Any => (5, 5),
    }
}

/// The calls of a conversion.
pub(crate) fn cast(from: ScalarType, to: ScalarType) -> usize {
    use ScalarType as T;
    let widened = usize::from(matches!(from, T::U16 | T::U32)) * 2;
    match (from, to) {
        (T::U32, T::Char) => 7,
        (T::F32, T::F16) => 1,
        (T::F64, T::F16) => 11,
        (_, T::F16) => 11 + cast(from, T::F64),
        // Of numbers that the integers hold.
        (T::F16 | T::F32 | T::F64, to) if to.is_int() => {
            2 + usize::from(from == T::F16) + usize::from(matches!(to, T::U16 | T::U32))
        }
        (T::U64, to) if to.is_float() => 8,
        _ => 1 + widened,
    }
}

/// The calls that make words of numbers whose bits are counted, and `i32` of the counts.
fn word(ty: ScalarType) -> usize {
    match ty.bits() {
        64 => 1,
        32 => 0,
        _ => 2,
    }
}

/// The calls of an element-wise operation. `divisor` are the bits of a constant second operand; `narrow` whether it is of
/// rank 0 while the first is not.
pub(crate) fn prim(p: PrimOp, ty: ScalarType, divisor: Option<u64>, narrow: bool) -> (usize, usize) {
    use PrimOp as P;
    use ScalarType as T;
    if ty == T::F16 {
        let (launches, views) = prim(p, T::F32, None, narrow);
        return (launches + p.arity() + 1, views);
    }
    let encoded = matches!(ty, T::U16 | T::U32 | T::U64);
    let launches = match p {
        P::DivP if narrow && ty.is_float() => return (1, 1),
        P::FmodP => return (3, 2),
        P::MinP | P::MaxP if encoded => 4,
        P::LtP | P::LeP | P::GtP | P::GeP if encoded => 3,
        P::QuotP | P::DivFloorP | P::RemP | P::ModFloorP if matches!(ty, T::U16 | T::U32) => 6,
        P::QuotP | P::DivFloorP if ty == T::U64 => 19,
        P::RemP | P::ModFloorP if ty == T::U64 => 21,
        P::QuotP if matches!(ty, T::I32 | T::I64) && divisor.is_none_or(|d| d == u64::MAX) => 5,
        P::ShrP if matches!(ty, T::U16 | T::U32) => 6,
        P::ShrP if ty == T::U64 => 13,
        P::AbsP if !(ty.is_signed() || ty.is_float()) => 0,
        P::SignumP if encoded => 2,
        P::SignumP if ty.is_float() => 5,
        P::SinhP | P::CoshP => 9,
        P::PopCountP => 12 + word(ty),
        P::LeadingZerosP => 10 + word(ty) + usize::from(ty.bits() < 32),
        P::TrailingZerosP => 15 + word(ty) + usize::from(ty.bits() < 32),
        _ => 1,
    };
    (launches, 0)
}
