//! Kept schedules, by processes that have a cache folder of their own.

use super::{Chosen, Tune, keep, kept, scheduled, searches};
use crate::cache::tests::Base;
use crate::{Backend, Compile, Native, Options};
use acc_core::data::{ArrayData, EltType, Prim, ScalarType};
use acc_core::ir::{ArrayId, Program};
use acc_core::text::{parse, schedule_of};
use acc_core::{Executor, RunLimits};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The extents of the factors.
const N: usize = 192;

/// A product of matrices of integers, which has the same bits in any order, and an element-wise array of it.
fn product() -> Arc<Program> {
    let text = "program(a: [2]i64, b: [2]i64) {
        terms: [3]i64 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
          f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
        c: [2]i64 = fold1(terms, f: |%x: i64, %y: i64| add(%x, %y))
        yield c
      }";
    Arc::new(parse("product.acc", text).unwrap())
}

/// Factors, the first of so many rows.
fn arguments(rows: usize) -> [ArrayData; 2] {
    let matrix = |rows: usize, k: i64| {
        let elements = (0..(rows * N) as i64).map(|i| [(i * k % 1000 - 500).lit()]);
        ArrayData::from_leaves([rows, N], EltType::Scalar(ScalarType::I64), elements).unwrap()
    };
    [matrix(rows, 7), matrix(N, 11)]
}

fn options(tune: Tune) -> Options {
    Options::new().threads(1).compile(Compile::Now).tune(tune)
}

/// Runs this test in a process of its own whose cache is in `base`; yields what it printed.
fn in_process(name: &str, base: &Path, task: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([format!("tune::tests::{name}"), "--exact".into(), "--nocapture".into()]);
    let output = child.env("ACC_CACHE", base).env("ACC_TUNE_TASK", task).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

fn task() -> Option<String> {
    std::env::var("ACC_TUNE_TASK").ok()
}

/// Whether a run of the program would have loops of a schedule.
fn is_scheduled(options: &Options, program: &Arc<Program>, args: &[ArrayData]) -> bool {
    let native = Native::with(options.clone()).unwrap();
    let prepared = Backend::prepare(&native, program, &RunLimits::none()).unwrap();
    let found = scheduled(options, &prepared, args, &RunLimits::none());
    found.is_some_and(|p| p.plan().launches().any(|l| l.kernel.has_schedule))
}

fn has_machine_code() -> bool {
    crate::llvm::status().library.is_some()
}

fn only_file(base: &Path) -> PathBuf {
    let files = std::fs::read_dir(base.join("tuned")).unwrap().flatten().map(|e| e.path());
    let mut files = files.filter(|p| p.extension().is_some_and(|e| e == "schedules"));
    let (one, other) = (files.next().unwrap(), files.next());
    assert_eq!(other, None);
    one
}

#[test]
fn a_second_process_measures_nothing() {
    let (program, args) = (product(), arguments(N));
    if task().is_some() {
        let limits = RunLimits::none();
        let plain = Native::with(options(Tune::Never)).unwrap().run_untyped(&program, &args, &limits).unwrap();
        let native = Native::with(options(Tune::Now)).unwrap();
        for _ in 0..2 {
            assert_eq!(native.run_untyped(&program, &args, &limits).unwrap(), plain);
        }
        println!("searches: {}", searches());
        return;
    }
    if !has_machine_code() {
        return;
    }
    let base = Base::new("tuned");
    let run = || in_process("a_second_process_measures_nothing", &base.0, "run");
    assert!(run().contains("searches: 1"));
    let file = only_file(&base.0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\nof:\n") && text.contains("fold1") && text.contains("[192, 192]"), "{text}");
    assert!(run().contains("searches: 0"));
    // Damaged, or of another program: it is searched again.
    std::fs::write(&file, text.replace("[192, 192]", "[191, 192]")).unwrap();
    assert!(run().contains("searches: 1"));
    assert!(run().contains("searches: 0"));
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert!(run().contains("searches: 1"));
}

#[test]
fn kept_schedules_are_run() {
    let (program, args) = (product(), arguments(N));
    let schedule = schedule_of("[i0 by 4, lanes i1, i2, unrolled i0]").unwrap();
    let c = ArrayId(3);
    match task().as_deref() {
        Some("keep") => {
            let chosen = Chosen { array: c, schedule, median: 1e6, before: 2e6 };
            println!("file: {}", keep(&options(Tune::Kept), &program, &args, chosen).unwrap().display());
        }
        // A schedule that does not fit: it is not used, and no run fails.
        Some("foreign") => {
            let schedule = schedule_of("[i0, lanes i1]").unwrap();
            let chosen = [Chosen { array: c, schedule, median: 1e6, before: 2e6 }];
            kept::put(&program, &args, &options(Tune::Kept), &chosen).unwrap();
            assert!(!is_scheduled(&options(Tune::Kept), &program, &args));
        }
        Some(_) => {
            let used = |tune: Tune| is_scheduled(&options(tune), &program, &args);
            println!("never {}, kept {}", used(Tune::Never), used(Tune::Kept));
            // Other extents: a row less.
            let [fewer, _] = arguments(N - 1);
            assert!(!is_scheduled(&options(Tune::Kept), &program, &[fewer, args[1].clone()]));
            let limits = RunLimits::none();
            let results = |tune| Native::with(options(tune)).unwrap().run_untyped(&program, &args, &limits).unwrap();
            assert_eq!(results(Tune::Kept), results(Tune::Never));
            assert_eq!(searches(), 0);
        }
        None if has_machine_code() => {
            let base = Base::new("kept");
            let run = |task: &str| in_process("kept_schedules_are_run", &base.0, task);
            assert!(run("use").contains("never false, kept false"));
            assert!(run("keep").contains(&only_file(&base.0).display().to_string()));
            let text = std::fs::read_to_string(only_file(&base.0)).unwrap();
            assert!(
                text.starts_with("a3 = [i0 by 4, lanes i1, i2, unrolled i0]  # `c`: 1.000 ms, 2.000 ms before\n"),
                "{text}"
            );
            assert!(run("use").contains("never false, kept true"));
            run("foreign");
        }
        None => {}
    }
}

#[test]
fn a_schedule_that_could_change_bits_is_not_kept() {
    let text = "program(a: [2]f32) {
        sums: [1]f32 = fold1(a, f: |%x: f32, %y: f32| add(%x, %y))
        yield sums
      }";
    let program = Arc::new(parse("sums.acc", text).unwrap());
    let args = [ArrayData::from_leaves(
        [300, 300],
        EltType::Scalar(ScalarType::F32),
        (0..90_000).map(|i| [(i as f32 * 0.37).sin().lit()]),
    )
    .unwrap()];
    let schedule = schedule_of("[i0, i1]").unwrap();
    let chosen = Chosen { array: ArrayId(1), schedule, median: 1e6, before: 2e6 };
    let refused = keep(&options(Tune::Kept), &program, &args, chosen).unwrap_err();
    assert!(refused.contains("`sums` could change its last bits"), "{refused}");
}

/// Where every schedule has the bits of the program without one: by the extents, too.
#[test]
fn arrays_are_tuned_whose_bits_do_not_change() {
    let tunable = |program: &str, args: &[ArrayData]| {
        crate::search::tunable(&Arc::new(parse("tunable.acc", program).unwrap()), args).unwrap()
    };
    let floats = |shape: &[usize]| {
        let n: usize = shape.iter().product();
        let elements = (0..n).map(|i| [(i as f64 * 0.37).sin().lit()]);
        ArrayData::from_leaves(shape.iter().copied(), EltType::Scalar(ScalarType::F64), elements).unwrap()
    };
    let products = "program(a: [3]f64, b: [3]f64) {
        t: [4]f64 = generate(shape: || (extent(a, 0), extent(a, 1), extent(b, 2), extent(a, 2)),
          f: |%t: i64, %i: i64, %j: i64, %k: i64| mul(a[%t, %i, %k], b[%t, %k, %j]))
        c: [3]f64 = fold1(t, f: |%x: f64, %y: f64| add(%x, %y))
        d: [3]f64 = compute(c)
        e: [3]f64 = map(d, f: |%x: f64| sqrt(%x))
        yield e
      }";
    let of_terms = |k: usize| [floats(&[5, 40, k]), floats(&[5, k, 50])];
    // A product of few terms is not one of `gemm`, but adds in the same order; an element-wise array has no order.
    for k in [3, 26, 63] {
        assert_eq!(tunable(products, &of_terms(k)), [ArrayId(3), ArrayId(5)], "{k} terms");
    }
    let sums = "program(a: [2]f64) {
        s: [1]f64 = fold1(a, f: |%x: f64, %y: f64| add(%x, %y))
        yield s
      }";
    assert_eq!(tunable(sums, &[floats(&[50, 700])]), []);
}
