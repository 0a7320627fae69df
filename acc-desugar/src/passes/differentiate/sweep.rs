//! Adjoints of scalar functions: a function is evaluated, and then gone through from its results to its parameters.
//!
//! The nodes are evaluated in the same code, so that what an adjoint needs of them is at hand. An adjoint that came through
//! a choice carries the condition under which it is *alive*: elsewhere it is the zero of a branch not taken, which multiplies
//! nothing, in derivatives of the derivative neither. Reads of active arrays are
//! handed out as [`Site`]s; those of branches with whether the branch was taken.

use super::indices::{Form, Indices};
use super::inline::inlined;
use acc_core::ad::{
    self, ActiveValues, Arithmetic, Code, Dual, NoArrays, Partial, Tangent, active_values, defined, sure,
    used_from_around,
};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Foreign, Fun, Loc, Node, PrimOp, Read, Region, ScalarOp, Val};
use acc_core::{Error, grow_stack};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// An adjoint.
#[derive(Clone, Copy)]
struct Adjoint {
    value: Val,
    /// The condition under which it is more than the zero of a branch not taken; always, if there is none.
    alive: Option<Val>,
}

/// The adjoints of values.
type Adjoints = HashMap<Val, Adjoint>;

/// A read of an active array, and the adjoints of the leaves read.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) array: ArrayId,
    pub(super) index: Vec<Val>,
    /// How the index along each axis follows the point's coordinates, where it does.
    pub(super) forms: Vec<Option<Form>>,
    /// Whether the read takes place, where that is a question.
    pub(super) guard: Option<Val>,
    /// The leaves with their adjoints.
    pub(super) leaves: Vec<(u32, Val)>,
    pub(super) loc: Loc,
}

/// What came of a sweep.
#[derive(Clone)]
pub(super) struct Swept {
    pub(super) code: Code,
    /// The adjoints of its parameters, by position.
    adjoints: Vec<Option<Val>>,
    pub(super) sites: Vec<Site>,
}

impl Site {
    /// How the index follows the point's coordinates, if it does along all axes.
    pub(super) fn whole_forms(&self) -> Option<Vec<Form>> {
        self.forms.iter().cloned().collect()
    }
}

impl Swept {
    /// Whether a parameter has an adjoint.
    pub(super) fn has_adjoint(&self, position: usize) -> bool {
        self.adjoints.get(position).is_some_and(Option::is_some)
    }

    /// The adjoint of a parameter, 0 if it has none.
    pub(super) fn adjoint(&mut self, position: usize, ty: ScalarType) -> Val {
        match self.adjoints.get(position).copied().flatten() {
            Some(v) => v,
            None => self.code.literal(acc_core::data::Lit::zero(ty)),
        }
    }
}

/// Goes through a function of these arguments, the values of `code`, at a point with these coordinates: `active` says which of them have adjoints, `arrays` which
/// leaves of arrays do, and `by` gives the adjoints of its results, of those that have some.
pub(super) fn sweep(
    mut code: Code,
    f: &Fun,
    args: &[Val],
    point: &[Val],
    active: &[bool],
    arrays: &dyn Fn(ArrayId, u32) -> bool,
    by: &dyn Fn(&mut Code, usize) -> Option<Val>,
) -> Result<Swept, Error> {
    // The function, with its parameters' values in `code`.
    let f = without_fallbacks(f);
    let values = active_values(&f, active, &|a, leaf| arrays(*a, leaf));
    let mut names: HashMap<Val, Val> = f.body.params.iter().copied().zip(args.iter().copied()).collect();
    for (k, ty) in f.types.iter().enumerate() {
        names.entry(Val(k as u32)).or_insert_with(|| code.fresh(*ty));
    }
    let name = |v: Val| names.get(&v).copied().unwrap_or(v);
    let body = f.body.map(&mut |a| *a, &mut |v| name(v));
    let mut active_vals: HashSet<Val> = HashSet::new();
    let ActiveValues { active: by_value, .. } = values;
    active_vals.extend((0..f.types.len()).filter(|k| by_value[*k]).map(|k| name(Val(k as u32))));
    for n in &body.nodes {
        code.push(n.clone());
    }
    let mut indices = Indices::new(point);
    indices.note(&body);
    let mut s = Sweep { code, active: active_vals, arrays, indices, sites: Vec::new() };
    let mut adjoints = Adjoints::new();
    for (k, v) in body.results.iter().enumerate() {
        if s.active.contains(v)
            && let Some(value) = by(&mut s.code, k)
        {
            s.add(&mut adjoints, *v, Adjoint { value, alive: None });
        }
    }
    s.back(&body.nodes, &mut adjoints)?;
    // An argument that several parameters have has one adjoint, the sum of theirs: the first of them yields it.
    let mut yielded = HashSet::new();
    let found = f.body.params.iter().zip(active).map(|(p, active)| {
        let v = name(*p);
        adjoints.get(&v).filter(|_| *active && yielded.insert(v)).map(|a| a.value)
    });
    let found = found.collect();
    Ok(Swept { adjoints: found, sites: s.sites, code: s.code })
}

struct Sweep<'a> {
    code: Code,
    active: HashSet<Val>,
    arrays: &'a dyn Fn(ArrayId, u32) -> bool,
    indices: Indices,
    sites: Vec<Site>,
}

impl Sweep<'_> {
    /// Whether what is read has an adjoint.
    fn is_active(&self, r: &Read) -> bool {
        r.leaves.iter().any(|leaf| (self.arrays)(r.array, *leaf))
    }

    fn add(&mut self, adjoints: &mut Adjoints, v: Val, a: Adjoint) {
        let sum = match adjoints.get(&v) {
            None => a,
            Some(old) => {
                let value = self.code.two(PrimOp::AddP, old.value, a.value);
                let alive = match (old.alive, a.alive) {
                    (Some(a), Some(b)) if a == b => Some(a),
                    (Some(a), Some(b)) => Some(self.code.two(PrimOp::OrP, a, b)),
                    _ => None,
                };
                Adjoint { value, alive }
            }
        };
        adjoints.insert(v, sum);
    }

    /// When what has the adjoint `by` is alive under a condition.
    fn under(&mut self, by: Adjoint, cond: Val) -> Option<Val> {
        Some(match by.alive {
            Some(alive) => self.code.two(PrimOp::AndP, alive, cond),
            None => cond,
        })
    }

    /// An adjoint times a partial derivative, if it has one: 0 where the adjoint is not alive.
    fn scaled(&mut self, p: Partial<Val>, by: Adjoint) -> Option<Val> {
        let kept = match &p {
            Partial::Times(v) | Partial::Over(v) => Arithmetic::is_ordinary(&self.code, v),
            Partial::TimesSteep(_) => false,
            _ => true,
        };
        let value = sure(ad::scaled(&mut self.code, p, &by.value, false))?;
        Some(match by.alive.filter(|_| !kept) {
            Some(alive) => {
                let zero = self.code.zero_like(value);
                self.code.choose(alive, value, zero)
            }
            None => value,
        })
    }

    /// From the last node to the first.
    fn back(&mut self, nodes: &[Node], adjoints: &mut Adjoints) -> Result<(), Error> {
        for n in nodes.iter().rev() {
            if n.results.iter().any(|v| adjoints.contains_key(v)) {
                self.code.loc = n.loc.clone();
                grow_stack(|| self.node(n, adjoints))?;
            }
        }
        Ok(())
    }

    fn node(&mut self, n: &Node, adjoints: &mut Adjoints) -> Result<(), Error> {
        let first = n.results.first().and_then(|v| adjoints.get(v).copied());
        match (&n.op, first) {
            (ScalarOp::Prim(op, args), Some(by)) => {
                let y = n.results[0];
                for which in 0..args.len() {
                    if !self.active.contains(&args[which]) {
                        continue;
                    }
                    let p = sure(ad::partial(&mut self.code, *op, args, &y, which));
                    let alive = match p {
                        Partial::Where(cond) => self.under(by, cond),
                        Partial::WhereNot(cond) => {
                            let not = self.code.op(PrimOp::NotP, &[cond]);
                            self.under(by, not)
                        }
                        _ => by.alive,
                    };
                    if let Some(value) = self.scaled(p, by) {
                        self.add(adjoints, args[which], Adjoint { value, alive });
                    }
                }
            }
            (ScalarOp::Cast(x), Some(by)) if self.active.contains(x) => {
                let ty = self.code.ty(*x);
                let value = self.code.cast(by.value, ty);
                self.add(adjoints, *x, Adjoint { value, ..by });
            }
            (ScalarOp::Select { cond, then, else_ }, Some(by)) => {
                let zero = self.code.zero_like(by.value);
                if self.active.contains(then) {
                    let value = self.code.choose(*cond, by.value, zero);
                    let alive = self.under(by, *cond);
                    self.add(adjoints, *then, Adjoint { value, alive });
                }
                if self.active.contains(else_) {
                    let value = self.code.choose(*cond, zero, by.value);
                    let not = self.code.op(PrimOp::NotP, &[*cond]);
                    let alive = self.under(by, not);
                    self.add(adjoints, *else_, Adjoint { value, alive });
                }
            }
            (ScalarOp::Own(Foreign { args, partials: Some(partials), .. }), _) => {
                self.partials(n, args, partials, adjoints)
            }
            (ScalarOp::If { cond, then, else_ }, _) => self.branch(n, *cond, then, else_, adjoints)?,
            (ScalarOp::While { .. }, _) => self.looped(n, adjoints)?,
            (ScalarOp::Index(r @ Read { array, leaves, index, .. }), _) if self.is_active(r) => {
                let leaves = n.results.iter().zip(leaves);
                let leaves = leaves.filter_map(|(v, leaf)| Some((*leaf, adjoints.get(v)?.value)));
                self.sites.push(Site {
                    array: *array,
                    index: index.to_vec(),
                    forms: self.indices.forms(index),
                    guard: None,
                    leaves: leaves.collect(),
                    loc: n.loc.clone(),
                });
            }
            // Other foreign functions are their fallbacks here; the others depend on nothing that is active.
            (
                ScalarOp::Const(_)
                | ScalarOp::Prim(..)
                | ScalarOp::Cast(_)
                | ScalarOp::Bitcast(_)
                | ScalarOp::Select { .. }
                | ScalarOp::Own(_)
                | ScalarOp::Index(_)
                | ScalarOp::Extent { .. },
                _,
            ) => {}
        }
        Ok(())
    }

    /// A function with partial derivatives of its own.
    fn partials(&mut self, n: &Node, args: &[Val], partials: &Region, adjoints: &mut Adjoints) {
        let known: Vec<Val> = args.iter().chain(&n.results).copied().collect();
        let mut slopes = self.code.placed(partials, &known).into_iter();
        for y in n.results.iter().filter(|v| self.code.ty(**v).is_float()).copied().collect::<Vec<_>>() {
            let by = adjoints.get(&y).copied();
            for x in args.iter().filter(|v| self.code.ty(**v).is_float()).copied().collect::<Vec<_>>() {
                let (Some(slope), Some(by)) = (slopes.next(), by.filter(|_| self.active.contains(&x))) else {
                    continue;
                };
                let value = self.code.cast(by.value, self.code.ty(x));
                if let Some(value) = self.scaled(Partial::TimesSteep(slope), Adjoint { value, ..by }) {
                    self.add(adjoints, x, Adjoint { value, ..by });
                }
            }
        }
    }

    /// A conditional: another one, in which each branch is evaluated and gone through once more.
    fn branch(
        &mut self,
        n: &Node,
        cond: Val,
        then: &Region,
        else_: &Region,
        adjoints: &mut Adjoints,
    ) -> Result<(), Error> {
        let by: Vec<Option<Adjoint>> = n.results.iter().map(|v| adjoints.get(v).copied()).collect();
        let sides = [self.side(then, &by)?, self.side(else_, &by)?];
        // The values around that either branch gives an adjoint to.
        let mut around: Vec<Val> = Vec::new();
        for v in sides.iter().flat_map(|s| s.adjoints.iter().map(|(v, _)| *v)) {
            if !around.contains(&v) {
                around.push(v);
            }
        }
        let mut types: Vec<ScalarType> = around.iter().map(|v| self.code.ty(*v)).collect();
        for site in sides.iter().flat_map(|s| &s.sites) {
            types.extend(site.values().map(|v| self.code.ty(v)));
        }
        let mut regions = Vec::new();
        for (k, side) in sides.iter().enumerate() {
            self.code.open();
            side.nodes.iter().for_each(|n| self.code.push(n.clone()));
            let mut results = Vec::new();
            for v in &around {
                let own = side.adjoints.iter().find(|(u, _)| u == v).map(|(_, a)| *a);
                results.push(own.unwrap_or_else(|| self.code.zero_like(*v)));
            }
            for (j, other) in sides.iter().enumerate() {
                for v in other.sites.iter().flat_map(Site::values) {
                    results.push(if j == k { v } else { self.code.zero_like(v) });
                }
            }
            regions.push(self.code.close(Vec::new(), results));
        }
        let (Some(else_), Some(then)) = (regions.pop(), regions.pop()) else { return Ok(()) };
        let mut values = self.code.emit_all(ScalarOp::If { cond, then, else_ }, &types).into_iter();
        // What all results have in common.
        let mut given = by.iter().flatten().map(|a| a.alive);
        let first = given.next().flatten();
        let common = Adjoint { value: cond, alive: first.filter(|_| given.all(|alive| alive == first)) };
        for v in around {
            let [then, else_] = [0, 1].map(|k: usize| sides[k].adjoints.iter().any(|(u, _)| *u == v));
            let alive = match (then, else_) {
                (true, true) => common.alive,
                (true, false) => self.under(common, cond),
                _ => {
                    let not = self.code.op(PrimOp::NotP, &[cond]);
                    self.under(common, not)
                }
            };
            if let Some(value) = values.next() {
                self.add(adjoints, v, Adjoint { value, alive });
            }
        }
        for (k, side) in sides.into_iter().enumerate() {
            let taken = if k == 0 { cond } else { self.code.op(PrimOp::NotP, &[cond]) };
            for site in side.sites {
                let new: Vec<Val> = values.by_ref().take(site.values().count()).collect();
                let mut site = site.with(&new);
                site.guard = Some(match site.guard {
                    Some(g) => self.code.two(PrimOp::AndP, taken, g),
                    None => taken,
                });
                self.sites.push(site);
            }
        }
        Ok(())
    }

    fn side(&mut self, r: &Region, by: &[Option<Adjoint>]) -> Result<Side, Error> {
        let own: HashSet<Val> = defined(r).into_iter().collect();
        let copied = self.copy(r);
        self.code.open();
        copied.nodes.iter().for_each(|n| self.code.push(n.clone()));
        let mut inside = Adjoints::new();
        let mut sites = std::mem::take(&mut self.sites);
        for (v, by) in copied.results.iter().zip(by) {
            if let Some(by) = by
                && self.active.contains(v)
            {
                self.add(&mut inside, *v, *by);
            }
        }
        let done = self.back(&copied.nodes, &mut inside);
        std::mem::swap(&mut sites, &mut self.sites);
        let nodes = self.code.close(Vec::new(), Vec::new());
        done?;
        let copies: HashSet<Val> = defined(&copied).into_iter().collect();
        let mut adjoints: Vec<(Val, Val)> = inside
            .into_iter()
            .filter(|(v, _)| !copies.contains(v) && !own.contains(v) && self.active.contains(v))
            .map(|(v, a)| (v, a.value))
            .collect();
        adjoints.sort();
        Ok(Side { nodes: nodes.nodes.clone(), adjoints, sites })
    }

    /// A copy of a region, in which the same values are active.
    fn copy(&mut self, r: &Region) -> Region {
        let copied = self.code.copy(r);
        self.indices.note(&copied);
        for (old, new) in defined(r).into_iter().zip(defined(&copied)) {
            if self.active.contains(&old) {
                self.active.insert(new);
            }
        }
        copied
    }

    /// A loop: once more, with tangents along each float that goes into it; the adjoints are the products with the tangents
    /// of what comes out.
    fn looped(&mut self, n: &Node, adjoints: &mut Adjoints) -> Result<(), Error> {
        let mut reads = false;
        for r in n.op.regions() {
            r.visit(0, &mut |n, _| {
                reads |= matches!(&n.op, ScalarOp::Index(read) if self.is_active(read));
            });
        }
        if reads {
            let what = "a scalar loop that reads an array with an adjoint is not lifted out of its function";
            return Err(Error::defect("differentiate", what).during("while", &n.loc));
        }
        let mut into: Vec<Val> = Vec::new();
        let captured = n.op.regions().into_iter().flat_map(used_from_around).collect::<Vec<_>>();
        for v in n.op.operands().into_iter().chain(captured) {
            if self.active.contains(&v) && self.code.ty(v).is_float() && !into.contains(&v) {
                into.push(v);
            }
        }
        let copied = self.code.copy_node(n);
        let directions = into.len();
        let mut tangents: HashMap<Val, SmallVec<[Option<Tangent>; 1]>> = HashMap::new();
        for (d, v) in into.iter().enumerate() {
            let ty = self.code.ty(*v);
            let value = self.code.literal(acc_core::data::Lit::one(ty));
            let one = Tangent { value, careful: false };
            tangents.insert(*v, (0..directions).map(|k| (k == d).then_some(one)).collect());
        }
        let mut dual = Dual { code: &mut self.code, directions, arrays: &NoArrays, tangents };
        dual.node(&copied);
        let tangents = dual.tangents;
        for (d, v) in into.into_iter().enumerate() {
            for (y, result) in n.results.iter().zip(&copied.results) {
                let slope = tangents.get(result).and_then(|t| t.get(d).copied().flatten());
                if let (Some(by), Some(slope)) = (adjoints.get(y).copied(), slope) {
                    // Of the type of the result; a conversion inside may have changed it.
                    let p = Partial::TimesSteep(slope.value);
                    if let Some(value) = self.scaled(p, by) {
                        let ty = self.code.ty(v);
                        let value = self.code.cast(value, ty);
                        self.add(adjoints, v, Adjoint { value, ..by });
                    }
                }
            }
        }
        Ok(())
    }
}

/// A branch that was gone through.
struct Side {
    nodes: Vec<Node>,
    /// Adjoints of values around.
    adjoints: Vec<(Val, Val)>,
    sites: Vec<Site>,
}

impl Site {
    /// Its values, in an order.
    fn values(&self) -> impl Iterator<Item = Val> + '_ {
        self.index.iter().copied().chain(self.guard).chain(self.leaves.iter().map(|(_, v)| *v))
    }

    /// The same site with other values.
    fn with(mut self, values: &[Val]) -> Site {
        let mut values = values.iter().copied();
        self.index.iter_mut().zip(values.by_ref()).for_each(|(old, new)| *old = new);
        if let Some(g) = &mut self.guard {
            values.by_ref().take(1).for_each(|new| *g = new);
        }
        self.leaves.iter_mut().zip(values).for_each(|((_, old), new)| *old = new);
        self
    }
}

/// A function with the fallbacks of foreign functions in their place, but for those with partial derivatives of their own.
pub(super) fn without_fallbacks(f: &Fun) -> Fun {
    inlined(f, &|f| f.partials.is_some().then(|| f.clone()))
}
