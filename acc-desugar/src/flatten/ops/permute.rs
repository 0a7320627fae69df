//! Forward permutations.

use crate::analysis::choice::{Choice, Nans};
use crate::analysis::operators::{BitOp, Component, components};
use crate::flatten::Flattener;
use crate::flatten::access::read::clamp_at;
use crate::flatten::ops::fold::is_own_index;
use crate::flatten::ops::permute_extreme::permute_chosen;
use crate::flatten::scalar::Scalar;
use crate::flatten::scalar::spread;
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, Op, ReduceOp, ScatterMode, SizeOp, Value};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{ArrayId, Dir, Fun, PrimOp};

impl Flattener<'_> {
    pub(crate) fn permute(
        &mut self,
        combine: &Fun,
        defaults: ArrayId,
        target: &Fun,
        xs: ArrayId,
        result: ArrayId,
    ) -> Flat {
        let (to, from) = (self.array(defaults), self.array(xs));
        let slots = self.b.product(&to.shape);
        let modes = modes(combine);
        if modes.as_ref().is_some_and(|modes| modes.iter().all(|m| *m == Some(ScatterMode::Last))) {
            let mark = self.checks.mark();
            if let Some(compacted) = self.compacted(target, &to, &from) {
                return compacted;
            }
            self.checks.reset(mark);
        }
        let (at, dropped) = self.targets(target, result, &to, &from.shape, slots);
        let count = self.b.product(&from.shape);
        let values: Vec<Value> = from.columns.iter().map(|c| self.b.reshape(*c, &[count])).collect();
        let mut base: Vec<Value> = to.columns.iter().map(|c| self.b.reshape(*c, &[slots])).collect();
        // One slot more takes the elements that are dropped.
        let more = self.b.size(i64::from(dropped));
        if dropped {
            let one = self.b.size(1);
            for c in &mut base {
                let zero = self.b.constant(acc_core::data::Lit::zero(self.b.scalar(*c)));
                let extra = self.b.full(zero, &[one]);
                *c = self.b.concat(&[*c, extra], 0);
            }
        }
        let stored = match modes {
            Some(modes) => modes
                .iter()
                .zip(base.iter().zip(&values))
                .map(|(mode, (b, v))| mode.map_or(*b, |mode| self.b.scatter(*b, at, *v, mode)))
                .collect(),
            None => match Choice::of(combine, Dir::Right).filter(|c| c.nans == Nans::Lose) {
                Some(choice) => {
                    let len = self.b.size_op(SizeOp::Add, slots, more);
                    permute_chosen(&mut self.b, choice, &base, at, &values, [count, len])
                }
                None => self.permute_in_order(combine, &base, at, &values, [slots, count]),
            },
        };
        let zero = self.b.size(0);
        let columns = stored
            .into_iter()
            .map(|c| {
                let c = if dropped { self.b.slice(c, 0, zero, slots, 1) } else { c };
                self.b.reshape(c, &to.shape)
            })
            .collect();
        Flat { shape: to.shape, columns }
    }

    /// The elements where a mask holds, if that is what the permutation yields: their targets count the elements kept
    /// before them, and there is a place for each.
    fn compacted(&mut self, target: &Fun, to: &Flat, from: &Flat) -> Option<Flat> {
        let ([n], [count]) = (&from.shape[..], &to.shape[..]) else { return None };
        if self.faults().exact() {
            return None;
        }
        let results = self.apply(target, true, &[], &from.shape.clone(), None);
        let [tag, Scalar::Tensor(at)] = results[..] else { return None };
        let (tag, none) = (self.indices.tensor(&mut self.b, tag, ScalarType::U8), self.b.constant(0u8.lit()));
        let keep = self.b.prim(PrimOp::NeP, &[tag, none]);
        let at = match self.b.def(at) {
            Some(Op::Where(c, x, _)) if *c == keep => *x,
            _ => at,
        };
        // The first elements of an exclusive sum, which has one element more.
        let Op::Slice { x: counted, start, len, step: 1, .. } = *self.b.def(self.b.origin(at))? else { return None };
        if self.b.const_size(start) != Some(0) || self.b.origin(len) != self.b.origin(*n) {
            return None;
        }
        let counted = self.b.origin(counted);
        let Op::Exclusive(ReduceOp::Sum, kept) = *self.b.def(counted)? else { return None };
        let Op::Cast(mask, _) = *self.b.def(self.b.origin(kept))? else { return None };
        if self.b.origin(mask) != self.b.origin(keep) || !is_last(&self.b, *count, counted, *n) {
            return None;
        }
        let at = self.b.nonzero(keep);
        let count = self.b.extent(at, 0);
        self.scope.extents.insert(count);
        let columns = from
            .columns
            .iter()
            .map(|c| if is_own_index(&self.b, *c, 0) { at } else { self.b.gather(*c, at) })
            .collect();
        Some(Flat { shape: [count].into_iter().collect(), columns })
    }

    /// The row-major target position of each source element, and whether some may be dropped: to position `slots`.
    fn targets(&mut self, target: &Fun, result: ArrayId, to: &Flat, space: &[Value], slots: Value) -> (Value, bool) {
        let results = self.apply(target, true, &[], space, None);
        let tag = self.indices.tensor(&mut self.b, results[0], ScalarType::U8);
        let none = self.b.constant(0u8.lit());
        let all_kept = self.b.constant_of(tag).is_some_and(|l| l.bits != 0);
        let guarded = !all_kept || self.faults().exact();
        let mut keep = self.b.prim(PrimOp::NeP, &[tag, none]);
        let mut bad: Option<Scalar> = None;
        let mut linear: Option<Value> = None;
        let mut details = Vec::new();
        for (s, n) in results[1..].iter().zip(&to.shape) {
            let i = self.indices.tensor(&mut self.b, *s, ScalarType::I64);
            details.push(i);
            let affine = self.indices.affine_of(*s);
            let i = match affine {
                Some(a) if a.is_own_axis(&self.b, *n) => i,
                Some(a) if !guarded => {
                    let out = a.outside(&mut self.b, *n);
                    bad = Some(self.indices.either(&mut self.b, bad, Scalar::Size(out)));
                    i
                }
                _ if guarded && self.faults().exact() => {
                    let (out, _) = clamp_at(&mut self.b, i, *n);
                    bad = Some(self.indices.either(&mut self.b, bad, Scalar::Tensor(out)));
                    i
                }
                // Those that are dropped stand for the first position.
                _ if guarded => {
                    let zero = self.b.constant(0i64.lit());
                    let i = self.b.where_(keep, i, zero);
                    self.within(i, *n, false)
                }
                _ => self.within(i, *n, to.shape.len() == 1),
            };
            linear = Some(match linear {
                Some(k) => {
                    let n = self.b.tensor_of_size(*n);
                    let k = self.b.prim(PrimOp::MulP, &[k, n]);
                    self.b.prim(PrimOp::AddP, &[k, i])
                }
                None => i,
            });
        }
        if let Some(bad) = bad {
            details.extend(&to.shape);
            if guarded {
                let bad = self.indices.tensor(&mut self.b, bad, ScalarType::Bool);
                let fault = self.b.and(keep, bad);
                self.check_stmt(FaultKind::IndexOutOfBounds { array: result.0 }, fault, space, details);
                // A target out of bounds is dropped until the check ends the run.
                let good = self.b.not(bad);
                keep = self.b.and(keep, good);
            } else {
                let bad = self.indices.value(&mut self.b, bad);
                self.check_stmt(FaultKind::IndexOutOfBounds { array: result.0 }, bad, space, details);
            }
        }
        let linear = match linear {
            Some(k) => k,
            None => self.b.constant(0i64.lit()),
        };
        let at = if guarded {
            let slot = self.b.tensor_of_size(slots);
            self.b.where_(keep, linear, slot)
        } else if to.shape.len() > 1 {
            self.b.in_bounds(linear, slots, true)
        } else {
            linear
        };
        let at = spread(&mut self.b, at, space);
        let count = self.b.product(space);
        (self.b.reshape(at, &[count]), guarded)
    }
}

/// How an operator puts each leaf to its target, if it is known in all of them; not at all where the current one stays.
fn modes(combine: &Fun) -> Option<Vec<Option<ScatterMode>>> {
    let mode = |(c, ty)| match c {
        Component::First => Some(Some(ScatterMode::Last)),
        Component::Second => Some(None),
        Component::Op(p) => {
            let built_in = ReduceOp::of(p, ty).map(ScatterMode::Combine);
            built_in.or_else(|| BitOp::of(p).map(ScatterMode::Bits)).map(Some)
        }
    };
    components(combine)?.into_iter().zip(combine.result_types()).map(mode).collect()
}

/// Whether a size is the last of `n + 1` counts.
fn is_last(b: &Builder, size: Value, counted: Value, n: Value) -> bool {
    let Some(Op::ReadBack(last)) = b.def(b.origin(size)) else { return false };
    match b.def(b.origin(*last)) {
        Some(Op::Select { x, at, .. }) => b.origin(*x) == counted && is_extent(b, *at, n),
        _ => false,
    }
}

/// Whether a position is an extent, perhaps clamped to an extent one greater.
pub(crate) fn is_extent(b: &Builder, at: Value, n: Value) -> bool {
    let mut v = b.origin(at);
    loop {
        if v == b.origin(n) {
            return true;
        }
        match b.def(v) {
            Some(Op::SizeOp(SizeOp::Min, a, _) | Op::SizeOp(SizeOp::Max, a, _)) => v = b.origin(*a),
            _ => return false,
        }
    }
}
