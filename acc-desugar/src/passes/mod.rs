//! Passes from programs to programs. [`pipeline`](crate::pipeline) says when each runs.

pub(crate) mod conjugate;
pub(crate) mod differentiate;
pub(crate) mod pad_windows;
pub(crate) mod regroup;
pub mod scan_segments;
pub(crate) mod separate_schedules;
pub mod simplify;
pub(crate) mod sink_transposes;
