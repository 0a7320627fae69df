//! Edges of an image: a PNG in, a stencil, a PNG out.
//!
//! `cargo run --example sobel -- in.png out.png`; without arguments on an image that it draws.
//!
//! ```text
//! 32 x 32 pixels, strongest edge 255
//! ```

use acc_array::prelude::*;
use std::fs::File;
use std::io::{BufReader, BufWriter};

/// The magnitude of the gradient, up to 255.
pub fn edges(image: &Acc<Matrix<u8>>) -> Acc<Matrix<u8>> {
    let grey = image.map(|p| p.to::<f32>());
    grey.stencil(Edge::Clamp, |Window2([[nw, n, ne], [w, _, e], [sw, s, se]]): Stencil3x3<f32>| {
        let dx = ne + 2.0 * e + se - nw - 2.0 * w - sw;
        let dy = sw + 2.0 * s + se - nw - 2.0 * n - ne;
        (dx * dx + dy * dy).sqrt().min(255.0).to::<u8>()
    })
}

/// The first channel of a PNG file of 8 bits.
fn read(path: &str) -> Result<Matrix<u8>, Box<dyn std::error::Error>> {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("the image is too large")?];
    let frame = reader.next_frame(&mut bytes)?;
    let shape = (frame.height as usize, frame.width as usize);
    let grey = bytes[..frame.buffer_size()].iter().step_by(frame.color_type.samples()).copied();
    Ok(Matrix::from_vec(shape, grey.collect())?)
}

fn write(path: &str, image: &Matrix<u8>) -> Result<(), Box<dyn std::error::Error>> {
    let Dim([height, width]) = image.shape();
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header()?.write_image_data(&image.to_vec())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let image = match arguments.next() {
        Some(path) => read(&path)?,
        // A disc.
        None => Matrix::from_fn((32, 32), |at| {
            if at[0].abs_diff(16).pow(2) + at[1].abs_diff(16).pow(2) < 100 { 200 } else { 20 }
        })?,
    };
    let found = run(edges(&use_(&image)))?;
    let Dim([height, width]) = found.shape();
    println!("{width} x {height} pixels, strongest edge {}", found.to_vec().iter().max().unwrap_or(&0));
    arguments.next().map_or(Ok(()), |path| write(&path, &found))
}
