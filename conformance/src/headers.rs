//! What headers of test files may name, and which executors a file is for.

use crate::{components, executors};
use acc_core::Error;
use acc_core::text::{HeaderWord, TestFile, error_at};
use std::collections::HashSet;
use std::sync::LazyLock;

static COMPONENTS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| components::components().into_iter().map(|c| c.id).collect());

static EDGE_CASES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| components::edge_cases().into_iter().map(|(id, _)| id).collect());

/// Whether a row of the matrix has this id.
pub fn is_row(id: &str) -> bool {
    COMPONENTS.contains(id) || EDGE_CASES.contains(id)
}

/// Checks that the words of a file's header name something that exists; an error has its place in the text.
pub fn check(file: &TestFile, file_name: &str, text: &str) -> Result<(), Error> {
    match file.header.iter().find_map(|w| Some((w, wrong(w)?))) {
        Some((w, message)) => Err(error_at(file_name, text, (w.line, w.col), message)),
        None => Ok(()),
    }
}

/// What is wrong with a word of a header.
fn wrong(w: &HeaderWord) -> Option<String> {
    let word = &w.word[..];
    match w.key {
        "executors" => {
            let names: Vec<&str> = executors::NAMES.to_vec();
            (!names.contains(&word)).then(|| format!("there is no executor `{word}`; there are: {}", names.join(", ")))
        }
        "component" if EDGE_CASES.contains(word) => Some(format!("`{word}` is an edge case: it belongs to `case:`")),
        "component" => (!COMPONENTS.contains(word))
            .then(|| format!("there is no component `{word}`; `acc list` shows those there are")),
        _ if COMPONENTS.contains(word) => Some(format!("`{word}` is a component: it belongs to `component:`")),
        _ => (!EDGE_CASES.contains(word))
            .then(|| format!("there is no edge case `{word}`; `acc list` shows those there are")),
    }
}

/// Whether a file is for an executor.
pub fn is_for(file: &TestFile, executor: &str) -> bool {
    file.executors.is_empty() || file.executors.iter().any(|e| e == executor)
}
