//! Limits of the interpreter's long steps, and of what comes before a run.

use acc_core::prelude::*;
use acc_core::text::{parse, verified_test_file};
use acc_core::verify::verify_within;
use acc_core::{Error, Executor, LimitError};
use std::fmt::Write;
use std::time::{Duration, Instant};

const SORT: &str =
    "program(xs: [1]i64) { p: [1]i64 = argsort(xs) yield p } run { xs = [1000000] i64 lcg(1) expect agree }";

#[test]
fn a_sort_looks_at_the_clock() {
    let file = verified_test_file("sort.acc", SORT).unwrap();
    let args = file.runs[0].arrays().unwrap();
    let sort = |limits: &RunLimits| {
        let start = Instant::now();
        (Interpreter::new().run_untyped(&file.program, &args, limits), start.elapsed())
    };
    let (done, whole) = sort(&RunLimits::none());
    assert!(done.is_ok());
    for percent in [20, 35, 50, 65] {
        let wait = whole * percent / 100;
        let limits = RunLimits::none().deadline(Instant::now() + wait);
        let (stopped, time) = sort(&limits);
        // A machine under load may have been faster the second time.
        if stopped.is_ok() && time <= wait {
            continue;
        }
        assert_eq!(stopped.err(), Some(Error::Limit(LimitError::Deadline)), "after {time:?} of {whole:?}");
        assert!(
            time < wait + whole / 6 + Duration::from_millis(100),
            "{time:?}, where {wait:?} of {whole:?} were given"
        );
    }
}

#[test]
fn what_a_sort_keeps_besides_is_charged() {
    let file = verified_test_file("sort.acc", SORT).unwrap();
    let args = file.runs[0].arrays().unwrap();
    let within = |bytes| {
        let limits = RunLimits::none().max_bytes(bytes);
        Interpreter::new().run_untyped(&file.program, &args, &limits).map(|_| ())
    };
    // The result has 8 MB, and the positions are sorted in twice as much.
    assert!(matches!(within(20_000_000), Err(Error::Limit(LimitError::Memory { .. }))));
    assert_eq!(within(25_000_000), Ok(()));
}

/// A function of many operations, and a program of many statements.
fn long(nodes: usize, statements: usize) -> String {
    let mut text = String::from("program(a0: [1]i64) {\n  a1: [1]i64 = map(a0, f: |%0: i64| {\n");
    for k in 1..=nodes {
        let _ = writeln!(text, "    %{k}: i64 = add(%{}, {k}i64)", k - 1);
    }
    let _ = writeln!(text, "    yield %{nodes} }})");
    for k in 2..=statements {
        let _ = writeln!(text, "  a{k}: [1]i64 = map(a{}, f: |%x: i64| add(%x, {k}i64))", k - 1);
    }
    let _ = write!(text, "  yield a{statements}\n}}");
    text
}

#[test]
fn the_verifier_looks_at_the_clock() {
    for (nodes, statements) in [(5000, 1), (1, 5000)] {
        let program = parse("long.acc", &long(nodes, statements)).unwrap();
        assert_eq!(verify_within(&program, &RunLimits::none()), Ok(()));
        let cancel = CancelToken::new();
        cancel.cancel();
        let limits = RunLimits::none().cancel(cancel);
        assert_eq!(verify_within(&program, &limits), Err(Error::Limit(LimitError::Cancelled)));
    }
}

#[test]
fn a_program_that_is_late_is_not_built() {
    let xs = use_(&Vector::from([1i64]));
    let chain = (0..20_000).fold(xs, |xs, k| xs.map(|x| x + k));
    let limits = RunLimits::none().deadline(Instant::now());
    let start = Instant::now();
    assert_eq!(Interpreter::new().run_with(&chain, &limits).err(), Some(Error::Limit(LimitError::Deadline)));
    assert!(start.elapsed() < Duration::from_millis(200), "{:?}", start.elapsed());
}

/// Twice as much of everything takes about twice as long.
#[test]
fn reading_takes_time_in_proportion_to_the_text() {
    // The least of a few times: other processes may run.
    let time = |text: &str| {
        let once = || {
            let start = Instant::now();
            verified_test_file("long.acc", text).unwrap();
            start.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let header = |n: usize| format!("component: {}\nprogram() {{ yield }}", "FLD-01 ".repeat(n));
    let runs = |n: usize| {
        let mut text = String::from("program() { yield }\n");
        for k in 0..n {
            let _ = writeln!(text, "run \"{k}\" {{ }}");
        }
        text
    };
    let inputs = |n: usize| {
        let params: Vec<String> = (0..n).map(|k| format!("x{k}: [0]i64")).collect();
        let values: Vec<String> = (0..n).map(|k| format!("x{k} = [] i64 {{ {k} }}")).collect();
        format!("program({}) {{ yield }} run {{ {} }}", params.join(", "), values.join(" "))
    };
    let maps = |n: usize| long(1, n);
    let functions = |n: usize| long(n, 1);
    // Blocks within each other, all of which read what the outermost one defines.
    let blocks = |n: usize| {
        let body =
            "if lt(add(add(add(%x, %x), add(%x, %x)), add(add(%x, %x), add(%x, %x))), 1i64) { yield ".repeat(n / 20);
        let ends = " } else { yield %x }".repeat(n / 20);
        format!("program(a: [1]i64) {{ b: [1]i64 = map(a, f: |%x: i64| {{ yield {body}%x{ends} }}) yield b }}")
    };
    let texts: [(&str, &dyn Fn(usize) -> String); 6] = [
        ("header", &header),
        ("runs", &runs),
        ("inputs", &inputs),
        ("maps", &maps),
        ("functions", &functions),
        ("blocks", &blocks),
    ];
    for (what, text) in texts {
        let (few, many) = (text(2_000), text(32_000));
        time(&few);
        let (few, many) = (time(&few), time(&many));
        // Sixteen times as much; quadratic would be 256 times.
        assert!(many < few * 100 + Duration::from_millis(20), "{what}: {few:?}, then {many:?}");
    }
}
