//! The first-order graph IR: what flattening makes and the graph backend plans, runs and exports.

pub(crate) mod builder;
mod op;
mod verify;

pub use op::{Body, FaultKind, Graph, Known, Node, Op, ScatterMode, SizeOp, Source, Type, Value, Values};
pub use verify::{GraphError, verify};
