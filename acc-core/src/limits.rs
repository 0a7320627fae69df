//! Limits of a run.

use crate::error::{Error, LimitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Limits of a run: memory, time, and a token to stop it from another thread.
///
/// Executors look at the clock and the token at least every 50 ms, also inside scalar loops.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// The most bytes that one array of the run may take.
    pub max_array_bytes: Option<u64>,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// A token that stops the run.
    pub cancel: Option<CancelToken>,
}

/// Stops a run from another thread. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }
    /// Asks every run that holds a clone to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Whether [`cancel`](CancelToken::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl RunLimits {
    /// No limits.
    pub fn none() -> RunLimits {
        RunLimits::default()
    }

    /// An error if the deadline passed or the token was cancelled.
    pub fn check(&self) -> Result<(), Error> {
        if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Error::Limit(LimitError::Cancelled));
        }
        if self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Err(Error::Limit(LimitError::Deadline));
        }
        Ok(())
    }

    /// An error if an array of `asked` bytes is more than allowed.
    pub fn check_bytes(&self, asked: u64) -> Result<(), Error> {
        match self.max_array_bytes {
            Some(allowed) if asked > allowed => Err(Error::Limit(LimitError::Memory { asked, allowed })),
            _ => Ok(()),
        }
    }
}
