//! Loops of arrays, gone back through.

use super::support::{Numbers, check_with, expanded_with, run};
use acc_core::ad::derivative_of;
use acc_core::data::{ArrayData, ScalarType};
use acc_core::ir::Mode;
use acc_core::text;

#[test]
fn loops_of_arrays() {
    // Whose number of steps the program computes; 0, 1 and more of them.
    for steps in [0, 1, 2, 7, 30] {
        check_with(
            &format!(
                "program(x: [1]f64, a: [1]f64, b: [0]f64) {{
               zero: [0]i64 = generate(shape: || (), f: || 0i64)
               n: [0]i64, y: [1]f64 = awhile(zero, x,
                 test: |n: [0]i64, s: [1]f64| {{ c: [0]bool = map(n, f: |%n: i64| lt(%n, {steps}i64)) yield c }},
                 step: |n: [0]i64, s: [1]f64| {{
                   m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
                   t: [1]f64 = zip_with(s, a, f: |%s: f64, %a: f64| add(mul(0.7f64, sin(mul(%s, %a))), b[]))
                   yield m, t }})
               yield y }}"
            ),
            &[&[3], &[4], &[]],
        );
    }
    // Extents that change from step to step, and a loop in a loop.
    check_with(
        "program(x: [1]f64) {
           zero: [0]i64 = generate(shape: || (), f: || 0i64)
           y: [1]f64, n: [0]i64 = awhile(x, zero,
             test: |s: [1]f64, n: [0]i64| { c: [0]bool = map(n, f: |%n: i64| lt(%n, 3i64)) yield c },
             step: |s: [1]f64, n: [0]i64| {
               t: [1]f64 = generate(shape: || mul(2i64, extent(s, 0)), f: |%i: i64| mul(s[rem(%i, extent(s, 0))], 0.9f64))
               m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
               u: [1]f64, k: [0]i64 = awhile(t, zero,
                 test: |s: [1]f64, n: [0]i64| { c: [0]bool = map(n, f: |%n: i64| lt(%n, 2i64)) yield c },
                 step: |s: [1]f64, n: [0]i64| {
                   v: [1]f64 = map(s, f: |%s: f64| mul(%s, cos(%s)))
                   m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64)) yield v, m })
               yield u, m })
           yield y }",
        &[&[2]],
    );
}

/// Results have the same bits however many states are kept, none but the first one included. Histories have room for 128.
#[test]
fn kept_states_change_no_bit() {
    let source = "program(x: [1]f64, a: [1]f64) {
       zero: [0]i64 = generate(shape: || (), f: || 0i64)
       y: [1]f64, n: [0]i64 = awhile(x, zero,
         test: |s: [1]f64, n: [0]i64| { c: [0]bool = map(n, f: |%n: i64| lt(%n, 300i64)) yield c },
         step: |s: [1]f64, n: [0]i64| {
           t: [1]f64 = zip_with(s, a, f: |%s: f64, %a: f64| sin(mul(%s, %a)))
           m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
           yield t, m })
       yield y }";
    let p = text::parse("p.acc", source).unwrap_or_else(|e| panic!("{e}"));
    let p = derivative_of(&p, Mode::Reverse);
    let mut numbers = Numbers(7);
    let args: Vec<ArrayData> = (0..3).map(|_| numbers.array(&[1100], &ScalarType::F64.into())).collect();
    let bits = |kept: usize| {
        let found = run(&expanded_with(&p, kept), &args);
        let all = found.iter().flat_map(|a| (0..a.size()).flat_map(|k| a.element(k).expect("one")));
        all.map(|l| l.bits).collect::<Vec<u64>>()
    };
    let most = bits(64);
    for kept in [0, 1, 8] {
        assert_eq!(bits(kept), most, "{kept} states");
    }
}

/// What folds, products of matrices and other loops of a step compute is read again on the way back.
#[test]
fn steps_with_residuals() {
    let looped = |state: &str, step: &str| {
        format!(
            "program(x: [1]f64, w: [2]f64) {{
               zero: [0]i64 = generate(shape: || (), f: || 0i64)
               n: [0]i64, y: [1]f64 = awhile(zero, {state},
                 test: |n: [0]i64, s: [1]f64| {{ c: [0]bool = map(n, f: |%n: i64| lt(%n, 4i64)) yield c }},
                 step: |n: [0]i64, s: [1]f64| {{
                   m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
                   {step} yield m, t }})
               yield y }}"
        )
    };
    let times = "r: [2]f64 = replicate(s, axes: [fixed, all], extents: || extent(w, 0))
                 p: [2]f64 = zip_with(w, r, f: |%w: f64, %s: f64| mul(%w, %s))
                 q: [1]f64 = fold(p, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)";
    let norm = "z: [1]f64 = map(q, f: |%q: f64| mul(%q, %q))
                l: [0]f64 = fold(z, f: |%a: f64, %b: f64| add(%a, %b), init: || 1.0f64)";
    for step in [
        // A layer; the power method.
        format!("{times} t: [1]f64 = map(q, f: |%q: f64| tanh(%q))"),
        format!("{times} {norm} t: [1]f64 = map(q, f: |%q: f64| div(%q, sqrt(l[])))"),
        // Where one array is in the history in place of two, and where the extents alone of one matter.
        format!(
            "{times} u: [1]f64 = zip_with(q, s, f: |%q: f64, %s: f64| add(%q, %s))
                 v: [1]f64 = scanl1(u, f: |%a: f64, %b: f64| add(%a, %b))
                 h: [1]f64 = zip_with(q, v, f: |%q: f64, %v: f64| add(%q, mul(0.1f64, %v)))
                 t: [1]f64 = map(h, f: |%h: f64| sin(%h))"
        ),
        format!(
            "{times} o: [1]i64 = argsort(q)
                 t: [1]f64 = backpermute(q, shape: || extent(o, 0), index: |%i: i64| o[%i])"
        ),
    ] {
        check_with(&looped("x", &step), &[&[3], &[3, 3]]);
    }
}

/// Slices at a counter, which may begin anywhere and count backwards, of arrays from around the loop: along either axis, and twice.
#[test]
fn slices_in_steps() {
    let looped = |first: i64, by: i64, slices: &str| {
        format!(
            "program(x: [1]f64, w: [2]f64) {{
               first: [0]i64 = generate(shape: || (), f: || {first}i64)
               n: [0]i64, k: [0]i64, y: [1]f64 = awhile(first, first, x,
                 test: |n: [0]i64, k: [0]i64, s: [1]f64| {{ c: [0]bool = map(k, f: |%k: i64| lt(%k, {first}i64 + 3i64)) yield c }},
                 step: |n: [0]i64, k: [0]i64, s: [1]f64| {{
                   {slices}
                   t: [1]f64 = zip_with(s, u, f: |%s: f64, %u: f64| sin(mul(add(%s, 0.5f64), mul(%u, cast(n[], f64)))))
                   m: [0]i64 = map(n, f: |%n: i64| add({by}i64, %n))
                   l: [0]i64 = generate(shape: || (), f: || add(k[], 1i64))
                   yield m, l, t }})
               yield y }}"
        )
        .replace(&format!("{first}i64 + 3i64"), &format!("{}i64", first + 3))
    };
    let row = "u: [1]f64 = slice(w, axes: [fixed, all], index: || n[])";
    let column = "u: [1]f64 = slice(w, axes: [all, fixed], index: || n[])";
    let two = "a: [1]f64 = slice(w, axes: [fixed, all], index: || n[])
               b: [1]f64 = slice(w, axes: [fixed, all], index: || 1i64)
               u: [1]f64 = zip_with(a, b, f: |%a: f64, %b: f64| mul(%a, %b))";
    for slices in [row, column, two] {
        check_with(&looped(0, 1, slices), &[&[4], &[4, 4]]);
        check_with(&looped(3, -1, slices), &[&[4], &[4, 4]]);
    }
}

/// Many counters in one array are no counter.
#[test]
fn arrays_of_counters() {
    check_with(
        "program(x: [1]f64, first: [1]i64) {
           y: [1]f64, n: [1]i64 = awhile(x, first,
             test: |s: [1]f64, n: [1]i64| { c: [0]bool = generate(shape: || (), f: || lt(n[0i64], 3i64)) yield c },
             step: |s: [1]f64, n: [1]i64| {
               t: [1]f64 = zip_with(s, n, f: |%s: f64, %n: i64| mul(sin(%s), cast(%n, f64)))
               m: [1]i64 = map(n, f: |%n: i64| add(%n, 1i64)) yield t, m })
           yield y }",
        &[&[3], &[3]],
    );
}

#[test]
fn a_loop_in_a_derivative_whose_first_step_changes_extents() {
    let source = "program(x: [1]f64, y: [1]f64, by: [1]f64) {
        z: [1]f64, d: [1]f64, e: [1]f64 = vjp(x, y, by: [by], f: |x: [1]f64, y: [1]f64| {
          n: [0]i64 = generate(shape: || (), f: || 0i64)
          end: [1]f64, k: [0]i64 = awhile(x, n, test: |s: [1]f64, k: [0]i64| {
            more: [0]bool = map(k, f: |%k: i64| lt(%k, TIMESi64))
            yield more
          }, step: |s: [1]f64, k: [0]i64| {
            next: [0]i64 = map(k, f: |%k: i64| add(%k, 1i64))
            squares: [1]f64 = map(y, f: |%y: f64| mul(%y, %y))
            yield squares, next
          })
          yield end
        })
        yield z, d, e
    }";
    for (times, n) in [(0, 3), (1, 2), (2, 2)] {
        check_with(&source.replace("TIMES", &format!("{times}")), &[&[3], &[2], &[n]]);
    }
}
