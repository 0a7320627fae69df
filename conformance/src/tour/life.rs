//! Conway's game of life on a torus, started from the image.

use super::{Example, Input, Picture, example};
use crate::compare::Near;
use acc_core::prelude::*;

const STEPS: i32 = 24;
/// One cell for so many pixels in each direction.
const CELL: usize = 3;

fn step(world: &Acc<Matrix<bool>>) -> Acc<Matrix<bool>> {
    world.map(|alive| alive.then_else(1, 0)).stencil(Edge::Wrap, |s: Stencil3x3<i32>| {
        let all = s.0.iter().flatten().copied().sum::<Exp<i32>>();
        let around = all - s[(0, 0)];
        around.eq(3).or(s[(0, 0)].eq(1).and(around.eq(2)))
    })
}

pub(super) fn life(input: &Input) -> Result<Example, Error> {
    // A stencil that wraps needs at least one row and one column; an image of fewer pixels makes one cell.
    let (rows, columns) = (input.image.shape().0[0].div_ceil(CELL), input.image.shape().0[1].div_ceil(CELL));
    let e = example(
        "life",
        format!("game of life, {STEPS} generations of {} cells", rows * columns),
        |image: Acc<Matrix<u8>>| {
            let cell = CELL as i64;
            let start = image.backpermute((rows, columns), |(i, j)| (i * cell, j * cell)).map(|p| (p & 4).ne(0));
            let (_, end) =
                awhile((unit(0i32), &start), |(n, _)| n.the().lt(STEPS), |(n, world)| (n.map(|n| n + 1), step(&world)));
            end.map(|alive| alive.then_else(255u8, 0))
        },
        (&input.image,).into_data(),
        Near::Exact,
    )?;
    Ok(Example { picture: Some(Picture::grey), ..e })
}
