//! Activity: what depends smoothly on the point of a derivative.
//!
//! A scalar is active if a float and computed from an active one by operations with a partial derivative; a leaf of an array
//! is if a scalar of it may be, and an array is if a leaf of it is. What is not active has no tangent and no adjoint. Activity
//! is what may be in some run: branches count with both sides, loops with all their steps.

use super::{active_capture, used_from_around};
use crate::ir::{
    ArrayId, ArrayOp, ArrayType, Block, Foreign, Fun, Loc, PrimOp, Programs, Read, Region, ScalarOp, Stmt, Val,
};
use std::collections::HashMap;

/// Which arrays of a program are active.
#[derive(Clone, Default, Debug)]
pub struct Activity {
    /// Of the arrays that are, each leaf.
    active: HashMap<ArrayId, Vec<bool>>,
    /// The first operation through which no derivative goes, of an active operand.
    blocked: Option<(&'static str, Loc)>,
    /// The first function with a rule that reads an active array or number that is none of its arguments, and where it does.
    captured: Option<(Loc, Loc)>,
}

impl Activity {
    /// What is active of a function of arrays where these parameters are.
    pub fn of(types: &[ArrayType], f: &Block, params: impl IntoIterator<Item = ArrayId>) -> Activity {
        let mut a = Activity::default();
        for x in params {
            a.insert(x, &floats(types, x));
        }
        a.block(types, f);
        a
    }

    /// The same for one more statement, whose operands are known.
    pub fn add(&mut self, types: &[ArrayType], s: &Stmt) {
        crate::grow_stack(|| self.stmt(types, s));
    }

    /// Makes an array active where another one of its type is.
    pub fn insert_like(&mut self, a: ArrayId, like: ArrayId) {
        if let Some(leaves) = self.active.get(&like).cloned() {
            self.insert(a, &leaves);
        }
    }

    /// Makes leaves of an array active; whether one was not.
    fn insert(&mut self, a: ArrayId, leaves: &[bool]) -> bool {
        if !leaves.contains(&true) {
            return false;
        }
        let own = self.active.entry(a).or_insert_with(|| vec![false; leaves.len()]);
        let mut new = false;
        for (own, leaf) in own.iter_mut().zip(leaves) {
            new |= *leaf && !*own;
            *own |= *leaf;
        }
        new
    }

    /// Whether an array is.
    pub fn is_active(&self, a: ArrayId) -> bool {
        self.active.contains_key(&a)
    }

    /// Whether a leaf of an array is.
    pub fn is_leaf_active(&self, a: ArrayId, leaf: u32) -> bool {
        self.active.get(&a).is_some_and(|leaves| leaves[leaf as usize])
    }

    /// The first operation of an active operand through which no derivative goes, and where it was written.
    pub fn blocked(&self) -> Option<&(&'static str, Loc)> {
        self.blocked.as_ref()
    }

    /// The first function with a rule that reads what is active and none of its arguments, and where it does.
    pub fn captured(&self) -> Option<&(Loc, Loc)> {
        self.captured.as_ref()
    }

    /// Makes `to` active where `from` is; whether that is new.
    fn pass_on(&mut self, from: &[ArrayId], to: &[ArrayId]) -> bool {
        let mut new = false;
        for (from, to) in from.iter().zip(to) {
            if let Some(leaves) = self.active.get(from).cloned() {
                new |= self.insert(*to, &leaves);
            }
        }
        new
    }

    fn block(&mut self, types: &[ArrayType], b: &Block) {
        for s in &b.stmts {
            crate::grow_stack(|| self.stmt(types, s));
        }
    }

    fn stmt(&mut self, types: &[ArrayType], s: &Stmt) {
        match &s.op {
            ArrayOp::If { cond: _, then, else_ } => {
                for b in [then, else_] {
                    self.block(types, b);
                    self.pass_on(&b.results, &s.results);
                }
            }
            ArrayOp::While { init, test, step } => {
                self.pass_on(init, &step.params);
                loop {
                    self.block(types, step);
                    if !self.pass_on(&step.results, &step.params) {
                        break;
                    }
                }
                let state = step.params.clone();
                self.pass_on(&state, &test.params);
                self.pass_on(&state, &s.results);
            }
            ArrayOp::Foreign { xs, fallback, .. } => {
                self.pass_on(xs, &fallback.params);
                self.block(types, fallback);
                self.pass_on(&fallback.results, &s.results);
            }
            ArrayOp::Ruled { at, f, jvp: None, vjp: None, residuals: _ } => {
                self.pass_on(at, &f.params);
                self.block(types, f);
                self.pass_on(&f.results, &s.results);
            }
            // A rule may make anything of the arguments.
            ArrayOp::Ruled { at, .. } => {
                let capture = active_capture(s, &|a| self.is_active(a));
                if capture.is_some() || at.iter().any(|a| self.is_active(*a)) {
                    for r in &s.results {
                        self.insert(*r, &floats(types, *r));
                    }
                }
                if let (None, Some(read)) = (&self.captured, capture) {
                    self.captured = Some((s.loc.clone(), read));
                }
            }
            ArrayOp::Derivative { at, along, f, .. } => {
                // Each result may depend on all of the point, and on all that the function reads.
                let reads = crate::ir::free_arrays(f);
                if at.iter().chain(along).chain(&reads).any(|a| self.is_active(*a)) {
                    for r in &s.results {
                        self.insert(*r, &floats(types, *r));
                    }
                }
            }
            // Without blocks: what its operands and functions say.
            _ => {
                let Some(&result) = s.results.first() else { return };
                let leaves = self.yielded(types, s, result);
                self.insert(result, &leaves);
            }
        }
    }

    /// Which leaves of the one result of an operation without blocks are active.
    fn yielded(&mut self, types: &[ArrayType], s: &Stmt, result: ArrayId) -> Vec<bool> {
        let element_wise = matches!(s.op, ArrayOp::Generate { .. } | ArrayOp::Map { .. } | ArrayOp::Stencil { .. });
        let moved = match &s.op {
            ArrayOp::Backpermute { xs, .. }
            | ArrayOp::Reshape { xs, .. }
            | ArrayOp::Replicate { xs, .. }
            | ArrayOp::Slice { xs, .. }
            | ArrayOp::Compute { xs, .. }
            | ArrayOp::Check { xs, .. } => Some(*xs),
            _ => None,
        };
        let mut leaves = floats(types, result);
        // Whether all floats are; otherwise those that the function yields.
        let mut all = !element_wise && moved.is_none() && s.op.arrays().iter().any(|a| self.is_active(*a));
        let mut own = vec![false; leaves.len()];
        for (key, f) in s.op.funs() {
            if matches!(key, "shape" | "extents" | "index" | "target" | "ok") {
                continue;
            }
            let active = self.active_params(types, s, key, f);
            let values = active_values(f, &active, &|a, leaf| self.is_leaf_active(*a, leaf));
            let yields = f.body.results.iter().map(|v| values.active[v.index()]);
            if element_wise && key == "f" {
                own = yields.collect();
            } else {
                all |= yields.into_iter().any(|active| active);
            }
            if let (None, Some(loc)) = (&self.captured, values.captured) {
                self.captured = Some((loc.clone(), loc));
            }
            if let (None, Some(loc)) = (&self.blocked, values.blocked) {
                self.blocked = Some((loc.0, if loc.1.is_known() { loc.1 } else { s.loc.clone() }));
            }
        }
        if let Some(xs) = moved {
            own = (0..leaves.len()).map(|leaf| self.is_leaf_active(xs, leaf as u32)).collect();
        }
        leaves.iter_mut().zip(own).for_each(|(leaf, own)| *leaf &= all || own);
        leaves
    }

    /// Which parameters of a statement's function are active: floats of elements of an active operand.
    pub fn active_params(&self, types: &[ArrayType], s: &Stmt, key: &str, f: &Fun) -> Vec<bool> {
        let mut params = Vec::with_capacity(f.body.params.len());
        let mut elements = |a: ArrayId, count: usize| {
            for _ in 0..count {
                params.extend((0..types[a.index()].elt.leaf_count()).map(|leaf| self.is_leaf_active(a, leaf as u32)));
            }
        };
        match (&s.op, key) {
            (ArrayOp::Map { xs, .. }, _) => xs.iter().for_each(|x| elements(*x, 1)),
            (ArrayOp::Stencil { inputs, .. }, "f") => inputs.iter().for_each(|i| elements(i.xs, i.neighbours())),
            (op, "f" | "combine") => op.arrays().iter().take(1).for_each(|x| elements(*x, 2)),
            // Functions of indices.
            _ => {}
        }
        // Indices stand first.
        let indices = f.body.params.len().saturating_sub(params.len());
        let all = std::iter::repeat_n(false, indices).chain(params);
        all.zip(f.param_types()).map(|(active, t)| active && t.is_float()).collect()
    }
}

/// Which values of a scalar function are active.
pub struct ActiveValues {
    /// By [`Val::index`].
    pub active: Vec<bool>,
    /// The first operation of an active operand through which no derivative goes.
    pub blocked: Option<(&'static str, Loc)>,
    /// The first function with partial derivatives of its own that uses what is active and none of its arguments.
    pub captured: Option<Loc>,
}

/// Which values of a scalar function are active, of the parameters and arrays that are.
pub fn active_values<D: Programs>(f: &Fun<D>, params: &[bool], array: &dyn Fn(&D::Array, u32) -> bool) -> ActiveValues {
    active_in_region(f, params, &|_| false, array)
}

/// The same for a function whose body may use values of code around it.
pub fn active_in_region<D: Programs>(
    f: &Fun<D>,
    params: &[bool],
    around: &dyn Fn(Val) -> bool,
    array: &dyn Fn(&D::Array, u32) -> bool,
) -> ActiveValues {
    let active = (0..f.types.len()).map(|k| around(Val(k as u32))).collect();
    let mut found = Scalars { f, array, values: ActiveValues { active, blocked: None, captured: None } };
    for (p, active) in f.body.params.iter().zip(params) {
        found.values.active[p.index()] = *active;
    }
    found.region(&f.body);
    found.values
}

struct Scalars<'a, D: Programs> {
    f: &'a Fun<D>,
    array: &'a dyn Fn(&D::Array, u32) -> bool,
    values: ActiveValues,
}

impl<D: Programs> Scalars<'_, D> {
    fn is(&self, v: Val) -> bool {
        self.values.active[v.index()]
    }

    /// Makes `to` active where `from` is; whether that is new.
    fn pass_on(&mut self, from: &[Val], to: &[Val]) -> bool {
        let mut new = false;
        for (from, to) in from.iter().zip(to) {
            if self.is(*from) && !self.is(*to) {
                self.values.active[to.index()] = true;
                new = true;
            }
        }
        new
    }

    fn region(&mut self, r: &Region<D>) {
        crate::grow_stack(|| r.nodes.iter().for_each(|n| self.node(n)));
    }

    fn node(&mut self, n: &crate::ir::Node<D>) {
        match &n.op {
            ScalarOp::Const(_) | ScalarOp::Extent { .. } => {}
            ScalarOp::Prim(op, args) => {
                let any = args.iter().any(|v| self.is(*v));
                // A comparison is on no path of numbers.
                let number = n.results.iter().all(|v| self.f.ty(*v).is_float());
                self.result(n, any && has_partials(*op), any && number, op.name());
            }
            ScalarOp::Cast(x) => {
                let (any, to_float) = (self.is(*x), n.results.iter().all(|v| self.f.ty(*v).is_float()));
                self.result(n, any && to_float, any, "cast");
            }
            ScalarOp::Bitcast(x) => self.result(n, false, self.is(*x), "bitcast"),
            ScalarOp::Select { then, else_, .. } => self.result(n, self.is(*then) || self.is(*else_), false, "select"),
            ScalarOp::If { then, else_, .. } => {
                for r in [then, else_] {
                    self.region(r);
                    self.pass_on(&r.results, &n.results);
                }
            }
            ScalarOp::While { init, test, step } => {
                self.pass_on(init, &step.params);
                loop {
                    self.region(step);
                    if !self.pass_on(&step.results, &step.params) {
                        break;
                    }
                }
                self.pass_on(&step.params, &test.params);
                self.pass_on(&step.params, &n.results);
                self.region(test);
            }
            ScalarOp::Own(Foreign { args, fallback, partials: Some(partials), .. }) => {
                let any = args.iter().any(|v| self.is(*v));
                let captured = [fallback, partials].into_iter().any(|r| self.uses_active(r));
                if captured && self.values.captured.is_none() {
                    self.values.captured = Some(n.loc.clone());
                }
                for v in &n.results {
                    self.values.active[v.index()] = (any || captured) && self.f.ty(*v).is_float();
                }
            }
            ScalarOp::Own(Foreign { args, fallback, .. }) => {
                self.pass_on(args, &fallback.params);
                self.region(fallback);
                self.pass_on(&fallback.results, &n.results);
            }
            ScalarOp::Index(Read { array, leaves, .. }) => {
                for (v, leaf) in n.results.iter().zip(leaves) {
                    self.values.active[v.index()] = (self.array)(array, *leaf) && self.f.ty(*v).is_float();
                }
            }
        }
    }

    /// Whether a region uses active values or arrays from around it.
    fn uses_active(&self, r: &Region<D>) -> bool {
        let mut any = used_from_around(r).into_iter().any(|v| self.is(v));
        r.visit(0, &mut |n, _| {
            if let ScalarOp::Index(Read { array, leaves, .. }) = &n.op {
                any |= leaves.iter().any(|leaf| (self.array)(array, *leaf));
            }
        });
        any
    }

    fn result(&mut self, n: &crate::ir::Node<D>, active: bool, operand: bool, name: &'static str) {
        for v in &n.results {
            self.values.active[v.index()] = active;
        }
        if operand && !active && self.values.blocked.is_none() {
            self.values.blocked = Some((name, n.loc.clone()));
        }
    }
}

/// Which leaves of an array are floats.
fn floats(types: &[ArrayType], a: ArrayId) -> Vec<bool> {
    types[a.index()].elt.leaves().iter().map(|ty| ty.is_float()).collect()
}

/// Whether an operation on floats has a partial derivative other than 0.
pub fn has_partials(op: PrimOp) -> bool {
    use PrimOp as P;
    match op {
        P::AddP | P::SubP | P::MulP | P::DivP | P::FmodP | P::MinP | P::MaxP | P::PowP | P::Atan2P => true,
        P::NegP | P::AbsP | P::SqrtP | P::ExpP | P::LnP | P::Log2P | P::Log10P => true,
        P::SinP | P::CosP | P::TanP | P::AsinP | P::AcosP | P::AtanP => true,
        P::SinhP | P::CoshP | P::TanhP | P::AsinhP | P::AcoshP | P::AtanhP => true,
        P::QuotP | P::RemP | P::DivFloorP | P::ModFloorP | P::AndP | P::OrP | P::XorP | P::ShlP | P::ShrP => false,
        P::EqP | P::NeP | P::LtP | P::LeP | P::GtP | P::GeP | P::SignumP | P::NotP => false,
        P::PopCountP | P::LeadingZerosP | P::TrailingZerosP => false,
        P::FloorP | P::CeilP | P::RoundP | P::TruncP | P::IsNanP | P::IsInfiniteP => false,
    }
}
