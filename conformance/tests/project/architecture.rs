//! The rules of docs/ARCHITECTURE.md that a test can check.

use crate::{files, read, root};
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    files(&root().join(folder), &["rs"])
}

/// The crates of the workspace that a crate's library depends on.
fn dependencies(krate: &str) -> Vec<String> {
    let manifest = read(Path::new(krate).join("Cargo.toml"));
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let names = section.lines().filter_map(|l| l.split(['.', ' ', '=']).next());
    const OURS: [&str; 11] = [
        "acc-array",
        "acc-cli",
        "acc-core",
        "acc-desugar",
        "backend-graph",
        "backend-native",
        "backend-native-lanes",
        "backend-xla",
        "conformance",
        "conformance-cases",
        "acc-benches",
    ];
    names.filter(|n| OURS.contains(n)).map(str::to_string).collect()
}

#[test]
fn dependencies_point_one_way() {
    for (krate, allowed) in [
        ("acc-core", &[][..]),
        ("acc-desugar", &["acc-core"]),
        ("backend-native/lanes", &["acc-core"]),
        ("backend-native", &["acc-core", "acc-desugar", "backend-native-lanes"]),
        ("backend-graph", &["acc-core", "acc-desugar"]),
        ("backend-xla", &["acc-core", "acc-desugar", "backend-graph"]),
        ("conformance/cases", &["acc-core"]),
        ("acc", &["acc-core", "backend-native", "backend-graph"]),
        ("acc/cli", &["acc-core", "acc-desugar", "backend-native", "backend-graph", "backend-xla", "conformance"]),
        (
            "conformance",
            &[
                "acc-array",
                "acc-core",
                "acc-desugar",
                "backend-native",
                "backend-graph",
                "backend-xla",
                "conformance-cases",
            ],
        ),
    ] {
        for d in dependencies(krate) {
            assert!(allowed.contains(&&*d), "{krate} must not depend on {d}");
        }
    }
    assert!(dependencies("backend-graph").contains(&"acc-desugar".to_string()), "the test reads manifests wrongly");
}

#[test]
fn the_front_and_the_middle_are_safe_code() {
    for krate in ["acc", "acc-core", "acc-desugar", "conformance", "conformance/cases"] {
        let lib = read(Path::new(krate).join("src/lib.rs"));
        assert!(lib.contains("#![forbid(unsafe_code)]"), "{krate} must forbid unsafe code");
    }
}

#[test]
fn one_module_names_libtorch() {
    for krate in ["acc-core", "acc-desugar", "backend-native", "backend-graph", "conformance", "benches"] {
        let files = sources(krate);
        assert!(!files.is_empty());
        // The programs written by hand, beside which the executor is timed, have to.
        let may = ["backend-graph/src/torch", "benches/graph"].map(|folder| root().join(folder));
        for f in files.iter().filter(|f| !may.iter().any(|folder| f.starts_with(folder))) {
            // Put together here, so that this file does not name it.
            let name = ["tch", "::"].concat();
            let named = read(f).lines().any(|l| {
                l.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).any(|w| w.starts_with(&name))
            });
            assert!(
                !named,
                "{} names libtorch's crate; only backend-graph/src/torch and benches/graph may",
                f.display()
            );
        }
    }
}

#[test]
fn one_folder_calls_plugins_of_xla() {
    let sources = sources("backend-xla/src");
    let ffi = root().join("backend-xla/src/ffi");
    let is_unsafe = |f: &&PathBuf| read(f).lines().any(|l| l.contains("unsafe ") && !l.trim_start().starts_with("//"));
    let found: Vec<_> = sources.iter().filter(is_unsafe).collect();
    assert!(!found.is_empty() && found.iter().all(|f| f.starts_with(&ffi)), "{found:?}");
}

/// What programs import by `acc_array::prelude::*`: few names, and traits for their methods without one.
#[test]
fn the_prelude_is_small() {
    let text = read("acc/src/prelude.rs");
    let names: Vec<&str> = text
        .split("pub use ")
        .skip(1)
        .filter_map(|item| item.split(';').next())
        .flat_map(|item| match item.split_once('{') {
            Some((_, list)) => list.trim_end().trim_end_matches('}').split(',').collect(),
            None => vec![item.rsplit("::").next().unwrap_or(item)],
        })
        .map(str::trim)
        .filter(|name| !name.is_empty() && !name.ends_with(" as _"))
        .collect();
    assert!(names.contains(&"Acc") && names.contains(&"run"), "the test reads the prelude wrongly: {names:?}");
    assert!(names.len() <= 60, "{} names: {names:?}", names.len());
}

#[test]
fn an_array_operation_is_named_in_the_files_that_the_page_lists() {
    // That added last, and one without a pass of its own.
    for (name, pass) in [("FoldSeg", Some("acc-desugar/src/passes/scan_segments/mod.rs")), ("Argsort", None)] {
        let crates = ["acc-core", "acc-desugar", "backend-graph", "backend-native", "conformance", "conformance/cases"];
        let files: Vec<PathBuf> = crates.iter().flat_map(|krate| sources(Path::new(krate).join("src"))).collect();
        let named = format!("ArrayOp::{name} {{");
        let files = files.iter().filter(|file| read(file).contains(&named));
        let files: Vec<String> = files.map(|f| f.strip_prefix(root()).unwrap_or(f).display().to_string()).collect();
        assert!(files.len() <= 8, "{name} is named in {files:#?}");
        let page = read("docs/ARCHITECTURE.md");
        let steps = page.split("## Adding a combinator").nth(1).expect("the section");
        for file in files.iter().filter(|file| Some(file.as_str()) != pass) {
            let mut folders = file.match_indices('/').map(|(end, _)| &file[..end]);
            let listed = steps.contains(file.as_str()) || folders.any(|f| steps.contains(&format!("`{f}/`")));
            // Patterns that passes look for are no steps.
            let pattern = file.starts_with("acc-desugar/src/fuse/");
            assert!(listed || pattern, "docs/ARCHITECTURE.md does not list {file}, which names {name}");
        }
    }
}

/// The modules of each crate, by layers: a module imports those of layers before its own alone.
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "acc-core",
        &[
            &["memory"],
            &["data"],
            &["ir"],
            &["error"],
            &["limits", "eval", "timeline"],
            &["ad"],
            &["verify"],
            &["text"],
            &["exec"],
            &["interp"],
            &["builder"],
            &["api"],
        ],
    ),
    (
        "acc-desugar",
        &[
            &["analysis", "settings"],
            &["graph", "passes"],
            &["flatten", "fuse"],
            &["pass"],
            &["pipeline"],
            &["functions"],
        ],
    ),
    (
        "backend-native",
        &[
            &["fork"],
            &["buffer"],
            &["kernel"],
            &["bind"],
            &["lower", "tile", "cache"],
            &["llvm", "options"],
            &["prepare"],
            &["run"],
            &["explain", "search"],
            &["tune"],
        ],
    ),
    ("backend-graph", &[&["counts", "specialise"], &["export"], &["plan"], &["torch"]]),
    (
        "backend-xla",
        &[
            &["ffi"],
            &["find", "layout"],
            &["worker"],
            &["device", "collectives", "mesh"],
            &["stages"],
            &["tensors"],
            &["argument"],
            &["run"],
            &["backend"],
            &["sharded"],
        ],
    ),
    (
        "conformance",
        &[
            &["components", "executors", "laziness", "onnx", "progress", "runs", "structure", "tour"],
            &["headers", "digits"],
            &["suite"],
            &["fuzz", "inspect", "matrix"],
        ],
    ),
];

/// The modules of a crate that a source file imports, as far as it is not a test.
fn imports(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code.lines().filter(|l| !l.trim_start().starts_with("//"));
    let code: Vec<&str> = lines.collect();
    let code = code.join("\n");
    let name = |s: &str| s.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    for after in code.split("crate::").skip(1) {
        let Some(list) = after.strip_prefix('{') else {
            found.push(name(after));
            continue;
        };
        // `crate::{a, b::{c, d}}`: what stands at the first level.
        let mut depth = 0;
        let mut start = true;
        for (at, c) in list.char_indices() {
            if start && depth == 0 {
                found.push(name(&list[at..]));
            }
            start = false;
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' => start = true,
                _ => {}
            }
        }
    }
    found
}

#[test]
fn modules_import_those_of_layers_below() {
    assert_eq!(
        imports("use crate::{a::{x, y}, b};\ncrate::c::d();\n// crate::e\n#[cfg(test)]\nmod t { use crate::f; }"),
        ["a", "b", "c"]
    );
    for (krate, layers) in LAYERS {
        let layer = |module: &str| layers.iter().position(|l| l.contains(&module));
        let folder = root().join(krate).join("src");
        for file in sources(&folder) {
            let path = file.strip_prefix(&folder).unwrap_or(&file).with_extension("");
            let module =
                path.components().next().map(|c| c.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
            let is_test = path.file_name().is_some_and(|n| n == "tests" || n == "testing");
            if module == "lib" || is_test {
                continue;
            }
            let own = layer(&module).unwrap_or_else(|| panic!("{krate}: `{module}` is in no layer"));
            for import in imports(&read(&file)).iter().filter(|m| **m != module) {
                let below = layer(import).is_none_or(|other| other < own);
                assert!(below, "{}: `{module}` imports `{import}`, which is not below it", file.display());
            }
        }
    }
}

/// Folders that may be larger: cargo finds examples in one folder alone, and test programs are looked for by name.
const LARGE_FOLDERS: [&str; 2] = ["acc/examples", "conformance/programs"];
const MAX_ENTRIES_PER_FOLDER: usize = 15;

/// The folders in this one with too many entries.
fn crowded(folder: &Path, out: &mut Vec<String>) {
    let name = folder.strip_prefix(root()).unwrap_or(folder).display().to_string();
    if LARGE_FOLDERS.contains(&name.as_str()) {
        return;
    }
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{name}: {e}")).flatten();
    let entries: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    if entries.len() > MAX_ENTRIES_PER_FOLDER {
        out.push(format!("{name}: {}", entries.len()));
    }
    for entry in entries.iter().filter(|e| e.is_dir() && !e.is_symlink()) {
        crowded(entry, out);
    }
}

#[test]
fn no_source_folder_has_more_entries_than_one_sees_at_once() {
    let mut found = Vec::new();
    for krate in [
        "acc",
        "acc-core",
        "acc-desugar",
        "backend-graph",
        "backend-native",
        "backend-xla",
        "benches",
        "conformance",
        "docs",
        "fuzz/fuzz_targets",
        "scripts",
    ] {
        crowded(&root().join(krate), &mut found);
    }
    assert!(found.is_empty(), "more than {MAX_ENTRIES_PER_FOLDER} entries: {found:#?}");
}
