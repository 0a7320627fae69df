//! Every rank from 0 to 9.

use crate::support::run;
use acc_core::prelude::*;

/// A generate, a map, a reduction of the innermost axis and back to one element, at ranks 0 to 9.
macro_rules! at_rank {
    ($($name:ident $n:literal;)*) => { $(
        #[test]
        fn $name() {
            let mut dims = [2usize; $n];
            if let Some(last) = dims.last_mut() {
                *last = 3;
            }
            let host: Array<Dim<$n>, i64> = Array::from_elts(dims, 0..dims.iter().product::<usize>() as i64).unwrap();
            let xs = use_(&host);
            // Read back by index, which is row-major.
            let copied: Acc<Array<Dim<$n>, i64>> = generate(xs.extent(), |ix| xs.index(ix));
            assert_eq!(run(copied), host);
            assert_eq!(run(enum_from::<Dim<$n>, i64>(Dim(dims), 0)), host);
            assert_eq!(run(xs.imap(|ix, x| { let _ = ix; x * 2 })).to_vec(), host.iter().map(|x| x * 2).collect::<Vec<_>>());
            assert_eq!(run(unit(xs.size())).value(), host.len() as i64);
            assert_eq!(run(xs.fold_all(0, |a, b| a + b)).value(), host.iter().sum::<i64>());
            assert_eq!(run(xs.flatten().reshape(xs.extent())), host);
            let moved = fill(xs.extent(), 1i64).permute(&xs, |a, b| a + b, Some);
            assert_eq!(run(moved).to_vec(), host.iter().map(|x| x + 1).collect::<Vec<_>>());
        }
    )* };
}
at_rank! { rank_0 0; rank_1 1; rank_2 2; rank_3 3; rank_4 4; rank_5 5; rank_6 6; rank_7 7; rank_8 8; rank_9 9; }

/// Folds take one rank away and replicates add one, all the way.
macro_rules! reduces {
    ($($name:ident $n:literal;)*) => { $(
        #[test]
        fn $name() {
            let xs: Acc<Array<Dim<$n>, i32>> = fill([2usize; $n], 1);
            let sums = run(xs.sum());
            assert_eq!(sums.shape().dims(), vec![2; $n - 1]);
            assert!(sums.iter().all(|x| x == 2));
            let scanned = run(xs.scanl(0, |a, b| a + b));
            assert_eq!(scanned.shape().dims()[$n - 1], 3);
            assert_eq!(scanned.to_vec()[..3], [0, 1, 2]);
        }
    )* };
}
reduces! { fold_rank_1 1; fold_rank_2 2; fold_rank_3 3; fold_rank_4 4; fold_rank_5 5; fold_rank_6 6; fold_rank_7 7;
fold_rank_8 8; fold_rank_9 9; }

#[test]
fn slices_and_replicates_of_high_rank() {
    let xs = use_(&Vector::from([1, 2]));
    let big = xs.replicate((1, 2, 1, 2, 1, 1, 2, 1, All));
    assert_eq!(run(big.extent_array()).to_vec(), [1, 2, 1, 2, 1, 1, 2, 1, 2]);
    let back = big.slice((0, 1, 0, 1, 0, 0, 1, 0, All));
    assert_eq!(run(back).to_vec(), [1, 2]);
    let middle = big.slice((0, All, 0, 0, 0, 0, All, 0, 1));
    assert_eq!(run(middle), Matrix::from([[2, 2], [2, 2]]));
}

trait ExtentArray {
    fn extent_array(&self) -> Acc<Vector<i64>>;
}
impl<Sh: Shape, E: Elt> ExtentArray for Acc<Array<Sh, E>> {
    /// The extents as a vector, by a chain of conditionals.
    fn extent_array(&self) -> Acc<Vector<i64>> {
        generate(Sh::RANK, |i| {
            let parts = self.extent().parts();
            parts.into_iter().enumerate().fold(lift(-1i64), |out, (k, n)| i.eq(k as i64).then_else(n, out))
        })
    }
}
