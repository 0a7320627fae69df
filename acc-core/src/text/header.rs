//! The header of a test file: lines `key: words` before the program.

use super::lexer::{Source, is_space};
use crate::error::Error;

/// A word of a test file's header, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderWord {
    /// `component`, `case` or `executors`.
    pub key: &'static str,
    /// The word.
    pub word: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub col: u32,
}

const KEYS: [&str; 3] = ["component", "case", "executors"];

/// Reads the lines before the program, comments and empty lines among them; also gives their number.
pub(super) fn header(source: &Source<'_>) -> Result<(Vec<HeaderWord>, usize), Error> {
    let (mut all, mut lines) = (Vec::new(), 0);
    for (k, text) in source.text.lines().enumerate() {
        let text = text.split("//").next().unwrap_or_default();
        lines = k;
        let said = text.trim_start_matches(is_space);
        if said.starts_with("program") {
            break;
        }
        if said.is_empty() {
            continue;
        }
        let line = u32::try_from(k + 1).unwrap_or(u32::MAX);
        let col = column(text, text.len() - said.len());
        let Some((key, after)) = said.split_once(':') else {
            return Err(source.error(line, col, "expected `key: ...` or the program"));
        };
        let key = key.trim_end_matches(is_space);
        let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
            let message = format!("there is no header `{key}`; there are: {}", KEYS.join(", "));
            return Err(source.error(line, col, message));
        };
        let start = all.len();
        let mut col = column(text, text.len() - after.len());
        for word in after.split(|c| is_space(c) || c == ',') {
            if !word.is_empty() {
                all.push(HeaderWord { key, word: word.into(), line, col });
            }
            // The word, and the character that ends it.
            col = col.saturating_add(word.chars().count() as u32).saturating_add(1);
        }
        if all.len() == start {
            return Err(source.error(line, column(text, text.len()), format!("`{key}:` lists nothing")));
        }
    }
    Ok((all, lines))
}

/// The column of a byte of a line.
fn column(line: &str, at: usize) -> u32 {
    let before = line.get(..at).unwrap_or(line).chars().count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}
