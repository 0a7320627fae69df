//! The commands that run examples.

pub mod digits;
pub mod tour;

use std::path::Path;

/// An error if the folder for what a command makes is something else.
fn check_folder(out: &Path, what: &str) -> Result<(), String> {
    match out.exists() && !out.is_dir() {
        true => Err(format!(
            "cannot write to {}: it is no folder\n  help: --out names the folder for {what}",
            out.display()
        )),
        false => Ok(()),
    }
}

/// Makes the folder, and those that it is in.
fn make_folder(out: &Path) -> Result<(), String> {
    std::fs::create_dir_all(out).map_err(|e| format!("cannot make the folder {}: {e}", out.display()))
}
