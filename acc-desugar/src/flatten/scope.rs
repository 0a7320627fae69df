//! Arrays of the program in the graph, and what is known of their extents.

use crate::graph::builder::Builder;
use crate::graph::{Op, SizeOp, Value, Values};
use acc_core::ir::ArrayId;
use std::collections::{HashMap, HashSet};

/// Arrays that are in memory have fewer than 2^57 elements on every machine: with elements of this many bytes they would
/// still not be too large.
pub(super) const IN_MEMORY_ELEMENT_BYTES: usize = 64;

/// An array in the graph.
#[derive(Clone)]
pub(crate) struct Flat {
    /// The extents, sizes.
    pub(crate) shape: Values,
    /// One tensor per leaf, of the array's rank.
    pub(crate) columns: Values,
}

impl Flat {
    /// The extents, and then the columns.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.shape.iter().chain(&self.columns).copied()
    }
}

/// The arrays that are defined so far.
#[derive(Default)]
pub(super) struct Scope {
    arrays: HashMap<ArrayId, Flat>,
    /// Arrays that are evaluated whatever happens: parameters, and results of strict statements of the blocks around.
    pub(super) eager: HashSet<ArrayId>,
    /// Sizes known not to be negative.
    pub(super) extents: HashSet<Value>,
    /// The extents, sorted, of arrays that are evaluated, and how many bytes the elements of such arrays may have.
    pub(super) shapes: HashMap<Values, usize>,
}

impl Scope {
    pub(super) fn get(&self, a: ArrayId) -> Flat {
        self.arrays[&a].clone()
    }

    pub(super) fn define(&mut self, a: ArrayId, flat: Flat) {
        self.arrays.insert(a, flat);
    }

    /// The extents and columns of arrays, one after the other.
    pub(super) fn values(&self, arrays: &[ArrayId]) -> Vec<Value> {
        arrays.iter().flat_map(|a| self.arrays[a].values()).collect()
    }

    /// Whether a size is known to be an extent.
    pub(super) fn is_extent(&self, b: &Builder, size: Value) -> bool {
        self.extents.contains(&b.origin(size))
    }

    /// Whether a size is certainly not negative.
    pub(super) fn is_natural(&self, b: &Builder, v: Value) -> bool {
        let v = b.origin(v);
        let is_natural = |x: &Value| self.is_extent(b, *x) || b.const_size(*x).is_some_and(|n| n >= 0);
        self.extents.contains(&v)
            || match b.def(v) {
                Some(Op::Size(n)) => *n >= 0,
                Some(Op::SizeOp(SizeOp::Mul | SizeOp::Count | SizeOp::Add | SizeOp::Quot, x, y)) => {
                    is_natural(x) && is_natural(y)
                }
                _ => false,
            }
    }

    /// Notes the shape of an array that is evaluated, of elements of so many bytes.
    pub(super) fn note_shape(&mut self, b: &Builder, shape: &[Value], bytes: usize) {
        let noted = self.shapes.entry(in_any_order(b, shape)).or_default();
        *noted = bytes.max(1).max(*noted);
    }

    /// Whether arrays of this shape, or of one with the same extents in another order, are known not to be too large.
    pub(super) fn is_shape(&self, b: &Builder, sizes: &[Value], bytes: usize) -> bool {
        self.shapes.get(&in_any_order(b, sizes)).is_some_and(|noted| bytes <= *noted)
    }
}

fn in_any_order(b: &Builder, shape: &[Value]) -> Values {
    let mut extents: Values = shape.iter().map(|n| b.origin(*n)).collect();
    extents.sort_unstable();
    extents
}
