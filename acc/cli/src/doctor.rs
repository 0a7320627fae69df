//! `acc doctor`

use crate::output::say;
use backend_native::{llvm, tune};
use std::process::ExitCode;

/// Say what this machine offers the executors.
#[derive(clap::Args)]
pub struct Args {}

pub fn main(_: &Args) -> crate::Outcome {
    let status = llvm::status();
    match &status.library {
        Some(l) => {
            let (major, minor, patch) = l.version;
            say!("llvm: {major}.{minor}.{patch}, {}", l.path.display());
            say!("  processor: {}, vectors of {} bits", l.cpu, l.vector_bits);
            say!("  features: {}", enabled(&l.features));
        }
        None if std::env::var_os("ACC_LLVM").is_some_and(|l| l == "off") => {
            say!("llvm: none, since ACC_LLVM is off; the native executor runs on tiles");
        }
        None => say!("llvm: none; the native executor runs on tiles. Set ACC_LLVM to a libLLVM of version 17 or later"),
    }
    for (path, why) in &status.refused {
        say!("  not used: {}: {why}", path.display());
    }
    say!("threads: {}", backend_native::threads());
    say!("libtorch: {}", if cfg!(feature = "libtorch") { "built in" } else { "not built; see docs/GRAPHS.md" });
    let xla = backend_xla::status();
    match &xla.plugin {
        Some(p) => say!("xla: {}, interface {}.{}, {}", p.platform, p.api.0, p.api.1, p.path.display()),
        None => say!("xla: no plugin of PJRT; {}", backend_xla::HOW_TO_GET_ONE),
    }
    for (path, why) in &xla.refused {
        say!("  not used: {}: {why}", path.display());
    }
    match llvm::machine_code_folder() {
        Ok(folder) => say!("machine code is kept in {}", folder.display()),
        Err(why) => say!("machine code is not kept: {why}"),
    }
    match tune::folder() {
        Ok(folder) => say!("schedules that search found are kept in {}", folder.display()),
        Err(why) => say!("schedules that search found are not kept: {why}"),
    }
    for e in conformance::executors::all() {
        match &e.state {
            conformance::executors::State::Present(_) => say!("executor {}: present", e.name),
            conformance::executors::State::Absent { what, why } => say!("executor {}: {what}: {why}", e.name),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The features that the processor has, of a list in LLVM's form.
fn enabled(features: &str) -> String {
    let on: Vec<&str> = features.split(',').filter_map(|f| f.strip_prefix('+')).collect();
    on.join(" ")
}
