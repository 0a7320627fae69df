//! Reverse derivatives: from the last statement to the first, the adjoint of a result becomes contributions to the adjoints
//! of what it was computed from.
//!
//! The adjoint of an array is an array of its extents, of the floats of its elements; of an array to which nothing
//! contributes it is 0. Values of the function that an adjoint needs are those of the function's own statements; inside
//! conditionals they are computed once more.

mod adjoint;
mod control;
mod factors;
mod folds;
mod lanes;
mod loops;
mod one_hot;
mod permute;
mod points;
mod reads;
mod ruled;
mod scan;
mod shape;
mod stencil;

use super::writer::Writer;
use acc_core::Error;
use acc_core::ad::{self, Activity, Code};
use acc_core::data::EltType;
use acc_core::grow_stack;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Class, Fun, Stmt, Val, strict_statements};
use adjoint::Adjoint;
use std::collections::{HashMap, HashSet};

/// The results of a function whose statements are written already, and the adjoints of the point, of these of the results.
/// The function's parameters are the point.
pub(super) fn derivative(w: &mut Writer<'_>, f: &Block, by: &[ArrayId]) -> Result<Vec<ArrayId>, Error> {
    let activity = Activity::of(&w.types, f, f.params.iter().copied());
    f.stmts.iter().for_each(|s| w.note_extents(s));
    let mut r = Reverse { w, activity, adjoints: HashMap::new(), carried: HashSet::new() };
    let with_adjoint: Vec<ArrayId> = f.results.iter().copied().filter(|a| r.w.elt(*a).has_float()).collect();
    for (y, by) in with_adjoint.into_iter().zip(by) {
        r.contribute(y, *by);
    }
    r.statements(&f.stmts, &f.results)?;
    if let Some(captured) = r.activity.captured() {
        return Err(ad::captured(captured.clone()));
    }
    let mut results = f.results.clone();
    for x in f.params.iter().copied().filter(|a| r.w.elt(*a).has_float()).collect::<Vec<_>>() {
        results.push(r.adjoint_so_far(x));
    }
    Ok(results)
}

struct Reverse<'w, 'a> {
    w: &'w mut Writer<'a>,
    activity: Activity,
    /// The adjoints so far.
    adjoints: HashMap<ArrayId, Adjoint>,
    /// Those which the steps of a loop add to, one after the other. To add to a few elements of one costs no pass over all.
    carried: HashSet<ArrayId>,
}

impl Reverse<'_, '_> {
    fn is_active(&self, a: ArrayId) -> bool {
        self.activity.is_active(a)
    }

    /// Goes back through the statements of a block with these results.
    fn statements(&mut self, stmts: &[Stmt], results: &[ArrayId]) -> Result<(), Error> {
        let evaluated = if self.w.assumes { vec![true; stmts.len()] } else { strict_statements(stmts, results) };
        for (s, evaluated) in stmts.iter().zip(evaluated).rev() {
            self.w.limits.check()?;
            if s.results.iter().any(|r| self.adjoints.contains_key(r)) {
                self.w.at(s);
                grow_stack(|| if evaluated { self.stmt(s) } else { self.where_needed(s) })?;
            }
        }
        Ok(())
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Error> {
        match &s.op {
            ArrayOp::If { cond, then, else_ } => return self.branch(s, cond, then, else_),
            ArrayOp::While { init, test, step } => return self.looped(s, init, test, step),
            ArrayOp::Foreign { function, xs, fallback } => return self.foreign(s, function, xs, fallback),
            ArrayOp::Ruled { .. } => return self.ruled(s),
            // The others have one result, and their rules are below.
            _ => {}
        }
        let Some((y, by)) = s.results.first().and_then(|y| self.adjoints.remove_entry(y)) else { return Ok(()) };
        if let ArrayOp::Generate { f, .. } | ArrayOp::Map { f, .. } = &s.op
            && let Some((stmts, result)) = self.lifted(s, f)?
        {
            let by = self.dense(y, by);
            return self.replaced(&stmts, &[(result, by)]);
        }
        if let ArrayOp::Fold { xs, f, init } = &s.op {
            return self.fold((&s.op, y), *xs, f, init.as_ref(), by);
        }
        let by = match by {
            Adjoint::OneHot(by) => match self.one_hot(s, by)? {
                Some(by) => Adjoint::OneHot(by),
                None => return Ok(()),
            },
            by => by,
        };
        // Points without an adjoint contribute nothing.
        let by = match &s.op {
            ArrayOp::Generate { .. } | ArrayOp::Map { .. } | ArrayOp::Replicate { .. } => self.points(y, by),
            // The rules of others read the adjoint of every point.
            _ => self.dense(y, by),
        };
        match &s.op {
            ArrayOp::Generate { shape: _, f } => self.generate(f, by),
            ArrayOp::Map { xs, f, indexed } => {
                self.w.note("at the same points, where the function is computed again");
                self.map(s, xs, f, *indexed, by)
            }
            ArrayOp::Stencil { f, inputs } => self.stencil(s, f, inputs, by),
            ArrayOp::Scan { dir, xs, f, init } => self.scan(y, *dir, *xs, f, init.as_ref(), by),
            ArrayOp::Permute { defaults, xs, combine, target } => self.permute(s, *defaults, *xs, combine, target, by),
            ArrayOp::Backpermute { xs, shape: _, index } => self.backpermute(s, *xs, index, by),
            ArrayOp::Reshape { xs, shape: _ } => {
                let shape = self.w.extents_of(*xs);
                let op = match self.uniform_element(by, self.w.rank(*xs)) {
                    Some(f) => ArrayOp::Generate { shape, f },
                    None => ArrayOp::Reshape { xs: by, shape },
                };
                self.contribute_like(*xs, op);
                Ok(())
            }
            ArrayOp::Replicate { xs, axes, extents: _ } => {
                self.replicate(*xs, axes, by);
                Ok(())
            }
            ArrayOp::Slice { xs, axes, index } => {
                self.slice(*xs, axes, index, by);
                Ok(())
            }
            ArrayOp::Compute { xs, .. } | ArrayOp::Check { xs, .. } => {
                self.contribute(*xs, by);
                Ok(())
            }
            op => match op.class() {
                Class::Segments => self.fold_seg(s, by),
                // Positions have no adjoints.
                Class::Sort => Ok(()),
                Class::Pointwise | Class::Fold | Class::Scan | Class::Scatter | Class::View | Class::Control => {
                    self.w.no_rule(op.name(), &s.loc)
                }
            },
        }
    }

    /// The element of an array that was written as the same one at all indices, as a function of an index of this rank.
    fn uniform_element(&self, a: ArrayId, rank: usize) -> Option<Fun> {
        let stmt = self.w.definition(a)?;
        let ArrayOp::Generate { f, .. } = &stmt.op else { return None };
        let index = &f.body.params;
        let mut is_read = index.iter().any(|p| f.body.results.contains(p));
        f.body.visit(0, &mut |n, _| {
            let inner = n.op.regions().into_iter().flat_map(|r| r.results.clone());
            is_read |= n.op.operands().into_iter().chain(inner).any(|v| index.contains(&v));
        });
        if is_read {
            return None;
        }
        let mut c: Code = Code::of_index(rank, &self.w.loc);
        let zero = c.int(0);
        let results = c.inline(f, &vec![zero; f.body.params.len()]);
        Some(c.done(results))
    }

    /// Adds what an operation yields to the adjoint of an array.
    fn contribute_like(&mut self, a: ArrayId, op: ArrayOp) {
        if self.is_active(a) {
            let (rank, elt) = (self.w.rank(a), self.w.tangent_elt(a));
            let adjoint = self.w.stmt(rank, elt, op);
            self.contribute(a, adjoint);
        }
    }

    /// Writes statements, and goes back through them with these adjoints of their results.
    pub(super) fn replaced(&mut self, stmts: &[Stmt], by: &[(ArrayId, ArrayId)]) -> Result<(), Error> {
        self.write(stmts);
        for (y, by) in by {
            self.contribute(*y, *by);
        }
        let results: Vec<ArrayId> = by.iter().map(|(y, _)| *y).collect();
        self.statements(stmts, &results)
    }

    /// The same with adjoints in any form, which may have fewer points than the results.
    fn replaced_by(&mut self, stmts: &[Stmt], by: Vec<(ArrayId, Adjoint)>) -> Result<(), Error> {
        self.write(stmts);
        let results: Vec<ArrayId> = by.iter().map(|(y, _)| *y).collect();
        for (y, by) in by {
            self.add(y, by);
        }
        self.statements(stmts, &results)
    }

    fn write(&mut self, stmts: &[Stmt]) {
        self.w.stmts.extend(stmts.iter().cloned());
        for s in stmts {
            self.activity.add(&self.w.types, s);
            self.w.note_extents(s);
        }
    }

    /// Goes back through an operation with this adjoint of its result.
    fn through(&mut self, ty: ArrayType, op: ArrayOp, by: ArrayId) -> Result<(), Error> {
        let result = self.w.array(ty);
        let s = Stmt { results: [result].into_iter().collect(), op, loc: self.w.loc.clone() };
        self.replaced(&[s], &[(result, by)])
    }

    /// The same array, which has no adjoint.
    fn constant(&mut self, a: ArrayId) -> ArrayId {
        if !self.is_active(a) {
            return a;
        }
        let (c, lanes) = self.lanes(&[a]);
        let (same, elt) = (lanes.elements[0].clone(), self.w.elt(a).clone());
        self.at_points(&lanes, c, same, elt)
    }

    /// An array of the extents of another one, each element from its index.
    fn over(&mut self, a: ArrayId, elt: EltType, write: impl FnOnce(&mut Code, &[Val]) -> Vec<Val>) -> ArrayId {
        let rank = self.w.rank(a);
        let mut c = Code::of_index(rank, &self.w.loc);
        let index = c.params();
        let results = write(&mut c, &index);
        let op = ArrayOp::Generate { shape: self.w.extents_of(a), f: c.done(results) };
        let made = self.w.stmt(rank, elt, op);
        self.w.extents.set(made, a);
        made
    }

    /// What `write` writes, as statements of their own.
    fn inner<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (Vec<Stmt>, T) {
        let around = std::mem::take(&mut self.w.stmts);
        let made = write(self);
        (std::mem::replace(&mut self.w.stmts, around), made)
    }

    /// A block of new parameters of these arrays' types, and the results of what `write` writes.
    fn block(
        &mut self,
        like: &[ArrayId],
        write: impl FnOnce(&mut Self, &[ArrayId]) -> Result<Vec<ArrayId>, Error>,
    ) -> Result<Block, Error> {
        let params = self.w.like(like);
        let (stmts, results) = self.inner(|this| grow_stack(|| write(this, &params)));
        Ok(Block { params, stmts, results: results? })
    }

    /// Whether a function reads an active array.
    fn reads_active(&self, f: &Fun) -> bool {
        acc_core::ir::arrays_of_fun(f).iter().any(|(a, _)| self.is_active(*a))
    }

    /// The sum of an array over all its axes but these, which become those of the result, in this order.
    fn fold_axes(&mut self, mut a: ArrayId, kept: &[usize]) -> ArrayId {
        let (rank, elt) = (self.w.rank(a), self.w.elt(a).clone());
        let rest: Vec<usize> = (0..rank).filter(|axis| !kept.contains(axis)).collect();
        let order: Vec<usize> = kept.iter().copied().chain(rest.iter().copied()).collect();
        a = self.transposed(a, &order);
        for k in 0..rest.len() {
            let mut zero = self.w.code([]);
            let zeros = zero.zeros(&elt.leaves());
            let f = super::writer::adder(&elt, &self.w.loc);
            let op = ArrayOp::Fold { xs: a, f, init: Some(zero.done(zeros)) };
            a = self.w.stmt(rank - k - 1, elt.clone(), op);
        }
        a
    }

    /// An array with its axes in this order.
    fn transposed(&mut self, a: ArrayId, order: &[usize]) -> ArrayId {
        if order.is_sorted() {
            return a;
        }
        let (rank, elt) = (self.w.rank(a), self.w.elt(a).clone());
        let mut shape = self.w.code([]);
        let extents: Vec<Val> = order.iter().map(|axis| shape.extent(a, *axis)).collect();
        let c = Code::of_index(rank, &self.w.loc);
        let index = c.params();
        let place = |axis: usize| order.iter().position(|o| *o == axis).unwrap_or(axis);
        let from: Vec<Val> = (0..rank).map(|axis| index[place(axis)]).collect();
        let op = ArrayOp::Backpermute { xs: a, shape: shape.done(extents), index: c.done(from) };
        self.w.stmt(rank, elt, op)
    }
}
