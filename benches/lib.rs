//! Benchmarks of every executor: `make bench`.
#![forbid(unsafe_code)]

use acc_core::{Error, Executor, RunLimits};
use conformance::tour::{Example, Input, examples};

/// The programs that are timed: one of each kind.
pub const PROGRAMS: &[&str] = &["dot", "sobel", "mandelbrot", "matmul", "kmeans", "segmented_sums", "black_scholes"];

/// The programs to time, with their arguments.
pub fn programs() -> Result<Vec<Example>, String> {
    let (image, points) = Input::shipped();
    let input = Input::read(&image, &points)?;
    let all = examples(&input).map_err(|e| e.to_string())?;
    Ok(all.into_iter().filter(|e| PROGRAMS.contains(&e.name)).collect())
}

/// Runs a program on its arguments; compiles it the first time.
pub fn run(e: &Example, executor: &dyn Executor) -> Result<(), Error> {
    executor.run_untyped(&e.program, &e.args, &RunLimits::none()).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_program_is_there_and_runs() {
        let programs = super::programs().expect("the shipped input is read");
        assert_eq!(programs.len(), super::PROGRAMS.len());
        for r in conformance::executors::all() {
            let Some(executor) = r.present() else { continue };
            for e in &programs {
                super::run(e, executor.as_ref()).unwrap_or_else(|m| panic!("{} on {}: {m}", e.name, r.name));
            }
        }
    }
}
