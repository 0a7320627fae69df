//! A value that is set once and can be waited for.

use acc_core::RunLimits;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Set once, by any thread; waiting for it respects the limits of a run.
#[derive(Debug)]
pub(super) struct OneShot<T> {
    value: OnceLock<T>,
    waiting: Mutex<()>,
    come: Condvar,
}

/// How often a waiting thread polls the run's limits.
const LIMIT_POLL_INTERVAL: Duration = Duration::from_millis(10);

impl<T> Default for OneShot<T> {
    fn default() -> OneShot<T> {
        OneShot::new()
    }
}

impl<T> OneShot<T> {
    pub(super) const fn new() -> OneShot<T> {
        OneShot { value: OnceLock::new(), waiting: Mutex::new(()), come: Condvar::new() }
    }

    /// The value, if it is set.
    pub(super) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, computed by this thread unless another one has begun to.
    pub(super) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let value = self.value.get_or_init(make);
        self.tell();
        value
    }

    /// Sets the value, unless it is set.
    pub(super) fn set(&self, value: T) {
        // The first value wins.
        let _ = self.value.set(value);
        self.tell();
    }

    /// Waits for the value, as long as the limits allow; none if one of them was reached.
    pub(super) fn wait(&self, limits: &RunLimits) -> Option<&T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(value) = self.value.get() {
                return Some(value);
            }
            limits.check().ok()?;
            waiting = self.come.wait_timeout(waiting, LIMIT_POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tell(&self) {
        // Synchronises with a thread between its check of the value and its wait.
        drop(self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.come.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_value_is_waited_for_within_limits() {
        let later = OneShot::new();
        std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                later.set(1);
                later.set(2);
            });
            assert_eq!(later.wait(&RunLimits::none()), Some(&1));
        });
        let never = OneShot::<u8>::new();
        let begun = Instant::now();
        let deadline = Some(begun + Duration::from_millis(30));
        assert_eq!(never.wait(&RunLimits::none().deadline(deadline)), None);
        let cancel = acc_core::CancelToken::new();
        cancel.cancel();
        assert_eq!(never.wait(&RunLimits::none().cancel(cancel)), None);
        assert!(begun.elapsed() >= Duration::from_millis(30));
    }
}
