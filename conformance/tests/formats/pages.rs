//! The programs in the documentation are read, verified and run.

use acc_core::ir::PrimOp;
use acc_core::text::parse_test_file;
use acc_core::verify::verify;
use acc_core::{Executor, Interpreter};
use backend_native::Kernels;
use conformance::runner;
use std::path::Path;

/// The blocks with this mark, each with its text moved to where it stands in the page.
fn blocks(page: &str, mark: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut block: Option<String> = None;
    for (k, line) in page.lines().enumerate() {
        match (&mut block, line) {
            (None, line) if line.strip_prefix("```") == Some(mark) => block = Some("\n".repeat(k + 1)),
            (Some(text), "```") => {
                out.push(std::mem::take(text));
                block = None;
            }
            (Some(text), line) => *text += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    out
}

#[test]
fn the_programs_of_the_text_form_page_work() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TEXT.md");
    let page = std::fs::read_to_string(&path).expect("docs/TEXT.md");
    let blocks = blocks(&page, "acc");
    assert!(blocks.len() >= 4);
    for text in blocks {
        let file = parse_test_file("docs/TEXT.md", &text).unwrap_or_else(|e| panic!("{e}"));
        verify(&file.program, None).unwrap_or_else(|e| panic!("{e}"));
        let interpreter = Interpreter::new();
        interpreter.prepare(&file.program).unwrap_or_else(|e| panic!("{e}"));
        for run in &file.runs {
            runner::check(&interpreter, &file, run).unwrap_or_else(|e| panic!("docs/TEXT.md:{}: {e}", run.line));
        }
    }
}

#[test]
fn the_kernels_of_the_text_form_page_are_kernels() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TEXT.md");
    let blocks = blocks(&std::fs::read_to_string(&path).expect("docs/TEXT.md"), "kernel");
    assert_eq!(blocks.len(), 1);
    for text in blocks {
        assert!(Kernels::are_in(&text));
        let kernels = Kernels::parse("docs/TEXT.md", &text).unwrap_or_else(|e| panic!("{e}"));
        kernels.verify().unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn the_text_form_page_lists_every_operation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TEXT.md");
    let page = std::fs::read_to_string(&path).expect("docs/TEXT.md");
    for op in PrimOp::ALL {
        assert!(page.contains(&format!("`{}`", op.name())), "docs/TEXT.md does not list {}", op.name());
    }
}

#[test]
fn the_page_for_those_who_come_from_accelerate_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ACCELERATE.md");
    let page = std::fs::read_to_string(&path).expect("docs/ACCELERATE.md");
    assert!(
        page == conformance::components::to_markdown(),
        "docs/ACCELERATE.md is not what conformance/components.tsv says: acc list --accelerate > docs/ACCELERATE.md"
    );
}

#[test]
fn the_readme_names_the_minimum_rust_version_of_the_workspace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let manifest = read("Cargo.toml");
    let version =
        manifest.lines().find_map(|l| l.strip_prefix("rust-version = \"")?.strip_suffix('"')).expect("a version");
    let readme = read("README.md");
    for named in [format!("badge/rust-{version}%2B-"), format!("({version} or later)")] {
        assert!(readme.contains(&named), "README.md does not say {named}");
    }
}
