//! How lanes read arrays: as views where the index is understood, by gathers elsewhere.

pub(crate) mod affine;
mod axis_access;
pub(crate) mod clamped;
mod exact;
pub(crate) mod guarded;
pub(crate) mod on_demand;
pub(crate) mod read;
pub(crate) mod split_axis;
pub(crate) mod wrapped;

use crate::analysis::access::Index;
use crate::flatten::control::index_set_splitting::Borders;
use crate::graph::Value;
use std::collections::HashMap;

/// What is known of integers and conditions that are computed of the index.
#[derive(Default)]
pub(crate) struct Indices {
    /// The affine integers met so far.
    pub(crate) affines: Vec<affine::Affine>,
    /// The tensors that are known as an index: between bounds, or a remainder.
    pub(crate) known: HashMap<Value, Index<Value, affine::LaneAxis>>,
    /// The conditions that hold up to a position of an axis, or from there on.
    pub(crate) borders: HashMap<Value, Borders>,
    /// What conditions say of indices.
    pub(crate) bounds: HashMap<Value, guarded::Bounds>,
    /// Of an array that is evaluated only if a lane demands it, each extent (0 if none does) and what it is where one does.
    pub(crate) demanded: HashMap<Value, Value>,
}
