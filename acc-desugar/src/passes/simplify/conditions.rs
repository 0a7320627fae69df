//! Rule `conditions`: in a branch, what its condition says of integers holds.
//!
//! In `if 0 <= i && i < n { x[min(max(i, 0), n - 1)] } else { y }` the position is `i` itself. So the least and the greatest of
//! two integers are one of them where a condition says which, and comparisons that follow from it are truth values. What is
//! compared are values of `i64` and their sums with literals; sums wrap around, so a fact about one sum says something of
//! another only where neither can. Of a coordinate it is known that it is at least 0 and less than its extent, so that
//! `if i == 0 { true } else { x[max(i - 1, 0)] != x[i] }` reads the element before, too.

use super::walk::{space_of, try_map_funs};
use crate::analysis::comparison::{Comparison, comparison};
use crate::analysis::extents::{Extent, Extents};
use crate::settings::Settings;
use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::ir::{ArrayId, Fun, Node, PrimOp, Program, Region, ScalarOp, Val};
use acc_core::{Error, grow_stack};
use std::borrow::Cow;
use std::collections::HashMap;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("conditions") {
        return Ok(Cow::Borrowed(p));
    }
    let mut extents = None;
    try_map_funs(p, &mut |s, f| {
        limits.check()?;
        let mut branches = false;
        f.body.visit(0, &mut |n, _| branches |= matches!(n.op, ScalarOp::If { .. }));
        if !branches {
            return Ok(f.clone());
        }
        let coordinates = match space_of(s, f) {
            Some(space) => coordinates(extents.get_or_insert_with(|| Extents::new(p)), f, space),
            None => Vec::new(),
        };
        Ok(Conditions::of(f, coordinates))
    })
    .map(Cow::Owned)
}

/// What is known of the coordinates of a point: they are at least 0, and less than the values that are the extents of their axes.
fn coordinates(extents: &mut Extents, f: &Fun, space: ArrayId) -> Vec<Coordinate> {
    let (_, ends, values) = extents.at_point(f, space);
    let ends_of = |end: Extent| {
        let end = extents.sum(end);
        let mut equal: Vec<Val> = values.iter().filter(|(_, e)| extents.sum(**e) == end).map(|(v, _)| *v).collect();
        equal.sort_unstable();
        equal
    };
    f.body.params.iter().zip(ends).map(|(i, end)| Coordinate { of: *i, ends: ends_of(end) }).collect()
}

/// A coordinate, and values that are the extent of its axis.
struct Coordinate {
    of: Val,
    ends: Vec<Val>,
}

/// So many operations of a sum, or of a condition, are looked through.
const MAX_DEPTH: usize = 8;
/// So many of the facts that hold in a branch are looked at, innermost first.
const MAX_FACTS: usize = 16;

/// A value plus a literal, modulo 2^64; without a value, the literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sum {
    of: Option<Val>,
    offset: i64,
}

/// That `low + gap <= high`, without overflow.
#[derive(Clone, Copy)]
struct Fact {
    low: Sum,
    high: Sum,
    /// At least 0.
    gap: i64,
}

struct Conditions<'f> {
    f: &'f Fun,
    definitions: HashMap<Val, &'f ScalarOp>,
    /// What holds in the region at hand; the first `of_coordinates` of it anywhere.
    facts: Vec<Fact>,
    of_coordinates: usize,
}

impl<'f> Conditions<'f> {
    fn of(f: &'f Fun, coordinates: Vec<Coordinate>) -> Fun {
        let mut definitions = HashMap::new();
        f.body.visit(0, &mut |n, _| {
            if let [v] = n.results[..] {
                definitions.insert(v, &n.op);
            }
        });
        let mut c = Conditions { f, definitions, facts: Vec::new(), of_coordinates: 0 };
        for Coordinate { of, ends } in coordinates {
            let (low, at) = (Sum { of: None, offset: 0 }, Sum { of: Some(of), offset: 0 });
            let below = ends.into_iter().map(|end| Fact { low: at, high: c.sum(end), gap: 1 });
            let below: Vec<Fact> = below.collect();
            c.facts.extend(below);
            c.facts.push(Fact { low, high: at, gap: 0 });
        }
        c.of_coordinates = c.facts.len();
        Fun { types: f.types.clone(), body: c.region(&f.body) }
    }

    fn region(&mut self, r: &Region) -> Region {
        let nodes = r.nodes.iter().map(|n| self.node(n)).collect();
        let results = r.results.iter().map(|v| self.known(*v, MAX_DEPTH)).collect();
        Region { params: r.params.clone(), nodes, results }
    }

    fn node(&mut self, n: &Node) -> Node {
        let mut n = n.clone();
        match &mut n.op {
            ScalarOp::If { cond, then, else_ } => {
                for (branch, holds) in [(then, true), (else_, false)] {
                    let around = self.facts.len();
                    self.note(*cond, holds, MAX_DEPTH);
                    *branch = grow_stack(|| self.region(branch));
                    self.facts.truncate(around);
                }
            }
            op => {
                for inner in op.regions_mut() {
                    *inner = grow_stack(|| self.region(inner));
                }
            }
        }
        if self.is_outside() {
            return n;
        }
        match self.truth(&n.op) {
            Some(truth) => n.op = ScalarOp::Const(truth.lit()),
            None => n.op.visit_operands_mut(&mut |v| *v = self.known(*v, MAX_DEPTH)),
        }
        n
    }

    /// Whether no condition holds here: what coordinates say alone is up to rule `bounds`.
    fn is_outside(&self) -> bool {
        self.facts.len() == self.of_coordinates
    }

    /// The operands of a primitive operation on two values of `i64`.
    fn integers(&self, op: &ScalarOp) -> Option<(PrimOp, Val, Val)> {
        match op {
            ScalarOp::Prim(p, v) => match v[..] {
                [a, b] if self.f.ty(a) == ScalarType::I64 => Some((*p, a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    fn lit(&self, v: Val) -> Option<Lit> {
        match self.definitions.get(&v) {
            Some(ScalarOp::Const(lit)) => Some(*lit),
            _ => None,
        }
    }

    /// Notes what holds if a condition does, or does not.
    fn note(&mut self, cond: Val, holds: bool, depth: usize) {
        let Some(&op) = self.definitions.get(&cond).filter(|_| depth > 0) else { return };
        match op {
            ScalarOp::Select { cond, then, else_ } => {
                let (fixed, other) = if holds { (*else_, *then) } else { (*then, *else_) };
                if self.lit(fixed) == Some((!holds).lit()) {
                    self.note(*cond, holds, depth - 1);
                    self.note(other, holds, depth - 1);
                }
            }
            ScalarOp::Prim(PrimOp::NotP, v) => self.note(v[0], !holds, depth - 1),
            ScalarOp::Prim(p @ (PrimOp::AndP | PrimOp::OrP), v) if self.f.ty(v[0]) == ScalarType::Bool => {
                if (*p == PrimOp::AndP) == holds {
                    v.iter().for_each(|v| self.note(*v, holds, depth - 1));
                }
            }
            op => {
                let facts = match (comparison(self.f, op), self.integers(op)) {
                    (Some((how, a, b)), _) if (how == Comparison::Below) == holds => vec![(a, b, 1)],
                    (Some((_, a, b)), _) => vec![(b, a, 0)],
                    (None, Some((p, a, b))) if p == if holds { PrimOp::EqP } else { PrimOp::NeP } => {
                        vec![(a, b, 0), (b, a, 0)]
                    }
                    (None, Some((PrimOp::EqP | PrimOp::NeP, a, b))) => {
                        let [a, b] = [a, b].map(|v| self.sum(v));
                        let apart = self.tightened(a, b).or_else(|| self.tightened(b, a));
                        return self.facts.extend(apart);
                    }
                    _ => return,
                };
                let fact = |(low, high, gap)| Fact { low: self.sum(low), high: self.sum(high), gap };
                let facts: Vec<Fact> = facts.into_iter().map(fact).collect();
                self.facts.extend(facts);
            }
        }
    }

    /// The truth value that a comparison is.
    fn truth(&self, op: &ScalarOp) -> Option<bool> {
        let (how, a, b) = comparison(self.f, op)?;
        let (a, b) = (self.sum(a), self.sum(b));
        let below = if self.follows(a, b, 1) { true } else { self.follows(b, a, 0).then_some(false)? };
        Some(below == (how == Comparison::Below))
    }

    /// The value that another one is where the facts hold.
    fn known(&self, v: Val, depth: usize) -> Val {
        if self.is_outside() || depth == 0 {
            return v;
        }
        let Some((p @ (PrimOp::MaxP | PrimOp::MinP), a, b)) = self.definitions.get(&v).and_then(|op| self.integers(op))
        else {
            return v;
        };
        let [a, b] = [a, b].map(|v| self.known(v, depth - 1));
        let (low, high) = if p == PrimOp::MinP { (a, b) } else { (b, a) };
        // Of two operands, `a` is the one that is yielded if `low <= high`.
        if self.follows(self.sum(low), self.sum(high), 0) {
            a
        } else if self.follows(self.sum(high), self.sum(low), 0) {
            b
        } else {
            v
        }
    }

    fn sum(&self, v: Val) -> Sum {
        let (mut of, mut offset) = (v, 0i64);
        for _ in 0..MAX_DEPTH {
            let number = |v: Val| match self.lit(v) {
                Some(Lit { ty: ScalarType::I64, bits }) => Some(bits as i64),
                _ => None,
            };
            if let Some(n) = number(of) {
                return Sum { of: None, offset: offset.wrapping_add(n) };
            }
            let next = match self.definitions.get(&of).and_then(|op| self.integers(op)) {
                Some((PrimOp::AddP, a, b)) => number(b).map(|n| (a, n)).or_else(|| number(a).map(|n| (b, n))),
                Some((PrimOp::SubP, a, b)) => number(b).map(|n| (a, n.wrapping_neg())),
                _ => None,
            };
            let Some((next, n)) = next else { break };
            (of, offset) = (next, offset.wrapping_add(n));
        }
        Sum { of: Some(of), offset }
    }

    /// Whether `low + gap <= high` follows from the facts.
    fn follows(&self, low: Sum, high: Sum, gap: i64) -> bool {
        match (low.of, high.of) {
            (None, None) => low.offset.checked_add(gap).is_some_and(|low| low <= high.offset),
            (None, Some(_)) => low.offset.checked_add(gap).is_some_and(|low| low <= self.least(high)),
            (Some(_), None) => self.greatest(low).checked_add(gap).is_some_and(|low| low <= high.offset),
            (Some(_), Some(_)) => {
                low == high && gap == 0 || self.facts_at_hand().any(|fact| self.follows_from(fact, low, high, gap))
            }
        }
    }

    /// Of two sums that are not equal: what that adds to a fact by which one is no greater than the other one.
    fn tightened(&self, low: Sum, high: Sum) -> Option<Fact> {
        let gap = match (low.of, high.of) {
            (None, Some(_)) => (self.least(high) == low.offset).then_some(Fact { low, high, gap: 1 }),
            (Some(_), None) => (self.greatest(low) == high.offset).then_some(Fact { low, high, gap: 1 }),
            _ => None,
        };
        gap.or_else(|| {
            let fact = self.facts_at_hand().find(|fact| self.follows_from(fact, low, high, 0))?;
            let room = low.apart(fact.low)?.checked_sub(fact.gap)?.checked_sub(high.apart(fact.high)?)?;
            (room == 0).then_some(Fact { gap: fact.gap.checked_add(1)?, ..*fact })
        })
    }

    /// The facts that are looked at.
    fn facts_at_hand(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().rev().take(MAX_FACTS)
    }

    /// Whether it follows from one fact, and from how small the lower side of that can be.
    fn follows_from(&self, fact: &Fact, low: Sum, high: Sum, gap: i64) -> bool {
        let (Some(down), Some(up)) = (low.apart(fact.low), high.apart(fact.high)) else { return false };
        // Neither sum wraps around: `low` is no greater than that of the fact, nor `high` than that one.
        let least = self.least(fact.low);
        let no_overflow = |by: i64, most: i64, least: Option<i64>| {
            (0..=most).contains(&by) || by < 0 && least.and_then(|n| n.checked_add(by)).is_some()
        };
        no_overflow(down, fact.gap, Some(least))
            && no_overflow(up, 0, least.checked_add(fact.gap))
            && down.checked_sub(fact.gap).zip(up.checked_sub(gap)).is_some_and(|(low, high)| low <= high)
    }

    /// The least that a sum can be.
    fn least(&self, sum: Sum) -> i64 {
        let Some(of) = sum.of else { return sum.offset };
        let of_facts = self.facts_at_hand().filter(|fact| fact.low.of.is_none()).filter_map(|fact| {
            let by = sum.apart(fact.high).filter(|by| *by <= 0)?;
            fact.low.offset.checked_add(fact.gap)?.checked_add(by)
        });
        // An extent is no less than 0.
        let extent = matches!(self.definitions.get(&of), Some(ScalarOp::Extent { .. })) && sum.offset <= 0;
        of_facts.chain(extent.then_some(sum.offset)).max().unwrap_or(i64::MIN)
    }

    /// The greatest that a sum can be.
    fn greatest(&self, sum: Sum) -> i64 {
        if sum.of.is_none() {
            return sum.offset;
        }
        let of_facts = self.facts_at_hand().filter(|fact| fact.high.of.is_none()).filter_map(|fact| {
            let by = sum.apart(fact.low).filter(|by| *by >= 0)?;
            fact.high.offset.checked_sub(fact.gap)?.checked_add(by)
        });
        of_facts.min().unwrap_or(i64::MAX)
    }
}

impl Sum {
    /// How much more this sum is than another one of the same value, but for overflow.
    fn apart(self, from: Sum) -> Option<i64> {
        (self.of == from.of).then(|| self.offset.checked_sub(from.offset)).flatten()
    }
}

#[cfg(test)]
mod tests {
    /// What a branch yields after simplification, where the condition holds.
    fn simplified(cond: &str, then: &str) -> String {
        let text = format!(
            "program(x: [1]i64, k: [0]i64) {{
               g: [1]i64 = generate(shape: || extent(x, 0), f: |%i: i64| {{
                 %n: i64 = extent(x, 0)
                 %k: i64 = k[]
                 %c: bool = {cond}
                 %r: i64 = if %c {{
                   %p: i64 = {then}
                   %e: i64 = x[%p]
                   yield %e
                 }} else {{ yield 0i64 }}
                 yield %r
               }})
               yield g
             }}"
        );
        let program = acc_core::text::parse("test.acc", &text).unwrap_or_else(|e| panic!("{e}"));
        let mut program = crate::simplify(&program).to_string();
        // What follows the condition.
        let at = program.find("if ").expect("the branch stays");
        program.split_off(at)
    }

    #[test]
    fn bounds_that_a_condition_keeps_go() {
        for (cond, then) in [
            ("ge(sub(%i, %k), 0i64)", "max(sub(%i, %k), 0i64)"),
            ("lt(%k, %n)", "min(%k, sub(%n, 1i64))"),
            ("gt(%k, 0i64)", "max(sub(%k, 1i64), 0i64)"),
            ("and(le(1i64, %k), le(%k, %n))", "min(max(sub(%k, 1i64), 0i64), sub(%n, 1i64))"),
            ("not(or(lt(%k, 0i64), ge(%k, %n)))", "max(min(%k, sub(%n, 1i64)), 0i64)"),
            ("lt(%k, 10i64)", "min(add(%k, 1i64), 10i64)"),
            ("eq(%k, %n)", "min(%k, %n)"),
            ("ne(%i, 0i64)", "max(sub(%i, 1i64), 0i64)"),
            ("not(eq(add(%i, 1i64), %n))", "min(add(%i, 1i64), sub(%n, 1i64))"),
            ("and(ge(%k, 3i64), ne(%k, 3i64))", "max(%k, 4i64)"),
            ("and(le(%k, 3i64), ne(3i64, %k))", "min(%k, 2i64)"),
            ("ge(%k, 7i64)", "max(min(%i, sub(%n, 1i64)), 0i64)"),
        ] {
            let left = simplified(cond, then);
            assert!(!left.contains("max(") && !left.contains("min("), "{cond}: {left}");
        }
    }

    #[test]
    fn bounds_stay_where_a_sum_may_wrap_around_or_the_condition_says_less() {
        for (cond, then) in [
            ("ge(%k, 0i64)", "max(sub(%k, 1i64), 0i64)"),
            ("lt(%k, %n)", "min(%k, sub(%n, 2i64))"),
            ("ge(add(%k, 1i64), 0i64)", "max(add(%k, 2i64), 0i64)"),
            ("le(%k, %i)", "min(sub(%k, 1i64), sub(%i, 1i64))"),
            ("le(%k, %n)", "min(add(%k, 1i64), add(%n, 1i64))"),
            ("or(ge(%k, 0i64), lt(%i, 3i64))", "max(%k, 0i64)"),
            ("ne(%k, 0i64)", "max(sub(%k, 1i64), 0i64)"),
            ("ne(%i, 1i64)", "max(sub(%i, 1i64), 0i64)"),
            ("ne(%i, 0i64)", "max(sub(%i, 2i64), 0i64)"),
            ("ne(add(%i, 1i64), %n)", "min(add(%i, 2i64), sub(%n, 1i64))"),
        ] {
            let left = simplified(cond, then);
            assert!(left.contains("max(") || left.contains("min("), "{cond}: {left}");
        }
    }

    #[test]
    fn a_comparison_that_follows_is_no_longer_made() {
        let left = simplified("and(ge(%k, 2i64), lt(%k, %n))", "select(lt(%k, 1i64), %i, %k)");
        assert!(!left.contains("lt(") && !left.contains("select("), "{left}");
    }
}
