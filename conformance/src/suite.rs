//! The test programs.

use crate::{laziness, matrix};
use acc_core::Error;
use acc_core::text::{TestFile, parse_test_file};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A test program: a file, or a generated one.
pub struct Test {
    /// Its name: the path below `programs/` without the ending, as in `fold/sum`.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What the text says.
    pub file: TestFile,
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

/// Test programs in order of their names: the files `*.acc` below a folder, or if none is named all there are, the
/// generated ones included.
pub fn load(folder: Option<&Path>) -> Result<Vec<Test>, SuiteError> {
    let mut tests = read(folder.unwrap_or(&default_folder()))?;
    if folder.is_none() {
        for (name, text) in laziness::programs() {
            tests.push(test(name.clone(), &format!("{name}.acc"), text)?);
        }
    }
    tests.sort_by(|a, b| a.name.cmp(&b.name));
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
        tests.push(test(name, &path.display().to_string(), text)?);
    }
    Ok(tests)
}

fn test(name: String, file_name: &str, text: String) -> Result<Test, SuiteError> {
    let file = parse_test_file(file_name, &text).map_err(SuiteError::Text)?;
    if file.runs.is_empty() {
        return Err(SuiteError::Test(format!("{file_name} has no `run {{ ... }}`: it would test nothing")));
    }
    if let Some(unknown) = file.executors.iter().find(|e| crate::executors::all().iter().all(|r| r.name != **e)) {
        return Err(SuiteError::Test(format!("{file_name}: there is no executor `{unknown}`")));
    }
    if let Some(unknown) = file.components.iter().find(|c| matrix::components().all(|(id, _, _)| id != **c)) {
        return Err(SuiteError::Test(format!("{file_name}: there is no component `{unknown}`; `acc list` shows them")));
    }
    if let Some(unknown) = file.cases.iter().find(|c| !is_case(c)) {
        return Err(SuiteError::Test(format!(
            "{file_name}: `{unknown}` is no edge case: they are named as in E-FD-06"
        )));
    }
    Ok(Test { name, text, file })
}

/// Whether an id has the form of an edge case's: `E-FD-06`.
fn is_case(id: &str) -> bool {
    let mut parts = id.split('-');
    let all = |p: Option<&str>, f: fn(&char) -> bool| p.is_some_and(|p| p.len() == 2 && p.chars().all(|c| f(&c)));
    parts.next() == Some("E")
        && all(parts.next(), char::is_ascii_uppercase)
        && all(parts.next(), char::is_ascii_digit)
        && parts.next().is_none()
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
        self.file.executors.is_empty() || self.file.executors.iter().any(|e| e == executor)
    }
}
