//! Says in our words what is wrong with libtorch, and warns of programs that would not find it when they start.
//!
//! Cargo may run the build script of the bindings first: docs/LIBTORCH.md lists its messages too.

use std::path::Path;

const ADVICE: &str = "Run scripts/libtorch.sh, which brings libtorch 2.11.0 once; \
     for a crate of your own also `scripts/libtorch.sh --config >> .cargo/config.toml`. \
     See docs/LIBTORCH.md, or build without the feature `libtorch`.";

fn main() {
    for name in ["LIBTORCH", "LIBTORCH_USE_PYTORCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_LIBTORCH").is_none() {
        return;
    }
    if std::env::var_os("LIBTORCH_USE_PYTORCH").is_some() {
        println!(
            "cargo::warning=LIBTORCH_USE_PYTORCH makes the build link to PyTorch directly: programs then need its lib \
             folder in LD_LIBRARY_PATH. `eval \"$(scripts/libtorch.sh --env)\"` links to the same PyTorch without that."
        );
        return;
    }
    let Some(libtorch) = std::env::var_os("LIBTORCH") else {
        if !Path::new("/usr/lib/libtorch.so").exists() {
            println!("cargo::error=libtorch was not found: LIBTORCH is not set. {ADVICE}");
        }
        return;
    };
    let libtorch = Path::new(&libtorch);
    println!("cargo::rerun-if-changed={}", libtorch.join("build-version").display());
    if !libtorch.join("lib").is_dir() {
        println!("cargo::error=LIBTORCH is {}, where there is no libtorch. {ADVICE}", libtorch.display());
    } else if !libtorch.join("stubs-of").exists() {
        println!(
            "cargo::warning=LIBTORCH is not a folder of link stubs: programs then need {} in LD_LIBRARY_PATH. \
             `eval \"$(scripts/libtorch.sh --env)\"` links to the same libtorch without that.",
            libtorch.join("lib").display()
        );
    }
}
