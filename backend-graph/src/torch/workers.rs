//! Work of our own on the threads that libtorch shares its operations among.
//!
//! Where a block of rows goes through many operations it is the blocks that are shared, and each thread has its operations
//! to itself: libtorch shares none in a parallel region of OpenMP. Threads beside OpenMP's would wait for these, which look
//! out for more work for a while after each operation.

use super::setup::Session;
use acc_core::{Meter, RunLimits};
use std::ffi::{c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

/// `void GOMP_parallel(void (*fn)(void *), void *data, unsigned num_threads, unsigned flags)`: how compiled code begins a
/// parallel region with GNU's runtime of OpenMP, and with LLVM's, which has it, too.
type Parallel = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

static PARALLEL: OnceLock<Option<Parallel>> = OnceLock::new();

fn parallel() -> Option<Parallel> {
    *PARALLEL.get_or_init(|| {
        // SAFETY: the name ends with 0; a symbol of this name in the process is that function.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"GOMP_parallel".as_ptr());
            (!found.is_null()).then(|| std::mem::transmute::<*mut c_void, Parallel>(found))
        }
    })
}

/// Whether work can be shared; not if the runtime is another one.
pub(super) fn are_there() -> bool {
    parallel().is_some()
}

/// Calls `work` on so many of them, in a session of the run with these limits, and waits for all.
pub(super) fn on_each<T: Send>(
    threads: usize,
    limits: &RunLimits,
    meter: &Meter,
    work: impl Fn(&Session) -> T + Sync,
) -> Vec<T> {
    let outcomes = Mutex::new(Vec::new());
    let on_one = || {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let session = Session::enter(limits, meter);
            work(&session)
        }));
        outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
    };
    match (parallel(), threads) {
        // SAFETY: the region ends before the call returns, so that `on_one` outlives it; it is shared, and does not unwind.
        (Some(parallel), 2..) => unsafe { region(parallel, &on_one, threads) },
        _ => on_one(),
    }
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.into_iter().map(|o| o.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
}

/// # Safety
///
/// `f` must not unwind.
unsafe fn region<F: Fn() + Sync>(parallel: Parallel, f: &F, threads: usize) {
    unsafe extern "C" fn call<F: Fn()>(f: *mut c_void) {
        // SAFETY: it is what `region` passed, which waits.
        unsafe { (*f.cast_const().cast::<F>())() }
    }
    let threads = c_uint::try_from(threads).unwrap_or(1);
    // SAFETY: a parallel region with these threads, the caller's among them, each of which calls `f` once.
    unsafe { parallel(call::<F>, std::ptr::from_ref(f).cast_mut().cast(), threads, 0) }
}
