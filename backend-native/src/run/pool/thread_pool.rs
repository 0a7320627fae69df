//! A fork-join thread pool with low latency.
//!
//! A caller posts an *offer* (work that several threads may do concurrently) and starts on it at once. Idle helpers
//! join. When the caller has nothing left to do it withdraws the offer and waits only for the helpers inside. So
//! callers do not wait for threads to wake, any number of callers may run concurrently, and a helper may itself be a
//! caller.
//!
//! An idle helper polls for offers for a bounded time before it sleeps, since kernels often follow each other closely
//! and waking a thread takes as long as a small kernel. After a pause longer than that time it polls only briefly, so
//! that programs with long pauses burn little processor time. A helper neither polls nor works on the processor of the
//! caller if there is another one.

use crate::fork;
use crate::run::pool::processor::{self, Processors};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long a thread polls before it sleeps.
///
/// A helper that polls joins 1 µs after the call. One that sleeps joins 20 to 30 µs after it, if the caller still works
/// by then, and costs the caller 10 µs; on a busy machine it may also be woken on the caller's own processor, where it
/// has to wait. Calls of 40 µs with pauses of 100 µs between them, on two threads of a virtual machine: 59 µs each with
/// 50 µs of polling, 42 µs with 200; beside a process that spins, 57 and 42. Calls of 190 µs without pauses, beside two
/// compilers: 122 µs on two threads with 50 µs of polling, 102 with 100 or 200, 99 with 1000.
const WATCH_TIME: Duration = Duration::from_micros(200);

/// How long a thread polls after a longer pause, so that a second call right after the first one finds it awake.
///
/// (A saxpy of a million elements, called twice after each pause of 2 ms: the second call takes 340 µs if the helper
/// sleeps at once after the first, since it then joins too late to help at all, and 130 µs if it polls.)
const SHORT_WATCH_TIME: Duration = Duration::from_micros(50);

/// A pool of helper threads. The number of threads includes the caller.
pub(crate) struct ThreadPool {
    shared: Arc<Shared>,
    count: usize,
}

impl ThreadPool {
    /// A pool of `count` threads, or of one per processor for 0. Fails if threads cannot be started.
    pub(crate) fn new(count: usize) -> std::io::Result<ThreadPool> {
        fork::watch();
        let pool = ThreadPool { shared: Arc::default(), count: if count == 0 { processors() } else { count } };
        for number in 1..pool.count {
            let shared = pool.shared.clone();
            std::thread::Builder::new().name(format!("native {number}")).spawn(move || help(&shared, number))?;
        }
        Ok(pool)
    }

    /// A pool without helpers, for children of `fork`, which do not inherit the threads of their parent.
    pub(crate) fn alone() -> &'static ThreadPool {
        static ALONE: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPool { shared: Arc::default(), count: 1 });
        &ALONE
    }

    /// The pool of all backends that have none of their own.
    pub(crate) fn global() -> &'static ThreadPool {
        static GLOBAL: LazyLock<ThreadPool> = LazyLock::new(|| {
            // Without threads the caller does all of the work.
            ThreadPool::new(0).unwrap_or_else(|_| ThreadPool { shared: Arc::default(), count: processors() })
        });
        &GLOBAL
    }

    /// How many threads work at the same time, for one caller.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs work on this thread and on up to `helpers` others concurrently; returns when all are done. A panic in one
    /// of them is resumed here. The work is told the number of its thread: 0 for this one; from 1 on, and fixed, for
    /// each helper.
    pub(crate) fn work(&self, helpers: usize, work: &(dyn Fn(usize) + Sync)) {
        let offer =
            Offer { work, inside: AtomicUsize::new(0), panic: Mutex::new(None), caller: std::thread::current() };
        let posted = self.shared.post(&offer, helpers.min(self.count - 1));
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        self.shared.withdraw(posted);
        offer.wait();
        let others = offer.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = own.err().or(others) {
            resume_unwind(panic);
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if fork::is_child() {
            // The helpers do not exist in this process, and one of them may have held the lock during the fork.
            return;
        }
        self.shared.board().closed = true;
        self.shared.posts.0.fetch_add(1, Ordering::Release);
        self.shared.wake.notify_all();
    }
}

/// The processors that this process may use.
pub(crate) fn processors() -> usize {
    static COUNT: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *COUNT
}

/// Work that several threads do together.
struct Offer<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    /// [`ONE_HELPER`] for each helper inside, and [`CALLER_WAITS`].
    inside: AtomicUsize,
    /// The first panic in a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

/// Set while the caller sleeps until the last helper leaves.
const CALLER_WAITS: usize = 1;
const ONE_HELPER: usize = 2;

impl Offer<'_> {
    /// Waits until no helper is inside.
    fn wait(&self) {
        let empty = || self.inside.load(Ordering::Acquire) == 0;
        if watch(WATCH_TIME, empty) || self.inside.fetch_or(CALLER_WAITS, Ordering::AcqRel) == 0 {
            return;
        }
        while !empty() {
            std::thread::park();
        }
    }

    /// Runs the part of a helper, up to leaving.
    fn help(&self, number: usize) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.work)(number))) {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        let mut inside = self.inside.load(Ordering::Relaxed);
        loop {
            let last = inside == ONE_HELPER | CALLER_WAITS;
            // Once this helper has left, the offer may be gone.
            let caller = last.then(|| self.caller.clone());
            let after = if last { 0 } else { inside - ONE_HELPER };
            match self.inside.compare_exchange_weak(inside, after, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return caller.iter().for_each(Thread::unpark),
                Err(now) => inside = now,
            }
        }
    }
}

/// A pointer to an offer whose caller waits for it; its lifetime is erased.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Posted(NonNull<Offer<'static>>);

// SAFETY: an offer is shared between threads by reference: what is in it is `Sync` (the work by its type, atomics,
// a mutex of something `Send`, a handle of a thread).
unsafe impl Send for Posted {}

/// State shared by helpers and callers.
#[derive(Default)]
struct Shared {
    /// Incremented by each offer: what idle helpers poll.
    posts: Line,
    board: Mutex<Board>,
    wake: Condvar,
}

/// A number in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub(in crate::run) struct Line(pub AtomicUsize);

#[derive(Default)]
struct Board {
    /// Open offers, each with the number of helpers that may still join.
    open: Vec<(Posted, usize)>,
    /// Helpers that poll for offers.
    watching: usize,
    /// Helpers that sleep.
    asleep: usize,
    /// When the last offer was posted.
    last: Option<Instant>,
    /// Whether the pool is being shut down.
    closed: bool,
    /// The processor of the last caller.
    processor: Option<usize>,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        // Nothing panics while it is locked.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens an offer. It must outlive the call to [`withdraw`](Shared::withdraw) and all helpers inside.
    fn post(&self, offer: &Offer<'_>, seats: usize) -> Posted {
        let posted = Posted(NonNull::from(offer).cast());
        let mut board = self.board();
        board.open.push((posted, seats));
        let seats: usize = board.open.iter().map(|(_, seats)| seats).sum();
        let woken = seats.saturating_sub(board.watching).min(board.asleep);
        board.last = Some(Instant::now());
        board.processor = processor::current();
        self.posts.0.fetch_add(1, Ordering::Release);
        drop(board);
        (0..woken).for_each(|_| self.wake.notify_one());
        posted
    }

    /// Closes an offer.
    fn withdraw(&self, posted: Posted) {
        self.board().open.retain(|(p, _)| *p != posted);
    }
}

impl Board {
    /// Joins an offer: from here on the helper counts as inside.
    fn join(&mut self) -> Option<Posted> {
        let (posted, seats) = self.open.iter_mut().find(|(_, seats)| *seats > 0)?;
        *seats -= 1;
        // SAFETY: the offer is on the board, so its caller has not withdrawn it. Withdrawing takes the lock that is
        // held here, so the offer still exists.
        unsafe { posted.0.as_ref() }.inside.fetch_add(ONE_HELPER, Ordering::Relaxed);
        Some(*posted)
    }
}

/// The main loop of a helper, until the pool is shut down.
fn help(shared: &Shared, number: usize) {
    let processors = Processors::of_this_thread();
    let mut board = shared.board();
    let mut soon = true;
    loop {
        let joined = board.join();
        let callers = board.processor;
        if let Some(posted) = joined {
            drop(board);
            processors.leave(callers);
            // SAFETY: this helper is inside the offer (`join`), and its caller does not return before it has left, which
            // is the last thing that `help` does.
            unsafe { posted.0.as_ref() }.help(number);
            board = shared.board();
            continue;
        }
        if board.closed {
            return;
        }
        let idle = Instant::now();
        let seen = shared.posts.0.load(Ordering::Relaxed);
        let posted = || shared.posts.0.load(Ordering::Acquire) != seen;
        board.watching += 1;
        drop(board);
        processors.leave(callers);
        watch(if soon { WATCH_TIME } else { SHORT_WATCH_TIME }, posted);
        board = shared.board();
        board.watching -= 1;
        while !posted() {
            board.asleep += 1;
            board = shared.wake.wait(board).unwrap_or_else(PoisonError::into_inner);
            board.asleep -= 1;
        }
        // From the last offer to this one, however long this thread took to wake.
        soon = board.last.is_none_or(|last| last.saturating_duration_since(idle) < WATCH_TIME);
    }
}

/// Polls a condition for at most so long; whether it became true.
fn watch(time: Duration, came: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if came() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > time {
            return came();
        }
    }
}

/// Polls before a waiting thread yields its processor.
const SPINS_BEFORE_YIELD: usize = 1 << 10;

/// Waits for something that another thread does soon. If that thread has no processor, it gets this one.
pub(crate) fn spin_until(came: impl Fn() -> bool) {
    let mut looks = 0;
    while !came() {
        looks += 1;
        if looks < SPINS_BEFORE_YIELD { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Counts up to `n` on a pool; returns how often each number occurred, and how many threads took part.
    fn count(pool: &ThreadPool, helpers: usize, n: usize) -> (Vec<usize>, usize) {
        let met: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        let (next, threads) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.work(helpers, &|_| {
            threads.fetch_add(1, Ordering::Relaxed);
            while let Some(m) = met.get(next.fetch_add(1, Ordering::Relaxed)) {
                m.fetch_add(1, Ordering::Relaxed);
            }
        });
        (met.into_iter().map(AtomicUsize::into_inner).collect(), threads.into_inner())
    }

    #[test]
    fn all_is_done_once_by_no_more_threads_than_asked_for() {
        for threads in [1, 2, 3, 16] {
            let pool = ThreadPool::new(threads).unwrap();
            assert_eq!(pool.count(), threads);
            for round in 0..2000 {
                let (met, used) = count(&pool, round % 20, round % 50);
                assert!(met.iter().all(|&m| m == 1));
                assert!(used >= 1 && used <= threads.min(round % 20 + 1), "{used} of {threads}");
            }
        }
    }

    #[test]
    fn helpers_join_in() {
        let pool = ThreadPool::new(3).unwrap();
        // Both for sleeping and for polling helpers: each thread waits here for the others.
        for pause in [0, 1, 20] {
            std::thread::sleep(Duration::from_millis(pause));
            let here = AtomicUsize::new(0);
            pool.work(2, &|_| {
                here.fetch_add(1, Ordering::SeqCst);
                while here.load(Ordering::SeqCst) < 3 {
                    std::thread::yield_now();
                }
            });
            assert_eq!(here.into_inner(), 3);
        }
    }

    #[test]
    fn many_threads_call_and_helpers_do() {
        let pool = ThreadPool::new(4).unwrap();
        std::thread::scope(|s| {
            for _ in 0..6 {
                s.spawn(|| {
                    for round in 0..200 {
                        let total = AtomicUsize::new(0);
                        pool.work(3, &|_| {
                            let (met, _) = count(&pool, 2, round);
                            total.fetch_add(met.iter().sum(), Ordering::Relaxed);
                        });
                        let total = total.into_inner();
                        assert!(total.is_multiple_of(round.max(1)) && total >= round && total <= 4 * round);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_comes_back_when_all_have_left() {
        let pool = ThreadPool::new(3).unwrap();
        for of_caller in [true, false] {
            let caller = std::thread::current().id();
            let (here, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let panicked = AtomicBool::new(false);
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.work(2, &|_| {
                    here.fetch_add(1, Ordering::SeqCst);
                    while here.load(Ordering::SeqCst) < 3 {
                        std::thread::yield_now();
                    }
                    if (std::thread::current().id() == caller) == of_caller && !panicked.swap(true, Ordering::SeqCst) {
                        resume_unwind(Box::new("stop"));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                    left.fetch_add(1, Ordering::SeqCst);
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"stop"));
            assert_eq!(left.into_inner(), 2);
            // The pool still works.
            assert!(count(&pool, 2, 100).0.iter().all(|&m| m == 1));
        }
    }
}
