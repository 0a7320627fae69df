//! Records where the toolchain that builds this crate lies: its own LLVM is one of those looked for at run time.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    // Without an answer, the toolchain found at run time must do.
    if let Ok(said) = Command::new(rustc).args(["--print", "sysroot"]).output()
        && said.status.success()
        && let Ok(path) = String::from_utf8(said.stdout)
    {
        println!("cargo::rustc-env=ACC_BUILD_SYSROOT={}", path.trim());
    }
}
