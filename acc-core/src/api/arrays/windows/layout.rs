//! Where windows lie.

use crate::api::types::ranked;
use crate::api::{DIM3, DIM4, DIM5, DIM6, DIM8, Elt, Exp, IxPart, Shape, lift};
use crate::builder::AccRef;

/// Shapes of images with `S` spatial axes: `[image, channel, x]`, `[image, channel, y, x]`,
/// `[image, channel, z, y, x]`.
///
/// ```
/// use acc_core::prelude::*;
/// fn halved<const S: usize, Sh: Images<S>>(xs: &Acc<Array<Sh, f32>>) -> Acc<Array<Sh, f32>> {
///     xs.mean_pool(2, Windows::valid().stride(2))
/// }
/// let image = fill((1, 3, 8, 6), 1.0f32);
/// assert_eq!(Interpreter::new().run(halved(&image))?.shape(), Dim([1, 3, 4, 3]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of images with {S} spatial axes",
    note = "images are `[image, channel, y, x]`, with one to three spatial axes; `reshape` adds an axis of extent 1"
)]
pub trait Images<const S: usize>: Shape {
    /// The shape of their patches: `[image, channel, position.., window..]`.
    type Patches: Shape;
}
impl Images<1> for DIM3 {
    type Patches = DIM4;
}
impl Images<2> for DIM4 {
    type Patches = DIM6;
}
impl Images<3> for DIM5 {
    type Patches = DIM8;
}

/// A number for each of `S` axes: one for all of them, or an array.
///
/// ```
/// use acc_core::prelude::*;
/// assert_eq!(Windows::<2>::valid().stride(2), Windows::valid().stride([2, 2]));
/// ```
pub trait PerAxis<const S: usize> {
    /// As an array.
    fn per_axis(self) -> [usize; S];
}
impl<const S: usize> PerAxis<S> for usize {
    fn per_axis(self) -> [usize; S] {
        [self; S]
    }
}
impl<const S: usize> PerAxis<S> for [usize; S] {
    fn per_axis(self) -> [usize; S] {
        self
    }
}

/// How windows lie over `S` spatial axes: how far apart they are, how far apart their elements are, and what is read
/// beyond the edges. Steps and dilations are at least 1.
///
/// ```
/// use acc_core::prelude::*;
/// let image = fill((1, 1, 5, 6), 1.0f32);
/// let extents = |windows| Interpreter::new().run(image.mean_pool(3, windows)).map(|y| y.shape());
/// assert_eq!(extents(Windows::valid())?, Dim([1, 1, 3, 4]));
/// assert_eq!(extents(Windows::same())?, Dim([1, 1, 5, 6]));
/// assert_eq!(extents(Windows::same().stride([1, 2]))?, Dim([1, 1, 5, 3]));
/// assert_eq!(extents(Windows::padded([(0, 1), (0, 0)]))?, Dim([1, 1, 4, 4]));
/// assert_eq!(extents(Windows::valid().dilation(2))?, Dim([1, 1, 1, 2]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows<const S: usize> {
    stride: [usize; S],
    dilation: [usize; S],
    padding: Padding<S>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Padding<const S: usize> {
    Valid,
    Same,
    Given([(usize, usize); S]),
}

impl<const S: usize> Windows<S> {
    fn with(padding: Padding<S>) -> Self {
        Windows { stride: [1; S], dilation: [1; S], padding }
    }
    /// Those that lie inside of the image.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((1, 1, 4), |(_, _, i)| i);
    /// assert_eq!(Interpreter::new().run(xs.max_pool(3, Windows::valid()))?.to_vec(), [2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn valid() -> Self {
        Self::with(Padding::Valid)
    }
    /// As many as there are steps in the image, half of what is missing before it and half, or one more, after it.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((1, 1, 4), |(_, _, i)| i);
    /// assert_eq!(Interpreter::new().run(xs.max_pool(3, Windows::same()))?.to_vec(), [1, 2, 3, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn same() -> Self {
        Self::with(Padding::Same)
    }
    /// Those inside of the image with so many positions more before and after it, along each axis.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((1, 1, 4), |(_, _, i)| i);
    /// assert_eq!(Interpreter::new().run(xs.max_pool(3, Windows::padded([(2, 0)])))?.to_vec(), [0, 1, 2, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn padded(amounts: [(usize, usize); S]) -> Self {
        Self::with(Padding::Given(amounts))
    }
    /// So many positions from one window to the next.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((1, 1, 4), |(_, _, i)| i);
    /// assert_eq!(Interpreter::new().run(xs.max_pool(2, Windows::valid().stride(2)))?.to_vec(), [1, 3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[must_use]
    pub fn stride(self, by: impl PerAxis<S>) -> Self {
        Windows { stride: by.per_axis(), ..self }
    }
    /// So many positions from one element of a window to the next.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let xs = generate((1, 1, 4), |(_, _, i)| i);
    /// assert_eq!(Interpreter::new().run(xs.max_pool(2, Windows::valid().dilation(3)))?.to_vec(), [3]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[must_use]
    pub fn dilation(self, by: impl PerAxis<S>) -> Self {
        Windows { dilation: by.per_axis(), ..self }
    }

    /// How windows of these extents lie over images of those.
    #[track_caller]
    pub(super) fn over(&self, image: &[Exp<i64>], window: &[Exp<i64>]) -> Layout {
        let axes = image.iter().zip(window).enumerate().map(|(axis, (&image, &window))| {
            let (stride, dilation) = (self.stride[axis], self.dilation[axis]);
            let reach = times(window - 1, dilation) + 1;
            let fit = |n: Exp<i64>| {
                let first_to_last = n - reach;
                if stride == 1 {
                    (first_to_last + 1).max(0)
                } else {
                    ((first_to_last + step(stride)) / step(stride)).max(0)
                }
            };
            let (count, low) = match self.padding {
                Padding::Valid => (fit(image), None),
                Padding::Given(amounts) => {
                    let (low, high) = amounts[axis];
                    (fit(image + step(low + high)), (low + high > 0).then(|| step(low)))
                }
                Padding::Same => {
                    let count = if stride == 1 { image } else { (image + step(stride) - 1) / step(stride) };
                    let missing = (times(count - 1, stride) + reach - image).max(0);
                    (count, Some(missing >> 1))
                }
            };
            AxisLayout { stride, dilation, count, low, image }
        });
        Layout(axes.collect())
    }
}

/// How windows lie along one axis of what a convolution yields.
#[derive(Clone, Copy)]
pub(super) struct Spacing {
    pub stride: usize,
    pub dilation: usize,
    /// The elements of a window.
    pub window: Exp<i64>,
    /// How many windows there are.
    pub image: Exp<i64>,
    /// The extent of what the windows are of.
    pub transposed: Exp<i64>,
    /// How far before that the first window begins.
    pub low: Exp<i64>,
}

impl<const S: usize> Windows<S> {
    /// How windows of these extents lie, if there are so many.
    #[track_caller]
    pub(super) fn spacing(&self, image: &[Exp<i64>], window: &[Exp<i64>]) -> Vec<Spacing> {
        let axes = image.iter().zip(window).enumerate().map(|(axis, (&image, &window))| {
            let (stride, dilation) = (self.stride[axis], self.dilation[axis]);
            let all = times(image - 1, stride) + times(window - 1, dilation) + 1;
            let (transposed, low) = match self.padding {
                Padding::Valid => (all.max(0), step(0)),
                Padding::Given(amounts) => {
                    let (low, high) = amounts[axis];
                    ((all - step(low + high)).max(0), step(low))
                }
                Padding::Same => {
                    let transposed = times(image, stride);
                    (transposed, (all - transposed).max(0) >> 1)
                }
            };
            Spacing { stride, dilation, window, image, transposed, low }
        });
        axes.collect()
    }
}

/// An extent as an expression.
#[track_caller]
pub(super) fn step(n: usize) -> Exp<i64> {
    n.part()
}

#[track_caller]
pub(super) fn times(x: Exp<i64>, by: usize) -> Exp<i64> {
    if by == 1 { x } else { x * step(by) }
}

/// Where the windows lie over the spatial axes of an image.
pub(super) struct Layout(Vec<AxisLayout>);

struct AxisLayout {
    stride: usize,
    dilation: usize,
    /// How many windows there are.
    count: Exp<i64>,
    /// How far before the image the first one begins, where windows reach beyond edges.
    low: Option<Exp<i64>>,
    /// The image's extent.
    image: Exp<i64>,
}

impl Layout {
    /// How many windows there are along each axis.
    pub(super) fn counts(&self) -> Vec<Exp<i64>> {
        self.0.iter().map(|axis| axis.count).collect()
    }

    /// How many elements of a window of these extents are inside of the image.
    #[track_caller]
    pub(super) fn inside(&self, window: &[Exp<i64>], extents: &[usize]) -> Exp<i64> {
        let axes = self.0.iter().zip(window.iter().zip(extents)).map(|(axis, (&window, &extent))| {
            let Some(low) = axis.low else { return step(extent) };
            let begin = times(window, axis.stride) - low;
            let inside = |element: usize| {
                let position = begin + step(element * axis.dilation);
                (position.ge(0) & position.lt(axis.image)).to_num::<i64>()
            };
            (0..extent).map(inside).sum()
        });
        axes.product()
    }

    /// The position in the image of an element of a window, and whether it is inside of it, if that is a question.
    #[track_caller]
    pub(super) fn at(&self, window: &[Exp<i64>], element: &[Exp<i64>]) -> (Vec<Exp<i64>>, Option<Exp<bool>>) {
        let mut inside = None;
        let axes = self.0.iter().zip(window.iter().zip(element));
        let position = axes.map(|(axis, (&window, &element))| {
            let position = times(window, axis.stride) + times(element, axis.dilation);
            let Some(low) = axis.low else { return position };
            let position = position - low;
            let here = position.ge(0) & position.lt(axis.image);
            inside = Some(inside.map_or(here, |inside| inside & here));
            position
        });
        (position.collect(), inside)
    }
}

/// `f` of the element of an image at these indices and position; `other` beyond its edges.
#[track_caller]
pub(super) fn read<A: Elt, E: Elt>(
    image: &AccRef,
    outer: &[Exp<i64>],
    (position, inside): (Vec<Exp<i64>>, Option<Exp<bool>>),
    f: impl FnOnce(Exp<A>) -> Exp<E>,
    other: impl FnOnce() -> Exp<E>,
) -> Exp<E> {
    let ix = [outer, &position].concat();
    let here = f(ranked::element(image, &ix));
    match inside {
        Some(inside) => lift(inside.then_else::<E, _>(here, other())),
        None => here,
    }
}
