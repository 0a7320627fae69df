//! A histogram by a permutation that adds, and the equalisation of an image by its running sum.
//!
//! ```text
//! [1, 3, 1, 1]
//! [0, 153, 153, 153, 204, 255]
//! ```

use acc_array::prelude::*;

/// How many elements have each of `bins` values.
pub fn histogram(xs: &Acc<Vector<u8>>, bins: usize) -> Acc<Vector<i64>> {
    fill(xs.extent(), 1i64).permute(fill(bins, 0i64), |a, b| a + b, |i| Some(xs.index(i)))
}

/// Spreads the grey levels evenly: each level's place among all pixels.
pub fn equalised<Sh: Shape>(image: &Acc<Array<Sh, u8>>) -> Acc<Array<Sh, u8>> {
    let pixels = image.flatten();
    let below = histogram(&pixels, 256).scanl1(|a, b| a + b);
    let total = pixels.length();
    let darkest = pixels.map(|p| p.to::<i64>()).fold(255, |a, b| a.min(b));
    let levels = below.map(|n| {
        let first = below.index(darkest.the());
        // An image of one level has no levels to spread.
        total.gt(first).then_else((n - first) * 255 / (total - first), 0).max(0)
    });
    image.map(|p| levels.index(p).to::<u8>())
}

fn main() -> Result<(), Error> {
    let xs = use_(&Vector::from([0u8, 1, 1, 1, 2, 3]));
    println!("{:?}", run(histogram(&xs, 4))?.to_vec());
    println!("{:?}", run(equalised(&xs))?.to_vec());
    Ok(())
}
