//! The LLVM executor beside the tile executor: equal bit for bit, on every test program.

mod common;

use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::text::{TestFile, parse_test_file};
use acc_core::{Error, Executor, RunLimits};
use backend_native::Native;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What differs between two runs, if anything does.
fn difference(want: &Result<Vec<ArrayData>, Error>, got: &Result<Vec<ArrayData>, Error>) -> Option<String> {
    match (want, got) {
        (Ok(w), Ok(g)) => w.iter().zip(g).find_map(|(w, g)| common::same(w, g, 0.0).err()),
        (Err(w), Err(g)) if w == g => None,
        _ => Some(format!("tiles: {want:?}\ncompiled: {got:?}")),
    }
}

fn compare(program: &Arc<Program>, args: &[ArrayData], tiles: &Native, native: &Native) -> Option<String> {
    let run = |n: &Native| {
        let deadline = Some(Instant::now() + Duration::from_secs(20));
        n.run_untyped(program, args, &RunLimits { deadline, ..RunLimits::none() })
    };
    let (want, got) = (run(tiles), run(native));
    // When a run reaches its limit is a matter of speed.
    if matches!(want, Err(Error::Limit(_))) {
        return None;
    }
    difference(&want, &got)
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "acc") {
            out.push(path);
        }
    }
}

#[test]
fn every_test_program_gives_the_same_bits() {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/programs"), &mut paths);
    paths.sort();
    assert!(paths.len() > 100, "the test programs are where they were");
    let (tiles, native) = (Native::tiles(), Native::compiled());
    let mut wrong = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: TestFile = parse_test_file(&path.display().to_string(), &text).unwrap();
        for run in &file.runs {
            if let Some(e) = compare(&file.program, &run.args, &tiles, &native) {
                wrong.push(format!("{} {:?}: {e}", path.display(), run.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}
