//! Rules V1, V2 and V4 to V10 for blocks and array statements.

use super::{Checked as Result, Code, Failure, MAX_NESTED_DERIVATIVES, MAX_RANK, MAX_WINDOW, Params, Site, scalar};
use crate::ad;
use crate::data::ScalarType::{self, Bool, I64, U8};
use crate::ir::{
    ArrayId, ArrayOp, ArrayType, Axis, Block, Boundary, ForeignFun, Fun, Loc, Mode, Program, Schedule, Stmt,
};
use crate::limits::RunLimits;

pub(super) fn program(p: &Program, limits: &RunLimits) -> Result {
    let site = Site { op: "program", loc: Loc::unknown(), names: p.names.clone() };
    let n = p.types.len();
    let mut scope = Scope { program: p, visible: vec![false; n], defined: vec![false; n], derivatives: 0, limits };
    for t in &p.types {
        site.check(t.rank <= MAX_RANK, "V8", || format!("rank {} is above {MAX_RANK}", t.rank))?;
    }
    scope.block(&p.body, &site).map(|_| ())
}

struct Scope<'a> {
    program: &'a Program,
    visible: Vec<bool>,
    defined: Vec<bool>,
    /// How many derivatives the block is in.
    derivatives: usize,
    limits: &'a RunLimits,
}

impl<'a> Scope<'a> {
    fn ty(&self, a: ArrayId, site: &Site) -> Result<&'a ArrayType> {
        match self.visible.get(a.index()) {
            Some(true) => Ok(&self.program.types[a.index()]),
            Some(false) => {
                site.fail("V1", format!("{} is used before it is defined, or outside its block", site.array(a)))
            }
            None => site.fail("V1", format!("{a} is not in the type table")),
        }
    }

    fn define(&mut self, a: ArrayId, site: &Site) -> Result {
        match self.defined.get(a.index()) {
            None => return site.fail("V1", format!("{a} is not in the type table")),
            Some(true) => return site.fail("V1", format!("{} is defined twice", site.array(a))),
            Some(false) => {}
        }
        self.defined[a.index()] = true;
        self.visible[a.index()] = true;
        Ok(())
    }

    fn block(&mut self, b: &Block, site: &Site) -> Result<Vec<ArrayType>> {
        for &p in &b.params {
            self.define(p, site)?;
        }
        for s in &b.stmts {
            self.limits.check().map_err(Failure::Stopped)?;
            let site = Site { op: s.operation(), loc: s.loc.clone(), names: self.program.names.clone() };
            let want = crate::grow_stack(|| self.stmt(s, &site))?;
            for &r in &s.results {
                self.define(r, &site)?;
            }
            let got = s.results.iter().map(|&r| self.ty(r, &site)).collect::<Result<Vec<_>>>()?;
            site.check(got.len() == want.len() && got.iter().zip(&want).all(|(g, w)| *g == w), "V4", || {
                format!("it is defined as {got:?}, but the operation yields {want:?}")
            })?;
        }
        let types = b.results.iter().map(|&r| self.ty(r, site).cloned()).collect::<Result<Vec<_>>>()?;
        if !std::ptr::eq(b, &self.program.body) {
            for &a in b.params.iter().chain(b.stmts.iter().flat_map(|s| &s.results)) {
                self.visible[a.index()] = false;
            }
        }
        Ok(types)
    }

    fn fun(&self, f: &Fun, params: &[ScalarType], what: &str, site: &Site) -> Result<Vec<ScalarType>> {
        let visible = |a: ArrayId| match self.visible.get(a.index()) {
            Some(true) => Some(&self.program.types[a.index()]),
            _ => None,
        };
        let code = Code { types: &f.types, literals: &[], region: &f.body };
        let params = Params { rule: "V2", of: what, types: params };
        scalar::code(code, params, &scalar::Arrays(&visible), site, self.limits)
    }

    /// A closed function that yields integers; returns how many.
    fn extents(&self, f: &Fun, what: &str, site: &Site) -> Result<usize> {
        let got = self.fun(f, &[], what, site)?;
        site.check(got.iter().all(|&t| t == I64), "V6", || format!("`{what}` yields {got:?}, not integers"))?;
        Ok(got.len())
    }

    /// A combining function of two elements.
    fn operator(&self, f: &Fun, leaves: &[ScalarType], what: &str, site: &Site) -> Result {
        let got = self.fun(f, &[leaves, leaves].concat(), what, site)?;
        site.types("V2", &format!("the result of `{what}`"), &got, leaves)
    }

    /// The element type of a result is not determined by scalar leaves alone: any with the right leaves will do.
    fn elt_of(&self, s: &Stmt, leaves: &[ScalarType], site: &Site) -> Result<crate::data::EltType> {
        let [r] = s.results[..] else {
            return site.fail("V4", format!("the operation defines {} arrays, not one", s.results.len()));
        };
        let Some(ty) = self.program.types.get(r.index()) else {
            return site.fail("V1", format!("{r} is not in the type table"));
        };
        site.types("V4", "the element", leaves, &ty.elt.leaves())?;
        Ok(ty.elt.clone())
    }

    fn one_dim(&self, xs: ArrayId, site: &Site) -> Result<&'a ArrayType> {
        let t = self.ty(xs, site)?;
        site.check(t.rank >= 1, "V4", || "the array has rank 0, and no innermost dimension".into())?;
        Ok(t)
    }

    fn stmt(&mut self, s: &Stmt, site: &Site) -> Result<Vec<ArrayType>> {
        let one = |rank, elt| Ok(vec![ArrayType { rank, elt }]);
        match &s.op {
            ArrayOp::Generate { shape, f } => {
                let rank = self.extents(shape, "shape", site)?;
                let got = self.fun(f, &vec![I64; rank], "f", site)?;
                one(rank, self.elt_of(s, &got, site)?)
            }
            ArrayOp::Map { f, xs, indexed } => {
                let types = xs.iter().map(|&x| self.ty(x, site)).collect::<Result<Vec<_>>>()?;
                let Some(first) = types.first() else { return site.fail("V4", "a map over no array") };
                site.check(types.iter().all(|t| t.rank == first.rank), "V4", || "the ranks differ".into())?;
                let mut params = vec![I64; if *indexed { first.rank } else { 0 }];
                params.extend(types.iter().flat_map(|t| t.elt.leaves()));
                let got = self.fun(f, &params, "f", site)?;
                one(first.rank, self.elt_of(s, &got, site)?)
            }
            ArrayOp::Fold { f, init, xs } => {
                let t = self.one_dim(*xs, site)?;
                self.fold_funs(f, init.as_ref(), t, site)?;
                one(t.rank - 1, t.elt.clone())
            }
            ArrayOp::FoldSeg { f, init, xs, offsets } => {
                let (t, o) = (self.one_dim(*xs, site)?, self.ty(*offsets, site)?);
                site.check(*o == ArrayType { rank: 1, elt: I64.into() }, "V4", || format!("offsets are {o}"))?;
                self.fold_funs(f, init.as_ref(), t, site)?;
                one(t.rank, t.elt.clone())
            }
            ArrayOp::Scan { f, init, xs, dir: _ } => {
                let t = self.one_dim(*xs, site)?;
                self.fold_funs(f, init.as_ref(), t, site)?;
                one(t.rank, t.elt.clone())
            }
            ArrayOp::Permute { combine, defaults, target, xs } => {
                let (to, from) = (self.ty(*defaults, site)?, self.ty(*xs, site)?);
                site.check(to.elt == from.elt, "V4", || format!("elements of {} into {}", from.elt, to.elt))?;
                self.operator(combine, &to.elt.leaves(), "combine", site)?;
                let got = self.fun(target, &vec![I64; from.rank], "target", site)?;
                let mut want = vec![U8];
                want.extend(vec![I64; to.rank]);
                site.types("V6", "the result of `target`", &got, &want)?;
                one(to.rank, to.elt.clone())
            }
            ArrayOp::Backpermute { shape, index, xs } => {
                let rank = self.extents(shape, "shape", site)?;
                let t = self.ty(*xs, site)?;
                let got = self.fun(index, &vec![I64; rank], "index", site)?;
                site.types("V6", "the result of `index`", &got, &vec![I64; t.rank])?;
                one(rank, t.elt.clone())
            }
            ArrayOp::Stencil { f, inputs } => {
                let Some(first) = inputs.first() else { return site.fail("V4", "a stencil over no array") };
                let rank = self.ty(first.xs, site)?.rank;
                let mut params = Vec::new();
                for input in inputs {
                    let t = self.ty(input.xs, site)?;
                    site.check(t.rank == rank, "V4", || "the ranks differ".into())?;
                    let window = &input.window;
                    site.check(window.len() == rank, "V7", || {
                        format!("a window of extents {window:?} over an array of rank {rank}")
                    })?;
                    site.check(window.iter().all(|w| w % 2 == 1), "V7", || {
                        format!("a window of extents {window:?}, which are not all odd")
                    })?;
                    let leaves = t.elt.leaves();
                    // A list of so many parameters would fill the memory.
                    let scalars = window.iter().fold(leaves.len().max(1), |n, &w| n.saturating_mul(w));
                    site.check(scalars <= MAX_WINDOW, "V7", || {
                        format!("a window of extents {window:?} holds more than {MAX_WINDOW} scalars")
                    })?;
                    if let Boundary::Function(b) = &input.boundary {
                        let got = self.fun(b, &vec![I64; rank], "boundary", site)?;
                        site.types("V2", "the result of `boundary`", &got, &leaves)?;
                    }
                    params.extend(leaves.repeat(input.neighbours()));
                }
                let got = self.fun(f, &params, "f", site)?;
                one(rank, self.elt_of(s, &got, site)?)
            }
            ArrayOp::Argsort { xs } => one(self.one_dim(*xs, site)?.rank, I64.into()),
            ArrayOp::Check { ok, message, xs } => {
                let got = self.fun(ok, &[], "ok", site)?;
                let numbers = vec![I64; got.len().saturating_sub(1)];
                site.types("V2", "the result of `ok`", &got, &[&[Bool], &numbers[..]].concat())?;
                let places = message.matches("{}").count();
                site.check(places == numbers.len(), "V2", || {
                    format!("the message has {places} `{{}}`, but `ok` yields {} numbers for them", numbers.len())
                })?;
                let t = self.ty(*xs, site)?;
                one(t.rank, t.elt.clone())
            }
            ArrayOp::Reshape { shape, xs } => {
                let rank = self.extents(shape, "shape", site)?;
                one(rank, self.ty(*xs, site)?.elt.clone())
            }
            ArrayOp::Replicate { axes, extents, xs } => {
                let t = self.ty(*xs, site)?;
                self.slice_spec(axes, t.rank, self.extents(extents, "extents", site)?, site)?;
                one(axes.len(), t.elt.clone())
            }
            ArrayOp::Slice { axes, index, xs } => {
                let t = self.ty(*xs, site)?;
                let all = axes.iter().filter(|a| **a == Axis::All).count();
                site.check(axes.len() == t.rank, "V7", || format!("{} axes for rank {}", axes.len(), t.rank))?;
                self.slice_spec(axes, all, self.extents(index, "index", site)?, site)?;
                one(all, t.elt.clone())
            }
            ArrayOp::Compute { xs, schedule } => {
                let t = self.ty(*xs, site)?;
                let axes = schedule.as_ref().map_or(t.rank, Schedule::axes);
                site.check(axes <= MAX_RANK, "V7", || format!("a schedule of {axes} axes, of at most {MAX_RANK}"))?;
                let fits = schedule.as_ref().map_or(Ok(()), |schedule| schedule.check_rank(t.rank));
                fits.or_else(|why| site.fail("V7", format!("a schedule of it cannot be: {why}")))?;
                one(t.rank, t.elt.clone())
            }
            ArrayOp::Foreign { function, xs, fallback } => {
                let args = xs.iter().map(|&a| self.ty(a, site).cloned()).collect::<Result<Vec<_>>>()?;
                let got = self.block(fallback, site)?;
                let params = fallback.params.iter().map(|&a| self.program.types[a.index()].clone()).collect::<Vec<_>>();
                site.check(params == args, "V5", || format!("a function of {args:?} falls back on one of {params:?}"))?;
                if let ForeignFun::Trace(_) = function {
                    let passed = args.len().checked_sub(got.len()).map(|k| &fallback.params[k..]);
                    site.check(passed == Some(&fallback.results[..]), "V4", || {
                        let all =
                            |arrays: &[ArrayId]| arrays.iter().map(|&a| site.array(a)).collect::<Vec<_>>().join(", ");
                        format!(
                            "a trace yields [{}], not the last of [{}]",
                            all(&fallback.results),
                            all(&fallback.params)
                        )
                    })?;
                }
                Ok(got)
            }
            ArrayOp::If { cond, then, else_ } => {
                let got = self.fun(cond, &[], "cond", site)?;
                site.types("V5", "the condition", &got, &[Bool])?;
                let mut types = Vec::new();
                for b in [then, else_] {
                    site.check(b.params.is_empty(), "V5", || "a branch has parameters".into())?;
                    types.push(self.block(b, site)?);
                }
                let else_types = types.pop().unwrap_or_default();
                site.check(types.first() == Some(&else_types), "V5", || {
                    let then_types = types.first().cloned().unwrap_or_default();
                    format!("the branches yield {then_types:?} and {else_types:?}")
                })?;
                Ok(types.pop().unwrap_or_default())
            }
            ArrayOp::While { init, test, step } => {
                let state = init.iter().map(|&a| self.ty(a, site).cloned()).collect::<Result<Vec<_>>>()?;
                let bool_scalar = ArrayType { rank: 0, elt: Bool.into() };
                for (b, want) in [(test, std::slice::from_ref(&bool_scalar)), (step, &state[..])] {
                    let got = self.block(b, site)?;
                    let params = b.params.iter().map(|&a| self.program.types[a.index()].clone()).collect::<Vec<_>>();
                    site.check(params == state, "V5", || format!("a loop of {state:?} takes {params:?}"))?;
                    site.check(got == want, "V5", || {
                        format!("a loop's block yields {got:?} where {want:?} is wanted")
                    })?;
                }
                Ok(state)
            }
            ArrayOp::Derivative { mode, at, along, f } => self.derivative(*mode, at, along, f, site),
            ArrayOp::Ruled { at, residuals, f, jvp, vjp } => {
                self.ruled(at, *residuals, f, [jvp.as_ref(), vjp.as_ref()], site)
            }
        }
    }

    /// Rule V9.
    fn derivative(
        &mut self,
        mode: Mode,
        at: &[ArrayId],
        along: &[ArrayId],
        f: &Block,
        site: &Site,
    ) -> Result<Vec<ArrayType>> {
        self.derivatives += 1;
        site.check(self.derivatives <= MAX_NESTED_DERIVATIVES, "V9", || {
            format!("more than {MAX_NESTED_DERIVATIVES} derivatives inside one another")
        })?;
        let all =
            |s: &Self, arrays: &[ArrayId]| arrays.iter().map(|&a| s.ty(a, site).cloned()).collect::<Result<Vec<_>>>();
        let (point, along) = (all(self, at)?, all(self, along)?);
        let results = self.block(f, site)?;
        self.derivatives -= 1;
        let params = self.params(f);
        site.check(params == point, "V9", || format!("a function of {params:?} is differentiated at {point:?}"))?;
        let (given, yielded) = match mode {
            Mode::Forward => (tangents(&point), tangents(&results)),
            Mode::Reverse => (tangents(&results), tangents(&point)),
        };
        site.check(along == given, "V9", || format!("{along:?} are given where {given:?} are wanted"))?;
        Ok([results, yielded].concat())
    }

    /// The types of a block's parameters.
    fn params(&self, b: &Block) -> Vec<ArrayType> {
        b.params.iter().map(|&a| self.program.types[a.index()].clone()).collect()
    }

    /// Rule V10.
    fn ruled(
        &mut self,
        at: &[ArrayId],
        residuals: usize,
        f: &Block,
        [jvp, vjp]: [Option<&Block>; 2],
        site: &Site,
    ) -> Result<Vec<ArrayType>> {
        let args = at.iter().map(|&a| self.ty(a, site).cloned()).collect::<Result<Vec<_>>>()?;
        let results = self.block(f, site)?;
        let params = self.params(f);
        site.check(params == args, "V10", || format!("a function of {params:?} is given {args:?}"))?;
        let Some((visible, hidden)) = results.len().checked_sub(residuals).map(|n| results.split_at(n)) else {
            return site.fail("V10", format!("{residuals} residuals of {} results", results.len()));
        };
        for (name, rule, given, linear, yielded) in [
            ("jvp", jvp, [&args[..], hidden].concat(), tangents(&args), tangents(visible)),
            ("vjp", vjp, hidden.to_vec(), tangents(visible), tangents(&args)),
        ] {
            let Some(rule) = rule else { continue };
            let got = self.block(rule, site)?;
            let (params, want) = (self.params(rule), [&given[..], &linear].concat());
            site.check(params == want, "V10", || format!("the rule `{name}` takes {params:?}, not {want:?}"))?;
            site.check(got == yielded, "V10", || format!("the rule `{name}` yields {got:?}, not {yielded:?}"))?;
            // One that stands alone is transposed for the other mode.
            if (jvp.is_none() || vjp.is_none())
                && let Some((op, loc)) = ad::nonlinear(&self.program.types, rule, given.len())
            {
                return site.fail("V10", format!("the rule `{name}` is not linear: `{op}` at {loc}"));
            }
        }
        Ok(results)
    }

    fn fold_funs(&self, f: &Fun, init: Option<&Fun>, t: &ArrayType, site: &Site) -> Result {
        let leaves = t.elt.leaves();
        self.operator(f, &leaves, "f", site)?;
        if let Some(init) = init {
            let got = self.fun(init, &[], "init", site)?;
            site.types("V2", "the result of `init`", &got, &leaves)?;
        }
        Ok(())
    }

    /// `all` axes are kept, `fixed` positions or extents are given.
    fn slice_spec(&self, axes: &[Axis], all: usize, fixed: usize, site: &Site) -> Result {
        let kept = axes.iter().filter(|a| **a == Axis::All).count();
        site.check(kept == all && axes.len() - kept == fixed, "V7", || {
            format!("{axes:?} for an array of rank {all} with {fixed} fixed axes")
        })
    }
}

/// The types of the tangents of those that have some.
fn tangents(types: &[ArrayType]) -> Vec<ArrayType> {
    types.iter().filter_map(ArrayType::tangent).collect()
}
