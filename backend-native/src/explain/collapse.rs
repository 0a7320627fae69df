//! What is said of collapsed axes.

use crate::kernel::Kernel;
use crate::lower::Collapsed;
use crate::prepare::KernelCode;
use acc_core::ir::ArrayId;
use std::fmt::{self, Display, Formatter};

/// How a kernel reads arrays along axes that its schedule collapses.
#[derive(Clone, Debug)]
pub struct CollapseReport {
    /// The arrays that are read along these axes with one stride. They have the extents of the axes, else the loops are the other ones.
    pub merged: Vec<ArrayId>,
    /// The arrays that are read at quotients and remainders of collapsed indices.
    pub divided: Vec<ArrayId>,
    /// The loops that run where extents do not allow the schedule's.
    pub otherwise: String,
}

impl CollapseReport {
    pub(super) fn new(c: &Collapsed<KernelCode>, kernel: &Kernel) -> CollapseReport {
        let all = |mut arrays: Vec<ArrayId>| {
            arrays.sort_unstable();
            arrays.dedup();
            arrays
        };
        CollapseReport {
            merged: all(c.pairs.iter().flat_map(|p| p.merged.iter().map(|(a, _)| *a)).collect()),
            divided: all(c.pairs.iter().flat_map(|p| p.divided.iter().copied()).collect()),
            otherwise: kernel.shown_loops(),
        }
    }
}

impl Display for CollapseReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let list = |arrays: &[ArrayId]| arrays.iter().map(ArrayId::to_string).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if !self.merged.is_empty() {
            let merged = list(&self.merged);
            parts.push(format!("if the extents of {merged} are those of collapsed axes; else {}", self.otherwise));
        }
        if !self.divided.is_empty() {
            parts.push(format!("reads {} at quotients and remainders of collapsed indices", list(&self.divided)));
        }
        f.write_str(&parts.join("; "))
    }
}
