//! Forward derivatives: beside each statement one for the tangents of its result.
//!
//! The tangent of an array is an array of its extents, of the floats of its elements. An operation that is linear in its
//! operand is applied to the operand's tangent; an element-wise function becomes that of its tangents; where an operator
//! combines elements and is not linear, it combines pairs of elements and tangents.

mod control;
mod operators;
mod points;
mod ruled;

pub(super) use operators::{Replaced, sums};

use super::writer::{Writer, float_leaves};
use acc_core::Error;
use acc_core::ad::{self, Activity, ArrayTangents, Code, Dual, Tangent};
use acc_core::grow_stack;
use acc_core::ir::{ArrayId, ArrayOp, Block, Class, Fun, Stmt, Val};
use smallvec::smallvec;
use std::collections::HashMap;

/// The results of a function at a point, and their tangents along these of the point. The function's parameters are the
/// point.
pub(super) fn derivative(w: &mut Writer<'_>, f: &Block, along: &[ArrayId]) -> Result<Vec<ArrayId>, Error> {
    let floats = f.params.iter().copied().filter(|a| w.elt(*a).has_float());
    let activity = Activity::of(&w.types, f, f.params.iter().copied());
    let mut d = Forward { tangents: floats.zip(along.iter().copied()).collect(), activity, w };
    d.statements(&f.stmts)?;
    if let Some(captured) = d.activity.captured() {
        return Err(ad::captured(captured.clone()));
    }
    let mut results = f.results.clone();
    for r in f.results.iter().filter(|r| d.w.elt(**r).has_float()).copied().collect::<Vec<_>>() {
        results.push(d.tangent_of(r));
    }
    Ok(results)
}

struct Forward<'w, 'a> {
    w: &'w mut Writer<'a>,
    /// The tangents of arrays that have some.
    tangents: HashMap<ArrayId, ArrayId>,
    /// Which arrays have some, or will.
    activity: Activity,
}

impl ArrayTangents for Forward<'_, '_> {
    fn tangent(&self, a: &ArrayId) -> Option<ArrayId> {
        self.tangents.get(a).copied()
    }
    fn floats(&self, a: &ArrayId) -> Vec<bool> {
        self.w.elt(*a).leaves().iter().map(|ty| ty.is_float()).collect()
    }
}

impl Forward<'_, '_> {
    /// The tangent of an array, 0 if it has none.
    fn tangent_of(&mut self, a: ArrayId) -> ArrayId {
        match self.tangents.get(&a) {
            Some(t) => *t,
            None => self.w.zeros(a),
        }
    }

    fn statements(&mut self, stmts: &[Stmt]) -> Result<(), Error> {
        for s in stmts {
            self.w.limits.check()?;
            grow_stack(|| self.stmt(s))?;
        }
        Ok(())
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Error> {
        self.w.at(s);
        if s.results.iter().any(|y| self.activity.is_active(*y)) {
            self.w.note("tangents beside the values");
        }
        match &s.op {
            ArrayOp::If { cond, then, else_ } => return self.branch(s, cond, then, else_),
            ArrayOp::While { init, test, step } => return self.looped(s, init, test, step),
            ArrayOp::Foreign { function, xs, fallback } => return self.foreign(s, function, xs, fallback),
            ArrayOp::Ruled { .. } => return self.ruled(s),
            // The others have one result, and their rules are below.
            _ => {}
        }
        self.w.stmts.push(s.clone());
        let Some(&y) = s.results.first() else { return Ok(()) };
        if !self.activity.is_active(y) {
            return Ok(());
        }
        let tangent = match &s.op {
            ArrayOp::Generate { shape: _, f } => self.generate(y, f),
            ArrayOp::Map { xs, f, indexed } => self.map(y, xs, f, *indexed),
            ArrayOp::Stencil { f, inputs } => self.stencil(y, f, inputs),
            ArrayOp::Permute { defaults, xs, combine, target } => self.permute(y, *defaults, *xs, combine, target),
            ArrayOp::Backpermute { xs, shape: _, index } => {
                let op = ArrayOp::Backpermute {
                    xs: self.tangent_of(*xs),
                    shape: self.w.extents_of(y),
                    index: index.clone(),
                };
                self.like(y, op)
            }
            ArrayOp::Reshape { xs, shape: _ } => {
                let op = ArrayOp::Reshape { xs: self.tangent_of(*xs), shape: self.w.extents_of(y) };
                self.like(y, op)
            }
            ArrayOp::Replicate { xs, axes, extents } => {
                let op = ArrayOp::Replicate { xs: self.tangent_of(*xs), axes: axes.clone(), extents: extents.clone() };
                self.like(y, op)
            }
            ArrayOp::Slice { xs, axes, index } => {
                let op = ArrayOp::Slice { xs: self.tangent_of(*xs), axes: axes.clone(), index: index.clone() };
                self.like(y, op)
            }
            ArrayOp::Compute { xs, .. } => {
                let op = ArrayOp::Compute { xs: self.tangent_of(*xs), schedule: None };
                self.like(y, op)
            }
            ArrayOp::Check { xs, .. } => self.tangent_of(*xs),
            op => match op.class() {
                Class::Fold | Class::Segments | Class::Scan => self.reduction(s, y)?,
                // Positions have no tangents.
                Class::Sort => return Ok(()),
                Class::Pointwise | Class::Scatter | Class::View | Class::Control => {
                    return self.w.no_rule(op.name(), &s.loc);
                }
            },
        };
        self.tangents.insert(y, tangent);
        Ok(())
    }

    /// An array of tangents of `y`.
    fn like(&mut self, y: ArrayId, op: ArrayOp) -> ArrayId {
        let (rank, elt) = (self.w.rank(y), self.w.tangent_elt(y));
        self.w.stmt(rank, elt, op)
    }

    /// The tangents of a function's results: `params` adds those of parameters, which come after the function's own.
    fn tangent_function(&self, f: &Fun, params: impl FnOnce(&mut Code) -> HashMap<Val, Val>) -> Fun {
        let mut code = Code::of_function(f, &self.w.loc);
        let tangents = params(&mut code);
        let results = self.dual(&mut code, f, tangents);
        code.done(results)
    }

    /// Writes a function with tangents of its parameters; yields those of the floats among its results.
    fn dual(&self, code: &mut Code, f: &Fun, params: HashMap<Val, Val>) -> Vec<Val> {
        let given = |(v, value)| (v, smallvec![Some(Tangent { value, careful: false })]);
        let tangents = params.into_iter().map(given).collect();
        let mut dual = Dual { code, directions: 1, arrays: self, tangents };
        dual.region(&f.body);
        let floats = f.body.results.iter().filter(|v| f.ty(**v).is_float());
        floats.map(|v| dual.value(*v, 0)).collect()
    }

    /// The floats among an array's leaves.
    fn float_leaves(&self, a: ArrayId) -> Vec<usize> {
        float_leaves(self.w.elt(a))
    }
}
