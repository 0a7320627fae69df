//! Which arrays have the same extents, whatever the arguments: extents, and other numbers, as interned expressions.

use crate::analysis::access::{Affine, Index, Literals};
use crate::analysis::contraction::Definitions;
use acc_core::ad::Code;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::exec::replay::is_assumption;
use acc_core::ir::{
    self, ArrayId, ArrayOp, ArrayType, Block, Fun, Loc, PrimOp, Program, Read, Region, ScalarOp, Sizes, Stmt, Val,
    result_extents,
};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// An extent. Equal numbers are equal extents; others may be equal, too.
pub(crate) type Extent = u32;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Expr {
    Const(Lit),
    Prim(PrimOp, Vec<Extent>),
    Convert(ScalarType, bool, Extent),
    Select([Extent; 3]),
    Read(ArrayId, u32, Vec<Extent>),
    Of(ArrayId, usize),
    /// The least of several, in ascending order.
    Min(Vec<Extent>),
    /// An index along an axis, whichever.
    Point(usize),
    /// Equal to nothing else.
    Unknown(u32),
}

/// The extents of every array.
#[derive(Clone)]
pub(crate) struct Extents {
    interned: HashMap<Expr, Extent>,
    /// By number.
    exprs: Vec<Expr>,
    /// Truth values.
    flags: HashSet<Extent>,
    /// Elements that were asked for.
    elements: HashMap<(ArrayId, Vec<Extent>), Vec<Extent>>,
    of: Vec<Vec<Extent>>,
    unknown: u32,
    /// Whether what derivatives assume is known.
    assumptions: bool,
}

impl Extents {
    pub(crate) fn new(p: &Program) -> Extents {
        let mut e = Extents::of_types(&p.types);
        e.block(&p.body);
        e
    }

    /// The same without what derivatives assume: a check of that has to stay where something follows from it.
    pub(crate) fn without_assumptions(p: &Program) -> Extents {
        let mut e = Extents { assumptions: false, ..Extents::of_types(&p.types) };
        e.block(&p.body);
        e
    }

    /// The same before any statement is known.
    pub(crate) fn of_types(types: &[ArrayType]) -> Extents {
        let mut e = Extents {
            interned: HashMap::new(),
            exprs: Vec::new(),
            flags: HashSet::new(),
            elements: HashMap::new(),
            of: Vec::with_capacity(types.len()),
            unknown: 0,
            assumptions: true,
        };
        e.declare(types);
        e
    }

    /// Arrays of these types, of which the last ones are new: no statement of theirs is known.
    pub(crate) fn declare(&mut self, types: &[ArrayType]) {
        for (k, ty) in types.iter().enumerate().skip(self.of.len()) {
            let own = (0..ty.rank).map(|axis| self.intern(Expr::Of(ArrayId(k as u32), axis))).collect();
            self.of.push(own);
        }
    }

    /// The extents of a statement's results follow from those of its operands.
    pub(crate) fn note(&mut self, s: &Stmt) {
        let Ok(found) = result_extents(&s.op, self);
        if let Some(extents) = found.map(ir::Extents::into_vec) {
            s.results.iter().for_each(|r| self.of[r.index()] = extents.clone());
        }
    }

    /// An array is known to have the extents of another one.
    pub(crate) fn set(&mut self, a: ArrayId, like: ArrayId) {
        self.of[a.index()] = self.of[like.index()].clone();
    }

    /// The least of the extents of some arrays along each axis.
    pub(crate) fn common(&mut self, arrays: &[ArrayId]) -> Vec<Extent> {
        let rank = arrays.first().map_or(0, |a| self.of(*a).len());
        let along = |e: &mut Extents, axis: usize| {
            let all: Vec<Extent> = arrays.iter().map(|a| e.of(*a)[axis]).collect();
            e.least(&all)
        };
        (0..rank).map(|axis| along(self, axis)).collect()
    }

    /// The extents of an array.
    pub(crate) fn of(&self, a: ArrayId) -> &[Extent] {
        &self.of[a.index()]
    }

    /// The axes of arrays of unknown extents whose least extent this is, if it is one.
    pub(crate) fn sources(&self, e: Extent) -> Option<Vec<(ArrayId, usize)>> {
        match self.expr(e)? {
            Expr::Of(a, axis) => Some(vec![(*a, *axis)]),
            Expr::Min(of) => of.iter().map(|e| self.sources(*e)).collect::<Option<Vec<_>>>().map(|all| all.concat()),
            _ => None,
        }
    }

    fn intern(&mut self, e: Expr) -> Extent {
        if let Some(&known) = self.interned.get(&e) {
            return known;
        }
        let next = self.exprs.len() as Extent;
        self.exprs.push(e.clone());
        self.interned.insert(e, next);
        next
    }

    fn block(&mut self, b: &Block) {
        for s in &b.stmts {
            s.op.blocks().into_iter().for_each(|b| acc_core::grow_stack(|| self.block(b)));
            self.note(s);
            self.learn(s);
        }
    }

    /// What is checked holds wherever there is an element of the result: extents that must be those of another array are those.
    pub(crate) fn learn(&mut self, s: &Stmt) {
        let (ArrayOp::Check { ok, message, .. }, &[result]) = (&s.op, &s.results[..]) else { return };
        if !self.assumptions && is_assumption(message) {
            return;
        }
        let defined = |v: Val| ok.body.definition(v).map(|n| &n.op);
        let mut conjuncts: Vec<Val> = ok.body.results.clone();
        while let Some(v) = conjuncts.pop() {
            let Some(ScalarOp::Prim(op, args)) = defined(v) else { continue };
            match (op, args.iter().map(|a| defined(*a)).collect::<Vec<_>>().as_slice()) {
                (PrimOp::AndP, _) => conjuncts.extend(args.iter().copied()),
                (
                    PrimOp::EqP,
                    &[Some(ScalarOp::Extent { array: a, axis: i }), Some(ScalarOp::Extent { array: b, axis: j })],
                ) => {
                    let [Some(one), Some(two)] = [(a, i), (b, j)].map(|(a, i)| self.of(*a).get(*i as usize).copied())
                    else {
                        continue;
                    };
                    let own = &mut self.of[result.index()];
                    let equal = match [one, two].map(|n| own.contains(&n)) {
                        [true, true] => one.min(two),
                        [true, false] => two,
                        [false, true] => one,
                        [false, false] => continue,
                    };
                    own.iter_mut().filter(|n| [one, two].contains(n)).for_each(|n| *n = equal);
                }
                _ => {}
            }
        }
    }

    /// The number of a literal.
    pub(crate) fn literal(&mut self, l: Lit) -> Extent {
        self.intern(Expr::Const(l))
    }

    /// An index along an axis, whichever.
    pub(crate) fn point(&mut self, axis: usize) -> Extent {
        self.intern(Expr::Point(axis))
    }

    /// The number of a primitive operation.
    pub(crate) fn prim(&mut self, p: PrimOp, mut args: Vec<Extent>) -> Extent {
        if p.is_commutative() {
            args.sort_unstable();
        }
        self.intern(Expr::Prim(p, args))
    }

    /// The number of a leaf of an array at an index, that of a stored array.
    pub(crate) fn read(&mut self, array: ArrayId, leaf: u32, index: &[Extent]) -> Extent {
        self.intern(Expr::Read(array, leaf, index.to_vec()))
    }

    /// The condition under which a number is not zero, if it is a literal on one side of it and 0 on the other; with the
    /// literal, as bits.
    pub(crate) fn indicated(&self, e: Extent) -> Option<(Extent, u64)> {
        match *self.expr(e)? {
            // Numbers made of truth values.
            Expr::Convert(_, true, flag) if self.is_flag(flag) => Some((flag, 1)),
            Expr::Select([flag, then, else_]) => match (self.expr(then)?, self.expr(else_)?) {
                (Expr::Const(yes), Expr::Const(no)) if no.bits == 0 && yes.bits != 0 => Some((flag, yes.bits)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a number is where a condition holds.
    pub(crate) fn under(&self, e: Extent, flag: Extent) -> Extent {
        match self.expr(e) {
            Some(&Expr::Select([c, then, _])) if c == flag => self.under(then, flag),
            _ => e,
        }
    }

    /// The array of rank 0 that a number is read from.
    pub(crate) fn scalar_read(&self, e: Extent) -> Option<ArrayId> {
        match self.expr(e)? {
            Expr::Read(a, 0, index) if index.is_empty() => Some(*a),
            _ => None,
        }
    }

    /// Whether a number is known to be a truth value: a comparison, a connective or what a program reads as one.
    fn is_flag(&self, e: Extent) -> bool {
        self.flags.contains(&e)
    }

    fn expr(&self, e: Extent) -> Option<&Expr> {
        self.exprs.get(e as usize)
    }

    /// The leaves of an array's element: computed where its definition says how, else read.
    pub(crate) fn element(&mut self, inside: &Inside<'_>, a: ArrayId, index: &[Extent], depth: usize) -> Vec<Extent> {
        let key = (a, index.to_vec());
        if let Some(known) = self.elements.get(&key) {
            return known.clone();
        }
        let leaves = self.new_element(inside, a, index, depth);
        self.elements.insert(key, leaves.clone());
        leaves
    }

    fn new_element(&mut self, inside: &Inside<'_>, a: ArrayId, index: &[Extent], depth: usize) -> Vec<Extent> {
        let types = inside.program.ty(a).elt.leaves();
        let computed = match inside.defs.get(a).filter(|_| depth > 0).map(|s| &s.op) {
            Some(ArrayOp::Generate { f, .. }) => Some(self.values(f, index, Some((inside, depth)))),
            Some(ArrayOp::Map { f, xs, indexed }) => {
                let mut args = if *indexed { index.to_vec() } else { Vec::new() };
                for &x in xs {
                    args.extend(self.element(inside, x, index, depth - 1));
                }
                Some(self.values(f, &args, Some((inside, depth))))
            }
            Some(ArrayOp::Backpermute { index: f, xs, .. }) => {
                let source = self.values(f, index, Some((inside, depth)));
                Some(self.element(inside, *xs, &source, depth - 1))
            }
            Some(ArrayOp::Check { xs, .. } | ArrayOp::Compute { xs, .. }) => {
                Some(self.element(inside, *xs, index, depth - 1))
            }
            _ => None,
        };
        let read = |e: &mut Extents, leaf: usize| {
            let read = e.read(a, leaf as u32, index);
            if types.get(leaf) == Some(&ScalarType::Bool) {
                e.flags.insert(read);
            }
            read
        };
        match computed {
            // What has no expression of its own is that leaf, all the same.
            Some(leaves) => leaves
                .into_iter()
                .enumerate()
                .map(|(k, v)| if matches!(self.expr(v), Some(Expr::Unknown(_))) { read(self, k) } else { v })
                .collect(),
            None => (0..types.len()).map(|k| read(self, k)).collect(),
        }
    }

    /// The values of a function of these arguments; of arrays that it reads `inside` tells the definitions.
    pub(crate) fn values(&mut self, f: &Fun, args: &[Extent], inside: Option<(&Inside<'_>, usize)>) -> Vec<Extent> {
        let known = self.known_values(f, args, inside);
        let value = |v: &Val| known.get(v).copied();
        let results: Vec<Option<Extent>> = f.body.results.iter().map(value).collect();
        results.into_iter().map(|r| r.unwrap_or_else(|| self.unknown())).collect()
    }

    /// All that is known of the values inside of a function of these arguments.
    pub(crate) fn known_values(
        &mut self,
        f: &Fun,
        args: &[Extent],
        inside: Option<(&Inside<'_>, usize)>,
    ) -> HashMap<Val, Extent> {
        let mut known: HashMap<Val, Extent> = f.body.params.iter().copied().zip(args.iter().copied()).collect();
        self.region(f, &f.body, &mut known, inside);
        known
    }

    /// Of a function whose first parameters are the coordinates of a point of an array: these, the extents of their axes, and all
    /// that is known of the values inside.
    pub(crate) fn at_point(&mut self, f: &Fun, space: ArrayId) -> (Vec<Extent>, Vec<Extent>, HashMap<Val, Extent>) {
        let ends = self.of(space).to_vec();
        let point: Vec<Extent> = (0..ends.len()).map(|axis| self.point(axis)).collect();
        let values = self.known_values(f, &point, None);
        (point, ends, values)
    }

    /// A number as a sum of others times literals, modulo 2^64: equal sums are equal numbers.
    pub(crate) fn sum(&self, e: Extent) -> Affine<i64, Extent> {
        let itself = || Affine::along(e, 0, 1);
        match self.expr(e) {
            Some(Expr::Const(l)) if l.ty == ScalarType::I64 => Affine::uniform(l.bits as i64),
            Some(Expr::Prim(op @ (PrimOp::AddP | PrimOp::SubP | PrimOp::MulP | PrimOp::NegP), args)) => {
                let args: Vec<_> = args.iter().map(|a| Index::Affine(acc_core::grow_stack(|| self.sum(*a)))).collect();
                match Index::prim(&mut Literals, *op, &args) {
                    Some(Index::Affine(sum)) => sum,
                    _ => itself(),
                }
            }
            _ => itself(),
        }
    }

    /// Whether a number may be another one at another point.
    pub(crate) fn varies(&self, e: Extent) -> bool {
        let (mut todo, mut seen) = (vec![e], HashSet::new());
        while let Some(e) = todo.pop() {
            if !seen.insert(e) {
                continue;
            }
            match self.expr(e) {
                Some(Expr::Const(_) | Expr::Of(..)) => {}
                Some(Expr::Prim(_, of) | Expr::Read(_, _, of) | Expr::Min(of)) => todo.extend(of),
                Some(Expr::Convert(_, _, of)) => todo.push(*of),
                Some(Expr::Select(of)) => todo.extend(of),
                Some(Expr::Point(_) | Expr::Unknown(_)) | None => return true,
            }
        }
        false
    }

    /// A closed function of a number that is made of literals and of extents of arrays that the caller knows.
    pub(crate) fn function(&self, e: Extent, is_known: &dyn Fn(ArrayId) -> bool, loc: &Loc) -> Option<Fun> {
        let (mut code, mut left) = (Code::new([], loc), MAX_NODES);
        let result = self.written(e, is_known, &mut code, &mut left)?;
        Some(code.done([result]))
    }

    fn written(&self, e: Extent, is_known: &dyn Fn(ArrayId) -> bool, code: &mut Code, left: &mut usize) -> Option<Val> {
        *left = left.checked_sub(1)?;
        let (p, of) = match self.expr(e)? {
            Expr::Const(l) if l.ty == ScalarType::I64 => return Some(code.literal(*l)),
            Expr::Of(a, axis) if is_known(*a) => return Some(code.extent(*a, *axis)),
            Expr::Prim(p @ (PrimOp::AddP | PrimOp::SubP | PrimOp::MulP | PrimOp::MinP | PrimOp::MaxP), of) => (*p, of),
            Expr::Min(of) => (PrimOp::MinP, of),
            // Elements, points and other operations.
            _ => return None,
        };
        let args = of.iter().map(|e| acc_core::grow_stack(|| self.written(*e, is_known, code, left)));
        let args: Vec<Val> = args.collect::<Option<_>>()?;
        args.into_iter().reduce(|a, b| code.two(p, a, b))
    }

    fn unknown(&mut self) -> Extent {
        self.unknown += 1;
        self.intern(Expr::Unknown(self.unknown))
    }

    fn region(&mut self, f: &Fun, r: &Region, known: &mut HashMap<Val, Extent>, inside: Option<(&Inside<'_>, usize)>) {
        for n in &r.nodes {
            // The state of a loop is not known, nor is what depends on it.
            for inner in n.op.regions() {
                acc_core::grow_stack(|| self.region(f, inner, known, inside));
            }
            let values = |v: &[Val]| v.iter().map(|v| known.get(v).copied()).collect::<Option<Vec<Extent>>>();
            let expr = match &n.op {
                ScalarOp::Const(l) => Some(Expr::Const(*l)),
                ScalarOp::Prim(p, v) => {
                    let Some(v) = values(v) else { continue };
                    let value = self.prim(*p, v);
                    self.define(f, n.results[0], value, known);
                    continue;
                }
                ScalarOp::Cast(v) => values(&[*v]).map(|v| Expr::Convert(f.ty(n.results[0]), true, v[0])),
                ScalarOp::Bitcast(v) => values(&[*v]).map(|v| Expr::Convert(f.ty(n.results[0]), false, v[0])),
                ScalarOp::Select { cond, then, else_ } => {
                    values(&[*cond, *then, *else_]).map(|v| Expr::Select([v[0], v[1], v[2]]))
                }
                ScalarOp::If { cond, then, else_ } => {
                    let sides = then.results.iter().zip(&else_.results);
                    let sides: Vec<_> = sides.map(|(&a, &b)| values(&[*cond, a, b])).collect();
                    for (&v, side) in n.results.iter().zip(sides) {
                        if let Some(e) = side {
                            known.insert(v, self.intern(Expr::Select([e[0], e[1], e[2]])));
                        }
                    }
                    continue;
                }
                ScalarOp::Index(Read { array, leaves, index, .. }) => {
                    let Some(index) = values(index) else { continue };
                    let element = match inside {
                        Some((inside, depth)) if depth > 0 => self.element(inside, *array, &index, depth - 1),
                        _ => Vec::new(),
                    };
                    for (&v, &leaf) in n.results.iter().zip(leaves) {
                        let value = match element.get(leaf as usize) {
                            Some(&value) => value,
                            None => self.read(*array, leaf, &index),
                        };
                        self.define(f, v, value, known);
                    }
                    continue;
                }
                ScalarOp::Extent { array, axis } => {
                    let extent = self.of(*array).get(*axis as usize).copied();
                    known.extend(n.results.iter().copied().zip(extent));
                    continue;
                }
                ScalarOp::While { .. } | ScalarOp::Own(_) => None,
            };
            if let (Some(expr), [v]) = (expr, &n.results[..]) {
                let value = self.intern(expr);
                known.insert(*v, value);
            }
        }
    }

    fn define(&mut self, f: &Fun, v: Val, value: Extent, known: &mut HashMap<Val, Extent>) {
        if f.ty(v) == ScalarType::Bool {
            self.flags.insert(value);
        }
        known.insert(v, value);
    }
}

impl Sizes<'_> for Extents {
    type Size = Extent;
    type Error = Infallible;

    fn of(&self, a: ArrayId) -> Result<ir::Extents<Extent>, Infallible> {
        Ok(Extents::of(self, a).into())
    }
    fn closed(&mut self, f: &Fun) -> Result<ir::Extents<Extent>, Infallible> {
        Ok(self.values(f, &[], None).into())
    }
    fn least(&mut self, sizes: &[Extent]) -> Extent {
        let parts = |n: &Extent| match self.expr(*n) {
            Some(Expr::Min(of)) => of.clone(),
            _ => vec![*n],
        };
        let mut sizes: Vec<Extent> = sizes.iter().flat_map(parts).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if let [one] = sizes[..] { one } else { self.intern(Expr::Min(sizes)) }
    }
    fn succ(&mut self, n: Extent) -> Extent {
        let one = self.literal(1i64.lit());
        self.prim(PrimOp::AddP, vec![n, one])
    }
    fn pred(&mut self, n: Extent) -> Extent {
        let one = self.literal(1i64.lit());
        self.prim(PrimOp::SubP, vec![n, one])
    }
}

/// Numbers that a function of an extent is made of, at most.
const MAX_NODES: usize = 32;

/// What tells how elements of arrays are computed.
pub(crate) struct Inside<'a> {
    pub program: &'a Program,
    pub defs: &'a Definitions<'a>,
}
