//! Rules for the sources, packages and scripts of this repository.

mod architecture;
mod dependencies;
#[cfg(feature = "libtorch")]
mod downstream_crate;
#[cfg(target_os = "linux")]
mod libtorch_script;
mod map;
mod words;
#[cfg(target_os = "linux")]
mod xla_script;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Folders of builds and of tools.
const GENERATED: [&str; 3] = ["target", ".git", ".cargo"];

/// The files below a folder with one of these endings. Links are followed to files, not to folders.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries.map(|e| e.unwrap_or_else(|e| panic!("{}: {e}", folder.display()))) {
        let path = entry.path();
        if path.is_dir() {
            if !path.is_symlink() && !GENERATED.iter().any(|name| entry.file_name() == *name) {
                found.extend(files(&path, endings));
            }
        } else if path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) {
            found.push(path);
        }
    }
    found
}
