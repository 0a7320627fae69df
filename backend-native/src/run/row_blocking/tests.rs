//! Row blocking at any size, with small blocks: the results have the same bits as those of separate kernels.

mod halos;
pub(super) mod time_steps;

use crate::llvm;
use crate::lower::BlockPlan;
use crate::prepare::{Plan, Work};
use crate::run::pool::thread_pool::ThreadPool;
use crate::run::testing::{evaluate, has_llvm, lowered};
use std::cell::Cell;

thread_local! {
    /// Whether runs of the current thread block rows wherever possible, with small blocks.
    pub(super) static ALWAYS: Cell<bool> = const { Cell::new(false) };
}

/// The number of row blockings in a block and its nested blocks.
fn row_blockings(plan: &Plan, b: &BlockPlan) -> usize {
    let inner = b.steps.iter().map(|&s| match &plan.steps[s].work {
        Work::If { then, else_, .. } => row_blockings(plan, then) + row_blockings(plan, else_),
        Work::While { test, step, .. } => row_blockings(plan, test) + row_blockings(plan, step),
        Work::Foreign { fallback, .. } => row_blockings(plan, fallback),
        Work::Array { .. } | Work::Kernel { .. } => 0,
    });
    b.row_blockings.len() + inner.sum::<usize>()
}

/// The number of row blockings in a test file's program, after checking that outcomes are the same with and without.
fn compare(name: &str, text: &str) -> usize {
    let (plan, runs) = lowered(name, text);
    let found = row_blockings(&plan, &plan.body);
    if found > 0 {
        let threads = ThreadPool::new(3).unwrap();
        for args in runs {
            let want = evaluate(&plan, &args, &threads);
            ALWAYS.set(true);
            let got = evaluate(&plan, &args, &threads);
            ALWAYS.set(false);
            assert_eq!(got, want, "{name}");
        }
    }
    found
}

/// Programs with row blocking: the body, over arrays `a` and `b` of type `T` in two dimensions, and its results.
const PROGRAMS: [&str; 14] = [
    // Built-in and other operators, with and without initial values.
    "m: [1]T = fold1(a, f: |%x: T, %y: T| max(%x, %y))
     d: [2]T = imap(a, f: |%i: i64, %j: i64, %x: T| sub(%x, m[%i]))
     s: [1]T = fold(d, f: |%x: T, %y: T| sub(%x, %y), init: || 1T)
     r: [2]T = imap(d, f: |%i: i64, %j: i64, %x: T| mul(%x, s[%i]))
     yield r",
    // Other elements of the row: mirrored, strided, indexed by data.
    "e: [2]T = zip_with(a, b, f: |%x: T, %y: T| max(mul(%x, %y), %x))
     s: [1]T = fold(e, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     f: [2]T = imap(e, f: |%i: i64, %j: i64, %x: T| add(s[%i], e[%i, sub(sub(extent(e, 1), 1i64), %j)]))
     g: [2]T = imap(f, f: |%i: i64, %j: i64, %x: T| add(%x, f[%i, quot(%j, 3i64)]))
     h: [2]T = imap(g, f: |%i: i64, %j: i64, %x: T|
       add(%x, g[%i, cast(rem(cast(abs(%x), u64), cast(extent(g, 1), u64)), i64)]))
     u: [1]T = fold1(h, f: |%x: T, %y: T| min(%x, %y))
     yield h, u",
    // Loads in only some rows.
    "s: [1]T = fold(a, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     q: [1]T = map(s, f: |%x: T| mul(%x, %x))
     p: [1](T, bool) = zip_with(s, q, f: |%x: T, %y: T| (add(%x, %y), lt(%x, %y)))
     r: [2]T = imap(b, f: |%i: i64, %j: i64, %x: T| {
       %t: T, %c: bool = p[%i]
       %v: T = if %c { yield add(%x, %t) } else { yield sub(%x, q[%i]) }
       yield %v
     })
     yield r",
    // Stencils along rows, and folds of windows of those.
    "c: [2]T = map(a, f: |%x: T| mul(%x, 3T))
     m: [1]T = fold1(c, f: |%x: T, %y: T| max(%x, %y))
     s: [2]T = stencil(c, window: [1, 3], boundary: clamp, f: |%x: T, %y: T, %z: T| add(add(%x, %y), %z))
     r: [2]T = imap(s, f: |%i: i64, %j: i64, %x: T| sub(%x, m[%i]))
     t: [1]T = fold1(r, f: |%x: T, %y: T| max(%x, %y))
     yield t, s",
    // Tuples, and positions of extremes.
    "p: [2](T, i64) = imap(a, f: |%i: i64, %j: i64, %x: T| (%x, %j))
     m: [1](T, i64) = fold1(p, f: |%x: T, %i: i64, %y: T, %j: i64|
       if lt(%x, %y) { yield %y, %j } else { yield %x, %i })
     r: [2](i64, T) = imap(b, f: |%i: i64, %j: i64, %x: T| {
       %v: T, %k: i64 = m[%i]
       yield sub(%j, %k), add(%x, %v)
     })
     yield r",
    // More axes, and fewer.
    "g: [3]T = generate(shape: || (extent(a, 0), 6i64, extent(a, 1)), f: |%i: i64, %j: i64, %k: i64|
       add(a[%i, %k], cast(%j, T)))
     s: [2]T = fold(g, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     h: [3]T = imap(g, f: |%i: i64, %j: i64, %k: i64, %x: T| sub(%x, s[%i, sub(5i64, %j)]))
     t: [2]T = fold1(h, f: |%x: T, %y: T| max(%x, %y))
     u: [1]T = fold1(t, f: |%x: T, %y: T| sub(%x, %y))
     r: [2]T = imap(b, f: |%i: i64, %j: i64, %x: T| add(%x, u[%i]))
     yield r, t",
    // In the iterations of a loop.
    "r: [2]T = awhile(a, test: |s: [2]T| {
         o: [0]bool = generate(shape: || (), f: || lt(s[0i64, 0i64], 100T))
         yield o
       }, step: |s: [2]T| {
         m: [1]T = fold1(s, f: |%x: T, %y: T| max(%x, %y))
         n: [2]T = imap(s, f: |%i: i64, %j: i64, %x: T| 
           add(min(max(%x, 0T), 100T), min(max(m[%i], 7T), 100T)))
         yield n
       })
     yield r",
    // Scalar loops that load from the row.
    "m: [1]T = fold1(a, f: |%x: T, %y: T| max(%x, %y))
     d: [2]T = imap(a, f: |%i: i64, %j: i64, %x: T| sub(m[%i], %x))
     r: [2]i64 = imap(d, f: |%i: i64, %j: i64, %x: T| {
       %k: i64 = while (%j) test |%k: i64| { yield and(lt(add(%k, 1i64), extent(d, 1)), le(d[%i, %k], %x)) }
         step |%k: i64| { yield add(%k, 1i64) }
       yield %k
     })
     s: [1]i64 = fold(r, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
     yield s, r",
    // A fault in a row, and a fold over the results of another fold.
    "s: [1]T = fold(a, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     i: [1]i64 = imap(s, f: |%i: i64, %x: T| quot(cast(%x, i64), sub(%i, 9i64)))
     r: [2]T = imap(b, f: |%i: i64, %j: i64, %x: T| add(%x, cast(i[%i], T)))
     yield r",
    // Products with a matrix that all rows read, in register tiles, one of them with packed operands.
    "p: [3]T = generate(shape: || (extent(a, 0), extent(b, 0), extent(a, 1)),
       f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%j, %k]))
     s: [2]T = fold(p, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     q: [2]T = map(s, f: |%x: T| min(%x, 100T))
     v: [3]T = generate(shape: || (extent(a, 0), extent(b, 1), extent(b, 0)),
       f: |%i: i64, %j: i64, %k: i64| mul(q[%i, %k], b[%k, %j]))
     t: [2]T = fold(v, f: |%x: T, %y: T| add(%x, %y), init: || 1T)
     m: [1]T = fold1(t, f: |%x: T, %y: T| max(%x, %y))
     r: [2]T = imap(t, f: |%i: i64, %j: i64, %x: T| sub(%x, m[%i]))
     yield r",
    // Folds over several axes in register tiles.
    "w: [4]T = generate(shape: || (extent(a, 0), 7i64, 5i64, extent(a, 1)),
       f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(a[%i, %l], cast(add(%j, %k), T)))
     u: [3]T = fold(w, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     c: [5]T = generate(shape: || (extent(a, 0), 6i64, 4i64, 3i64, 2i64),
       f: |%i: i64, %o: i64, %j: i64, %p: i64, %q: i64| mul(u[%i, add(%j, %p), add(%q, 1i64)], b[0i64, rem(add(%o, %q), extent(b, 1))]))
     d: [4]T = fold(c, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     e: [3]T = fold(d, f: |%x: T, %y: T| add(%x, %y), init: || 0T)
     r: [3]T = imap(e, f: |%i: i64, %o: i64, %j: i64, %x: T| add(%x, u[%i, %j, 0i64]))
     yield r",
    // Windows of rows, without a schedule: in the interior, and beyond borders.
    "w: [2]T = generate(shape: || (extent(a, 0), max(sub(extent(a, 1), 2i64), 0i64)),
       f: |%i: i64, %j: i64| mul(add(add(a[%i, %j], mul(a[%i, add(%j, 1i64)], 3T)), a[%i, add(%j, 2i64)]), add(a[%i, %j], 7T)))
     r: [2]T = generate(shape: || (max(sub(extent(a, 0), 2i64), 0i64), max(sub(extent(a, 1), 2i64), 0i64)),
       f: |%i: i64, %j: i64| sub(add(w[%i, %j], mul(w[add(%i, 1i64), %j], 3T)), w[add(%i, 2i64), %j]))
     yield r",
    "p: [2]T = stencil(a, window: [1, 5], boundary: clamp, f: |%u: T, %v: T, %x: T, %y: T, %z: T| sub(add(mul(%u, 3T), %v), sub(mul(%x, 7T), mul(%y, %z))))
     q: [2]T = stencil(b, window: [1, 5], boundary: mirror, f: |%u: T, %v: T, %x: T, %y: T, %z: T| add(sub(mul(%u, 3T), %v), mul(mul(%x, 7T), sub(%y, %z))))
     r: [2]T = stencil(p, q, windows: [[5, 1], [3, 1]], boundaries: [clamp, mirror],
       f: |%u: T, %v: T, %x: T, %y: T, %z: T, %k: T, %l: T, %m: T| sub(add(sub(%u, %v), add(%x, %y)), sub(%z, add(%k, sub(%l, %m)))))
     yield r",
    // A chain of them, with sums of rows in between.
    "p: [2]T = stencil(a, window: [3, 3], boundary: clamp,
       f: |%q: T, %r: T, %s: T, %t: T, %u: T, %v: T, %x: T, %y: T, %z: T|
         sub(add(add(%q, mul(%r, 3T)), sub(%s, %t)), add(sub(%u, %v), add(%x, sub(%y, %z)))))
     m: [1]T = fold1(p, f: |%x: T, %y: T| max(%x, %y))
     n: [2]T = imap(p, f: |%i: i64, %j: i64, %x: T| mul(sub(%x, m[%i]), add(p[max(sub(%i, 1i64), 0i64), %j], 7T)))
     r: [2]T = imap(n, f: |%i: i64, %j: i64, %x: T| sub(add(%x, n[min(add(%i, 1i64), sub(extent(n, 0), 1i64)), %j]), m[%i]))
     yield r",
];

const RUNS: &str = "
  run { a = [37, 29] T lcg(1)  b = [37, 29] T lcg(2)  expect agree }
  run { a = [11, 130] T lcg(3)  b = [11, 130] T lcg(4)  expect agree }
  run { a = [8, 3] T lcg(5)  b = [8, 3] T lcg(6)  expect agree }
  run { a = [70, 7] T lcg(7)  b = [70, 7] T lcg(8)  expect agree }
  run { a = [1, 5] T lcg(9)  b = [1, 5] T lcg(10)  expect agree }
  run { a = [5, 1] T lcg(11)  b = [5, 1] T lcg(12)  expect agree }";

#[test]
fn blocks_of_rows_give_the_same_bits() {
    if !has_llvm() {
        return;
    }
    for (number, body) in PROGRAMS.iter().enumerate() {
        for ty in ["f32", "i32", "f64", "i16"] {
            let literal = if ty.starts_with('f') { format!(".0{ty}") } else { ty.to_string() };
            let text = format!("program(a: [2]T, b: [2]T) {{ {body} }} {RUNS}");
            let text = ["0", "1", "3", "7", "100"]
                .iter()
                .fold(text, |text, n| text.replace(&format!(" {n}T"), &format!(" {n}{literal}")));
            let text = text.replace("T ", &format!("{ty} ")).replace('T', ty);
            let found = compare(&format!("program {number} of {ty}"), &text);
            assert!(found > 0, "no row_blocking in program {number}");
        }
    }
    assert_eq!(llvm::defects(), Vec::<String>::new());
}
