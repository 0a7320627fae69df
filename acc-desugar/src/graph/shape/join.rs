//! Extents where control flow joins: what comes out of a branch, and the state of a loop.
//!
//! A tensor that comes in two ways has an extent if both ways agree: one of the same sizes on both, or, where arrays lie as
//! their extents followed by their columns, the size before it on either way. Nodes after the join, and those of a loop's
//! step, need the extent before all ways are known. So it has a number until the whole graph has been looked at, and its
//! extent is assumed; then what was assumed and does not hold is given up, until all that is left does.

use super::super::{Type, Value};
use super::Extent;

/// An extent while a graph is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inferred {
    /// It is known, or known to be unknown.
    Known(Extent),
    /// That of a join, of a tensor before which stands `own`, if a size does.
    Joined { join: usize, own: Extent },
}

impl Inferred {
    pub(super) const ONE: Inferred = Inferred::Known(Extent::Const(1));
    pub(super) const UNKNOWN: Inferred = Inferred::Known(Extent::Unknown);
}

/// What is assumed of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Assumed {
    /// On each way the extent is the size before the tensor.
    Own,
    /// It is the same on both ways.
    Same,
    /// Neither.
    Nothing,
}

/// One way into a join: an extent, and the size before the tensor, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) extent: Inferred,
    pub(super) own: Extent,
}

struct Join {
    ways: [Way; 2],
    assumed: Assumed,
}

/// The joins of a graph.
#[derive(Default)]
pub(super) struct Joins(Vec<Join>);

impl Joins {
    /// A join of which one way is known; the other one is assumed to agree with it.
    pub(super) fn add(&mut self, first: Way) -> usize {
        let assumed = if self.is_own(first) { Assumed::Own } else { Assumed::Same };
        self.0.push(Join { ways: [first; 2], assumed });
        self.0.len() - 1
    }

    /// The other way.
    pub(super) fn complete(&mut self, join: usize, second: Way) {
        if let Some(join) = self.0.get_mut(join) {
            join.ways[1] = second;
        }
    }

    fn is_own(&self, way: Way) -> bool {
        way.own != Extent::Unknown && self.resolve(way.extent) == way.own
    }

    /// An extent by what is assumed now.
    pub(super) fn resolve(&self, mut e: Inferred) -> Extent {
        loop {
            match e {
                Inferred::Known(e) => return e,
                Inferred::Joined { join, own } => match self.0.get(join) {
                    Some(Join { assumed: Assumed::Own, .. }) => return own,
                    // What comes in first was defined before.
                    Some(Join { assumed: Assumed::Same, ways: [first, _] }) => e = first.extent,
                    Some(Join { assumed: Assumed::Nothing, .. }) | None => return Extent::Unknown,
                },
            }
        }
    }

    /// Gives up what does not hold, until all that is left does.
    pub(super) fn settle(&mut self) {
        loop {
            let mut holds = true;
            for k in 0..self.0.len() {
                let Join { ways: [first, second], assumed } = self.0[k];
                let assumed_now = match assumed {
                    Assumed::Own if !(self.is_own(first) && self.is_own(second)) => Assumed::Same,
                    Assumed::Same if self.resolve(first.extent) != self.resolve(second.extent) => Assumed::Nothing,
                    kept => kept,
                };
                if assumed_now != assumed {
                    self.0[k].assumed = assumed_now;
                    holds = false;
                }
            }
            if holds {
                return;
            }
        }
    }
}

/// For each value of a list the size that each of its axes would have if arrays lay as their extents followed by their
/// columns: the position of that size in the list.
pub(super) fn sizes_before(types: &[Type]) -> Vec<Vec<Option<usize>>> {
    let mut sizes: Vec<usize> = Vec::new();
    let mut after_column = false;
    let of = |(at, ty): (usize, &Type)| match ty {
        Type::Size => {
            if std::mem::take(&mut after_column) {
                sizes.clear();
            }
            sizes.push(at);
            Vec::new()
        }
        Type::Tensor { rank, .. } => {
            after_column = true;
            // Extents of an array without columns may stand before.
            match sizes.len().checked_sub(*rank) {
                Some(start) => sizes[start..].iter().copied().map(Some).collect(),
                None => vec![None; *rank],
            }
        }
        Type::Token => Vec::new(),
    };
    types.iter().enumerate().map(of).collect()
}

/// The axes of a tensor that joins, as it is seen where these are the values.
pub(super) fn seen(
    values: &[Value],
    before: &[Option<usize>],
    joins: &[usize],
    size: impl Fn(Value) -> Extent,
) -> Vec<Inferred> {
    let own = |p: &Option<usize>| p.and_then(|p| values.get(p)).map_or(Extent::Unknown, |v| size(*v));
    before.iter().zip(joins).map(|(p, join)| Inferred::Joined { join: *join, own: own(p) }).collect()
}
