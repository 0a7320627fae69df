//! Conditionals whose condition bounds the lane axis and guards the reads of one side, such as the interior of a stencil.
//!
//! Once per row, comparisons say in which columns the condition holds, whether the guarded reads are in bounds there, and at
//! which columns whole vectors of them stay inside their arrays. Steps in that range compute the side for all lanes, without
//! masks and checks: lanes for which the condition does not hold read other elements of the array, and their results are not
//! used.

use crate::kernel::access::Index;
use crate::kernel::{Ix, KernelOp, Load, Node, Op, OpExt as _, Region, is_partial};
use crate::llvm::emit::access::address::Address;
use crate::llvm::emit::arith::affine_compare::{MAX_FIRST, mirrored};
use crate::llvm::emit::loops::nest::{Axis, Bound};
use crate::llvm::emit::text::value::{Parts, Value};
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg, Uniformity};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use acc_desugar::analysis::access::{Access, Along};
use smallvec::SmallVec;
use std::ops::Range;

/// The longest side with guarded reads, which is written twice.
const MAX_GUARDED_NODES: usize = 48;
/// The longest other side: it is computed for all lanes.
const MAX_OTHER_NODES: usize = 8;

/// What is known of such a conditional in a row.
#[derive(Clone)]
pub(crate) struct Guarded {
    /// The columns in which the condition holds.
    holds: Range<Operand>,
    /// The columns that whole vectors may lie in.
    whole: Range<Operand>,
    /// Indices that are in bounds wherever the condition holds.
    proven: Vec<Bound>,
}

/// What the part of a condition that was looked at says.
struct Condition {
    /// Where it holds, if the flags do.
    columns: Range<Operand>,
    /// What it demands of the whole row.
    flags: Vec<Operand>,
}

impl<'a> Emitter<'a> {
    /// Notes the guarded reads of a node of the step, for the row whose outer axes are bound, in these columns.
    pub(super) fn guard(&mut self, n: &'a Node, lane: usize, [from, to]: [&Operand; 2]) {
        let (Op::If { cond, then, else_ }, Some(&result)) = (&n.op, n.results.first()) else { return };
        if self.code.lane_step != 1 || self.facts.uniformities[cond.index()] == Uniformity::Uniform {
            return;
        }
        let consts = &self.facts.body.consts;
        let Some(reads) = guarded_reads(then).filter(|_| is_free(else_) && !is_partial(else_, consts)) else { return };
        if then.nodes.iter().any(|n| !matches!(n.op, Op::Index(_)) && n.op.is_partial(consts)) {
            return;
        }
        let bound = std::mem::replace(&mut self.scope.axes[lane], Axis::Lanes(Operand::int(0)));
        let condition = Condition { columns: from.clone()..to.clone(), flags: Vec::new() };
        if let Some(guarded) = self.condition(*cond, condition).and_then(|c| self.guarded(&reads, lane, c)) {
            self.scope.guarded.insert(result, guarded);
        }
        self.scope.axes[lane] = bound;
    }

    /// Compares guarded reads with bounds; none if they are not contiguous, or not affine.
    fn guarded(&mut self, reads: &[&Load], lane: usize, condition: Condition) -> Option<Guarded> {
        let Condition { columns: holds, mut flags } = condition;
        let mut whole = Operand::int(0)..Operand::int(MAX_FIRST);
        let (mut proven, mut some_column) = (Vec::new(), false);
        let ends = [holds.start.clone(), holds.end.clone()];
        for l in reads {
            let access = self.lane_access(l);
            if l.edge.is_some() || !matches!(access, Access::Uniform | Access::Strided(1)) {
                return None;
            }
            for (dim, ix) in l.index.iter().enumerate() {
                if self.is_proven(l.array, dim, ix) {
                    continue;
                }
                let ends = self.ends_of(ix, &|_, axis| (axis == lane).then(|| ends.clone()))?;
                let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, dim as u32));
                flags.extend(ends.iter().map(|i| put!(self.code.f, "icmp ult i64 {i}, {extent}")));
                proven.push(Bound::new(l.array, dim, *ix));
            }
            if access != Access::Uniform && self.is_last_index_proven(l) {
                // Elements of one row, all of which are there if one of them is read.
                some_column = true;
                continue;
            }
            // The index of column 0, and the columns for which that is an element, whatever the other indices are.
            let index = l.index.iter().map(|ix| self.index_before(ix)).collect::<Option<_>>()?;
            let (Address::Uniform(first) | Address::Contiguous(first, _)) = self.code.address(l.array, &index) else {
                return None;
            };
            let [start, end] = [KernelArg::ReadableStart(l.array), KernelArg::ReadableEnd(l.array)].map(|word| {
                let at = self.code.f.arg(word);
                put!(self.code.f, "sub i64 {at}, {first}")
            });
            if access == Access::Uniform {
                flags.push(put!(self.code.f, "icmp sle i64 {start}, 0"));
                flags.push(put!(self.code.f, "icmp sgt i64 {end}, 0"));
            } else {
                whole.start = put!(self.code.f, "call i64 @llvm.smax.i64(i64 {}, i64 {start})", whole.start);
                whole.end = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {}, i64 {end})", whole.end);
            }
        }
        if some_column {
            flags.push(put!(self.code.f, "icmp slt i64 {}, {}", holds.start, holds.end));
        }
        for flag in flags {
            whole.end = put!(self.code.f, "select i1 {flag}, i64 {}, i64 0", whole.end);
        }
        Some(Guarded { holds, whole, proven })
    }

    /// The value of an index that is perhaps not computed yet, with the axes as they are bound; none if it is no affine sum of
    /// what is.
    fn index_before(&mut self, ix: &Ix) -> Option<Value> {
        let Ix::At(v) = *ix else { return Some(self.index(ix)) };
        if self.is_written(Some(v)) {
            return Some(self.index(ix));
        }
        let Index::Affine(sum) = self.facts.accesses.index(v) else { return None };
        if !self.is_known(&sum.base) {
            return None;
        }
        let first = self.first_of(&sum);
        match self.facts.uniformities[v.index()] {
            Uniformity::Uniform => Some(Value::Uniform(first)),
            Uniformity::Affine(step) => Some(Value::Affine(first, step)),
            Uniformity::Varying => None,
        }
    }

    /// Whether the last index of a read is in bounds in all columns of the row.
    fn is_last_index_proven(&self, l: &Load) -> bool {
        l.index.last().is_some_and(|ix| self.is_proven(l.array, l.index.len() - 1, ix))
    }

    /// Adds what another condition demands; none if that is not known for the whole row.
    fn condition(&mut self, cond: Val, mut of: Condition) -> Option<Condition> {
        if self.is_written(Some(cond)) {
            of.flags.push(self.scope.scalar(cond));
            return Some(of);
        }
        let node = self.facts.body.region.definition(cond)?;
        match &node.op {
            Op::Prim(PrimOp::AndP, args) if self.ty(cond) == ScalarType::Bool => {
                args.iter().try_fold(of, |of, &a| self.condition(a, of))
            }
            Op::Prim(p, args) => {
                let [a, b] = args[..] else { return None };
                let mirrored = mirrored(*p)?;
                let (p, a, b) = if self.is_written(Some(b)) { (*p, a, b) } else { (mirrored, b, a) };
                self.comparison(p, a, b, of)
            }
            Op::Own(KernelOp::Inside { array, index }) => {
                self.code.f.demand(*array);
                index.iter().enumerate().try_fold(of, |of, (dim, ix)| {
                    if self.is_proven(*array, dim, ix) {
                        return Some(of);
                    }
                    let extent = self.code.f.arg(KernelArg::ArrayExtent(*array, dim as u32));
                    self.inside_extent(ix, &extent, of)
                })
            }
            _ => None,
        }
    }

    /// Adds the comparison of an integer that is one further, or one less, in each lane with a uniform one.
    fn comparison(&mut self, p: PrimOp, a: Val, b: Val, mut of: Condition) -> Option<Condition> {
        let (Uniformity::Affine(step @ (1 | -1)), true) =
            (self.facts.uniformities[a.index()], self.is_written(Some(b)))
        else {
            return None;
        };
        let Index::Affine(sum) = self.facts.accesses.index(a) else { return None };
        if !self.is_known(&sum.base) {
            return None;
        }
        let (first, other) = (self.first_of(&sum), self.scope.scalar(b));
        if !self.is_small(a) {
            of.flags.push(put!(self.code.f, "icmp sge i64 {first}, {}", -MAX_FIRST));
            of.flags.push(put!(self.code.f, "icmp sle i64 {first}, {MAX_FIRST}"));
        }
        // The column in which both are equal.
        let [x, y] = if step > 0 { [&other, &first] } else { [&first, &other] };
        let equal = put!(self.code.f, "call i64 @llvm.ssub.sat.i64(i64 {x}, i64 {y})");
        let next = put!(self.code.f, "call i64 @llvm.sadd.sat.i64(i64 {equal}, i64 1)");
        let (start, end) = match if step > 0 { p } else { mirrored(p)? } {
            PrimOp::LtP => (None, Some(equal)),
            PrimOp::LeP => (None, Some(next)),
            PrimOp::GeP => (Some(equal), None),
            PrimOp::GtP => (Some(next), None),
            PrimOp::EqP => (Some(equal), Some(next)),
            _ => return None,
        };
        Some(self.within(start, end, of))
    }

    /// Adds that an index is not less than 0, and less than an extent.
    fn inside_extent(&mut self, ix: &Ix, extent: &Operand, mut of: Condition) -> Option<Condition> {
        let first = match *ix {
            Ix::Affine { base, .. } if self.is_written(base) => self.index(ix),
            Ix::At(v) if self.is_written(Some(v)) => self.index(ix),
            Ix::Affine { .. } | Ix::At(_) => return None,
        };
        match (self.along_lanes(ix), first) {
            (Along::Step(0), Value::Uniform(i)) => {
                of.flags.push(put!(self.code.f, "icmp ult i64 {i}, {extent}"));
                Some(of)
            }
            (Along::Step(1), Value::Affine(first, 1)) => {
                let start = put!(self.code.f, "call i64 @llvm.ssub.sat.i64(i64 0, i64 {first})");
                let end = put!(self.code.f, "call i64 @llvm.ssub.sat.i64(i64 {extent}, i64 {first})");
                Some(self.within(Some(start), Some(end), of))
            }
            _ => None,
        }
    }

    /// Adds bounds of the columns. The end is not below 0, so that differences of columns do not overflow.
    fn within(&mut self, start: Option<Operand>, end: Option<Operand>, mut of: Condition) -> Condition {
        if let Some(start) = start {
            of.columns.start = put!(self.code.f, "call i64 @llvm.smax.i64(i64 {}, i64 {start})", of.columns.start);
        }
        if let Some(end) = end {
            let end = put!(self.code.f, "call i64 @llvm.smax.i64(i64 {end}, i64 0)");
            of.columns.end = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {}, i64 {end})", of.columns.end);
        }
        of
    }

    /// Writes a conditional with guarded reads: for all lanes where whole vectors may be read, else under masks.
    pub(super) fn guarded_if(
        &mut self,
        n: &Node,
        guarded: Guarded,
        [then, else_]: [&Region; 2],
        masked: impl FnOnce(&mut Self),
    ) {
        let Some(Axis::Lanes(first)) = self.facts.lane.map(|lane| self.scope.axes[lane].clone()) else {
            return masked(self);
        };
        let Guarded { holds, whole, proven } = guarded;
        let (all, part, join) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.label());
        let end = put!(self.code.f, "add i64 {first}, {}", self.code.width.step());
        let begun = put!(self.code.f, "icmp sge i64 {first}, {}", whole.start);
        let within = put!(self.code.f, "icmp sle i64 {end}, {}", whole.end);
        let within = put!(self.code.f, "and i1 {begun}, {within}");
        self.code.f.w.branch(&within, all, part);

        self.code.f.w.start(all);
        let unproven = self.scope.proven.assume(proven);
        self.region(then);
        self.scope.proven.forget(&unproven);
        self.region(else_);
        let [before, until] = [&holds.start, &holds.end].map(|at| {
            let lane = put!(self.code.f, "sub i64 {at}, {first}");
            self.code.lanes_below(&lane)
        });
        let from = self.code.inverted(&before);
        let flags = self.code.and_masks(&until, &from);
        let results = then.results.iter().zip(&else_.results);
        let sides: Vec<_> = results.map(|(&x, &y)| (self.ty(x), self.vectors(x), self.vectors(y))).collect();
        let mixed: Vec<Parts> = sides.iter().map(|(ty, xs, ys)| self.code.selected(*ty, &flags, xs, ys)).collect();
        let after_all = self.code.f.w.block;
        self.code.f.w.jump(join);

        self.code.f.w.start(part);
        masked(self);
        let results: Vec<Parts> = n.results.iter().map(|&v| self.vectors(v)).collect();
        let after_part = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.code.f.w.start(join);
        self.join_sides(n, [(&mixed, after_all), (&results, after_part)]);
    }
}

/// The reads of a side that does nothing but arithmetic besides; none if there is none, or it is too long.
fn guarded_reads(side: &Region) -> Option<SmallVec<[&Load; 8]>> {
    let is_plain = side.nodes.len() <= MAX_GUARDED_NODES && side.nodes.iter().all(|n| n.op.regions().is_empty());
    let reads = side.nodes.iter().filter_map(|n| if let Op::Index(l) = &n.op { Some(l) } else { None });
    let reads: SmallVec<[&Load; 8]> = reads.collect();
    (is_plain && !reads.is_empty()).then_some(reads)
}

/// Whether a side takes hardly any time, and reads nothing.
fn is_free(side: &Region) -> bool {
    let is_arithmetic = |n: &Node| n.op.regions().is_empty() && !matches!(n.op, Op::Index(_));
    side.nodes.len() <= MAX_OTHER_NODES && side.nodes.iter().all(is_arithmetic)
}
