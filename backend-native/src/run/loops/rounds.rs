//! Launches of a recording on several threads.
//!
//! Each thread keeps to its part of every launch, so that what it wrote is in its caches in the next step. Threads meet
//! after each launch, a *round*, by polling. Nobody waits for a thread that has not come: who is done takes the parts that
//! nobody has begun.

use crate::llvm::call::CallOutcome;
use crate::run::pool::thread_pool::{Line, ThreadPool, spin_until};
use std::sync::atomic::Ordering;

/// The rounds of some threads. A launch is known by its number.
pub(super) struct Rounds<'r> {
    threads: usize,
    /// Computes a part of a launch.
    compute: &'r (dyn Fn(usize, usize) -> CallOutcome + Sync),
    /// The number of the round, and [`OVER`] after the last one.
    round: Line,
    /// The launch of this round.
    launch: Line,
    /// The last round in which each part was begun.
    begun: Vec<Line>,
    /// The parts of this round that are done.
    done: Line,
    /// The parts of this round that bailed out, or were stopped.
    failed: [Line; 2],
}

/// The round after the last one.
const OVER: usize = usize::MAX;

/// Ends the rounds, also in a panic.
struct Over<'r>(&'r Line);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.0.store(OVER, Ordering::Release);
    }
}

impl<'r> Rounds<'r> {
    pub(super) fn new(threads: usize, compute: &'r (dyn Fn(usize, usize) -> CallOutcome + Sync)) -> Rounds<'r> {
        let begun = (0..threads).map(|_| Line::default()).collect();
        let [round, launch, done] = [(); 3].map(|()| Line::default());
        Rounds { threads, compute, round, launch, begun, done, failed: Default::default() }
    }

    /// Calls `own` on this thread, which [launches](Rounds::launch), while others help.
    pub(super) fn run(&self, pool: &ThreadPool, own: impl Fn() + Sync) {
        pool.work(self.threads - 1, &|thread| match thread {
            0 => {
                let _over = Over(&self.round);
                own();
            }
            _ => self.help(thread),
        });
    }

    /// Computes all parts of a launch.
    pub(super) fn launch(&self, number: usize) -> CallOutcome {
        self.launch.0.store(number, Ordering::Relaxed);
        self.done.0.store(0, Ordering::Relaxed);
        self.failed.iter().for_each(|f| f.0.store(0, Ordering::Relaxed));
        let round = self.round.0.load(Ordering::Relaxed) + 1;
        self.round.0.store(round, Ordering::Release);
        self.take(0, round);
        spin_until(|| self.done.0.load(Ordering::Acquire) == self.threads);
        match self.failed.each_ref().map(|f| f.0.load(Ordering::Relaxed) > 0) {
            [_, true] => CallOutcome::Stopped,
            [true, false] => CallOutcome::BailedOut,
            [false, false] => CallOutcome::Done,
        }
    }

    fn help(&self, thread: usize) {
        let mut seen = 0;
        loop {
            spin_until(|| self.round.0.load(Ordering::Acquire) != seen);
            seen = self.round.0.load(Ordering::Acquire);
            if seen == OVER {
                return;
            }
            self.take(thread, seen);
        }
    }

    /// Computes the parts of a round that nobody has begun, the thread's own one first.
    fn take(&self, thread: usize, round: usize) {
        for k in 0..self.threads {
            let part = (thread + k) % self.threads;
            let Some(Line(begun)) = self.begun.get(part) else { return };
            // A part of a round that is over has been begun in it.
            if begun.compare_exchange(round - 1, round, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                match (self.compute)(self.launch.0.load(Ordering::Relaxed), part) {
                    CallOutcome::Done => {}
                    CallOutcome::BailedOut => self.failed[0].0.store(1, Ordering::Relaxed),
                    CallOutcome::Stopped => self.failed[1].0.store(1, Ordering::Relaxed),
                }
                self.done.0.fetch_add(1, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn each_part_of_each_launch_is_computed_once_and_in_order() {
        for threads in [1, 2, 7] {
            let pool = ThreadPool::new(threads).unwrap();
            let (launches, current) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let compute = |launch: usize, part: usize| {
                assert!(launch == current.load(Ordering::SeqCst) && part < threads);
                launches.fetch_add(1, Ordering::SeqCst);
                match launch % 5 {
                    3 if part == threads - 1 => CallOutcome::BailedOut,
                    4 if part == 0 => CallOutcome::Stopped,
                    _ => CallOutcome::Done,
                }
            };
            let rounds = Rounds::new(threads, &compute);
            rounds.run(&pool, || {
                for launch in 0..2000 {
                    current.store(launch, Ordering::SeqCst);
                    let want =
                        [CallOutcome::Done, CallOutcome::BailedOut, CallOutcome::Stopped][(launch % 5).max(2) - 2];
                    assert_eq!(rounds.launch(launch), want);
                    assert_eq!(launches.load(Ordering::SeqCst), (launch + 1) * threads);
                }
            });
        }
    }
}
