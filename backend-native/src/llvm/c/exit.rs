//! The end of the process. The library takes its data down then, while a thread may still be compiling: the end waits
//! for it, and lets no other one in.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Gate {
    /// How many threads are in the library.
    inside: usize,
    /// Whether the process ends.
    closed: bool,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, closed: false });
static LEFT: Condvar = Condvar::new();

thread_local! {
    /// How deep this thread is in the library.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The longest that the end of the process waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stays in the library until it is dropped.
pub(super) struct Inside(());

/// Enters the library; when the process ends, the thread waits for the end.
pub(super) fn enter() -> Inside {
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    while gate.closed && DEPTH.get() == 0 {
        gate = LEFT.wait(gate).unwrap_or_else(PoisonError::into_inner);
    }
    go_in(gate)
}

/// Enters the library, unless the process ends.
pub(super) fn try_enter() -> Option<Inside> {
    let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    (!gate.closed || DEPTH.get() > 0).then(|| go_in(gate))
}

fn go_in(mut gate: MutexGuard<'_, Gate>) -> Inside {
    gate.inside += usize::from(DEPTH.get() == 0);
    DEPTH.set(DEPTH.get() + 1);
    Inside(())
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            GATE.lock().unwrap_or_else(PoisonError::into_inner).inside -= 1;
            LEFT.notify_all();
        }
    }
}

/// Lets the end of the process wait. What the library registers later for that end happens before the wait, so that
/// this is to be repeated when it may have.
pub(super) fn watch() {
    // SAFETY: a function without arguments that does not unwind. If there is no room for it, the end does not wait.
    unsafe { libc::atexit(close) };
}

extern "C" fn close() {
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    gate.closed = true;
    // The library itself may end the process.
    let own = usize::from(DEPTH.get() > 0);
    // Either all have left or patience has ended: the process ends in both cases.
    let _ = LEFT.wait_timeout_while(gate, PATIENCE, |gate| gate.inside > own);
}
