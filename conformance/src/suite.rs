//! The tests: programs in text form, and cases of the typed API.

use crate::cases::{self, Case, Check, Outcome};
use crate::{headers, laziness, runner, runs};
use acc_core::Error;
use acc_core::Executor;
use acc_core::text::{Expect, TestFile, parse_test_file};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A test: a file, a generated program, or a case of the typed API.
pub struct Test {
    /// Its name: for a file the path below `programs/` without the ending, as in `fold/sum`.
    pub name: String,
    /// The components and edge cases it covers, by their ids.
    pub rows: Vec<String>,
    /// What it is.
    pub body: Body,
}

/// What a test consists of.
pub enum Body {
    /// A program in text form with its runs.
    Program(TestFile),
    /// Checks in Rust.
    Case(Case),
}

/// Why the test programs cannot be had.
#[derive(Debug)]
pub enum SuiteError {
    /// A file or folder cannot be read.
    Read(PathBuf, io::Error),
    /// A text is wrong.
    Text(Error),
    /// A test stands in the way of itself: what is wrong with it.
    Test(String),
}

impl std::fmt::Display for SuiteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SuiteError::Read(path, e) => write!(f, "cannot read {}: {e}", path.display()),
            SuiteError::Text(e) => write!(f, "{e}"),
            SuiteError::Test(message) => write!(f, "{message}"),
        }
    }
}
impl std::error::Error for SuiteError {}

/// Where the test programs are when no other folder is named.
fn default_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// Tests in order of their names: the files `*.acc` below a folder, or if none is named all tests there are.
pub fn load(folder: Option<&Path>) -> Result<Vec<Test>, SuiteError> {
    let mut tests = read(folder.unwrap_or(&default_folder()))?;
    if folder.is_none() {
        for (name, text) in laziness::programs() {
            tests.push(test(name.clone(), &format!("{name}.acc"), &text)?);
        }
        for case in cases::all().into_iter().chain(runs::cases()) {
            let rows: Vec<String> = case.rows.split_whitespace().map(str::to_string).collect();
            check_rows(case.name, &rows)?;
            tests.push(Test { name: case.name.to_string(), rows, body: Body::Case(case) });
        }
    }
    tests.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(twice) = tests.windows(2).find(|w| w[0].name == w[1].name) {
        return Err(SuiteError::Test(format!("two tests are named `{}`", twice[0].name)));
    }
    Ok(tests)
}

fn read(folder: &Path) -> Result<Vec<Test>, SuiteError> {
    let mut paths = Vec::new();
    find(folder, &mut paths)?;
    let mut tests = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|e| SuiteError::Read(path.clone(), e))?;
        let below = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        let name = below.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        tests.push(test(name, &path.display().to_string(), &text)?);
    }
    Ok(tests)
}

fn test(name: String, file_name: &str, text: &str) -> Result<Test, SuiteError> {
    let file = parse_test_file(file_name, text).map_err(SuiteError::Text)?;
    if file.runs.is_empty() && file.structures.is_empty() {
        let message = format!("{file_name} has no `run {{ ... }}` and no `structure`: it would test nothing");
        return Err(SuiteError::Test(message));
    }
    headers::check(&file, file_name, text).map_err(SuiteError::Text)?;
    let rows: Vec<String> = file.components.iter().chain(&file.cases).cloned().collect();
    Ok(Test { name, rows, body: Body::Program(file) })
}

fn check_rows(test: &str, rows: &[String]) -> Result<(), SuiteError> {
    match rows.iter().find(|id| !headers::is_row(id)) {
        Some(id) => {
            Err(SuiteError::Test(format!("{test}: there is no component or edge case `{id}`; `acc list` shows them")))
        }
        None => Ok(()),
    }
}

fn find(folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), SuiteError> {
    let read = |e| SuiteError::Read(folder.to_path_buf(), e);
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_dir() {
            find(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "acc") {
            out.push(path);
        }
    }
    Ok(())
}

impl Test {
    /// Whether the test is for this executor.
    pub fn is_for(&self, executor: &str) -> bool {
        match &self.body {
            Body::Program(file) => headers::is_for(file, executor),
            Body::Case(_) => true,
        }
    }

    /// Whether only one process can run it: it is about runs that are stopped, or of which several go on at once, or about
    /// traces, which of several processes the first one prints.
    pub fn needs_one_process(&self) -> bool {
        match &self.body {
            Body::Program(file) => file.runs.iter().any(|r| matches!(r.expect, Expect::Stopped)),
            Body::Case(case) => case.name.starts_with("runs/") || case.name.starts_with("trace/"),
        }
    }

    /// Runs the test on an executor.
    pub fn run(&self, executor: &dyn Executor) -> Outcome {
        match &self.body {
            Body::Program(file) => runner::check_file(executor, file),
            Body::Case(case) => Check::run_case(case, executor),
        }
    }

    /// The program in text form, if it is one.
    pub fn file(&self) -> Option<&TestFile> {
        match &self.body {
            Body::Program(file) => Some(file),
            Body::Case(_) => None,
        }
    }
}
