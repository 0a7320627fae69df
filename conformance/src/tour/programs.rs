//! The examples on the tour's input: sizes, arguments, and how near results must be.

use super::examples::{
    black_scholes, digits, dot, histogram, kmeans, life, mandelbrot, matmul, saxpy, segmented_sums, sobel,
};
use super::{Example, Input, Picture, differentiated, example, scatter, tour_error};
use crate::compare::Near;
use acc_array::array::HostArgs;
use acc_array::prelude::*;

pub(super) fn dot() -> Result<Example, Error> {
    const N: usize = 200_000;
    let xs: Vector<f64> = scatter(N).collect();
    let ys: Vector<f64> = scatter(N).map(|x| 1.0 - x).collect();
    example(
        "dot",
        format!("dot product of {N} pairs"),
        |xs: Acc<Vector<f64>>, ys: Acc<Vector<f64>>| dot::dot(&xs, &ys),
        (&xs, &ys).into_data(),
        // Half a unit in the last place for each addition, in two orders.
        Near::ColumnUlp(N as u64),
    )
}

pub(super) fn saxpy() -> Result<Example, Error> {
    const N: usize = 200_000;
    let xs: Vector<f32> = scatter(N).map(|x| x as f32).collect();
    let ys: Vector<f32> = scatter(N).map(|x| 10.0 - x as f32).collect();
    example(
        "saxpy",
        format!("a x + y over {N} elements"),
        |a: Acc<Scalar<f32>>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| saxpy::saxpy(&a, &xs, &ys),
        (&Scalar::scalar(2.5f32), &xs, &ys).into_data(),
        Near::Exact,
    )
}

pub(super) fn equalise(input: &Input) -> Result<Example, Error> {
    let e = example(
        "equalise",
        format!("histogram equalisation of {} pixels", input.image.len()),
        |image: Acc<Matrix<u8>>| histogram::equalised(&image),
        (&input.image,).into_data(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(Picture::grey), ..e })
}

pub(super) fn sobel(input: &Input) -> Result<Example, Error> {
    let e = example(
        "sobel",
        format!("Sobel edges of {} pixels", input.image.len()),
        |image: Acc<Matrix<u8>>| sobel::edges(&image),
        (&input.image,).into_data(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(Picture::grey), ..e })
}

pub(super) fn mandelbrot() -> Result<Example, Error> {
    const ROWS: usize = 120;
    const COLUMNS: usize = 180;
    const LIMIT: i32 = 60;
    let e = example(
        "mandelbrot",
        format!("Mandelbrot set of {} points, up to {LIMIT} steps each", ROWS * COLUMNS),
        || mandelbrot::steps(ROWS, COLUMNS, LIMIT),
        Vec::new(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(|results| Picture::levels(results, LIMIT)), ..e })
}

/// The game of life, started from the image.
pub(super) fn life(input: &Input) -> Result<Example, Error> {
    const STEPS: i32 = 24;
    /// One cell for so many pixels in each direction.
    const CELL: usize = 3;
    // A stencil that wraps needs at least one row and one column; an image of fewer pixels makes one cell.
    let Dim([rows, columns]) = input.image.shape();
    let (rows, columns) = (rows.div_ceil(CELL), columns.div_ceil(CELL));
    let e = example(
        "life",
        format!("game of life, {STEPS} generations of {} cells", rows * columns),
        |image: Acc<Matrix<u8>>| {
            let cell = CELL as i64;
            let start = image.backpermute((rows, columns), |(i, j)| (i * cell, j * cell)).map(|p| (p & 4).ne(0));
            life::generations(&start, STEPS).map(|alive| alive.then_else(255u8, 0))
        },
        (&input.image,).into_data(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(Picture::grey), ..e })
}

pub(super) fn matmul() -> Result<Example, Error> {
    const N: usize = 72;
    let rows = |skip: usize| scatter(2 * N * N).skip(skip).take(N * N).map(|x| x as f32 - 0.5).collect();
    let matrix = |skip| Matrix::from_vec((N, N), rows(skip)).map_err(tour_error);
    let (a, b) = (matrix(0)?, matrix(N * N)?);
    example(
        "matmul",
        format!("product of two {N} x {N} matrices"),
        |a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| matmul::product(&a, &b),
        (&a, &b).into_data(),
        // Half a unit for each addition of a row, in two orders.
        Near::ColumnUlp(N as u64),
    )
}

pub(super) fn kmeans(input: &Input) -> Result<Example, Error> {
    const CLUSTERS: usize = 5;
    let Dim([n, _]) = input.points.shape();
    let e = example(
        "kmeans",
        format!("k-means of {n} points, {CLUSTERS} clusters, to convergence"),
        |coordinates: Acc<Matrix<f32>>| {
            let (n, _) = coordinates.shape();
            let point = |i| kmeans::PointExp { x: coordinates.index((i, 0)), y: coordinates.index((i, 1)) };
            let points = generate(n, point);
            let centres = kmeans::centres(&points, CLUSTERS);
            let labels = kmeans::nearest(&points, &centres);
            (centres, points.zip(&labels))
        },
        (&input.points,).into_data(),
        // A centre is a mean of up to n coordinates: half a unit for each addition, of the greatest coordinate.
        Near::ColumnUlp(n as u64),
    )?;
    Ok(Example { picture: Some(Picture::clusters), ..e })
}

pub(super) fn segmented_sums() -> Result<Example, Error> {
    const N: usize = 100_000;
    let flags: Vector<bool> = scatter(N).map(|x| x < 0.02).collect();
    let xs: Vector<i64> = scatter(N).map(|x| (x * 1000.0) as i64 - 500).collect();
    example(
        "segmented_sums",
        format!("sums within segments of {N} elements, by scan"),
        |flags: Acc<Vector<bool>>, xs: Acc<Vector<i64>>| segmented_sums::sums(&flags, &xs),
        (&flags, &xs).into_data(),
        Near::Exact,
    )
}

pub(super) fn black_scholes() -> Result<Example, Error> {
    use black_scholes::Deal;
    const N: usize = 20_000;
    let parts: Vec<f64> = scatter(3 * N).collect();
    let deals: Vector<Deal> = parts
        .chunks_exact(3)
        .map(|p| Deal { price: 5.0 + 25.0 * p[0], strike: 1.0 + 99.0 * p[1], years: 0.25 + 9.75 * p[2] })
        .collect();
    example(
        "black_scholes",
        format!("Black-Scholes prices of {N} options"),
        |deals: Acc<Vector<Deal>>| deals.map(black_scholes::prices),
        (&deals,).into_data(),
        // Prices are at most 100; exp, ln and sqrt differ by a few units in the last place, 1e-16.
        Near::Absolute(1e-11),
    )
}

/// The first step of the network's training.
pub(super) fn digits() -> Result<Example, Error> {
    use digits::{Loss, Optimiser, Training, start, step};
    let how = Training { loss: Loss::Squares, optimiser: Optimiser::Sgd, rate: 0.05, dropout: 0.0, seed: 0 };
    let drawn = Interpreter::new().run(digits::digits(lift(7u64), 1))?;
    let e = example(
        "digits",
        "a step of a network that reads digits, on a drawn one".to_string(),
        |seed: Acc<Scalar<u64>>, images: Acc<digits::Images>, labels: Acc<Vector<u8>>| {
            let (loss, (net, _, _)) = step(how, start(seed.the()), (&images, &labels), lift(1));
            (images.slice((0, All, All)), loss, net)
        },
        (&Scalar::scalar(7u64), &drawn.0, &drawn.1).into_data(),
        // Sums of some thousand products below 1, in several orders.
        Near::Absolute(1e-4),
    )?;
    let program = differentiated(e.program)?;
    Ok(Example { program, picture: Some(|results| Picture::grey(results.get(..1)?)), ..e })
}
