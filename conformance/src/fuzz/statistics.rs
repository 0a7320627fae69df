//! What random programs were made of.

use acc_core::ir::{Block, Program, Read, ScalarOp};
use acc_desugar::{RULES, Rules, simplify_with};
use backend_graph::graph_with;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Counts over many programs.
#[derive(Default)]
pub struct Statistics {
    /// Programs.
    pub programs: u64,
    /// Programs for which the interpreter has a result.
    pub valid: u64,
    /// Array operations, by name.
    pub operations: BTreeMap<&'static str, u64>,
    /// Primitives, by name.
    pub primitives: BTreeMap<&'static str, u64>,
    /// Ordered pairs of array operations of which the second reads a result of the first.
    pub pairs: BTreeSet<(&'static str, &'static str)>,
    /// Programs that a rule of simplification changed, of those that were looked at.
    pub rules: BTreeMap<&'static str, u64>,
    /// Elements compared, and those left out since they are not stable.
    pub elements: u64,
    /// See `elements`.
    pub excluded: u64,
    /// Arrays that were computed by random schedules, by their kind.
    pub schedules: BTreeMap<&'static str, u64>,
}

impl Statistics {
    /// Takes note of a program; `rules` looks at every rule, which takes time.
    pub fn see(&mut self, program: &Program, rules: bool) {
        self.programs += 1;
        let mut makers = vec![None; program.types.len()];
        self.block(&program.body, &mut makers);
        if rules {
            let graph = |rules: &Rules| graph_with(program, rules, true).ok();
            let all = (simplify_with(program, &Rules::all()), graph(&Rules::all()));
            for rule in RULES {
                let changed = Rules::all().without(rule.name).is_some_and(|rules| match rule.pass {
                    "simplify" => simplify_with(program, &rules) != all.0,
                    _ => graph(&rules) != all.1,
                });
                *self.rules.entry(rule.name).or_default() += u64::from(changed);
            }
        }
    }

    fn block(&mut self, block: &Block, makers: &mut [Option<&'static str>]) {
        for s in &block.stmts {
            let name = s.op.name();
            *self.operations.entry(name).or_default() += 1;
            self.pairs.extend(s.op.arrays().iter().filter_map(|a| Some((makers[a.index()]?, name))));
            for (_, f) in s.op.funs() {
                f.body.visit(0, &mut |n, _| match &n.op {
                    ScalarOp::Prim(op, _) => *self.primitives.entry(op.name()).or_default() += 1,
                    ScalarOp::Index(Read { array, .. }) | ScalarOp::Extent { array, .. } => {
                        self.pairs.extend(makers[array.index()].map(|maker| (maker, name)));
                    }
                    ScalarOp::Const(_)
                    | ScalarOp::Cast(_)
                    | ScalarOp::Bitcast(_)
                    | ScalarOp::Select { .. }
                    | ScalarOp::If { .. }
                    | ScalarOp::While { .. }
                    | ScalarOp::Own(_) => {}
                });
            }
            s.results.iter().for_each(|r| makers[r.index()] = Some(name));
            s.op.blocks().into_iter().for_each(|b| self.block(b, makers));
        }
    }

    /// Adds what another part of the programs came to.
    pub fn add(&mut self, other: Statistics) {
        let Statistics { programs, valid, operations, primitives, pairs, rules, elements, excluded, schedules } = other;
        self.programs += programs;
        self.valid += valid;
        self.elements += elements;
        self.excluded += excluded;
        self.pairs.extend(pairs);
        for (mine, theirs) in [
            (&mut self.operations, operations),
            (&mut self.primitives, primitives),
            (&mut self.rules, rules),
            (&mut self.schedules, schedules),
        ] {
            theirs.into_iter().for_each(|(name, n)| *mine.entry(name).or_default() += n);
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: &BTreeMap<&str, u64>| {
            counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
        };
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        writeln!(
            f,
            "valid: {} of {} programs ({:.1} %)",
            self.valid,
            self.programs,
            percent(self.valid, self.programs)
        )?;
        let possible = self.operations.len().pow(2);
        writeln!(f, "ordered pairs of operations: {} of {possible}", self.pairs.len())?;
        writeln!(f, "operations: {}", list(&self.operations))?;
        writeln!(f, "primitives: {}", list(&self.primitives))?;
        writeln!(f, "rules that changed a program looked at: {}", list(&self.rules))?;
        writeln!(f, "arrays with random schedules: {}", list(&self.schedules))?;
        let excluded = percent(self.excluded, self.elements);
        write!(f, "elements: {} compared, {} of them left out ({excluded:.2} %)", self.elements, self.excluded)
    }
}
