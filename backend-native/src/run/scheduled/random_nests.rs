//! Schedules of the program's: kernels with random legal ones yield the same bits as each other, by machine code on any number
//! of threads and over tiles.

use super::tests::{Random, programs};
use crate::Compile;
use crate::kernel::{self, AxisKind, Kernel};
use crate::llvm;
use crate::llvm::Variant;
use crate::lower::{self, Collapsed};
use crate::prepare::{self, KernelCode, Launch, Plan};
use crate::run::pool::thread_pool::ThreadPool;
use crate::run::testing::{evaluate, evaluate_with, has_llvm, lowered};
use acc_core::RunLimits;
use acc_core::data::ArrayData;
use acc_core::ir::Schedule;

/// A random schedule that a kernel can have; row-major if none is found.
fn random_schedule(kernel: &Kernel, random: &mut Random) -> Schedule {
    let axes = kernel.axes.len();
    let tries = (0..40).find_map(|_| {
        let schedule = Schedule::random(axes, &mut |n| random.below(n))?;
        kernel.accepts(&schedule).ok().map(|()| schedule)
    });
    tries.unwrap_or_else(|| Schedule::row_major(axes))
}

/// The launch with axes as one, if the schedule of a kernel says so.
fn collapsed(launch: &Launch, kernel: &Kernel, schedule: &Schedule) -> Option<Collapsed<KernelCode>> {
    if schedule.collapsed().is_empty() {
        return None;
    }
    let (kernel, pairs) = kernel.collapsed(schedule, launch.over);
    kernel::verify(&kernel).unwrap_or_else(|message| panic!("{message}\n{kernel}"));
    let of = Collapsed { launch: lower::alone(launch.over, kernel, launch.checks), pairs, schedule: schedule.clone() };
    prepare::collapsed(of, &RunLimits::none()).ok()
}

/// Gives each kernel that may have one a random schedule, or the row-major one; the number of those that are not row-major.
fn reschedule(plan: &mut Plan, mut random: Option<&mut Random>) -> usize {
    let mut count = 0;
    for launch in plan.launches_mut().filter(|launch| !launch.kernel.axes.is_empty()) {
        // What a kernel with a schedule never has.
        (launch.packed, launch.unguarded) = (None, None);
        let row_major = Schedule::row_major(launch.kernel.axes.len());
        let schedule =
            random.as_mut().map_or_else(|| row_major.clone(), |random| random_schedule(&launch.kernel, random));
        let Ok(kernel) = launch.kernel.clone().with_schedule(&schedule) else { continue };
        let collapsed = collapsed(launch, &kernel, &schedule);
        let supported = |kernel| llvm::unsupported_loops(kernel).is_none();
        if supported(&kernel) && collapsed.as_ref().is_none_or(|c| supported(&c.launch.kernel)) {
            launch.kernel = kernel;
            launch.collapsed = collapsed.map(Box::new);
            launch.code.machine = llvm::CodeCache::default();
            count += usize::from(schedule != row_major);
        }
    }
    count
}

/// Compares random schedules with the row-major one.
fn compare(name: &str, (mut plan, runs): (Plan, Vec<Vec<ArrayData>>), times: usize, random: &mut Random) -> usize {
    let threads = [1, 2, 7].map(|n| ThreadPool::new(n).unwrap());
    reschedule(&mut plan, None);
    let on_tiles = |plan: &Plan, args: &[ArrayData]| evaluate_with(plan, args, &threads[1], Compile::Never);
    let wanted: Vec<_> = runs.iter().map(|args| on_tiles(&plan, args)).collect();
    let mut count = 0;
    for _ in 0..times {
        let scheduled = reschedule(&mut plan, Some(random));
        count += scheduled;
        if scheduled == 0 {
            continue;
        }
        for (args, want) in runs.iter().zip(&wanted) {
            let all = |l: &Launch| {
                format!("{}{}", l.kernel, l.collapsed.as_ref().map_or(String::new(), |c| c.launch.kernel.to_string()))
            };
            let kernels = || plan.launches().map(all).collect::<String>();
            let pool = &threads[random.below(threads.len())];
            assert_eq!(&evaluate(&plan, args, pool), want, "{name}, {} threads\n{}", pool.count(), kernels());
            assert_eq!(&on_tiles(&plan, args), want, "{name}, over tiles\n{}", kernels());
        }
    }
    count
}

/// Schedules of each program of the suite; the variable `SCHEDULES` says another number.
fn schedules_per_program() -> usize {
    std::env::var("SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[test]
fn every_test_program_gives_the_same_bits_by_random_schedules() {
    if !has_llvm() {
        return;
    }
    let (mut random, times) = (Random(11), schedules_per_program());
    let (mut programs_run, mut scheduled) = (0, 0);
    for (name, text) in programs() {
        programs_run += 1;
        scheduled += compare(&name, lowered("program", &text), times, &mut random);
    }
    println!("{programs_run} programs, {times} times: {scheduled} kernels had a schedule of their own");
    assert!(scheduled > 300 * times, "{scheduled} kernels had a schedule of their own");
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

/// Nests with extents above the sizes at which unscheduled folds are grouped otherwise: columns, slices, blocks of terms.
const LARGE_NESTS: [&str; 5] = [
    "program(a: [2]f32) {
       t: [2]f32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
       s: [1]f32 = fold(t, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
       yield s
     }
     run { a = [5000, 64] f32 lcg(1)  expect agree }
     run { a = [3, 700] f32 lcg(1)  expect agree }",
    "program(a: [2]f64) {
       s: [1]f64 = fold(a, f: |%x: f64, %y: f64| add(%x, %y), init: || 1f64)
       yield s
     }
     run { a = [70, 3000] f64 lcg(2)  expect agree }",
    "program(a: [2]f32, b: [2]f32) {
       c: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
         f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
       m: [2]f32 = fold(c, f: |%x: f32, %y: f32| add(%x, %y), init: || 0f32)
       yield m
     }
     run { a = [21, 600] f32 lcg(3)  b = [600, 35] f32 lcg(4)  expect agree }
     run { a = [5, 9000] f32 lcg(3)  b = [9000, 7] f32 lcg(4)  expect agree }",
    "program(a: [2]f32, w: [2]f32) {
       x: [4]f32 = generate(shape: || (sub(extent(a, 0), 4i64), sub(extent(a, 1), 4i64), 5i64, 5i64),
         f: |%i: i64, %j: i64, %k: i64, %l: i64| mul(a[add(%i, %k), add(%j, %l)], w[%k, %l]))
       rows: [3]f32 = fold1(x, f: |%x: f32, %y: f32| add(%x, %y))
       sums: [2]f32 = fold1(rows, f: |%x: f32, %y: f32| add(%x, %y))
       yield sums
     }
     run { a = [70, 83] f32 lcg(5)  w = [5, 5] f32 lcg(6)  expect agree }",
    "program(a: [3]i32) {
       rows: [2]i32 = fold1(a, f: |%x: i32, %y: i32| max(%x, %y))
       all: [1]i32 = fold1(rows, f: |%x: i32, %y: i32| max(%x, %y))
       yield all
     }
     run { a = [40, 300, 30] i32 lcg(7)  expect agree }",
];

#[test]
fn large_nests_give_the_same_bits_by_random_schedules() {
    if !has_llvm() {
        return;
    }
    let mut random = Random(3);
    for (number, text) in LARGE_NESTS.iter().enumerate() {
        let count = compare(&format!("nest {number}"), lowered("nest", text), 15, &mut random);
        assert!(count >= 10, "nest {number}: {count} schedules");
    }
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

/// Products and exact folds have the same bits with a schedule as without.
#[test]
fn schedules_change_no_bit_of_products_and_exact_folds() {
    if !has_llvm() {
        return;
    }
    let threads = ThreadPool::new(2).unwrap();
    for text in [LARGE_NESTS[2], LARGE_NESTS[4]] {
        let (mut plan, runs) = lowered("nest", text);
        let wanted: Vec<_> = runs.iter().map(|args| evaluate(&plan, args, &threads)).collect();
        let mut scheduled = 0;
        for seed in 0..8 {
            scheduled += reschedule(&mut plan, Some(&mut Random(seed)));
            for (args, want) in runs.iter().zip(&wanted) {
                assert_eq!(&evaluate(&plan, args, &threads), want, "seed {seed}");
            }
        }
        assert!(scheduled > 4, "{scheduled} schedules");
    }
}

/// A schedule of threads is followed by machine code, not by tiles.
#[test]
fn machine_code_follows_schedules() {
    if !has_llvm() {
        return;
    }
    let (mut plan, _) = lowered("nest", LARGE_NESTS[2]);
    assert!(reschedule(&mut plan, Some(&mut Random(5))) > 0);
    let launch = plan.launches().next().unwrap();
    assert!(launch.kernel.axes.contains(&AxisKind::Reduction));
    assert!(launch.code.machine.get(Variant::Scheduled, &launch.kernel, Some(&RunLimits::none())).is_some());
}
