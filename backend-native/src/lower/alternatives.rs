//! Other launches of a kernel, which run in its place where extents allow it.

use super::Launch;
use crate::kernel::{CollapsedPair, Guard};
use acc_core::ir::{ArrayId, Schedule};

/// A launch that reads these arrays [packed](crate::kernel::Kernel::packed).
pub(crate) struct Packed<K = ()> {
    pub launch: Launch<K>,
    pub arrays: Vec<ArrayId>,
}

/// A launch whose kernel is [without guards](crate::kernel::Kernel::unguarded), since these hold.
pub(crate) struct Unguarded<K = ()> {
    pub launch: Launch<K>,
    pub guards: Vec<Guard>,
}

/// A launch whose kernel has neighbouring axes as [one](crate::kernel::Kernel::collapsed), for the loops alone: it has no epilogue, and
/// what its machine code bails out of is run without it.
pub(crate) struct Collapsed<K = ()> {
    pub launch: Launch<K>,
    /// The pairs of axes that become one, one after another.
    pub pairs: Vec<CollapsedPair>,
    /// What the program says.
    pub schedule: Schedule,
}

/// A launch whose kernel has its last axes as [one](crate::kernel::Kernel::joined), where the arrays that are read along these have their
/// extents. It has no epilogue.
pub(crate) struct Joined<K = ()> {
    pub launch: Launch<K>,
    /// The pairs of axes that become one, one after another.
    pub pairs: Vec<CollapsedPair>,
}
