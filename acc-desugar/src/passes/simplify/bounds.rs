//! Rule `bounds`: a coordinate is at least 0 and less than the extent of its axis.
//!
//! Where a comparison says what holds at every point of the statement's index space, or at none, it is a truth value. What is
//! compared are expressions ([`Extents`]) and their sums: `(i + 1 - p) + (p - 1)` is the coordinate `i`, and an extent need not
//! be that of the result itself.

use super::walk::{of_points, space_of, try_map_funs};
use crate::analysis::comparison::{Comparison, comparison, decided};
use crate::analysis::extents::Extents;
use crate::settings::Settings;
use acc_core::ir::{ArrayId, Block, Fun, Program, Val};
use acc_core::{Error, grow_stack};
use std::borrow::Cow;
use std::collections::HashMap;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("bounds") || !compares(&p.body) {
        return Ok(Cow::Borrowed(p));
    }
    let mut extents = Extents::new(p);
    try_map_funs(p, &mut |s, f| {
        limits.check()?;
        Ok(match space_of(s, f) {
            Some(space) => decided(f, &known(&mut extents, f, space)),
            None => f.clone(),
        })
    })
    .map(Cow::Owned)
}

/// Whether a program has a comparison of integers in a function of points.
fn compares(b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        let mut any = false;
        if let Some((f, _)) = of_points(s) {
            f.body.visit(0, &mut |n, _| any |= comparison(f, &n.op).is_some());
        }
        any || s.op.blocks().into_iter().any(|b| grow_stack(|| compares(b)))
    })
}

/// The comparisons of a function that are the same at all points of a space.
fn known(extents: &mut Extents, f: &Fun, space: ArrayId) -> HashMap<Val, bool> {
    let (point, ends, values) = extents.at_point(f, space);
    let sum = |v: Val| values.get(&v).map(|e| extents.sum(*e));
    let axis = |v: Val| {
        let sum = sum(v)?;
        point.iter().position(|i| sum == extents.sum(*i))
    };
    // Whether a number is the extent of an axis, and whether it is no greater than any coordinate.
    let is_end = |v: Val, axis: usize| sum(v) == Some(extents.sum(ends[axis]));
    let is_start = |v: Val| sum(v).is_some_and(|sum| sum.is_uniform() && sum.base <= 0);
    let mut known = HashMap::new();
    f.body.visit(0, &mut |n, _| {
        let (Some((how, i, other)), [result]) = (comparison(f, &n.op), &n.results[..]) else { return };
        let Some(axis) = axis(i) else { return };
        let truth = match how {
            Comparison::AtLeast if is_start(other) => true,
            Comparison::AtLeast if is_end(other, axis) => false,
            Comparison::Below if is_start(other) => false,
            Comparison::Below if is_end(other, axis) => true,
            Comparison::AtLeast | Comparison::Below => return,
        };
        known.insert(*result, truth);
    });
    known
}

#[cfg(test)]
mod tests {
    /// Whether a comparison is still there after simplification, at points of the extents of `a`.
    fn is_left(comparison: &str) -> bool {
        let text = format!(
            "program(a: [2]i64, n: [0]i64) {{
               g: [2]bool = generate(shape: || (extent(a, 0), extent(a, 1)), f: |%i: i64, %j: i64| {{
                 %c: bool = {comparison}
                 yield %c
               }})
               yield g
             }}"
        );
        let simplified = crate::simplify(&acc_core::text::parse("test.acc", &text).unwrap()).to_string();
        ["ge(", "le(", "gt(", "lt("].iter().any(|p| simplified.contains(p))
    }

    #[test]
    fn coordinates_are_compared_with_their_bounds_as_sums() {
        for decided in [
            "ge(%i, 0i64)",
            "lt(%j, extent(a, 1))",
            "le(extent(a, 0), %i)",
            "ge(sub(add(sub(%i, %j), %j), 0i64), -1i64)",
            "lt(add(sub(add(%i, 1i64), %j), sub(%j, 1i64)), extent(a, 0))",
            "ge(add(sub(%j, n[]), n[]), sub(n[], n[]))",
        ] {
            assert!(!is_left(decided), "{decided}");
        }
        for left in [
            "ge(%i, 1i64)",
            "lt(%i, extent(a, 1))",
            "ge(add(%i, 1i64), 0i64)",
            "lt(mul(%i, 2i64), extent(a, 0))",
            "ge(add(%i, n[]), 0i64)",
            "lt(add(%i, n[]), add(extent(a, 0), n[]))",
        ] {
            assert!(is_left(left), "{left}");
        }
    }
}
