//! What passes are told: which rules are on, what an executor can do, what is done about faults, and when to stop.

use acc_core::RunLimits;
use acc_core::ir::Fun;
use std::collections::BTreeSet;

/// What passes are told by executors and their options.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The rules that are on.
    pub rules: &'a Rules,
    /// Where passes stop.
    pub limits: &'a RunLimits,
    /// What becomes of a segmented fold, by what is done about faults, its operator and its initial value.
    pub segmented: fn(Faults, &Fun, Option<&Fun>) -> Segmented,
    /// Whether statements become one kernel with others.
    pub fuse: bool,
    /// What a graph does about faults.
    pub faults: Faults,
    /// How many states of an array loop its reverse derivative keeps at a time, beside the first one and those in a history.
    pub kept_states: usize,
    /// Whether states of a loop that are computed again are put in a history, an array that the loop writes row by row.
    pub histories: bool,
}

/// How many states of an array loop are kept if nobody says: a loop of a thousand steps is then run four times in all.
pub const KEPT_STATES: usize = 8;

impl<'a> Settings<'a> {
    /// All rules, fusion, detection of faults, and no limit; segmented folds stay.
    pub fn new(rules: &'a Rules, limits: &'a RunLimits) -> Settings<'a> {
        Settings {
            rules,
            limits,
            segmented: |_, _, _| Segmented::Kept,
            fuse: true,
            faults: Faults::Detect,
            kept_states: KEPT_STATES,
            histories: true,
        }
    }
}

/// A rule's name, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name by which it is switched off.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The pass that it belongs to.
    pub pass: &'static str,
}

const fn rule(name: &'static str, what: &'static str) -> Rule {
    Rule { name, what, pass: "simplify" }
}

const fn graph_rule(name: &'static str, what: &'static str) -> Rule {
    Rule { name, what, pass: "rewrite_graph" }
}

/// All rules.
pub const RULES: &[Rule] = &[
    rule("bounds", "a coordinate is at least 0 and less than the extent of its axis"),
    rule("conditions", "in a branch, what its condition says of integers holds"),
    rule("constants", "operations on literals are computed"),
    rule("identities", "x + 0, x * 1, - - x, x & x and other identities that are exact"),
    rule("selects", "a choice between equal sides, by a constant, or of boolean literals"),
    rule("branches", "a conditional with a constant condition is the branch taken"),
    rule("small_branches", "a conditional of two small total branches is a select"),
    rule("common_scalars", "an expression computed before is not computed again"),
    rule("invariants", "total code that does not depend on a loop leaves it"),
    rule("dead_scalars", "unused scalar values, leaves of reads, results and components of loops go"),
    rule(
        "aliases",
        "a map or generate that changes nothing, a reshape to the array's own shape, axes that are in their order again, a \
         conditional whose branch is known",
    ),
    rule("common_arrays", "an array operation done before is not done again"),
    rule("dead_arrays", "unused statements, results of branches and components of array loops go"),
    Rule {
        name: "conjugate",
        what: "folds and scans by ln(exp a + exp b), or the root of a sum of squares, are sums of transformed elements",
        pass: "conjugate",
    },
    Rule {
        name: "pad_windows",
        what: "what windows of a sum read beyond the edges of an array is stored around it",
        pass: "pad_windows",
    },
    graph_rule("zeros", "a choice of zeros around a tensor that is read with zeros around it goes"),
    graph_rule("clip", "the least of a greatest of two literals, or the other way round, is one operation of graphs"),
    graph_rule("softmax", "so is a softmax, or its logarithm, as they are written without overflow"),
    graph_rule("normalize", "so are numbers less their mean over the root of their variance, with a scale and a shift"),
    graph_rule("contract", "so are sums of products, a matrix product of some kind"),
    graph_rule("factors", "sums of products of more than two factors are chains of such products"),
    graph_rule("windows", "sums of products of windows with filters are convolutions"),
    graph_rule("pools", "reductions of windows are done before these are read, one axis after the other"),
    graph_rule("bags", "sums of segments read rows of a table where they are"),
    graph_rule("selections", "sorts of which only the first or last elements of rows are read find these alone"),
];

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

    pub(crate) fn on(&self, name: &'static str) -> bool {
        debug_assert!(RULES.iter().any(|r| r.name == name), "{name} is no rule");
        !self.off.contains(name)
    }
}

/// What becomes of a segmented fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segmented {
    /// A scan with flags.
    Scan,
    /// Loops over runs of a few elements, and over the runs of each segment.
    Runs,
    /// It stays, of segments that are checked before.
    Checked,
    /// It stays as it is.
    Kept,
}

/// What a graph does about faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faults {
    /// It finds out whether there is one.
    Detect,
    /// It finds the first one, where it is, and what its numbers are. Every position is clamped and every divisor
    /// guarded, so that nothing goes on with what is wrong.
    Report,
    /// None is looked for, but for checks that the program states itself. Positions out of bounds and divisors that are
    /// 0 are errors of the library.
    Ignore,
    /// The same, but positions out of bounds are clamped and divisors that are 0 are 1.
    Mend,
}

impl Faults {
    /// Whether faults are looked for.
    pub(crate) fn checked(self) -> bool {
        match self {
            Faults::Detect | Faults::Report => true,
            Faults::Ignore | Faults::Mend => false,
        }
    }

    /// Whether every position is clamped and every divisor guarded.
    pub fn exact(self) -> bool {
        match self {
            Faults::Report | Faults::Mend => true,
            Faults::Detect | Faults::Ignore => false,
        }
    }
}
