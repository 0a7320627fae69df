//! The end of the process. The library takes its data down then, while a thread may still be in it: the end waits for that
//! thread, and lets no other one in.
//!
//! What is registered for the end of a process happens in reverse order, and the library registers while it is loaded and
//! whenever it first needs some of its data: there is always a moment when its own end would come before a wait that is
//! registered with `atexit`. But all of these come after what the ending thread has registered for its *own* end. That is
//! nearly always the main thread, which waits for all that are in the library. Other threads that use code of the library
//! wait, too, but only while it is [settling](settle): they cannot tell whether the process ends or they do. `atexit` is for
//! the rest of the time, and for systems on which main threads end otherwise. A thread that never used this crate and ends
//! the process while the library settles, some milliseconds in all, is not held up.

use crate::fork;
use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Gate {
    /// How many threads are in the library.
    inside: usize,
    /// How many threads are where the library registers for the end of the process.
    settling: usize,
    /// Whether the process ends.
    closed: bool,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, settling: 0, closed: false });
static LEFT: Condvar = Condvar::new();

thread_local! {
    /// How deep this thread is in the library.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Dropped when this thread ends.
    static END: End = const { End };
}

/// The longest that the end of the process waits.
const MAX_EXIT_WAIT: Duration = Duration::from_secs(10);

/// Stays in the library until it is dropped.
pub(super) struct Inside(());

/// Enters the library; an error if the process ends, or is a child without the threads that were in the library.
pub(super) fn enter() -> Result<Inside, String> {
    if fork::is_child() {
        return Err("the process is a fork of one that uses LLVM".to_string());
    }
    let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    if gate.closed && DEPTH.get() == 0 {
        return Err("the process ends".to_string());
    }
    Ok(go_in(gate))
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

/// Until this is dropped, the library may register for the end of the process.
pub(super) struct Settling(());

/// What follows loads the library, or uses it for one of the first times: then it registers for the end of the process.
pub(super) fn settle() -> Settling {
    GATE.lock().unwrap_or_else(PoisonError::into_inner).settling += 1;
    Settling(())
}

/// As [`settle`], for the use with this number, from 0: the library makes data of its own when they are first needed, more
/// and more rarely.
pub(super) fn settle_in_use(number: u64) -> Option<Settling> {
    (number + 1).is_power_of_two().then(settle)
}

impl Drop for Settling {
    fn drop(&mut self) {
        watch();
        GATE.lock().unwrap_or_else(PoisonError::into_inner).settling -= 1;
        LEFT.notify_all();
    }
}

/// Lets the end of the process wait. What the library registers later for that end happens before the wait, so that
/// this is to be repeated when it may have.
pub(super) fn watch() {
    // SAFETY: a function without arguments that does not unwind. If there is no room for it, the end does not wait.
    unsafe { libc::atexit(close) };
}

extern "C" fn close() {
    if fork::is_child() {
        // Nobody is in the library, whatever was counted before.
        return;
    }
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    gate.closed = true;
    // The library itself may end the process.
    let own = DEPTH.try_with(|depth| usize::from(depth.get() > 0)).unwrap_or(0);
    // Either all have left or patience has ended: the process ends in both cases.
    let _ = LEFT.wait_timeout_while(gate, MAX_EXIT_WAIT, |gate| gate.inside > own);
}

/// What lives as long as a thread.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        if is_main_thread() {
            close();
        } else if !fork::is_child() && DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
            let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
            // Whether it has settled or patience has ended, this thread ends.
            let _ = LEFT.wait_timeout_while(gate, MAX_EXIT_WAIT, |gate| gate.settling > 0);
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_main_thread() -> bool {
    // SAFETY: neither has preconditions.
    unsafe { libc::gettid() == libc::getpid() }
}

#[cfg(target_vendor = "apple")]
fn is_main_thread() -> bool {
    // SAFETY: it has no preconditions.
    unsafe { libc::pthread_main_np() != 0 }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn is_main_thread() -> bool {
    false
}

/// Lets this thread wait as it ends.
pub(crate) extern "C" fn watch_thread() {
    // A thread that has dropped what lives as long as it is ending already.
    let _ = END.try_with(|_| ());
}

/// The main thread may be one that never calls this crate, so that it is told to wait before it begins.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds addresses of functions of this type, which are called when the program is loaded.
#[unsafe(link_section = ".init_array")]
static WHEN_LOADED: extern "C" fn() = watch_thread;
