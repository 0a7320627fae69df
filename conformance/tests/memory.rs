//! A host loop does not grow in memory: neither many runs of one program, nor many programs. One test alone in its
//! process, for it measures the process.

use acc_core::prelude::*;
use acc_core::{Executor, RunLimits};
use conformance::executors;
use std::sync::Arc;

/// Runs of one program, and of programs that all differ; `MEMORY_SCALE` multiplies them.
const RUNS: usize = 10_000;
const PROGRAMS: usize = 1500;
/// How much may be left over: caches of the allocator, of libtorch's threads.
const MARGIN_BYTES: usize = 24 << 20;

/// The resident memory of the process, in bytes.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse::<usize>().ok().map(|pages| pages * 4096)
}

fn grows(what: &str, times: usize, mut step: impl FnMut(usize)) {
    // What is kept on purpose is there after a while: pools are filled, caches at their capacity.
    (0..times).for_each(&mut step);
    let before = resident();
    (times..2 * times).for_each(&mut step);
    if let (Some(before), Some(after)) = (before, resident()) {
        println!("{what}: {} kB, then {} kB", before >> 10, after >> 10);
        assert!(after < before + MARGIN_BYTES, "{what} grew from {before} to {after} bytes");
    }
}

#[test]
fn a_host_loop_does_not_grow() {
    let scale = std::env::var("MEMORY_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for executor in executors::all().iter().filter_map(|e| e.present()) {
        let run = |executor: &Arc<dyn Executor>, program: Acc<Vector<i64>>| {
            let built = program.program().unwrap();
            let got = executor.run_untyped(&built.program, &built.embedded, &RunLimits::none()).unwrap();
            got[0].element(2).unwrap()[0].bits as i64
        };
        let xs = Vector::from([1i64, 2, 3]);
        grows(&format!("runs of one program on {}", executor.name()), RUNS / 2 * scale, |k| {
            let ys = Vector::from(vec![k as i64; 3 + k % 50]);
            assert_eq!(run(executor, use_(&ys).map(|x| x * 2).scanl1(|a, b| a + b)), 6 * k as i64);
        });
        grows(&format!("programs on {}", executor.name()), PROGRAMS * scale, |k| {
            assert_eq!(run(executor, use_(&xs).map(|x| x * 2 + k as i64).reverse().map(|x| x + 1)), 3 + k as i64);
        });
    }
}
