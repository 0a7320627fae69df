//! Threads that help a caller, and the tasks that they take.

mod processor;
pub(super) mod shares;
pub(crate) mod team;
