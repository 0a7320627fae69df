//! Delays the end of the process while a thread is inside LLVM, whose global data is destroyed then, and `fork` while
//! the library registers exit handlers.
//!
//! Exit handlers run in reverse order of registration. The library registers handlers while it is loaded, and whenever
//! it first needs some of its data, so that a handler registered with `atexit` may run after some of its. But the
//! destructors of a thread's local data run before all of them. So the main thread, which nearly always ends the
//! process, waits in such a destructor until no thread is inside the library. Other threads that used the library wait
//! in theirs, too, but only while it is [settling](settle), since they cannot tell whether the process ends or only
//! they do. A handler of `atexit` covers the rest of the time, and systems on which main threads end otherwise. A
//! thread that never used this crate and ends the process while the library settles, some milliseconds in all, is not
//! delayed.
//!
//! The C library registers handlers under a lock that it does not release in a child of `fork`: a child of a process in
//! which another thread was registering one would wait forever when it ends. So `fork` waits until the library has
//! [settled](settle), and the library does not begin to settle during a `fork`.

use crate::fork;
use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Gate {
    /// How many threads are inside the library.
    inside: usize,
    /// How many threads may be registering exit handlers of the library.
    settling: usize,
    /// How many threads are in `fork`.
    forking: usize,
    /// Whether the process is ending.
    closed: bool,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, settling: 0, forking: 0, closed: false });
/// Notified when any of the counts has become smaller.
static LEFT: Condvar = Condvar::new();

thread_local! {
    /// The nesting depth of this thread's entries into the library.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Dropped when this thread ends.
    static END: End = const { End };
}

/// The longest delay of the end of the process, and of `fork`.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The thread is inside the library until this is dropped.
pub(super) struct Inside(());

/// Enters the library; an error if the process is ending, or is a forked child, in which threads of the parent are
/// missing.
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

/// While this exists, the library may register exit handlers.
pub(super) struct Settling(());

/// To be held around loading the library, and its first uses, which register exit handlers.
pub(super) fn settle() -> Settling {
    hold_forks_back();
    let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut gate, _) =
        LEFT.wait_timeout_while(gate, MAX_WAIT, |gate| gate.forking > 0).unwrap_or_else(PoisonError::into_inner);
    gate.settling += 1;
    Settling(())
}

/// Registers the handlers around `fork`.
fn hold_forks_back() {
    #[cfg(unix)]
    {
        extern "C" fn before() {
            let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
            // What this thread is settling itself would never end.
            let inside = DEPTH.try_with(Cell::get).unwrap_or(0) > 0;
            let settling = |gate: &mut Gate| gate.settling > 0 && !inside;
            let (mut gate, _) =
                LEFT.wait_timeout_while(gate, MAX_WAIT, settling).unwrap_or_else(PoisonError::into_inner);
            gate.forking += 1;
        }
        extern "C" fn after() {
            GATE.lock().unwrap_or_else(PoisonError::into_inner).forking -= 1;
            LEFT.notify_all();
        }
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: functions without arguments that do not unwind. If registration fails for lack of memory, `fork` does
        // not wait.
        ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(Some(before), Some(after), None) });
    }
}

/// As [`settle`], for use number `number`, from 0: the library creates global data on first use, more and more rarely.
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

/// Registers the exit handler that waits. To be repeated whenever the library may have registered later ones, which
/// would run before it.
pub(super) fn watch() {
    // SAFETY: a function without arguments that does not unwind. If there is no room for it, the end does not wait.
    unsafe { libc::atexit(close) };
}

extern "C" fn close() {
    if fork::is_child() {
        // Whatever was counted, no thread of a forked child is in the library.
        return;
    }
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    gate.closed = true;
    // The library itself may be ending the process.
    let own = DEPTH.try_with(|depth| usize::from(depth.get() > 0)).unwrap_or(0);
    // The process ends in both cases, whether all have left or time is up.
    let _ = LEFT.wait_timeout_while(gate, MAX_WAIT, |gate| gate.inside > own);
}

/// A thread-local value whose destructor waits.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        if is_main_thread() {
            close();
        } else if !fork::is_child() && DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
            let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
            // The thread ends in both cases, whether the library has settled or time is up.
            let _ = LEFT.wait_timeout_while(gate, MAX_WAIT, |gate| gate.settling > 0);
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

/// Makes this thread wait when it ends.
pub(crate) extern "C" fn watch_thread() {
    // This thread's local data is being destroyed already.
    let _ = END.try_with(|_| ());
}

/// Runs on the main thread at program start, since that thread may never call this crate.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds addresses of functions of this type, which are called when the program is loaded.
#[unsafe(link_section = ".init_array")]
static WHEN_LOADED: extern "C" fn() = watch_thread;
