//! Adjoints of conditionals and foreign functions.

use super::super::copy;
use super::Reverse;
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, ForeignFun, Fun, Stmt};
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
        let sides = [self.side(then, &by)?, self.side(else_, &by)?];
        let mut around: Vec<ArrayId> = sides.iter().flat_map(|side| side.adjoints.keys().copied()).collect();
        around.sort();
        around.dedup();
        if around.is_empty() {
            return Ok(());
        }
        let mut blocks = Vec::new();
        for side in sides {
            let (zeros, results) = self.inner(|this| {
                let own = |a: &ArrayId| side.adjoints.get(a).copied().unwrap_or_else(|| this.w.zeros(*a));
                around.iter().map(own).collect()
            });
            let stmts = side.stmts.into_iter().chain(zeros).collect();
            blocks.push(Block { params: Vec::new(), stmts, results });
        }
        let (Some(else_), Some(then)) = (blocks.pop(), blocks.pop()) else { return Ok(()) };
        let mut results = Vec::new();
        for a in &around {
            let ty = ArrayType { rank: self.w.rank(*a), elt: self.w.tangent_elt(*a) };
            results.push(self.w.array(ty));
        }
        self.w.stmts.push(Stmt {
            results: results.iter().copied().collect(),
            op: ArrayOp::If { cond: cond.clone(), then, else_ },
            loc: s.loc.clone(),
        });
        for (a, adjoint) in around.into_iter().zip(results) {
            self.contribute(a, adjoint);
        }
        Ok(())
    }

    /// A branch, evaluated once more and gone through.
    fn side(&mut self, b: &Block, by: &[Option<ArrayId>]) -> Result<Side, Error> {
        let same = copy(self.w, b, &[]);
        let adjoints = std::mem::take(&mut self.adjoints);
        let (stmts, found) = self.inner(|this| {
            let done = this.replaced(&same.stmts, &given(&same, by));
            done.map(|()| this.take_all())
        });
        self.adjoints = adjoints;
        let mut found = found?;
        let inside: HashSet<ArrayId> = same.stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
        found.retain(|a, _| !inside.contains(a));
        Ok(Side { stmts, adjoints: found })
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
pub(super) fn given(b: &Block, by: &[Option<ArrayId>]) -> Vec<(ArrayId, ArrayId)> {
    b.results.iter().zip(by).filter_map(|(y, by)| Some((*y, (*by)?))).collect()
}
