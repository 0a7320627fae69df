//! Folds and scans over the lanes of a step, with loop-carried results.
//!
//! Groups of [`SCAN_GROUP`] lanes are scanned by doubling distances; a step has
//! [`PARTIAL_RESULTS`](crate::kernel::grouping::PARTIAL_RESULTS) lanes. Only one operation depends on the group before,
//! or, for a user's operator, on the step before. The tile executor has the same tree.

use crate::kernel::Body;
use crate::kernel::grouping::{PARTIAL_RESULTS, SCAN_GROUP};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, element, literal, put};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;
use backend_native_lanes::reduce;

/// Groups per step.
const GROUPS_PER_STEP: usize = PARTIAL_RESULTS / SCAN_GROUP;

/// Distances of the operations that scan a group.
const SCAN_DISTANCES: [usize; 3] = [1, 2, 4];

/// The carried result of an operator without a neutral element.
#[derive(Clone)]
pub(crate) struct Carry {
    /// Whether there is one yet, an `i1`.
    pub there: Operand,
    /// The leaves, broadcast to all lanes.
    pub leaves: Vec<Operand>,
}

/// The elements of a step, scanned group by group.
struct Groups {
    /// The vectors of each leaf.
    scanned: Vec<Parts>,
    /// For each leaf a vector with one lane per group: the total of all groups of the step up to it.
    through: Vec<Operand>,
    /// Which of these groups have elements.
    there: Operand,
}

impl VectorCode {
    /// Scans the elements of a step after `carry`, in groups of [`SCAN_GROUP`] lanes; returns the next carry.
    pub(crate) fn scan(&mut self, op: PrimOp, ty: ScalarType, parts: &Parts, carry: Operand) -> (Parts, Operand) {
        let (el, t, lanes, shape) = (element(ty), self.vector(ty), self.width.lanes, self.shape());
        let neutral = self.neutral(op, ty);
        let mut carry = carry;
        let mut scanned = Parts::new();
        for (part, x) in parts.iter().enumerate() {
            let mut x = self.active_or_neutral(ty, part, x, &neutral);
            for by in SCAN_DISTANCES {
                let earlier = self.shifted_lanes(ty, &x, &neutral, by);
                x = self.operation(op, ty, shape, &[earlier, x]);
            }
            // The prefix of each group.
            let mut before = self.splat(&carry, el);
            for group in 0..lanes / SCAN_GROUP {
                let total = put!(self.f, "extractelement {t} {x}, i64 {}", group * SCAN_GROUP + SCAN_GROUP - 1);
                carry = self.operation(op, ty, Shape::Scalar, &[carry, total]);
                if group + 1 < lanes / SCAN_GROUP {
                    let next = self.splat(&carry, el);
                    before = self.shuffle(ty, &before, &next, &|k| if k / SCAN_GROUP <= group { k } else { lanes + k });
                }
            }
            scanned.push(self.operation(op, ty, shape, &[before, x]));
        }
        (scanned, carry)
    }

    /// The same for all leaves of a segmented operator, which restarts where leaf `mark` is set.
    pub(crate) fn segmented_scan(
        &mut self,
        ops: &[PrimOp],
        types: &[ScalarType],
        mark: usize,
        xs: &[Parts],
        mut carries: Vec<Operand>,
    ) -> (Vec<Parts>, Vec<Operand>) {
        let lanes = self.width.lanes;
        let mut scanned = vec![Parts::new(); xs.len()];
        for (part, marks) in xs[mark].iter().enumerate() {
            let marks = self.flags_by_distance(part, marks);
            let Some(all) = marks.last().cloned() else { continue };
            for (k, (&op, &ty)) in ops.iter().zip(types).enumerate() {
                let x =
                    if k == mark { all.clone() } else { self.segmented_doubling(op, ty, part, &xs[k][part], &marks) };
                let (t, el) = (self.vector(ty), element(ty));
                let mut before = self.splat(&carries[k], el);
                for group in 0..lanes / SCAN_GROUP - 1 {
                    let last = group * SCAN_GROUP + SCAN_GROUP - 1;
                    let total = put!(self.f, "extractelement {t} {x}, i64 {last}");
                    let both = self.operation(op, ty, Shape::Scalar, &[carries[k].clone(), total.clone()]);
                    carries[k] = if k == mark {
                        both
                    } else {
                        let marked = put!(self.f, "extractelement <{lanes} x i1> {all}, i64 {last}");
                        put!(self.f, "select i1 {marked}, {el} {total}, {el} {both}")
                    };
                    let next = self.splat(&carries[k], el);
                    before = self.shuffle(ty, &before, &next, &|k| if k / SCAN_GROUP <= group { k } else { lanes + k });
                }
                let x = if k == mark {
                    self.operation(op, ty, self.shape(), &[before, x])
                } else {
                    self.segmented_op(op, ty, &before, &x, &all)
                };
                // A scalar select would be a branch on some processors.
                carries[k] = put!(self.f, "extractelement {t} {x}, i64 {}", lanes - 1);
                scanned[k].push(x);
            }
        }
        (scanned, carries)
    }

    /// `x` in the lanes with a flag, `op(before, x)` in the others.
    pub(crate) fn segmented_op(
        &mut self,
        op: PrimOp,
        ty: ScalarType,
        before: &Operand,
        x: &Operand,
        marks: &Operand,
    ) -> Operand {
        let (t, flags) = (self.vector(ty), self.mask_type());
        let both = self.operation(op, ty, self.shape(), &[before.clone(), x.clone()]);
        put!(self.f, "select {flags} {marks}, {t} {x}, {t} {both}")
    }

    /// Whether a flag is set among the lanes combined so far, before each doubling and at the end.
    fn flags_by_distance(&mut self, part: usize, marks: &Operand) -> Vec<Operand> {
        let (flag, (flags, _)) = (self.stored_mask_type(), self.stored_mask());
        let on = self.and_mask(part, marks);
        let mut last = self.pack_mask(&on);
        let mut all = vec![on];
        for by in SCAN_DISTANCES {
            let earlier = self.shifted_lanes(flag, &last, &Operand::text("zeroinitializer"), by);
            last = put!(self.f, "or {flags} {last}, {earlier}");
            all.push(self.unpack_mask(&last));
        }
        all
    }

    /// Scans each group with restarts, given the flags for each distance.
    fn segmented_doubling(
        &mut self,
        op: PrimOp,
        ty: ScalarType,
        part: usize,
        x: &Operand,
        marks: &[Operand],
    ) -> Operand {
        let neutral = self.neutral(op, ty);
        let mut x = self.active_or_neutral(ty, part, x, &neutral);
        for (by, marks) in SCAN_DISTANCES.into_iter().zip(marks) {
            let earlier = self.shifted_lanes(ty, &x, &neutral, by);
            x = self.segmented_op(op, ty, &earlier, &x, marks);
        }
        x
    }

    /// Shifts each group by `by` lanes; the first ones become `none`.
    fn shifted_lanes(&mut self, ty: ScalarType, x: &Operand, none: &Operand, by: usize) -> Operand {
        let lanes = self.width.lanes;
        self.shuffle(ty, x, none, &|k| if k % SCAN_GROUP >= by { k - by } else { lanes + k })
    }

    fn neutral(&self, op: PrimOp, ty: ScalarType) -> Operand {
        let neutral = literal(Lit { ty, bits: reduce::identity(op, ty) });
        self.f.constant(self.shape(), element(ty), &neutral)
    }

    /// The active lanes of a part, neutral elements in the others.
    fn active_or_neutral(&mut self, ty: ScalarType, part: usize, x: &Operand, neutral: &Operand) -> Operand {
        match self.part_mask(part) {
            None => x.clone(),
            Some(m) => {
                let (t, flags) = (self.vector(ty), self.mask_type());
                put!(self.f, "select {flags} {m}, {t} {x}, {t} {neutral}")
            }
        }
    }

    /// A constant mask of the lanes that satisfy a predicate.
    pub(crate) fn lanes_where(&self, has: impl Fn(usize) -> bool) -> Operand {
        let flags: Vec<String> = (0..self.width.lanes).map(|k| format!("i1 {}", has(k))).collect();
        Operand::text(format!("<{}>", flags.join(", ")))
    }

    /// A constant mask of the first lanes.
    pub(crate) fn lanes_until(&self, count: usize) -> Operand {
        self.lanes_where(|k| k < count)
    }

    /// The carry after the last group with elements.
    fn carried_on(&mut self, types: &[ScalarType], after: &[Operand], last: Option<&Operand>) -> Carry {
        let leaves = after.iter().zip(types).map(|(after, &ty)| match last {
            None => self.shuffle(ty, after, after, &|_| GROUPS_PER_STEP - 1),
            Some(last) => {
                let t = self.vector(ty);
                let group = put!(self.f, "udiv i64 {last}, {SCAN_GROUP}");
                let one = put!(self.f, "extractelement {t} {after}, i64 {group}");
                self.splat(&one, element(ty))
            }
        });
        Carry { leaves: leaves.collect(), there: Operand::text("true") }
    }

    /// Shuffles two vectors: lane `k` is number `from(k)` of both, one after the other.
    pub(crate) fn shuffle(
        &mut self,
        ty: ScalarType,
        a: &Operand,
        b: &Operand,
        from: &dyn Fn(usize) -> usize,
    ) -> Operand {
        let lanes = self.width.lanes;
        let order: Vec<String> = (0..lanes).map(|k| format!("i32 {}", from(k))).collect();
        let (t, order) = (self.vector(ty), order.join(", "));
        if ty != ScalarType::Bool {
            return put!(self.f, "shufflevector {t} {a}, {t} {b}, <{lanes} x i32> <{order}>");
        }
        // As integers that fill a register, like the vectors that the flags select from.
        let wide = format!("<{lanes} x i{}>", (256 / lanes).clamp(8, 64));
        let a = put!(self.f, "sext {t} {a} to {wide}");
        let b = put!(self.f, "sext {t} {b} to {wide}");
        let x = put!(self.f, "shufflevector {wide} {a}, {wide} {b}, <{lanes} x i32> <{order}>");
        put!(self.f, "icmp slt {wide} {x}, zeroinitializer")
    }

    /// The last element of each group, one lane per group; unspecified for groups without elements.
    fn ends(&mut self, ty: ScalarType, parts: &Parts, last: Option<&Operand>) -> Operand {
        let lanes = self.width.lanes;
        let end = |group: usize| (group * SCAN_GROUP / lanes, group * SCAN_GROUP + SCAN_GROUP - 1);
        let Some(last) = last else {
            let mut all = parts[0].clone();
            for (part, x) in parts.iter().enumerate() {
                let from = |k: usize| match end(k) {
                    (p, lane) if k < GROUPS_PER_STEP && p == part => lanes + lane - part * lanes,
                    _ => k,
                };
                all = self.shuffle(ty, &all, x, &from);
            }
            return all;
        };
        let (t, el) = (self.vector(ty), element(ty));
        (0..GROUPS_PER_STEP).fold(Operand::text("zeroinitializer"), |all, group| {
            let (part, lane) = end(group);
            let lane = put!(self.f, "call i64 @llvm.smin.i64(i64 {last}, i64 {lane})");
            let lane = put!(self.f, "sub i64 {lane}, {}", part * lanes);
            let lane = put!(self.f, "call i64 @llvm.smax.i64(i64 {lane}, i64 0)");
            let one = put!(self.f, "extractelement {t} {}, i64 {lane}", parts[part]);
            put!(self.f, "insertelement {t} {all}, {el} {one}, i64 {group}")
        })
    }
}

impl<'a> Emitter<'a> {
    /// Folds the elements of a step after `carry` with a user's operator; returns the next carry. `last` is the number
    /// of the last active lane, if not all are active.
    pub(crate) fn fold_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        xs: &[Parts],
        carry: &Carry,
        last: Option<&Operand>,
    ) -> Carry {
        let (through, there) = match last {
            None => {
                let ends = self.group_totals(body, types, xs);
                self.through(body, types, ends, None)
            }
            Some(_) => {
                let Groups { through, there, .. } = self.groups(body, types, xs, last);
                (through, there)
            }
        };
        let after = self.after_carry(body, types, carry, &through, &there);
        self.code.carried_on(types, &after, last)
    }

    /// Scans the elements of a step after `carry`; returns the next carry.
    pub(crate) fn scan_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        xs: &[Parts],
        carry: &Carry,
        last: Option<&Operand>,
    ) -> (Vec<Parts>, Carry) {
        let Groups { scanned, through, there } = self.groups(body, types, xs, last);
        let after = self.after_carry(body, types, carry, &through, &there);
        // Each lane's prefix: the total through the group before it, or the carry.
        let (lanes, parts) = (self.code.width.lanes, self.code.width.parts);
        let mut before: Vec<Value> = Vec::new();
        for ((after, carried), &ty) in after.iter().zip(&carry.leaves).zip(types) {
            let all = (0..parts).map(|part| {
                let group = |k: usize| (part * lanes + k) / SCAN_GROUP;
                self.code.shuffle(ty, after, carried, &|k| if group(k) == 0 { lanes + k } else { group(k) - 1 })
            });
            before.push(Value::Varying(all.collect()));
        }
        // The first group of all has no prefix.
        let flags = self.code.mask_type();
        let later = self.code.lanes_where(|k| k >= SCAN_GROUP);
        let there = self.code.splat(&carry.there, "i1");
        let mut preceded = vec![None; parts];
        preceded[0] = Some(put!(self.code.f, "or {flags} {there}, {later}"));
        let combined = self.combined_where(body, types, before, &scanned, &preceded);
        let next = self.code.carried_on(types, &after, last);
        (combined, next)
    }

    /// Combines elements with the prefix of the chunk, if it has one.
    pub(crate) fn prepend_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        before: &Carry,
        xs: &[Parts],
    ) -> Vec<Parts> {
        let parts = self.code.width.parts;
        let firsts = before.leaves.iter().map(|b| Value::Varying(smallvec::smallvec![b.clone(); parts]));
        let there = self.code.splat(&before.there, "i1");
        self.combined_where(body, types, firsts.collect(), xs, &vec![Some(there); parts])
    }

    /// Combines, in the lanes with a flag, `first` with the elements after it in the order of the scan, which from the
    /// right is the operator's right operand. The other lanes keep their elements.
    pub(crate) fn combined_where(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        first: Vec<Value>,
        xs: &[Parts],
        flags: &[Option<Operand>],
    ) -> Vec<Parts> {
        let second = xs.iter().cloned().map(Value::Varying).collect();
        self.in_order_where(body, types, [first, second], flags, xs)
    }

    /// Combines operands that are given in the order of the scan, in the lanes with a flag; the others yield `alone`.
    pub(crate) fn in_order_where(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        [first, second]: [Vec<Value>; 2],
        flags: &[Option<Operand>],
        alone: &[Parts],
    ) -> Vec<Parts> {
        let (left, right) = if self.code.lane_step > 0 { (first, second) } else { (second, first) };
        self.inline_where(body, types, &[left, right].concat(), flags, alone)
    }

    /// The carry after each group, one lane per group; `groups` flags the groups with elements.
    pub(crate) fn after_carry(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        carry: &Carry,
        through: &[Operand],
        groups: &Operand,
    ) -> Vec<Operand> {
        let carried = carry.leaves.iter().map(|x| Value::Varying(smallvec::smallvec![x.clone()])).collect();
        let own: Vec<Parts> = through.iter().map(|x| smallvec::smallvec![x.clone()]).collect();
        let flags = self.code.mask_type();
        let there = self.code.splat(&carry.there, "i1");
        let there = put!(self.code.f, "and {flags} {there}, {groups}");
        let combined = self.on_parts(1, |e| e.combined_where(body, types, carried, &own, &[Some(there)]));
        combined.into_iter().flatten().collect()
    }

    /// Combines each lane of a group with the one `by` lanes before it, except the first `by`.
    fn doubled(&mut self, body: &'a Body, types: &[ScalarType], xs: &[Parts], by: usize, group: usize) -> Vec<Parts> {
        let mut before: Vec<Value> = Vec::new();
        for (parts, &ty) in xs.iter().zip(types) {
            let earlier =
                parts.iter().map(|x| self.code.shuffle(ty, x, x, &|k| if k % group >= by { k - by } else { k }));
            before.push(Value::Varying(earlier.collect()));
        }
        let later = self.code.lanes_where(|k| k % group >= by);
        self.combined_where(body, types, before, xs, &vec![Some(later); self.code.width.parts])
    }

    fn groups(&mut self, body: &'a Body, types: &[ScalarType], xs: &[Parts], last: Option<&Operand>) -> Groups {
        let mut scanned = xs.to_vec();
        let mut by = 1;
        while by < SCAN_GROUP {
            scanned = self.doubled(body, types, &scanned, by, SCAN_GROUP);
            by *= 2;
        }
        let ends = scanned.iter().zip(types).map(|(parts, &ty)| smallvec::smallvec![self.code.ends(ty, parts, last)]);
        let ends = ends.collect();
        let (through, there) = self.through(body, types, ends, last);
        Groups { scanned, through, there }
    }

    /// The total of each group of a full step, one lane per group: doubling distances makes the last element of a group that of a
    /// balanced tree, which takes fewer operations alone.
    fn group_totals(&mut self, body: &'a Body, types: &[ScalarType], xs: &[Parts]) -> Vec<Parts> {
        let lanes = self.code.width.lanes;
        let (mut values, mut left) = (xs.to_vec(), PARTIAL_RESULTS);
        while left > GROUPS_PER_STEP {
            left /= 2;
            let every_second = |e: &mut Self, odd: usize| -> Vec<Parts> {
                let halved = |(v, &ty): (&Parts, &ScalarType)| {
                    let pairs = v.chunks(2).map(|pair| {
                        let all = pair.len() * lanes;
                        e.code.shuffle(ty, &pair[0], &pair[pair.len() - 1], &|k| (2 * k + odd) % all)
                    });
                    pairs.collect()
                };
                values.iter().zip(types).map(halved).collect()
            };
            let (evens, odds) = (every_second(self, 0), every_second(self, 1));
            let flag = (left < lanes).then(|| self.code.lanes_until(left));
            let parts = left.div_ceil(lanes);
            let evens = evens.into_iter().map(Value::Varying).collect();
            values = self.on_parts(parts, |e| e.combined_where(body, types, evens, &odds, &vec![flag; parts]));
        }
        values
    }

    /// For each leaf the total of all groups of the step up to each, from the totals of the groups, one lane per group; and which
    /// groups have elements.
    fn through(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        ends: Vec<Parts>,
        last: Option<&Operand>,
    ) -> (Vec<Operand>, Operand) {
        let there = match last {
            None => self.code.lanes_until(GROUPS_PER_STEP),
            Some(last) => {
                let group = put!(self.code.f, "udiv i64 {last}, {SCAN_GROUP}");
                let count = put!(self.code.f, "add i64 {group}, 1");
                self.on_parts(1, |e| e.code.lanes_below(&count)[0].clone())
            }
        };
        let (mut through, mut by) = (ends, 1);
        while by < GROUPS_PER_STEP {
            through = self.on_parts(1, |e| {
                e.code.mask = Mask::Lanes(smallvec::smallvec![there.clone()]);
                e.doubled(body, types, &through, by, GROUPS_PER_STEP)
            });
            by *= 2;
        }
        (through.iter().map(|t| t[0].clone()).collect(), there)
    }

    /// Writes a body over the current point and some leaves.
    pub(crate) fn inline_here(&mut self, body: &'a Body, leaves: &[Parts]) -> Vec<Parts> {
        let point = self.facts.body.region.params.iter().map(|&p| self.scope.value(p));
        let args: Vec<Value> = point.chain(leaves.iter().cloned().map(Value::Varying)).collect();
        let axes = self.scope.axes.clone();
        self.inlined(body, &args, |e| body.region.results.iter().map(|&v| e.vectors(v)).collect(), axes)
    }
}
