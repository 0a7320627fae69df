//! Fork and join with little delay for the hand-written kernels: workers spin for a while before they sleep.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

/// What all threads do, given their number.
type Job<'a> = &'a (dyn Fn(usize) + Sync);

/// About a fifth of a millisecond.
const SPINS: usize = 20_000;

struct Pool {
    workers: Vec<(Thread, &'static AtomicBool)>,
    /// A [`Job`] on the stack of the thread in [`run`], which stays there until all are done.
    job: AtomicPtr<()>,
    round: AtomicU64,
    done: AtomicUsize,
}

fn pool() -> &'static Pool {
    static POOL: OnceLock<&'static Pool> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut pool = Pool {
            workers: Vec::new(),
            job: AtomicPtr::new(std::ptr::null_mut()),
            round: AtomicU64::new(0),
            done: AtomicUsize::new(0),
        };
        let (give, take) = std::sync::mpsc::channel::<&'static Pool>();
        let take = std::sync::Arc::new(std::sync::Mutex::new(take));
        for number in 1..threads() {
            let asleep: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
            let take = take.clone();
            let handle = std::thread::spawn(move || {
                let pool = take.lock().map(|t| t.recv());
                if let Ok(Ok(pool)) = pool {
                    work(pool, number, asleep);
                }
            });
            pool.workers.push((handle.thread().clone(), asleep));
        }
        let pool: &'static Pool = Box::leak(Box::new(pool));
        for _ in &pool.workers {
            // A worker waits for it as long as it lives.
            let _ = give.send(pool);
        }
        pool
    })
}

fn work(pool: &'static Pool, number: usize, asleep: &AtomicBool) {
    let mut round = 0;
    loop {
        let mut spins = 0;
        while pool.round.load(Ordering::SeqCst) == round {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
                continue;
            }
            asleep.store(true, Ordering::SeqCst);
            if pool.round.load(Ordering::SeqCst) == round {
                std::thread::park();
            }
            asleep.store(false, Ordering::SeqCst);
            spins = 0;
        }
        round += 1;
        let job = pool.job.load(Ordering::SeqCst).cast::<Job<'_>>();
        // SAFETY: `run` put it there before it began the round, and waits for this thread before it returns.
        let job = unsafe { *job };
        job(number);
        pool.done.fetch_add(1, Ordering::SeqCst);
    }
}

/// How many threads run a kernel.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Runs a job on all threads, one of which is this one, and waits for all.
pub fn run(job: &(dyn Fn(usize) + Sync)) {
    let pool = pool();
    let mut job: Job<'_> = job;
    pool.done.store(0, Ordering::SeqCst);
    pool.job.store((&raw mut job).cast(), Ordering::SeqCst);
    pool.round.fetch_add(1, Ordering::SeqCst);
    for (thread, asleep) in &pool.workers {
        if asleep.load(Ordering::SeqCst) {
            thread.unpark();
        }
    }
    job(0);
    while pool.done.load(Ordering::SeqCst) < pool.workers.len() {
        std::hint::spin_loop();
    }
}

/// The part of `0..n` that a thread does, begun at a multiple of `step`.
pub fn part(n: usize, step: usize, thread: usize) -> Range<usize> {
    let steps = n.div_ceil(step);
    let at = |t: usize| (steps * t / threads() * step).min(n);
    at(thread)..at(thread + 1)
}

/// Splits `0..n` at multiples of `step`, and does all parts at the same time.
pub fn split(n: usize, step: usize, job: impl Fn(Range<usize>) + Sync) {
    run(&|thread| job(part(n, step, thread)));
}

/// A slice that all threads may write, each its own part.
#[derive(Clone, Copy)]
pub struct Shared<T>(*mut T, usize);

// SAFETY: the parts taken at the same time are disjoint, by the contract of `part`.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(all: &mut [T]) -> Shared<T> {
        Shared(all.as_mut_ptr(), all.len())
    }

    /// A part of the slice.
    ///
    /// # Safety
    ///
    /// Parts in use at the same time do not overlap, and the slice outlives them.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.1);
        // SAFETY: in bounds by the assertion; not shared by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}
