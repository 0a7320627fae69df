//! The Mandelbrot set: a loop for each element, as long as that element needs.
//!
//! ```text
//!                    @
//!                   @@.
//!                @.@@@@@ ..
//!              ..@@@@@@@@.
//!              .@@@@@@@@@@@
//!         .@@@.@@@@@@@@@@@.
//!        .@@@@@@@@@@@@@@@@
//!        .@@@@@@@@@@@@@@@@
//!         .@@@.@@@@@@@@@@@.
//!              .@@@@@@@@@@@
//!              ..@@@@@@@@.
//!                @.@@@@@ ..
//!                   @@.
//!                    @
//! ```

use acc_array::prelude::*;

/// The number of steps, up to `limit`, after which each of these points of the plane is further than 2 from 0.
pub fn steps(rows: usize, columns: usize, limit: i32) -> Acc<Matrix<i32>> {
    let (across, down) = (3.0 / columns as f32, 2.0 / rows as f32);
    generate((rows, columns), |(j, i)| {
        let c = complex(i.to::<f32>() * across - 2.0, j.to::<f32>() * down - 1.0);
        let inside = |(z, n): (Exp<Complex<f32>>, Exp<i32>)| z.norm_sqr().lt(4.0).and(n.lt(limit));
        let (_, n) = while_((c, 0i32), inside, |(z, n)| (z * z + c, n + 1));
        n
    })
}

fn main() -> Result<(), Error> {
    for row in run(steps(15, 30, 60))?.to_ndarray().outer_iter().skip(1) {
        let line: String = row
            .iter()
            .map(|n| {
                if *n == 60 {
                    '@'
                } else if *n > 12 {
                    '.'
                } else {
                    ' '
                }
            })
            .collect();
        println!("{}", line.trim_end());
    }
    Ok(())
}
