//! The core IR: what the typed API builds, passes rewrite and backends read.
//!
//! A [`Program`] is an array function: statements in SSA order, in blocks ([`array`](self::ArrayOp)). Each array
//! operation carries scalar functions ([`Fun`]): SSA with regions for branches and loop bodies, over the scalar leaves
//! of element types. Types are dynamic; the [verifier](crate::verify) checks them. Extents are run-time values.
//!
//! When things are evaluated:
//!
//! * Array statements on demand, each at most once each time its block runs.
//! * Scalar nodes in order, whenever control reaches their region. A node that can fault or fail to end (*partial*)
//!   stands only in a region that needs its value.

mod array;
mod counted;
mod demand;
mod dialect;
mod extents;
mod loc;
mod names;
mod op_table;
mod ops;
mod prim;
mod scalar;
mod schedule;

pub use array::{
    ArrayId, ArrayType, Axis, Block, Dir, ForeignFun, Mode, Program, SEGMENT_EMPTY, SEGMENTS_WRONG, Stmt,
    TANGENT_EXTENTS,
};
pub use counted::{CountedLoop, Part};
pub use demand::{Use, arrays_needed, arrays_of_fun, arrays_on_demand, free_arrays, strict_statements};
pub use dialect::{Dialect, Foreign, Index, OwnOp, Programs};
pub use extents::{Extents, Sizes, result_extents};
pub use loc::Loc;
pub use names::{ArrayName, Names};
pub(crate) use op_table::with_array_ops;
pub use ops::{ArrayOp, Boundary, Class, Closed, Ir, Mapper, OpPart, Rep, StencilInput};
pub use prim::{Domain, PrimOp, Yields, bitcast_exists, cast_exists};
pub use scalar::{Fun, Node, Read, Region, Renumbering, ScalarOp, Val, Vals};
pub use schedule::{Collapse, Loop, MAX_UNROLLED_COPIES, Mark, Regroup, Schedule};
