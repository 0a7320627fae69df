//! Windows that reach beyond the edges of an array read it where it has been stored with the value around it.
//!
//! A sum over windows with padding asks of each element of each window whether it is inside of the array: for a convolution of
//! 64 channels by 64 filters of 3×3, 36,864 times for each image position. Stored once with its padding, the array is read without a
//! condition, and the sum is that of a convolution without padding.
//!
//! Reads `if inside(i) { x[i] } else { literal }`, one or several of the same array, are replaced where
//!
//! * some indices of `x` are those of windows: `Σ step·coordinate` and a number that is the same at all points, with literal steps
//!   of at most [`MAX_STEP`], of either sign; between reads these numbers differ by literals;
//! * the condition is that each of these is inside, and nothing else. Where no index of a window is negative its end is enough;
//! * each element is read often: the terms of a fold read it in windows that overlap along two axes, or have an axis that the
//!   read does not follow; or the elements of windows along two axes are written out, as in the maximum of three by three;
//! * the array does not repeat its elements along an axis: it would be stored with all of them.
//!
//! The padded array begins with the least index that a window has, and ends with the greatest one. Along other axes it is as long
//! as the array: an index beyond these is a fault as before, or one that the run after a fault does not find.

use crate::analysis::access::{Affine, Term};
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
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The greatest distance of neighbours in a window that are not stored with all between them.
const MAX_STEP: i64 = 16;

/// How often an element is read at least by windows whose elements are written out.
const MIN_READS: i64 = 2;

pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !settings.rules.on("pad_windows") || !chooses(&program.body) {
        return Ok(Cow::Borrowed(program));
    }
    let mut folded = Folded::default();
    folded.block(&program.body);
    let names = (0..program.types.len() as u32).map(|k| program.names.get(ArrayId(k)).cloned()).collect();
    let (extents, types) = (Extents::new(program), program.types.clone());
    let Folded { terms, repeating, .. } = folded;
    let mut p = Pass { extents, types, names, terms, repeating };
    let body = p.block(&program.body);
    if p.types.len() == program.types.len() {
        return Ok(Cow::Borrowed(program));
    }
    Ok(Cow::Owned(Program { types: p.types, names: Names::new(p.names), body }))
}

/// Whether elements of an array are chosen to be elements of another one or something else.
fn chooses(b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        let chosen = |n: &Node| {
            matches!(&n.op, ScalarOp::If { then, .. } if matches!(&then.nodes[..], [n] if matches!(n.op, ScalarOp::Index(_))))
        };
        let here = of_points(&s.op).is_some_and(|f| f.body.nodes.iter().any(chosen));
        here || s.op.blocks().into_iter().any(|b| grow_stack(|| chooses(b)))
    })
}

/// The function of points, if elements are computed by one.
fn of_points(op: &ArrayOp) -> Option<&Fun> {
    match op {
        ArrayOp::Generate { f, .. } | ArrayOp::Map { f, indexed: true, .. } => Some(f),
        _ => None,
    }
}

/// The arrays of terms: what nothing reads but one fold, or what maps them for it.
#[derive(Default)]
struct Folded {
    terms: HashSet<ArrayId>,
    /// Arrays that are read otherwise.
    stored: HashSet<ArrayId>,
    /// Arrays that repeat elements along an axis.
    repeating: HashSet<ArrayId>,
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
            if let (ArrayOp::Generate { f, .. }, [result]) = (&s.op, &s.results[..])
                && f.body.params.iter().any(|axis| !uses(f, *axis))
            {
                self.repeating.insert(*result);
            }
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

/// Whether a function depends on a value.
fn uses(f: &Fun, v: Val) -> bool {
    let mut used = f.body.results.contains(&v);
    f.body.visit(0, &mut |n, _| {
        used |= n.op.operands().contains(&v) || n.op.regions().into_iter().any(|r| r.results.contains(&v));
    });
    used
}

/// A read of an array, or of a literal where an index is outside.
struct Choice {
    /// The node that chooses.
    node: usize,
    array: ArrayId,
    leaf: u32,
    other: Lit,
    index: Vec<Val>,
    at: Vec<At>,
}

/// An index of a read, along an axis of the array.
struct At {
    /// The index as a sum.
    sum: Option<Affine<i64, Extent>>,
    /// Whether the condition says that it is inside.
    is_asked: bool,
    /// Whether it is inside without a condition.
    is_inside: bool,
}

impl At {
    /// Whether this differs from another index by a literal only, and is inside where it is read.
    fn is_beside(&self, other: &At) -> bool {
        let (Some(a), Some(b)) = (&self.sum, &other.sum) else { return false };
        (self.is_asked || self.is_inside) && a.terms == b.terms
    }

    /// The number that it is at the first point, but for what all reads have.
    fn base(&self) -> i64 {
        self.sum.as_ref().map_or(0, |sum| sum.base)
    }
}

/// An index of all reads, along an axis of the array.
enum Along {
    /// Any, without a condition.
    Whole,
    /// The coordinates of these axes, times steps, and a number; the reads with the least and the greatest one.
    Window { steps: Vec<(usize, i64)>, least: usize, greatest: usize },
}

/// Reads of an array with a value around it.
struct Padded {
    reads: Vec<Choice>,
    along: Vec<Along>,
}

impl Padded {
    /// The axes of windows, each with the value of the least and of the greatest index.
    fn windows(&self) -> impl Iterator<Item = (usize, [Val; 2])> + '_ {
        self.along.iter().enumerate().filter_map(|(axis, along)| match along {
            Along::Whole => None,
            Along::Window { least, greatest, .. } => {
                Some((axis, [*least, *greatest].map(|k| self.reads[k].index[axis])))
            }
        })
    }
}

struct Pass {
    extents: Extents,
    types: Vec<ArrayType>,
    names: Vec<Option<Arc<str>>>,
    terms: HashSet<ArrayId>,
    repeating: HashSet<ArrayId>,
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
        let (f, [result]) = (of_points(op)?, &s.results[..]) else { return None };
        let ends = self.extents.of(*result).to_vec();
        let found = self.found(f, &ends, self.terms.contains(result))?;
        let index = index_of(f, ends.len(), &found, &s.loc)?;
        let shape = &shape_of(op, ends.len(), &s.loc)?;
        let Choice { array, leaf, .. } = found.reads[0];
        let elt = self.types[array.index()].elt.leaves()[leaf as usize];
        let stored = ArrayOp::Generate {
            shape: extents_of(&found, shape, &index, &s.loc),
            f: elements_of(&found, shape, &index, elt, &s.loc),
        };
        let padded = ArrayId(self.types.len() as u32);
        self.types.push(ArrayType { rank: found.along.len(), elt: elt.into() });
        self.names.push(self.names[array.index()].as_ref().map(|name| format!("padded {name}").into()));
        out.push(Stmt { results: smallvec![padded], op: stored, loc: s.loc.clone() });
        let f = reading(&found, f, shape, padded, &s.loc);
        Some(match op {
            ArrayOp::Map { xs, indexed, .. } => ArrayOp::Map { xs: xs.clone(), f, indexed: *indexed },
            _ => ArrayOp::Generate { shape: shape.clone(), f },
        })
    }

    /// Reads in a function of points, of an array that is to be stored with a value around it.
    fn found(&mut self, f: &Fun, ends: &[Extent], is_folded: bool) -> Option<Padded> {
        let point: Vec<Extent> = (0..ends.len()).map(|axis| self.extents.point(axis)).collect();
        let values = self.extents.known_values(f, &point, None);
        let sums = Sums { extents: &self.extents, values, point, ends };
        let mut left: Vec<Choice> = (0..f.body.nodes.len()).filter_map(|k| choice(f, k, &sums)).collect();
        left.retain(|c| !self.repeating.contains(&c.array));
        while let Some(first) = left.first() {
            let (array, leaf, other) = (first.array, first.leaf, first.other);
            let (same, rest) = left.into_iter().partition(|c| (c.array, c.leaf, c.other) == (array, leaf, other));
            left = rest;
            let found = padded(same, &sums).filter(|found| found.is_worth_it(&sums, is_folded));
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Values of a function of points, as sums.
struct Sums<'a> {
    extents: &'a Extents,
    values: HashMap<Val, Extent>,
    /// The coordinates of the point, and the extents of the axes.
    point: Vec<Extent>,
    ends: &'a [Extent],
}

impl Sums<'_> {
    fn of(&self, v: Val) -> Option<Affine<i64, Extent>> {
        self.values.get(&v).map(|e| self.extents.sum(*e))
    }

    /// Whether an index is a sum of coordinates and literals, and nowhere negative.
    fn is_natural(&self, index: &Affine<i64, Extent>) -> bool {
        index.base >= 0 && index.terms.iter().all(|t| t.step > 0 && self.point.contains(&t.axis))
    }

    /// The axes whose coordinates the index of a window has, with their steps; none if anything else of it varies.
    fn steps(&self, index: &Affine<i64, Extent>) -> Option<Vec<(usize, i64)>> {
        let mut steps = Vec::new();
        for Term { axis: of, step } in &index.terms {
            match self.point.iter().position(|p| p == of) {
                Some(axis) if step.abs() <= MAX_STEP => steps.push((axis, *step)),
                None if !self.extents.varies(*of) => {}
                _ => return None,
            }
        }
        Some(steps)
    }
}

/// The choice between an element of an array and a literal that a node is, if the condition is that indices are inside.
fn choice(f: &Fun, k: usize, sums: &Sums<'_>) -> Option<Choice> {
    let node = &f.body.nodes[k];
    let ScalarOp::If { cond, then, else_ } = &node.op else { return None };
    let ([read], [_]) = (&then.nodes[..], &node.results[..]) else { return None };
    let ScalarOp::Index(Read { array, leaves, index, .. }) = &read.op else { return None };
    if then.results[..] != read.results[..] {
        return None;
    }
    let other = literal(&else_.nodes, else_.results[0]).or_else(|| literal(&f.body.nodes, else_.results[0]))?;
    let mut conditions = conjuncts(f, *cond)?;
    let mut at = Vec::new();
    for (i, extent) in index.iter().zip(sums.extents.of(*array)) {
        let (sum, end) = (sums.of(*i), sums.extents.sum(*extent));
        let mut sides = [false; 2];
        conditions.retain(|(how, a, b)| {
            let (side, is_end) = match how {
                Comparison::AtLeast => (0, sums.of(*b).is_some_and(|b| b.is_uniform() && b.base == 0)),
                Comparison::Below => (1, sums.of(*b).is_some_and(|b| b == end)),
            };
            let this = is_end && sum.is_some() && sums.of(*a) == sum;
            sides[side] |= this;
            !this
        });
        let is_coordinate = |(axis, n): (&Extent, &Extent)| {
            sum.as_ref() == Some(&sums.extents.sum(*axis)) && end == sums.extents.sum(*n)
        };
        let is_inside = sums.point.iter().zip(sums.ends).any(is_coordinate);
        sides[0] |= sides[1] && sum.as_ref().is_some_and(|sum| sums.is_natural(sum));
        if !is_inside && sides[0] != sides[1] {
            return None;
        }
        at.push(At { sum, is_asked: sides[0] || sides[1], is_inside });
    }
    let (array, leaf) = (*array, *leaves.first()?);
    conditions.is_empty().then(|| Choice { node: k, array, leaf, other, index: index.to_vec(), at })
}

/// Those of the reads of an array that one array with padding has, if there are some.
fn padded(mut reads: Vec<Choice>, sums: &Sums<'_>) -> Option<Padded> {
    let rank = reads.first()?.at.len();
    let is_window: Vec<bool> = (0..rank).map(|axis| reads.iter().any(|r| r.at[axis].is_asked)).collect();
    let windows: Vec<usize> = (0..rank).filter(|axis| is_window[*axis]).collect();
    // All are compared with one that is inside along all axes of windows.
    let first = reads.iter().position(|r| windows.iter().all(|k| r.at[*k].is_asked || r.at[*k].is_inside))?;
    reads.swap(0, first);
    let (first, rest) = reads.split_at_mut(1);
    let fits = |r: &Choice| windows.iter().all(|k| r.at[*k].is_beside(&first[0].at[*k]));
    let fitting: Vec<bool> = std::iter::once(true).chain(rest.iter().map(fits)).collect();
    let mut fitting = fitting.into_iter();
    reads.retain(|_| fitting.next() == Some(true));
    let along = |axis: usize| {
        if !is_window[axis] {
            return Some(Along::Whole);
        }
        let steps = sums.steps(reads[0].at[axis].sum.as_ref()?)?;
        let base = |k: &usize| reads[*k].at[axis].base();
        let (least, greatest) = ((0..reads.len()).min_by_key(base)?, (0..reads.len()).max_by_key(base)?);
        Some(Along::Window { steps, least, greatest })
    };
    let along = (0..rank).map(along).collect::<Option<Vec<Along>>>()?;
    Some(Padded { reads, along })
}

impl Padded {
    /// Whether each element is read so often that storing it once more costs less than the conditions.
    fn is_worth_it(&self, sums: &Sums<'_>, is_folded: bool) -> bool {
        let steps =
            || self.along.iter().filter_map(|a| if let Along::Window { steps, .. } = a { Some(steps) } else { None });
        if !is_folded {
            let apart: i64 = steps().flatten().map(|(_, step)| step.abs()).product();
            return steps().count() > 1 && self.reads.len() as i64 >= MIN_READS * apart;
        }
        let overlapping = steps().filter(|steps| steps.len() > 1).count();
        let follows = |axis: &Extent| {
            self.reads[0]
                .at
                .iter()
                .any(|at| at.sum.as_ref().is_none_or(|sum| sum.terms.iter().any(|t| t.axis == *axis)))
        };
        let again = sums.point.iter().any(|axis| !follows(axis));
        overlapping > 1 || overlapping == 1 && again
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

/// The closed function that gives the extents of what such an operation computes.
fn shape_of(op: &ArrayOp, rank: usize, loc: &Loc) -> Option<Fun> {
    let xs = match op {
        ArrayOp::Generate { shape, .. } => return Some(shape.clone()),
        ArrayOp::Map { xs, .. } => xs,
        _ => return None,
    };
    let mut c = Code::new([], loc);
    let (first, others) = xs.split_first()?;
    let least = |axis: usize| {
        let n = c.extent(*first, axis);
        others.iter().fold(n, |n, x| {
            let m = c.extent(*x, axis);
            c.two(PrimOp::MinP, n, m)
        })
    };
    let extents: Vec<Val> = (0..rank).map(least).collect();
    Some(c.done(extents))
}

/// The function from a point to the least and the greatest index of each axis of windows, if it reads nothing and has no fault.
fn index_of(f: &Fun, rank: usize, of: &Padded, loc: &Loc) -> Option<Fun> {
    let mut c = Code::of_function(f, loc);
    c.set_params(f.body.params[..rank].to_vec());
    f.body.nodes.iter().for_each(|n| c.push(n.clone()));
    let index = c.done(of.windows().flat_map(|(_, ends)| ends));
    let is_divisor = |v: &Val| literal(&index.body.nodes, *v).is_some_and(|l| l.bits as i64 > 0);
    let is_partial = |n: &Node| match &n.op {
        ScalarOp::Prim(p, args) if p.is_partial() => !args.get(1).is_some_and(is_divisor),
        op => op.is_partial(),
    };
    (!index.body.nodes.iter().any(is_partial)).then_some(index)
}

/// The least and the greatest index of each axis of windows, over points of these extents.
fn ends_of(c: &mut Code, of: &Padded, extents: &[Val], index: &Fun) -> Vec<[Val; 2]> {
    let (zero, one) = (c.int(0), c.int(1));
    let last: Vec<Val> = extents.iter().map(|n| c.two(PrimOp::SubP, *n, one)).collect();
    let windows = of.along.iter().filter_map(|a| if let Along::Window { steps, .. } = a { Some(steps) } else { None });
    let mut at = |steps: &[(usize, i64)], result: usize, sign: i64| {
        let is_last = |axis: usize| steps.iter().any(|(of, step)| *of == axis && step * sign > 0);
        let point: Vec<Val> = last.iter().enumerate().map(|(k, n)| if is_last(k) { *n } else { zero }).collect();
        c.inline(index, &point)[result]
    };
    windows.enumerate().map(|(k, steps)| [at(steps, 2 * k, -1), at(steps, 2 * k + 1, 1)]).collect()
}

/// The extents of the padded array.
fn extents_of(of: &Padded, shape: &Fun, index: &Fun, loc: &Loc) -> Fun {
    let mut c = Code::new([], loc);
    let mut extents: Vec<Val> = (0..of.along.len()).map(|axis| c.extent(of.reads[0].array, axis)).collect();
    let ends = c.inline(shape, &[]);
    let (zero, one) = (c.int(0), c.int(1));
    for ((axis, _), [least, greatest]) in of.windows().zip(ends_of(&mut c, of, &ends, index)) {
        let way = c.two(PrimOp::SubP, greatest, least);
        let all = c.two(PrimOp::AddP, way, one);
        extents[axis] = c.two(PrimOp::MaxP, all, zero);
    }
    c.done(extents)
}

/// The elements of the padded array, for reads at points of this shape.
fn elements_of(of: &Padded, shape: &Fun, index: &Fun, ty: ScalarType, loc: &Loc) -> Fun {
    let Choice { array, leaf, other, .. } = of.reads[0];
    let mut c = Code::of_index(of.along.len(), loc);
    let mut at = c.params();
    let mut inside = None;
    let extents = c.inline(shape, &[]);
    for ((axis, _), [least, _]) in of.windows().zip(ends_of(&mut c, of, &extents, index)) {
        at[axis] = c.two(PrimOp::AddP, at[axis], least);
        let here = c.within_axis(&array, axis, at[axis]);
        inside = Some(inside.map_or(here, |inside| c.two(PrimOp::AndP, inside, here)));
    }
    let inside = inside.unwrap_or_else(|| c.truth(true));
    let read = |c: &mut Code| c.emit_all(ScalarOp::Index(Read::new(array, smallvec![leaf], at.clone())), &[ty]);
    let element = c.branch(inside, &[ty], read, |c| vec![c.literal(other)]);
    c.done(element)
}

/// The function of points, which reads the padded array.
fn reading(of: &Padded, f: &Fun, shape: &Fun, padded: ArrayId, loc: &Loc) -> Fun {
    let mut c = Code::of_function(f, loc);
    let mirrored = of.along.iter().any(|a| matches!(a, Along::Window { steps, .. } if steps.iter().any(|(_, step)| *step < 0)));
    let extents = if mirrored { c.inline(shape, &[]) } else { Vec::new() };
    for (k, node) in f.body.nodes.iter().enumerate() {
        let Some(read) = of.reads.iter().find(|r| r.node == k) else {
            c.push(node.clone());
            continue;
        };
        let mut index = read.index.clone();
        for (axis, along) in of.along.iter().enumerate() {
            let Along::Window { steps, least, .. } = along else { continue };
            let from_least = read.at[axis].base() - of.reads[*least].at[axis].base();
            index[axis] = steps.iter().fold(c.int(from_least), |sum, (axis, step)| {
                let mut along = f.body.params[*axis];
                if *step < 0 {
                    let (n, one) = (extents[*axis], c.int(1));
                    let last = c.two(PrimOp::SubP, n, one);
                    along = c.two(PrimOp::SubP, last, along);
                }
                let step = c.int(step.abs());
                let term = c.two(PrimOp::MulP, along, step);
                c.two(PrimOp::AddP, sum, term)
            });
        }
        let op = ScalarOp::Index(Read::new(padded, smallvec![0], index));
        c.push(Node { results: node.results.clone(), op, loc: node.loc.clone() });
    }
    c.done(f.body.results.iter().copied())
}
