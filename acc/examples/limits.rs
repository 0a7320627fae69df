//! Limits of a run: memory, time, and a token that stops it from another thread.
//!
//! ```text
//! stopped: 8000000000 bytes of array memory asked for, 1000000 allowed
//! stopped: the deadline passed
//! stopped: the run was cancelled
//! ```

use acc_array::prelude::*;
use std::time::{Duration, Instant};

/// A loop that does not end.
fn forever() -> Acc<Scalar<i64>> {
    unit(1i64).map(|x| while_(x, |x| x.ne(0), |x| x * 3))
}

fn main() -> Result<(), Error> {
    let native = Native::new();

    let limits = RunLimits::none().max_bytes(1_000_000);
    let large = generate(1_000_000_000, |i| i);
    println!("{}", native.run_with(large, &limits).map(drop).unwrap_err());

    let limits = RunLimits::none().deadline(Instant::now() + Duration::from_millis(50));
    println!("{}", native.run_with(forever(), &limits).map(drop).unwrap_err());

    let cancel = CancelToken::new();
    let limits = RunLimits::none().cancel(cancel.clone());
    let running = native.run_async_with(forever(), &limits)?;
    cancel.cancel();
    println!("{}", running.wait().map(drop).unwrap_err());
    Ok(())
}
