//! What `scripts/xla.sh` says and leaves behind when something is wrong.

use crate::libtorch_script::{Result, python};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the script says of its refusal, with this cache.
fn refusal(cache: &Path, set: impl FnOnce(&mut Command)) -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the package is in a workspace")?;
    let mut script = Command::new(root.join("scripts/xla.sh"));
    script.arg("--processes").env("ACC_CACHE", cache).env_remove("PYTHON");
    set(&mut script);
    let output = script.output()?;
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    Ok(String::from_utf8(output.stderr)?)
}

#[test]
fn without_a_registry_it_says_what_to_do() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let offline = python(dir.path(), "exit 1")?;
    let cache = dir.path().join("cache");
    let errors = refusal(&cache, |script| {
        script.env("PYTHON", offline);
    })?;
    assert!(errors.contains("jaxlib cannot be had") && errors.contains("PIP_FIND_LINKS"), "{errors}");
    assert_eq!(fs::read_dir(cache.join("xla"))?.count(), 0);
    Ok(())
}

#[test]
fn without_python_or_a_cache_it_says_so() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let errors = refusal(dir.path(), |script| {
        script.env("PYTHON", "no-such-python");
    })?;
    assert!(errors.contains("no-such-python is not found"), "{errors}");
    let errors = refusal(Path::new("off"), |_| {})?;
    assert!(errors.contains("ACC_CACHE is off"), "{errors}");
    Ok(())
}
