//! Processor affinity of helper threads.

/// The processors that a thread may run on.
///
/// The system often puts a thread that is woken on the processor of the thread that wakes it, and leaves it there while
/// other processes occupy the other processors: the helper then shares a processor with the caller that it should help.
/// (A saxpy of a million elements beside compilers of the lowest priority: 240 µs on two threads that share a
/// processor, 70 µs on two that do not.)
#[cfg(target_os = "linux")]
pub(super) struct Processors {
    /// None if the system does not tell.
    allowed: Option<libc::cpu_set_t>,
}

#[cfg(target_os = "linux")]
impl Processors {
    /// Those of the current thread.
    pub(super) fn of_this_thread() -> Processors {
        // SAFETY: a set is bits, all of which may be 0.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the system writes no more than the size of the set.
        let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
        Processors { allowed: (failed == 0).then_some(set) }
    }

    /// Moves the current thread off a processor if it runs there and may run on another one.
    pub(super) fn leave(&self, processor: Option<usize>) {
        let (Some(mut set), Some(processor)) = (self.allowed, processor) else { return };
        if current() != Some(processor) || processor >= 8 * size_of_val(&set) {
            return;
        }
        // SAFETY: the bit of the processor is in the set.
        let others = unsafe {
            libc::CPU_CLR(processor, &mut set);
            libc::CPU_COUNT(&set)
        };
        if others > 0 {
            // SAFETY: the system reads no more than the size of the set. Failure is harmless.
            unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
        }
    }
}

/// The processor that the current thread runs on, if the system tells.
#[cfg(target_os = "linux")]
pub(super) fn current() -> Option<usize> {
    // SAFETY: it has no preconditions.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The processors that a thread may run on, which other systems do not tell.
#[cfg(not(target_os = "linux"))]
pub(super) struct Processors;

#[cfg(not(target_os = "linux"))]
impl Processors {
    pub(super) fn of_this_thread() -> Processors {
        Processors
    }

    pub(super) fn leave(&self, _: Option<usize>) {}
}

#[cfg(not(target_os = "linux"))]
pub(super) fn current() -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_a_processor_if_there_are_others() {
        let left = std::thread::spawn(|| {
            let (processors, before) = (Processors::of_this_thread(), current());
            processors.leave(before);
            (before, current())
        });
        let (before, after) = left.join().unwrap();
        assert!(before.is_some());
        assert_eq!(before == after, crate::run::pool::thread_pool::processors() == 1);
        // A thread that runs elsewhere, or does not know where, is not moved.
        let processors = Processors::of_this_thread();
        processors.leave(Some(usize::MAX));
        processors.leave(None);
    }
}
