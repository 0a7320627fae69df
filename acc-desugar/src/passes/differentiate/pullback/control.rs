//! Adjoints of conditionals and foreign functions.

use super::super::copy;
use super::Reverse;
use super::adjoint::Adjoint;
use acc_core::Error;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, ForeignFun, Fun, PrimOp, Stmt};
use std::collections::{HashMap, HashSet};

/// A branch that was gone through.
struct Side {
    stmts: Vec<Stmt>,
    /// The adjoints of arrays around.
    adjoints: HashMap<ArrayId, ArrayId>,
}

impl Reverse<'_, '_> {
    pub(super) fn branch(&mut self, s: &Stmt, cond: &Fun, then: &Block, else_: &Block) -> Result<(), Error> {
        let by: Vec<Option<ArrayId>> = s.results.iter().map(|y| self.take(*y)).collect();
        self.w.note("the branch taken is computed again and gone through");
        let back = |this: &mut Self, same: &Block| this.replaced(&same.stmts, &given(same, &by));
        let sides = [self.side(then, back)?, self.side(else_, back)?];
        self.joined(s, cond.clone(), sides);
        Ok(())
    }

    /// Goes back through a statement, computed once more, where an adjoint of its results is not all 0. In a derivative of which another
    /// one is taken, where such an adjoint may have tangents that are not 0, it is enough that there is one.
    pub(super) fn where_needed(&mut self, s: &Stmt) -> Result<(), Error> {
        let is_zero_enough = self.w.exact;
        if !is_zero_enough && !s.results.iter().any(|y| self.w.has_costly_extents(*y)) {
            return self.stmt(s);
        }
        // As they are: to find the extents of the results is to evaluate the statement.
        let by: Vec<Option<Adjoint>> = s.results.iter().map(|y| self.adjoints.remove(y)).collect();
        let parts = |by: &Adjoint| match by {
            Adjoint::Dense(parts) => parts.clone(),
            Adjoint::OneHot(by) => vec![by.values],
        };
        let parts: Vec<ArrayId> = by.iter().flatten().flat_map(parts).collect();
        let flag = |part| if is_zero_enough { self.is_not_zero(part) } else { self.has_points(part) };
        let flags: Vec<ArrayId> = parts.into_iter().map(flag).collect();
        let mut cond = self.w.code([]);
        let mut any = cond.truth(false);
        for flag in flags {
            let flag = cond.read(flag, &[ScalarType::Bool], &[])[0];
            any = cond.two(PrimOp::OrP, any, flag);
        }
        let cond = cond.done([any]);
        let alone = Block { params: Vec::new(), stmts: vec![s.clone()], results: s.results.to_vec() };
        let there = self.side(&alone, |this, same| this.replaced_by(&same.stmts, given(same, &by)))?;
        let sides = [there, Side { stmts: Vec::new(), adjoints: HashMap::new() }];
        self.joined(s, cond, sides);
        Ok(())
    }

    /// Whether an array of floats holds anything but zeros, as an array of rank 0.
    fn is_not_zero(&mut self, a: ArrayId) -> ArrayId {
        let (rank, leaves) = (self.w.rank(a), self.w.elt(a).leaves());
        let mut f = self.w.code(leaves);
        let mut any = f.truth(false);
        for v in f.params() {
            let zero = f.zero_like(v);
            let other = f.two(PrimOp::NeP, v, zero);
            any = f.two(PrimOp::OrP, any, other);
        }
        let op = ArrayOp::Map { xs: vec![a], f: f.done([any]), indexed: false };
        let mut flags = self.w.stmt(rank, ScalarType::Bool.into(), op);
        for rank in (0..rank).rev() {
            let mut or = self.w.code([ScalarType::Bool, ScalarType::Bool]);
            let both = or.params();
            let either = or.two(PrimOp::OrP, both[0], both[1]);
            let mut init = self.w.code([]);
            let none = init.truth(false);
            let op = ArrayOp::Fold { xs: flags, f: or.done([either]), init: Some(init.done([none])) };
            flags = self.w.stmt(rank, ScalarType::Bool.into(), op);
        }
        flags
    }

    /// Whether an array has elements, as an array of rank 0.
    fn has_points(&mut self, a: ArrayId) -> ArrayId {
        let mut c = self.w.code([]);
        let mut all = c.truth(true);
        for axis in 0..self.w.rank(a) {
            let (zero, n) = (c.int(0), c.extent(a, axis));
            let some = c.two(PrimOp::LtP, zero, n);
            all = c.two(PrimOp::AndP, all, some);
        }
        let op = ArrayOp::Generate { shape: self.w.code([]).done([]), f: c.done([all]) };
        self.w.stmt(0, ScalarType::Bool.into(), op)
    }

    /// Contributes the adjoints of one of two sides.
    fn joined(&mut self, s: &Stmt, cond: Fun, sides: [Side; 2]) {
        let mut around: Vec<ArrayId> = sides.iter().flat_map(|side| side.adjoints.keys().copied()).collect();
        around.sort();
        around.dedup();
        if around.is_empty() {
            return;
        }
        let mut blocks = Vec::new();
        for side in sides {
            let (zeros, results) = self.inner(|this| {
                let own = |a: &ArrayId| side.adjoints.get(a).copied().unwrap_or_else(|| this.w.no_adjoint(*a));
                around.iter().map(own).collect()
            });
            let stmts = side.stmts.into_iter().chain(zeros).collect();
            blocks.push(Block { params: Vec::new(), stmts, results });
        }
        let (Some(else_), Some(then)) = (blocks.pop(), blocks.pop()) else { return };
        let mut results = Vec::new();
        for a in &around {
            let ty = ArrayType { rank: self.w.rank(*a), elt: self.w.tangent_elt(*a) };
            results.push(self.w.array(ty));
        }
        self.w.stmts.push(Stmt {
            results: results.iter().copied().collect(),
            op: ArrayOp::If { cond, then, else_ },
            loc: s.loc.clone(),
        });
        for (a, adjoint) in around.into_iter().zip(results) {
            self.contribute_any(a, adjoint);
        }
    }

    /// A branch, evaluated once more and gone through.
    fn side(&mut self, b: &Block, back: impl FnOnce(&mut Self, &Block) -> Result<(), Error>) -> Result<Side, Error> {
        let same = copy(self.w, b, &[]);
        let adjoints = std::mem::take(&mut self.adjoints);
        let inside: HashSet<ArrayId> = same.stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
        let (stmts, found) = self.inner(|this| -> Result<HashMap<ArrayId, ArrayId>, Error> {
            back(this, &same)?;
            let mut around: Vec<ArrayId> = this.adjoints.keys().copied().filter(|a| !inside.contains(a)).collect();
            around.sort_unstable();
            Ok(around.into_iter().map(|a| (a, this.points_so_far(a))).collect())
        });
        self.adjoints = adjoints;
        Ok(Side { stmts, adjoints: found? })
    }

    pub(super) fn foreign(
        &mut self,
        s: &Stmt,
        function: &ForeignFun,
        xs: &[ArrayId],
        fallback: &Block,
    ) -> Result<(), Error> {
        let by: Vec<Option<ArrayId>> = s.results.iter().map(|y| self.take(*y)).collect();
        match function {
            ForeignFun::Trace(_) => {
                for (x, by) in xs[xs.len() - s.results.len()..].iter().zip(by) {
                    if let Some(by) = by {
                        self.contribute(*x, by);
                    }
                }
                Ok(())
            }
            ForeignFun::Host(_) => {
                let same = copy(self.w, fallback, xs);
                self.replaced(&same.stmts, &given(&same, &by))
            }
        }
    }
}

/// The results of a block that have an adjoint, and these.
pub(super) fn given<T: Clone>(b: &Block, by: &[Option<T>]) -> Vec<(ArrayId, T)> {
    b.results.iter().zip(by).filter_map(|(y, by)| Some((*y, by.clone()?))).collect()
}
