//! Laziness, faults and their order, limits: as in the interpreter.

use crate::common::{agree, agree_on, int, ints, native, parse, reference, same_outcome};
use acc_core::{CancelToken, Error, Executor, LimitError, RunLimits};
use backend_native::{Compile, Native, Options, Rules};
use std::time::{Duration, Instant};

fn ramp(n: i64) -> acc_core::data::ArrayData {
    ints(&(0..n).collect::<Vec<_>>())
}

#[test]
fn an_array_read_only_in_a_branch_is_evaluated_on_demand() {
    let program = "program(xs: [1]i64) {
        bad: [1]i64 = map(xs, f: |%x: i64| quot(%x, 0i64))
        ys: [1]i64 = imap(xs, f: |%i: i64, %x: i64| if lt(%x, 3000i64) { yield %x } else { yield bad[%i] })
        yield ys
    }";
    agree(program, &[ramp(3000)]);
    agree(program, &[ramp(3001)]);
    agree(&program.replace("quot(%x, 0i64)", "quot(%x, 7i64)"), &[ramp(5000)]);
}

/// Never speculated: its evaluation would not end.
#[test]
fn an_endless_operand_that_nobody_demands_is_not_evaluated() {
    let program = "program(xs: [1]i64) {
        endless: [1]i64 = map(xs, f: |%x: i64| {
          %k: i64 = while (%x) test |%i: i64| { yield true } step |%i: i64| { yield %i }
          yield %k
        })
        more: [1]i64 = map(endless, f: |%x: i64| add(%x, 1i64))
        ys: [1]i64 = imap(xs, f: |%i: i64, %x: i64| if lt(%x, 0i64) { yield more[%i] } else { yield %x })
        zs: [1]i64 = acond(cond: || lt(xs[0i64], 0i64), then: {
          a: [1]i64 = zip_with(more, xs, f: |%x: i64, %y: i64| add(%x, %y))
          yield a
        }, else: { yield ys })
        yield zs
    }";
    agree(program, &[ramp(3000)]);
}

/// Everything that may fault is evaluated: elements of the window, divisions, loops.
#[test]
fn without_rules_and_fusion_all_that_functions_say_is_evaluated() {
    let program = "program(xs: [1]i64, ys: [1]i64) {
        zs: [1]i64 = stencil(xs, window: [3], boundary: |%i: i64| { yield ys[%i] },
                             f: |%a: i64, %b: i64, %c: i64| { yield %b })
        yield zs
    }";
    let quotient = program.replace("yield ys[%i]", "yield quot(%i, 0i64)");
    let looped = program.replace(
        "yield ys[%i]",
        "%k: i64 = while (0i64) test |%j: i64| { yield lt(%j, 1i64) } step |%j: i64| { yield ys[%j] }\n yield %k",
    );
    let args = [ramp(4), ramp(0)];
    for compile in [Compile::Never, Compile::Now] {
        let options = Options::new().rules(Rules::none()).fuse(false).compile(compile);
        let plain = Native::with(options).expect("no threads of its own");
        for text in [program, &quotient, &looped] {
            let found = plain.run_untyped(&parse(text), &args, &RunLimits::none());
            assert!(found.is_err(), "{text}");
            same_outcome(text, &args, ("interpreter", &reference(&parse(text), &args)), ("native", &found), 0.0);
        }
    }
}

/// The later element demands the array; the earlier one's fault ends the run before that.
#[test]
fn a_fault_before_a_demand_wins() {
    let program = "program(xs: [1]i64) {
        endless: [1]i64 = map(xs, f: |%x: i64| {
          %k: i64 = while (%x) test |%i: i64| { yield true } step |%i: i64| { yield %i }
          yield %k
        })
        ys: [1]i64 = imap(xs, f: |%i: i64, %x: i64| {
          %a: i64 = if eq(%x, 700i64) { yield endless[%i] } else { yield %x }
          yield add(%a, quot(1i64, sub(%x, 650i64)))
        })
        yield ys
    }";
    agree(program, &[ramp(2000)]);
}

#[test]
fn the_first_fault_wins() {
    let programs = [
        // Statements first.
        "program(xs: [1]i64) {
           a: [1]i64 = map(xs, f: |%x: i64| quot(1i64, sub(%x, 2500i64)))
           b: [1]i64 = map(a, f: |%x: i64| xs[sub(%x, 1i64)])
           yield b
         }",
        // Then elements, even if a later one faults at an earlier operation.
        "program(xs: [1]i64) {
           b: [1]i64 = map(xs, f: |%x: i64| add(quot(1i64, sub(%x, 900i64)), xs[sub(%x, 300i64)]))
           yield b
         }",
        // In branches, each side with a fault somewhere.
        "program(xs: [1]i64) {
           b: [1]i64 = map(xs, f: |%x: i64| if eq(rem(%x, 2i64), 0i64) {
             yield quot(1i64, sub(%x, 1400i64))
           } else { yield xs[add(%x, 1000i64)] })
           yield b
         }",
        // In loops, at different iterations.
        "program(xs: [1]i64) {
           b: [1]i64 = map(xs, f: |%x: i64| {
             %k: i64, %s: i64 = while (%x, 0i64) test |%k: i64, %s: i64| { yield gt(%k, 0i64) } step |%k: i64, %s: i64| {
               yield sub(%k, 5i64), add(%s, quot(10i64, sub(%k, 11i64)))
             }
             yield %s
           })
           yield b
         }",
        // The target of a scatter and its combination.
        "program(xs: [1]i64) {
           b: [1]i64 = permute(xs, into: xs, combine: |%n: i64, %o: i64| quot(%o, sub(%n, 1600i64)),
             target: |%i: i64| (1u8, if lt(%i, 1700i64) { yield 0i64 } else { yield 5000i64 }))
           yield b
         }",
        "program(xs: [1]i64) {
           b: [1]i64 = permute(xs, into: xs, combine: |%n: i64, %o: i64| quot(%o, sub(%n, 1600i64)),
             target: |%i: i64| (1u8, if lt(%i, 1500i64) { yield 0i64 } else { yield 5000i64 }))
           yield b
         }",
        // A fold and a scan whose operator faults.
        "program(xs: [1]i64) {
           b: [0]i64 = fold(xs, f: |%x: i64, %y: i64| add(%x, quot(%y, sub(%y, 77i64))), init: || 0i64)
           yield b
         }",
        "program(xs: [1]i64) {
           b: [1]i64 = scanr1(xs, f: |%x: i64, %y: i64| add(%y, quot(%x, sub(%x, 77i64))))
           yield b
         }",
        // Rows in segments: the first fault is in a row that starts early and faults late.
        "program(xs: [1]i64) {
           o: [1]i64 = generate(shape: || 3i64, f: |%k: i64| mul(%k, 10000i64))
           a: [2]i64 = generate(shape: || (4i64, 20000i64), f: |%r: i64, %i: i64| {
             %k: i64 = add(mul(%r, 20000i64), %i)
             %x: i64 = xs[select(eq(%k, 9000i64), 9001i64, select(eq(%k, 20000i64), 9002i64, 0i64))]
             yield %x
           })
           b: [2]i64 = fold_seg(a, offsets: o, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
           yield b
         }",
        "program(xs: [1]i64) { b: [1]i64 = backpermute(xs, shape: || 9000i64, index: |%i: i64| %i) yield b }",
        "program(xs: [1]i64) { b: [0]i64 = slice(xs, axes: [fixed], index: || 9000i64) yield b }",
        "program(xs: [1]i64) { b: [1]i64 = generate(shape: || sub(xs[0i64], 1i64), f: |%i: i64| %i) yield b }",
        "program(xs: [1]i64) { b: [1]i64 = reshape(xs, shape: || 7i64) yield b }",
        "program(xs: [1]i64) { e: [1]i64 = generate(shape: || 0i64, f: |%i: i64| %i) b: [0]i64 = fold1(e, f: |%x: i64, %y: i64| %x) yield b }",
        // A transposition, read in column panels, that exceeds its source in the middle of a row.
        "program(xs: [1]i64) {
           m: [2]i64 = reshape(xs, shape: || (300i64, 10i64))
           b: [2]i64 = backpermute(m, shape: || (20i64, 400i64), index: |%i: i64, %j: i64| (%j, %i))
           yield b
         }",
        // A backpermute of a fused array, with an index out of its bounds.
        "program(xs: [1]i64) {
           g: [1]i64 = generate(shape: || 10i64, f: |%i: i64| %i)
           b: [1]i64 = backpermute(g, shape: || 20i64, index: |%i: i64| mul(%i, 1i64))
           yield b
         }",
    ];
    for p in programs {
        agree(p, &[ramp(3000)]);
    }
}

/// A segmented fold becomes a scan, which its messages do not mention.
#[test]
fn a_fault_in_a_segmented_fold_is_one_of_it() {
    let program = "program(xs: [1]i64, offsets: [1]i64) {
        r: [1]i64 = fold_seg(xs, offsets: offsets, f: |%a: i64, %b: i64| quot(%a, %b), init: || 100i64)
        yield r
    }";
    agree(program, &[ints(&[1, 2, 3, 0, 5, 6]), ints(&[0, 3, 6])]);
    agree(program, &[ints(&[1, 2, 3, 4, 5, 6]), ints(&[0, 3, 2])]);
    agree(program, &[ints(&[1, 2, 3, 4, 5, 6]), ints(&[])]);
    // Elements outside of all segments are not combined.
    agree(program, &[ints(&[0, 0, 0, 1, 2, 0, 0, 0]), ints(&[3, 4, 5])]);
    agree(program, &[ints(&[0, 0, 0]), ints(&[2])]);
    agree(&program.replace(", init: || 100i64", "").replace("fold_seg", "fold1_seg"), &[ints(&[1, 2]), ints(&[0, 0])]);
}

#[test]
fn a_fault_that_nobody_needs_is_no_fault() {
    agree(
        "program(xs: [1]i64) {
           a: [1]i64 = map(xs, f: |%x: i64| if ne(%x, 5i64) { yield quot(10i64, sub(%x, 5i64)) } else { yield xs[0i64] })
           bad: [1]i64 = map(xs, f: |%x: i64| xs[add(%x, 1i64)])
           yield a
         }",
        &[ramp(2000)],
    );
}

#[test]
fn loops_over_arrays_change_their_shape() {
    let program = "program(xs: [1]i64) {
        ys: [1]i64, n: [0]i64 = awhile(xs, k,
          test: |a: [1]i64, n: [0]i64| { c: [0]bool = map(n, f: |%n: i64| lt(%n, 5i64)) yield c },
          step: |a: [1]i64, n: [0]i64| {
            b: [1]i64 = backpermute(a, shape: || sub(mul(extent(a, 0), 2i64), n[]), index: |%i: i64| rem(%i, extent(a, 0)))
            m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
            yield b, m
          })
        yield ys, n
    }"
    .replace("(xs: [1]i64)", "(xs: [1]i64, k: [0]i64)");
    agree(&program, &[ramp(7), int(0)]);
    agree(&program, &[ramp(7), int(9)]);
}

#[test]
fn scalar_loops_end_lane_by_lane() {
    // The number of steps of the Collatz sequence, with an inner loop and a branch.
    let program = "program(xs: [1]i64) {
        r: [1](i64, i64) = imap(xs, f: |%i: i64, %x: i64| {
          %n: i64, %c: i64 = while (add(%x, 1i64), 0i64) test |%n: i64, %c: i64| { yield gt(%n, 1i64) } step |%n: i64, %c: i64| {
            %m: i64 = if eq(rem(%n, 2i64), 0i64) { yield quot(%n, 2i64) } else { yield add(mul(%n, 3i64), 1i64) }
            %k: i64, %d: i64 = while (0i64, %c) test |%k: i64, %d: i64| { yield lt(%k, rem(%i, 3i64)) } step |%k: i64, %d: i64| {
              yield add(%k, 1i64), add(%d, xs[rem(%k, 2i64)])
            }
            yield %m, add(%d, 1i64)
          }
          yield %n, %c
        })
        yield r
    }";
    for n in [2, 3, 100, 2500] {
        agree(program, &[ramp(n)]);
    }
    // The state is swapped, and the body is total, so that finished lanes may run on.
    let fibonacci = "program(xs: [1]i64) {
        r: [1](i64, i64) = map(xs, f: |%x: i64| {
          %a: i64, %b: i64, %k: i64 = while (0i64, 1i64, 0i64) test |%a: i64, %b: i64, %k: i64| { yield lt(%k, %x) }
            step |%a: i64, %b: i64, %k: i64| { yield %b, add(%a, %b), add(%k, 1i64) }
          %c: i64, %d: i64, %j: i64 = while (%a, %b, 0i64) test |%a: i64, %b: i64, %k: i64| { yield lt(%k, %x) }
            step |%a: i64, %b: i64, %k: i64| { yield %b, %a, add(%k, 1i64) }
          yield %c, %d
        })
        yield r
    }";
    agree(fibonacci, &[ramp(1500)]);
}

const ENDLESS: [&str; 4] = [
    "program(xs: [1]i64) {
       ys: [1]i64 = map(xs, f: |%x: i64| {
         %k: i64 = while (%x) test |%i: i64| { yield true } step |%i: i64| { yield %i }
         yield %k
       })
       yield ys
     }",
    "program(xs: [1]i64) {
       ys: [1]i64 = map(xs, f: |%x: i64| {
         %k: i64 = while (0i64) test |%i: i64| { yield true } step |%i: i64| { yield %i }
         yield add(%k, %x)
       })
       yield ys
     }",
    "program(xs: [1]i64) {
       ys: [1]i64 = awhile(xs, test: |a: [1]i64| { c: [0]bool = generate(shape: || (), f: || true) yield c },
         step: |a: [1]i64| { yield a })
       yield ys
     }",
    "program(xs: [1]i64) {
       ys: [0]i64 = fold(zs, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
       yield ys
     }",
];

#[test]
fn limits_are_honoured_in_loops() {
    for program in ENDLESS {
        let long = "{\n zs: [1]i64 = generate(shape: || 1000000000000i64, f: |%i: i64| add(xs[0i64], %i))\n ys: [0]";
        let program = parse(&program.replace("{\n       ys: [0]", long));
        for n in [1, 3000] {
            for backend in [Native::new(), Native::with_threads(3).unwrap()] {
                let start = Instant::now();
                let limits = RunLimits::none().deadline(start + Duration::from_millis(30));
                let got = backend.run_untyped(&program, &[ramp(n)], &limits);
                assert_eq!(got, Err(Error::Limit(LimitError::Deadline)));
                // Generous, for a machine under load; without polling it would not end at all.
                assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
            }
        }
    }
    let cancel = CancelToken::new();
    let limits = RunLimits::none().cancel(cancel.clone());
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        cancel.cancel();
    });
    let got = Native::new().run_untyped(&parse(ENDLESS[0]), &[ramp(5)], &limits);
    assert_eq!(got, Err(Error::Limit(LimitError::Cancelled)));
    stopper.join().unwrap();
}

#[test]
fn memory_is_checked_before_an_array_is_made() {
    let program = parse("program() { r: [1]i64 = generate(shape: || 1000000000000i64, f: |%i: i64| %i) yield r }");
    let limits = RunLimits::none().max_bytes(1 << 20);
    let got = Native::new().run_untyped(&program, &[], &limits);
    assert_eq!(got, Err(Error::Limit(LimitError::Memory { asked: 8_000_000_000_000, allowed: 1 << 20 })));
    let huge = parse("program() { r: [1]i64 = generate(shape: || 4611686018427387904i64, f: |%i: i64| %i) yield r }");
    assert!(matches!(native(&huge, &[]), Err(Error::Fault { .. })));
    let none = parse("program() { r: [1]i64 = generate(shape: || 1000000000000000000i64, f: |%i: i64| %i) yield r }");
    assert!(matches!(native(&none, &[]), Err(Error::OutOfMemory { .. })));
}

#[test]
fn deep_code_does_not_overflow_the_stack() {
    let depth = 2500;
    let text = format!(
        "program(a: [0]bool) {{ b: [0]i32 = map(a, f: |%c: bool| {}{{ yield 1i32 }}{}) yield b }}",
        "{ yield if %c ".repeat(depth / 2),
        " else { yield 0i32 } }".repeat(depth / 2)
    );
    let t = acc_core::data::ArrayData::from_leaves(
        [],
        acc_core::data::ScalarType::Bool.into(),
        [[acc_core::data::Prim::lit(true)]],
    );
    agree(&text, &[t.unwrap()]);
    let mut text = "program(xs: [1]i64) {".to_string();
    let mut last = "xs".to_string();
    for k in 0..2000 {
        text += &format!("a{k}: [1]i64 = map(xs, f: |%x: i64| add({last}[0i64], %x))\n");
        last = format!("a{k}");
    }
    text += &format!("yield {last} }}");
    agree(&text, &[ints(&[1])]);
}

#[test]
fn a_window_beyond_an_array_is_a_fault() {
    agree_on(
        "program(a: [2]f32, w: [2]f32) {
           p: [4]f32 = generate(shape: || (sub(extent(a, 0), 2i64), sub(extent(a, 1), 3i64), extent(w, 0), extent(w, 1)),
             f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(a[add(%i, %k), add(%j, %l)], w[%k, %l]))
           q: [3]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
           r: [2]f32 = fold(q, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
           yield r
         }",
        &[&[&[5, 6], &[4, 4]], &[&[5, 6], &[3, 4]]],
    );
}
