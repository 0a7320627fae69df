//! Rule `invariants`: statements that do not depend on a loop over arrays stand before it.
//!
//! A statement leaves a loop's blocks if it ends without a fault whatever the arguments, does more for an element than reading a
//! stored one costs, and uses arrays from outside alone. With it leave the statements that it needs.

use super::walk::{Watch, invariants, map_op};
use crate::analysis::cost::prim_cost;
use crate::analysis::extents::Extents;
use crate::analysis::total::is_total;
use crate::settings::Settings;
use acc_core::ir::{ArrayOp, Block, Program, ScalarOp, Stmt, arrays_needed, arrays_on_demand};
use acc_core::{Error, grow_stack};
use std::borrow::Cow;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("invariants") || !has_loop(&p.body) {
        return Ok(Cow::Borrowed(p));
    }
    let mut h = Hoist { extents: Extents::new(p), watch: Watch::new(limits) };
    let body = h.block(&p.body);
    h.watch.end()?;
    Ok(Cow::Owned(Program { types: p.types.clone(), names: p.names.clone(), body }))
}

/// What an element may cost, as [`prim_cost`] has it, so that computing it again is cheaper than to store and read it.
const MAX_COST_OF_AGAIN: usize = 16;

fn has_loop(b: &Block) -> bool {
    b.stmts
        .iter()
        .any(|s| matches!(s.op, ArrayOp::While { .. }) || s.op.blocks().into_iter().any(|b| grow_stack(|| has_loop(b))))
}

struct Hoist<'a> {
    extents: Extents,
    watch: Watch<'a>,
}

impl Hoist<'_> {
    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            if self.watch.stops() {
                break;
            }
            // Inner loops first: what leaves them may leave this one, too.
            let mut op = map_op(&s.op, &mut |f| f.clone(), &mut |a| a, &mut |b, _| grow_stack(|| self.block(b)));
            if let ArrayOp::While { test, step, .. } = &mut op {
                self.leave(test, &mut stmts);
                self.leave(step, &mut stmts);
            }
            stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    /// Moves invariant statements of a loop's block to the end of `before`.
    fn leave(&self, b: &mut Block, before: &mut Vec<Stmt>) {
        let moved = invariants(
            &b.stmts,
            &b.params,
            |s| [arrays_needed(s), arrays_on_demand(s)].concat(),
            |s| &s.results,
            |s| is_total(s, &self.extents),
            |s| is_costly(&s.op),
        );
        let mut moves = moved.into_iter();
        let (out, stay) = std::mem::take(&mut b.stmts).into_iter().partition(|_| moves.next().unwrap_or(false));
        b.stmts = stay;
        before.extend::<Vec<Stmt>>(out);
    }
}

/// Whether an element of the result costs more than to read it where it is stored.
fn is_costly(op: &ArrayOp) -> bool {
    let mut cost = 0;
    for (_, f) in op.funs() {
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::Prim(p, _) = &n.op {
                cost += prim_cost(*p);
            }
        });
    }
    matches!(op, ArrayOp::Fold { .. } | ArrayOp::Scan { .. }) || cost > MAX_COST_OF_AGAIN
}

#[cfg(test)]
mod tests {
    /// A loop with this statement in its step, after simplification: what stands before the loop, and the loop.
    fn simplified(statement: &str) -> (String, String) {
        let text = format!(
            "program(w: [2]f32, x: [1]f32, k: [0]i64) {{
               n: [0]i64 = generate(shape: || (), f: || 0i64)
               m: [0]i64, y: [1]f32 = awhile(n, x,
                 test: |m: [0]i64, y: [1]f32| {{
                   t: [0]bool = generate(shape: || (), f: || lt(m[], k[]))
                   yield t
                 }},
                 step: |m: [0]i64, y: [1]f32| {{
                   l: [0]i64 = map(m, f: |%m: i64| add(%m, 1i64))
                   {statement}
                   z: [1]f32 = zip_with(y, s, f: |%y: f32, %s: f32| add(%y, %s))
                   yield l, z
                 }})
               yield y
             }}"
        );
        let program = acc_core::text::parse("test.acc", &text).unwrap_or_else(|e| panic!("{e}"));
        let mut before = crate::simplify(&program).to_string();
        let after = before.split_off(before.find("awhile(").expect("the loop stays"));
        (before, after)
    }

    const SUMS: &str = "s: [1]f32 = fold(w, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)";

    #[test]
    fn a_sum_of_what_no_step_changes_is_made_once() {
        for statement in [
            SUMS,
            "e: [2]f32 = map(w, f: |%w: f32| mul(%w, %w))
             s: [1]f32 = fold(e, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)",
            "s: [1]f32 = map(x, f: |%x: f32| exp(%x))",
        ] {
            let (before, after) = simplified(statement);
            for op in ["fold(", "exp(", "mul("] {
                assert_eq!(before.contains(op), statement.contains(op), "{before}");
                assert!(!after.contains(op), "{after}");
            }
        }
    }

    #[test]
    fn what_is_cheap_may_fault_or_changes_stays() {
        for statement in [
            "s: [1]f32 = map(x, f: |%x: f32| mul(%x, 2f32))",
            "s: [1]f32 = map(x, f: |%x: f32| exp(x[add(k[], 1i64)]))",
            "s: [1]f32 = map(y, f: |%y: f32| exp(%y))",
            "s: [1]f32 = fold(w, f: |%a: f32, %b: f32| add(%a, mul(%b, y[k[]])), init: || 0.0f32)",
        ] {
            let (before, _) = simplified(statement);
            assert!(!before.contains("exp(") && !before.contains("fold(") && !before.contains("mul("), "{before}");
        }
    }
}
