//! Makes the input of `acc tour`, `data/image.png` and `data/points.npy`:
//! `cargo run -p conformance --example tour_input`.

use ndarray::Array2;
use ndarray_npy::WriteNpyExt;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const WIDTH: u32 = 192;
const HEIGHT: u32 = 144;
const POINTS: usize = 1500;

/// A dim landscape: a sun over hills, with a little texture, of few grey levels, so that equalising it shows.
fn level(x: f64, y: f64) -> f64 {
    let sun = ((x - 0.7).powi(2) + (y - 0.25).powi(2)).sqrt();
    let hill = |height: f64, waves: f64, shift: f64| height + 0.08 * (waves * x + shift).sin();
    let texture = ((x * 190.0).sin() * (y * 143.0).cos()).signum();
    if y > hill(0.75, 9.0, 0.0) {
        60.0 + 6.0 * texture
    } else if y > hill(0.6, 6.0, 2.0) {
        75.0 + 3.0 * texture
    } else if sun < 0.12 {
        125.0
    } else {
        90.0 + 20.0 * (1.0 - y) - 15.0 * sun
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");

    let mut encoder = png::Encoder::new(BufWriter::new(File::create(data.join("image.png"))?), WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let at = |k: u32| level(f64::from(k % WIDTH) / f64::from(WIDTH), f64::from(k / WIDTH) / f64::from(HEIGHT));
    let levels: Vec<u8> = (0..WIDTH * HEIGHT).map(|k| at(k) as u8).collect();
    encoder.write_header()?.write_image_data(&levels)?;

    // Five clouds. Fractions of multiples of irrational numbers, three of them added, scatter well enough.
    let fraction = |k: usize, factor: f64| ((k + 1) as f64 * factor).fract() - 0.5;
    let cloud = |k: usize, a: f64, b: f64, c: f64| fraction(k, a) + fraction(k, b) + fraction(k, c);
    let centres = [[1.0, 1.0], [4.0, 1.5], [2.5, 4.0], [5.5, 4.5], [0.5, 5.5]];
    let points = Array2::from_shape_fn((POINTS, 2), |(k, axis)| {
        let offset = match axis {
            0 => cloud(k, 0.618_034, 0.414_214, 0.732_051),
            _ => cloud(k, 0.236_068, 0.645_751, 0.162_278),
        };
        (centres[k * centres.len() / POINTS][axis] + 1.2 * offset) as f32
    });
    points.write_npy(BufWriter::new(File::create(data.join("points.npy"))?))?;
    Ok(())
}
