//! Grey images: equalisation by histogram and scan, edges by stencil.

use super::{Example, Input, Picture, example};
use crate::compare::Near;
use acc_core::prelude::*;

/// Spreads the grey levels evenly: each level's place among all pixels, from a histogram and its running sum.
fn equalised(image: &Acc<Matrix<u8>>) -> Acc<Matrix<u8>> {
    let pixels = image.flatten();
    let counts = fill(pixels.extent(), 1i64).permute(fill(256, 0i64), |a, b| a + b, |i| Some(pixels.index(i)));
    let below = counts.scanl1(|a, b| a + b);
    let total = pixels.length();
    let darkest = pixels.map(|p| p.to::<i64>()).fold(255, |a, b| a.min(b));
    let levels = below.map(|n| {
        let first = below.index(darkest.the());
        // An image of one level has no levels to spread.
        total.gt(first).then_else((n - first) * 255 / (total - first), 0).max(0)
    });
    image.map(|p| levels.index(p).to::<u8>())
}

pub(super) fn equalise(input: &Input) -> Result<Example, Error> {
    let e = example(
        "equalise",
        format!("histogram equalisation of {} pixels", input.image.len()),
        |image: Acc<Matrix<u8>>| equalised(&image),
        (&input.image,).into_data(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(Picture::grey), ..e })
}

/// The magnitude of the gradient.
fn edges(image: &Acc<Matrix<u8>>) -> Acc<Matrix<u8>> {
    let grey = image.map(|p| p.to::<f32>());
    grey.stencil(Edge::Clamp, |Window2([[nw, n, ne], [w, _, e], [sw, s, se]]): Stencil3x3<f32>| {
        let dx = ne + 2.0 * e + se - nw - 2.0 * w - sw;
        let dy = sw + 2.0 * s + se - nw - 2.0 * n - ne;
        (dx * dx + dy * dy).sqrt().min(255.0).to::<u8>()
    })
}

pub(super) fn sobel(input: &Input) -> Result<Example, Error> {
    let e = example(
        "sobel",
        format!("Sobel edges of {} pixels", input.image.len()),
        |image: Acc<Matrix<u8>>| edges(&image),
        (&input.image,).into_data(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(Picture::grey), ..e })
}
