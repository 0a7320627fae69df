//! Arrays that a schedule computes within the loops of a reader that needs a window of their rows: the same bits as those of the
//! kernels one after the other over tiles, with blocks of any size and at borders of all kinds.

use super::{ALWAYS, row_blockings};
use crate::Compile;
use crate::llvm;
use crate::lower::BlockPlan;
use crate::prepare::Plan;
use crate::run::pool::thread_pool::ThreadPool;
use crate::run::scheduled::tests::{Random, programs};
use crate::run::testing::{evaluate, evaluate_with, has_llvm, lowered, plan};
use acc_core::data::ArrayData;
use acc_core::ir::{Program, Schedule};
use acc_core::text::parse_test_file;

/// Programs over arrays `a` and `b` of type `T` in two dimensions and `x` in one, and their results; all but the last array of each
/// are computed within the loops of the next one.
const PROGRAMS: [&str; 12] = [
    // Stencils, clamped, mirrored and with a value of their own beyond the borders.
    "h: [2]T = stencil(a, window: [1, 3], boundary: clamp, f: |%x: T, %y: T, %z: T| add(add(%x, mul(%y, 3T)), %z))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     v: [2]T = stencil(c, window: [5, 1], boundary: clamp, f: |%u: T, %v: T, %x: T, %y: T, %z: T| sub(add(%u, mul(%v, %x)), sub(%y, %z)))
     yield v",
    "h: [2]T = zip_with(a, b, f: |%x: T, %y: T| add(%x, mul(%y, 3T)))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     v: [2]T = stencil(c, window: [3, 3], boundary: mirror,
       f: |%q: T, %r: T, %s: T, %t: T, %u: T, %v: T, %x: T, %y: T, %z: T|
         sub(add(add(%q, mul(%r, 3T)), sub(%s, %t)), add(sub(%u, %v), add(%x, sub(%y, %z)))))
     yield v",
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     v: [2]T = stencil(c, window: [3, 3], boundary: |%i: i64, %j: i64| cast(add(%i, %j), T),
       f: |%q: T, %r: T, %s: T, %t: T, %u: T, %v: T, %x: T, %y: T, %z: T|
         sub(add(add(%q, mul(%r, 3T)), sub(%s, %t)), add(sub(%u, %v), add(%x, sub(%y, %z)))))
     yield v",
    // Windows in the interior, of rows before and after; fewer rows than those of the array, and more.
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     v: [2]T = generate(shape: || (max(sub(extent(c, 0), 4i64), 0i64), extent(c, 1)),
       f: |%i: i64, %j: i64| sub(c[add(%i, 1i64), %j], c[add(%i, 3i64), sub(sub(extent(c, 1), 1i64), %j)]))
     yield v",
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     v: [2]T = generate(shape: || (add(extent(c, 0), 5i64), extent(c, 1)),
       f: |%i: i64, %j: i64| sub(c[max(0i64, min(sub(%i, 3i64), sub(extent(a, 0), 1i64))), %j], c[min(%i, sub(extent(c, 0), 1i64)), %j]))
     yield v",
    // Neighbours that are clamped, and such as are there.
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     v: [2]T = imap(c, f: |%i: i64, %j: i64, %x: T| {
       %u: T = if and(ge(sub(%i, 2i64), 0i64), lt(%j, 7i64)) { yield c[sub(%i, 2i64), %j] } else { yield 0T }
       yield add(sub(%x, %u), c[min(add(%i, 1i64), sub(extent(c, 0), 1i64)), %j])
     })
     yield v",
    // A folded window, and a product with each of its rows.
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     w: [3]T = generate(shape: || (max(sub(extent(c, 0), 2i64), 0i64), extent(c, 1), 3i64),
       f: |%i: i64, %j: i64, %p: i64| mul(c[add(%i, %p), %j], cast(%p, T)))
     s: [2]T = fold(w, f: |%x: T, %y: T| add(%x, %y), init: || 1T)
     v: [2]T = compute(s, loops: [i0, i2, lanes i1])
     yield v",
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     w: [4]T = generate(shape: || (max(sub(extent(c, 0), 3i64), 0i64), max(sub(extent(c, 1), 1i64), 0i64), 4i64, 2i64),
       f: |%i: i64, %j: i64, %p: i64, %q: i64| mul(c[sub(add(%i, 3i64), %p), add(%j, %q)], cast(add(%p, %q), T)))
     u: [3]T = fold1(w, f: |%x: T, %y: T| add(%x, %y))
     s: [2]T = fold1(u, f: |%x: T, %y: T| add(%x, %y))
     v: [2]T = compute(s, loops: [i0 by 4, i2, i3, lanes i1, unrolled i0])
     yield v",
    // Two rows of each pair: windows that move by two rows.
    "h: [2]T = stencil(a, window: [3, 1], boundary: clamp, f: |%x: T, %y: T, %z: T| add(sub(%x, %y), %z))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     p: [2]T = generate(shape: || (quot(extent(c, 0), 2i64), extent(c, 1)),
       f: |%i: i64, %j: i64| sub(c[mul(2i64, %i), %j], c[add(mul(2i64, %i), 1i64), %j]))
     d: [2]T = compute(p, loops: LOOPS2 within 1)
     v: [2]T = stencil(d, window: [3, 1], boundary: mirror, f: |%x: T, %y: T, %z: T| add(sub(%x, %y), %z))
     yield v",
    // Chains, the halos of which add up; sums of rows in between, two results of one kernel, and an epilogue.
    "h: [2](T, i64) = imap(a, f: |%i: i64, %j: i64, %x: T| (add(%x, 3T), add(%i, %j)))
     c: [2](T, i64) = compute(h, loops: LOOPS2 within 1)
     m: [2]T = stencil(c, window: [3, 1], boundary: clamp,
       f: |%x: T, %i: i64, %y: T, %j: i64, %z: T, %k: i64| sub(add(%x, cast(%i, T)), sub(%y, cast(%k, T))))
     d: [2]T = compute(m, loops: LOOPS2 within 1)
     s: [1]T = fold(d, f: |%x: T, %y: T| add(%x, %y), init: || 7T)
     e: [1]T = map(s, f: |%x: T| max(%x, 3T))
     g: [1]T = compute(e, loops: [i0, i1] within 1)
     v: [2]T = generate(shape: || (extent(b, 0), extent(b, 1)), f: |%i: i64, %j: i64| sub(b[%i, %j], g[min(%i, sub(extent(g, 0), 1i64))]))
     yield v",
    "h: [2]T = map(a, f: |%x: T| add(%x, 3T))
     c: [2]T = compute(h, loops: LOOPS2 within 1)
     m: [2]T = stencil(c, window: [5, 1], boundary: clamp, f: |%u: T, %v: T, %x: T, %y: T, %z: T| sub(add(%u, mul(%v, %x)), sub(%y, %z)))
     d: [2]T = compute(m, loops: LOOPS2 within 1)
     n: [2]T = stencil(d, window: [3, 3], boundary: mirror,
       f: |%q: T, %r: T, %s: T, %t: T, %u: T, %v: T, %x: T, %y: T, %z: T|
         sub(add(add(%q, mul(%r, 3T)), sub(%s, %t)), add(sub(%u, %v), add(%x, sub(%y, %z)))))
     e: [2]T = compute(n, loops: [threads i0 by 4, i0, lanes i1] within 1)
     k: [2]T = imap(e, f: |%i: i64, %j: i64, %x: T| sub(%x, e[max(sub(%i, 1i64), 0i64), %j]))
     v: [2]T = compute(k, loops: [threads i0 by 4, lanes i1, unrolled i0])
     yield v",
    // Rows of one element, along which the lanes run.
    "h: [1]T = map(x, f: |%x: T| add(%x, 3T))
     c: [1]T = compute(h, loops: [lanes i0] within 1)
     m: [1]T = stencil(c, window: [5], boundary: clamp, f: |%u: T, %v: T, %x: T, %y: T, %z: T| sub(add(%u, mul(%v, %x)), sub(%y, %z)))
     d: [1]T = compute(m, loops: [i0] within 1)
     n: [1]T = stencil(d, window: [3], boundary: mirror, f: |%x: T, %y: T, %z: T| add(sub(%x, %y), %z))
     e: [1]T = compute(n, loops: [i0 by 8, lanes i0] within 1)
     v: [1]T = imap(e, f: |%i: i64, %y: T| sub(sub(%y, e[max(sub(%i, 1i64), 0i64)]), e[min(add(%i, 2i64), sub(extent(x, 0), 1i64))]))
     yield v",
];

#[test]
fn blocks_with_halos_give_the_same_bits() {
    if !has_llvm() {
        return;
    }
    let threads = [1, 2, 7].map(|n| ThreadPool::new(n).unwrap());
    let runs: String = [[0, 5], [1, 1], [2, 3], [3, 17], [4, 1], [5, 9], [7, 130], [23, 64], [100, 7]]
        .iter()
        .map(|[n, m]| {
            format!(
                "run {{ a = [{n}, {m}] T lcg(1)  b = [{n}, {m}] T lcg(2)  x = [{}] T lcg(3)  expect agree }}\n",
                n * m
            )
        })
        .collect();
    for (number, body) in PROGRAMS.iter().enumerate() {
        for (ty, loops) in [
            ("f32", "[i0, lanes i1]"),
            ("i32", "[i1, i0]"),
            ("f64", "[i0 by 2, lanes i1, unrolled i0]"),
            ("i16", "[i0, i1]"),
        ] {
            let literal = if ty.starts_with('f') { format!(".0{ty}") } else { ty.to_string() };
            let text = format!("program(a: [2]T, b: [2]T, x: [1]T) {{ {body} }} {runs}").replace("LOOPS2", loops);
            let text = ["0", "1", "3", "7"]
                .iter()
                .fold(text, |text, n| text.replace(&format!(" {n}T"), &format!(" {n}{literal}")));
            let text = text.replace("T ", &format!("{ty} ")).replace('T', ty);
            let name = format!("program {number} of {ty}");
            let (plan, runs) = lowered(&name, &text);
            assert!(row_blockings(&plan, &plan.body) > 0, "no row blocking in {name}");
            runs.iter().for_each(|args| compare(&name, &plan, args, &threads));
        }
    }
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

/// Compares blocks of all sizes, on any number of threads, with kernels one after the other over tiles.
fn compare(name: &str, plan: &Plan, args: &[ArrayData], threads: &[ThreadPool]) {
    let want = evaluate_with(plan, args, &threads[0], Compile::Never);
    for pool in threads {
        for small in [false, true] {
            ALWAYS.set(small);
            let got = evaluate(plan, args, pool);
            ALWAYS.set(false);
            let of: Vec<_> = args.iter().map(ArrayData::shape).collect();
            assert_eq!(got, want, "{name} of {of:?}, {} threads, small blocks: {small}", pool.count());
        }
    }
}

/// The number of arrays with a halo in a block; in nested blocks there is none with a schedule of its own here.
fn halos(plan: &Plan, b: &BlockPlan) -> usize {
    b.row_blockings.iter().map(|r| r.halos(plan, b).len()).sum()
}

/// A program in which all arrays that can be are computed within the loops of their readers, by loops at random.
fn with_all_within(program: &Program, random: &mut Random) -> Option<Plan> {
    let arrays = program.body.stmts.iter().flat_map(|s| s.results.iter().copied());
    let mut with: Option<(Program, Plan)> = None;
    for a in arrays.filter(|a| !program.body.results.contains(a)) {
        let before = with.as_ref().map_or(program, |(program, _)| program);
        let rank = program.ty(a).rank;
        let found = (rank..rank + 3).find_map(|axes| {
            let schedule = [Schedule::random(axes, &mut |n| random.below(n))?, Schedule::row_major(axes)];
            schedule.into_iter().find_map(|schedule| {
                let scheduled = before.with_schedule(a, schedule.within(1).ok()?)?;
                plan(&scheduled).ok().map(|plan| (scheduled, plan))
            })
        });
        with = found.or(with);
    }
    with.map(|(_, plan)| plan)
}

#[test]
fn every_test_program_gives_the_same_bits_with_arrays_within_the_loops_of_their_readers() {
    if !has_llvm() {
        return;
    }
    let threads = [1, 3].map(|n| ThreadPool::new(n).unwrap());
    let (mut random, mut blocked, mut with_halo) = (Random(5), 0, 0);
    for (name, text) in programs() {
        let file = parse_test_file("program", &text).unwrap();
        let Some(plan) = with_all_within(&file.program, &mut random) else { continue };
        blocked += row_blockings(&plan, &plan.body);
        with_halo += halos(&plan, &plan.body);
        file.runs.iter().for_each(|run| compare(&name, &plan, &run.arrays().unwrap(), &threads));
    }
    println!("{blocked} row blockings, {with_halo} arrays with a halo");
    assert!(blocked > 40 && with_halo > 0, "{blocked} row blockings, {with_halo} arrays with a halo");
    assert_eq!(llvm::defects(), Vec::<String>::new());
}
