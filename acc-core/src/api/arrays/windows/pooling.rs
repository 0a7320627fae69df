//! Pooling: the greatest elements and the means of windows.

use super::convolution::sums;
use super::layout::{Images, Layout, PerAxis, Windows, read};
use crate::api::types::ranked::{self, Known};
use crate::api::{Acc, Array, Elt, Exp, Extremes, Floating, IxPart, NumScalar, Shape, constant};
use crate::builder::{AccRef, compose};
use crate::data::unlinear_index;

/// Windows of at most so many elements are written out, so that no loop is about a few elements.
const MOST_WRITTEN_OUT: usize = 16;

impl<Sh: Shape, E: Elt> Acc<Array<Sh, E>> {
    /// The elements of each window combined; `finish` gets the window's index and the result.
    #[track_caller]
    fn pooled<const S: usize>(
        &self,
        window: [usize; S],
        layout: &Layout,
        op: &Known<E>,
        other: impl Fn() -> Exp<E> + Copy,
        finish: impl FnOnce(&[Exp<i64>], Exp<E>) -> Exp<E>,
    ) -> Self
    where
        Sh: Images<S>,
    {
        let image = self.extent().parts();
        let element = |ix: &[Exp<i64>], element: &[Exp<i64>]| {
            read(&self.node, &ix[..2], layout.at(&ix[2..2 + S], element), |x| x, other)
        };
        let mut shape: Vec<_> = image[..2].iter().copied().chain(layout.counts()).collect();
        let size: usize = window.iter().product();
        if (1..=MOST_WRITTEN_OUT).contains(&size) {
            return ranked::typed(ranked::generate::<E>(&shape, |ix| {
                let elements = (0..size).map(|k| {
                    let at = unlinear_index(&window, k).into_iter().map(|i| constant(i));
                    element(ix, &at.collect::<Vec<_>>())
                });
                let all = elements.reduce(|a, b| op.combine(a, b));
                finish(&ix[2..], all.unwrap_or_else(other))
            }));
        }
        shape.extend(window.map(IxPart::part));
        let terms = ranked::generate::<E>(&shape, |ix| element(ix, &ix[2 + S..]));
        let pooled: AccRef = op.folds(terms, shape.len(), S);
        ranked::typed::<Sh, E>(ranked::generate::<E>(&ranked::extents(&pooled, 2 + S), |ix| {
            finish(&ix[2..], ranked::element(&pooled, ix))
        }))
    }

    /// The greatest element of each window of these extents, over images `[image, channel, y, x]` with one to three
    /// spatial axes; NaN if there is one. What lies beyond the edges is left out.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let image = generate((1, 1, 4, 4), |(_, _, y, x)| y * 4 + x);
    /// let greatest = image.max_pool(2, Windows::valid().stride(2));
    /// assert_eq!(Interpreter::new().run(greatest)?.to_vec(), [5, 7, 13, 15]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn max_pool<const S: usize>(&self, window: impl PerAxis<S>, windows: Windows<S>) -> Self
    where
        Sh: Images<S>,
        E: Extremes,
    {
        compose(&"max_pool", || {
            let window = window.per_axis();
            let layout = windows.over(&self.extent().parts()[2..], &window.map(IxPart::part));
            let least = || constant(E::LEAST);
            self.pooled(window, &layout, &Known::new(Some(least), |a, b| E::greater(a, b)), least, |_, x| x)
        })
    }

    /// The mean of each window of these extents, over images `[image, channel, y, x]` with one to three spatial axes.
    /// What lies beyond the edges is left out, and not counted.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let image = generate((1, 1, 2, 4), |(_, _, y, x)| (y * 4 + x).to::<f32>());
    /// let means = image.mean_pool(2, Windows::valid().stride(2));
    /// assert_eq!(Interpreter::new().run(means)?.to_vec(), [2.5, 4.5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn mean_pool<const S: usize>(&self, window: impl PerAxis<S>, windows: Windows<S>) -> Self
    where
        Sh: Images<S>,
        E: Floating + NumScalar,
    {
        compose(&"mean_pool", || {
            let window = window.per_axis();
            let layout = windows.over(&self.extent().parts()[2..], &window.map(IxPart::part));
            let zero = || constant(E::from_i64(0));
            self.pooled(window, &layout, &sums(), zero, |at, sum| E::div(sum, layout.inside(at, &window).to::<E>()))
        })
    }
}
