//! The tour's input: a PNG image and a .npy file of points, from disk.

use acc_core::prelude::npy::NpyError;
use acc_core::prelude::*;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// An image and points in the plane.
#[derive(Debug)]
pub struct Input {
    /// Grey levels, row by row.
    pub image: Matrix<u8>,
    /// Two coordinates a row.
    pub points: Matrix<f32>,
}

/// Larger images and more points take the interpreter too long.
const MAX_PIXELS: usize = 1 << 22;
const MAX_POINTS: usize = 1 << 20;

impl Input {
    /// The files that come with the project.
    pub fn shipped() -> (PathBuf, PathBuf) {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        (data.join("image.png"), data.join("points.npy"))
    }

    /// Reads both files. The error says what is wrong with which, and what would do.
    pub fn read(image: &Path, points: &Path) -> Result<Input, String> {
        Ok(Input { image: read_image(image)?, points: read_points(points)? })
    }

    /// A small input made on the spot, for those who want the programs and not their results.
    pub fn small() -> Result<Input, Error> {
        let make = |e| super::tour_error(e);
        Ok(Input {
            image: Array::from_fn((6, 8), |ix| (ix[0] * 40 + ix[1] * 5) as u8).map_err(make)?,
            points: Array::from_fn((16, 2), |ix| (ix[0] % 5) as f32 + ix[1] as f32 * 0.5).map_err(make)?,
        })
    }
}

fn cannot_read(path: &Path, option: &str, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}\n  help: give the path of another file with `{option}`", path.display())
}

/// An 8-bit or deeper PNG image of any colour type, as grey levels.
fn read_image(path: &Path) -> Result<Matrix<u8>, String> {
    let name = path.display();
    let broken = |e: png::DecodingError| {
        format!("{name} is not a PNG image that can be read: {e}\n  help: `--image` takes a PNG file")
    };
    let file = File::open(path).map_err(|e| cannot_read(path, "--image", &e))?;
    let mut decoder = png::Decoder::new_with_limits(BufReader::new(file), png::Limits { bytes: 1 << 28 });
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(broken)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    if width.saturating_mul(height) > MAX_PIXELS {
        return Err(format!(
            "{name} has {width} x {height} pixels, more than {MAX_PIXELS}\n  help: give `--image` one scaled down: the reference interpreter runs every program too"
        ));
    }
    let size = reader.output_buffer_size().ok_or_else(|| format!("{name}: the image does not fit in memory"))?;
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes).map_err(broken)?;
    let samples = frame.color_type.samples();
    let grey = |p: &[u8]| match p {
        [r, g, b, ..] => ((299 * u32::from(*r) + 587 * u32::from(*g) + 114 * u32::from(*b) + 500) / 1000) as u8,
        [level, ..] => *level,
        [] => 0,
    };
    let levels: Vec<u8> = bytes
        .chunks_exact(frame.line_size)
        .take(height)
        .flat_map(|row| row.chunks_exact(samples).take(width).map(grey))
        .collect();
    Matrix::from_vec((height, width), levels).map_err(|e| format!("{name}: {e}"))
}

/// A matrix of `f32` or `f64` with two columns.
fn read_points(path: &Path) -> Result<Matrix<f32>, String> {
    let name = path.display();
    let wanted = "`--npy` takes an array of float32 or float64 of shape (n, 2): two coordinates of each of n points";
    let points = match Matrix::<f32>::read_npy(path) {
        Err(NpyError::Type { .. }) => Matrix::<f64>::read_npy(path).map(|m| m.to_ndarray().mapv(|x| x as f32).into()),
        other => other,
    };
    let points: Matrix<f32> = points.map_err(|e| match e {
        NpyError::File { error, .. } => cannot_read(path, "--npy", &error),
        other => format!("cannot be read as such a .npy file: {other}\n  help: {wanted}"),
    })?;
    let Dim([n, columns]) = points.shape();
    if columns != 2 {
        return Err(format!("{name} has shape {:?}\n  help: {wanted}", [n, columns]));
    }
    if n == 0 || n > MAX_POINTS {
        return Err(format!("{name} has {n} points\n  help: `--npy` takes between 1 and {MAX_POINTS} points"));
    }
    if let Some(x) = points.as_slice().iter().find(|x| !x.is_finite()) {
        return Err(format!("{name} holds {x}\n  help: `--npy` takes coordinates that are finite as float32"));
    }
    Ok(points)
}
