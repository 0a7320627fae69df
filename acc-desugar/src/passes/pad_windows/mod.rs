//! Windows that reach beyond the edges of an array read it where it has been stored with the value around it.
//!
//! A sum over windows with padding asks of each element of each window whether it is inside of the array: for a convolution of
//! 64 channels by 64 filters of 3×3, 36,864 times for each image position. Stored once with its padding, the array is read without a
//! condition, and the sum is that of a convolution without padding.
//!
//! Reads `if inside(i) { x[i] } else { literal }`, one or several of the same array, are replaced where
//!
//! * some indices of `x` are those of windows: `Σ step·coordinate` and a number that is the same at all points, with literal steps
//!   of at most [`reads::MAX_WINDOW_STEP`], of either sign; between reads these numbers differ by literals;
//! * the condition is that each of these is inside, and nothing else. Where no index of a window is negative its end is enough;
//! * each element is read often: the terms of a fold read it in windows that overlap along two axes, or have an axis that the
//!   read does not follow; or the elements of windows along two axes are written out, as in the maximum of three by three;
//! * the array does not repeat its elements along an axis: it would be stored with all of them.
//!
//! The padded array begins with the least index that a window has, and ends with the greatest one. Along other axes it is as long
//! as the array: an index beyond these is a fault as before, or one that the run after a fault does not find.

mod code;
mod reads;

use crate::analysis::extents::{Extent, Extents};
use crate::analysis::readers::Readers;
use crate::passes::simplify::map_op;
use crate::settings::Settings;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Class, Fun, Names, Node, Program, ScalarOp, Stmt, Val};
use acc_core::{Error, grow_stack};
use code::{elements_of, extents_of, index_of, reading, shape_of};
use reads::{Choice, Contents, Padded, Sums, choice, padded};
use smallvec::smallvec;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !settings.rules.on("pad_windows") || !chooses(&program.body) {
        return Ok(Cow::Borrowed(program));
    }
    let names = (0..program.types.len() as u32).map(|k| program.names.get(ArrayId(k)).cloned()).collect();
    let (extents, types) = (Extents::new(program), program.types.clone());
    let mut p = Pass { extents, types, names, terms: HashSet::new(), repeating: HashSet::new(), padded: Vec::new() };
    terms(&program.body, &Readers::new(&program.body), &mut p.terms);
    repeating(&program.body, &mut p.repeating);
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
fn terms(b: &Block, readers: &Readers, out: &mut HashSet<ArrayId>) {
    for s in b.stmts.iter().rev() {
        let is_folded = match s.op.class() {
            Class::Fold => true,
            Class::Pointwise => s.results.iter().all(|r| out.contains(r)),
            Class::Segments | Class::Scan | Class::Scatter | Class::Sort | Class::View | Class::Control => false,
        };
        if is_folded {
            out.extend(s.op.arrays().into_iter().filter(|a| readers.is_one(*a)));
        }
        s.op.blocks().into_iter().for_each(|b| grow_stack(|| terms(b, readers, out)));
    }
}

/// The arrays that repeat their elements along an axis.
fn repeating(b: &Block, out: &mut HashSet<ArrayId>) {
    for s in &b.stmts {
        if let ArrayOp::Generate { f, .. } = &s.op
            && f.body.params.iter().any(|axis| !uses(f, *axis))
        {
            out.extend(&s.results);
        }
        s.op.blocks().into_iter().for_each(|b| grow_stack(|| repeating(b, out)));
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

struct Pass {
    extents: Extents,
    types: Vec<ArrayType>,
    names: Vec<Option<Arc<str>>>,
    terms: HashSet<ArrayId>,
    repeating: HashSet<ArrayId>,
    /// The padded arrays that there are where statements are looked at.
    padded: Vec<(Contents, ArrayId)>,
}

impl Pass {
    fn block(&mut self, b: &Block) -> Block {
        let (mut stmts, outer) = (Vec::with_capacity(b.stmts.len()), self.padded.len());
        for s in &b.stmts {
            let mut block = |b: &Block, _: &mut dyn FnMut(&Fun) -> Fun| grow_stack(|| self.block(b));
            let mut op = map_op(&s.op, &mut Fun::clone, &mut |a| a, &mut block);
            while let Some(rest) = self.padded(&op, s, &mut stmts) {
                op = rest;
            }
            stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
        }
        self.padded.truncate(outer);
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    /// Stores an array that terms read with a value around it, and gives the terms that read it there.
    fn padded(&mut self, op: &ArrayOp, s: &Stmt, out: &mut Vec<Stmt>) -> Option<ArrayOp> {
        let (f, [result]) = (of_points(op)?, &s.results[..]) else { return None };
        let ends = self.extents.of(*result).to_vec();
        let found = self.found(f, &ends, self.terms.contains(result))?;
        let index = index_of(f, ends.len(), &found, &s.loc)?;
        let shape = &shape_of(op, ends.len(), &s.loc)?;
        let contents = found.contents();
        let padded = match self.padded.iter().find(|(has, _)| *has == contents) {
            Some((_, padded)) => *padded,
            None => {
                let (array, leaf, ..) = contents;
                let elt = self.types[array.index()].elt.leaves()[leaf as usize];
                let stored = ArrayOp::Generate {
                    shape: extents_of(&found, shape, &index, &s.loc),
                    f: elements_of(&found, shape, &index, elt, &s.loc),
                };
                let padded = ArrayId(self.types.len() as u32);
                self.types.push(ArrayType { rank: found.along.len(), elt: elt.into() });
                self.names.push(self.names[array.index()].as_ref().map(|name| format!("padded {name}").into()));
                out.push(Stmt { results: smallvec![padded], op: stored, loc: s.loc.clone() });
                self.padded.push((contents, padded));
                padded
            }
        };
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
