//! Children of `fork`: processes that have the memory of their parent, and of its threads only the one that called `fork`.
//!
//! A lock that another thread held stays locked in the child for good, and helpers that the parent had do not come. So a
//! child runs programs on the calling thread and over tiles, with memory and a cache of its own, and touches nothing
//! that the parent's threads share.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process is a child of one that this executor was used in.
static CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is a child of one that this executor was used in.
pub(crate) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Lets children know that they are; called wherever this executor begins to be used.
pub(crate) fn watch() {
    #[cfg(unix)]
    {
        static WATCHED: AtomicBool = AtomicBool::new(false);
        extern "C" fn begin() {
            CHILD.store(true, Ordering::Relaxed);
        }
        if !WATCHED.swap(true, Ordering::Relaxed) {
            // SAFETY: a function without arguments that does not unwind, and does nothing that a child must not do. Where
            // there is no memory for it, children are as without it.
            unsafe { libc::pthread_atfork(None, None, Some(begin)) };
        }
    }
}
