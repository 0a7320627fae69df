//! Simplification of the core IR, for both backends.
//!
//! The law that every rule obeys:
//!
//! 1. *Same meaning.* Where the program has a value, the result has the same, bit for bit. Floats are not reassociated,
//!    and an identity that does not hold for NaN, infinities and `-0.0` is not used on them.
//! 2. *Laziness kept.* A node that can fault or fail to end leaves no branch and no loop, and is never evaluated where
//!    it was not. Measuring an array evaluates it, so an extent counts as such a node. A fault that nobody needs may be
//!    dropped; none is added.
//! 3. *Never worse.* No rule makes a program larger or does more work, except that a conditional of two small total
//!    branches computes both, and that an invariant leaves a loop which may run no step.
//!
//! [`PASSES`] lists the passes in order; they are repeated while something changes, up to [`ROUNDS`] times. [`RULES`] lists
//! the rules by name, each of which can be switched off.

mod aliases;
mod common;
mod dead_arrays;
mod dead_scalars;
mod hoist;
mod rewrite;
mod rules;
#[cfg(test)]
mod tests;
mod walk;

pub use walk::{map_funs, map_op};

pub(crate) use rules::opposite;

use crate::pass::{self, Pass, Run, Settings, Stage};
use crate::pipeline::SIMPLIFY;
use acc_core::ir::Program;
use acc_core::{Error, RunLimits};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A rule's name and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name by which it is switched off.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
}

const fn rule(name: &'static str, what: &'static str) -> Rule {
    Rule { name, what }
}

/// All rules.
pub const RULES: &[Rule] = &[
    rule("constants", "operations on literals are computed"),
    rule("identities", "x + 0, x * 1, - - x, x & x and other identities that are exact"),
    rule("selects", "a choice between equal sides, by a constant, or of boolean literals"),
    rule("branches", "a conditional with a constant condition is the branch taken"),
    rule("small_branches", "a conditional of two small total branches is a select"),
    rule("common_scalars", "an expression computed before is not computed again"),
    rule("invariants", "total code that does not depend on a loop leaves it"),
    rule("dead_scalars", "unused scalar values, leaves of reads, results and components of loops go"),
    rule("aliases", "a map that changes nothing, a reshape to the array's own shape, a branch taken for sure"),
    rule("common_arrays", "an array operation done before is not done again"),
    rule("dead_arrays", "unused statements, results of branches and components of array loops go"),
];

/// The passes, in order.
pub(crate) const PASSES: &[Pass] = &[
    part("rewrite", "local rules", rewrite::pass),
    part("hoist", "invariants leave loops", hoist::pass),
    part("dead_scalars", "unused scalar values go", dead_scalars::pass),
    part("aliases", "arrays that are other ones go", aliases::pass),
    part("common", "array operations done before are not done again", common::pass),
    part("dead_arrays", "unused statements go", dead_arrays::pass),
];

const fn part(
    name: &'static str,
    what: &'static str,
    run: for<'p> fn(&'p Program, &Settings<'_>) -> Result<Cow<'p, Program>, Error>,
) -> Pass {
    Pass { name, what, before: "", after: "", run: Run::Program(run) }
}

/// Enough for rules that enable one another; what is left after that is small.
pub(crate) const ROUNDS: usize = 4;

/// Which rules are on.
#[derive(Clone, Default, Debug)]
pub struct Rules {
    off: BTreeSet<&'static str>,
}

impl Rules {
    /// All of them.
    pub fn all() -> Rules {
        Rules::default()
    }

    /// None.
    pub fn none() -> Rules {
        Rules { off: RULES.iter().map(|r| r.name).collect() }
    }

    /// These, without the one of this name; `None` if there is no such rule.
    pub fn without(mut self, name: &str) -> Option<Rules> {
        self.off.insert(RULES.iter().find(|r| r.name == name)?.name);
        Some(self)
    }

    /// These, and the one of this name; `None` if there is no such rule.
    pub fn with(mut self, name: &str) -> Option<Rules> {
        self.off.remove(RULES.iter().find(|r| r.name == name)?.name);
        Some(self)
    }

    fn on(&self, name: &'static str) -> bool {
        debug_assert!(RULES.iter().any(|r| r.name == name), "{name} is no rule");
        !self.off.contains(name)
    }
}

/// Simplifies a verified program by all rules. Its parameters stay.
///
/// ```
/// let program = acc_core::text::parse("p.acc", "
///     program(xs: [1]i64) {
///       ys: [1]i64 = map(xs, f: |%x: i64| mul(add(%x, 0i64), 1i64))
///       yield ys
///     }")?;
/// // The map changes nothing, and goes.
/// assert!(acc_desugar::simplify(&program).body.stmts.is_empty());
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn simplify(program: &Program) -> Program {
    simplify_with(program, &Rules::all())
}

/// Simplifies a verified program by the rules that are on.
pub fn simplify_with(program: &Program, rules: &Rules) -> Program {
    unlimited(simplify_within(program, rules, &RunLimits::none()))
}

/// The same, until a deadline passes or the run is cancelled.
pub fn simplify_within(program: &Program, rules: &Rules, limits: &RunLimits) -> Result<Program, Error> {
    match pass::run(&[SIMPLIFY], program, &Settings::new(rules, limits))? {
        Stage::Program(p) => Ok(p.into_owned()),
        Stage::Fused(..) | Stage::Graph(_) => Err(Error::defect("simplify", "no program is left")),
    }
}

/// What a pass makes where nothing limits it.
pub(crate) fn unlimited<T>(outcome: Result<T, Error>) -> T {
    outcome.unwrap_or_else(|e| unreachable!("there are no limits, but: {e}"))
}
