//! Convolutions: by libtorch, as a product of matrices with the windows stored one after the other, or as a sum of shifted images.

mod gradient;

use super::contract::{all_finite, begun_with_zero, contract};
use super::views::{Positions, in_bounds, slice, unfold, with_zeros};
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

/// As gradients of filters of fewer channels convolutions take longer than by stored windows.
const MIN_CHANNELS_OF_GRADIENTS: i64 = 3;

/// A convolution of `[image, group, channel, position..]` with `[group, filter, channel, window..]`: see
/// [`Op::Convolve`](acc_desugar::graph::Op::Convolve).
pub(crate) struct Convolution<'a> {
    pub(crate) x: &'a Tensor,
    pub(crate) filters: &'a Tensor,
    pub(crate) starts: Vec<i64>,
    pub(crate) places: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) dilations: Vec<i64>,
    pub(crate) ty: ScalarType,
}

impl Convolution<'_> {
    pub(crate) fn run(&self) -> Result<Tensor> {
        let (from, of) = (self.x.size(), self.filters.size());
        let ([images, groups, channels, ..], [_, count, _, window @ ..]) = (&from[..], &of[..]) else {
            return Err(TorchError::new("a convolution has images and filters"));
        };
        let shape = joined(&[*images, *groups, *count], &self.places);
        if [*images, *groups, *channels].contains(&0) || of.contains(&0) || shape.contains(&0) {
            return Ok(Tensor::f_zeros(shape, (self.x.f_kind()?, self.x.device()))?);
        }
        let (part, around) = self.read_part(window)?;
        let elements: i64 = window.iter().product();
        // The gradient of a filter is a convolution with a window that has nearly the images' extents, and few places. For
        // such ones libtorch's loops are slow.
        if elements > self.places.iter().product() {
            let x = with_zeros(part, 3, &around)?;
            let as_gradient = self.ty == ScalarType::F32 && (*groups > 1 || *images >= MIN_CHANNELS_OF_GRADIENTS);
            return if as_gradient { self.as_gradient(&x, window) } else { self.by_windows(&x, window) };
        }
        let many = self.places.iter().product::<i64>() >= MIN_SHIFTED_PLACES;
        if [*groups, *channels, *count] == [1; 3] && elements <= MAX_SHIFTED_ELEMENTS && many {
            return self.by_shifts(&with_zeros(part, 3, &around)?, window);
        }
        let (x, padding) = match self.padding(&around, window)? {
            Some(padding) => (part, padding),
            None => (with_zeros(part, 3, &around)?, vec![0; window.len()]),
        };
        let x = x.f_reshape(joined(&[*images, groups * channels], x.size().get(3..).unwrap_or_default()))?;
        let filters = self.filters.f_reshape(joined(&[groups * count, *channels], window))?;
        // Sums begin with 0, which a bias is at no cost.
        let bias = Tensor::f_zeros([groups * count], (self.x.f_kind()?, self.x.device()))?;
        let y = x.f_convolution(
            &filters,
            Some(&bias),
            self.strides.as_slice(),
            padding.as_slice(),
            self.dilations.as_slice(),
            false,
            vec![0; window.len()].as_slice(),
            *groups,
        )?;
        Ok(y.f_reshape(shape)?)
    }

    /// The elements from the first to the last position that windows read, and how many positions are out of bounds before and
    /// behind them along each axis.
    fn read_part(&self, window: &[i64]) -> Result<(Tensor, Vec<[i64; 2]>)> {
        let (mut part, mut around) = (self.x.shallow_clone(), Vec::new());
        let between = self.strides.iter().zip(&self.dilations);
        let axes = self.starts.iter().zip(&self.places).zip(window).zip(between);
        for (axis, (((start, places), window), (stride, dilation))) in (3..).zip(axes) {
            let len = ((places - 1) * stride).saturating_add((window - 1) * dilation).saturating_add(1);
            // Fewer elements than a stride behind the last window are one more for nobody, and need no copy without them.
            let extent = part.size().get(axis).copied().unwrap_or(0);
            let spare = extent - start.saturating_add(len);
            let len = if *start <= 0 && (1..*stride).contains(&spare) { len + spare } else { len };
            let (inside, outside) = in_bounds(&part, axis, *start, len)?;
            part = inside;
            around.push(outside);
        }
        Ok((part, around))
    }

    /// What libtorch is told of zeros around images, if it can be: of as many before as behind them, whose products it leaves out.
    /// They are zeros if the filters are finite; where to ask would wait for a device, nobody asks.
    fn padding(&self, around: &[[i64; 2]], window: &[i64]) -> Result<Option<Vec<i64>>> {
        let within = |([before, behind], (window, dilation)): (&[i64; 2], (&i64, &i64))| {
            before == behind && *before <= (window - 1) * dilation
        };
        let some = around.iter().any(|widths| *widths != [0, 0]);
        let fits = around.iter().zip(window.iter().zip(&self.dilations)).all(within);
        let small = self.filters.numel() <= self.x.numel() && self.x.device() == tch::Device::Cpu;
        let left_out = some && fits && small && all_finite(self.filters)?;
        Ok(left_out.then(|| around.iter().map(|[before, _]| *before).collect()))
    }

    /// The images, shifted to each element of the filter and times it, added up.
    fn by_shifts(&self, x: &Tensor, window: &[i64]) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        for element in 0..window.iter().product() {
            let (mut image, mut factor, mut rest) = (x.shallow_clone(), self.filters.shallow_clone(), element);
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
    fn by_windows(&self, x: &Tensor, window: &[i64]) -> Result<Tensor> {
        let [images, groups, channels] = [0, 1, 2].map(|k| self.x.size().get(k).copied().unwrap_or(1));
        let elements = [images * groups * channels].into_iter().chain(window.iter().chain(&self.places).copied());
        let bytes = elements.fold(self.ty.size() as i64, i64::saturating_mul);
        let rows = self.places.first().copied().unwrap_or(1);
        if bytes <= MAX_STORED_BYTES || rows == 1 {
            return self.products(x, window, 0, rows);
        }
        let parts = (0..rows).map(|row| self.products(x, window, row, 1)).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::f_cat(&parts, 3)?)
    }

    /// The results at `count` places of the first axis from `first` on.
    fn products(&self, x: &Tensor, window: &[i64], first: i64, count: i64) -> Result<Tensor> {
        let spatial = window.len();
        let mut windows = x.shallow_clone();
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
