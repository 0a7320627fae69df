//! Filters and sums within segments, by one scan of pairs.
//!
//! ```text
//! [4, 1, 5]
//! [3, 7, 1, 6, 5]
//! ```

use acc_array::prelude::*;

/// The sum of each segment so far: a flag starts a new segment.
pub fn sums(flags: &Acc<Vector<bool>>, xs: &Acc<Vector<i64>>) -> Acc<Vector<i64>> {
    flags.zip(xs).scanl1(|(fa, a), (fb, b)| (fa | fb, fb.then_else(b, a + b))).map(|(_, sum)| sum)
}

fn main() -> Result<(), Error> {
    let xs = use_(&Vector::from([3i64, 4, 1, 5, 5]));
    let flags = use_(&Vector::from([true, false, true, false, true]));
    let kept = xs.zip(&flags).filter(|(x, starts)| starts.or(x.lt(5)).and(x.ne(3)));
    println!("{:?}", run(kept.map(|(x, _)| x))?.to_vec());
    println!("{:?}", run(sums(&flags, &xs))?.to_vec());
    Ok(())
}
