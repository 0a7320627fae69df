//! Sections of a page that a command writes.

use std::path::Path;

/// Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->` in a file.
pub fn replace(file: &Path, name: &str, text: &str) -> Result<(), String> {
    let (start, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let page = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let missing = || format!("{} has no {start} ... {end}", file.display());
    let (before, rest) = page.split_once(&start).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    let page = format!("{before}{start}\n\n{}\n\n{end}{after}", text.trim());
    std::fs::write(file, page).map_err(|e| format!("{}: {e}", file.display()))
}
