//! The examples print what their first comments say.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The examples that need a feature which these tests may lack.
const WITH_FEATURE: [(&str, bool); 3] = [
    ("npy", cfg!(feature = "npy")),
    ("export_graph", cfg!(feature = "graph")),
    ("libtorch", cfg!(feature = "libtorch")),
];

/// The text block of a file's first comment.
fn expected(source: &str) -> String {
    let comment = source.lines().map_while(|line| line.strip_prefix("//!"));
    let block = comment.skip_while(|line| line.trim() != "```text").skip(1).take_while(|line| line.trim() != "```");
    block.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Where cargo puts examples: beside the folder of this test.
fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().nth(2).expect("a test is two folders below its profile's");
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn every_example_prints_what_its_comment_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut ran = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of examples") {
        let path = entry.expect("an entry").path();
        // An example of several files is a folder.
        let source = if path.is_dir() { path.join("main.rs") } else { path.clone() };
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_string();
        if WITH_FEATURE.contains(&(&name, false)) {
            println!("{name}: not run, its feature is off");
            continue;
        }
        let expected = expected(&std::fs::read_to_string(&source).expect("a source file"));
        assert!(!expected.is_empty(), "{name}: its first comment has no block of expected output");
        let output = Command::new(binary(&name)).output();
        let output = output.unwrap_or_else(|e| panic!("{name}: {e}; `cargo test -p acc-array` builds the examples"));
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {}\n{out}{err}", output.status);
        assert_eq!(out, expected, "{name}: another output than its comment says\n{err}");
        ran += 1;
    }
    assert!(ran >= 15, "only {ran} examples were found");
}
