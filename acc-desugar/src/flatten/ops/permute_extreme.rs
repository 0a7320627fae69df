//! Permutations that keep one of two elements whole, the one whose leaf compares so: the greatest of each group with where
//! it was, the nearest one with its distance.
//!
//! In the order of the source an element replaces the current one of its target if it compares so with that. The last one is
//! an extreme, then: of equal ones the first if only greater ones replace it, else the last. So the extreme of each target
//! is found, then which element has it, and that one is read. No step depends on how many elements have one target.

use crate::analysis::choice::{Choice, Ties};
use crate::flatten::ops::chosen::comparable;
use crate::graph::builder::Builder;
use crate::graph::{ReduceOp, ScatterMode, Value};
use acc_core::data::Prim;
use acc_core::ir::PrimOp;

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
    // A NaN takes nobody's place, and nothing takes that of one.
    let counted = comparable(g, choice, key);
    let open = g.scalar(key).is_float().then(|| {
        let nan = g.prim(PrimOp::IsNanP, &[old]);
        g.not(nan)
    });
    let best = g.scatter(old, at, counted, ScatterMode::Combine(choice.best));
    let of_each = g.gather(best, at);
    let has_it = g.prim(PrimOp::EqP, &[key, of_each]);
    // The first that has it, or the last; where none has, a position that is none.
    let positions = g.iota(n);
    let (none, which) = match choice.ties {
        Ties::First => (g.tensor_of_size(n), ReduceOp::Min),
        Ties::Last => (g.constant((-1i64).lit()), ReduceOp::Max),
    };
    let candidates = g.where_(has_it, positions, none);
    let nobody = g.full(none, &[len]);
    let found = g.scatter(nobody, at, candidates, ScatterMode::Combine(which));
    let mut taken = g.prim(PrimOp::NeP, &[found, none]);
    if choice.ties == Ties::First {
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
