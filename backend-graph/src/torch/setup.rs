//! What is set once per process, and once per thread that runs a graph.

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
    /// memory then stays near its peak. The environment variable `ACC_KEEP_MEMORY=0` turns it off.
    pub keep_memory: bool,
    /// How many threads one operation uses.
    pub threads: usize,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            keep_memory: std::env::var_os("ACC_KEEP_MEMORY").is_none_or(|value| value != "0"),
            // Unlike libtorch's own choice this one respects the limits of a container.
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

static APPLIED: OnceLock<Setup> = OnceLock::new();

impl Setup {
    /// Sets libtorch up this way, unless it is set up already; returns what holds for this process.
    pub fn apply(self) -> &'static Setup {
        APPLIED.get_or_init(|| {
            if self.keep_memory {
                keep_memory();
            }
            tch::set_num_threads(i32::try_from(self.threads.max(1)).unwrap_or(i32::MAX));
            self
        })
    }
}

/// What holds for this process: the default if nobody chose otherwise.
pub(super) fn ensure() -> &'static Setup {
    // Looked up first: the default reads the environment, which every run would pay for.
    APPLIED.get().unwrap_or_else(|| Setup::default().apply())
}

/// libtorch set up on this thread, for as long as the guard lives: no gradients are recorded.
#[must_use = "gradients are recorded again when the guard is dropped"]
pub(crate) struct Session {
    _no_grad: tch::NoGradGuard,
    // The setting is of one thread, so the guard must not leave it.
    _not_send: PhantomData<*const ()>,
}

impl Session {
    pub(crate) fn enter() -> Session {
        ensure();
        Session { _no_grad: tch::no_grad_guard(), _not_send: PhantomData }
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
        assert_eq!(usize::try_from(tch::get_num_threads()).unwrap(), held.threads);
    }

    #[test]
    fn gradients_are_off_inside_a_session() {
        let trained = || {
            let leaf = tch::Tensor::f_ones([2], (tch::Kind::Float, tch::Device::Cpu)).unwrap();
            let leaf = leaf.f_set_requires_grad(true).unwrap();
            leaf.f_add(&leaf).unwrap().requires_grad()
        };
        assert!(trained());
        let session = Session::enter();
        assert!(!trained());
        drop(session);
        assert!(trained());
    }
}
