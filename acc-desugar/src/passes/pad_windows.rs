//! Windows that reach beyond the edges of an array read it where it has been stored with the value around it.
//!
//! A sum over windows with padding asks of each element of each window whether it is inside of the array: for a convolution of
//! 64 channels by 64 filters of 3×3, 36,864 times for each image position. Stored once with its padding, the array is read without a
//! condition, and the sum is that of a convolution without padding.
//!
//! A read `if inside(i) { x[i] } else { literal }` within the terms of a fold is replaced where
//!
//! * each index of `x` is the coordinate of an axis that is as long, or of a window: `Σ step·coordinate` and a number, with literal
//!   steps from 1 to [`MAX_STEP`];
//! * the condition is that every index of a window is inside, and nothing else;
//! * each element is read often: windows overlap along two axes, or the terms have an axis that the read does not follow.
//!
//! The padded array begins with the least index that a window has, and ends with the greatest one.

use crate::analysis::comparison::{Comparison, comparison};
use crate::analysis::extents::{Extent, Extents};
use crate::passes::simplify::map_op;
use crate::settings::Settings;
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{
    ArrayId, ArrayOp, ArrayType, Block, Class, Fun, Loc, Names, Node, PrimOp, Program, Read, ScalarOp, Stmt, Val,
};
use acc_core::{Error, grow_stack};
use smallvec::smallvec;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// The greatest distance of neighbours in a window that are not stored with all between them.
const MAX_STEP: i64 = 16;

pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !settings.rules.on("pad_windows") {
        return Ok(Cow::Borrowed(program));
    }
    let mut folded = Folded::default();
    folded.block(&program.body);
    if folded.terms.is_empty() {
        return Ok(Cow::Borrowed(program));
    }
    let names = (0..program.types.len() as u32).map(|k| program.names.get(ArrayId(k)).cloned()).collect();
    let (extents, types) = (Extents::new(program), program.types.clone());
    let mut p = Pass { extents, types, names, terms: folded.terms };
    let body = p.block(&program.body);
    if p.types.len() == program.types.len() {
        return Ok(Cow::Borrowed(program));
    }
    Ok(Cow::Owned(Program { types: p.types, names: Names::new(p.names), body }))
}

/// The arrays of terms: what nothing reads but one fold, or what maps them for it.
#[derive(Default)]
struct Folded {
    terms: HashSet<ArrayId>,
    /// Arrays that are read otherwise.
    stored: HashSet<ArrayId>,
}

impl Folded {
    /// Goes from readers to what they read.
    fn block(&mut self, b: &Block) {
        self.stored.extend(&b.results);
        for s in b.stmts.iter().rev() {
            s.op.blocks().into_iter().for_each(|b| grow_stack(|| self.block(b)));
            let passes_on = match s.op.class() {
                Class::Fold => true,
                Class::Pointwise => s.results.iter().all(|r| self.terms.contains(r) && !self.stored.contains(r)),
                _ => false,
            };
            let operands = s.op.arrays();
            for a in &operands {
                if passes_on && !self.terms.contains(a) {
                    self.terms.insert(*a);
                } else {
                    self.stored.insert(*a);
                }
            }
            for (_, f) in s.op.funs() {
                f.body.visit(0, &mut |n, _| {
                    if let ScalarOp::Index(read) = &n.op {
                        self.stored.insert(read.array);
                    }
                });
            }
        }
        self.terms.retain(|a| !self.stored.contains(a));
    }
}

/// An index of a read.
enum Along {
    /// The coordinate of an axis that is as long as that of the array.
    Axis,
    /// The coordinates of these axes, times steps, and a number.
    Window(Vec<(usize, i64)>),
}

/// A read of an array with a value around it.
struct Padded {
    /// The node that chooses.
    node: usize,
    array: ArrayId,
    leaf: u32,
    index: Vec<Val>,
    along: Vec<Along>,
    other: Lit,
}

struct Pass {
    extents: Extents,
    types: Vec<ArrayType>,
    names: Vec<Option<Arc<str>>>,
    terms: HashSet<ArrayId>,
}

impl Pass {
    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            let mut block = |b: &Block, _: &mut dyn FnMut(&Fun) -> Fun| grow_stack(|| self.block(b));
            let mut op = map_op(&s.op, &mut Fun::clone, &mut |a| a, &mut block);
            while let Some(rest) = self.padded(&op, s, &mut stmts) {
                op = rest;
            }
            stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    /// Stores an array that terms read with a value around it, and gives the terms that read it there.
    fn padded(&mut self, op: &ArrayOp, s: &Stmt, out: &mut Vec<Stmt>) -> Option<ArrayOp> {
        let (ArrayOp::Generate { shape, f }, [result]) = (op, &s.results[..]) else { return None };
        if !self.terms.contains(result) {
            return None;
        }
        let ends = self.extents.of(*result).to_vec();
        let found = (0..f.body.nodes.len()).find_map(|k| self.found(f, k, &ends))?;
        let index = index_of(f, &found.index, &s.loc)?;
        let elt = self.types[found.array.index()].elt.leaves()[found.leaf as usize];
        let stored = ArrayOp::Generate {
            shape: extents_of(&found, shape, &index, &s.loc),
            f: elements_of(&found, ends.len(), &index, elt, &s.loc),
        };
        let padded = ArrayId(self.types.len() as u32);
        self.types.push(ArrayType { rank: found.along.len(), elt: elt.into() });
        self.names.push(self.names[found.array.index()].as_ref().map(|name| format!("padded {name}").into()));
        out.push(Stmt { results: smallvec![padded], op: stored, loc: s.loc.clone() });
        Some(ArrayOp::Generate { shape: shape.clone(), f: reading(&found, f, padded, &s.loc) })
    }

    /// The read that a node of a function of points is, of an array that may be stored with a value around it.
    fn found(&mut self, f: &Fun, k: usize, ends: &[Extent]) -> Option<Padded> {
        let node = &f.body.nodes[k];
        let ScalarOp::If { cond, then, else_ } = &node.op else { return None };
        let ([read], [_]) = (&then.nodes[..], &node.results[..]) else { return None };
        let ScalarOp::Index(Read { array, leaves, index, .. }) = &read.op else { return None };
        if then.results[..] != read.results[..] {
            return None;
        }
        let other = literal(&else_.nodes, else_.results[0]).or_else(|| literal(&f.body.nodes, else_.results[0]))?;
        let point: Vec<Extent> = (0..ends.len()).map(|axis| self.extents.point(axis)).collect();
        let values = self.extents.known_values(f, &point, None);
        let extents = &self.extents;
        let sum = |v: &Val| values.get(v).map(|e| extents.sum(*e));
        let mut conditions = conjuncts(f, *cond)?;
        let mut along = Vec::new();
        for (i, extent) in index.iter().zip(extents.of(*array)) {
            let (at, end) = (sum(i)?, extents.sum(*extent));
            let is_axis = |axis: usize| at == extents.sum(point[axis]) && end == extents.sum(ends[axis]);
            if (0..ends.len()).any(is_axis) {
                along.push(Along::Axis);
                continue;
            }
            let before = conditions.len();
            let mut sides = [false; 2];
            conditions.retain(|(how, a, b)| {
                let side = match how {
                    Comparison::AtLeast => sum(b).is_some_and(|b| b.is_uniform() && b.base == 0),
                    Comparison::Below => sum(b).is_some_and(|b| b == end),
                };
                let this = side && sum(a).is_some_and(|a| a == at);
                sides[usize::from(matches!(how, Comparison::Below))] |= this;
                !this
            });
            if before == conditions.len() || sides != [true; 2] {
                return None;
            }
            let mut steps = Vec::new();
            for term in &at.terms {
                if let Some(axis) = point.iter().position(|p| *p == term.axis) {
                    (1..=MAX_STEP).contains(&term.step).then(|| steps.push((axis, term.step)))?;
                }
            }
            along.push(Along::Window(steps));
        }
        let overlapping = along.iter().filter(|a| matches!(a, Along::Window(steps) if steps.len() > 1)).count();
        let is_followed =
            |axis: usize| index.iter().any(|i| sum(i).is_some_and(|at| at.terms.iter().any(|t| t.axis == point[axis])));
        let again = (0..ends.len()).any(|axis| !is_followed(axis));
        let often = overlapping > 1 || overlapping == 1 && again;
        let (array, leaf, index) = (*array, *leaves.first()?, index.to_vec());
        (conditions.is_empty() && often).then_some(Padded { node: k, array, leaf, index, along, other })
    }
}

/// The literal that a value is.
fn literal(nodes: &[Node], v: Val) -> Option<Lit> {
    nodes.iter().find(|n| n.results.contains(&v)).and_then(|n| match n.op {
        ScalarOp::Const(l) => Some(l),
        _ => None,
    })
}

/// The comparisons that all hold where a condition does, if it is nothing else.
fn conjuncts(f: &Fun, cond: Val) -> Option<Vec<(Comparison, Val, Val)>> {
    let (mut all, mut out) = (vec![cond], Vec::new());
    while let Some(v) = all.pop() {
        let op = &f.body.nodes.iter().find(|n| n.results.contains(&v))?.op;
        match op {
            ScalarOp::Prim(PrimOp::AndP, args) => all.extend(args),
            op => out.push(comparison(f, op)?),
        }
    }
    Some(out)
}

/// The function from a point of the terms to these values of theirs, if it reads nothing and has no fault.
fn index_of(f: &Fun, index: &[Val], loc: &Loc) -> Option<Fun> {
    let mut c = Code::of_function(f, loc);
    f.body.nodes.iter().for_each(|n| c.push(n.clone()));
    let index = c.done(index.iter().copied());
    (!index.body.is_partial()).then_some(index)
}

/// The indices of the first window's first element.
fn least(c: &mut Code, rank: usize, index: &Fun) -> Vec<Val> {
    let zero = c.int(0);
    c.inline(index, &vec![zero; rank])
}

/// The extents of the padded array.
fn extents_of(of: &Padded, shape: &Fun, index: &Fun, loc: &Loc) -> Fun {
    let mut c = Code::new([], loc);
    let ends = c.inline(shape, &[]);
    let one = c.int(1);
    let last: Vec<Val> = ends.iter().map(|n| c.two(PrimOp::SubP, *n, one)).collect();
    let (least, greatest) = (least(&mut c, ends.len(), index), c.inline(index, &last));
    let zero = c.int(0);
    let extents: Vec<Val> = (0..of.along.len())
        .map(|axis| match of.along[axis] {
            Along::Axis => c.extent(of.array, axis),
            Along::Window(_) => {
                let way = c.two(PrimOp::SubP, greatest[axis], least[axis]);
                let all = c.two(PrimOp::AddP, way, one);
                c.two(PrimOp::MaxP, all, zero)
            }
        })
        .collect();
    c.done(extents)
}

/// The elements of the padded array, for terms of so many axes.
fn elements_of(of: &Padded, rank: usize, index: &Fun, ty: ScalarType, loc: &Loc) -> Fun {
    let mut c = Code::of_index(of.along.len(), loc);
    let mut at = c.params();
    let least = least(&mut c, rank, index);
    let mut inside = c.truth(true);
    for (axis, along) in of.along.iter().enumerate() {
        if let Along::Window(_) = along {
            at[axis] = c.two(PrimOp::AddP, at[axis], least[axis]);
            let here = c.within_axis(&of.array, axis, at[axis]);
            inside = c.two(PrimOp::AndP, inside, here);
        }
    }
    let read = |c: &mut Code| c.emit_all(ScalarOp::Index(Read::new(of.array, smallvec![of.leaf], at.clone())), &[ty]);
    let element = c.branch(inside, &[ty], read, |c| vec![c.literal(of.other)]);
    c.done(element)
}

/// The function of the terms, which read the padded array.
fn reading(of: &Padded, f: &Fun, padded: ArrayId, loc: &Loc) -> Fun {
    let mut c = Code::of_function(f, loc);
    let params: Vec<Val> = f.body.params.clone();
    for (k, node) in f.body.nodes.iter().enumerate() {
        if k != of.node {
            c.push(node.clone());
            continue;
        }
        let index = of.along.iter().zip(&of.index).map(|(along, i)| match along {
            Along::Axis => *i,
            Along::Window(steps) => {
                let terms = steps.iter().map(|(axis, step)| match step {
                    1 => params[*axis],
                    step => {
                        let step = c.int(*step);
                        c.two(PrimOp::MulP, params[*axis], step)
                    }
                });
                let terms: Vec<Val> = terms.collect();
                terms.into_iter().reduce(|a, b| c.two(PrimOp::AddP, a, b)).unwrap_or_else(|| c.int(0))
            }
        });
        let op = ScalarOp::Index(Read::new(padded, smallvec![0], index.collect::<Vec<_>>()));
        c.push(Node { results: node.results.clone(), op, loc: node.loc.clone() });
    }
    c.done(f.body.results.iter().copied())
}
