//! Any number of threads and of concurrent callers.

mod common;

use acc_core::data::{ArrayData, Prim, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};
use common::{Rng, array, native, parse, reference, same};
use std::sync::Arc;

/// Programs over one array of floats and one of integers whose results depend on how operations are grouped.
const PROGRAMS: [&str; 17] = [
    "program(a: [1]f32, b: [1]i64) { r: [0]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 1.0f32) yield r }",
    "program(a: [1]f32, b: [1]i64) { r: [1]f32 = scanl(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 1.0f32) yield r }",
    "program(a: [1]f32, b: [1]i64) { r: [1]f32 = scanr1(a, f: |%x: f32, %y: f32| mul(%x, %y)) yield r }",
    "program(a: [1]f32, b: [1]i64) { r: [1]f32 = scanr1(a, f: |%x: f32, %y: f32| add(%x, %y)) yield r }",
    "program(a: [1]f32, b: [1]i64) {
       p: [1](bool, f32) = zip_with(a, b, f: |%x: f32, %k: i64| (eq(%k, 7i64), %x))
       s: [1](bool, f32) = scanl1(p, f: |%f: bool, %x: f32, %g: bool, %y: f32| (or(%f, %g), select(%g, %y, add(%x, %y))))
       t: [1](bool, f32) = scanr1(p, f: |%f: bool, %x: f32, %g: bool, %y: f32| (or(%f, %g), select(%f, %x, add(%x, %y))))
       yield s, t
     }",
    "program(a: [1]f32, b: [1]i64) {
       p: [1](f32, f32) = map(a, f: |%x: f32| (mul(%x, 0.125f32), add(%x, 0.3f32)))
       r: [0](f32, f32) = fold1(p, f: |%a: f32, %b: f32, %c: f32, %d: f32| (mul(%a, %c), add(mul(%b, %c), %d)))
       s: [1](f32, f32) = scanl1(p, f: |%a: f32, %b: f32, %c: f32, %d: f32| (mul(%a, %c), add(mul(%b, %c), %d)))
       yield r, s
     }",
    "program(a: [1]f32, b: [1]i64) {
       z: [1]f32 = generate(shape: || 50i64, f: |%i: i64| 0.0f32)
       r: [1]f32 = permute(a, into: z, combine: |%x: f32, %y: f32| add(mul(%x, 0.5f32), %y), target: |%i: i64| (1u8, rem(mul(%i, %i), 50i64)))
       s: [1]f32 = permute(a, into: z, combine: |%x: f32, %y: f32| add(%x, %y), target: |%i: i64| (1u8, rem(mul(%i, %i), 50i64)))
       yield r, s
     }",
    "program(a: [1]f32, b: [1]i64) {
       z: [1]i64 = generate(shape: || 50i64, f: |%i: i64| 0i64)
       r: [1]i64 = permute(b, into: z, combine: |%x: i64, %y: i64| add(%x, %y), target: |%i: i64| (1u8, rem(mul(%i, %i), 50i64)))
       yield r
     }",
    "program(a: [1]f32, b: [1]i64) {
       m: [2]f32 = generate(shape: || (300i64, 1000i64), f: |%i: i64, %j: i64| a[add(mul(%i, 100i64), %j)])
       r: [1]f32 = fold(m, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.5f32)
       s: [2]f32 = scanl1(m, f: |%x: f32, %y: f32| add(%x, %y))
       yield r, s
     }",
    // Nested folds: with many lanes, and with few, in slices.
    "program(a: [1]f32, b: [1]i64) {
       m: [4]f32 = generate(shape: || (40i64, 101i64, 5i64, 9i64), f: |%i: i64, %j: i64, %k: i64, %l: i64| a[add(mul(add(%i, %k), 500i64), add(%j, %l))])
       s: [3]f32 = fold(m, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
       r: [2]f32 = fold(s, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
       p: [3]f32 = generate(shape: || (3i64, 300i64, 301i64), f: |%c: i64, %i: i64, %j: i64| a[add(mul(add(mul(%i, 300i64), %j), 3i64), %c)])
       q: [2]f32 = fold1(p, f: |%x: f32, %y: f32| add(%x, %y))
       t: [1]f32 = fold1(q, f: |%x: f32, %y: f32| add(%x, %y))
       yield r, t
     }",
    // A segmented scan with an epilogue.
    "program(a: [1]f32, b: [1]i64) {
       p: [1](bool, f32) = zip_with(a, b, f: |%x: f32, %k: i64| (eq(rem(%k, 5i64), 0i64), %x))
       s: [1](bool, f32) = scanl1(p, f: |%f: bool, %x: f32, %g: bool, %y: f32| (or(%f, %g), select(%g, %y, add(%x, %y))))
       r: [1]f32 = map(s, f: |%f: bool, %x: f32| mul(%x, 0.5f32))
       yield r
     }",
    "program(a: [1]f32, b: [1]i64) {
       p: [1](bool, f32) = zip_with(a, b, f: |%x: f32, %k: i64| (eq(rem(%k, 5i64), 0i64), %x))
       s: [1](bool, f32) = scanr1(p, f: |%f: bool, %x: f32, %g: bool, %y: f32| (or(%f, %g), select(%f, %x, add(%x, %y))))
       yield s
     }",
    // Segments that span blocks; some are empty, and some elements are outside of all segments.
    "program(a: [1]f32, b: [1]i64) {
       o: [1]i64 = generate(shape: || 3001i64, f: |%i: i64| add(mul(quot(%i, 3i64), 299i64), 5i64))
       r: [1]f32 = fold_seg(a, offsets: o, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.5f32)
       q: [1]i64 = generate(shape: || 4i64, f: |%i: i64| mul(%i, 99999i64))
       s: [1]f32 = fold1_seg(a, offsets: q, f: |%x: f32, %y: f32| add(%x, %y))
       yield r, s
     }",
    "program(a: [1]f32, b: [1]i64) {
       m: [2](f32, i64) = generate(shape: || (7i64, 40000i64), f: |%i: i64, %j: i64| (a[add(mul(%i, 40000i64), %j)], b[%j]))
       o: [1]i64 = generate(shape: || 170i64, f: |%i: i64| add(%i, mul(%i, %i)))
       r: [2](f32, i64) = fold_seg(m, offsets: o, f: |%x: f32, %k: i64, %y: f32, %l: i64| (add(%x, %y), max(%k, %l)), init: || (1.0f32, 3i64))
       s: [2]f32 = map(r, f: |%x: f32, %k: i64| mul(%x, 0.5f32))
       yield s, r
     }",
    // A segmented scan with few, scattered flags.
    "program(a: [1]f32, b: [1]i64) {
       z: [1]bool = generate(shape: || extent(a, 0), f: |%i: i64| false)
       o: [1]bool = generate(shape: || 2000i64, f: |%i: i64| true)
       h: [1]bool = permute(o, into: z, combine: |%n: bool, %o: bool| %n, target: |%i: i64| (select(eq(rem(%i, 7i64), 3i64), 0u8, 1u8), mul(%i, 150i64)))
       p: [1](bool, f32) = imap(a, f: |%i: i64, %x: f32| (h[%i], %x))
       s: [1](bool, f32) = scanl1(p, f: |%f: bool, %x: f32, %g: bool, %y: f32| (or(%f, %g), select(%g, %y, add(%x, %y))))
       t: [1](bool, f32) = scanr1(p, f: |%f: bool, %x: f32, %g: bool, %y: f32| (or(%f, %g), select(%f, %x, add(%x, %y))))
       yield s, t
     }",
    // A compaction.
    "program(a: [1]f32, b: [1]i64) {
       c: [1]i64 = map(a, f: |%x: f32| select(gt(%x, 0.0f32), 1i64, 0i64))
       s: [1]i64 = scanl(c, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
       z: [1]f32 = generate(shape: || s[extent(a, 0)], f: |%i: i64| 0.0f32)
       r: [1]f32 = permute(a, into: z, combine: |%n: f32, %o: f32| %n, target: |%i: i64| if gt(a[%i], 0.0f32) { yield 1u8, s[%i] } else { yield 0u8, 0i64 })
       yield r
     }",
    "program(a: [1]f32, b: [1]i64) {
       r: [1]f32 = map(a, f: |%x: f32| if gt(%x, 0.0f32) { yield sin(exp(mul(%x, 0.1f32))) } else { yield sqrt(abs(%x)) })
       yield r
     }",
];

fn args() -> Vec<ArrayData> {
    let mut r = Rng(77);
    let n = 300_007;
    let floats: Vec<f32> = (0..n).map(|_| (r.next() % 2000) as f32 / 1000.0 - 0.9).collect();
    let floats = acc_core::data::Column::from_vec(floats);
    let floats = ArrayData::new([n], ScalarType::F32.into(), [floats]).unwrap();
    vec![floats, array(&[n], &ScalarType::I64.into(), &mut r)]
}

#[test]
fn results_are_the_same_bits_for_any_number_of_threads() {
    let args = args();
    let mut backends: Vec<Native> = [1, 2, 3, 7, 16].map(|n| Native::with_threads(n).unwrap()).into();
    backends.extend([Native::tiles(), Native::compiled()]);
    for text in PROGRAMS {
        let program = parse(text);
        let want = native(&program, &args).unwrap();
        for b in &backends {
            assert_eq!(b.run_untyped(&program, &args, &RunLimits::none()).unwrap(), want, "{text}");
        }
        for (w, g) in reference(&program, &args).unwrap().iter().zip(&want) {
            same(w, g, 1e-2).unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
}

#[test]
fn relaxed_results_are_the_same_bits_for_any_number_of_threads() {
    let args = args();
    let relaxed = |n| {
        let options = Options::new().threads(n).relaxed(true).compile(Compile::Now);
        Native::with(options).unwrap()
    };
    let backends = [1, 2, 3, 7, 16].map(relaxed);
    for text in PROGRAMS {
        let program = parse(text);
        let results = backends.iter().map(|b| b.run_untyped(&program, &args, &RunLimits::none()).unwrap());
        let results: Vec<_> = results.collect();
        for got in &results[1..] {
            assert_eq!(*got, results[0], "{text}");
        }
        for (w, g) in reference(&program, &args).unwrap().iter().zip(&results[0]) {
            same(w, g, 1e-2).unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
}

#[test]
fn the_first_fault_is_the_same_for_any_number_of_threads() {
    let program = parse(
        "program(a: [1]f32, b: [1]i64) {
           r: [1]i64 = imap(b, f: |%i: i64, %x: i64| if lt(%i, 200000i64) { yield %x } else { yield b[add(%i, 200000i64)] })
           yield r
         }",
    );
    let args = args();
    let want = reference(&program, &args).unwrap_err().to_string();
    for n in [1, 2, 3, 7, 16] {
        for _ in 0..5 {
            let got = Native::with_threads(n).unwrap().run_untyped(&program, &args, &RunLimits::none());
            assert_eq!(got.unwrap_err().to_string(), want);
        }
    }
}

#[test]
fn a_prepared_program_is_called_from_many_threads_at_once() {
    let native = Native::new();
    let args = Arc::new(args());
    let programs: Vec<_> = PROGRAMS.iter().map(|t| parse(t)).collect();
    let want: Vec<_> = programs.iter().map(|p| native.run_untyped(p, &args, &RunLimits::none()).unwrap()).collect();
    let compiled = native.compiled();
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                for (p, w) in programs.iter().zip(&want) {
                    assert_eq!(native.run_untyped(p, &args, &RunLimits::none()).unwrap(), *w);
                }
            });
        }
    });
    assert_eq!(native.compiled(), compiled);
}

#[test]
fn a_program_is_prepared_once_for_all_data_and_extents() {
    let native = Native::new();
    let mut r = Rng(5);
    for n in [0, 1, 5, 3000] {
        let program = parse(PROGRAMS[0]);
        let args = [array(&[n], &ScalarType::F32.into(), &mut r), array(&[n], &ScalarType::I64.into(), &mut r)];
        native.run_untyped(&program, &args, &RunLimits::none()).unwrap();
    }
    assert_eq!(native.compiled(), 1);
}

/// Blocks of matrix products, and parts of their inner dimension, do not depend on the number of threads.
#[test]
fn matrix_products_are_the_same_bits_for_any_number_of_threads() {
    let backends: Vec<Native> = [1, 2, 3, 7, 16].map(|n| Native::with_threads(n).unwrap()).into();
    for ty in [ScalarType::F32, ScalarType::F64] {
        let text = "program(a: [2]F, b: [2]F) {
            p: [3]F = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
              f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
            c: [2]F = fold(p, f: |%x: F, %y: F| add(%x, %y), init: || 0.0F)
            yield c }";
        let program = parse(&text.replace('F', &ty.to_string()));
        let mut r = Rng(5);
        let mut matrix = |rows: usize, columns: usize| {
            let values = (0..rows * columns).map(|_| (r.next() % 1000) as f64 / 7.0 - 60.0);
            let lit = |x: f64| if ty == ScalarType::F32 { [(x as f32).lit()] } else { [x.lit()] };
            ArrayData::from_leaves([rows, columns], ty.into(), values.map(lit)).unwrap()
        };
        let sizes =
            (1..65).map(|m| (m, 65 - m, 40)).chain([(512, 512, 64), (300, 1500, 8), (8, 8, 20_000), (512, 5, 9000)]);
        for (m, n, k) in sizes {
            let args = [matrix(m, k), matrix(k, n)];
            let run = |b: &Native| b.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            let want = run(&backends[0]);
            for b in &backends[1..] {
                assert_eq!(run(b), want, "{m} {n} {k} {ty}");
            }
        }
    }
}
