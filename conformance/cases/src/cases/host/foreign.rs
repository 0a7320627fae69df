//! Foreign functions and traces.

use crate::cases::{Case, Check, case};
use acc_core::foreign::trace;
use acc_core::prelude::*;
use acc_core::text::parse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once, PoisonError};

pub fn cases() -> Vec<Case> {
    [foreign(), traces()].concat()
}

/// Whether the executor runs host functions; the others run the fallbacks.
fn runs_host_functions(t: &Check<'_>) -> bool {
    t.executor_name().starts_with("native")
}

/// Reverses; counts its calls.
static REVERSE: LazyLock<ForeignAcc<Vector<i32>, Vector<i32>>> = LazyLock::new(|| {
    ForeignAcc::new("cases.reverse", |xs: Vector<i32>| {
        REVERSED.fetch_add(1, Ordering::Relaxed);
        let mut xs = xs.to_vec();
        xs.reverse();
        Ok(Vector::from(xs))
    })
});
static REVERSED: AtomicUsize = AtomicUsize::new(0);

fn reverse(xs: Acc<Vector<i32>>) -> Acc<Vector<i32>> {
    foreign_acc(&REVERSE, |xs| xs.reverse(), xs)
}

fn foreign() -> Vec<Case> {
    vec![
        case("foreign/arrays", "FFI-01", |t| {
            let before = REVERSED.load(Ordering::Relaxed);
            t.gives(reverse(use_(&Vector::from([1, 2, 3])).map(|x| x * 2)).map(|x| x + 1), Vector::from([7, 5, 3]));
            // Counted by all executors together, so that only the one that runs them can be sure.
            t.check(!runs_host_functions(t) || REVERSED.load(Ordering::Relaxed) > before, "the host function runs");
            t.gives(reverse(fill(0, 1)), Vector::from([0; 0]));
        }),
        case("foreign/arrays-only-if-needed", "FFI-01 E-CF-01", |t| {
            let failing =
                ForeignAcc::new("cases.failing", |_: Vector<i32>| Err::<Vector<i32>, _>("out of order".into()));
            let call = || foreign_acc(&failing, |xs: Acc<Vector<i32>>| xs.map(|x| x / 0), fill(2, 1));
            t.gives(acond::<Vector<i32>>(false, call(), fill(1, 5)), Vector::from([5]));
            t.gives(generate(3, |i| i.lt(5).then_else(i, call().index(i).to::<i64>())), Vector::from([0i64, 1, 2]));
            let loops = awhile(fill(1, 1), |_| lift(false), |_| call());
            t.gives(loops, Vector::from([1]));
            if !runs_host_functions(t) {
                t.faults(call(), "division_by_zero");
            }
        }),
        case("foreign/many-arrays", "FFI-01", |t| {
            let f = ForeignAcc::new("cases.divide", |(xs, k): (Vector<f32>, Scalar<f32>)| {
                let k = k.value();
                Ok((xs.iter().map(|x| x / k).collect::<Vector<f32>>(), Scalar::scalar(xs.len() as i64)))
            });
            let (ys, n) = foreign_acc(
                &f,
                |(xs, k): (Acc<Vector<f32>>, Acc<Scalar<f32>>)| (xs.map(|x| x / &k), unit(xs.length())),
                (&Vector::from([1.0f32, 2.0]), unit(4.0)),
            );
            t.gives((ys, n), (Vector::from([0.25f32, 0.5]), Scalar::scalar(2i64)));
        }),
        case("foreign/scalars", "FFI-02", |t| {
            let triangle = ForeignExp::new("cases.triangle", |n: i64| n * (n + 1) / 2);
            let sum = |n: Exp<i64>| while_((n, 0i64), |(n, _)| n.gt(0), |(n, s)| (n - 1, s + n)).1;
            t.maps(|n: Exp<i64>| foreign_exp(&triangle, sum, n), &[(0i64, 0i64), (4, 10), (100, 5050)]);
            t.maps(|n: Exp<i64>| foreign_exp(&triangle, sum, n + 1) * 2, &[(3i64, 20i64)]);
            t.gives(unit(foreign_exp(&triangle, sum, 3)), Scalar::scalar(6));
        }),
        case("foreign/scalars-that-are-compound", "FFI-02", |t| {
            let divide = ForeignExp::new("cases.div_rem", |(a, b): (i32, i32)| {
                (b != 0).then(|| (a.wrapping_div(b), a.wrapping_rem(b)))
            });
            let fallback = |(a, b): (Exp<i32>, Exp<i32>)| b.ne(0).then_some((a / b, a % b));
            t.maps(
                |p| foreign_exp(&divide, fallback, p),
                &[((7, 2), Some((3, 1))), ((7, 0), None), ((-7, 2), Some((-3, -1)))],
            );
        }),
        case("foreign/scalars-are-lazy", "FFI-02 E-CF-02", |t| {
            let xs = Vector::from([1, 2]);
            let read = ForeignExp::new("cases.read", |i: i64| [1, 2].get(i as usize).copied().unwrap_or(-1));
            let fallback = |i: Exp<i64>| use_(&xs).index(i);
            t.maps(|i: Exp<i64>| i.lt(2).then_else(foreign_exp(&read, fallback, i), 0), &[(1i64, 2), (5, 0)]);
            if !runs_host_functions(t) {
                t.faults(generate(3, |i| foreign_exp(&read, fallback, i)), "index_out_of_bounds");
            }
        }),
        case("foreign/names-nobody-defined", "FFI-01 FFI-02", |t| {
            let text = "program(xs: [1]i32) {
                ys: [1]i32 = foreign(xs, name: \"cases.nobody\", fallback: |zs: [1]i32| {
                  r: [1]i32 = map(zs, f: |%x: i32| {
                    %y: i32 = foreign \"cases.no \\\"one\\\"\" (%x) |%z: i32| { yield add(%z, 1i32) }
                    yield %y
                  })
                  yield r
                })
                yield ys
              }";
            match parse("foreign.acc", text) {
                Ok(program) => {
                    let again = parse("again.acc", &program.to_string());
                    t.check(again == Ok(program.clone()), "names are kept by the text form");
                    let xs = Vector::from([1, 2]);
                    t.runs(&program, &[xs.data().clone()], &[Vector::from([2, 3]).data().clone()]);
                    let none = Vector::from([0i32; 0]);
                    t.runs(&program, &[none.data().clone()], &[none.data().clone()]);
                }
                Err(e) => t.check(false, &e.to_string()),
            }
        }),
    ]
}

/// What was traced in this process so far.
static TRACED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The messages that contain `mark`, which no other run uses, after `run`.
fn messages(mark: &str, run: impl FnOnce()) -> Vec<String> {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let keep = |text: &str| TRACED.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_string());
        trace::set_sink(Some(Arc::new(keep)));
    });
    run();
    let mut traced = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
    traced.extract_if(.., |m| m.contains(mark)).collect()
}

/// A mark that no other run uses.
fn mark(t: &Check<'_>) -> String {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    format!("{} {}:", t.executor_name(), RUNS.fetch_add(1, Ordering::Relaxed))
}

fn traces() -> Vec<Case> {
    vec![
        case("trace/atrace", "N14-13", |t| {
            let m = mark(t);
            let traced = messages(&m, || {
                let xs = use_(&Vector::from([1, 2])).map(|x| x + 1).atrace(&format!("{m} \"here\""));
                // Used twice, evaluated once.
                t.gives(xs.zip_with(xs.reverse(), |a, b| a * b), Vector::from([6, 6]));
            });
            t.equal(traced, vec![format!("{m} \"here\"")]);
            let traced = messages(&m, || t.gives(fill(0, 1).atrace(&m), Vector::from([0; 0])));
            t.equal(traced, vec![m]);
        }),
        case("trace/atraceArray", "N14-14", |t| {
            let m = mark(t);
            let traced = messages(&m, || {
                let shown = use_(&Matrix::from([[1i64, 2], [3, 4]]));
                t.gives(unit(5).atrace_array(&m, &shown), Scalar::scalar(5));
                t.gives(unit(6).atrace_array(&m, (fill(0, 1i32), unit(true))), Scalar::scalar(6));
            });
            t.equal(
                traced,
                vec![format!("{m}: [2, 2] i64 {{ 1, 2, 3, 4 }}"), format!("{m}: [0] i32 {{}}, [] bool {{ true }}")],
            );
        }),
        case("trace/atraceId", "N14-15", |t| {
            let m = mark(t);
            let traced = messages(&m, || {
                t.gives(use_(&Vector::from([1i64, 2])).map(|x| x * 10).atrace_id(&m).sum(), Scalar::scalar(30));
                t.gives(fill(0, 'x').atrace_id(&m), Vector::from(['x'; 0]));
            });
            t.equal(traced, vec![format!("{m}: [2] i64 {{ 10, 20 }}"), format!("{m}: [0] char {{}}")]);
        }),
        case("trace/atraceExp", "N14-16", |t| {
            let m = mark(t);
            let traced = messages(&m, || {
                let xs = use_(&Vector::from([1, 2, 3]));
                t.gives(xs.map(|x| x + 1).atrace_exp(&m, xs.length()), Vector::from([2, 3, 4]));
                t.gives(fill(0, 1).atrace_exp(&m, lift((true, 'x'))), Vector::from([0; 0]));
            });
            t.equal(traced, vec![format!("{m}: [] i64 {{ 3 }}"), format!("{m}: [] (bool, char) {{ (true, 'x') }}")]);
        }),
        case("trace/only-when-needed-and-each-time", "N14-13 E-CF-01", |t| {
            let m = mark(t);
            let traced = messages(&m, || {
                let xs = fill(2, 1i32).atrace(&format!("{m} xs"));
                t.gives(acond::<Vector<i32>>(false, &xs, fill(1, 5)), Vector::from([5]));
                t.gives(generate(3, |i| i.lt(5).then_else(i, xs.index(i).to::<i64>())), Vector::from([0i64, 1, 2]));
            });
            t.equal(traced, vec![]);
            let traced = messages(&m, || {
                let steps = awhile(unit(0i32), |i| i.the().lt(3), |i| i.map(|i| i + 1).atrace(&m));
                t.gives(steps, Scalar::scalar(3));
                // Two traces of one array with one message are two.
                let xs = fill(2, 1i32);
                t.gives(xs.atrace(&m).zip_with(xs.atrace(&m), |a, b| a + b), Vector::from([2, 2]));
            });
            t.equal(traced.len(), 5);
            // The extent of an array is had by evaluating it.
            let traced =
                messages(&m, || t.gives(unit(fill(2, 1i32).map(|x| x + 1).atrace(&m).length()), Scalar::scalar(2i64)));
            t.equal(traced.len(), 1);
        }),
    ]
}
