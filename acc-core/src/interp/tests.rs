//! What the interpreter evaluates, how often, and when it stops. The values of operations are in the conformance tests.

use super::{Interpreter, eval_closed};
use crate::data::{ArrayData, Prim, ScalarType};
use crate::error::{Error, Fault, LimitError};
use crate::exec::Executor;
use crate::ir::{ArrayId, ArrayOp};
use crate::limits::{CancelToken, RunLimits};
use crate::text;
use std::time::{Duration, Instant};

fn i64s(xs: &[i64]) -> ArrayData {
    ArrayData::from_leaves([xs.len()], ScalarType::I64.into(), xs.iter().map(|x| [x.lit()])).unwrap()
}

fn run_within(program: &str, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
    let program = text::parse("test.acc", program).unwrap_or_else(|e| panic!("{e}"));
    Interpreter::new().run_untyped(&program.into(), args, limits)
}

fn run(program: &str, args: &[ArrayData]) -> Result<Vec<ArrayData>, Error> {
    run_within(program, args, &RunLimits::none())
}

fn fault(result: Result<Vec<ArrayData>, Error>) -> (&'static str, u32) {
    match result {
        Err(Error::Fault { fault, loc, .. }) => (fault.kind(), loc.line()),
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn an_array_read_only_in_a_branch_not_taken_is_not_evaluated() {
    let program = "program(xs: [1]i64) {
        bad: [1]i64 = map(xs, f: |%x: i64| quot(%x, 0i64))
        ys: [1]i64 = imap(xs, f: |%i: i64, %x: i64| if lt(%x, 10i64) { yield %x } else { yield bad[%i] })
        yield ys
    }";
    assert_eq!(run(program, &[i64s(&[1, 2])]).unwrap(), [i64s(&[1, 2])]);
    assert_eq!(fault(run(program, &[i64s(&[1, 20])])), ("division_by_zero", 2));
}

#[test]
fn the_first_fault_in_program_order_wins() {
    let program = "program(xs: [1]i64) {
        a: [1]i64 = map(xs, f: |%x: i64| quot(%x, 0i64))
        b: [1]i64 = map(xs, f: |%x: i64| xs[%x])
        c: [1]i64 = zip_with(b, a, f: |%x: i64, %y: i64| add(%x, %y))
        yield c
    }";
    assert_eq!(fault(run(program, &[i64s(&[7])])), ("division_by_zero", 2));
    let elements = "program(xs: [1]i64) {
        b: [1]i64 = map(xs, f: |%x: i64| add(xs[%x], quot(1i64, %x)))
        yield b
    }";
    let e = run(elements, &[i64s(&[1, 0, 9])]).unwrap_err();
    assert!(matches!(e, Error::Fault { fault: Fault::DivisionByZero, .. }), "{e}");
    match run(elements, &[i64s(&[1, 9, 0])]).unwrap_err() {
        Error::Fault { fault: Fault::IndexOutOfBounds { array, index, shape }, op, .. } => {
            assert_eq!((array.to_string().as_str(), index, shape, op), ("`xs`", vec![9], vec![3], "map"));
        }
        e => panic!("{e}"),
    }
}

#[test]
fn a_branch_not_taken_is_not_evaluated() {
    let program = "program(xs: [1]i64, n: [0]i64) {
        bad: [1]i64 = map(xs, f: |%x: i64| quot(%x, n[]))
        ys: [1]i64 = acond(cond: || eq(n[], 0i64), then: { yield xs }, else: {
          zs: [1]i64 = zip_with(bad, xs, f: |%x: i64, %y: i64| add(%x, %y))
          yield zs
        })
        yield ys
    }";
    let n = |n: i64| ArrayData::from_leaves([], ScalarType::I64.into(), [[n.lit()]]).unwrap();
    assert_eq!(run(program, &[i64s(&[5]), n(0)]).unwrap(), [i64s(&[5])]);
    assert_eq!(run(program, &[i64s(&[6]), n(3)]).unwrap(), [i64s(&[8])]);
}

/// A loop of a million steps over a constant, for each of a thousand elements: only feasible if it runs once.
#[test]
fn code_without_a_parameter_is_evaluated_once() {
    for used in ["add(%x, %k)", "if ge(%x, 0i64) { yield add(%x, %k) } else { yield 0i64 }"] {
        let body = format!(
            "program(xs: [1]i64) {{
               ys: [1]i64 = map(xs, f: |%x: i64| {{
                 %k: i64 = while (0i64) test |%i: i64| {{ yield lt(%i, 100000i64) }} step |%i: i64| {{ yield add(%i, 1i64) }}
                 yield {used}
               }})
               yield ys
             }}"
        );
        let limits = RunLimits::none().deadline(Instant::now() + Duration::from_secs(20));
        let ys = run_within(&body, &[i64s(&vec![1; 1000])], &limits).unwrap();
        assert_eq!(ys, [i64s(&vec![100_001; 1000])]);
    }
    // In a branch, and reading an outer loop's state: that part is not uniform.
    let nested = "program(xs: [1]i64) {
        ys: [1]i64 = map(xs, f: |%x: i64| {
          %r: i64, %s: i64 = while (0i64, 0i64) test |%i: i64, %s: i64| { yield lt(%i, 3i64) } step |%i: i64, %s: i64| {
            %t: i64, %u: i64 = while (0i64, %s) test |%j: i64, %u: i64| { yield lt(%j, %i) } step |%j: i64, %u: i64| {
              yield add(%j, 1i64), add(%u, mul(2i64, 5i64))
            }
            yield add(%i, 1i64), %u
          }
          yield add(%s, %x)
        })
        yield ys
    }";
    assert_eq!(run(nested, &[i64s(&[0, 1])]).unwrap(), [i64s(&[30, 31])]);
}

/// An outer statement that a loop's block demands is evaluated once, in its own block's run.
#[test]
fn an_outer_array_demanded_in_a_loop_is_evaluated_once() {
    let program = "program(xs: [1]i64, n: [0]i64) {
        slow: [1]i64 = map(xs, f: |%x: i64| {
          %k: i64 = while (%x) test |%i: i64| { yield lt(%i, 300000i64) } step |%i: i64| { yield add(%i, 1i64) }
          yield %k
        })
        m: [0]i64, s: [0]i64 = awhile(n, n,
          test: |m: [0]i64, s: [0]i64| { c: [0]bool = map(m, f: |%m: i64| lt(%m, 1000i64)) yield c },
          step: |m: [0]i64, s: [0]i64| {
            m2: [0]i64 = map(m, f: |%m: i64| add(%m, 1i64))
            s2: [0]i64 = map(s, f: |%s: i64| add(%s, slow[0i64]))
            yield m2, s2
          })
        yield s
    }";
    let zero = ArrayData::from_leaves([], ScalarType::I64.into(), [[0i64.lit()]]).unwrap();
    let limits = RunLimits::none().deadline(Instant::now() + Duration::from_secs(20));
    let s = run_within(program, &[i64s(&[0]), zero], &limits).unwrap();
    assert_eq!(s[0].element(0).unwrap()[..], [300_000_000i64.lit()]);
}

const ENDLESS: [&str; 3] = [
    "program(xs: [1]i64) {
       ys: [1]i64 = map(xs, f: |%x: i64| {
         %k: i64 = while (%x) test |%i: i64| { yield true } step |%i: i64| { yield %i }
         yield %k
       })
       yield ys
     }",
    "program(xs: [1]i64) {
       ys: [1]i64 = awhile(xs, test: |a: [1]i64| { c: [0]bool = generate(shape: || (), f: || true) yield c },
         step: |a: [1]i64| { yield a })
       yield ys
     }",
    "program(xs: [1]i64) {
       ys: [1]i64 = generate(shape: || 1000000000i64, f: |%i: i64| add(xs[0i64], %i))
       yield ys
     }",
];

#[test]
fn limits_are_honoured_in_loops() {
    for program in ENDLESS {
        let start = Instant::now();
        let limits = RunLimits::none().deadline(start + Duration::from_millis(30));
        assert_eq!(run_within(program, &[i64s(&[1])], &limits), Err(Error::Limit(LimitError::Deadline)));
        // Generous, for a machine under load; without a check it would not end at all.
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
    let cancel = CancelToken::new();
    let limits = RunLimits::none().cancel(cancel.clone());
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        cancel.cancel();
    });
    assert_eq!(run_within(ENDLESS[0], &[i64s(&[1])], &limits), Err(Error::Limit(LimitError::Cancelled)));
    stopper.join().unwrap();
}

#[test]
fn memory_is_checked_before_an_array_is_made() {
    let limits = RunLimits::none().max_bytes(1 << 20);
    let e = run_within(ENDLESS[2], &[i64s(&[1])], &limits).unwrap_err();
    assert_eq!(e, Error::Limit(LimitError::Memory { asked: 8_000_000_000, allowed: 1 << 20 }));
}

#[test]
fn impossible_shapes_are_faults() {
    let generate = |shape: &str| {
        let rank = shape.matches("i64").count();
        let params: Vec<String> = (0..rank).map(|k| format!("%i{k}: i64")).collect();
        run(
            &format!(
                "program() {{ a: [{rank}]f64 = generate(shape: || {shape}, f: |{}| 1.0f64) yield a }}",
                params.join(", ")
            ),
            &[],
        )
    };
    assert_eq!(fault(generate("(2i64, -1i64)")).0, "negative_extent");
    assert_eq!(fault(generate("(-1i64, 0i64)")).0, "negative_extent");
    assert_eq!(fault(generate("(9223372036854775807i64, 2i64)")).0, "shape_overflow");
    // Elements that can be counted, but not their bytes.
    assert_eq!(fault(generate("(4611686018427387904i64)")).0, "shape_overflow");
    assert_eq!(generate("(9223372036854775807i64, 0i64)").unwrap()[0].shape(), [i64::MAX as usize, 0]);
}

#[test]
fn deep_code_does_not_overflow_the_stack() {
    let depth = 2500;
    let text = format!(
        "program(a: [0]bool) {{ b: [0]i32 = map(a, f: |%c: bool| {}{{ yield 1i32 }}{}) yield b }}",
        "{ yield if %c ".repeat(depth / 2),
        " else { yield 0i32 } }".repeat(depth / 2)
    );
    let t = ArrayData::from_leaves([], ScalarType::Bool.into(), [[true.lit()]]).unwrap();
    assert_eq!(run(&text, &[t]).unwrap()[0].element(0).unwrap()[..], [1i32.lit()]);
}

/// Each array is demanded by an element of the next one only.
#[test]
fn a_long_chain_of_demands_does_not_overflow_the_stack() {
    let mut text = "program(xs: [1]i64) {".to_string();
    let mut last = "xs".to_string();
    for k in 0..2000 {
        let next = format!("a{k}");
        text += &format!("{next}: [1]i64 = map(xs, f: |%x: i64| add({last}[0i64], %x))\n");
        last = next;
    }
    text += &format!("yield {last} }}");
    assert_eq!(run(&text, &[i64s(&[1])]).unwrap(), [i64s(&[2001])]);
}

#[test]
fn closed_functions_are_evaluated_for_backends() {
    let p = text::parse(
        "test.acc",
        "program(xs: [1]i64) { ys: [2]i64 = generate(shape: || (extent(xs, 0), xs[1i64]), f: |%i: i64, %j: i64| %i) yield ys }",
    )
    .unwrap();
    let ArrayOp::Generate { shape, .. } = &p.body.stmts[0].op else { panic!("not a generate") };
    let loc = &p.body.stmts[0].loc;
    let eval = |xs: &[i64]| {
        let xs = i64s(xs);
        let mut arrays = |a: ArrayId| {
            assert_eq!(a, ArrayId(0));
            Ok(xs.clone())
        };
        eval_closed(shape, "generate", loc, &mut arrays, &RunLimits::none())
    };
    assert_eq!(eval(&[7, 5, 3]).unwrap(), [3i64.lit(), 5i64.lit()]);
    assert!(matches!(eval(&[7]), Err(Error::Fault { fault: Fault::IndexOutOfBounds { .. }, .. })));
}

#[test]
fn a_program_is_prepared_once() {
    let interpreter = Interpreter::new();
    for text in [ENDLESS[2], &ENDLESS[2].replace("xs", "zs")] {
        Executor::prepare(&interpreter.clone(), &text::parse("x.acc", text).unwrap().into()).unwrap();
    }
    assert_eq!(interpreter.compiled(), 1);
}

#[test]
fn a_fault_names_arrays_as_the_program_that_runs_does() {
    let text = "program(xs: [1]i64) {
        doubled: [1]i64 = map(xs, f: |%x: i64| add(%x, %x))
        read: [1]i64 = map(xs, f: |%x: i64| doubled[%x])
        yield read
    }";
    let interpreter = Interpreter::new();
    let message = |text: &str| {
        let program = text::parse("test.acc", text).unwrap_or_else(|e| panic!("{e}"));
        interpreter.run_untyped(&program.into(), &[i64s(&[7])], &RunLimits::none()).unwrap_err().to_string()
    };
    assert_eq!(
        message(text),
        "index (7,) is out of bounds for `doubled` of shape (1,)\n  in `map` at test.acc:3:45\n  `doubled` is defined at test.acc:2:27"
    );
    // The same program under other names and elsewhere, which is not compiled again.
    let other = message(&format!("\n{}", text.replace("doubled", "twice")));
    assert_eq!(
        other,
        "index (7,) is out of bounds for `twice` of shape (1,)\n  in `map` at test.acc:4:45\n  `twice` is defined at test.acc:3:25"
    );
    assert_eq!(interpreter.compiled(), 1);
    // A name is that of the block where it is visible.
    let inner = "program(xs: [1]i64) {
        a: [1]i64 = acond(cond: || true, then: {
            ys: [1]i64 = compute(xs)
            read: [1]i64 = map(xs, f: |%x: i64| ys[%x])
            yield read
        }, else: { yield xs })
        yield a
    }";
    assert!(message(inner).contains("out of bounds for `ys` of"), "{}", message(inner));
}

fn f64s(xs: &[f64]) -> ArrayData {
    ArrayData::from_leaves([xs.len()], ScalarType::F64.into(), xs.iter().map(|x| [x.lit()])).unwrap()
}

#[test]
fn derivatives_of_derivatives_do_not_confuse_their_tangents() {
    // The derivative of x * (the derivative of x + y by y at 1) by x is 1: x is a constant to the inner one.
    let program = "program(x: [1]f64, one: [1]f64) {
        y: [1]f64, d: [1]f64 = jvp(x, along: [one], f: |x: [1]f64| {
          s: [1]f64, e: [1]f64 = jvp(one, along: [one], f: |y: [1]f64| {
            z: [1]f64 = zip_with(x, y, f: |%x: f64, %y: f64| add(%x, %y))
            yield z
          })
          p: [1]f64 = zip_with(x, e, f: |%x: f64, %e: f64| mul(%x, %e))
          yield p
        })
        yield y, d
    }";
    assert_eq!(run(program, &[f64s(&[5.0]), f64s(&[1.0])]).unwrap(), [f64s(&[5.0]), f64s(&[1.0])]);
}

#[test]
fn third_derivatives() {
    // Of x^4: 24 x.
    let program = "program(x: [1]f64, one: [1]f64) {
        a: [1]f64, b: [1]f64 = jvp(x, along: [one], f: |x: [1]f64| {
          c: [1]f64, d: [1]f64 = vjp(x, by: [one], f: |x: [1]f64| {
            e: [1]f64, f: [1]f64 = vjp(x, by: [one], f: |x: [1]f64| {
              g: [1]f64 = map(x, f: |%x: f64| mul(mul(%x, %x), mul(%x, %x)))
              yield g
            })
            yield f
          })
          yield d
        })
        yield b
    }";
    assert_eq!(run(program, &[f64s(&[2.0]), f64s(&[1.0])]).unwrap(), [f64s(&[48.0])]);
}

#[test]
fn a_tangent_of_other_extents_is_a_fault() {
    for derivative in ["jvp(x, along: [t], f:", "vjp(x, by: [t], f:"] {
        let program = format!(
            "program(x: [1]f64, t: [1]f64) {{
               y: [1]f64, d: [1]f64 = {derivative} |x: [1]f64| {{
                 z: [1]f64 = map(x, f: |%x: f64| mul(%x, %x))
                 yield z
               }})
               yield d
            }}"
        );
        assert_eq!(fault(run(&program, &[f64s(&[5.0]), f64s(&[1.0, 2.0])])), ("check_failed", 2));
    }
}

#[test]
fn a_derivative_evaluates_what_the_function_evaluates() {
    // The branch not taken would fault, and its array is not evaluated.
    let program = "program(xs: [1]f64, one: [1]f64) {
        bad: [1]i64 = map(xs, f: |%x: f64| quot(1i64, 0i64))
        y: [1]f64, d: [1]f64 = vjp(xs, by: [one], f: |x: [1]f64| {
          z: [1]f64 = map(x, f: |%x: f64| if lt(%x, 10.0f64) { yield mul(%x, %x) } else { yield mul(%x, cast(bad[0i64], f64)) })
          yield z
        })
        yield d
    }";
    assert_eq!(run(program, &[f64s(&[3.0]), f64s(&[1.0])]).unwrap(), [f64s(&[6.0])]);
    assert_eq!(fault(run(program, &[f64s(&[30.0]), f64s(&[1.0])])), ("division_by_zero", 2));
}
