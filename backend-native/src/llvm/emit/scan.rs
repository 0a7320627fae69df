//! Folds and scans along the lanes of a step, carried on from step to step.
//!
//! Lanes combine in groups of [`GROUP`], by steps that double what a lane has combined; a step has
//! [`WIDTH`](crate::kernel::grouping::WIDTH) lanes. Only one operation waits for the group before, or, with an operator of the user's, for the
//! step before. The tile executor has the same tree.

use super::Emitter;
use super::text::{Operand, element, literal, put};
use super::value::{Mask, Parts, Shape, V};
use crate::kernel::Body;
use crate::kernel::grouping::{GROUP, WIDTH};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;
use backend_native_lanes::reduce;

/// Groups of a step.
const GROUPS: usize = WIDTH / GROUP;

/// How far the steps that scan a group reach.
const DOUBLING: [usize; 3] = [1, 2, 4];

/// What is carried from step to step of an operator that has no neutral element.
#[derive(Clone)]
pub(super) struct Carry {
    /// Whether there is anything yet, an `i1`.
    pub there: Operand,
    /// The leaves, each the same in all lanes of a vector.
    pub leaves: Vec<Operand>,
}

/// The elements of a step, scanned group by group.
struct Groups {
    /// The vectors of each leaf.
    scanned: Vec<Parts>,
    /// For each leaf a vector with a lane for each group: all groups of the step up to it, combined.
    through: Vec<Operand>,
    /// The lanes of these that have a group with elements.
    there: Operand,
}

impl<'a> Emitter<'a> {
    /// Scans the elements of a step after `carry`, in groups of [`GROUP`] lanes; what it carries on.
    pub(super) fn scan(&mut self, op: PrimOp, ty: ScalarType, parts: &Parts, carry: Operand) -> (Parts, Operand) {
        let (el, t, lanes, shape) = (element(ty), self.vector(ty), self.width.lanes, self.shape());
        let neutral = self.neutral(op, ty);
        let mut carry = carry;
        let mut scanned = Parts::new();
        for (part, x) in parts.iter().enumerate() {
            let mut x = self.or_neutral(ty, part, x, &neutral);
            for by in DOUBLING {
                let earlier = self.earlier(ty, &x, &neutral, by);
                x = self.operation(op, ty, shape, &[earlier, x]);
            }
            // What each group comes after.
            let mut before = self.splat(&carry, el);
            for group in 0..lanes / GROUP {
                let total = put!(self, "extractelement {t} {x}, i64 {}", group * GROUP + GROUP - 1);
                carry = self.operation(op, ty, Shape::One, &[carry, total]);
                if group + 1 < lanes / GROUP {
                    let next = self.splat(&carry, el);
                    before = self.picked(ty, &before, &next, &|k| if k / GROUP <= group { k } else { lanes + k });
                }
            }
            scanned.push(self.operation(op, ty, shape, &[before, x]));
        }
        (scanned, carry)
    }

    /// The same of all leaves with an operator that starts afresh where leaf `mark` is set.
    pub(super) fn scan_afresh(
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
            let marks = self.marks(part, marks);
            let Some(all) = marks.last().cloned() else { continue };
            for (k, (&op, &ty)) in ops.iter().zip(types).enumerate() {
                let x = if k == mark { all.clone() } else { self.doubled_afresh(op, ty, part, &xs[k][part], &marks) };
                let (t, el) = (self.vector(ty), element(ty));
                let mut before = self.splat(&carries[k], el);
                for group in 0..lanes / GROUP - 1 {
                    let last = group * GROUP + GROUP - 1;
                    let total = put!(self, "extractelement {t} {x}, i64 {last}");
                    let both = self.operation(op, ty, Shape::One, &[carries[k].clone(), total.clone()]);
                    carries[k] = if k == mark {
                        both
                    } else {
                        let marked = put!(self, "extractelement <{lanes} x i1> {all}, i64 {last}");
                        put!(self, "select i1 {marked}, {el} {total}, {el} {both}")
                    };
                    let next = self.splat(&carries[k], el);
                    before = self.picked(ty, &before, &next, &|k| if k / GROUP <= group { k } else { lanes + k });
                }
                let x = if k == mark {
                    self.operation(op, ty, self.shape(), &[before, x])
                } else {
                    self.afresh(op, ty, &before, &x, &all)
                };
                // A choice between two scalars would be a branch, on some processors.
                carries[k] = put!(self, "extractelement {t} {x}, i64 {}", lanes - 1);
                scanned[k].push(x);
            }
        }
        (scanned, carries)
    }

    /// `x` in the lanes that are marked, `op(before, x)` in the others.
    pub(super) fn afresh(
        &mut self,
        op: PrimOp,
        ty: ScalarType,
        before: &Operand,
        x: &Operand,
        marks: &Operand,
    ) -> Operand {
        let (t, flags) = (self.vector(ty), self.mask_type());
        let both = self.operation(op, ty, self.shape(), &[before.clone(), x.clone()]);
        put!(self, "select {flags} {marks}, {t} {x}, {t} {both}")
    }

    /// Whether there is a mark among the lanes that a group's steps of doubling have combined, before and after each.
    fn marks(&mut self, part: usize, marks: &Operand) -> Vec<Operand> {
        let (flag, (flags, _)) = (self.kept_flag(), self.kept_mask());
        let on = self.masked(part, marks);
        let mut last = self.keep(&on);
        let mut all = vec![on];
        for by in DOUBLING {
            let earlier = self.earlier(flag, &last, &Operand::text("zeroinitializer"), by);
            last = put!(self, "or {flags} {last}, {earlier}");
            all.push(self.flags(&last));
        }
        all
    }

    /// Scans each group, afresh at marks, which are given for each step of doubling.
    fn doubled_afresh(&mut self, op: PrimOp, ty: ScalarType, part: usize, x: &Operand, marks: &[Operand]) -> Operand {
        let neutral = self.neutral(op, ty);
        let mut x = self.or_neutral(ty, part, x, &neutral);
        for (by, marks) in DOUBLING.into_iter().zip(marks) {
            let earlier = self.earlier(ty, &x, &neutral, by);
            x = self.afresh(op, ty, &earlier, &x, marks);
        }
        x
    }

    /// In each lane but the first `by` ones of a group what is `by` lanes before it, in those `none`.
    fn earlier(&mut self, ty: ScalarType, x: &Operand, none: &Operand, by: usize) -> Operand {
        let lanes = self.width.lanes;
        self.picked(ty, x, none, &|k| if k % GROUP >= by { k - by } else { lanes + k })
    }

    fn neutral(&self, op: PrimOp, ty: ScalarType) -> Operand {
        let neutral = literal(Lit { ty, bits: reduce::identity(op, ty) });
        self.constant(self.shape(), element(ty), &neutral)
    }

    /// A part in the lanes that are on.
    fn or_neutral(&mut self, ty: ScalarType, part: usize, x: &Operand, neutral: &Operand) -> Operand {
        match self.mask_of(part) {
            None => x.clone(),
            Some(m) => {
                let (t, flags) = (self.vector(ty), self.mask_type());
                put!(self, "select {flags} {m}, {t} {x}, {t} {neutral}")
            }
        }
    }

    /// Folds the elements of a step after `carry` with an operator of the user's; what it carries on. Of the lanes that
    /// are on, if not all are, `last` is the last one's number.
    pub(super) fn fold_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        xs: &[Parts],
        carry: &Carry,
        last: Option<&Operand>,
    ) -> Carry {
        let groups = self.groups(body, types, xs, last);
        let after = self.after(body, types, carry, &groups.through, &groups.there);
        self.carried_on(types, &after, last)
    }

    /// Scans the elements of a step after `carry`; what it carries on.
    pub(super) fn scan_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        xs: &[Parts],
        carry: &Carry,
        last: Option<&Operand>,
    ) -> (Vec<Parts>, Carry) {
        let Groups { scanned, through, there } = self.groups(body, types, xs, last);
        let after = self.after(body, types, carry, &through, &there);
        // What comes before each lane's group: after the one before it, or carried.
        let (lanes, parts) = (self.width.lanes, self.width.parts);
        let mut before: Vec<V> = Vec::new();
        for ((after, carried), &ty) in after.iter().zip(&carry.leaves).zip(types) {
            let all = (0..parts).map(|part| {
                let group = |k: usize| (part * lanes + k) / GROUP;
                self.picked(ty, after, carried, &|k| if group(k) == 0 { lanes + k } else { group(k) - 1 })
            });
            before.push(V::Lanes(all.collect()));
        }
        // Nothing comes before the first group of all.
        let flags = self.mask_type();
        let later = self.lanes_where(|k| k >= GROUP);
        let there = self.splat(&carry.there, "i1");
        let mut preceded = vec![None; parts];
        preceded[0] = Some(put!(self, "or {flags} {there}, {later}"));
        let combined = self.combined_where(body, types, before, &scanned, &preceded);
        let next = self.carried_on(types, &after, last);
        (combined, next)
    }

    /// Combines what comes before a chunk, if anything does, with elements.
    pub(super) fn prepend_by(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        before: &Carry,
        xs: &[Parts],
    ) -> Vec<Parts> {
        let parts = self.width.parts;
        let firsts = before.leaves.iter().map(|b| V::Lanes(smallvec::smallvec![b.clone(); parts]));
        let there = self.splat(&before.there, "i1");
        self.combined_where(body, types, firsts.collect(), xs, &vec![Some(there); parts])
    }

    /// Combines what comes first and elements after it in the order of a scan, in the lanes with a flag: of the lesser index is
    /// what comes first, but from the right. In the other lanes nothing comes first.
    fn combined_where(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        first: Vec<V>,
        xs: &[Parts],
        flags: &[Option<Operand>],
    ) -> Vec<Parts> {
        let second = xs.iter().cloned().map(V::Lanes).collect();
        let (left, right) = if self.lane_step > 0 { (first, second) } else { (second, first) };
        self.inline_where(body, types, &[left, right].concat(), flags, xs)
    }

    /// Flags of the lanes with these numbers.
    fn lanes_where(&self, has: impl Fn(usize) -> bool) -> Operand {
        let flags: Vec<String> = (0..self.width.lanes).map(|k| format!("i1 {}", has(k))).collect();
        Operand::text(format!("<{}>", flags.join(", ")))
    }

    /// Flags of the first lanes, so many.
    pub(super) fn lanes_until(&self, count: usize) -> Operand {
        self.lanes_where(|k| k < count)
    }

    /// For each group what is carried after it, a lane for each; `groups` are flags of the lanes that have one.
    pub(super) fn after(
        &mut self,
        body: &'a Body,
        types: &[ScalarType],
        carry: &Carry,
        through: &[Operand],
        groups: &Operand,
    ) -> Vec<Operand> {
        let carried = carry.leaves.iter().map(|x| V::Lanes(smallvec::smallvec![x.clone()])).collect();
        let own: Vec<Parts> = through.iter().map(|x| smallvec::smallvec![x.clone()]).collect();
        let flags = self.mask_type();
        let there = self.splat(&carry.there, "i1");
        let there = put!(self, "and {flags} {there}, {groups}");
        let combined = self.on_parts(1, |e| e.combined_where(body, types, carried, &own, &[Some(there)]));
        combined.into_iter().flatten().collect()
    }

    /// What is carried after the last group that has elements.
    fn carried_on(&mut self, types: &[ScalarType], after: &[Operand], last: Option<&Operand>) -> Carry {
        let leaves = after.iter().zip(types).map(|(after, &ty)| match last {
            None => self.picked(ty, after, after, &|_| GROUPS - 1),
            Some(last) => {
                let t = self.vector(ty);
                let group = put!(self, "udiv i64 {last}, {GROUP}");
                let one = put!(self, "extractelement {t} {after}, i64 {group}");
                self.splat(&one, element(ty))
            }
        });
        Carry { leaves: leaves.collect(), there: Operand::text("true") }
    }

    /// Writes code over so many vectors for each value, all lanes on.
    pub(super) fn on_parts<T>(&mut self, parts: usize, write: impl FnOnce(&mut Self) -> T) -> T {
        let parts = std::mem::replace(&mut self.width.parts, parts);
        let mask = std::mem::replace(&mut self.mask, Mask::All);
        let result = write(self);
        self.width.parts = parts;
        self.mask = mask;
        result
    }

    /// A vector of lanes of two: lane `k` is that of number `from(k)`, those of the second counted on.
    pub(super) fn picked(
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
            return put!(self, "shufflevector {t} {a}, {t} {b}, <{lanes} x i32> <{order}>");
        }
        // As integers that fill a register, as the vectors are that truth values choose from.
        let wide = format!("<{lanes} x i{}>", (256 / lanes).clamp(8, 64));
        let a = put!(self, "sext {t} {a} to {wide}");
        let b = put!(self, "sext {t} {b} to {wide}");
        let x = put!(self, "shufflevector {wide} {a}, {wide} {b}, <{lanes} x i32> <{order}>");
        put!(self, "icmp slt {wide} {x}, zeroinitializer")
    }

    /// Combines each lane but the first `by` ones of each group of lanes with the one `by` lanes before it.
    fn doubled(&mut self, body: &'a Body, types: &[ScalarType], xs: &[Parts], by: usize, group: usize) -> Vec<Parts> {
        let mut before: Vec<V> = Vec::new();
        for (parts, &ty) in xs.iter().zip(types) {
            let earlier = parts.iter().map(|x| self.picked(ty, x, x, &|k| if k % group >= by { k - by } else { k }));
            before.push(V::Lanes(earlier.collect()));
        }
        let later = self.lanes_where(|k| k % group >= by);
        self.combined_where(body, types, before, xs, &vec![Some(later); self.width.parts])
    }

    fn groups(&mut self, body: &'a Body, types: &[ScalarType], xs: &[Parts], last: Option<&Operand>) -> Groups {
        let mut scanned = xs.to_vec();
        let mut by = 1;
        while by < GROUP {
            scanned = self.doubled(body, types, &scanned, by, GROUP);
            by *= 2;
        }
        let ends = scanned.iter().zip(types).map(|(parts, &ty)| smallvec::smallvec![self.ends(ty, parts, last)]);
        let mut through: Vec<Parts> = ends.collect();
        let there = match last {
            None => self.lanes_until(GROUPS),
            Some(last) => {
                let group = put!(self, "udiv i64 {last}, {GROUP}");
                let count = put!(self, "add i64 {group}, 1");
                self.on_parts(1, |e| e.lanes_below(&count)[0].clone())
            }
        };
        let mut by = 1;
        while by < GROUPS {
            through = self.on_parts(1, |e| {
                e.mask = Mask::Lanes(smallvec::smallvec![there.clone()]);
                e.doubled(body, types, &through, by, GROUPS)
            });
            by *= 2;
        }
        Groups { scanned, through: through.iter().map(|t| t[0].clone()).collect(), there }
    }

    /// The last elements of the groups, a lane for each; of a group that has none, any.
    fn ends(&mut self, ty: ScalarType, parts: &Parts, last: Option<&Operand>) -> Operand {
        let lanes = self.width.lanes;
        let end = |group: usize| (group * GROUP / lanes, group * GROUP + GROUP - 1);
        let Some(last) = last else {
            let mut all = parts[0].clone();
            for (part, x) in parts.iter().enumerate() {
                let from = |k: usize| match end(k) {
                    (p, lane) if k < GROUPS && p == part => lanes + lane - part * lanes,
                    _ => k,
                };
                all = self.picked(ty, &all, x, &from);
            }
            return all;
        };
        let (t, el) = (self.vector(ty), element(ty));
        (0..GROUPS).fold(Operand::text("zeroinitializer"), |all, group| {
            let (part, lane) = end(group);
            let lane = put!(self, "call i64 @llvm.smin.i64(i64 {last}, i64 {lane})");
            let lane = put!(self, "sub i64 {lane}, {}", part * lanes);
            let lane = put!(self, "call i64 @llvm.smax.i64(i64 {lane}, i64 0)");
            let one = put!(self, "extractelement {t} {}, i64 {lane}", parts[part]);
            put!(self, "insertelement {t} {all}, {el} {one}, i64 {group}")
        })
    }

    /// Writes a body over the point and some leaves where the code stands, at the point of the step.
    pub(super) fn inline_here(&mut self, body: &'a Body, leaves: &[Parts]) -> Vec<Parts> {
        let point = self.body.region.params.iter().map(|&p| self.value(p));
        let args: Vec<V> = point.chain(leaves.iter().cloned().map(V::Lanes)).collect();
        let axes = self.axes.clone();
        self.inlined(body, &args, |e| body.region.results.iter().map(|&v| e.lanes(v)).collect(), axes)
    }
}
