//! Groups of channels: convolutions that share nothing, side by side.

use crate::api::types::ranked;
use crate::api::{Acc, Array, Elt, Exp, IxPart, Shape};
use crate::builder::AccRef;
use crate::verify::MAX_RANK;

/// The groups of a convolution.
pub(super) struct Groups {
    count: Exp<i64>,
    axis: Axis,
}

/// Where the group stands in an index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    /// Nowhere: there is one.
    None,
    /// Along an axis of its own, after that of images: every index is affine.
    Own,
    /// Along the axis of images, since there is no room for another one: its remainder by the number of groups.
    OfImages,
}

impl Groups {
    /// Groups of a convolution with so many spatial axes.
    #[track_caller]
    pub(super) fn new(count: usize, spatial: usize) -> Groups {
        let axis = match count {
            1 => Axis::None,
            _ if 4 + 2 * spatial <= MAX_RANK => Axis::Own,
            _ => Axis::OfImages,
        };
        Groups { count: count.part(), axis }
    }

    pub(super) fn count(&self) -> Exp<i64> {
        self.count
    }

    /// How many of so many each group has.
    #[track_caller]
    pub(super) fn per_group(&self, all: Exp<i64>) -> Exp<i64> {
        if self.axis == Axis::None { all } else { all / self.count }
    }

    /// How many all groups have, of which each has so many.
    #[track_caller]
    pub(super) fn in_all(&self, per_group: Exp<i64>) -> Exp<i64> {
        if self.axis == Axis::None { per_group } else { per_group * self.count }
    }

    /// The extents of the axes of images and groups.
    #[track_caller]
    pub(super) fn outer(&self, images: Exp<i64>) -> Vec<Exp<i64>> {
        match self.axis {
            Axis::None => vec![images],
            Axis::Own => vec![images, self.count],
            Axis::OfImages => vec![images * self.count],
        }
    }

    /// The group at an index along these axes, if there is more than one.
    #[track_caller]
    pub(super) fn at(&self, outer: &[Exp<i64>]) -> Vec<Exp<i64>> {
        match self.axis {
            Axis::None => Vec::new(),
            Axis::Own => vec![outer[1]],
            Axis::OfImages => vec![outer[0] % self.count],
        }
    }

    /// The array after a check that each group has as many filters as the others.
    #[track_caller]
    pub(super) fn check<Sh: Shape, E: Elt>(
        &self,
        name: &str,
        filters: Exp<i64>,
        xs: Acc<Array<Sh, E>>,
    ) -> Acc<Array<Sh, E>> {
        if self.axis == Axis::None {
            return xs;
        }
        let message = format!("{name}: {{}} filters are no whole number for each of {{}} groups");
        xs.check_with((filters % self.count).eq(0), &message, &[filters, self.count])
    }

    /// Images, or what is computed of them, with the axes of [`outer`](Groups::outer), and then these extents.
    #[track_caller]
    pub(super) fn of_images<E: Elt>(&self, xs: &AccRef, images: Exp<i64>, inner: &[&[Exp<i64>]]) -> AccRef {
        self.reshape::<E>(xs, &[&self.outer(images)[..], &inner.concat()].concat())
    }

    /// Filters with an axis of groups, if there is more than one, and then these extents.
    #[track_caller]
    pub(super) fn of_filters<E: Elt>(&self, filters: &AccRef, inner: &[&[Exp<i64>]]) -> AccRef {
        self.reshape::<E>(filters, &[&[self.count][..], &inner.concat()].concat())
    }

    /// An array of these extents; unless there is one group, whose array has them.
    #[track_caller]
    pub(super) fn reshape<E: Elt>(&self, xs: &AccRef, extents: &[Exp<i64>]) -> AccRef {
        if self.axis == Axis::None { xs.clone() } else { ranked::reshape::<E>(xs, extents) }
    }
}
