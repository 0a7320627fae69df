//! A handful of the tour's programs on every executor, after compilation and warm-up.

use conformance::tour::{Input, examples};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::time::Duration;

/// One program of each kind.
const PROGRAMS: &[&str] = &["dot", "sobel", "mandelbrot", "matmul", "kmeans", "segmented_sums", "black_scholes"];

fn programs(c: &mut Criterion) {
    let (image, points) = Input::shipped();
    let input = Input::read(&image, &points).unwrap_or_else(|e| panic!("{e}"));
    let executors = conformance::executors::all();
    for e in examples(&input).unwrap_or_else(|e| panic!("{e}")) {
        if !PROGRAMS.contains(&e.name) {
            continue;
        }
        let mut group = c.benchmark_group(e.name);
        // The interpreter is slow, and there are many to time.
        group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
        for r in &executors {
            let Some(executor) = r.present() else { continue };
            group.bench_with_input(BenchmarkId::from_parameter(r.name), &e, |b, e| {
                b.iter(|| {
                    executor
                        .run_untyped(&e.program, &e.args, &acc_core::RunLimits::none())
                        .unwrap_or_else(|m| panic!("{m}"))
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, programs);
criterion_main!(benches);
