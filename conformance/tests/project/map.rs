//! docs/ARCHITECTURE.md is a map: short, without measurements, and what it names exists.

use crate::{read, root};

/// The paths that a page names between backticks: `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn paths(text: &str) -> Vec<String> {
    let code = text.split("```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2));
    let mut found = Vec::new();
    for path in code.filter(|c| c.contains('/') && !c.contains([' ', ':', '<'])) {
        match path.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?))) {
            Some((head, (list, tail))) => found.extend(list.split(',').map(|name| format!("{head}{name}{tail}"))),
            None => found.push(path.to_string()),
        }
    }
    found
}

#[test]
fn the_map_is_short_and_says_nothing_of_times() {
    let text = read("docs/ARCHITECTURE.md");
    let lines = text.lines().count();
    assert!(lines <= 150, "{lines} lines");
    for line in text.lines() {
        for unit in ["ns", "µs", "ms", "s", "GB/s", "GFLOP/s"] {
            let timed = line.split(' ').collect::<Vec<_>>();
            let timed = timed
                .windows(2)
                .any(|w| w[0].parse::<f64>().is_ok() && w[1].trim_end_matches([',', ';', '.', ':', ')']) == unit);
            assert!(!timed, "a measurement belongs to docs/PERFORMANCE.md: {line}");
        }
    }
}

#[test]
fn pages_name_files_that_exist() {
    assert_eq!(paths("`a/{b,c}.rs`, `d`, `e/f`"), ["a/b.rs", "a/c.rs", "e/f"]);
    // Paths are relative to the workspace, or to the sources of the crate that a table is about.
    let sources = ["", "acc-core/src", "acc-desugar/src", "backend-native/src", "backend-graph/src"];
    let mut missing = Vec::new();
    for name in ["docs/ARCHITECTURE.md", "docs/PERFORMANCE.md"] {
        let found = paths(&read(name));
        assert!(found.len() > 20, "the test reads {name} wrongly: {found:?}");
        for path in found.iter().filter(|p| !p.starts_with("tests/")) {
            if !sources.iter().any(|folder| root().join(folder).join(path).exists()) {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
