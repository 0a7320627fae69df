//! Licences and sources of all dependencies are those that deny.toml allows.
//!
//! `cargo deny check` says that, too, and reads a database of advisories from the network; `.ci/run` calls it where it is
//! installed. This test needs nothing but cargo, which may fetch the manifests of packages for other systems.

use crate::{read, root};
use serde_json::Value as Json;
use spdx::Expression;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Every package that is compiled with some features, as `cargo metadata` tells.
fn packages() -> Vec<Json> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Json = serde_json::from_slice(&metadata.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn allowed() -> BTreeSet<String> {
    let text = read("deny.toml");
    let deny: toml::Table = text.parse().expect("deny.toml is TOML");
    let allow = deny["licenses"]["allow"].as_array().expect("a list of licences");
    allow.iter().map(|l| l.as_str().expect("a licence").to_string()).collect()
}

/// Whether a licence expression can be met with allowed licences; some old packages write `/` for `OR`.
fn is_allowed(licence: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = Expression::parse_mode(licence, spdx::ParseMode::LAX);
    expression.is_ok_and(|e| e.evaluate(|requirement| allowed.contains(&requirement.to_string())))
}

#[test]
fn licences_are_allowed() {
    let allowed = allowed();
    assert!(is_allowed("MIT/Apache-2.0", &allowed) && is_allowed("GPL-3.0-only OR MIT", &allowed));
    assert!(!is_allowed("GPL-3.0-only", &allowed) && !is_allowed("MIT AND GPL-3.0-only", &allowed));
    let packages = packages();
    assert!(packages.len() > 50, "{} packages", packages.len());
    for p in &packages {
        let licence = p["license"].as_str().unwrap_or_else(|| panic!("{} has no licence", p["name"]));
        assert!(
            is_allowed(licence, &allowed),
            "{} has the licence {licence}, which deny.toml does not allow",
            p["name"]
        );
    }
}

#[test]
fn packages_come_from_the_registry_or_this_repository() {
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
    for p in packages() {
        let source = p["source"].as_str();
        let ours = source.is_none()
            && p["manifest_path"].as_str().is_some_and(|m| Path::new(m).starts_with(root().canonicalize().unwrap()));
        assert!(ours || source == Some(REGISTRY), "{} comes from {source:?}", p["name"]);
        for d in p["dependencies"].as_array().expect("dependencies") {
            let wildcard = d["req"] == "*" && d["path"].is_null();
            assert!(source.is_some() || !wildcard, "{} takes any version of {}", p["name"], d["name"]);
        }
    }
}
