//! Machine code against the tile executor: bit for bit equal, on every test program.

use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::text::{TestFile, parse_test_file};
use acc_core::{Error, Executor, RunLimits};
use backend_native::Native;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The difference between two runs, if there is one.
fn difference(want: &Result<Vec<ArrayData>, Error>, got: &Result<Vec<ArrayData>, Error>) -> Option<String> {
    match (want, got) {
        (Ok(w), Ok(g)) => w.iter().zip(g).find_map(|(w, g)| crate::common::same(w, g, 0.0).err()),
        (Err(w), Err(g)) if w == g => None,
        _ => Some(format!("tiles: {want:?}\ncompiled: {got:?}")),
    }
}

fn compare(program: &Arc<Program>, args: &[ArrayData], tiles: &Native, native: &Native) -> Option<String> {
    let run = |n: &Native| {
        let deadline = Some(Instant::now() + Duration::from_secs(20));
        n.run_untyped(program, args, &RunLimits::none().deadline(deadline))
    };
    let (want, got) = (run(tiles), run(native));
    // When a run reaches a time limit depends on its speed.
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
            if let Some(e) = compare(&file.program, &run.arrays().unwrap(), &tiles, &native) {
                wrong.push(format!("{} {:?}: {e}", path.display(), run.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

#[test]
fn positions_that_loops_carry_take_32_bits() {
    let program = "program(xs: [1]f32, cs: [1]f32) {
      a: [1]i64 = map(xs, f: |%x: f32| {
        %k: i64, %at: i64, %least: f32 = while (0i64, 0i64, 1000f32)
          test |%k: i64, %at: i64, %least: f32| { yield lt(%k, extent(cs, 0)) }
          step |%k: i64, %at: i64, %least: f32| {
            %d: f32 = abs(sub(cs[%k], %x))
            %closer: bool = lt(%d, %least)
            yield add(%k, 1i64), select(%closer, %k, %at), select(%closer, %d, %least)
          }
        yield %at
      })
      yield a
    }";
    let program = Arc::new(acc_core::text::parse("positions", program).unwrap());
    let native = Native::compiled();
    let listing = acc_core::Backend::prepare(&native, &program, &RunLimits::none()).unwrap().listing();
    // The module as emitted, and after LLVM's passes.
    let Some(code) = listing.split("define i64").nth(2) else {
        assert!(!listing.contains("define i64"), "{listing}");
        println!("not run: there is no LLVM");
        return;
    };
    // The counter is equal in all lanes; the position is extended to 64 bits once, after the loop.
    let carried = |ty: &str| code.lines().any(|l| l.contains(" phi <") && l.contains(ty));
    assert!(!carried(" x i64>") && carried(" x i32>"), "{code}");
}

#[test]
fn long_bodies_are_written_for_two_vectors_side_by_side() {
    let steps: String = (0..120).map(|k| format!("%x{}: f32 = add(mul(%x{k}, 0.5f32), %q)\n", k + 1)).collect();
    let program = format!(
        "program(xs: [1]f32) {{
          a: [1]f32 = map(xs, f: |%x0: f32| {{
            %q: f32 = div(1f32, %x0)
            {steps}
            yield %x120
          }})
          yield a
        }}"
    );
    let program = Arc::new(acc_core::text::parse("long", &program).unwrap());
    let listing = acc_core::Backend::prepare(&Native::compiled(), &program, &RunLimits::none()).unwrap().listing();
    let Some(written) = listing.split("define i64").nth(1) else {
        println!("not run: there is no LLVM");
        return;
    };
    let operations = |name: &str| written.lines().filter(|l| l.contains(name) && l.contains(" x float>")).count();
    // Of 241 operations, for any mask: from 200 on a body is emitted once.
    assert_eq!((operations(" fdiv "), operations(" fmul ")), (2, 240), "{written}");
}

#[test]
fn short_loops_run_several_vectors_side_by_side_and_are_left_at_the_bottom() {
    let program = "program(xs: [1]f32) {
      a: [1]i32 = map(xs, f: |%x: f32| {
        %z: f32, %k: i32 = while (0f32, 0i32)
          test |%z: f32, %k: i32| {
            %on: bool = lt(%z, 4f32)
            yield if %on { yield lt(%k, 99i32) } else { yield false }
          }
          step |%z: f32, %k: i32| { yield add(mul(%z, %z), %x), add(%k, 1i32) }
        yield %k
      })
      yield a
    }";
    let program = Arc::new(acc_core::text::parse("escape", program).unwrap());
    let listing = acc_core::Backend::prepare(&Native::compiled(), &program, &RunLimits::none()).unwrap().listing();
    let Some(written) = listing.split("define i64").nth(1) else {
        println!("not run: there is no LLVM");
        return;
    };
    // With thirty-two registers, four vectors per iteration; with sixteen, two. The rest of a row is one vector under a
    // mask.
    let few = backend_native::llvm::status().library.is_some_and(|l| l.vector_bits == 256);
    let products = |code: &str| code.lines().filter(|l| l.contains("fmul <")).count();
    assert_eq!(products(written), if few { 3 } else { 5 }, "{written}");
    // A block with a branch back to the loop computes a whole iteration.
    let iterations = written.split("\nb").filter(|block| products(block) > 0);
    assert!(iterations.clone().all(|block| block.contains("br i1")), "{written}");
    assert_eq!(iterations.count(), 2, "{written}");
}
