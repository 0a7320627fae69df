//! Curves over epochs, as PNG and as SVG.

use crate::tour::Picture;
use crate::tour::picture::{Align, BLACK, Colour, GREY};
use std::fmt::Write;

/// Values by epoch, from the first on.
pub struct Curve<'a> {
    /// What they are.
    pub title: &'a str,
    /// One for each epoch.
    pub values: Vec<f64>,
    /// How the axis writes a value.
    pub write: fn(f64) -> String,
    /// Of the line.
    pub colour: Colour,
}

/// Where a chart is drawn.
trait Canvas {
    fn line(&mut self, points: &[(f64, f64)], width: u32, colour: Colour);
    fn dot(&mut self, at: (f64, f64), colour: Colour);
    fn text(&mut self, at: (f64, f64), align: Align, text: &str);
}

const PANEL: (f64, f64) = (440.0, 320.0);
/// Left, right, above and below a panel's axes.
const MARGINS: (f64, f64, f64, f64) = (64.0, 20.0, 40.0, 44.0);
const TICKS: usize = 5;
const MAX_EPOCH_TICKS: usize = 10;
/// More dots than these hide the line.
const MAX_DOTS: usize = 40;

/// Curves side by side.
pub fn png(curves: &[Curve<'_>]) -> Result<Vec<u8>, String> {
    let mut picture = Picture::blank(PANEL.0 as usize * curves.len().max(1), PANEL.1 as usize);
    draw(curves, &mut picture);
    let mut bytes = Vec::new();
    picture.write_png(&mut bytes)?;
    Ok(bytes)
}

/// The same as SVG.
pub fn svg(curves: &[Curve<'_>]) -> String {
    let (width, height) = (PANEL.0 * curves.len().max(1) as f64, PANEL.1);
    let mut svg = Svg(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    ));
    draw(curves, &mut svg);
    svg.0 + "</svg>\n"
}

fn draw(curves: &[Curve<'_>], canvas: &mut impl Canvas) {
    for (k, curve) in curves.iter().enumerate() {
        panel(curve, PANEL.0 * k as f64, canvas);
    }
}

fn panel(curve: &Curve<'_>, x0: f64, canvas: &mut impl Canvas) {
    let (left, right, above, below) = MARGINS;
    let (left, right, top, bottom) = (x0 + left, x0 + PANEL.0 - right, above, PANEL.1 - below);
    let (least, greatest, step) = range(&curve.values);
    let epochs = curve.values.len();
    let across = |epoch: usize| match epochs {
        0 | 1 => (left + right) / 2.0,
        n => left + (right - left) * (epoch as f64 - 1.0) / (n as f64 - 1.0),
    };
    let up = |value: f64| bottom - (bottom - top) * (value - least) / (greatest - least);
    canvas.text(((left + right) / 2.0, 20.0), Align::Middle, curve.title);
    let mut value = least;
    while value <= greatest + step / 2.0 {
        canvas.line(&[(left, up(value)), (right, up(value))], 1, GREY);
        canvas.text((left - 6.0, up(value)), Align::Right, &(curve.write)(value));
        value += step;
    }
    canvas.line(&[(left, top), (left, bottom), (right, bottom)], 1, BLACK);
    for epoch in (1..=epochs).step_by(epochs.div_ceil(MAX_EPOCH_TICKS).max(1)) {
        canvas.line(&[(across(epoch), bottom), (across(epoch), bottom + 4.0)], 1, BLACK);
        canvas.text((across(epoch), bottom + 14.0), Align::Middle, &epoch.to_string());
    }
    canvas.text(((left + right) / 2.0, bottom + 32.0), Align::Middle, "epoch");
    let points: Vec<(f64, f64)> = (1..).map(across).zip(curve.values.iter().copied().map(up)).collect();
    let finite: Vec<(f64, f64)> = points.into_iter().filter(|(_, y)| y.is_finite()).collect();
    canvas.line(&finite, 2, curve.colour);
    if finite.len() <= MAX_DOTS {
        finite.iter().for_each(|at| canvas.dot(*at, curve.colour));
    }
}

/// An axis for these values: where it begins and ends, and how far ticks are apart (1, 2 or 5 times a power of ten).
fn range(values: &[f64]) -> (f64, f64, f64) {
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    let (least, greatest) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    if least > greatest {
        return (0.0, 1.0, 0.2);
    }
    let span = (greatest - least).max(greatest.abs() * 0.01).max(1e-6);
    let rough = span / (TICKS - 1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let (first, last) = ((least / step).floor(), (greatest / step).ceil());
    (first * step, last.max(first + 1.0) * step, step)
}

impl Canvas for Picture {
    fn line(&mut self, points: &[(f64, f64)], width: u32, colour: Colour) {
        let points: Vec<(i32, i32)> = points.iter().map(|p| (p.0.round() as i32, p.1.round() as i32)).collect();
        self.polyline(&points, width, colour);
    }
    fn dot(&mut self, at: (f64, f64), colour: Colour) {
        self.disc((at.0.round() as i32, at.1.round() as i32), 7, colour);
    }
    fn text(&mut self, at: (f64, f64), align: Align, text: &str) {
        self.label((at.0.round() as i32, at.1.round() as i32), align, text, BLACK);
    }
}

/// The elements of a picture so far.
struct Svg(String);

impl Svg {
    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = writeln!(self.0, "{element}");
    }
}

fn hex(colour: Colour) -> String {
    use embedded_graphics::prelude::RgbColor;
    format!("#{:02x}{:02x}{:02x}", colour.r(), colour.g(), colour.b())
}

impl Canvas for Svg {
    fn line(&mut self, points: &[(f64, f64)], width: u32, colour: Colour) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.push(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"/>",
            points.join(" "),
            hex(colour)
        ));
    }
    fn dot(&mut self, (x, y): (f64, f64), colour: Colour) {
        self.push(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{}\"/>", hex(colour)));
    }
    fn text(&mut self, (x, y): (f64, f64), align: Align, text: &str) {
        let anchor = match align {
            Align::Middle => "middle",
            Align::Right => "end",
        };
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" dominant-baseline=\"central\">{text}</text>"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: Vec<f64>) -> Curve<'static> {
        Curve { title: "loss", values, write: |x| format!("{x:.2}"), colour: BLACK }
    }

    #[test]
    fn ticks_are_round_numbers() {
        let near = |(a, b, c): (f64, f64, f64), to: (f64, f64, f64)| {
            [(a, to.0), (b, to.1), (c, to.2)].iter().all(|(x, y)| (x - y).abs() < 1e-9)
        };
        assert!(near(range(&[0.13, 0.44]), (0.1, 0.5, 0.1)));
        assert!(near(range(&[0.962, 0.981]), (0.96, 0.985, 0.005)));
        for odd in [vec![], vec![f64::NAN], vec![3.0], vec![0.0, 0.0], vec![-1.0, f64::INFINITY]] {
            let (least, greatest, step) = range(&odd);
            assert!(least < greatest && step > 0.0 && (greatest - least) / step < 20.0, "{odd:?}");
        }
    }

    #[test]
    fn both_forms_of_any_curves() {
        for values in [vec![], vec![f64::NAN], vec![0.5], (0..100).map(f64::from).collect()] {
            let n = values.iter().filter(|x| x.is_finite()).count();
            let curves = [curve(values.clone()), curve(values)];
            assert!(png(&curves).is_ok_and(|bytes| bytes.starts_with(b"\x89PNG")));
            let svg = svg(&curves);
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
            assert_eq!(svg.matches("<circle").count(), if n > MAX_DOTS { 0 } else { 2 * n });
        }
    }
}
