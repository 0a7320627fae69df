//! Limits of a run.

use crate::data::{Column, ColumnOwner, ColumnSlice};
use crate::error::{Error, LimitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Limits of a run: memory, time, and a token to stop it from another thread.
///
/// Executors look at the clock and the token at least every 50 ms, also inside scalar loops.
///
/// ```
/// use acc_core::prelude::*;
/// use std::time::Duration;
/// let limits = RunLimits::none().max_bytes(1 << 20).timeout(Duration::from_secs(1));
/// let too_large = Interpreter::new().run_with(generate(1_000_000usize, |i| i), &limits);
/// assert!(matches!(too_large, Err(Error::Limit(_))));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunLimits {
    /// The most bytes that the arrays made by the run may take at one time, its results included. Its arguments count
    /// nothing, nor does an array that shares the memory of another.
    pub max_bytes: Option<u64>,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// A token that stops the run.
    pub cancel: Option<CancelToken>,
}

/// Stops a run from another thread. Clones share the state.
///
/// ```
/// use acc_core::prelude::*;
/// let token = CancelToken::new();
/// let limits = RunLimits::none().cancel(token.clone());
/// token.cancel();
/// let stopped = Interpreter::new().run_with(unit(1), &limits);
/// assert_eq!(stopped.unwrap_err(), Error::Limit(acc_core::LimitError::Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert!(!CancelToken::new().is_cancelled());
    /// ```
    pub fn new() -> CancelToken {
        CancelToken::default()
    }
    /// Asks every run that holds a clone to stop, those that begin later, too.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let token = CancelToken::new();
    /// let clone = token.clone();
    /// token.cancel();
    /// assert!(clone.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Whether [`cancel`](CancelToken::cancel) was called.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let token = CancelToken::new();
    /// assert!(!token.is_cancelled());
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl RunLimits {
    /// No limits.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// assert_eq!(Interpreter::new().run_with(unit(7), &RunLimits::none())?.value(), 7);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn none() -> RunLimits {
        RunLimits::default()
    }

    /// The same, with at most so many bytes of arrays at one time.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let limits = RunLimits::none().max_bytes(1000);
    /// assert!(Interpreter::new().run_with(fill(100, 0u8), &limits).is_ok());
    /// assert!(matches!(Interpreter::new().run_with(fill(2000, 0u8), &limits), Err(Error::Limit(_))));
    /// ```
    #[must_use]
    pub fn max_bytes(self, bytes: impl Into<Option<u64>>) -> RunLimits {
        RunLimits { max_bytes: bytes.into(), ..self }
    }

    /// The same, until a point in time.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use std::time::Instant;
    /// let limits = RunLimits::none().deadline(Instant::now());
    /// assert!(matches!(Interpreter::new().run_with(unit(1), &limits), Err(Error::Limit(_))));
    /// ```
    #[must_use]
    pub fn deadline(self, deadline: impl Into<Option<Instant>>) -> RunLimits {
        RunLimits { deadline: deadline.into(), ..self }
    }

    /// The same, for so long from now on.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use std::time::Duration;
    /// let limits = RunLimits::none().timeout(Duration::from_millis(20));
    /// let endless = unit(while_(0i64, |i| i.ge(0), |i| i * 1));
    /// assert_eq!(Interpreter::new().run_with(endless, &limits).unwrap_err(), Error::Limit(acc_core::LimitError::Deadline));
    /// ```
    #[must_use]
    pub fn timeout(self, time: Duration) -> RunLimits {
        self.deadline(Instant::now() + time)
    }

    /// The same, until a token is cancelled.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let token = CancelToken::new();
    /// let limits = RunLimits::none().cancel(token.clone());
    /// assert!(Interpreter::new().run_with(unit(1), &limits).is_ok());
    /// token.cancel();
    /// assert!(Interpreter::new().run_with(unit(1), &limits).is_err());
    /// ```
    #[must_use]
    pub fn cancel(self, token: impl Into<Option<CancelToken>>) -> RunLimits {
        RunLimits { cancel: token.into(), ..self }
    }

    /// An error if the deadline passed or the token was cancelled.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let token = CancelToken::new();
    /// let limits = RunLimits::none().cancel(token.clone());
    /// assert!(limits.check().is_ok());
    /// token.cancel();
    /// assert!(limits.check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Error::Limit(LimitError::Cancelled));
        }
        if self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Err(Error::Limit(LimitError::Deadline));
        }
        Ok(())
    }

    /// What counts the bytes of a run with these limits.
    pub fn meter(&self) -> Meter {
        Meter(self.max_bytes.map(|allowed| Arc::new(Held { allowed, bytes: AtomicU64::new(0) })))
    }
}

/// Counts the bytes that the arrays of one run take, where they are limited. Clones share the count.
#[derive(Clone, Debug)]
pub struct Meter(Option<Arc<Held>>);

#[derive(Debug)]
struct Held {
    allowed: u64,
    bytes: AtomicU64,
}

impl Meter {
    /// Whether bytes are limited.
    pub fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Counts `bytes` until the charge is dropped; an error if the run would then hold more than allowed.
    pub fn charge(&self, bytes: u64) -> Result<Charge, Error> {
        let Some(held) = &self.0 else { return Ok(Charge(None)) };
        let before = held.bytes.fetch_add(bytes, Ordering::Relaxed);
        let charge = Charge(Some((held.clone(), bytes)));
        let (asked, allowed) = (before.saturating_add(bytes), held.allowed);
        if asked > allowed { Err(Error::Limit(LimitError::Memory { asked, allowed })) } else { Ok(charge) }
    }
}

/// Bytes that count for a run while this lives.
#[derive(Debug)]
pub struct Charge(Option<(Arc<Held>, u64)>);

impl Charge {
    /// The column, charged for as long as it lives.
    pub(crate) fn of(self: &Arc<Charge>, column: Column) -> Column {
        match self.0 {
            Some(_) => Column::from_owner(Arc::new(Charged { column, _charge: self.clone() })),
            None => column,
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((held, bytes)) = &self.0 {
            held.bytes.fetch_sub(*bytes, Ordering::Relaxed);
        }
    }
}

struct Charged {
    column: Column,
    _charge: Arc<Charge>,
}

impl ColumnOwner for Charged {
    fn slice(&self) -> ColumnSlice<'_> {
        self.column.slice()
    }
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        self.column.owner().as_any()
    }
}
