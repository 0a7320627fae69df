//! Which components and edge cases pass on which executor.

use crate::executors::{Registered, State};
use crate::runner;
use crate::suite::Test;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the tests of a row came to on one executor.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that ran.
    pub ran: usize,
}

impl Cell {
    /// Whether tests ran and all passed.
    pub fn ok(self) -> bool {
        self.ran > 0 && self.passed == self.ran
    }
}

/// A component or edge case that tests name.
pub struct Row {
    /// Its id, as in `FLD-01` or `E-FD-06`.
    pub id: String,
    /// What it is, if the table of components has it.
    pub name: &'static str,
    /// How the thesis reports on it (`passed`, `failed`, `untested`, `absent`, `-`), if it is a component.
    pub thesis: &'static str,
    /// One cell per executor that is there.
    pub cells: Vec<Cell>,
}

/// The matrix: rows that tests name, columns for every executor.
pub struct Matrix {
    /// Every executor.
    pub executors: Vec<Registered>,
    /// In order of their ids; components first.
    pub rows: Vec<Row>,
    /// Tests that failed: test, executor and why.
    pub failures: Vec<(String, &'static str, String)>,
    /// Components that no test names.
    pub untested: usize,
}

const COMPONENTS: &str = include_str!("../components.tsv");

/// The components there are: id, name, and what the thesis says.
pub fn components() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    COMPONENTS.lines().filter(|l| !l.starts_with('#')).filter_map(|l| {
        let mut cells = l.split('\t');
        Some((cells.next()?, cells.next()?, cells.next()?))
    })
}

/// Runs every test on every executor that is there; `progress` is told each pair before it runs.
pub fn run(tests: &[Test], executors: Vec<Registered>, mut progress: impl FnMut(&str, &str)) -> Matrix {
    let mut rows: BTreeMap<(bool, String), Vec<Cell>> = BTreeMap::new();
    let mut failures = Vec::new();
    for test in tests {
        for (column, registered) in executors.iter().enumerate() {
            let Some(executor) = registered.present() else { continue };
            if !test.is_for(registered.name) {
                continue;
            }
            progress(&test.name, registered.name);
            let mut why = None;
            for r in &test.file.runs {
                if let Err(e) = runner::check(&**executor, &test.file, r) {
                    why.get_or_insert(format!("run at line {}: {e}", r.line));
                }
            }
            for id in test.file.components.iter().chain(&test.file.cases) {
                let cells = rows
                    .entry((id.starts_with("E-"), id.clone()))
                    .or_insert_with(|| vec![Cell::default(); executors.len()]);
                cells[column].ran += 1;
                cells[column].passed += usize::from(why.is_none());
            }
            if let Some(why) = why {
                failures.push((test.name.clone(), registered.name, why));
            }
        }
    }
    let known: BTreeMap<&str, (&str, &str)> = components().map(|(id, name, thesis)| (id, (name, thesis))).collect();
    let untested = known.keys().filter(|id| !rows.contains_key(&(false, id.to_string()))).count();
    let rows = rows.into_iter().map(|((_, id), cells)| {
        let (name, thesis) = known.get(&*id).copied().unwrap_or_default();
        Row { id, name, thesis, cells }
    });
    Matrix { rows: rows.collect(), executors, failures, untested }
}

impl Matrix {
    /// For people: a table, what failed, and the summary as the last line.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let _ = write!(out, "{:<10} {:<18} {:<9}", "row", "component", "thesis");
        for e in &self.executors {
            let _ = write!(out, " {:>12}", e.name);
        }
        out.push('\n');
        for row in &self.rows {
            let name: String = row.name.chars().take(18).collect();
            let _ = write!(out, "{:<10} {name:<18} {:<9}", row.id, row.thesis);
            for (e, c) in self.executors.iter().zip(&row.cells) {
                let cell = match &e.state {
                    State::Present(_) => format!("{}/{}", c.passed, c.ran),
                    State::Absent { what, .. } => what.to_string(),
                };
                let _ = write!(out, " {cell:>12}");
            }
            out.push('\n');
        }
        for (test, executor, why) in &self.failures {
            let _ = writeln!(out, "\nFAILED {test} on {executor}\n  {}", why.replace('\n', "\n  "));
        }
        for e in &self.executors {
            if let State::Absent { what, why } = &e.state {
                let _ = writeln!(out, "{} is {what}: {why}", e.name);
            }
        }
        let _ = writeln!(out, "{} components have no test yet", self.untested);
        out + &self.summary() + "\n"
    }

    /// `matrix: interpreter A/B native-tile A/B ...`: of B rows with tests, A pass all of them.
    pub fn summary(&self) -> String {
        let mut out = "matrix:".to_string();
        for (k, e) in self.executors.iter().enumerate() {
            let cells = self.rows.iter().filter_map(|r| r.cells.get(k)).filter(|c| c.ran > 0);
            let _ = match &e.state {
                State::Present(_) => {
                    let (ok, all) = cells.fold((0, 0), |(ok, all), c| (ok + usize::from(c.ok()), all + 1));
                    write!(out, " {} {ok}/{all}", e.name)
                }
                State::Absent { .. } => write!(out, " {} not run", e.name),
            };
        }
        out
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        let cell = |e: &Registered, c: &Cell| match &e.state {
            State::Present(_) => serde_json::json!({ "passed": c.passed, "ran": c.ran }),
            State::Absent { what, .. } => serde_json::json!(what),
        };
        let rows = self.rows.iter().map(|r| {
            let cells: serde_json::Map<String, serde_json::Value> =
                self.executors.iter().zip(&r.cells).map(|(e, c)| (e.name.to_string(), cell(e, c))).collect();
            serde_json::json!({ "id": r.id, "name": r.name, "thesis": r.thesis, "executors": cells })
        });
        let failures = self
            .failures
            .iter()
            .map(|(test, executor, why)| serde_json::json!({ "test": test, "executor": executor, "why": why }));
        serde_json::json!({
            "rows": rows.collect::<Vec<_>>(),
            "failures": failures.collect::<Vec<_>>(),
            "untested_components": self.untested,
            "summary": self.summary(),
        })
    }
}
