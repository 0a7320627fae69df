//! Extents of arrays without the arrays: to read an array's extent is to evaluate it, which a derivative must not do where the
//! function does not.

use acc_core::ad::{Code, sure};
use acc_core::ir::{
    ArrayId, Class, Extents, Fun, Loc, PrimOp, ScalarOp, Sizes, Stmt, Val, Vals, arrays_of_fun, result_extents,
};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// Nodes of a function that yields extents. Those of arrays with longer ones are read.
const MAX_NODES: usize = 64;

/// The extents of results of statements, as functions of arrays that the statements are computed from.
#[derive(Default)]
pub(super) struct KnownExtents {
    of: HashMap<ArrayId, Fun>,
    /// The results of conditionals, loops and foreign functions, and arrays whose extents depend on those of such.
    costly: HashSet<ArrayId>,
}

impl KnownExtents {
    /// Notes the extents of a statement's result, whose operands have these ranks.
    pub(super) fn note(&mut self, s: &Stmt, rank: &dyn Fn(ArrayId) -> usize, loc: &Loc) {
        if s.op.class() == Class::Control {
            self.costly.extend(&s.results);
        }
        let Some(&result) = s.results.first() else { return };
        let mut code = Code::new([], loc);
        let operands = s.op.arrays().into_iter().map(|a| (a, self.extents(&mut code, a, rank(a)))).collect();
        let found = sure(result_extents(&s.op, &mut InCode { known: self, code: &mut code, operands }));
        if let Some(extents) = found {
            let f = code.done(extents);
            if arrays_of_fun(&f).iter().any(|(a, _)| self.is_costly(*a)) {
                self.costly.insert(result);
            }
            if f.body.nodes.len() <= MAX_NODES {
                self.of.insert(result, f);
            }
        }
    }

    /// Whether to find the extents of an array is to evaluate a conditional, a loop or a foreign function.
    pub(super) fn is_costly(&self, a: ArrayId) -> bool {
        self.costly.contains(&a)
    }

    /// The extents of an array, in a function.
    pub(super) fn extents(&self, code: &mut Code, a: ArrayId, rank: usize) -> Extents<Val> {
        match self.of.get(&a) {
            Some(f) => code.inline(f, &[]).into_iter().collect(),
            None => (0..rank).map(|axis| code.extent(a, axis)).collect(),
        }
    }
}

struct InCode<'k, 'c> {
    known: &'k KnownExtents,
    code: &'c mut Code,
    operands: HashMap<ArrayId, Extents<Val>>,
}

impl<'p> Sizes<'p> for InCode<'_, '_> {
    type Size = Val;
    type Error = Infallible;

    fn of(&self, a: ArrayId) -> Result<Extents<Val>, Infallible> {
        Ok(self.operands.get(&a).cloned().unwrap_or_default())
    }

    /// With known extents in place of those that the function reads.
    fn closed(&mut self, f: &'p Fun) -> Result<Extents<Val>, Infallible> {
        let (mut f, mut args) = (f.clone(), Vec::new());
        let mut read = Vals::new();
        let body = &mut f.body;
        body.nodes.retain(|n| {
            let ScalarOp::Extent { array, axis } = n.op else { return true };
            let Some(own) = self.known.of.get(&array) else { return true };
            let Some(v) = self.code.inline(own, &[]).get(axis as usize).copied() else { return true };
            args.push(v);
            read.extend(n.results.iter().copied());
            false
        });
        body.params.extend(read);
        Ok(self.code.inline(&f, &args).into_iter().collect())
    }

    fn least(&mut self, sizes: &[Val]) -> Val {
        let mut different: Vec<Val> = Vec::new();
        for &n in sizes {
            if !different.contains(&n) {
                different.push(n);
            }
        }
        let least = different.into_iter().reduce(|a, b| self.code.two(PrimOp::MinP, a, b));
        least.unwrap_or_else(|| self.code.int(0))
    }

    fn succ(&mut self, n: Val) -> Val {
        let one = self.code.int(1);
        self.code.two(PrimOp::AddP, n, one)
    }

    fn pred(&mut self, n: Val) -> Val {
        let one = self.code.int(1);
        self.code.two(PrimOp::SubP, n, one)
    }
}
