//! Tangents of folds, scans and permutes.

use super::super::writer::adder;
use super::Forward;
use crate::analysis::operators::{Component, components};
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::EltType;
use acc_core::ir::{ArrayId, ArrayOp, Closed, Fun, Ir, Mapper, PrimOp, Stmt, Val};
use std::collections::HashMap;
use std::convert::Infallible;

impl Forward<'_, '_> {
    /// A fold or scan.
    pub(super) fn reduction(&mut self, s: &Stmt, y: ArrayId) -> Result<ArrayId, Error> {
        let (Some(&xs), Some((_, f))) = (s.op.operand(), s.op.funs().into_iter().find(|(key, _)| *key == "f")) else {
            return self.w.no_rule(s.op.name(), &s.loc);
        };
        let tangent = self.tangent_of(xs);
        if sums(f) {
            // The tangents are summed up as the numbers are.
            let init = |this: &Self, init: &Fun| this.tangent_function(init, |_| HashMap::new());
            let f = adder(&self.w.tangent_elt(y), &self.w.loc);
            let op = s.op.map(&mut Replaced { xs, by: tangent, f: &f, init: &|f| init(self, f) });
            return Ok(self.like(y, op));
        }
        let pairs = self.pairs(xs, tangent);
        let elt = self.w.elt(y).clone();
        let f = self.pair_operator(f, &elt);
        let op = s.op.map(&mut Replaced { xs, by: pairs, f: &f, init: &|init| self.pair_constant(init) });
        Ok(self.second_of_pairs(y, op))
    }

    pub(super) fn permute(
        &mut self,
        y: ArrayId,
        defaults: ArrayId,
        xs: ArrayId,
        combine: &Fun,
        target: &Fun,
    ) -> ArrayId {
        let (into, from) = (self.tangent_of(defaults), self.tangent_of(xs));
        let combined = match components(combine) {
            _ if sums(combine) => Some(adder(&self.w.tangent_elt(y), &self.w.loc)),
            // What is written, or what was there: the tangents go with the numbers.
            Some(all) if all.iter().all(|c| *c == Component::First) => Some(self.chosen(y, true)),
            Some(all) if all.iter().all(|c| *c == Component::Second) => Some(self.chosen(y, false)),
            _ => None,
        };
        if let Some(combine) = combined {
            return self.like(y, ArrayOp::Permute { defaults: into, xs: from, combine, target: target.clone() });
        }
        let elt = self.w.elt(y).clone();
        let (defaults, xs) = (self.pairs(defaults, into), self.pairs(xs, from));
        let combine = self.pair_operator(combine, &elt);
        self.second_of_pairs(y, ArrayOp::Permute { defaults, xs, combine, target: target.clone() })
    }

    /// The operator on tangents that yields its first or its second operand.
    fn chosen(&self, y: ArrayId, first: bool) -> Fun {
        let leaves = self.w.tangent_elt(y).leaves();
        let c = self.w.code([leaves.as_slice(), leaves.as_slice()].concat());
        let params = c.params();
        let (a, b) = params.split_at(leaves.len());
        let results = if first { a } else { b }.to_vec();
        c.done(results)
    }

    /// An array of pairs of elements and their tangents.
    fn pairs(&mut self, xs: ArrayId, tangent: ArrayId) -> ArrayId {
        let elt = self.pair_elt(xs);
        let c = self.w.code(elt.leaves());
        let all = c.params();
        let op = ArrayOp::Map { xs: vec![xs, tangent], f: c.done(all), indexed: false };
        let rank = self.w.rank(xs);
        self.w.stmt(rank, elt, op)
    }

    fn pair_elt(&self, xs: ArrayId) -> EltType {
        EltType::tuple([self.w.elt(xs).clone(), self.w.tangent_elt(xs)])
    }

    /// The tangents of an operation on pairs that yields what `y` is, in pairs.
    fn second_of_pairs(&mut self, y: ArrayId, op: ArrayOp) -> ArrayId {
        let (rank, elt) = (self.w.rank(y), self.pair_elt(y));
        let leaves = elt.leaves();
        let pairs = self.w.stmt(rank, elt, op);
        let c = self.w.code(leaves);
        let tangents = c.params()[self.w.elt(y).leaf_count()..].to_vec();
        self.like(y, ArrayOp::Map { xs: vec![pairs], f: c.done(tangents), indexed: false })
    }

    /// An operator of elements, on pairs of elements and tangents.
    fn pair_operator(&self, f: &Fun, elt: &EltType) -> Fun {
        let (leaves, tangents) = (elt.leaves(), elt.tangent().leaves());
        let mut code = Code::of_function(f, &self.w.loc);
        let (first, second) = f.body.params.split_at(leaves.len());
        let mut params = Vec::new();
        let mut of = HashMap::new();
        for operand in [first, second] {
            params.extend(operand.iter().copied());
            for v in operand.iter().filter(|v| f.ty(**v).is_float()) {
                let t = code.fresh(f.ty(*v));
                params.push(t);
                of.insert(*v, t);
            }
        }
        debug_assert_eq!(of.len(), 2 * tangents.len(), "a tangent for each float");
        code.set_params(params);
        let tangents = self.dual(&mut code, f, of);
        code.done(f.body.results.iter().copied().chain(tangents))
    }

    /// A closed function, with the tangents of what it yields.
    fn pair_constant(&self, init: &Fun) -> Fun {
        let mut code = Code::of_function(init, &self.w.loc);
        let tangents = self.dual(&mut code, init, HashMap::new());
        code.done(init.body.results.iter().copied().chain(tangents))
    }
}

/// Whether an operator sums up all floats of its elements, and is built in for the rest.
pub(in super::super) fn sums(f: &Fun) -> bool {
    let is_sum = |(c, v): (Component, &Val)| match c {
        Component::Op(PrimOp::AddP) => true,
        Component::Op(_) | Component::First | Component::Second => !f.ty(*v).is_float(),
    };
    components(f).is_some_and(|all| all.into_iter().zip(&f.body.results).all(is_sum))
}

/// A fold or scan of another array, by another operator.
pub(in super::super) struct Replaced<'a> {
    pub(in super::super) xs: ArrayId,
    pub(in super::super) by: ArrayId,
    pub(in super::super) f: &'a Fun,
    pub(in super::super) init: &'a dyn Fn(&Fun) -> Fun,
}

impl Mapper<Ir, Ir> for Replaced<'_> {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok(if *a == self.xs { self.by } else { *a })
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(all.clone())
    }
    fn fun(&mut self, closed: Closed, f: &Fun) -> Result<Fun, Infallible> {
        Ok(match closed {
            Closed::No => self.f.clone(),
            // The initial value.
            Closed::Yes | Closed::Extents => (self.init)(f),
        })
    }
    fn block(&mut self, b: &acc_core::ir::Block) -> Result<acc_core::ir::Block, Infallible> {
        Ok(b.clone())
    }
}
