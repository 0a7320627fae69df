//! What `scripts/libtorch.sh` says and leaves behind when something is wrong.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Runs the script with an empty cache on a disk with room; gives what it wrote to standard error, and fails if it
/// succeeds or leaves more than its lock in the cache.
fn refusal(cache: &Path, set: impl FnOnce(&mut Command)) -> Result<String> {
    refusal_with_room(cache, 100_000, set)
}

/// [`refusal`], where `df` says that so many MiB are free, whatever the disk of this machine has.
fn refusal_with_room(cache: &Path, mebibytes: usize, set: impl FnOnce(&mut Command)) -> Result<String> {
    let tools = tempfile::tempdir()?;
    let free = format!("printf 'header\\ndisk 0 0 {mebibytes} 0%% /\\n'");
    executable(tools.path(), "df", &free)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(tools.path().into()).chain(std::env::split_paths(&path)))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package is in a workspace")?;
    let mut script = Command::new(root.join("scripts/libtorch.sh"));
    script.arg("--env").env("ACC_LIBTORCH_CACHE", cache).env("PATH", path);
    for variable in ["LIBTORCH", "LIBTORCH_USE_PYTORCH", "LIBTORCH_INCLUDE", "LIBTORCH_LIB", "PYTHON", "CXX"] {
        script.env_remove(variable);
    }
    set(&mut script);
    let output = script.output()?;
    let errors = String::from_utf8(output.stderr)?;
    assert!(!output.status.success(), "{errors}");
    assert!(output.stdout.is_empty(), "a shell would evaluate this: {:?}", output.stdout);
    for entry in fs::read_dir(cache)? {
        assert_eq!(entry?.file_name(), "lock");
    }
    Ok(errors)
}

/// An executable that stands for Python.
pub(crate) fn python(dir: &Path, script: &str) -> Result<PathBuf> {
    executable(dir, "python", script)
}

fn executable(dir: &Path, name: &str, script: &str) -> Result<PathBuf> {
    let path = dir.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

#[test]
fn a_folder_without_libtorch_is_refused() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let errors = refusal(&dir.path().join("cache"), |script| {
        script.env("LIBTORCH", dir.path());
    })?;
    assert!(errors.contains("LIBTORCH names") && errors.contains("there is no libtorch"), "{errors}");
    Ok(())
}

#[test]
fn another_version_is_refused() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let libtorch = dir.path().join("libtorch");
    fs::create_dir_all(libtorch.join("include/torch"))?;
    fs::create_dir_all(libtorch.join("lib"))?;
    fs::write(libtorch.join("lib/libtorch_cpu.so"), "")?;
    fs::write(libtorch.join("build-version"), "2.5.1+cpu\n")?;
    let errors = refusal(&dir.path().join("cache"), |script| {
        script.env("LIBTORCH", &libtorch);
    })?;
    assert!(errors.contains("LIBTORCH names libtorch 2.5.1") && errors.contains("2.11.0 is needed"), "{errors}");
    Ok(())
}

#[test]
fn a_python_without_pytorch_is_refused() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let python = python(dir.path(), "exit 1")?;
    let errors = refusal(&dir.path().join("cache"), |script| {
        script.env("LIBTORCH_USE_PYTORCH", "1").env("PYTHON", python);
    })?;
    assert!(errors.contains("has no module torch"), "{errors}");
    Ok(())
}

#[test]
fn missing_tools_are_named() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let cache = dir.path().join("cache");
    let errors = refusal(&cache, |script| {
        script.env("CXX", "no-such-compiler");
    })?;
    assert!(errors.contains("'no-such-compiler' was not found"), "{errors}");
    let errors = refusal(&cache, |script| {
        script.env("CXX", "true").env("PYTHON", "no-such-python");
    })?;
    // On another processor nothing is brought, whatever is installed.
    let elsewhere = errors.contains("on x86-64 only");
    assert!(elsewhere || errors.contains("'no-such-python' was not found"), "{errors}");
    let python = python(dir.path(), "exit 1")?;
    let errors = refusal(&cache, |script| {
        script.env("CXX", "true").env("PYTHON", python);
    })?;
    assert!(elsewhere || errors.contains("pip is needed"), "{errors}");
    Ok(())
}

#[test]
fn a_download_that_breaks_off_leaves_nothing() -> Result<()> {
    let dir = tempfile::tempdir()?;
    // pip downloads a part, and then the network is gone.
    let script = "for last; do :; done; case \"$3\" in download) echo half >\"$last/torch-2.11.0.whl\"; exit 1;; esac";
    let python = python(dir.path(), script)?;
    let errors = refusal(&dir.path().join("cache"), |script| {
        script.env("CXX", "true").env("PYTHON", python);
    })?;
    assert!(errors.contains("pip could not download") || errors.contains("on x86-64 only"), "{errors}");
    Ok(())
}

#[test]
fn a_disk_without_room_is_named() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let python = python(dir.path(), "exit 0")?;
    let errors = refusal_with_room(&dir.path().join("cache"), 916, |script| {
        script.env("CXX", "true").env("PYTHON", python);
    })?;
    assert!(errors.contains("and 916 MiB are free") || errors.contains("on x86-64 only"), "{errors}");
    Ok(())
}
