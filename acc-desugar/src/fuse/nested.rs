//! Folds of folds: reductions along several of the innermost axes by one operator, such as a convolution's sum over a
//! window and over channels.
//!
//! A fold whose elements are folds by the same operator is one fold along the axes of both. It is taken as one kernel
//! where neighbours along the axis of its results read neighbours in memory: rows then run side by side, and what is
//! folded inside never meets memory. It is, too, where rows are contiguous and apart: each of them is folded along itself, and all of them
//! are one row where they follow each other. Elsewhere the inner fold stays a kernel of its own. Where the program has a schedule, its
//! number of axes decides instead.

use super::uses::is_matrix_product;
use crate::analysis::contraction::{Definitions, contraction};
use crate::analysis::operators::reductions;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Fun, PrimOp, Program, ScalarOp, Stmt, Val};
use std::cell::Cell;
use std::collections::HashMap;

/// How many statements a value is followed through one after the other, and how many in all: what is used several times is
/// followed as often.
const MAX_FOLLOWED_DEPTH: usize = 32;
const MAX_FOLLOWED_STATEMENTS: usize = 1024;

/// Whether two nested folds can be one fold over the axes of both; the outer one is the inner one's only use. `rank` is that of
/// the outermost fold's result, `scheduled` the axes of its schedule, if it has one.
pub(super) fn nests(
    p: &Program,
    defs: &Definitions<'_>,
    outer: &Stmt,
    inner_fold: &Stmt,
    rank: usize,
    scheduled: Option<usize>,
) -> bool {
    let (ArrayOp::Fold { f, init, .. }, ArrayOp::Fold { f: g, init: own, xs }) = (&outer.op, &inner_fold.op) else {
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
    let is_outer = elements.is_some_and(|s| nests(p, defs, inner_fold, s, rank, scheduled));
    let along = |axis: usize| {
        let moves: Vec<i64> = (0..p.ty(*xs).rank).map(|k| i64::from(k == axis)).collect();
        reads(defs, *xs, &moves, MAX_FOLLOWED_DEPTH, &Cell::new(MAX_FOLLOWED_STATEMENTS))
    };
    let (lanes, inner) = (along(lane), along(p.ty(*xs).rank - 1));
    let side_by_side = lanes.near > 0 && (lanes.far == 0 || lanes.near >= inner.near);
    let products = contraction(defs, inner_fold);
    // Rows apart from each other are folded along themselves, but sums of products are not, whose terms have an order.
    let by_rows = products.is_none() && lanes.near == 0 && inner.near > 0 && inner.far == 0;
    let is_product = products.is_some_and(|c| is_matrix_product(&c));
    let pays = || scheduled.map_or(is_outer || side_by_side || by_rows, |axes| axes >= p.ty(*xs).rank);
    begins_equal && !is_product && pays()
}

/// What a closed function yields, if these are literals.
fn literals(f: &Fun) -> Option<Vec<Lit>> {
    f.body.results.iter().map(|v| f.body.literal(*v)).collect()
}

/// Whether initial values change nothing that began with them before.
fn is_neutral(ops: &[PrimOp], values: &[Lit]) -> bool {
    ops.iter().zip(values).all(|(op, l)| match op {
        // An initial 0.0 of the outer fold makes the same of -0.0.
        PrimOp::AddP | PrimOp::XorP => *l == Lit::zero(l.ty),
        PrimOp::MulP => *l == Lit::one(l.ty),
        PrimOp::MinP | PrimOp::MaxP | PrimOp::AndP | PrimOp::OrP => true,
        // Of other operators it is not known.
        _ => false,
    })
}

/// The largest step between neighbours that are read together.
const MAX_NEIGHBOUR_STEP: i64 = 4;

/// How the reads of an element of an array move when the indices of its axes move by so much.
#[derive(Clone, Copy, Default)]
struct Moving {
    /// Those that move along the last dimension alone, to a neighbour.
    near: usize,
    /// Those that move otherwise.
    far: usize,
}

impl Moving {
    fn add(self, other: Moving) -> Moving {
        Moving { near: self.near + other.near, far: self.far + other.far }
    }

    /// A read whose index moves so.
    fn read(moves: &[i64]) -> Moving {
        match moves.split_last() {
            Some((last, outer))
                if outer.iter().all(|m| *m == 0) && last.unsigned_abs() <= MAX_NEIGHBOUR_STEP as u64 =>
            {
                Moving { near: usize::from(*last != 0), far: 0 }
            }
            Some(_) => Moving { near: 0, far: 1 },
            None => Moving::default(),
        }
    }
}

/// The reads of an element of an array whose index moves so; `left` statements are followed in all.
fn reads(defs: &Definitions<'_>, a: ArrayId, moves: &[i64], depth: usize, left: &Cell<usize>) -> Moving {
    let Some(s) = defs.get(a).filter(|_| depth > 0 && left.get() > 0) else { return Moving::read(moves) };
    left.set(left.get() - 1);
    let of_function = |f: &Fun| {
        let moved = Moved::new(f, moves);
        let mut sum = Moving::default();
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Index(read) = &n.op {
                let moves: Vec<i64> = read.index.iter().map(|v| moved.by(*v)).collect();
                sum = sum.add(reads(defs, read.array, &moves, depth - 1, left));
            }
        });
        sum
    };
    match &s.op {
        ArrayOp::Generate { f, .. } => of_function(f),
        ArrayOp::Map { f, xs, indexed } => {
            let own = if *indexed { of_function(f) } else { Moving::default() };
            xs.iter().fold(own, |sum, x| sum.add(reads(defs, *x, moves, depth - 1, left)))
        }
        ArrayOp::Backpermute { index, xs, .. } => {
            let moved = Moved::new(index, moves);
            let moves: Vec<i64> = index.body.results.iter().map(|v| moved.by(*v)).collect();
            reads(defs, *xs, &moves, depth - 1, left)
        }
        ArrayOp::Replicate { axes, xs, .. } => {
            let kept = axes.iter().zip(moves).filter(|(a, _)| **a == Axis::All);
            reads(defs, *xs, &kept.map(|(_, m)| *m).collect::<Vec<_>>(), depth - 1, left)
        }
        // Stored, and read where it is.
        _ => Moving::read(moves),
    }
}

/// How values of a function move with its parameters, where they are affine in them.
struct Moved(HashMap<Val, i64>);

impl Moved {
    fn new(f: &Fun, params: &[i64]) -> Moved {
        let moving = f.body.params.iter().copied().zip(params.iter().copied());
        let mut of: HashMap<Val, i64> = moving.filter(|(_, by)| *by != 0).collect();
        let mut literals: HashMap<Val, i64> = HashMap::new();
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Const(l) = &n.op
                && l.ty == ScalarType::I64
            {
                literals.insert(n.results[0], i64::from_bits64(l.bits));
            }
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
        });
        Moved(of)
    }

    fn by(&self, v: Val) -> i64 {
        self.0.get(&v).copied().unwrap_or(0)
    }
}
