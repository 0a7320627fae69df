//! How many threads an operation of libtorch uses.
//!
//! libtorch shares operations among the threads of OpenMP, as many as the thread that calls it has set for itself. A run sets
//! that for its own thread and puts it back when it ends ([`Threads`]): no other thread of the process sees it, nor what the
//! program does with libtorch beside us.
//!
//! * *Small work stays on the calling thread* ([`MIN_SHARED_ELEMENTS`]): to wake others takes longer.
//! * *Where the machine is busy*, so that the others wait for a processor while the calling thread waits for them, an
//!   operation of a tenth of a millisecond takes tens of milliseconds. A run that finds itself waiting does work that is not
//!   large on its own thread for a while ([`BUSY_FOR`]).
//! * *Where the system gives no threads* the runtime of OpenMP would end the process. So threads are begun, and ended, before
//!   the first operation that is shared; a thread that cannot have them works alone.
//! * *In a process made by `fork`* the threads of OpenMP are those of the parent, and to wait for them would be for ever:
//!   there each thread works alone.

use super::setup;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Operations on fewer elements are not shared. libtorch itself shares no element-wise ones among threads then.
const MIN_SHARED_ELEMENTS: i64 = 1 << 15;
/// Operations on fewer elements are not shared while the machine is busy: they take some milliseconds at most.
const MIN_SHARED_ELEMENTS_IF_BUSY: i64 = 1 << 22;
/// So long does the calling thread wait for a processor, or for others that wait for one, if the machine is busy.
const MAX_WAIT: Duration = Duration::from_millis(1);
/// For so long a machine that was busy is taken to be.
const BUSY_FOR: Duration = Duration::from_secs(1);

/// The functions of OpenMP's runtime; there are none if libtorch has another one.
struct OpenMp {
    get: unsafe extern "C" fn() -> c_int,
    set: unsafe extern "C" fn(c_int),
}

fn open_mp() -> Option<&'static OpenMp> {
    static FOUND: OnceLock<Option<OpenMp>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        // SAFETY: the names end with 0; symbols of these names in the process are these functions.
        unsafe {
            let get = libc::dlsym(libc::RTLD_DEFAULT, c"omp_get_max_threads".as_ptr());
            let set = libc::dlsym(libc::RTLD_DEFAULT, c"omp_set_num_threads".as_ptr());
            if get.is_null() || set.is_null() {
                return None;
            }
            Some(OpenMp {
                get: std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> c_int>(get),
                set: std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(c_int)>(set),
            })
        }
    });
    found.as_ref()
}

/// The threads that the operations of a run on this thread use; what was set before holds again when this is dropped.
#[derive(Debug)]
pub(super) struct Threads {
    before: Option<c_int>,
    now: Cell<c_int>,
}

impl Threads {
    pub(super) fn new() -> Threads {
        if is_forked() {
            // Also that of the libraries inside of libtorch, which may have numbers of their own.
            tch::set_num_threads(1);
        }
        // A thread's first call of libtorch that asks for the number sets it.
        let _ = tch::get_num_threads();
        // SAFETY: a function that may be called at any time.
        let before = open_mp().map(|omp| unsafe { (omp.get)() });
        Threads { before, now: Cell::new(before.unwrap_or(1)) }
    }

    /// Calls an operation on so many elements; `call` is told how many threads share it.
    pub(super) fn work<T>(&self, elements: i64, call: impl FnOnce(usize) -> T) -> T {
        let threads = match elements {
            ..MIN_SHARED_ELEMENTS => 1,
            ..MIN_SHARED_ELEMENTS_IF_BUSY if is_busy() => 1,
            _ => most(),
        };
        self.set(threads);
        if threads == 1 || elements >= MIN_SHARED_ELEMENTS_IF_BUSY {
            return call(threads);
        }
        let clocks = Clocks::start();
        let result = call(threads);
        if clocks.waited() > MAX_WAIT {
            busy_from_now();
        }
        result
    }

    fn set(&self, threads: usize) {
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        if let Some(omp) = open_mp()
            && self.now.replace(threads) != threads
        {
            // SAFETY: a function that may be called at any time; the setting is of this thread.
            unsafe { (omp.set)(threads) }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            self.set(usize::try_from(before).unwrap_or(1));
        }
    }
}

/// How many threads there may be for large work: as many as are set up, unless the system does not give them.
pub(super) fn most() -> usize {
    thread_local! {
        /// OpenMP has a pool of threads for each thread that calls it.
        static GIVEN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    if is_forked() {
        return 1;
    }
    GIVEN.get().unwrap_or_else(|| {
        let given = given(setup::ensure().threads);
        GIVEN.set(Some(given));
        given
    })
}

/// Begins as many threads, but for this one, and ends them; how many there can be, or one if not all.
fn given(wanted: usize) -> usize {
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    let begun: Result<Vec<_>, _> = (1..wanted)
        .map(|_| {
            let gate = gate.clone();
            // Each waits until all are there.
            std::thread::Builder::new().spawn(move || drop(gate.lock().map(|gate| gate.recv())))
        })
        .collect();
    drop(open);
    match begun {
        Ok(threads) => {
            // Nothing in them panics.
            threads.into_iter().for_each(|t| drop(t.join()));
            wanted.max(1)
        }
        Err(_) => 1,
    }
}

/// The process that set libtorch up.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Notes that this process sets libtorch up.
pub(super) fn own() {
    OWNER.store(std::process::id(), Ordering::Relaxed);
}

/// Whether this process was made by `fork` from the one that set libtorch up.
fn is_forked() -> bool {
    OWNER.load(Ordering::Relaxed) != std::process::id()
}

/// Until when the machine is taken to be busy, in milliseconds since the first look.
static BUSY_UNTIL: AtomicU64 = AtomicU64::new(0);

fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    u64::try_from(FIRST.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn is_busy() -> bool {
    let until = BUSY_UNTIL.load(Ordering::Relaxed);
    until != 0 && now() < until
}

fn busy_from_now() {
    let length = u64::try_from(BUSY_FOR.as_millis()).unwrap_or(u64::MAX);
    BUSY_UNTIL.store(now().saturating_add(length), Ordering::Relaxed);
}

/// The time, and the time that this thread has had a processor.
struct Clocks {
    time: Instant,
    processor: Option<Duration>,
}

impl Clocks {
    fn start() -> Clocks {
        Clocks { time: Instant::now(), processor: processor_time() }
    }

    /// For how long this thread has had no processor since.
    fn waited(&self) -> Duration {
        let ran = self.processor.zip(processor_time()).map(|(before, after)| after.saturating_sub(before));
        ran.map_or(Duration::ZERO, |ran| self.time.elapsed().saturating_sub(ran))
    }
}

/// For how long this thread has had a processor.
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `time`.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (!failed).then(|| Duration::new(seconds, nanoseconds))
}
