//! Loops over arrays: recorded steps give the bits, faults and limits of launched ones, and take no memory.

mod common;

use acc_core::data::{ArrayData, Prim, ScalarType};
use acc_core::{CancelToken, Error, Executor, LimitError, RunLimits, timeline};
use backend_native::{Native, Options};
use common::{Rng, agree_within, array, int, ints, parse};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts allocations.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static MEMORY: Counting = Counting;

/// Allocations and timelines are those of the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A counter, and an array that each step computes of the one before.
const COUNTED: &str = "program(n: [0]i64, xs: [1]i64) {
  k: [0]i64 = generate(shape: || (), f: || 0i64)
  e: [0]i64, r: [1]i64 = awhile(k, xs, test: |a: [0]i64, b: [1]i64| {
      c: [0]bool = map(a, f: |%a: i64| lt(%a, n[]))
      yield c
    },
    step: |a: [0]i64, b: [1]i64| {
      d: [0]i64 = map(a, f: |%a: i64| add(%a, 1i64))
      f: [1]i64 = imap(b, f: |%i: i64, %x: i64| add(mul(%x, 3i64), b[rem(add(%i, a[]), extent(b, 0))]))
      yield d, f
    })
  yield e, r
}";

/// The sum of an array, and the greatest of rows that are made of it, of which the next array is computed.
const FOLDED: &str = "program(n: [0]i64, xs: [1]i64) {
  k: [0]i64 = generate(shape: || (), f: || 0i64)
  e: [0]i64, r: [1]i64 = awhile(k, xs, test: |a: [0]i64, b: [1]i64| {
      c: [0]bool = map(a, f: |%a: i64| lt(%a, n[]))
      yield c
    },
    step: |a: [0]i64, b: [1]i64| {
      d: [0]i64 = map(a, f: |%a: i64| add(%a, 1i64))
      s: [0]i64 = fold(b, f: |%x: i64, %y: i64| add(%x, %y), init: || 7i64)
      m: [2]i64 = generate(shape: || (extent(b, 0), 9i64), f: |%i: i64, %j: i64| sub(mul(b[%i], sub(%j, 4i64)), a[]))
      g: [1]i64 = fold(m, f: |%x: i64, %y: i64| max(%x, %y), init: || -30i64)
      f: [1]i64 = map(g, f: |%x: i64| sub(rem(%x, 1009i64), s[]))
      yield d, f
    })
  yield e, r
}";

/// Scatters into an array of the step, which nothing else reads, and into one of the state; a fold that some elements alone read.
const SCATTERED: &str = "program(n: [0]i64, xs: [1]i64) {
  k: [0]i64 = generate(shape: || (), f: || 0i64)
  h: [1]i64 = generate(shape: || 8i64, f: |%i: i64| %i)
  e: [0]i64, r: [1]i64, o: [1]i64 = awhile(k, xs, h, test: |a: [0]i64, b: [1]i64, c: [1]i64| {
      go: [0]bool = map(a, f: |%a: i64| lt(%a, n[]))
      yield go
    },
    step: |a: [0]i64, b: [1]i64, c: [1]i64| {
      d: [0]i64 = map(a, f: |%a: i64| add(%a, 1i64))
      s: [0]i64 = fold(b, f: |%x: i64, %y: i64| max(%x, %y), init: || -30i64)
      f: [1]i64 = imap(b, f: |%i: i64, %x: i64| if gt(%i, 1i64) { yield sub(%x, s[]) } else { yield mul(%x, 3i64) })
      t: [1]i64 = generate(shape: || 5i64, f: |%i: i64| mul(add(%i, a[]), 5i64))
      g: [1]i64 = permute(t, into: f, combine: |%n: i64, %o: i64| sub(%n, %o),
        target: |%i: i64| (1u8, rem(add(mul(%i, 7i64), a[]), extent(b, 0))))
      q: [1]i64 = permute(t, into: c, combine: |%n: i64, %o: i64| add(%n, quot(%o, 2i64)),
        target: |%i: i64| (1u8, rem(add(%i, a[]), 8i64)))
      yield d, g, q
    })
  yield e, r, o
}";

/// A product of matrices, sums of products along two axes around each element of it, and of its columns along rows.
const MULTIPLIED: &str = "program(n: [0]i64, xs: [2]f32, w: [2]f32) {
  k: [0]i64 = generate(shape: || (), f: || 0i64)
  e: [0]i64, r: [2]f32 = awhile(k, xs, test: |a: [0]i64, b: [2]f32| {
      go: [0]bool = map(a, f: |%a: i64| lt(%a, n[]))
      yield go
    },
    step: |a: [0]i64, b: [2]f32| {
      d: [0]i64 = map(a, f: |%a: i64| add(%a, 1i64))
      p: [3]f32 = generate(shape: || (extent(b, 0), extent(w, 1), extent(b, 1)), f: |%i: i64, %j: i64, %k: i64| mul(b[%i, %k], w[%k, %j]))
      y: [2]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
      t: [4]f32 = generate(shape: || (extent(y, 0), extent(y, 1), 3i64, 3i64), f: |%i: i64, %j: i64, %r: i64, %c: i64|
        mul(y[rem(add(%i, %r), extent(y, 0)), min(add(%j, %c), sub(extent(y, 1), 1i64))], w[%r, %c]))
      u: [3]f32 = fold(t, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
      v: [2]f32 = fold(u, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
      q: [3]f32 = generate(shape: || (extent(w, 0), extent(w, 1), extent(b, 0)), f: |%i: i64, %j: i64, %k: i64| mul(b[%k, %i], v[%k, %j]))
      g: [2]f32 = fold(q, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
      h: [2]f32 = generate(shape: || (extent(g, 1), extent(g, 0)), f: |%i: i64, %j: i64| sub(g[%j, %i], 0.125f32))
      f: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| add(mul(%x, 0.5f32), mul(h[rem(%i, extent(h, 0)), %j], 0.25f32)))
      yield d, f
    })
  yield e, r
}";

/// For [`MULTIPLIED`]: rows of so many columns, and a square matrix.
fn matrices(steps: i64, rows: usize, columns: usize) -> Vec<ArrayData> {
    let matrix = |shape: [usize; 2]| {
        let number = |k: usize| [((k * 7919 % 251) as f32 / 1000.0 - 0.125).lit()];
        ArrayData::from_leaves(shape, ScalarType::F32.into(), (0..shape[0] * shape[1]).map(number)).unwrap()
    };
    vec![int(steps), matrix([rows, columns]), matrix([columns, columns])]
}

fn numbers(n: usize) -> ArrayData {
    ints(&(0..n as i64).map(|k| k * 7 % 31 - 9).collect::<Vec<_>>())
}

#[test]
fn recorded_steps_neither_allocate_nor_launch() {
    let _alone = alone();
    if backend_native::llvm::status().library.is_none() {
        println!("not run: no LLVM is found");
        return;
    }
    for (text, threads, elements) in [
        (COUNTED, 1, 4),
        (COUNTED, 1, 100_000),
        (COUNTED, 2, 4),
        (COUNTED, 2, 100_000),
        (FOLDED, 1, 4),
        (FOLDED, 2, 50_000),
        (SCATTERED, 1, 4),
        (SCATTERED, 2, 50_000),
        (MULTIPLIED, 1, 5),
        (MULTIPLIED, 1, 40),
        (MULTIPLIED, 2, 5),
        (MULTIPLIED, 2, 300),
    ] {
        let program = parse(text);
        let native = Native::with(Options::new().threads(threads).compile(backend_native::Compile::Now)).unwrap();
        let run = |steps: i64| {
            let args =
                if text == MULTIPLIED { matrices(steps, elements, 64) } else { vec![int(steps), numbers(elements)] };
            let recording = timeline::record();
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            native.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
            let kernels = recording.stop().spans.iter().filter(|s| s.kind == timeline::Kind::Kernel).count();
            (allocations, kernels)
        };
        // The first one compiles.
        run(100);
        let (few, many) = (run(200), run(2000));
        assert_eq!(few.1, many.1, "launches");
        // A call of `gemm` takes a buffer. There are at most five in a step: for three blocks of rows, and for two of terms.
        let taken = if text == MULTIPLIED { 5 * 1800 } else { 0 };
        assert!(many.0 < few.0 + taken + 100, "allocations: {few:?} and {many:?}");
    }
}

/// The same bits from the interpreter, tiles, machine code, and several threads.
fn all_agree(text: &str, args: &[ArrayData]) {
    all_agree_within(text, args, 0.0);
}

/// The same, where the interpreter rounds otherwise.
fn all_agree_within(text: &str, args: &[ArrayData], tolerance: f64) {
    agree_within(text, args, tolerance);
    let program = parse(text);
    let want = Native::tiles().run_untyped(&program, args, &RunLimits::none());
    for threads in [1, 2, 7] {
        let native = Native::with(Options::new().threads(threads).compile(backend_native::Compile::Now)).unwrap();
        let got = native.run_untyped(&program, args, &RunLimits::none());
        common::same_outcome(text, args, ("tiles", &want), ("threads", &got), 0.0);
    }
}

#[test]
fn counters_and_arrays() {
    let _alone = alone();
    for steps in [0, 1, 2, 3, 4, 5, 30] {
        for elements in [0, 1, 4, 1000, 70_000] {
            // The interpreter takes its time.
            if steps < 30 || elements < 1001 {
                all_agree(COUNTED, &[int(steps), numbers(elements)]);
            }
        }
    }
}

#[test]
fn folds() {
    let _alone = alone();
    for (steps, elements) in [(0, 4), (3, 0), (12, 0), (12, 1), (12, 4), (30, 63), (30, 64), (12, 1000), (7, 70_000)] {
        all_agree(FOLDED, &[int(steps), numbers(elements)]);
    }
}

#[test]
fn scatters() {
    let _alone = alone();
    for (steps, elements) in [(0, 4), (3, 0), (12, 1), (30, 3), (30, 63), (12, 1000), (7, 70_000)] {
        all_agree(SCATTERED, &[int(steps), numbers(elements)]);
    }
    // Beyond the end from step 36 on.
    let faulting = SCATTERED.replace("rem(add(%i, a[]), 8i64)", "add(%i, quot(a[], 9i64))");
    for steps in [35, 37, 60] {
        all_agree(&faulting, &[int(steps), numbers(40)]);
    }
}

#[test]
fn products_and_folds_along_several_axes() {
    let _alone = alone();
    for (steps, rows, columns) in
        [(0, 4, 8), (12, 0, 8), (12, 1, 8), (12, 5, 3), (12, 5, 24), (7, 40, 64), (5, 300, 64)]
    {
        all_agree_within(MULTIPLIED, &matrices(steps, rows, columns), 1e-3);
    }
}

/// Arrays that are larger than caches: several steps go through them in one pass.
#[test]
fn steps_of_large_stencils_are_few_passes() {
    let _alone = alone();
    if backend_native::llvm::status().library.is_none() {
        println!("not run: no LLVM is found");
        return;
    }
    let program = parse(
        "program(n: [0]i64, xs: [2]f64, w: [2]f64) {
           k: [0]i64 = generate(shape: || (), f: || 0i64)
           e: [0]i64, r: [2]f64, o: [2]f64 = awhile(k, xs, w, test: |a: [0]i64, b: [2]f64, c: [2]f64| {
               go: [0]bool = map(a, f: |%a: i64| lt(%a, n[]))
               yield go
             },
             step: |a: [0]i64, b: [2]f64, c: [2]f64| {
               d: [0]i64 = map(a, f: |%a: i64| add(%a, 1i64))
               h: [2]f64 = stencil(b, window: [3, 3], boundary: clamp,
                 f: |%q: f64, %r: f64, %s: f64, %t: f64, %u: f64, %v: f64, %x: f64, %y: f64, %z: f64|
                   sub(add(%u, mul(add(add(%r, %t), add(%v, %y)), 0.2f64)), mul(add(add(%q, %s), add(%x, %z)), 0.1f64)))
               f: [2]f64 = zip_with(h, c, f: |%x: f64, %y: f64| sub(%x, mul(%y, 0.5f64)))
               yield d, f, b
             })
           yield e, r, o
         }",
    );
    let number = |k: usize| [((k * 7919 % 251) as f64 / 1000.0 - 0.125).lit()];
    let array = || ArrayData::from_leaves([900, 600], ScalarType::F64.into(), (0..900 * 600).map(number)).unwrap();
    for steps in [6, 40] {
        let args = [int(steps), array(), array()];
        let want = Native::tiles().run_untyped(&program, &args, &RunLimits::none());
        for threads in [1, 2, 7] {
            let native = Native::with(Options::new().threads(threads).compile(backend_native::Compile::Now)).unwrap();
            let recording = timeline::record();
            let got = native.run_untyped(&program, &args, &RunLimits::none());
            let kernels = recording.stop().spans.into_iter().filter(|s| s.kind == timeline::Kind::Kernel);
            let passes = kernels.filter(|s| s.name.contains("zip_with")).count() as i64;
            common::same_outcome("waves", &args, ("tiles", &want), ("threads", &got), 0.0);
            assert!(passes < 5 + steps / 4, "{passes} passes of {steps} steps, {threads} threads");
        }
    }
}

/// A loop over a counter `k`, `u` and `v` of `n` numbers; `step` defines `p` and `q`, their next values.
fn pairs(step: &str) -> String {
    format!(
        "program(n: [0]i64, u0: [1]i64, v0: [1]i64, t: [2]i64) {{
           k0: [0]i64 = generate(shape: || (), f: || 0i64)
           k1: [0]i64, u1: [1]i64, v1: [1]i64 = awhile(k0, u0, v0, test: |k: [0]i64, u: [1]i64, v: [1]i64| {{
               c: [0]bool = map(k, f: |%k: i64| lt(%k, n[]))
               yield c
             }},
             step: |k: [0]i64, u: [1]i64, v: [1]i64| {{
               l: [0]i64 = map(k, f: |%k: i64| add(%k, 1i64))
               {step}
             }})
           yield k1, u1, v1
         }}"
    )
}

const STEPS: [&str; 16] = [
    // The old array becomes another one: three arrays take turns.
    "p: [1]i64 = zip_with(u, v, f: |%u: i64, %v: i64| add(mul(%u, 5i64), %v)) yield l, v, p",
    // They swap.
    "yield l, v, u",
    // One stays.
    "p: [1]i64 = zip_with(u, v, f: |%u: i64, %v: i64| sub(%u, %v)) yield l, p, v",
    // Both become one.
    "p: [1]i64 = zip_with(u, v, f: |%u: i64, %v: i64| sub(%u, %v)) yield l, p, p",
    // Two kernels, each with several reads.
    "p: [1]i64 = imap(u, f: |%i: i64, %x: i64| sub(v[rem(add(%i, k[]), extent(v, 0))], %x))
     q: [1]i64 = imap(v, f: |%i: i64, %x: i64| add(p[sub(sub(extent(p, 0), %i), 1i64)], mul(%x, 3i64)))
     yield l, p, q",
    // A row of an array outside, at the counter.
    "s: [1]i64 = slice(t, axes: [fixed, all], index: || k[])
     p: [1]i64 = zip_with(u, s, f: |%u: i64, %s: i64| add(mul(%u, 3i64), %s)) yield l, p, u",
    // A read at the counter.
    "p: [1]i64 = map(u, f: |%x: i64| add(%x, v[k[]])) yield l, p, v",
    // A division by what becomes 0.
    "p: [1]i64 = map(u, f: |%x: i64| add(%x, quot(100i64, sub(13i64, k[])))) yield l, p, v",
    // Other extents from some step on.
    "p: [1]i64 = generate(shape: || if lt(k[], 9i64) { yield extent(u, 0) } else { yield add(extent(u, 0), 1i64) }, f: |%i: i64| add(mul(%i, k[]), u[0i64]))
     yield l, p, v",
    // A sum of what is stored, too.
    "p: [1]i64 = zip_with(u, v, f: |%u: i64, %v: i64| sub(mul(%u, 3i64), %v))
     s: [0]i64 = fold(p, f: |%x: i64, %y: i64| add(%x, %y), init: || 1i64)
     q: [1]i64 = map(v, f: |%x: i64| xor(%x, s[])) yield l, p, q",
    // An initial value that differs between steps.
    "s: [0]i64 = fold(u, f: |%x: i64, %y: i64| max(%x, %y), init: || mul(k[], 7i64))
     p: [1]i64 = map(v, f: |%x: i64| sub(s[], %x)) yield l, p, u",
    // None, by an operator that is not built in.
    "s: [0]i64 = fold1(u, f: |%x: i64, %y: i64| sub(add(%x, %y), mul(mul(%x, %y), 2i64)))
     p: [1]i64 = map(v, f: |%x: i64| sub(s[], %x)) yield l, p, u",
    // Rows of a table at the counter, with what is done to their sums.
    "m: [2]i64 = imap(t, f: |%i: i64, %j: i64, %x: i64| mul(%x, add(u[%j], v[%i])))
     s: [1]i64 = fold(m, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
     p: [1]i64 = imap(u, f: |%i: i64, %x: i64| add(mul(s[rem(%i, extent(s, 0))], t[k[], %i]), %x)) yield l, p, v",
    // Columns of a table, of which one is divided by what becomes 0.
    "m: [2]i64 = generate(shape: || (extent(t, 1), extent(t, 0)), f: |%i: i64, %j: i64| quot(mul(t[%j, %i], u[%i]), sub(13i64, k[])))
     p: [1]i64 = fold(m, f: |%x: i64, %y: i64| min(%x, %y), init: || 99i64) yield l, p, v",
    // A combination that divides by what becomes 0.
    "s: [0]i64 = fold(u, f: |%x: i64, %y: i64| add(add(%x, %y), quot(0i64, sub(13i64, k[]))), init: || 0i64)
     p: [1]i64 = map(v, f: |%x: i64| sub(s[], %x)) yield l, p, u",
    // A sum that decides how long the next array is.
    "o: [1]i64 = map(u, f: |%x: i64| and(%x, 1i64))
     s: [0]i64 = fold(o, f: |%x: i64, %y: i64| add(%x, %y), init: || 20i64)
     p: [1]i64 = generate(shape: || s[], f: |%i: i64| add(mul(%i, 3i64), u[rem(%i, extent(u, 0))])) yield l, p, v",
];

#[test]
fn states_of_several_arrays() {
    let _alone = alone();
    let mut random = Rng(0x1357_9bdf_2468_ace1);
    let two = acc_core::data::EltType::Scalar(acc_core::data::ScalarType::I64);
    let table = array(&[20, 50], &two, &mut random);
    for step in STEPS {
        for steps in [0, 1, 3, 12, 20, 25] {
            all_agree(&pairs(step), &[int(steps), numbers(50), ints(&[3; 50]), table.clone()]);
        }
    }
}

#[test]
fn loops_in_loops() {
    let _alone = alone();
    let text = "program(n: [0]i64, m: [0]i64, xs: [1]i64) {
      z: [0]i64 = generate(shape: || (), f: || 0i64)
      e: [0]i64, r: [1]i64 = awhile(z, xs, test: |a: [0]i64, b: [1]i64| { c: [0]bool = map(a, f: |%a: i64| lt(%a, n[])) yield c },
        step: |a: [0]i64, b: [1]i64| {
          d: [0]i64 = map(a, f: |%a: i64| add(%a, 1i64))
          g: [0]i64, h: [1]i64 = awhile(z, b, test: |p: [0]i64, q: [1]i64| { s: [0]bool = map(p, f: |%p: i64| lt(%p, m[])) yield s },
            step: |p: [0]i64, q: [1]i64| {
              t: [0]i64 = map(p, f: |%p: i64| add(%p, 1i64))
              w: [1]i64 = imap(q, f: |%i: i64, %x: i64| add(%x, mul(a[], add(%i, p[]))))
              yield t, w
            })
          yield d, h
        })
      yield e, r
    }";
    for (n, m) in [(0, 5), (5, 0), (3, 1), (4, 12), (12, 6)] {
        all_agree(text, &[int(n), int(m), numbers(300)]);
    }
}

#[test]
fn a_long_loop_looks_at_the_clock_and_at_the_token() {
    let _alone = alone();
    let program = parse(COUNTED);
    for threads in [1, 2] {
        for elements in [4, 100_000] {
            let args = [int(1_000_000_000), numbers(elements)];
            let native = Native::with(Options::new().threads(threads).compile(backend_native::Compile::Now)).unwrap();
            let begun = Instant::now();
            let limits = RunLimits::none().deadline(Some(begun + Duration::from_millis(300)));
            let ended = native.run_untyped(&program, &args, &limits);
            assert!(matches!(ended, Err(Error::Limit(LimitError::Deadline))), "{ended:?}");
            let cancel = CancelToken::new();
            let limits = RunLimits::none().cancel(cancel.clone());
            std::thread::scope(|s| {
                let run = s.spawn(|| native.run_untyped(&program, &args, &limits));
                std::thread::sleep(Duration::from_millis(200));
                cancel.cancel();
                assert!(matches!(run.join().unwrap(), Err(Error::Limit(LimitError::Cancelled))));
            });
            assert!(begun.elapsed() < Duration::from_secs(3));
        }
    }
}

/// A limit that launched steps keep does not end recorded ones: state and next state are all that a step needs.
#[test]
fn recorded_steps_keep_to_the_bytes_of_launched_ones() {
    let _alone = alone();
    let program = parse(COUNTED);
    let args = [int(50), numbers(100_000)];
    for (bytes, enough) in [(1_700_000, true), (900_000, false)] {
        for native in [Native::tiles(), Native::compiled()] {
            let ended = native.run_untyped(&program, &args, &RunLimits::none().max_bytes(bytes));
            assert_eq!(ended.is_ok(), enough, "{bytes}: {:?}", ended.err());
        }
    }
}
