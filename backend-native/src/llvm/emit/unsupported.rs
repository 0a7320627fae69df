//! What machine code does not do.

use acc_core::ir::PrimOp;
use std::fmt::{self, Display, Formatter};

/// Why tiles compute a kernel, or a variant of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unsupported {
    /// It calls a host function of this name.
    HostFunction(String),
    /// This operation has no instructions.
    Operation(PrimOp),
    /// Its body has so many nodes, for which LLVM would take seconds.
    Body {
        /// The nodes.
        nodes: usize,
    },
    /// So many loops are in one another, for which LLVM would take minutes.
    LoopDepth {
        /// The loops.
        levels: usize,
    },
    /// Its folds keep so much on the stack.
    FoldStack {
        /// The bytes.
        bytes: usize,
    },
    /// The elements that a compaction keeps are computed on with their positions.
    CompactedPositions,
    /// Its loops are not those of the variant. Launches choose other variants.
    Variant(&'static str),
}

impl Display for Unsupported {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::HostFunction(name) => write!(f, "a call of the host function `{name}`"),
            Unsupported::Operation(p) => write!(f, "the operation `{}`", p.name()),
            Unsupported::Body { nodes } => write!(f, "a body of {nodes} nodes"),
            Unsupported::LoopDepth { levels } => write!(f, "{levels} loops in one another"),
            Unsupported::FoldStack { bytes } => write!(f, "folds that keep {bytes} bytes of a row"),
            Unsupported::CompactedPositions => f.write_str("a compaction whose positions are computed on"),
            Unsupported::Variant(what) => f.write_str(what),
        }
    }
}
