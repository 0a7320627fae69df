//! The process may end at any moment of a run in the background: while LLVM is loaded, while it compiles, before and
//! after.
//!
//! This is a program of its own: as a child it runs something on another thread and ends, with an exit code that shows
//! that it ended as intended; otherwise it starts children that end after different times.

mod common;

use acc_core::{Executor, RunLimits};
use backend_native::Native;
use common::{ints, parse};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

/// How a child ends, and after how many microseconds; not set in the parent.
const CHILD: &str = "ACC_TEST_CHILD";
/// The exit code of a child.
const CODE: u8 = 7;
/// The longest that a child may take.
const PATIENCE: Duration = Duration::from_secs(8);

fn main() -> ExitCode {
    if let Ok(how) = std::env::var(CHILD) {
        return child(&how);
    }
    // More for those who look for rare crashes.
    let rounds = std::env::var("ACC_TEST_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let failures = parent(rounds);
    failures.iter().for_each(|f| println!("{f}"));
    println!("{} of {} ends failed", failures.len(), 4 * rounds);
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs programs on another thread, and ends before these do.
fn child(how: &str) -> ExitCode {
    let (how, wait) = how.split_once(' ').unwrap();
    std::thread::spawn(|| {
        let native = Native::compiled();
        for k in 0.. {
            let program = parse(&format!(
                "program(xs: [1]i64) {{
                   a: [1]f64 = map(xs, f: |%x: i64| sin(exp(mul(cast(%x, f64), {}.5f64))))
                   yield a
                 }}",
                k % 40
            ));
            native.run_untyped(&program, &[ints(&[1, 2, 3])], &RunLimits::none()).unwrap();
        }
    });
    std::thread::sleep(Duration::from_micros(wait.parse().unwrap()));
    match how {
        "return" => ExitCode::from(CODE),
        _ => std::process::exit(i32::from(CODE)),
    }
}

/// Starts children of each kind; returns failures.
fn parent(rounds: u64) -> Vec<String> {
    let temporary = std::env::temp_dir().join(format!("acc-process-end-{}", std::process::id()));
    let mut failures = Vec::new();
    for round in 0..rounds {
        for (how, cold) in [("return", true), ("exit", true), ("return", false), ("exit", false)] {
            // Most of these times fall into the loading of LLVM, some into compilation.
            let wait = round * 200_000 / rounds + u64::from(cold) * 777;
            let cache = temporary.join(if cold { format!("{round}-{how}") } else { "warm".to_string() });
            let child = Command::new(std::env::current_exe().unwrap())
                .env(CHILD, format!("{how} {wait}"))
                .env("ACC_CACHE", &cache)
                .spawn()
                .unwrap();
            if let Err(why) = ended(child) {
                failures.push(format!("{how} after {wait} µs, cold {cold}: {why}"));
            }
        }
    }
    // Does not exist where no LLVM is found.
    let _ = std::fs::remove_dir_all(temporary);
    failures
}

/// Waits for a child, which is killed if it takes too long.
fn ended(mut child: Child) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return if status.code() == Some(i32::from(CODE)) { Ok(()) } else { Err(status.to_string()) };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    Err(format!("still there after {PATIENCE:?}"))
}
