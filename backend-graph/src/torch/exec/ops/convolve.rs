//! Convolutions: by libtorch, as a product of matrices with the windows stored one after the other, or as a sum of shifted images.

use super::contract::{begun_with_zero, contract};
use super::views::{Positions, slice, unfold};
use crate::torch::TorchError;
use acc_core::data::ScalarType;
use tch::Tensor;

type Result<T> = std::result::Result<T, TorchError>;

/// Windows are stored, as many as take no more bytes than this; of more, those of a part of the places at a time.
const MAX_STORED_BYTES: i64 = 64 << 20;

/// One filter of one channel is a sum of shifted images if it has so few elements,
const MAX_SHIFTED_ELEMENTS: i64 = 16;
/// and there are so many places: libtorch takes ten times as long for these.
const MIN_SHIFTED_PLACES: i64 = 1 << 15;

/// A convolution of `[image, group, channel, place..]` with `[group, filter, channel, window..]`: see
/// [`Op::Convolve`](acc_desugar::graph::Op::Convolve).
pub(crate) struct Convolution<'a> {
    pub(crate) x: &'a Tensor,
    pub(crate) filters: &'a Tensor,
    pub(crate) places: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) dilations: Vec<i64>,
    pub(crate) ty: ScalarType,
}

impl Convolution<'_> {
    pub(crate) fn run(&self) -> Result<Tensor> {
        let (from, of) = (self.x.size(), self.filters.size());
        let ([images, groups, channels, around @ ..], [_, count, _, window @ ..]) = (&from[..], &of[..]) else {
            return Err(TorchError::new("a convolution has images and filters"));
        };
        let shape = joined(&[*images, *groups, *count], &self.places);
        if from.contains(&0) || of.contains(&0) || shape.contains(&0) {
            return Ok(Tensor::f_zeros(shape, (self.x.f_kind()?, self.x.device()))?);
        }
        // The gradient of a filter is a convolution with a window that has nearly the images' extents, and few places. For
        // such ones libtorch's loops are slow.
        if window.iter().product::<i64>() > self.places.iter().product() {
            return self.by_windows(window);
        }
        let few = window.iter().product::<i64>() <= MAX_SHIFTED_ELEMENTS;
        let many = self.places.iter().product::<i64>() >= MIN_SHIFTED_PLACES;
        if [*groups, *channels, *count] == [1; 3] && few && many {
            return self.by_shifts(window);
        }
        let x = self.x.f_reshape(joined(&[*images, groups * channels], around))?;
        let filters = self.filters.f_reshape(joined(&[groups * count, *channels], window))?;
        let none = vec![0i64; window.len()];
        let y = x.f_convolution(
            &filters,
            None::<&Tensor>,
            self.strides.as_slice(),
            none.as_slice(),
            self.dilations.as_slice(),
            false,
            none.as_slice(),
            *groups,
        )?;
        Ok(begun_with_zero(y)?.f_reshape(shape)?)
    }

    /// The images, shifted to each element of the filter and times it, added up.
    fn by_shifts(&self, window: &[i64]) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        for element in 0..window.iter().product() {
            let (mut image, mut factor, mut rest) = (self.x.shallow_clone(), self.filters.shallow_clone(), element);
            let between = self.strides.iter().zip(&self.dilations);
            for (k, ((extent, places), (stride, dilation))) in
                window.iter().zip(&self.places).zip(between).enumerate().rev()
            {
                let at = rest % extent;
                rest /= extent;
                image = slice(&image, 3 + k, at * dilation, *places, *stride)?;
                factor = slice(&factor, 3 + k, at, 1, 1)?;
            }
            sum = Some(match sum {
                Some(mut sum) => sum.f_addcmul_(&image, &factor)?,
                None => image.f_mul(&factor)?,
            });
        }
        begun_with_zero(sum.ok_or_else(|| TorchError::new("a filter has no element"))?)
    }

    /// Windows of all places, or of one place of the first axis at a time, and their products with the filters.
    fn by_windows(&self, window: &[i64]) -> Result<Tensor> {
        let [images, groups, channels] = [0, 1, 2].map(|k| self.x.size().get(k).copied().unwrap_or(1));
        let elements = [images * groups * channels].into_iter().chain(window.iter().chain(&self.places).copied());
        let bytes = elements.fold(self.ty.size() as i64, i64::saturating_mul);
        let rows = self.places.first().copied().unwrap_or(1);
        if bytes <= MAX_STORED_BYTES || rows == 1 {
            return self.products(window, 0, rows);
        }
        let parts = (0..rows).map(|row| self.products(window, row, 1)).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::f_cat(&parts, 3)?)
    }

    /// The results at `count` places of the first axis from `first` on.
    fn products(&self, window: &[i64], first: i64, count: i64) -> Result<Tensor> {
        let spatial = window.len();
        let mut windows = self.x.shallow_clone();
        let between = self.strides.iter().zip(&self.dilations);
        for (k, ((extent, places), (stride, dilation))) in window.iter().zip(&self.places).zip(between).enumerate() {
            let (start, places) = if k == 0 { (first * stride, count) } else { (0, *places) };
            let at = Positions { start, lens: &[places, *extent], steps: &[*stride, *dilation], padded: false };
            windows = unfold(&windows, 3 + 2 * k, &at)?;
        }
        // [image, group, place.., channel, window..], and an axis for the filters.
        let axes = |from: i64| (0..spatial as i64).map(move |k| from + 2 * k);
        let order: Vec<i64> = [0, 1].into_iter().chain(axes(3)).chain([2]).chain(axes(4)).collect();
        let windows = windows.f_permute(order)?.f_unsqueeze(2)?;
        let mut filters = self.filters.f_unsqueeze(0)?;
        for _ in 0..spatial {
            filters = filters.f_unsqueeze(3)?;
        }
        contract([&windows, &filters], None, 1 + spatial, self.ty)
    }
}

fn joined(first: &[i64], rest: &[i64]) -> Vec<i64> {
    first.iter().chain(rest).copied().collect()
}
