//! Conway's game of life on a torus: a stencil, iterated.
//!
//! ```text
//! .....
//! ..#..
//! ...#.
//! .###.
//! .....
//! ```

use acc_array::prelude::*;

/// The next generation.
pub fn step(world: &Acc<Matrix<bool>>) -> Acc<Matrix<bool>> {
    world.map(|alive| alive.then_else(1, 0)).stencil(Edge::Wrap, |s: Stencil3x3<i32>| {
        let all = s.0.iter().flatten().copied().sum::<Exp<i32>>();
        let around = all - s[(0, 0)];
        around.eq(3).or(s[(0, 0)].eq(1).and(around.eq(2)))
    })
}

/// The world after so many generations.
pub fn generations(start: &Acc<Matrix<bool>>, n: i32) -> Acc<Matrix<bool>> {
    let (_, end) = awhile((unit(0i32), start), |(k, _)| k.the().lt(n), |(k, world)| (k.map(|k| k + 1), step(&world)));
    end
}

fn main() -> Result<(), Error> {
    let glider = Matrix::from([
        [false, true, false, false, false],
        [false, false, true, false, false],
        [true, true, true, false, false],
        [false; 5],
        [false; 5],
    ]);
    for row in run(generations(&use_(&glider), 4))?.to_ndarray().outer_iter() {
        println!("{}", row.iter().map(|alive| if *alive { '#' } else { '.' }).collect::<String>());
    }
    Ok(())
}
