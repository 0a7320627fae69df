//! What becomes of the elements of a segment.

use crate::buffer::OutSlice;
use crate::kernel::SegmentOperator;
use crate::tile::choices::{INITIAL, Keys, Order, key};
use crate::tile::lanes::{self, Lanes};
use crate::tile::reduce::combine_bits;
use crate::tile::segments::segments as reduce_segments;
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use acc_desugar::analysis::choice::{Nans, Ties};
use acc_desugar::analysis::operators::ReduceOp;

/// Lanes behind the last segment that may be read.
pub(super) const READ_BEYOND: usize = crate::tile::segments::READ_BEYOND;

/// How elements are combined.
pub(super) struct Reduction<'a> {
    how: How<'a>,
    types: &'a [ScalarType],
}

enum How<'a> {
    /// Each leaf by itself.
    Builtin(&'a [PrimOp]),
    /// The best element by the order of a leaf.
    Choice(usize, Order),
}

/// Memory of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// The keys of a block's elements, by which the best ones are chosen.
    keys: Option<Keys>,
    /// The positions of those.
    at: Vec<u32>,
}

/// Segments of a block: one begins at each offset but the last one.
#[derive(Clone, Copy)]
pub(super) struct Segments<'a> {
    pub elements: &'a [Lanes],
    pub offsets: &'a [i64],
    /// The offset of the first element.
    pub origin: i64,
}

impl<'a> Reduction<'a> {
    pub(super) fn new(operator: &'a SegmentOperator, types: &'a [ScalarType]) -> Reduction<'a> {
        let how = match operator {
            SegmentOperator::Builtin(ops) => How::Builtin(ops),
            SegmentOperator::Choice(choice) => {
                let greatest = matches!(choice.best, ReduceOp::Max | ReduceOp::Any);
                let (nan_takes, nan_stays) = match choice.nans {
                    Nans::Lose => (false, true),
                    Nans::Win => (true, true),
                    Nans::Yield => (true, false),
                };
                How::Choice(choice.leaf, Order { greatest, last: choice.ties == Ties::Last, nan_takes, nan_stays })
            }
        };
        Reduction { how, types }
    }

    /// Memory for blocks of at most so many elements.
    pub(super) fn scratch(&self, elements: usize) -> Scratch {
        let keys = match self.how {
            How::Builtin(_) => None,
            How::Choice(leaf, order) => Some(Keys::new(self.types[leaf], order, elements)),
        };
        Scratch { keys, at: Vec::new() }
    }

    /// What segments of a block share; it has so many elements.
    pub(super) fn begin(&self, elements: &[Lanes], len: usize, scratch: &mut Scratch) {
        if let (How::Choice(leaf, _), Some(keys)) = (&self.how, &mut scratch.keys) {
            keys.fill(elements[*leaf].slice(len));
        }
    }

    /// Reduces segments of the block that was begun, after an initial value if there is one.
    pub(super) fn segments<'o>(
        &self,
        own: Segments<'_>,
        init: Option<&[u64]>,
        outs: &mut dyn Iterator<Item = OutSlice<'o>>,
        scratch: &mut Scratch,
    ) {
        let Segments { elements, offsets, origin } = own;
        let (leaf, order) = match &self.how {
            How::Builtin(ops) => {
                for (k, ((&op, x), out)) in ops.iter().zip(elements).zip(outs).enumerate() {
                    reduce_segments(op, x, (offsets, origin), init.map(|init| init[k]), out);
                }
                return;
            }
            How::Choice(leaf, order) => (*leaf, *order),
        };
        let Scratch { keys: Some(keys), at } = scratch else { return };
        keys.best(offsets, origin, init.map(|init| key(self.types[leaf], init[leaf], order)), at);
        let initial: Vec<usize> = (0..at.len()).filter(|k| at[*k] == INITIAL).collect();
        initial.iter().for_each(|&segment| at[segment] = 0);
        for (k, (x, mut out)) in elements.iter().zip(outs).enumerate() {
            lanes::gather(x.slice(usize::MAX), at, out.reborrow());
            let bits = init.map_or(0, |init| init[k]);
            initial.iter().for_each(|&segment| lanes::fill_first(out.reborrow().split_at(segment).1, bits));
        }
    }

    /// Two consecutive elements, combined.
    pub(super) fn combined(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        match &self.how {
            How::Builtin(ops) => {
                let leaves = ops.iter().zip(self.types).zip(a.iter().zip(b));
                leaves.map(|((&op, &ty), (&a, &b))| combine_bits(op, ty, a, b)).collect()
            }
            How::Choice(leaf, order) => {
                let ty = self.types[*leaf];
                let of = |x: &[u64]| key(ty, x[*leaf], *order);
                if order.takes(ty, of(a), of(b)) { b.to_vec() } else { a.to_vec() }
            }
        }
    }
}
