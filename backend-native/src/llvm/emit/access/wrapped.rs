//! Reads at wrapped indices: `xs[(i + k) % n]`, where `i` follows the lanes.
//!
//! Such a read is contiguous until it wraps around at `n`. If the remainder has no other use, no lane is divided: one
//! division finds the first lane, and the rest are one contiguous run, or two, each read under a mask. If there are
//! more, because `n` is less than a step, elements are read one by one.

use crate::kernel::{Ix, Load, Node, Op};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE};
use crate::llvm::emit::facts::{Deferred, Facts};
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Label, Operand, put, stored};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use acc_desugar::analysis::access::Along;
use std::collections::HashMap;

impl Facts<'_> {
    /// The remainders of an index along the lanes that are used as the innermost index of reads alone.
    pub(crate) fn deferred_remainders(&self) -> HashMap<Val, Deferred> {
        // All uses of each value, and those as such an index.
        let (all, mut as_index) = (self.body.uses(), vec![0; self.body.types.len()]);
        let mut found = HashMap::new();
        self.body.region.visit(0, &mut |n, _| match &n.op {
            Op::Index(Load { index, edge: None, .. }) => {
                if let Some(Ix::At(v)) = index.last() {
                    as_index[v.index()] += 1;
                }
            }
            Op::Prim(op @ (PrimOp::RemP | PrimOp::ModFloorP), args) => {
                let is_wrapped = |lane| self.accesses.along(&Ix::At(n.results[0]), lane) == Along::Wrapped;
                if self.lane.is_some_and(is_wrapped) {
                    found.insert(n.results[0], Deferred { op: *op, index: args[0], by: args[1] });
                }
            }
            _ => {}
        });
        found.retain(|v, _| all[v.index()] == as_index[v.index()]);
        found
    }
}

impl Emitter<'_> {
    /// Writes what remains to be done at the definition of such a remainder: the check for a zero divisor. False for
    /// other values.
    pub(crate) fn defers(&mut self, v: Val) -> bool {
        let Some(&Deferred { by, .. }) = self.facts.deferred.get(&v) else { return false };
        let by = self.scope.scalar(by);
        let zero = put!(self.code.f, "icmp eq i64 {by}, 0");
        self.code.f.bail_out_if(&zero);
        true
    }

    /// Computes the innermost index of a read that is gathered, if that is such a remainder.
    pub(crate) fn compute_deferred(&mut self, l: &Load) {
        if let Some(Ix::At(v)) = l.index.last()
            && let Some(&Deferred { op, index, by }) = self.facts.deferred.get(v)
        {
            let lanes = self.divide(op, ScalarType::I64, &[index, by]);
            self.scope.set(*v, lanes);
        }
    }

    /// Writes a read at a wrapped index; false if it is to be gathered.
    pub(crate) fn load_wrapped(&mut self, n: &Node, l: &Load) -> bool {
        let Some((Ix::At(v), outer)) = l.index.split_last() else { return false };
        let Some(&Deferred { op, index, by }) = self.facts.deferred.get(v) else { return false };
        let first = self.scope.scalar(index);
        let mut at = if outer.is_empty() { Default::default() } else { self.checked_index(l.array, outer, None).0 };
        at.push(Value::Uniform(Operand::int(0)));
        let Address::Uniform(row) = self.code.address(l.array, &at) else { return false };
        // Pending faults must be checked before control flow splits.
        self.code.bail_out_on_fault();

        let by = self.scope.scalar(by);
        let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, outer.len() as u32));
        // Remainders of other signs would be negative, and out of bounds; sums beyond the greatest integer wrap to the
        // least.
        let step = self.code.width.step() as i64;
        let negative = put!(self.code.f, "icmp slt i64 {by}, 0");
        let high = put!(self.code.f, "icmp sgt i64 {first}, {}", i64::MAX - step);
        let mut unusual = put!(self.code.f, "or i1 {negative}, {high}");
        if op == PrimOp::RemP {
            let below = put!(self.code.f, "icmp slt i64 {first}, 0");
            unusual = put!(self.code.f, "or i1 {unusual}, {below}");
        }
        self.code.f.bail_out_if(&unusual);
        let start = self.code.f.quotient(op, ScalarType::I64, Shape::Scalar, false, &first, &by);
        let least = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {by}, i64 {extent})");
        let last = put!(self.code.f, "sub i64 {least}, {step}");
        let fits = put!(self.code.f, "icmp sle i64 {start}, {last}");
        let [one, other, two, each, join] = [(); 5].map(|()| self.code.f.w.label());
        self.code.f.w.branch(&fits, one, other);

        self.code.f.w.start(one);
        let place = put!(self.code.f, "add i64 {row}, {start}");
        let mut ways =
            vec![self.load_path(n, l, join, |e, ty, column| {
                e.code.load_contiguous(ty, column, &place, 1, None, INPUT_SCOPE)
            })];

        self.code.f.w.start(other);
        let beyond = put!(self.code.f, "icmp sgt i64 {by}, {extent}");
        self.code.f.bail_out_if(&beyond);
        if self.has_masked_loads(n) {
            let twice = put!(self.code.f, "shl i64 {by}, 1");
            let end = put!(self.code.f, "add i64 {start}, {step}");
            let once = put!(self.code.f, "icmp sle i64 {end}, {twice}");
            self.code.f.w.branch(&once, two, each);
            self.code.f.w.start(two);
            let left = put!(self.code.f, "sub i64 {by}, {start}");
            let before = self.code.lanes_below(&left);
            let flags = self.code.mask_type();
            let yes = self.code.f.constant(self.code.shape(), "i1", "true");
            let after: Parts = before.iter().map(|m| put!(self.code.f, "xor {flags} {m}, {yes}")).collect();
            let place = put!(self.code.f, "add i64 {row}, {start}");
            let again = put!(self.code.f, "sub i64 {place}, {by}");
            ways.push(self.load_path(n, l, join, |e, ty, column| {
                let x = e.code.load_contiguous(ty, column, &place, 1, Some(&before), INPUT_SCOPE);
                let y = e.code.load_contiguous(ty, column, &again, 1, Some(&after), INPUT_SCOPE);
                let (mask, vector) = (e.code.mask_type(), e.code.vector(ty));
                let all = x.iter().zip(&y).zip(&before);
                all.map(|((x, y), m)| put!(e.code.f, "select {mask} {m}, {vector} {x}, {vector} {y}")).collect()
            }));
        } else {
            self.code.f.w.jump(each);
        }

        self.code.f.w.start(each);
        ways.push(
            self.load_path(n, l, join, |e, ty, column| e.code.load_wrapped_singly(ty, column, &row, &start, &by)),
        );

        self.join_paths(n, join, &ways);
        true
    }

    /// The values of all leaves on one path of a read, and the block where the path ends.
    pub(crate) fn load_path(
        &mut self,
        n: &Node,
        l: &Load,
        join: Label,
        mut read: impl FnMut(&mut Self, ScalarType, &Operand) -> Parts,
    ) -> (Vec<Parts>, Label) {
        let mut all = Vec::new();
        for (&leaf, &r) in l.leaves.iter().zip(&n.results) {
            let (ty, column) = (self.ty(r), self.code.f.arg(KernelArg::Column(l.array, leaf)));
            all.push(read(self, ty, &column));
        }
        let end = self.code.f.w.block;
        self.code.f.w.jump(join);
        (all, end)
    }

    /// Joins the paths of a read.
    pub(crate) fn join_paths(&mut self, n: &Node, join: Label, ways: &[(Vec<Parts>, Label)]) {
        self.code.f.w.start(join);
        for (k, &r) in n.results.iter().enumerate() {
            let vector = self.code.vector(self.ty(r));
            let parts = (0..self.code.width.parts).map(|part| {
                let ends: Vec<String> = ways.iter().map(|(v, from)| format!("[ {}, {from} ]", v[k][part])).collect();
                put!(self.code.f, "phi {vector} {}", ends.join(", "))
            });
            let parts: Parts = parts.collect();
            self.scope.set(r, Value::Varying(parts));
        }
    }
}

impl VectorCode {
    /// Reads the lanes one by one, wrapping around at the divisor.
    fn load_wrapped_singly(
        &mut self,
        ty: ScalarType,
        column: &Operand,
        row: &Operand,
        start: &Operand,
        by: &Operand,
    ) -> Parts {
        let (mem, size, step) = (stored(ty), ty.size(), self.width.step());
        let buffer = self.f.memory(step * size);
        let (zero, end) = (Operand::int(0), Operand::int(step as i64));
        let carried = LoopState::default().with(start.clone(), "i64");
        self.counted_loop([&zero, &end], 1, carried, None, |e, lane, carried| {
            let at = carried.0[0].0.clone();
            let place = put!(e.f, "add i64 {row}, {at}");
            let p = put!(e.f, "getelementptr {mem}, ptr {column}, i64 {place}");
            let x = put!(e.f, "load {mem}, ptr {p}, align {size}{INPUT_SCOPE}");
            let p = put!(e.f, "getelementptr {mem}, ptr {buffer}, i64 {lane}");
            e.f.w.line(format_args!("store {mem} {x}, ptr {p}, align {size}"));
            let next = put!(e.f, "add i64 {at}, 1");
            let over = put!(e.f, "icmp sge i64 {next}, {by}");
            vec![put!(e.f, "select i1 {over}, i64 0, i64 {next}")]
        });
        let mask = std::mem::replace(&mut self.mask, Mask::All);
        let parts = self.load_contiguous(ty, &buffer, &zero, 1, None, "");
        self.mask = mask;
        parts
    }
}
