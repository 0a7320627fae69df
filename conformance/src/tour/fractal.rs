//! The Mandelbrot set: a loop whose length depends on the element.

use super::{Example, Picture, example};
use crate::compare::Near;
use acc_core::prelude::*;

const ROWS: usize = 120;
const COLUMNS: usize = 180;
const LIMIT: i32 = 60;

pub(super) fn mandelbrot() -> Result<Example, Error> {
    let e = example(
        "mandelbrot",
        format!("Mandelbrot set of {} points, up to {LIMIT} steps each", ROWS * COLUMNS),
        || {
            generate((ROWS, COLUMNS), |(j, i)| {
                let c =
                    complex(i.to::<f32>() * (3.0 / COLUMNS as f32) - 2.0, j.to::<f32>() * (2.0 / ROWS as f32) - 1.0);
                let inside = |(z, n): (Exp<Complex<f32>>, Exp<i32>)| z.norm_sqr().lt(4.0).and(n.lt(LIMIT));
                let (_, n) = while_((c, 0i32), inside, |(z, n)| (z * z + c, n + 1));
                n
            })
        },
        Vec::new(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(|results| Picture::levels(results, LIMIT)), ..e })
}
