//! Results as pictures.

use acc_core::data::{ArrayData, ColumnSlice};
use embedded_graphics::mono_font::{MonoTextStyle, ascii::FONT_7X13};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Circle, Polyline, PrimitiveStyle, Rectangle};
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use std::convert::Infallible;
use std::io::Write;

/// Red, green, blue.
pub type Colour = Rgb888;
/// Of text and axes.
pub const BLACK: Colour = Colour::new(30, 30, 30);
/// Of grids.
pub const GREY: Colour = Colour::new(220, 220, 220);

/// Where a text is beside its point; in height it is about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Its middle is there.
    Middle,
    /// It ends there.
    Right,
}

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

    /// A white one.
    pub fn blank(width: usize, height: usize) -> Picture {
        Picture { width, height, rgb: vec![255; 3 * width * height] }
    }

    /// Lines from point to point.
    pub fn polyline(&mut self, points: &[(i32, i32)], width: u32, colour: Colour) {
        let points: Vec<Point> = points.iter().map(|p| Point::from(*p)).collect();
        if points.len() > 1 {
            draw(Polyline::new(&points).into_styled(PrimitiveStyle::with_stroke(colour, width)), self);
        }
    }

    /// A disc about a point.
    pub fn disc(&mut self, at: (i32, i32), diameter: u32, colour: Colour) {
        draw(Circle::with_center(at.into(), diameter).into_styled(PrimitiveStyle::with_fill(colour)), self);
    }

    /// A square from its upper left corner.
    pub fn square(&mut self, at: (i32, i32), side: u32, colour: Colour) {
        let square = Rectangle::new(at.into(), Size::new_equal(side));
        draw(square.into_styled(PrimitiveStyle::with_fill(colour)), self);
    }

    /// A line of one pixel about a square.
    pub fn frame(&mut self, (x, y): (i32, i32), side: u32, colour: Colour) {
        let square = Rectangle::new(Point::new(x - 1, y - 1), Size::new_equal(side + 2));
        draw(square.into_styled(PrimitiveStyle::with_stroke(colour, 1)), self);
    }

    /// A text of one line.
    pub fn label(&mut self, at: (i32, i32), align: Align, text: &str, colour: Colour) {
        let alignment = match align {
            Align::Middle => Alignment::Center,
            Align::Right => Alignment::Right,
        };
        let style = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Middle).build();
        let font = MonoTextStyle::new(&FONT_7X13, colour);
        draw(Text::with_text_style(text, at.into(), font, style), self);
    }

    /// Squares of `side` pixels for the elements of a matrix of `columns` columns.
    pub fn cells(&mut self, at: (i32, i32), columns: usize, side: u32, colours: impl IntoIterator<Item = Colour>) {
        for (k, colour) in colours.into_iter().enumerate() {
            let (row, column) = (k / columns.max(1), k % columns.max(1));
            self.square((at.0 + column as i32 * side as i32, at.1 + row as i32 * side as i32), side, colour);
        }
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

/// Draws on a picture, which takes everything.
fn draw<O>(what: impl Drawable<Color = Colour, Output = O>, on: &mut Picture) {
    let Ok(_) = what.draw(on);
}

impl OriginDimensions for Picture {
    fn size(&self) -> Size {
        Size::new(self.width as u32, self.height as u32)
    }
}

impl DrawTarget for Picture {
    type Color = Colour;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Colour>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(Point { x, y }, colour) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { continue };
            if x < self.width && y < self.height {
                let at = 3 * (y * self.width + x);
                self.rgb[at..at + 3].copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
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
