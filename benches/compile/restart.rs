//! What compilation keeps: memory over many programs, and code from one process to the next.

use acc_core::prelude::*;
use backend_native::{Native, llvm};
use std::time::Instant;

/// The resident memory of the process, in mebibytes; none where the system does not tell.
fn resident() -> Option<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096.0 / f64::from(1 << 20))
}

/// Runs a program unlike any other number's, and checks what it gives.
fn run(native: &Native, xs: &Vector<i64>, k: i64) -> Result<(), String> {
    let got = native.run(use_(xs).map(|x| x * 2 + k).reverse().map(|x| x + 1)).map_err(|e| e.to_string())?;
    if got.to_vec() == [7 + k, 5 + k, 3 + k] { Ok(()) } else { Err(format!("program {k} gives {got:?}")) }
}

/// Runs so many programs that all differ, and prints how the memory grows.
pub fn memory(programs: usize) -> Result<(), String> {
    const MEASUREMENTS: usize = 5;
    let (native, xs) = (Native::compiled(), Vector::from([1i64, 2, 3]));
    let start = Instant::now();
    let mut seen = Vec::new();
    for k in 0..programs {
        run(&native, &xs, k as i64)?;
        if (k + 1) % programs.div_ceil(MEASUREMENTS) == 0 || k + 1 == programs {
            let memory = resident().map_or("unknown".to_string(), |m| format!("{m:.0}"));
            seen.push(format!("{memory} after {}", k + 1));
        }
    }
    let each = 1e3 * start.elapsed().as_secs_f64() / programs.max(1) as f64;
    println!("Resident memory over programs that all differ, in MiB: {} ({each:.1} ms each).", seen.join(", "));
    Ok(())
}

/// Runs some programs, and prints what of them was compiled.
pub fn start() -> Result<(), String> {
    let (native, xs) = (Native::compiled(), Vector::from([1i64, 2, 3]));
    let start = Instant::now();
    for k in 0..20 {
        run(&native, &xs, k)?;
    }
    let (time, counts) = (1e3 * start.elapsed().as_secs_f64(), llvm::counts());
    println!(
        "20 programs run in {time:.0} ms, {} kernels compiled, {} read from the disk.",
        counts.compiled, counts.read
    );
    Ok(())
}
