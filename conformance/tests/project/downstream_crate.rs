//! A crate of a user's, outside the workspace, with the README's program and one on all executors: it depends on
//! acc-array alone, builds with what `scripts/libtorch.sh --config` prints, and runs without `LD_LIBRARY_PATH`.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The first program of the README.
fn readme_program(root: &Path) -> Result<String, Box<dyn Error>> {
    let readme = std::fs::read_to_string(root.join("README.md"))?;
    let code = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    Ok(code.ok_or("the README has no program")?.to_string())
}

/// Standard output; an error with what it wrote to standard error if it fails.
fn output(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{errors}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The profiles of a manifest.
fn profiles(manifest: &str) -> String {
    let mut inside = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            inside = line.starts_with("[profile.");
        }
        inside
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Our own crates, compiled anew for the crate outside: without optimisation that takes a third of the time.
fn unoptimised(profile: &str) -> String {
    let ours = ["acc-array", "acc-core", "acc-desugar", "backend-graph", "backend-native", "backend-native-lanes"];
    ours.map(|name| format!("[profile.{profile}.package.{name}]\nopt-level = 0\ndebug = false\n\n")).concat()
}

#[test]
fn the_readme_s_program_in_a_crate_outside_the_workspace() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package is in a workspace")?;
    let dir = tempfile::tempdir()?;
    let dir = dir.path();

    // The same target folder, profile and lock file as this test's own, so that the bindings of libtorch, which take
    // minutes, are not compiled again. The test is at TARGET/PROFILE/deps/NAME.
    let test = std::env::current_exe()?;
    let profile_dir = test.ancestors().nth(2).ok_or("a test lies in the target folder")?;
    let target_dir = profile_dir.parent().ok_or("a test lies in the target folder")?;
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => return Err("the profile has no name".into()),
    };
    std::fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    let manifest = format!(
        "[package]\nname = \"downstream\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         acc-array = {{ path = {:?}, features = [\"libtorch\"] }}\n\n[workspace]\n\n{}{}",
        root.join("acc"),
        profiles(&std::fs::read_to_string(root.join("Cargo.toml"))?),
        unoptimised(profile),
    );
    std::fs::write(dir.join("Cargo.toml"), manifest)?;
    std::fs::create_dir_all(dir.join("src/bin"))?;
    std::fs::copy(root.join("acc/examples/libtorch.rs"), dir.join("src/bin/executors.rs"))?;
    std::fs::write(dir.join("src/main.rs"), readme_program(root)?)?;
    std::fs::create_dir(dir.join(".cargo"))?;
    let config = output(Command::new(root.join("scripts/libtorch.sh")).arg("--config"))?;
    std::fs::write(dir.join(".cargo/config.toml"), config)?;

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    output(
        Command::new(cargo)
            .args(["build", "--offline", "--profile", profile])
            .current_dir(dir)
            .env("CARGO_TARGET_DIR", target_dir)
            .env_remove("LIBTORCH")
            .env_remove("LD_LIBRARY_PATH"),
    )?;
    let run = |name: &str| {
        let mut command = Command::new(profile_dir.join(name));
        output(command.current_dir(dir).env_remove("LIBTORCH").env_remove("LD_LIBRARY_PATH"))
    };
    assert_eq!(run("downstream")?, "25.0\n");
    assert_eq!(run("executors")?, "interpreter 14\nnative 14\ngraph 14\n");
    Ok(())
}
