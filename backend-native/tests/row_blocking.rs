//! Row blocking: kernels that run one after the other on a block of rows.

mod common;

use acc_core::data::{ArrayData, ScalarType};
use acc_core::timeline::{self, Kind};
use acc_core::{Error, Executor, RunLimits};
use backend_native::{Compile, Native, Options};
use common::{Rng, array, parse, reference, same_outcome};
use std::sync::Mutex;

/// Serialises recordings, which see all kernels of this process.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a program on all executors, which must agree; the number of kernels of each row blocking by machine code.
fn row_blockings(text: &str, args: &[ArrayData]) -> Vec<usize> {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let program = parse(text);
    let want = reference(&program, args);
    let run = |native: Native| native.run_untyped(&program, args, &RunLimits::none());
    let tiles = run(Native::tiles());
    let recording = timeline::record();
    let compiled = run(on_three_threads());
    let spans = recording.stop().spans;
    same_outcome(text, args, ("interpreter", &want), ("tiles", &tiles), 1e-3);
    same_outcome(text, args, ("tiles", &tiles), ("machine code", &compiled), 0.0);
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
    let kernels = spans.iter().filter(|s| s.kind == Kind::Kernel);
    kernels.map(|s| s.name.split("; ").count()).filter(|n| *n > 1).collect()
}

fn on_three_threads() -> Native {
    let options = Options::new().threads(3).compile(Compile::Now);
    Native::with(options).unwrap()
}

fn floats(shape: &[usize]) -> ArrayData {
    array(shape, &ScalarType::F32.into(), &mut Rng(77))
}

const SOFTMAX: &str = "program(a: [2]f32) {
  m: [1]f32 = fold1(a, f: |%x: f32, %y: f32| max(%x, %y))
  e: [2]f32 = imap(a, f: |%i: i64, %j: i64, %x: f32| exp(sub(%x, m[%i])))
  s: [1]f32 = fold(e, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.5f32)
  r: [2]f32 = imap(e, f: |%i: i64, %j: i64, %x: f32| div(%x, s[%i]))
  yield RESULTS
}";

#[test]
fn a_softmax_is_one_sweep_at_any_length_of_rows() {
    let text = SOFTMAX.replace("RESULTS", "r");
    for (rows, row) in [(40_000, 7), (9001, 33), (5000, 64), (997, 301), (64, 5000)] {
        assert_eq!(row_blockings(&text, &[floats(&[rows, row])]), [3], "{rows} by {row}");
    }
}

#[test]
fn the_explanation_tells_what_goes_together() {
    for (results, told) in [
        (
            "r",
            "kernels 0 to 2 take one block of rows after another if there are enough of them; a1, a2, a3 are not stored as a whole then",
        ),
        (
            "s, r, m",
            "kernels 0 to 2 take one block of rows after another if there are enough of them; a2 is not stored as a whole then",
        ),
    ] {
        let program = parse(&SOFTMAX.replace("RESULTS", results));
        let ready = acc_core::exec::Ready::new(&Native::new(), &program).unwrap();
        let explanation = ready.prepared().explain().to_string();
        assert!(explanation.lines().any(|line| line == told), "{explanation}");
    }
}

#[test]
fn what_is_needed_afterwards_is_stored() {
    for results in ["m, r", "r, e", "e, s, r, m"] {
        assert_eq!(row_blockings(&SOFTMAX.replace("RESULTS", results), &[floats(&[999, 301])]), [3], "{results}");
    }
    // Read by another kernel, in other rows.
    let text = SOFTMAX.replace(
        "yield RESULTS",
        "t: [1]f32 = fold(e, f: |%x: f32, %y: f32| max(%x, %y), init: || 0.5f32)
      u: [1]f32 = generate(shape: || extent(s, 0), f: |%i: i64| add(t[0i64], s[sub(sub(extent(s, 0), 1i64), %i)]))
      yield r, u",
    );
    assert_eq!(row_blockings(&text, &[floats(&[999, 301])]), [3]);
}

#[test]
fn small_programs_and_few_rows_are_launched_one_by_one() {
    let text = SOFTMAX.replace("RESULTS", "r");
    assert_eq!(row_blockings(&text, &[floats(&[30, 30])]), []);
    assert_eq!(row_blockings(&text, &[floats(&[4, 70_000])]), []);
    // A row does not fit the cache.
    assert_eq!(row_blockings(&text, &[floats(&[40, 200_000])]), []);
    assert_eq!(row_blockings(&text, &[floats(&[0, 300])]), []);
}

#[test]
fn epilogues_and_axes_in_between() {
    let text = "program(a: [3]f32) {
      s: [2]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
      m: [2]f32 = map(s, f: |%x: f32| div(%x, cast(extent(a, 2), f32)))
      d: [3]f32 = imap(a, f: |%i: i64, %j: i64, %k: i64, %x: f32| sub(%x, m[%i, sub(sub(extent(a, 1), 1i64), %j)]))
      q: [3]f32 = map(d, f: |%x: f32| mul(%x, %x))
      v: [2]f32 = fold(q, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
      r: [3]f32 = imap(d, f: |%i: i64, %j: i64, %k: i64, %x: f32| div(%x, sqrt(add(v[%i, %j], 1.0f32))))
      yield r, m
    }";
    assert_eq!(row_blockings(text, &[floats(&[300, 5, 130])]), [4]);
    assert_eq!(row_blockings(text, &[floats(&[3000, 6, 20])]), [4]);
}

#[test]
fn rows_of_others_are_no_sweep() {
    let text = "program(a: [2]f32) {
      m: [1]f32 = fold1(a, f: |%x: f32, %y: f32| max(%x, %y))
      e: [2]f32 = imap(a, f: |%i: i64, %j: i64, %x: f32| sub(%x, m[sub(sub(extent(a, 0), 1i64), %i)]))
      yield e
    }";
    assert_eq!(row_blockings(text, &[floats(&[999, 301])]), []);
}

#[test]
fn the_first_fault_is_reported() {
    // A fault in one row of the second kernel, and in a later row of the first.
    for (first, second) in [(-1, 700), (900, 3)] {
        let text = "program(a: [2]i32) {
          m: [1]i32 = fold1(a, f: |%x: i32, %y: i32| add(%x, %y))
          n: [1]i32 = imap(m, f: |%i: i64, %x: i32| quot(%x, cast(sub(%i, FIRSTi64), i32)))
          e: [2]i32 = imap(a, f: |%i: i64, %j: i64, %x: i32| quot(add(%x, n[%i]), cast(sub(%i, SECONDi64), i32)))
          yield e
        }";
        let text = text.replace("FIRST", &first.to_string()).replace("SECOND", &second.to_string());
        let a = array(&[1000, 301], &ScalarType::I32.into(), &mut Rng(5));
        row_blockings(&text, &[a]);
    }
}

#[test]
fn limits_hold() {
    let text = SOFTMAX.replace("RESULTS", "r");
    let limits = RunLimits::none().max_bytes(1 << 20);
    let got = on_three_threads().run_untyped(&parse(&text), &[floats(&[999, 301])], &limits);
    assert!(matches!(got, Err(Error::Limit(_))), "{got:?}");
}

/// Arrays that only some points need are evaluated before a launch if one of its first points needs them.
#[test]
fn a_launch_does_not_begin_before_what_its_first_points_need_is_there() {
    // The sums are stored, since they are read at other points than their own.
    let text = "program(x: [2]f32) {
      sums: [1]f32 = fold(x, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)
      next: [1]f32 = generate(shape: || extent(x, 0), f: |%i: i64| {
        %s: f32 = if gt(%i, 2i64) { yield sums[sub(%i, 1i64)] } else { yield 0.5f32 }
        yield %s
      })
      yield next
    }";
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let program = parse(text);
    // With two rows no point needs the sums.
    for (rows, launches) in [(3000, ["fold", "generate"].as_slice()), (2, &["generate"])] {
        let args = [array(&[rows, 40], &ScalarType::F32.into(), &mut Rng(5))];
        for compile in [Compile::Now, Compile::Never] {
            let native = Native::with(Options::new().threads(2).compile(compile)).unwrap();
            let recording = timeline::record();
            let got = native.run_untyped(&program, &args, &RunLimits::none());
            let spans = recording.stop().spans;
            let kernels = spans.iter().filter(|s| s.kind == Kind::Kernel);
            let mut names: Vec<&str> = kernels.filter_map(|s| s.name.split(' ').next_back()).collect();
            names.sort_unstable();
            assert_eq!(names, launches, "{rows} rows");
            same_outcome(text, &args, ("interpreter", &reference(&program, &args)), ("native", &got), 1e-3);
        }
    }
}
