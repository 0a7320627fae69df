//! Permutations that keep one of two elements whole, the one whose leaf compares so: the greatest of each group with where
//! it was, the nearest one with its distance.
//!
//! In the order of the source an element replaces the current one of its target if it compares so with that. The last one is
//! an extreme, then: of equal ones the first if only greater ones replace it, else the last. So the extreme of each target
//! is found, then which element has it, and that one is read. No step depends on how many elements have one target.

use crate::graph::builder::Builder;
use crate::graph::{ReduceOp, ScatterMode, Value};
use acc_core::data::Prim;
use acc_core::ir::{Fun, PrimOp, Region, ScalarOp, Val};

/// An operator on a new element and the old one that yields the new one if its leaf compares so with the old one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// The leaf that is compared.
    leaf: usize,
    /// The extreme that is kept.
    best: ReduceOp,
    /// Whether of equal elements the old one is kept.
    strict: bool,
}

impl Choice {
    /// What choice an operator is, whether it is written as a selection or as branches.
    pub(crate) fn of(f: &Fun) -> Option<Choice> {
        let n = f.body.results.len();
        let (new, old) = f.body.params.split_at_checked(n)?;
        let def = |v: Val| f.body.nodes.iter().find(|node| node.results.contains(&v));
        let mut cond: Option<Val> = None;
        for (k, result) in f.body.results.iter().enumerate() {
            let node = def(*result)?;
            let yields = |r: &Region, k: usize| r.results.get(k).copied().filter(|_| r.nodes.is_empty());
            let (c, then, else_) = match &node.op {
                ScalarOp::Select { cond, then, else_ } => (*cond, Some(*then), Some(*else_)),
                ScalarOp::If { cond, then, else_ } => {
                    let k = node.results.iter().position(|r| r == result)?;
                    (*cond, yields(then, k), yields(else_, k))
                }
                _ => return None,
            };
            if then != new.get(k).copied() || else_ != old.get(k).copied() || cond.is_some_and(|other| other != c) {
                return None;
            }
            cond = Some(c);
        }
        let ScalarOp::Prim(p, args) = &def(cond?)?.op else { return None };
        let [x, y] = args[..] else { return None };
        let leaf = new.iter().position(|v| *v == x || *v == y)?;
        let swapped = (x, y) == (old[leaf], new[leaf]);
        if !swapped && (x, y) != (new[leaf], old[leaf]) {
            return None;
        }
        // Whether the new one is kept if it is greater, and if it is equal.
        let (greater, strict) = match p {
            PrimOp::GtP => (!swapped, true),
            PrimOp::GeP => (!swapped, false),
            PrimOp::LtP => (swapped, true),
            PrimOp::LeP => (swapped, false),
            _ => return None,
        };
        let best = ReduceOp::of(if greater { PrimOp::MaxP } else { PrimOp::MinP }, f.ty(x))?;
        Some(Choice { leaf, best, strict })
    }
}

/// What is at `len` places after `n` elements, each at its position `at`, went there one after the other.
pub(crate) fn permute_chosen(
    g: &mut Builder,
    choice: Choice,
    base: &[Value],
    at: Value,
    values: &[Value],
    [n, len]: [Value; 2],
) -> Vec<Value> {
    let (key, old) = (values[choice.leaf], base[choice.leaf]);
    let ty = g.scalar(key);
    // A NaN takes nobody's place, and nothing takes that of one.
    let (mut counted, mut open) = (key, None);
    if ty.is_float() {
        let nan = g.prim(PrimOp::IsNanP, &[key]);
        let worst = g.constant(choice.best.neutral(ty));
        counted = g.where_(nan, worst, key);
        let nan = g.prim(PrimOp::IsNanP, &[old]);
        open = Some(g.not(nan));
    }
    let best = g.scatter(old, at, counted, ScatterMode::Combine(choice.best));
    let of_each = g.gather(best, at);
    let has_it = g.prim(PrimOp::EqP, &[key, of_each]);
    // The first that has it, or the last; where none has, a position that is none.
    let positions = g.iota(n);
    let (none, which) = match choice.strict {
        true => (g.tensor_of_size(n), ReduceOp::Min),
        false => (g.constant((-1i64).lit()), ReduceOp::Max),
    };
    let candidates = g.where_(has_it, positions, none);
    let nobody = g.full(none, &[len]);
    let found = g.scatter(nobody, at, candidates, ScatterMode::Combine(which));
    let mut taken = g.prim(PrimOp::NeP, &[found, none]);
    if choice.strict {
        let better = g.prim(PrimOp::NeP, &[old, best]);
        taken = g.and(taken, better);
    }
    if let Some(open) = open {
        taken = g.and(taken, open);
    }
    let zero = g.constant(0i64.lit());
    let from = g.where_(taken, found, zero);
    let kept = base.iter().zip(values);
    kept.map(|(b, v)| {
        let new = g.gather(*v, from);
        g.where_(taken, new, *b)
    })
    .collect()
}
