//! The builder behind the typed API: scalar expressions under construction, and how they become functions.
//!
//! Scalar expressions live in *frames* on a thread-local stack (`frame`); a handle ([`ExpRef`]) is a frame's serial
//! number and an index. When a closure ends, `freeze` makes its result a [`Fun`](crate::ir::Fun) with regions
//! and the frame goes. What is made outside every closure is of the *ambient* frame, and `ambient` says how long it
//! lives. Array expressions are immutable reference-counted nodes ([`AccRef`]); `program` numbers them
//! into a [`Program`](crate::ir::Program).

mod acc;
mod ambient;
mod applied;
mod expressions;
mod extents;
mod frame;
mod freeze;
mod graph;
pub(crate) mod lift;
mod nodes;
mod program;
mod schedule;
mod wide;

pub use acc::{AccFun, AccNode, AccOp, AccRef, AccType, Building, Frozen, array_function, lambda_id};
pub(crate) use ambient::Purpose;
pub(crate) use applied::applied;
pub use expressions::{cast, coerce, cond, constant, element, extent, literal, prim, proj, tuple, zero};
pub use frame::{
    ExpOp, ExpRef, FrameKind, closed, derivative, foreign, lambda, live_nodes, loop_body, push, reset_ambient, scope,
    while_loop, with_partials,
};
pub(crate) use frame::{compose, in_scalar_code, program_built};
pub use program::{Built, build, build_within};
