//! Results as pictures.

use acc_core::data::{ArrayData, ColumnSlice};
use std::io::Write;

/// An RGB image.
pub struct Picture {
    width: usize,
    height: usize,
    /// Three bytes a pixel.
    rgb: Vec<u8>,
}

/// Colours told apart at a glance.
const COLOURS: [[u8; 3]; 6] =
    [[214, 69, 65], [65, 131, 215], [38, 166, 91], [244, 179, 80], [142, 68, 173], [108, 122, 137]];

impl Picture {
    /// One matrix of grey levels. `None` if the results are something else.
    pub(super) fn grey(results: &[ArrayData]) -> Option<Picture> {
        let (height, width, column) = matrix(results)?;
        let ColumnSlice::U8(levels) = column else { return None };
        Some(Picture { width, height, rgb: levels.iter().flat_map(|&l| [l, l, l]).collect() })
    }

    /// One matrix of step counts, up to `limit`, which is black.
    pub(super) fn levels(results: &[ArrayData], limit: i32) -> Option<Picture> {
        let (height, width, column) = matrix(results)?;
        let ColumnSlice::I32(steps) = column else { return None };
        let colour = |n: i32| {
            let t = (f64::from(n) / f64::from(limit)).sqrt();
            let part = |scale: f64| (255.0 * (t * scale).min(1.0)) as u8;
            if n >= limit { [0, 0, 0] } else { [part(0.6), part(1.2), part(2.0)] }
        };
        Some(Picture { width, height, rgb: steps.iter().flat_map(|&n| colour(n)).collect() })
    }

    /// Centres, and points with the number of their centre.
    pub(super) fn clusters(results: &[ArrayData]) -> Option<Picture> {
        const SIZE: usize = 256;
        let [_, points] = results else { return None };
        let [x, y, label] = points.columns() else { return None };
        let (ColumnSlice::F32(xs), ColumnSlice::F32(ys), ColumnSlice::I64(labels)) =
            (x.slice(), y.slice(), label.slice())
        else {
            return None;
        };
        let (across, up) = (scale(xs, SIZE), scale(ys, SIZE));
        let mut rgb = vec![255; 3 * SIZE * SIZE];
        for ((x, y), label) in xs.iter().zip(ys).zip(labels) {
            let at = 3 * ((SIZE - 1 - up(*y)) * SIZE + across(*x));
            rgb[at..at + 3].copy_from_slice(&COLOURS[*label as usize % COLOURS.len()]);
        }
        Some(Picture { width: SIZE, height: SIZE, rgb })
    }

    /// Writes it as PNG.
    pub fn write_png(&self, to: impl Write) -> Result<(), String> {
        let size = |n: usize| u32::try_from(n).map_err(|e| e.to_string());
        let mut encoder = png::Encoder::new(to, size(self.width)?, size(self.height)?);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
        writer.write_image_data(&self.rgb).map_err(|e| e.to_string())?;
        writer.finish().map_err(|e| e.to_string())
    }
}

fn matrix(results: &[ArrayData]) -> Option<(usize, usize, ColumnSlice<'_>)> {
    let [array] = results else { return None };
    let (&[height, width], [column]) = (array.shape(), array.columns()) else { return None };
    Some((height, width, column.slice()))
}

/// From the range of the values to `0..size`.
fn scale(values: &[f32], size: usize) -> impl Fn(f32) -> usize {
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    let (least, greatest) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    move |x| {
        let t = (x - least) / (greatest - least).max(f32::MIN_POSITIVE);
        ((t * (size - 1) as f32) as usize).min(size - 1)
    }
}
