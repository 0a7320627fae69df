//! The first-order graph IR: what flattening makes and the graph backend plans, runs and exports.

pub(crate) mod builder;
mod op;
mod shape;
mod verify;
mod walk;

pub use op::{Body, FaultKind, Graph, Known, Node, Op, PadMode, ScatterMode, SizeOp, Source, Type, Value, Values};
pub use shape::{Extent, Shapes};
pub use verify::{GraphError, verify};
