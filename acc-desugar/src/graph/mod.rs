//! The first-order graph IR: what flattening makes and the graph backend plans, runs and exports.

mod body;
pub(crate) mod builder;
mod op;
pub(crate) mod rules;
mod shape;
mod size_op;
mod verify;
mod walk;

pub use crate::analysis::operators::{BitOp, ReduceOp};
pub(crate) use body::flat_types;
pub use body::{Body, Graph, MAX_RANK, Node, Source, Type, Value, Values};
pub use op::{FaultKind, Flags, Numbers, Op, PadMode, ScatterMode};
pub use shape::{Extent, Shapes, verify_shapes};
pub use size_op::SizeOp;
pub use verify::{GraphError, verify};
