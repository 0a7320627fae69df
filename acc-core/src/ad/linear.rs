//! Whether a rule is linear in the tangents or adjoints that it maps, as far as its structure shows.
//!
//! The transpose of a rule that is not would be another function at each point. Every leaf of every array, and every scalar,
//! has a class: constant, linear in what is mapped, or neither. What is neither is a mistake only where a result needs it.

use crate::data::{Lit, ScalarType};
use crate::grow_stack;
use crate::ir::{
    ArrayId, ArrayOp, ArrayType, Block, Boundary, Foreign, Fun, Loc, Node, PrimOp, Read, Region, ScalarOp, Stmt,
    free_arrays,
};
use std::collections::HashMap;

/// An operation, and where it was written.
pub type Place = (&'static str, Loc);

/// How a value depends on what a rule maps.
#[derive(Clone, PartialEq)]
enum Class {
    /// A literal 0, which is both of the next.
    Zero,
    Constant,
    Linear,
    /// Neither; the operation that made it so.
    Other(Place),
}
use Class::{Constant, Linear, Other, Zero};

impl Class {
    /// Of what is one or the other, as `place` decides.
    fn or(self, other: Class, place: &Place) -> Class {
        match (self, other) {
            (Other(p), _) | (_, Other(p)) => Other(p),
            (Zero, c) | (c, Zero) => c,
            (Constant, Constant) => Constant,
            (Linear, Linear) => Linear,
            (Constant, Linear) | (Linear, Constant) => Other(place.clone()),
        }
    }

    fn is_constant(&self) -> bool {
        matches!(self, Zero | Constant)
    }
}

/// The first operation that makes a rule's results no linear function of its parameters from this one on.
pub fn nonlinear(types: &[ArrayType], rule: &Block, from: usize) -> Option<Place> {
    let mut l = Classes { types, arrays: HashMap::new() };
    for p in rule.params.iter().skip(from) {
        let classes = l.leaves(*p).into_iter().map(|t| if t.is_float() { Linear } else { Constant });
        l.arrays.insert(*p, classes.collect());
    }
    l.block(rule);
    rule.results.iter().find_map(|r| {
        let classes = l.of(*r).into_iter().zip(l.leaves(*r)).filter(|(_, t)| t.is_float());
        classes.into_iter().find_map(|(c, _)| match c {
            Zero | Linear => None,
            Other(place) => Some(place),
            // Not 0 where what is mapped is.
            Constant => {
                Some(rule.stmts.iter().find(|s| s.results.contains(r)).map_or(("yield", Loc::unknown()), place))
            }
        })
    })
}

fn place(s: &Stmt) -> Place {
    (s.operation(), s.loc.clone())
}

struct Classes<'a> {
    types: &'a [ArrayType],
    /// By leaf; arrays that are not here are constant.
    arrays: HashMap<ArrayId, Vec<Class>>,
}

/// By leaf.
type Leaves = Vec<Class>;

fn joined(a: Leaves, b: Leaves, place: &Place) -> Leaves {
    a.into_iter().zip(b).map(|(a, b)| a.or(b, place)).collect()
}

impl Classes<'_> {
    fn leaves(&self, a: ArrayId) -> Vec<ScalarType> {
        self.types[a.index()].elt.leaves().into_vec()
    }

    fn of(&self, a: ArrayId) -> Leaves {
        self.arrays.get(&a).cloned().unwrap_or_else(|| vec![Constant; self.leaves(a).len()])
    }

    fn all_of(&self, arrays: &[ArrayId]) -> Vec<Leaves> {
        arrays.iter().map(|a| self.of(*a)).collect()
    }

    fn set(&mut self, a: ArrayId, leaves: Leaves) {
        self.arrays.insert(a, leaves);
    }

    fn set_all(&mut self, arrays: &[ArrayId], leaves: Vec<Leaves>) {
        arrays.iter().zip(leaves).for_each(|(a, c)| self.set(*a, c));
    }

    fn block(&mut self, b: &Block) {
        for s in &b.stmts {
            grow_stack(|| self.stmt(s));
        }
    }

    /// Whether all that closed functions, indices and targets read is constant.
    fn places_are_constant(&self, s: &Stmt) -> bool {
        let place_of = |key: &str| matches!(key, "shape" | "extents" | "index" | "target" | "ok" | "cond");
        s.op.funs()
            .into_iter()
            .filter(|(key, _)| place_of(key))
            .all(|(_, f)| self.fun(f, vec![Constant; f.body.params.len()], &place(s)).iter().all(Class::is_constant))
    }

    fn stmt(&mut self, s: &Stmt) {
        let here = place(s);
        let classes: Vec<Leaves> = if !self.places_are_constant(s) {
            s.results.iter().map(|r| vec![Other(here.clone()); self.leaves(*r).len()]).collect()
        } else {
            self.results(s, &here)
        };
        for (r, classes) in s.results.iter().zip(classes) {
            self.set(*r, classes);
        }
    }

    fn results(&mut self, s: &Stmt, here: &Place) -> Vec<Leaves> {
        match &s.op {
            ArrayOp::Generate { f, .. } => vec![self.fun(f, vec![Constant; f.body.params.len()], here)],
            ArrayOp::Map { xs, f, .. } => {
                let elements: Leaves = xs.iter().flat_map(|x| self.of(*x)).collect();
                let indices = f.body.params.len().saturating_sub(elements.len());
                vec![self.fun(f, [vec![Constant; indices], elements].concat(), here)]
            }
            ArrayOp::Stencil { f, inputs } => {
                let mut params = Leaves::new();
                for input in inputs {
                    let mut element = self.of(input.xs);
                    if let Boundary::Function(b) = &input.boundary {
                        element = joined(element, self.fun(b, vec![Constant; b.body.params.len()], here), here);
                    }
                    (0..input.neighbours()).for_each(|_| params.extend(element.iter().cloned()));
                }
                vec![self.fun(f, params, here)]
            }
            ArrayOp::Permute { defaults, xs, combine, .. } => {
                let element = joined(self.of(*defaults), self.of(*xs), here);
                vec![self.combined(combine, element, here)]
            }
            ArrayOp::Backpermute { xs, .. }
            | ArrayOp::Check { xs, .. }
            | ArrayOp::Reshape { xs, .. }
            | ArrayOp::Replicate { xs, .. }
            | ArrayOp::Slice { xs, .. }
            | ArrayOp::Compute { xs, .. } => vec![self.of(*xs)],
            ArrayOp::Foreign { xs, fallback, .. } | ArrayOp::Ruled { at: xs, f: fallback, .. } => {
                let args = self.all_of(xs);
                self.set_all(&fallback.params, args);
                self.block(fallback);
                self.all_of(&fallback.results)
            }
            ArrayOp::If { then, else_, .. } => {
                self.block(then);
                self.block(else_);
                let sides = self.all_of(&then.results).into_iter().zip(self.all_of(&else_.results));
                sides.map(|(a, b)| joined(a, b, here)).collect()
            }
            ArrayOp::While { init, test, step } => {
                let mut state = self.all_of(init);
                loop {
                    self.set_all(&step.params, state.clone());
                    self.block(step);
                    let next = state.iter().cloned().zip(self.all_of(&step.results));
                    let next: Vec<Leaves> = next.map(|(a, b)| joined(a, b, here)).collect();
                    if next == state {
                        break;
                    }
                    state = next;
                }
                self.set_all(&test.params, state.clone());
                self.block(test);
                if self.all_of(&test.results).iter().flatten().all(Class::is_constant) {
                    return state;
                }
                state.iter().map(|leaves| vec![Other(here.clone()); leaves.len()]).collect()
            }
            // Linear in the direction, at a constant point.
            ArrayOp::Derivative { at, along, f, .. } => {
                let read: Vec<ArrayId> = at.iter().copied().chain(free_arrays(f)).collect();
                let constant = self.all_of(&read).iter().flatten().all(Class::is_constant);
                let along = self.all_of(along).into_iter().flatten().fold(Zero, |a, b| a.or(b, here));
                let class = |k: usize| match constant {
                    true if k < f.results.len() => Constant,
                    true => along.clone(),
                    false => Other(here.clone()),
                };
                let of = |(k, r): (usize, &ArrayId)| vec![class(k); self.leaves(*r).len()];
                s.results.iter().enumerate().map(of).collect()
            }
            // A fold, whole or of segments, or a scan; or the positions of sorted elements, which have no operator.
            op => {
                let fun = |name: &str| op.funs().into_iter().find(|(key, _)| *key == name).map(|(_, f)| f);
                let mut element = op.arrays().first().map(|xs| self.of(*xs)).unwrap_or_default();
                let Some(f) = fun("f") else {
                    let constant = element.iter().all(Class::is_constant);
                    return vec![vec![if constant { Constant } else { Other(here.clone()) }]];
                };
                if let Some(init) = fun("init") {
                    element = joined(element, self.fun(init, Vec::new(), here), here);
                }
                vec![self.combined(f, element, here)]
            }
        }
    }

    /// What an operator makes of any number of such elements.
    fn combined(&self, f: &Fun, mut element: Leaves, here: &Place) -> Leaves {
        loop {
            let next = self.fun(f, [element.clone(), element.clone()].concat(), here);
            let next = joined(element.clone(), next, here);
            if next == element {
                return element;
            }
            element = next;
        }
    }

    fn fun(&self, f: &Fun, params: Leaves, here: &Place) -> Leaves {
        let mut s = Scalars { classes: self, f, values: vec![Constant; f.types.len()], here };
        s.bind(&f.body.params, params);
        s.region(&f.body)
    }
}

/// One scalar function.
struct Scalars<'a> {
    classes: &'a Classes<'a>,
    f: &'a Fun,
    /// By [`Val::index`](crate::ir::Val::index).
    values: Leaves,
    here: &'a Place,
}

impl Scalars<'_> {
    fn bind(&mut self, vals: &[crate::ir::Val], classes: Leaves) {
        vals.iter().zip(classes).for_each(|(v, c)| self.values[v.index()] = c);
    }

    fn get(&self, vals: &[crate::ir::Val]) -> Leaves {
        vals.iter().map(|v| self.values[v.index()].clone()).collect()
    }

    fn region(&mut self, r: &Region) -> Leaves {
        grow_stack(|| r.nodes.iter().for_each(|n| self.node(n)));
        self.get(&r.results)
    }

    fn node(&mut self, n: &Node) {
        let place = |name| (name, if n.loc.is_known() { n.loc.clone() } else { self.here.1.clone() });
        let is_float = |k: usize| n.results.get(k).is_some_and(|v| self.f.ty(*v).is_float());
        let classes = match &n.op {
            ScalarOp::Const(l) => vec![if l.ty.is_float() && *l == Lit::zero(l.ty) { Zero } else { Constant }],
            ScalarOp::Prim(op, args) => vec![primitive(*op, &self.get(args), place(op.name()))],
            ScalarOp::Cast(x) => match self.values[x.index()].clone() {
                Linear if !is_float(0) => vec![Other(place("cast"))],
                Zero if !is_float(0) => vec![Constant],
                same => vec![same],
            },
            ScalarOp::Bitcast(x) => match self.values[x.index()].clone() {
                Linear => vec![Other(place("bitcast"))],
                Zero => vec![Constant],
                same => vec![same],
            },
            ScalarOp::Select { cond, then, else_ } => {
                let sides = (self.get(&[*then]), self.get(&[*else_]));
                self.chosen(&[*cond], joined(sides.0, sides.1, &place("select")), place("select"))
            }
            ScalarOp::If { cond, then, else_ } => {
                let place = place("if");
                let sides = (self.region(then), self.region(else_));
                self.chosen(&[*cond], joined(sides.0, sides.1, &place), place)
            }
            ScalarOp::While { init, test, step } => {
                let place = place("while");
                let mut state = self.get(init);
                loop {
                    self.bind(&step.params, state.clone());
                    let next = joined(state.clone(), self.region(step), &place);
                    if next == state {
                        break;
                    }
                    state = next;
                }
                self.bind(&test.params, state.clone());
                self.region(test);
                self.chosen(&test.results, state, place)
            }
            ScalarOp::Own(Foreign { args, fallback, .. }) => {
                let args = self.get(args);
                self.bind(&fallback.params, args);
                self.region(fallback)
            }
            ScalarOp::Index(Read { array, leaves, index, .. }) => {
                let all = self.classes.of(*array);
                let read = leaves.iter().filter_map(|l| all.get(*l as usize).cloned()).collect();
                self.chosen(index, read, place("read"))
            }
            ScalarOp::Extent { .. } => vec![Constant],
        };
        self.bind(&n.results, classes);
    }

    /// What these values choose among.
    fn chosen(&self, by: &[crate::ir::Val], classes: Leaves, place: Place) -> Leaves {
        if self.get(by).iter().all(Class::is_constant) {
            return classes;
        }
        classes.iter().map(|_| Other(place.clone())).collect()
    }
}

fn primitive(op: PrimOp, args: &[Class], place: Place) -> Class {
    use PrimOp as P;
    if let Some(other) = args.iter().find(|c| matches!(c, Other(_))) {
        return other.clone();
    }
    match (op, args) {
        (P::AddP | P::SubP, [a, b]) => a.clone().or(b.clone(), &place),
        (P::NegP, [a]) => a.clone(),
        (P::MulP, [Zero, _] | [_, Zero]) | (P::DivP, [Zero, _]) => Zero,
        (P::MulP, [Linear, Constant] | [Constant, Linear]) | (P::DivP, [Linear, Constant]) => Linear,
        _ if args.iter().all(Class::is_constant) => Constant,
        _ => Other(place),
    }
}
