//! Steps of loops in one pass over their arrays: the same bits as those of one step after the other, and the same faults.

use super::ALWAYS;
use crate::run::pool::thread_pool::ThreadPool;
use crate::run::testing::{evaluate, has_llvm, lowered};
use std::cell::Cell;

thread_local! {
    /// The passes of the current thread.
    pub(in crate::run::row_blocking) static PASSES: Cell<usize> = const { Cell::new(0) };
}

/// Steps from `u` and `v` to `p` and `q`, with a counter `k`; `w` does not change. Whether they go in passes.
const STEPS: [(&str, bool); 14] = [
    // Stencils, clamped, guarded and with an array around.
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(mul(%x, 3i64), sub(u[max(sub(%i, 1i64), 0i64), %j],
        u[min(add(%i, 1i64), sub(extent(u, 0), 1i64)), min(add(%j, 2i64), sub(extent(u, 1), 1i64))])))
      yield l, p, v", true),
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| {
        %y: i64 = if ge(sub(%i, 2i64), 0i64) { yield u[sub(%i, 2i64), %j] } else { yield 7i64 }
        yield add(xor(%x, %y), w[%i, %j]) })
      yield l, p, v", true),
    ("p: [2]i64 = stencil(u, window: [3, 3], boundary: mirror,
        f: |%q: i64, %r: i64, %s: i64, %t: i64, %u: i64, %v: i64, %x: i64, %y: i64, %z: i64|
          sub(add(add(%q, mul(%r, 3i64)), sub(%s, %t)), add(sub(%u, %v), add(%x, sub(%y, %z)))))
      yield l, p, v", true),
    // Waves: the array of the step before is kept.
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| sub(add(%x, u[min(add(%i, 1i64), sub(extent(u, 0), 1i64)), %j]), v[%i, %j]))
      yield l, p, u", true),
    // Two kernels, each of which reads rows around its own.
    ("h: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(mul(%x, 5i64), u[max(sub(%i, 1i64), 0i64), %j]))
      q: [2]i64 = imap(v, f: |%i: i64, %j: i64, %x: i64| sub(%x, h[min(add(%i, 2i64), sub(extent(h, 0), 1i64)), %j]))
      p: [2]i64 = imap(h, f: |%i: i64, %j: i64, %x: i64| add(%x, q[max(sub(%i, 1i64), 0i64), %j]))
      yield l, p, q", true),
    // Rows of their own.
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(mul(%x, 3i64), sub(%i, v[%i, %j]))) yield l, p, v", true),
    // They swap, and one is computed.
    ("p: [2]i64 = imap(v, f: |%i: i64, %j: i64, %x: i64| add(mul(%x, 3i64), u[max(sub(%i, 1i64), 0i64), %j])) yield l, p, u", true),
    // One becomes both.
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| sub(%x, v[max(sub(%i, 1i64), 0i64), %j])) yield l, p, p", true),
    // One is handed on, and read.
    ("p: [2]i64 = imap(v, f: |%i: i64, %j: i64, %x: i64| sub(%x, w[max(sub(%i, 1i64), 0i64), %j])) yield l, v, p", true),
    // A division by what becomes 0 somewhere.
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(sub(%x, 1i64), quot(9i64, u[max(sub(%i, 1i64), 0i64), %j]))) yield l, p, v", true),
    // How far the counter goes depends on an element.
    ("r: [0]i64 = map(l, f: |%l: i64| add(%l, and(u[0i64, 0i64], 1i64)))
      p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(%x, 1i64)) yield r, p, v", false),
    // The counter is read; rows far away; a sum that each element reads.
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(mul(%x, k[]), %i)) yield l, p, v", false),
    ("p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| sub(u[sub(sub(extent(u, 0), 1i64), %i), %j], %x)) yield l, p, v", false),
    ("s: [1]i64 = fold(u, f: |%x: i64, %y: i64| add(%x, %y), init: || 1i64)
      p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| sub(%x, s[%i])) yield l, p, v", false),
];

#[test]
fn steps_in_one_pass_have_the_bits_of_steps() {
    for (number, (step, in_passes)) in STEPS.iter().enumerate() {
        let passes = compare(step, "lt(%k, n[])", 0);
        assert_eq!(passes > 0, *in_passes && has_llvm(), "step {number}: {step}");
    }
}

#[test]
fn arrays_of_other_rows_and_tests_of_elements_are_no_passes() {
    let both = "p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(mul(%x, 3i64), v[%i, %j]))
      q: [2]i64 = imap(v, f: |%i: i64, %j: i64, %x: i64| sub(%x, p[min(%i, sub(extent(p, 0), 1i64)), %j])) yield l, p, q";
    assert_eq!(compare(both, "lt(%k, n[])", 2), 0);
    assert_eq!(compare(both, "lt(%k, n[])", 0) > 0, has_llvm());
    let counted = "p: [2]i64 = imap(u, f: |%i: i64, %j: i64, %x: i64| add(%x, 1i64)) yield l, p, v";
    assert_eq!(compare(counted, "and(lt(%k, n[]), ne(rem(u[0i64, 0i64], 5i64), 3i64))", 0), 0);
}

/// The passes of a loop, whose outcomes are those of its steps; `v` has so many rows more.
fn compare(step: &str, test: &str, more: usize) -> usize {
    if !has_llvm() {
        return 0;
    }
    let runs: String =
        [(0, 5, 4), (4, 1, 3), (5, 2, 1), (11, 3, 17), (12, 7, 5), (19, 20, 5), (20, 33, 9), (30, 64, 2)]
            .map(|(steps, rows, columns)| {
                let array = |rows: usize, seed: usize| format!("[{rows}, {columns}] i64 lcg({seed})");
                let arrays = format!("a = {} b = {} w = {}", array(rows, 1), array(rows + more, 2), array(rows, 3));
                format!("run {{ n = [] i64 {{ {steps} }} {arrays} expect agree }}\n")
            })
            .concat();
    let text = format!(
        "program(n: [0]i64, a: [2]i64, b: [2]i64, w: [2]i64) {{
           k0: [0]i64 = generate(shape: || (), f: || 0i64)
           k1: [0]i64, u1: [2]i64, v1: [2]i64 = awhile(k0, a, b, test: |k: [0]i64, u: [2]i64, v: [2]i64| {{
               c: [0]bool = map(k, f: |%k: i64| {test})
               yield c
             }},
             step: |k: [0]i64, u: [2]i64, v: [2]i64| {{
               l: [0]i64 = map(k, f: |%k: i64| add(%k, 1i64))
               {step}
             }})
           yield k1, u1, v1
         }}
         {runs}"
    );
    let (plan, runs) = lowered("steps", &text);
    let threads = ThreadPool::new(3).unwrap();
    PASSES.set(0);
    for args in &runs {
        let want = evaluate(&plan, args, &threads);
        ALWAYS.set(true);
        let got = evaluate(&plan, args, &threads);
        ALWAYS.set(false);
        assert_eq!(got.map_err(|e| e.to_string()), want.map_err(|e| e.to_string()), "{step}");
    }
    PASSES.get()
}
