//! Convolutions of images by filters, and the patches under filters.

use super::groups::Groups;
use super::layout::{Images, PerAxis, Windows, read};
use crate::api::types::ranked::{self, Known};
use crate::api::{Acc, Array, Elt, Exp, IntoAcc, IntoExp, IxPart, Num, Shape};
use crate::builder::compose;

impl<Sh: Shape, E: Num> Acc<Array<Sh, E>> {
    /// Each filter over each image: of images `[image, channel, y, x]` and filters `[filter, channel, y, x]` the array
    /// `[image, filter, y, x]`, with one to three spatial axes. An element is the sum over channels and window of the
    /// products, the window not mirrored; beyond the edges is 0, which is multiplied, too: times an infinite weight it is NaN.
    /// Other numbers of channels are a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let image = generate((1, 1, 3, 4), |(_, _, y, x)| y * 4 + x);
    /// let filter = generate((1, 1, 2, 2), |(_, _, r, s)| r.eq(s).to_num::<i64>());
    /// let sums = Interpreter::new().run(image.conv(filter, Windows::valid()))?;
    /// assert_eq!((sums.shape(), sums.to_vec()), (Dim([1, 1, 2, 3]), vec![5, 7, 9, 13, 15, 17]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn conv<const S: usize>(&self, filters: impl IntoAcc<Array<Sh, E>>, windows: Windows<S>) -> Self
    where
        Sh: Images<S>,
    {
        self.conv_grouped(filters, 1, windows)
    }

    /// [`conv`](Acc::conv) in `groups` that share nothing: filters have a `groups`-th of the images' channels, and each
    /// `groups`-th of the filters, in order, is over such a part of the channels. With as many groups as channels this is
    /// the depthwise convolution. `groups` is at least 1.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let image = generate((1, 2, 3), |(_, channel, x)| channel * 10 + x);
    /// let filters = fill((2, 1, 2), 1i64);
    /// let sums = Interpreter::new().run(image.conv_grouped(&filters, 2, Windows::valid()))?;
    /// assert_eq!(sums.to_vec(), [1, 3, 21, 23]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_grouped<const S: usize>(
        &self,
        filters: impl IntoAcc<Array<Sh, E>>,
        groups: usize,
        windows: Windows<S>,
    ) -> Self
    where
        Sh: Images<S>,
    {
        let filters = filters.into_acc();
        compose(&"conv", || {
            let (image, filter) = (self.extent().parts(), filters.extent().parts());
            let (channels, of_filter) = (image[1], filter[1]);
            let groups = Groups::new(groups, S);
            let message = "conv: filters of {} channels in {} groups, but images of {}";
            let fits = groups.in_all(of_filter).eq(channels);
            // Both wait for the checks, whichever is needed first.
            let checked = |xs: &Self| {
                let xs = xs.check_with(fits, message, &[of_filter, groups.count(), channels]);
                groups.check("conv", filter[0], xs)
            };
            let (xs, filters) = (checked(self), checked(&filters));
            let per_group = groups.per_group(filter[0]);
            let layout = windows.over(&image[2..], &filter[2..]);
            let images = groups.of_images::<E>(&xs.node, image[0], &[&[of_filter], &image[2..]]);
            let by = groups.of_filters::<E>(&filters.node, &[&[per_group, of_filter], &filter[2..]]);
            let (outer, counts) = (groups.outer(image[0]), layout.counts());
            let shape = [&outer[..], &[per_group], &counts, &filter[1..]].concat();
            let terms = ranked::generate::<E>(&shape, |ix| {
                let (outer, ix) = ix.split_at(outer.len());
                let (o, window, channel, element) = (ix[0], &ix[1..1 + S], ix[1 + S], &ix[2 + S..]);
                let weight = [&groups.at(outer)[..], &[o, channel], element].concat();
                let at = layout.at(window, element);
                let x = read(&images, &[outer, &[channel]].concat(), at, |x| x, zero);
                E::mul(x, ranked::element(&by, &weight))
            });
            let summed = sums::<E>().folds(terms, shape.len(), 1 + S);
            ranked::typed(groups.reshape::<E>(&summed, &[&[image[0], filter[0]], &counts[..]].concat()))
        })
    }
}

#[track_caller]
pub(super) fn zero<E: Num>() -> Exp<E> {
    E::from_i64(0).into_exp()
}

/// Sums.
pub(super) fn sums<E: Num>() -> Known<E> {
    Known::new(Some(zero), |a, b| E::add(a, b))
}

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The patches under windows of these extents: of images `[image, channel, y, x]` the array
    /// `[image, channel, y, x, window y, window x]`, with one to three spatial axes (im2col, before it is reshaped).
    /// Beyond the edges is `other`.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((1, 1, 4), |(_, _, i)| i);
    /// let patches = Interpreter::new().run(xs.patches(2, Windows::same(), -1))?;
    /// assert_eq!((patches.shape(), patches.to_vec()), (Dim([1, 1, 4, 2]), vec![0, 1, 1, 2, 2, 3, 3, -1]));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn patches<const S: usize>(
        &self,
        window: impl PerAxis<S>,
        windows: Windows<S>,
        other: impl IntoExp<E>,
    ) -> Acc<Array<Sh::Patches, E>>
    where
        Sh: Images<S>,
    {
        compose(&"patches", || {
            let window = window.per_axis().map(IxPart::part);
            let image = self.extent().parts();
            let layout = windows.over(&image[2..], &window);
            let shape: Vec<_> = image[..2].iter().copied().chain(layout.counts()).chain(window).collect();
            ranked::typed(ranked::generate::<E>(&shape, |ix| {
                let at = layout.at(&ix[2..2 + S], &ix[2 + S..]);
                read(&self.node, &ix[..2], at, |x| x, || other.into_exp())
            }))
        })
    }
}
