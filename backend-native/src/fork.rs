//! Children of `fork`: processes with a copy of their parent's memory, but only the thread that called `fork`.
//!
//! A lock that another thread held remains locked in the child forever, and the parent's helper threads do not exist.
//! So a child runs programs on the calling thread with the tile executor, with its own memory pool and program cache,
//! and does not access anything that the parent's threads share.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is a child of one that used this executor.
static CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a child of one that used this executor.
pub(crate) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Registers the handler that marks children; called wherever this executor is first used.
pub(crate) fn watch() {
    #[cfg(unix)]
    {
        static WATCHED: AtomicBool = AtomicBool::new(false);
        extern "C" fn begin() {
            CHILD.store(true, Ordering::Relaxed);
        }
        if !WATCHED.swap(true, Ordering::Relaxed) {
            // SAFETY: a function without arguments that does not unwind and is async-signal-safe. If registration fails
            // for lack of memory, children behave as without it.
            unsafe { libc::pthread_atfork(None, None, Some(begin)) };
        }
    }
}
