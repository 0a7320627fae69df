//! Which arrays statements may read, and the last use of each.

use super::Lowering;
use acc_core::ir::{ArrayId, ArrayOp, Block, Stmt, arrays_of_fun};
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

impl Lowering<'_> {
    /// For each unit, the arrays that it is the last to use: the block's own (including its parameters), and those from
    /// outside. Arrays that a unit evaluated on demand uses, or that the block yields, are excluded.
    pub(super) fn dead(
        &self,
        b: &Block,
        units: &[Vec<usize>],
        strict: &[bool],
    ) -> (Vec<Vec<ArrayId>>, Vec<Vec<ArrayId>>) {
        let own = b.stmts.iter().flat_map(|s| &s.results).chain(&b.params).copied();
        let own: HashSet<ArrayId> = own.collect();
        let mut kept: HashSet<ArrayId> = b.results.iter().copied().collect();
        let uses = |unit: &Vec<usize>| unit.iter().flat_map(|&k| self.uses(&b.stmts[k])).collect::<Vec<_>>();
        for (unit, _) in units.iter().zip(strict).filter(|(_, strict)| !**strict) {
            kept.extend(uses(unit));
        }
        let last = units.iter().rev().map(|unit| {
            let last = uses(unit).into_iter().filter(|a| kept.insert(*a));
            last.partition(|a| own.contains(a))
        });
        let last: Vec<(Vec<ArrayId>, Vec<ArrayId>)> = last.collect();
        last.into_iter().rev().unzip()
    }

    /// Whether a block yields an array, or units other than these may need it.
    pub(super) fn is_used(&self, b: &Block, units: &[Vec<usize>], a: ArrayId, but: &Range<usize>) -> bool {
        let others = units.iter().enumerate().filter(|(k, _)| !but.contains(k)).flat_map(|(_, unit)| unit);
        b.results.contains(&a) || others.into_iter().any(|&k| self.uses(&b.stmts[k]).contains(&a))
    }

    /// The arrays that evaluating a statement may read, including those read by fused producers, each once.
    pub(super) fn uses(&self, s: &Stmt) -> Vec<ArrayId> {
        self.with_producers(self.own_uses(s))
    }

    /// The arrays before the first step of a loop that nothing in its steps reads; and whether nothing else reads them in the loop's
    /// block, of whose units it is this one.
    pub(super) fn only_initial(&self, s: &Stmt, b: &Block, units: &[Vec<usize>], unit: usize) -> Vec<(ArrayId, bool)> {
        let ArrayOp::While { init, test, step } = &s.op else { return Vec::new() };
        let free = [test, step].into_iter().flat_map(|block| self.free_arrays(block).to_vec());
        let inside = self.with_producers(free.collect());
        let own = |a: ArrayId| b.params.contains(&a) || b.stmts.iter().any(|s| s.results.contains(&a));
        let alone = |a: ArrayId| own(a) && !self.is_used(b, units, a, &(unit..unit + 1));
        init.iter().filter(|a| !inside.contains(a)).map(|&a| (a, alone(a))).collect()
    }

    /// Arrays, and those read by fused producers among them, each once.
    fn with_producers(&self, arrays: Vec<ArrayId>) -> Vec<ArrayId> {
        let mut met: HashSet<ArrayId> = HashSet::new();
        let mut out: Vec<ArrayId> = arrays.into_iter().filter(|a| met.insert(*a)).collect();
        let mut at = 0;
        while let Some(&a) = out.get(at) {
            if self.fusion.is_inlined(a)
                && let Some(p) = self.stmts[a.index()]
            {
                out.extend(self.own_uses(p).into_iter().filter(|a| met.insert(*a)));
            }
            at += 1;
        }
        out
    }

    /// The arrays that a statement itself may read.
    fn own_uses(&self, s: &Stmt) -> Vec<ArrayId> {
        let mut out = s.op.arrays().into_vec();
        let count = s.results.first().and_then(|r| self.fusion.selection(*r)).map(|selection| &selection.count);
        for f in s.op.funs().into_iter().map(|(_, f)| f).chain(count) {
            out.extend(arrays_of_fun(f).into_iter().map(|(a, _)| a));
        }
        for b in s.op.blocks() {
            out.extend(self.free_arrays(b).iter());
        }
        out
    }

    /// The arrays that a block may read from outside, each once. Results are memoised, since blocks may be nested
    /// deeply.
    fn free_arrays(&self, b: &Block) -> Rc<[ArrayId]> {
        if let Some(known) = self.free_arrays.borrow().get(&std::ptr::from_ref(b)) {
            return known.clone();
        }
        let mut met: HashSet<ArrayId> = b.params.iter().copied().collect();
        let mut free: Vec<ArrayId> = Vec::new();
        for s in &b.stmts {
            let used = acc_core::grow_stack(|| self.own_uses(s));
            free.extend(used.into_iter().filter(|a| met.insert(*a)));
            met.extend(&s.results);
        }
        free.extend(b.results.iter().filter(|a| met.insert(**a)));
        let free: Rc<[ArrayId]> = free.into();
        self.free_arrays.borrow_mut().insert(b, free.clone());
        free
    }
}
