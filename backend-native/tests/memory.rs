//! A failed allocation of anything that grows with the data ends a run with an error, and the process goes on.
//!
//! Large allocations fail one at a time: the first one of a run, then only the second one, and so on. In debug builds
//! array memory does not come from the allocator; so child processes with little address space run the same programs,
//! too.

mod common;

use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::ir::Program;
use acc_core::{Error, Executor, RunLimits};
use backend_native::{Native, Options};
use common::{int, parse};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Allocations from this many bytes on may fail. Smaller ones do not grow with the data, or are a small part of what
/// does.
const LIMITED_BYTES: usize = 2 << 20;

/// How many large allocations succeed before one fails; negative: all succeed.
static ALLOWED: AtomicI64 = AtomicI64::new(-1);

struct Refusing;

impl Refusing {
    fn refuses(bytes: usize) -> bool {
        bytes >= LIMITED_BYTES && ALLOWED.load(Ordering::SeqCst) >= 0 && ALLOWED.fetch_sub(1, Ordering::SeqCst) == 0
    }
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract is the same.
        if Refusing::refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract is the same.
        if Refusing::refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the contract is the same.
        if Refusing::refuses(size) { std::ptr::null_mut() } else { unsafe { System.realloc(p, layout, size) } }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the contract is the same.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Programs for every kind of launch, over many `xs` and their number `n`.
const PROGRAMS: [(&str, &str); 10] = [
    ("elements", "r: [1]i64 = map(xs, f: |%x: i64| add(mul(%x, %x), 3i64)) yield r"),
    ("fold", "r: [0]i64 = fold(xs, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64) yield r"),
    ("scan", "r: [1]i64 = scanl(xs, f: |%x: i64, %y: i64| max(%x, %y), init: || 0i64) yield r"),
    ("scan from the right", "r: [1]i64 = scanr1(xs, f: |%x: i64, %y: i64| add(%x, %y)) yield r"),
    ("positions", "r: [1]i64 = argsort(xs) yield r"),
    ("sort", "p: [1]i64 = argsort(xs) r: [1]i64 = backpermute(xs, shape: || n[], index: |%i: i64| p[%i]) yield r"),
    ("sort by two keys", "k: [1](i64, i64) = map(xs, f: |%x: i64| (rem(%x, 7i64), %x)) p: [1]i64 = argsort(k) yield p"),
    (
        "few targets",
        "d: [1]i64 = generate(shape: || 100i64, f: |%i: i64| 0i64)
         r: [1]i64 = permute(xs, into: d, combine: |%x: i64, %y: i64| add(%x, %y),
           target: |%i: i64| (1u8, rem(%i, 100i64))) yield r",
    ),
    (
        "many targets",
        "d: [1]i64 = generate(shape: || n[], f: |%i: i64| 0i64)
         r: [1]i64 = permute(xs, into: d, combine: |%x: i64, %y: i64| sub(%y, %x),
           target: |%i: i64| (1u8, rem(mul(%i, 7919i64), n[]))) yield r",
    ),
    (
        "rows",
        "m: [2]i64 = reshape(xs, shape: || (quot(n[], 1024i64), 1024i64))
         r: [1]i64 = fold1(m, f: |%x: i64, %y: i64| max(%x, %y)) yield r",
    ),
];

fn programs() -> Vec<(&'static str, Arc<Program>)> {
    PROGRAMS
        .iter()
        .map(|(name, body)| (*name, parse(&format!("program(xs: [1]i64, n: [0]i64) {{ {body} }}"))))
        .collect()
}

fn arguments(n: i64) -> [ArrayData; 2] {
    let xs: Vec<i64> = (0..n).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64) >> 20).collect();
    [ArrayData::new([n as usize], ScalarType::I64.into(), [Column::from_vec(xs)]).unwrap(), int(n)]
}

/// An executor with an empty pool.
fn fresh() -> Native {
    Native::with(Options::new().threads(2).compile(backend_native::Compile::Never)).unwrap()
}

#[test]
fn refused_memory_is_an_error() {
    let args = arguments(1 << 20);
    for (name, program) in programs() {
        let want = fresh().run_untyped(&program, &args, &RunLimits::none()).unwrap();
        for allowed in 0.. {
            let native = fresh();
            native.prepare(&program).unwrap();
            ALLOWED.store(allowed, Ordering::SeqCst);
            let got = native.run_untyped(&program, &args, &RunLimits::none());
            let left = ALLOWED.swap(-1, Ordering::SeqCst);
            match got {
                // Some allocations are optional.
                Ok(got) => assert!(got == want, "{name} without allocation {allowed}"),
                Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{name}: {error}"),
            }
            if left >= 0 {
                break;
            }
        }
    }
}

/// Megabytes of address space that a child may add to what it has.
#[cfg(target_os = "linux")]
const CHILD: &str = "ACC_TEST_CHILD";

/// Limits this process to its current address space and so many megabytes.
#[cfg(target_os = "linux")]
fn confine(megabytes: u64) {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    let most = pages * 4096 + megabytes * (1 << 20);
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the system reads a value of the right type.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// A child process that runs one of the tests.
#[cfg(target_os = "linux")]
fn child(test: &str, megabytes: u64) -> String {
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, megabytes.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{megabytes} MB: {:?} {said}{}", out.status, String::from_utf8_lossy(&out.stderr));
    said
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_process_has_little_memory() {
    let Ok(more) = std::env::var(CHILD) else { return };
    let args = arguments(1 << 20);
    let (native, programs) = (fresh(), programs());
    programs.iter().for_each(|(_, program)| native.prepare(program).unwrap());
    confine(more.parse().unwrap());
    let mut done = 0;
    for (name, program) in &programs {
        match native.run_untyped(program, &args, &RunLimits::none()) {
            Ok(_) => done += 1,
            Err(Error::OutOfMemory { .. }) => {}
            Err(other) => panic!("{name}: {other}"),
        }
    }
    println!("\ndone {done}");
}

#[cfg(target_os = "linux")]
#[test]
fn little_memory_is_an_error() {
    let mut done = Vec::new();
    for more in [3, 13, 29, 200] {
        let said = child("a_child_process_has_little_memory", more);
        done.push(said.lines().find_map(|l| l.strip_prefix("done ")?.parse::<usize>().ok()).unwrap());
    }
    // With much memory all programs succeed.
    assert!(done[0] < PROGRAMS.len() && done[done.len() - 1] == PROGRAMS.len(), "{done:?}");
}

/// There is no memory for the stack of the compiler thread, and none for those of helpers.
#[cfg(target_os = "linux")]
#[test]
fn a_child_process_cannot_start_threads() {
    let Ok(more) = std::env::var(CHILD) else { return };
    let (_, program) = &programs()[1];
    confine(more.parse().unwrap());
    assert!(matches!(Native::with_threads(1000), Err(Error::Threads { .. })));
    // Twice, so that code is requested that no thread will provide.
    for native in [Native::compiled(), Native::compiled(), Native::new()] {
        let xs = ArrayData::new([3], ScalarType::I64.into(), [Column::from_vec(vec![1i64, 2, 3])]).unwrap();
        let got = native.run_untyped(program, &[xs, int(3)], &RunLimits::none()).unwrap();
        assert_eq!(got, [int(6)]);
    }
    println!("\nran");
}

#[cfg(target_os = "linux")]
#[test]
fn a_host_without_threads_runs_programs_on_its_own() {
    // A test is a thread, whose stack is allocated before.
    assert!(child("a_child_process_cannot_start_threads", 20).contains("ran"));
}
