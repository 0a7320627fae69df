//! Folds of folds: reductions along several of the innermost axes by one operator, such as a convolution's sum over a
//! window and over channels.
//!
//! A fold whose elements are folds by the same operator is one fold along the axes of both. It is taken as one kernel
//! where neighbours along the axis of its results read neighbours in memory: rows then run side by side, and what is
//! folded inside never meets memory. Elsewhere the inner fold, which runs along memory, stays a kernel of its own.

use super::uses::is_matrix_product;
use crate::analysis::contraction::{Definitions, contraction};
use crate::analysis::operators::reductions;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, PrimOp, Program, ScalarOp, Stmt, Val};
use std::collections::HashMap;

/// How many statements a value is followed through.
const MAX_FOLLOWED_STATEMENTS: usize = 32;

/// Whether two nested folds can be one fold over the axes of both; the outer one is the inner one's only use. `rank` is that of
/// the outermost fold's result.
pub(super) fn nests(p: &Program, defs: &Definitions<'_>, outer: &Stmt, inner: &Stmt, rank: usize) -> bool {
    let (ArrayOp::Fold { f, init, .. }, ArrayOp::Fold { f: g, init: own, xs }) = (&outer.op, &inner.op) else {
        return false;
    };
    let Some(ops) = reductions(f).filter(|ops| reductions(g).as_ref() == Some(ops)) else { return false };
    let begins_equal = match (init, own) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            literals(one).is_some_and(|l| literals(other).as_ref() == Some(&l) && is_neutral(&ops, &l))
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    let Some(lane) = rank.checked_sub(1) else { return false };
    let elements = defs.get(*xs).filter(|s| matches!(s.op, ArrayOp::Fold { .. }));
    let is_outer = elements.is_some_and(|s| nests(p, defs, inner, s, rank));
    let (along, across) = reads(p, defs, *xs, lane, MAX_FOLLOWED_STATEMENTS);
    let product = contraction(defs, inner).is_some_and(|c| is_matrix_product(&c));
    begins_equal && !product && (is_outer || (across > 0 && across >= along))
}

/// What a closed function yields, if these are literals.
fn literals(f: &Fun) -> Option<Vec<Lit>> {
    let literal = |v: &Val| match &f.body.nodes.iter().find(|n| n.results.contains(v))?.op {
        ScalarOp::Const(l) => Some(*l),
        _ => None,
    };
    f.body.results.iter().map(literal).collect()
}

/// Whether initial values change nothing that began with them before.
fn is_neutral(ops: &[PrimOp], values: &[Lit]) -> bool {
    ops.iter().zip(values).all(|(op, l)| match op {
        // An initial 0.0 of the outer fold makes the same of -0.0.
        PrimOp::AddP | PrimOp::XorP => *l == Lit::zero(l.ty),
        PrimOp::MulP => *l == Lit::one(l.ty),
        PrimOp::MinP | PrimOp::MaxP | PrimOp::AndP | PrimOp::OrP => true,
        _ => false,
    })
}

/// How many reads of an element of an array move with its innermost axis, and how many with axis `lane`, along the last
/// dimension of what they read.
fn reads(p: &Program, defs: &Definitions<'_>, a: ArrayId, lane: usize, depth: usize) -> (usize, usize) {
    let inner = p.ty(a).rank - 1;
    let one = |across: bool| if across { (0, 1) } else { (1, 0) };
    let Some(s) = defs.get(a).filter(|_| depth > 0) else { return one(inner == lane) };
    let of_function = |f: &Fun| {
        let moved = Moved::new(f, lane);
        let last = f.body.nodes.iter().filter_map(|n| match &n.op {
            ScalarOp::Index(read) => read.index.last(),
            _ => None,
        });
        last.fold((0, 0), |sum, v| add(sum, one(moved.by(*v) != 0)))
    };
    match &s.op {
        ArrayOp::Generate { f, .. } => of_function(f),
        ArrayOp::Map { f, xs, indexed } => {
            let own = if *indexed { of_function(f) } else { (0, 0) };
            xs.iter().fold(own, |sum, x| add(sum, reads(p, defs, *x, lane, depth - 1)))
        }
        ArrayOp::Backpermute { index, .. } => match index.body.results.last() {
            Some(v) => one(Moved::new(index, lane).by(*v) != 0),
            None => (0, 0),
        },
        ArrayOp::Replicate { axes, .. } => match axes.iter().rposition(|a| *a == Axis::All) {
            Some(last) => one(last == lane),
            None => (0, 0),
        },
        _ => one(inner == lane),
    }
}

fn add(a: (usize, usize), b: (usize, usize)) -> (usize, usize) {
    (a.0 + b.0, a.1 + b.1)
}

/// How values of a function move with one of its parameters, where they are affine in it.
struct Moved(HashMap<Val, i64>);

impl Moved {
    fn new(f: &Fun, param: usize) -> Moved {
        let mut of: HashMap<Val, i64> = f.body.params.get(param).map(|v| (*v, 1)).into_iter().collect();
        let literals: HashMap<Val, i64> = f
            .body
            .nodes
            .iter()
            .filter_map(|n| match n.op {
                ScalarOp::Const(l) if l.ty == ScalarType::I64 => Some((n.results[0], i64::from_bits64(l.bits))),
                _ => None,
            })
            .collect();
        for n in &f.body.nodes {
            let by = |v: &Val| of.get(v).copied().unwrap_or(0);
            let moves = match &n.op {
                ScalarOp::Prim(PrimOp::AddP, v) => by(&v[0]).wrapping_add(by(&v[1])),
                ScalarOp::Prim(PrimOp::SubP, v) => by(&v[0]).wrapping_sub(by(&v[1])),
                ScalarOp::Prim(PrimOp::MulP, v) => match (literals.get(&v[0]), literals.get(&v[1])) {
                    (_, Some(c)) => by(&v[0]).wrapping_mul(*c),
                    (Some(c), None) => by(&v[1]).wrapping_mul(*c),
                    (None, None) => 0,
                },
                _ => 0,
            };
            if let ([v], true) = (&n.results[..], moves != 0) {
                of.insert(*v, moves);
            }
        }
        Moved(of)
    }

    fn by(&self, v: Val) -> i64 {
        self.0.get(&v).copied().unwrap_or(0)
    }
}
