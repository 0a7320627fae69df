//! What is set once per process, and once per thread that runs a graph.

use super::memory::{self, Account};
use super::threads::{self, Threads};
use acc_core::{Error, Meter, RunLimits};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// How libtorch is set up, once per process.
///
/// The first run does it with [`Setup::default`]; call [`Setup::apply`] before that to choose otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// Whether the memory of freed tensors is kept by the process for the next ones (glibc only).
    ///
    /// Otherwise glibc gives every large block back to the system, and each new tensor pays for its pages again: four
    /// to six times the run time above a million elements. The setting holds for the whole process, and its resident
    /// memory then stays near its peak. The environment variable `ACC_KEEP_MEMORY=0` switches it off.
    pub keep_memory: bool,
    /// How many threads one operation of a run uses at most: as many as the environment variable `OMP_NUM_THREADS` says, or
    /// else as the process may use.
    ///
    /// This is of runs alone: what the program does with libtorch beside them is not touched.
    pub threads: usize,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            keep_memory: std::env::var_os("ACC_KEEP_MEMORY").is_none_or(|value| value != "0"),
            threads: asked_for().unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        }
    }
}

/// How many threads the user asks for, of all that uses OpenMP. (A list has the number of each level of nesting.)
fn asked_for() -> Option<usize> {
    let text = std::env::var("OMP_NUM_THREADS").ok()?;
    text.split(',').next()?.trim().parse().ok().filter(|threads| *threads > 0)
}

static APPLIED: OnceLock<Setup> = OnceLock::new();

impl Setup {
    /// Sets libtorch up this way, unless it is set up already; returns what holds for this process.
    pub fn apply(self) -> &'static Setup {
        APPLIED.get_or_init(|| {
            if self.keep_memory {
                keep_memory();
            }
            memory::install();
            threads::own();
            self
        })
    }
}

/// What holds for this process: the default if nobody chose otherwise.
pub(super) fn ensure() -> &'static Setup {
    // Looked up first: the default reads the environment, which every run would pay for.
    APPLIED.get().unwrap_or_else(|| Setup::default().apply())
}

/// libtorch set up on this thread for a run, for as long as the guard lives: its memory is the run's, its threads are as many
/// as its work is worth, and no gradients are recorded.
#[must_use = "the thread is as before when the guard is dropped"]
pub(crate) struct Session {
    pub(super) threads: Threads,
    account: Account,
    _no_grad: tch::NoGradGuard,
    // The setting is of one thread, so the guard must not leave it.
    _not_send: PhantomData<*const ()>,
}

impl Session {
    /// For a run with these limits, which takes memory from `meter`.
    pub(crate) fn enter(limits: &RunLimits, meter: &Meter) -> Session {
        ensure();
        Session {
            threads: Threads::new(),
            account: Account::open(limits, meter),
            _no_grad: tch::no_grad_guard(),
            _not_send: PhantomData,
        }
    }

    /// What became of the run, or of a part of it: an operation for which there was no memory, or no time, failed because a
    /// limit was reached, whatever libtorch says.
    pub(crate) fn outcome<T, E: From<Error>>(&self, outcome: Result<T, E>) -> Result<T, E> {
        match self.account.refused() {
            Some(limit) if outcome.is_err() => Err(limit.into()),
            _ => outcome,
        }
    }
}

/// Tells glibc to serve large blocks from its heap and to keep them when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep_memory() {
    // SAFETY: mallopt takes two integers and may be called at any time. A setting that it refuses (it returns 0) leaves
    // the default, which is right and only slower.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 64 << 20);
    }
}

/// Other allocators decide for themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_memory() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_setup_holds() {
        ensure();
        let held = Setup::default().apply().clone();
        let other = Setup { threads: held.threads + 1, ..held.clone() };
        assert_eq!(*other.apply(), held);
    }

    #[test]
    fn threads_are_set_for_the_work_of_a_session_alone() {
        let before = tch::get_num_threads();
        let session = Session::enter(&RunLimits::none(), &RunLimits::none().meter());
        let within = |elements: i64| session.threads.work(elements, |n| (n, tch::get_num_threads()));
        assert_eq!(within(1000), (1, 1));
        let all = Setup::default().apply().threads;
        assert_eq!(within(1 << 30), (all, i32::try_from(all).unwrap()));
        let beside = std::thread::spawn(tch::get_num_threads).join().unwrap();
        drop(session);
        assert_eq!(tch::get_num_threads(), before);
        assert_eq!(beside, std::thread::spawn(tch::get_num_threads).join().unwrap());
    }

    #[test]
    fn gradients_are_off_inside_a_session() {
        let trained = || {
            let leaf = tch::Tensor::f_ones([2], (tch::Kind::Float, tch::Device::Cpu)).unwrap();
            let leaf = leaf.f_set_requires_grad(true).unwrap();
            leaf.f_add(&leaf).unwrap().requires_grad()
        };
        assert!(trained());
        let session = Session::enter(&RunLimits::none(), &RunLimits::none().meter());
        assert!(!trained());
        drop(session);
        assert!(trained());
    }
}
