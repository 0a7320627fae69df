//! Kernels with randomly transformed loops yield the same bits as before.

use crate::kernel::Kernel;
use crate::llvm;
use crate::llvm::Variant;
use crate::prepare::Plan;
use crate::run::pool::thread_pool::ThreadPool;
use crate::run::testing::{evaluate, has_llvm, lowered, unsimplified};
use acc_core::RunLimits;
use acc_core::data::ArrayData;
use std::path::{Path, PathBuf};

/// A linear congruential generator (D. Knuth, MMIX).
pub(in crate::run) struct Random(pub u64);

impl Random {
    pub(in crate::run) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Applies random loop transformations to a kernel.
pub(in crate::run) fn shuffle(kernel: &mut Kernel, random: &mut Random) {
    for _ in 0..12 {
        let at = random.below(kernel.loops.len());
        // Illegal transformations have no effect.
        let _ = match random.below(3) {
            0 => kernel.tile(at, [2, 3, 4, 8, 16][random.below(5)]),
            1 => kernel.interchange(at),
            _ => kernel.unroll(at),
        };
    }
}

/// The number of kernels with transformed loops, after checking that results are the same.
fn compare(name: &str, plan: &mut Plan, runs: &[Vec<ArrayData>], random: &mut Random) -> usize {
    let threads = ThreadPool::new(3).unwrap();
    let wanted: Vec<_> = runs.iter().map(|args| evaluate(plan, args, &threads)).collect();
    for launch in plan.launches_mut() {
        shuffle(&mut launch.kernel, random);
        launch.code.machine = llvm::CodeCache::default();
    }
    for (args, want) in runs.iter().zip(&wanted) {
        let got = evaluate(plan, args, &threads);
        let kernels = || plan.launches().map(|l| l.kernel.to_string()).collect::<String>();
        assert_eq!(&got, want, "{name}\n{}", kernels());
    }
    let scheduled = plan.launches().filter(|l| l.kernel.is_scheduled());
    scheduled.filter(|l| l.code.machine.get(Variant::Scheduled, &l.kernel, Some(&RunLimits::none())).is_some()).count()
}

/// Compares a test file's program with and without random loop transformations.
fn random_orders(name: &str, text: &str, random: &mut Random) -> usize {
    let (mut plan, runs) = lowered(name, text);
    compare(name, &mut plan, &runs, random)
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, out),
            false => out.push(path),
        }
    }
}

/// The names and texts of the suite's programs, in order; some of those of control flow would not end without limits.
pub(in crate::run) fn programs() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/programs"), &mut paths);
    paths.retain(|p| p.extension().is_some_and(|e| e == "acc") && !p.to_string_lossy().contains("control"));
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_test_program_gives_the_same_bits_in_random_orders() {
    if !has_llvm() {
        return;
    }
    let mut random = Random(7);
    let mut scheduled = 0;
    for (name, text) in programs() {
        scheduled += random_orders(&name, &text, &mut random);
    }
    assert!(scheduled > 100, "{scheduled} kernels ran in an order of their own");
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

/// Programs with loop nests that transformations apply to.
const NESTS: [&str; 6] = [
    "program(a: [2]i32, b: [2]i32) {
       c: [3]i32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
         f: |%i: i64, %j: i64, %k: i64| add(a[%i, %k], b[%k, %j]))
       m: [2]i32 = fold(c, f: |%x: i32, %y: i32| min(%x, %y), init: || 100000i32)
       yield m
     }
     run { a = [37, 29] i32 lcg(1)  b = [29, 83] i32 lcg(2)  expect agree }
     run { a = [3, 1] i32 lcg(1)  b = [1, 5] i32 lcg(2)  expect agree }",
    "program(a: [2]f32, b: [2]f32) {
       c: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
         f: |%i: i64, %j: i64, %k: i64| sub(a[%i, %k], b[%k, %j]))
       m: [2]f32 = fold1(c, f: |%x: f32, %y: f32| add(mul(%x, 0.5f32), %y))
       yield m
     }
     run { a = [18, 21] f32 lcg(3)  b = [21, 70] f32 lcg(4)  expect agree }",
    "program(a: [3]i64) {
       t: [3]i64 = backpermute(a, shape: || (extent(a, 2), extent(a, 0), extent(a, 1)),
         index: |%i: i64, %j: i64, %k: i64| (%j, %k, %i))
       yield t
     }
     run { a = [33, 20, 9] i64 lcg(5)  expect agree }
     run { a = [2, 70, 3] i64 lcg(6)  expect agree }",
    "program(a: [2]f64) {
       s: [2]f64 = stencil(a, window: [3, 3], boundary: mirror,
         f: |%a: f64, %b: f64, %c: f64, %d: f64, %e: f64, %f: f64, %g: f64, %h: f64, %i: f64|
         add(add(%a, mul(%c, %e)), sub(%g, %i)))
       yield s
     }
     run { a = [41, 67] f64 lcg(7)  expect agree }
     run { a = [5, 4] f64 lcg(8)  expect agree }",
    "program(a: [1]u8, n: [0]i64) {
       m: [1](u8, bool) = imap(a, f: |%i: i64, %x: u8| (mul(%x, a[quot(%i, n[])]), lt(%x, 100u8)))
       yield m
     }
     run { a = [1000] u8 lcg(9)  n = [] i64 { 2 }  expect agree }
     run { a = [77] u8 lcg(9)  n = [] i64 { -1 }  expect agree }",
    "program(a: [2]bool) {
       t: [2]bool = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
       m: [1]bool = fold(t, f: |%x: bool, %y: bool| and(%x, %y), init: || true)
       yield t, m
     }
     run { a = [90, 35] bool lcg(10)  expect agree }",
];

#[test]
fn nests_give_the_same_bits_in_many_random_orders() {
    if !has_llvm() {
        return;
    }
    for (number, text) in NESTS.iter().enumerate() {
        let mut scheduled = 0;
        for seed in 0..25 {
            scheduled += random_orders(&format!("nest {number}, seed {seed}"), text, &mut Random(seed));
        }
        assert!(scheduled > 15, "nest {number}: {scheduled} times in an order of its own");
    }
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

/// Each copy of an unrolled loop around the lane loop has its own partial results.
#[test]
fn folds_go_on_inside_a_loop_that_is_written_out_around_lanes() {
    if !has_llvm() {
        return;
    }
    let text = "program(a: [2]i32) {
       m: [1]i32 = fold(a, f: |%x: i32, %y: i32| add(%x, %y), init: || 7i32)
       yield m
     }
     run { a = [50, 9] i32 lcg(1)  expect agree }";
    let (mut plan, runs) = lowered("fold", text);
    let threads = ThreadPool::new(1).unwrap();
    let want = evaluate(&plan, &runs[0], &threads).unwrap();
    for launch in plan.launches_mut() {
        let k = &mut launch.kernel;
        k.tile(0, 16).and_then(|()| k.tile(1, 4)).and_then(|()| k.tile(3, 2)).unwrap();
        (0..2).rev().try_for_each(|at| k.interchange(at + 1)).unwrap();
        (2..5).rev().try_for_each(|at| k.unroll(at)).unwrap();
        assert_eq!(
            k.loops.iter().map(|l| (l.axis, l.step, l.is_unrolled())).collect::<Vec<_>>(),
            [(0, 16, false), (1, 2, false), (0, 4, true), (0, 1, true), (1, 1, true)]
        );
        launch.code.machine = llvm::CodeCache::default();
        assert!(launch.code.machine.get(Variant::Scheduled, &launch.kernel, Some(&RunLimits::none())).is_some());
    }
    assert_eq!(evaluate(&plan, &runs[0], &threads).unwrap(), want);
}

/// Nested tiles that are unrolled: the remainder of an axis is computed point by point, and nothing beyond it.
#[test]
fn what_is_less_than_a_tile_stays_within_its_row() {
    if !has_llvm() {
        return;
    }
    let text = "program() {
       m: [2]i64 = generate(shape: || (5i64, 21i64), f: |%i: i64, %j: i64| add(mul(%i, 1000i64), %j))
       yield m
     }";
    let mut plan = unsimplified("tiles", text);
    let threads = ThreadPool::new(1).unwrap();
    let want = evaluate(&plan, &[], &threads).unwrap();
    for launch in plan.launches_mut() {
        let k = &mut launch.kernel;
        k.tile(1, 8).and_then(|()| k.tile(1, 16)).unwrap();
        // Rows inside the tiles of columns, so that the remainder of columns follows full rows.
        k.interchange(0).and_then(|()| k.tile(1, 4)).unwrap();
        (2..5).rev().try_for_each(|at| k.unroll(at)).unwrap();
        assert_eq!(
            k.loops.iter().map(|l| (l.axis, l.step)).collect::<Vec<_>>(),
            [(1, 16), (0, 4), (0, 1), (1, 8), (1, 1)]
        );
        launch.code.machine = llvm::CodeCache::default();
    }
    assert_eq!(evaluate(&plan, &[], &threads).unwrap(), want);
}
