//! Transposed convolutions: from what a convolution yields to the images that it is of.

use super::convolution::{sums, zero};
use super::groups::Groups;
use super::layout::{Images, Spacing, Windows, read, step, times};
use crate::api::types::ranked;
use crate::api::{Acc, Array, Exp, IntoAcc, Num, Shape};
use crate::builder::compose;
use crate::verify::MAX_RANK;

impl<Sh: Shape, E: Num> Acc<Array<Sh, E>> {
    /// The transpose of [`conv`](Acc::conv), also called a deconvolution or a convolution with fractional strides: of
    /// `[image, filter, y, x]` and the filters `[filter, channel, y, x]` of that convolution the images
    /// `[image, channel, y, x]`. It adds each filter, times an element, to the window that the convolution reads for the
    /// element. It is also the gradient of that convolution by its images, and makes images larger where windows have a
    /// stride. Beyond the edges of images and windows is 0, which is multiplied, too: times an infinite number it is NaN.
    ///
    /// Along an axis with `n` elements, a window of `w` and a stride `s` the result has `(n - 1) * s + w` elements, less the
    /// padding, and at least 0; for [`Windows::same`] it has `n * s`. Other numbers of filters are a fault.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let image = enum_from((1, 1, 3), 1i64);
    /// let filter = generate((1, 1, 3), |(_, _, x)| x.eq(0).then_else(1i64, x.eq(1).then_else(10i64, 100i64)));
    /// let sums = |windows| Interpreter::new().run(image.conv_transposed(&filter, windows)).map(|xs| xs.to_vec());
    /// assert_eq!(sums(Windows::valid().stride(2))?, [1, 10, 102, 20, 203, 30, 300]);
    /// assert_eq!(sums(Windows::same())?, [12, 123, 230]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_transposed<const S: usize>(&self, filters: impl IntoAcc<Array<Sh, E>>, windows: Windows<S>) -> Self
    where
        Sh: Images<S>,
    {
        self.conv_transposed_grouped(filters, 1, windows)
    }

    /// [`conv_transposed`](Acc::conv_transposed) in `groups` that share nothing, the transpose of
    /// [`conv_grouped`](Acc::conv_grouped): the result has as many channels as the filters, times the groups.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let image = generate((1, 2, 2), |(_, channel, x)| channel * 10 + x);
    /// let filters = fill((2, 1, 2), 1i64);
    /// let sums = Interpreter::new().run(image.conv_transposed_grouped(&filters, 2, Windows::valid()))?;
    /// assert_eq!(sums.to_vec(), [0, 1, 1, 10, 21, 11]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn conv_transposed_grouped<const S: usize>(
        &self,
        filters: impl IntoAcc<Array<Sh, E>>,
        groups: usize,
        windows: Windows<S>,
    ) -> Self
    where
        Sh: Images<S>,
    {
        let filters = filters.into_acc();
        compose(&"conv_transposed", || {
            let (image, filter) = (self.extent().parts(), filters.extent().parts());
            let message = "conv_transposed: {} filters, but images with {} channels";
            let groups = Groups::new(groups, S);
            // Both wait for the checks, whichever is needed first.
            let checked = |xs: &Self| {
                let xs = xs.check_with(filter[0].eq(image[1]), message, &[filter[0], image[1]]);
                groups.check("conv_transposed", filter[0], xs)
            };
            let (xs, filters) = (checked(self), checked(&filters));
            let (per_group, channels) = (groups.per_group(filter[0]), filter[1]);
            let images = groups.of_images::<E>(&xs.node, image[0], &[&[per_group], &image[2..]]);
            let by = groups.of_filters::<E>(&filters.node, &[&[per_group], &filter[1..]]);
            let outer = [&groups.outer(image[0])[..], &[channels]].concat();
            let axes = axes(windows.spacing(&image[2..], &filter[2..]), MAX_RANK - (outer.len() + 1 + 2 * S));
            let places = axes.iter().flat_map(Axis::places);
            let elements = axes.iter().map(Axis::elements);
            let shape: Vec<_> = outer.iter().copied().chain(places).chain([per_group]).chain(elements).collect();
            let inner = shape.len() - 1 - S;
            let terms = ranked::generate::<E>(&shape, |ix| {
                let (of_image, channel, filter) = (&ix[..outer.len() - 1], ix[outer.len() - 1], ix[inner]);
                let mut places = &ix[outer.len()..inner];
                let (mut at, mut weight) = (Reached::default(), Reached::default());
                for (axis, element) in axes.iter().zip(&ix[inner + 1..]) {
                    let (here, rest) = places.split_at(axis.places().len());
                    places = rest;
                    axis.read(here, *element, &mut at, &mut weight);
                }
                let x = read(&images, &[of_image, &[filter]].concat(), at.parts(), |x| x, zero);
                let of_filter = [&groups.at(of_image)[..], &[filter, channel]].concat();
                E::mul(x, read(&by, &of_filter, weight.parts(), |weight| weight, zero))
            });
            let mut summed = sums::<E>().folds(terms, shape.len(), 1 + S);
            let extents: Vec<_> = axes.iter().map(|axis| axis.extent).collect();
            if axes.iter().any(|axis| axis.by == By::Phases) {
                // They are interleaved.
                summed = ranked::generate::<E>(&[&outer[..], &extents].concat(), |ix| {
                    let (outer, places) = ix.split_at(outer.len());
                    let places: Vec<_> = axes.iter().zip(places).flat_map(|(axis, i)| axis.place(*i)).collect();
                    ranked::element(&summed, &[outer, &places].concat())
                });
            }
            ranked::typed(groups.reshape::<E>(&summed, &[&[image[0], groups.in_all(channels)], &extents[..]].concat()))
        })
    }
}

/// How the elements along an axis of the result are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Each by its position: all elements of the window are looked at.
    Position,
    /// By phases (polyphase decomposition, as in subpixel convolution): the elements `s·v + r` for each remainder `r` by the stride
    /// `s` are an axis of their own, along which only elements `r + s·q` of the window count.
    Phases,
}

/// An axis of the result.
struct Axis {
    spacing: Spacing,
    extent: Exp<i64>,
    by: By,
}

/// The axes of the result. Phases take an axis more, of which there is room for so many.
#[track_caller]
fn axes(spacing: Vec<Spacing>, mut room: usize) -> Vec<Axis> {
    let axis = |spacing: Spacing| {
        let by_phases = room > 0 && spacing.stride > 1 && spacing.dilation == 1;
        room -= usize::from(by_phases);
        let by = if by_phases { By::Phases } else { By::Position };
        Axis { extent: spacing.transposed, spacing, by }
    };
    spacing.into_iter().map(axis).collect()
}

impl Axis {
    /// The extents of what is computed along it: the position, or the phase and the position in it.
    #[track_caller]
    fn places(&self) -> Vec<Exp<i64>> {
        match self.by {
            By::Position => vec![self.extent],
            By::Phases => {
                let stride = step(self.spacing.stride);
                vec![stride, (self.extent + self.spacing.low + stride - 1) / stride]
            }
        }
    }

    /// How many elements of a window are looked at for one element.
    #[track_caller]
    fn elements(&self) -> Exp<i64> {
        match self.by {
            By::Position => self.spacing.window,
            By::Phases => (self.spacing.window + step(self.spacing.stride) - 1) / step(self.spacing.stride),
        }
    }

    /// Where an element of the result is computed.
    #[track_caller]
    fn place(&self, i: Exp<i64>) -> Vec<Exp<i64>> {
        match self.by {
            By::Position => vec![i],
            By::Phases => {
                let (i, stride) = (i + self.spacing.low, step(self.spacing.stride));
                vec![i % stride, i / stride]
            }
        }
    }

    /// Adds the position in the given image and the element of its window.
    #[track_caller]
    fn read(&self, place: &[Exp<i64>], element: Exp<i64>, at: &mut Reached, weight: &mut Reached) {
        let Spacing { stride, dilation, window, image, low, .. } = self.spacing;
        let within = |i: Exp<i64>| i.ge(0) & i.lt(image);
        if let [phase, position] = *place {
            let (of_window, position) = (phase + times(element, stride), position - element);
            at.push(position, Some(within(position)));
            weight.push(of_window, Some(of_window.lt(window)));
            return;
        }
        weight.push(element, None);
        let from = place[0] + low - times(element, dilation);
        if stride == 1 {
            at.push(from, Some(within(from)));
            return;
        }
        let position = from / step(stride);
        at.push(position, Some(from.ge(0) & (from % step(stride)).eq(0) & within(position)));
    }
}

/// Positions along the axes of an array, and the condition that all are in it.
#[derive(Default)]
struct Reached {
    at: Vec<Exp<i64>>,
    inside: Option<Exp<bool>>,
}

impl Reached {
    #[track_caller]
    fn push(&mut self, position: Exp<i64>, holds: Option<Exp<bool>>) {
        self.at.push(position);
        self.inside = match (self.inside, holds) {
            (Some(a), Some(b)) => Some(a & b),
            (a, b) => a.or(b),
        };
    }

    fn parts(self) -> (Vec<Exp<i64>>, Option<Exp<bool>>) {
        (self.at, self.inside)
    }
}
