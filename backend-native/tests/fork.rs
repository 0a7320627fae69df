//! Children of `fork` run programs, or return an error; none waits for threads that it does not have.
#![cfg(unix)]

mod common;

use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::{Executor, RunLimits};
use backend_native::{Native, Options};
use common::{ints, parse, reference};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One of many programs, with a compiled kernel, a sort and a sum.
fn program(k: u64) -> Arc<Program> {
    parse(&format!(
        "program(xs: [1]i64) {{
           a: [1]i64 = map(xs, f: |%x: i64| rem(mul(%x, {}i64), 1009i64))
           s: [1]i64 = scanl1(a, f: |%x: i64, %y: i64| add(%x, %y))
           yield s
         }}",
        k + 3
    ))
}

fn arguments() -> [ArrayData; 1] {
    [ints(&(0..60_000).collect::<Vec<i64>>())]
}

/// Runs a program in a child; whether the result is right.
fn runs(native: &Native, k: u64, args: &[ArrayData], want: &[ArrayData]) -> bool {
    native.run_untyped(&program(k), args, &RunLimits::none()).is_ok_and(|got| got == want)
}

/// Forks; the child's exit code tells the result of `work`.
fn fork(work: impl FnOnce() -> bool, exit: bool) -> libc::pid_t {
    // SAFETY: the child runs what this test is about, and ends.
    match unsafe { libc::fork() } {
        0 => {
            let code = i32::from(!work());
            if exit {
                std::process::exit(code);
            }
            // SAFETY: ends the process.
            unsafe { libc::_exit(code) }
        }
        child => child,
    }
}

/// The exit code of a child; none if it had to be killed.
fn status(child: libc::pid_t) -> Option<i32> {
    let begun = Instant::now();
    let mut status = 0;
    while begun.elapsed() < Duration::from_secs(30) {
        // SAFETY: a child of this process, and a valid pointer.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: a child that was not waited for yet, so that its process id is still its own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
    }
    None
}

#[test]
fn a_child_runs_programs_whatever_the_threads_of_its_parent_do() {
    let natives = [Native::new(), Native::compiled(), Native::with(Options::new().threads(3)).unwrap()];
    let args = arguments();
    let want: Vec<Vec<ArrayData>> = (0..8).map(|k| reference(&program(k), &args).unwrap()).collect();
    let (over, next) = (AtomicBool::new(false), AtomicU64::new(100));
    std::thread::scope(|s| {
        // Threads that prepare, compile and run all the time, so that any lock is held at some fork.
        for native in &natives {
            let (args, over, next) = (&args, &over, &next);
            s.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    native.run_untyped(&program(k), args, &RunLimits::none()).unwrap();
                }
            });
        }
        let mut wrong = Vec::new();
        for round in 0..40 {
            std::thread::sleep(Duration::from_micros(round * 370 % 5000));
            let (native, k) = (&natives[round as usize % natives.len()], round % 8);
            let child = fork(|| runs(native, k, &args, &want[k as usize]), round % 2 == 0);
            match status(child) {
                Some(0) => {}
                other => wrong.push((round, other)),
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(wrong.is_empty(), "{wrong:?}");
    });
}
