//! Which processor a thread runs on.

/// The processors that a thread may run on.
///
/// A thread that is woken is often put on the processor of the one that wakes it, and where other processes keep the other
/// processors busy it stays there: a helper there takes turns with the caller that it is to help. (A saxpy of a million
/// elements beside compilers of the least priority: 240 µs on two threads that share a processor, and 70 on two that do not.)
#[cfg(target_os = "linux")]
pub(super) struct Processors {
    /// None if the system does not tell.
    allowed: Option<libc::cpu_set_t>,
}

#[cfg(target_os = "linux")]
impl Processors {
    /// Those of this thread.
    pub(super) fn of_this_thread() -> Processors {
        // SAFETY: a set is bits, all of which may be 0.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the system writes no more than the size of the set.
        let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
        Processors { allowed: (failed == 0).then_some(set) }
    }

    /// Moves this thread away from a processor if it runs there, and may run on another one.
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
            // SAFETY: the system reads no more than the size of the set. A thread that it leaves where it is works too.
            unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
        }
    }
}

/// The processor that this thread runs on, if the system tells.
#[cfg(target_os = "linux")]
pub(super) fn current() -> Option<usize> {
    // SAFETY: it has no preconditions.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The processors that a thread may run on: other systems do not tell.
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
        // It goes nowhere from where it is not, nor from nowhere.
        let processors = Processors::of_this_thread();
        processors.leave(Some(usize::MAX));
        processors.leave(None);
    }
}
