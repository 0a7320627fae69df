//! Which components and edge cases pass on which executor.
//!
//! Cells come from tests alone. A row passes on an executor if every test that names it passed there, at least one of
//! them compared a value, and at least one saw an empty array or looked at a shape.

use crate::cases::Outcome;
use crate::components::{Component, Owed, Thesis, categories, components, edge_cases};
use crate::executors::{Registered, State};
use crate::suite::Test;
use acc_core::Executor;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the tests of a row came to on one executor.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Tests that passed.
    pub passed: usize,
    /// Tests that ran.
    pub ran: usize,
    /// Whether one of those that passed compared a value.
    pub value: bool,
    /// Whether one of those that passed saw an empty array or looked at a shape.
    pub shape: bool,
}

impl Cell {
    /// Whether tests ran, and all passed.
    pub fn clean(self) -> bool {
        self.ran > 0 && self.passed == self.ran
    }
    /// Whether a component with these tests passes.
    pub fn ok(self) -> bool {
        self.clean() && self.value && self.shape
    }
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Cell { ran: 0, .. } => "no test",
            _ if !self.clean() => "FAILED",
            Cell { value: false, .. } => "no value",
            Cell { shape: false, .. } => "no shape",
            Cell { .. } => "passed",
        }
    }
}

/// The matrix: rows for every component and edge case, columns for every executor.
pub struct Matrix {
    /// Every executor.
    pub executors: Vec<Registered>,
    /// The components, each with one cell per executor.
    pub components: Vec<(Component, Vec<Cell>)>,
    /// The edge cases, each with one cell per executor.
    pub edge_cases: Vec<(&'static str, Owed, Vec<Cell>)>,
    /// Tests that failed: test, executor and why.
    pub failures: Vec<(String, &'static str, String)>,
}

/// Runs every test on every executor that is there, on as many threads as there are processors; `progress` is told of each run
/// when it is done, and how many runs there are.
pub fn run(tests: &[Test], executors: Vec<Registered>, progress: impl Fn(usize) + Sync) -> Matrix {
    let runs: Vec<(&Test, usize, &dyn Executor)> = tests.iter().flat_map(|test| runs_of(test, &executors)).collect();
    let outcomes: Vec<Outcome> = (runs.par_iter())
        .map(|(test, _, executor)| {
            let outcome = test.run(*executor);
            progress(runs.len());
            outcome
        })
        .collect();
    let mut rows: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    let mut failures = Vec::new();
    for ((test, column, _), outcome) in runs.iter().zip(outcomes) {
        let passed = outcome.failures.is_empty();
        for id in &test.rows {
            let cells = rows.entry(id.clone()).or_insert_with(|| vec![Cell::default(); executors.len()]);
            let cell = &mut cells[*column];
            cell.ran += 1;
            cell.passed += usize::from(passed);
            cell.value |= passed && outcome.value;
            cell.shape |= passed && outcome.shape;
        }
        if !passed {
            failures.push((test.name.clone(), executors[*column].name, outcome.failures.join("\n")));
        }
    }
    let mut cells = |id: &str| rows.remove(id).unwrap_or_else(|| vec![Cell::default(); executors.len()]);
    Matrix {
        components: components().into_iter().map(|c| (c, cells(c.id))).collect(),
        edge_cases: edge_cases().into_iter().map(|(id, owed)| (id, owed, cells(id))).collect(),
        failures,
        executors,
    }
}

/// The executors that are there for a test, with their columns.
fn runs_of<'a>(
    test: &'a Test,
    executors: &'a [Registered],
) -> impl Iterator<Item = (&'a Test, usize, &'a dyn Executor)> {
    let columns = executors.iter().enumerate().filter(|(_, e)| test.is_for(e.name));
    columns.filter_map(move |(column, e)| Some((test, column, &**e.present()?)))
}

/// What stands before the cells of the executors in a line of the table: nothing, the category, its rows, the thesis.
const COLUMNS_BEFORE_EXECUTORS: usize = 4;

impl Matrix {
    fn category<'a>(&'a self, letters: &'a str) -> impl Iterator<Item = &'a (Component, Vec<Cell>)> {
        self.components.iter().filter(move |(c, _)| c.id.starts_with(letters))
    }

    /// Of these components, those with a form that pass on the executor in this column, and those with a form.
    fn count<'a>(rows: impl Iterator<Item = &'a (Component, Vec<Cell>)>, column: usize) -> (usize, usize) {
        rows.filter(|(c, _)| c.instead.is_none())
            .fold((0, 0), |(ok, all), (_, cells)| (ok + usize::from(cells[column].ok()), all + 1))
    }

    /// For people: every component by category, what failed, what is missing, and the summary as the last line.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (letters, category) in categories() {
            let _ = write!(out, "{:<34} {:<9}", format!("{letters} {category}"), "thesis");
            for e in &self.executors {
                let _ = write!(out, " {:>12}", e.name);
            }
            out.push('\n');
            for (c, cells) in self.category(letters) {
                let name: String = c.name.chars().take(24).collect();
                let _ = write!(out, "  {} {name:<25} {:<9}", c.id, c.thesis);
                for (e, cell) in self.executors.iter().zip(cells) {
                    let word = match (&e.state, c.instead) {
                        (_, Some(_)) => "no form",
                        (State::Present(_), None) => cell.word(),
                        (State::Absent { what, .. }, None) => what,
                    };
                    let _ = write!(out, " {word:>12}");
                }
                out.push('\n');
            }
        }
        for (test, executor, why) in &self.failures {
            let _ = writeln!(out, "\nFAILED {test} on {executor}\n  {}", why.replace('\n', "\n  "));
        }
        for e in &self.executors {
            if let State::Absent { what, why } = &e.state {
                let _ = writeln!(out, "{} is {what}: {why}", e.name);
            }
        }
        let without: Vec<&str> = self.without_test().collect();
        if !without.is_empty() {
            let _ = writeln!(out, "edge cases that no test names: {}", without.join(" "));
        }
        let _ = writeln!(out, "{}", self.edge_summary());
        out + &self.summary() + "\n"
    }

    /// Edge cases that are owed something, and that no test names.
    pub fn without_test(&self) -> impl Iterator<Item = &'static str> + '_ {
        let untested = |cells: &[Cell]| cells.iter().all(|c| c.ran == 0);
        self.edge_cases.iter().filter(move |(_, owed, c)| *owed != Owed::Free && untested(c)).map(|(id, _, _)| *id)
    }

    /// One part per executor: its name, and what was counted there.
    fn per_executor(&self, title: &str, count: impl Fn(usize) -> (usize, usize)) -> String {
        self.executors.iter().enumerate().fold(title.to_string(), |mut out, (column, e)| {
            let _ = match &e.state {
                State::Present(_) => {
                    let (ok, all) = count(column);
                    write!(out, " {} {ok}/{all}", e.name)
                }
                State::Absent { .. } => write!(out, " {} not run", e.name),
            };
            out
        })
    }

    /// `edge cases: interpreter A/B ...`: of B edge cases that are owed something, all tests of A pass.
    pub fn edge_summary(&self) -> String {
        self.per_executor("edge cases:", |column| {
            let owed = self.edge_cases.iter().filter(|(_, owed, _)| *owed != Owed::Free);
            owed.fold((0, 0), |(ok, all), (_, _, cells)| (ok + usize::from(cells[column].clean()), all + 1))
        })
    }

    /// `matrix: interpreter A/B native-tile A/B ...`: of B components with a form in Rust, A pass.
    pub fn summary(&self) -> String {
        self.per_executor("matrix:", |column| Self::count(self.components.iter(), column))
    }

    /// Whether every component and edge case passes on every executor that is there, and no test failed.
    pub fn complete(&self) -> bool {
        let owing = |cells: &[Cell], ok: fn(Cell) -> bool| {
            self.executors.iter().zip(cells).any(|(e, c)| e.present().is_some() && !ok(*c))
        };
        self.failures.is_empty()
            && !self.components.iter().any(|(c, cells)| c.instead.is_none() && owing(cells, Cell::ok))
            && !self.edge_cases.iter().any(|(_, owed, cells)| *owed != Owed::Free && owing(cells, Cell::clean))
    }

    /// The table of docs/MATRIX.md: a line for each category. Of an executor that is not run here the cell is that of the
    /// table before, which may be of another machine.
    fn to_markdown(&self, before: &str) -> String {
        let known = |name: &str, column: usize| {
            let line = before.lines().find(|l| l.split('|').nth(1).is_some_and(|first| first.trim() == name))?;
            Some(line.split('|').nth(COLUMNS_BEFORE_EXECUTORS + column)?.trim().to_string())
        };
        let mut out = String::from("| category | rows | thesis |");
        for e in &self.executors {
            let _ = write!(out, " {} |", e.name);
        }
        out += "\n|---|--:|--:|";
        out += &"--:|".repeat(self.executors.len());
        let mut line = |name: &str, letters: &str| {
            let (rows, columns) = (|| self.category(letters), 0..self.executors.len());
            let passed = rows().filter(|(c, _)| c.thesis == Thesis::Passed).count();
            let asked = rows().filter(|(c, _)| c.thesis != Thesis::NoQuestion).count();
            let thesis = if asked == 0 { "-".into() } else { format!("{passed}/{asked}") };
            let _ = write!(out, "\n| {name} | {} | {thesis} |", rows().count());
            for column in columns {
                let cell = match &self.executors[column].state {
                    State::Present(_) => {
                        let (ok, all) = Self::count(rows(), column);
                        format!("{ok}/{all}")
                    }
                    State::Absent { what, .. } => known(name, column).unwrap_or_else(|| what.to_string()),
                };
                let _ = write!(out, " {cell} |");
            }
        };
        for (letters, category) in categories() {
            line(category, letters);
        }
        line("**all**", "");
        out + "\n"
    }

    /// A text with the table between its marks; `None` if it has none.
    pub fn put_into(&self, text: &str) -> Option<String> {
        const MARKS: [&str; 2] = ["<!-- matrix -->\n", "<!-- end of the matrix -->\n"];
        let (before, rest) = text.split_once(MARKS[0])?;
        let (table, after) = rest.split_once(MARKS[1])?;
        Some(format!("{before}{}{}{}{after}", MARKS[0], self.to_markdown(table), MARKS[1]))
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        let cells = |cells: &[Cell]| -> serde_json::Map<String, serde_json::Value> {
            let one = |(e, c): (&Registered, &Cell)| {
                let value = match &e.state {
                    State::Present(_) => serde_json::json!({
                        "outcome": c.word(), "passed": c.passed, "ran": c.ran, "value": c.value, "shape": c.shape
                    }),
                    State::Absent { what, .. } => serde_json::json!(what),
                };
                (e.name.to_string(), value)
            };
            self.executors.iter().zip(cells).map(one).collect()
        };
        let components = self.components.iter().map(|(c, row)| {
            serde_json::json!({
                "id": c.id, "name": c.name, "thesis": c.thesis.to_string(), "rust": c.rust, "instead": c.instead,
                "executors": cells(row),
            })
        });
        let edge_cases = self.edge_cases.iter().map(|(id, owed, row)| {
            serde_json::json!({ "id": id, "owed": format!("{owed:?}").to_lowercase(), "executors": cells(row) })
        });
        let failures = self
            .failures
            .iter()
            .map(|(test, executor, why)| serde_json::json!({ "test": test, "executor": executor, "why": why }));
        serde_json::json!({
            "components": components.collect::<Vec<_>>(),
            "edge_cases": edge_cases.collect::<Vec<_>>(),
            "failures": failures.collect::<Vec<_>>(),
            "summary": self.summary(),
        })
    }
}
