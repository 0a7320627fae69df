//! Passes look at the clock, and what they do grows with the program as it should.

use acc_core::text::parse;
use acc_core::{CancelToken, Error, LimitError, RunLimits};
use acc_desugar::{Rules, fuse_within, simplify, simplify_within};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Arrays of which each is read twice, by the next one and by one much later.
fn web(n: usize) -> String {
    let mut text = String::from("program(a0: [1]i64) {\n");
    for k in 1..=n {
        let _ = writeln!(text, "  a{k}: [1]i64 = zip_with(a{}, a{}, f: |%x: i64, %y: i64| add(%x, %y))", k - 1, k / 2);
    }
    let _ = write!(text, "  yield a{n}\n}}");
    text
}

/// A function of many operations.
fn function(n: usize) -> String {
    let mut text = String::from("program(a: [1]i64) {\n  b: [1]i64 = map(a, f: |%0: i64| {\n");
    for k in 1..=n {
        let _ = writeln!(text, "    %{k}: i64 = add(mul(%{}, {k}i64), %{})", k - 1, k / 2);
    }
    let _ = write!(text, "    yield %{n}\n  }})\n  yield b\n}}");
    text
}

#[test]
fn a_late_program_is_not_prepared() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = RunLimits::none().cancel(cancel);
    for text in [web(50), function(50)] {
        let program = parse("p.acc", &text).unwrap();
        let stopped = Some(Error::Limit(LimitError::Cancelled));
        assert_eq!(simplify_within(&program, &Rules::all(), &cancelled).err(), stopped);
        assert_eq!(fuse_within(&program, &cancelled).err(), stopped);
        let none = RunLimits::none();
        assert_eq!(simplify_within(&program, &Rules::all(), &none), Ok(simplify(&program)));
    }
}

#[test]
fn simplification_stops_in_the_middle() {
    for text in [web(20_000), function(40_000)] {
        let program = parse("p.acc", &text).unwrap();
        let start = Instant::now();
        simplify(&program);
        let whole = start.elapsed();
        let limits = RunLimits::none().deadline(Instant::now() + whole / 10);
        let start = Instant::now();
        assert_eq!(simplify_within(&program, &Rules::all(), &limits).err(), Some(Error::Limit(LimitError::Deadline)));
        assert!(start.elapsed() < whole / 2, "{:?} of {whole:?}", start.elapsed());
    }
}

#[test]
fn what_depends_on_what_is_found_out_in_bounded_time() {
    let program = parse("p.acc", &web(3000)).unwrap();
    let start = Instant::now();
    acc_desugar::fuse(&program);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}
