//! Looks for an LLVM at run time: libraries are tried one after the other, until one compiles and runs a small kernel.
//!
//! Loading a library runs its code. So nothing depends on the current folder: no program is run to ask for paths, and
//! paths are absolute.

use super::c::{self, Engine};
use super::passes;
use crate::fork;
use crate::llvm::one_shot::OneShot;
use acc_core::RunLimits;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The environment variable that names the library to use; `off` for none.
const LIBRARY_VARIABLE: &str = "ACC_LLVM";

/// Versions of system libraries, the preferred one last.
const SYSTEM_VERSIONS: std::ops::RangeInclusive<u32> = 17..=22;

/// What was found.
pub(super) struct Found {
    pub engine: Option<Arc<Engine>>,
    /// The libraries that were not used, in the order tried, and why.
    pub refused: Vec<(PathBuf, String)>,
}

static FOUND: OneShot<Found> = OneShot::new();

/// The LLVM of this process, looked for once.
pub(super) fn llvm() -> &'static Found {
    static NONE: Found = Found { engine: None, refused: Vec::new() };
    if fork::is_child() {
        // The thread that began to look may not exist in this child.
        return FOUND.get().unwrap_or(&NONE);
    }
    FOUND.get_or_init(search)
}

/// The same, if the search has ended.
pub(super) fn known() -> Option<&'static Found> {
    FOUND.get()
}

/// The same, if the search ends within the limits.
pub(super) fn wait(limits: &RunLimits) -> Option<&'static Found> {
    FOUND.wait(limits)
}

fn search() -> Found {
    let mut found = Found { engine: None, refused: Vec::new() };
    let mut tried: Vec<PathBuf> = Vec::new();
    for place in places() {
        for path in place() {
            // A bare name is resolved by the dynamic loader, not in the current folder.
            let same = Some(&path).filter(|p| p.is_absolute()).and_then(|p| p.canonicalize().ok());
            let same = same.unwrap_or_else(|| path.clone());
            if tried.contains(&same) {
                continue;
            }
            tried.push(same);
            match open(&path) {
                Ok(engine) => {
                    found.engine = Some(engine);
                    return found;
                }
                Err(why) => found.refused.push((path, why)),
            }
        }
    }
    found
}

/// Where libraries are looked for, in order.
fn places() -> Vec<fn() -> Vec<PathBuf>> {
    match std::env::var_os(LIBRARY_VARIABLE) {
        // The one named, and no other.
        Some(_) => vec![named],
        None => vec![build_toolchain, current_toolchain, other_toolchains, system],
    }
}

fn named() -> Vec<PathBuf> {
    std::env::var_os(LIBRARY_VARIABLE)
        .filter(|name| name != "off" && !name.is_empty())
        .into_iter()
        .map(PathBuf::from)
        .collect()
}

fn build_toolchain() -> Vec<PathBuf> {
    option_env!("ACC_BUILD_SYSROOT").map_or_else(Vec::new, |root| libraries(Path::new(root)))
}

/// The toolchain of the first `rustc` on the search path. It is not run: a `rustup` proxy would read settings from the
/// current folder, and run whatever those name.
fn current_toolchain() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let rustc = folders.find_map(|folder| folder.join("rustc").canonicalize().ok());
    // A `rustup` proxy has no library beside it.
    rustc.as_deref().and_then(|rustc| rustc.parent()?.parent()).map_or_else(Vec::new, libraries)
}

fn other_toolchains() -> Vec<PathBuf> {
    #[allow(deprecated, reason = "was wrong on Windows alone, where no library is loaded")]
    let home =
        std::env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".rustup")));
    let home = home.filter(|home| home.is_absolute());
    let Some(entries) = home.and_then(|h| std::fs::read_dir(h.join("toolchains")).ok()) else { return Vec::new() };
    let mut roots: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    roots.sort();
    roots.iter().rev().flat_map(|root| libraries(root)).collect()
}

/// The libraries of LLVM in a toolchain.
fn libraries(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join("lib")) else { return Vec::new() };
    let named = |p: &PathBuf| {
        let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        // The file ending in `.so` is a linker script.
        name.starts_with("libLLVM.so.") || name.starts_with("libLLVM") && name.ends_with(".dylib")
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(named).collect();
    paths.sort();
    paths
}

/// Names for the dynamic loader, and places where packages put their library.
fn system() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for v in SYSTEM_VERSIONS.rev() {
        if cfg!(target_os = "macos") {
            paths.push(format!("/opt/homebrew/opt/llvm@{v}/lib/libLLVM.dylib"));
            paths.push(format!("/usr/local/opt/llvm@{v}/lib/libLLVM.dylib"));
        } else {
            paths.extend([format!("libLLVM.so.{v}.1"), format!("libLLVM-{v}.so.1"), format!("libLLVM-{v}.so")]);
            paths.push(format!("/usr/lib/llvm-{v}/lib/libLLVM.so"));
            paths.push(format!("/usr/lib/llvm{v}/lib/libLLVM.so"));
        }
    }
    paths.into_iter().map(PathBuf::from).collect()
}

/// Loads a library and tries it; a bare name is resolved by the dynamic loader.
fn open(path: &Path) -> Result<Arc<Engine>, String> {
    if !path.is_absolute() && path.components().count() > 1 {
        return Err("it is no absolute path, and would be another file in another folder".to_string());
    }
    let engine = Arc::new(Engine::open(path)?);
    probe(&engine)?;
    Ok(engine)
}

/// Compiles a small kernel and runs it.
fn probe(engine: &Arc<Engine>) -> Result<(), String> {
    let text = format!(
        "define i64 @{}(ptr %x, i64 %a, i64 %b, i64 %c, i64 %d) {{\n\
         %v = load <4 x float>, ptr %x, align 4\n\
         %w = fmul <4 x float> %v, %v\n\
         store <4 x float> %w, ptr %x, align 4\n\
         %s = add i64 %a, %d\n\
         ret i64 %s\n}}\n",
        c::ENTRY
    );
    let object = engine.object(&text, passes(engine.version.0))?;
    let code = crate::llvm::call::Entry::new(engine.load(&object)?);
    let mut x = [1.0f32, -2.0, 3.5, 0.5];
    let said = code.probe(&mut x);
    match (said, x) {
        (42, [1.0, 4.0, 12.25, 0.25]) => Ok(()),
        _ => Err(format!("a small kernel yields {said} and {x:?}")),
    }
}

#[cfg(all(test, unix))]
mod tests;
