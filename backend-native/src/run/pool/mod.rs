//! Threads that help a caller, and the tasks that they take.

mod processor;
pub(crate) mod thread_pool;
pub(super) mod work_stealing;
