//! Fork and join with little delay for the hand-written kernels: workers spin for a while before they sleep.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

/// What all threads do, given their number.
type Job<'a> = &'a (dyn Fn(usize) + Sync);

/// About a third of a millisecond.
const SPINS_BEFORE_SLEEP: usize = 20_000;

/// Alone in its lines of the cache, so that who waits for it is not disturbed by its neighbours.
#[repr(align(128))]
#[derive(Default)]
struct Alone<T>(T);

struct Worker {
    thread: Thread,
    asleep: &'static Alone<AtomicBool>,
    /// The last round that it has done.
    done: &'static Alone<AtomicU64>,
}

struct Pool {
    workers: Vec<Worker>,
    /// A [`Job`] on the stack of the thread in [`run`], which stays there until all are done.
    job: AtomicPtr<()>,
    round: AtomicU64,
}

fn pool() -> &'static Alone<Pool> {
    static POOL: OnceLock<&'static Alone<Pool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut workers = Vec::new();
        let mut begin = Vec::new();
        for number in 1..threads() {
            let asleep: &'static Alone<AtomicBool> = Box::leak(Box::default());
            let done: &'static Alone<AtomicU64> = Box::leak(Box::default());
            let (give, take) = std::sync::mpsc::channel::<&'static Alone<Pool>>();
            let handle = std::thread::spawn(move || {
                if let Ok(pool) = take.recv() {
                    work(pool, number, asleep, done);
                }
            });
            workers.push(Worker { thread: handle.thread().clone(), asleep, done });
            begin.push(give);
        }
        let pool = Pool { workers, job: AtomicPtr::new(std::ptr::null_mut()), round: AtomicU64::new(0) };
        let pool: &'static Alone<Pool> = Box::leak(Box::new(Alone(pool)));
        for give in begin {
            // A worker waits for it as long as it lives.
            let _ = give.send(pool);
        }
        pool
    })
}

fn work(
    Alone(pool): &'static Alone<Pool>,
    number: usize,
    Alone(asleep): &Alone<AtomicBool>,
    Alone(done): &Alone<AtomicU64>,
) {
    let mut round = 0;
    loop {
        let mut spins = 0;
        while pool.round.load(Ordering::Acquire) == round {
            spins += 1;
            if spins < SPINS_BEFORE_SLEEP {
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
        let job = pool.job.load(Ordering::Relaxed).cast::<Job<'_>>();
        // SAFETY: `run` put it there before it began the round, and waits for this thread before it returns.
        let job = unsafe { *job };
        job(number);
        done.store(round, Ordering::Release);
    }
}

/// How many threads run a kernel.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Runs a job on all threads, one of which is this one, and waits for all.
pub fn run(job: &(dyn Fn(usize) + Sync)) {
    let Alone(pool) = pool();
    let mut job: Job<'_> = job;
    pool.job.store((&raw mut job).cast(), Ordering::Relaxed);
    let round = pool.round.fetch_add(1, Ordering::SeqCst) + 1;
    for worker in &pool.workers {
        if worker.asleep.0.load(Ordering::SeqCst) {
            worker.thread.unpark();
        }
    }
    job(0);
    for worker in &pool.workers {
        while worker.done.0.load(Ordering::Acquire) < round {
            std::hint::spin_loop();
        }
    }
}

/// Does each of `0..n`, every thread the next one that nobody has begun.
pub fn each(n: usize, job: impl Fn(usize) + Sync) {
    each_with(n, || (), |(), k| job(k));
}

/// The same with something that each thread has for itself.
pub fn each_with<T>(n: usize, own: impl Fn() -> T + Sync, job: impl Fn(&mut T, usize) + Sync) {
    let next = AtomicUsize::new(0);
    run(&|_| {
        let mut own = own();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= n {
                break;
            }
            job(&mut own, k);
        }
    });
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

    /// Its first element.
    pub fn start(&self) -> *mut T {
        self.0
    }

    /// A part of the slice.
    ///
    /// # Safety
    ///
    /// Parts in use at the same time do not overlap, and the slice outlives them.
    #[allow(clippy::mut_from_ref, reason = "parts do not overlap, says the contract")]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.1);
        // SAFETY: in bounds by the assertion; not shared by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}
