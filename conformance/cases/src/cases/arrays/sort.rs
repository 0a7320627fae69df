//! Sorting, and what it serves.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

/// Numbers without an obvious order.
fn scrambled(n: i64) -> Vec<i64> {
    (0..n).map(|i| (i * i * 31 + i * 7919) % 1009 - 500).collect()
}

pub fn cases() -> Vec<Case> {
    vec![
        case("sort/types", "", |t| {
            macro_rules! types {
                ($($t:ty: [$($x:expr),*];)*) => { $({
                    let xs: Vec<$t> = vec![$($x),*];
                    let mut sorted = xs.clone();
                    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
                    t.gives(use_(&Vector::from(xs)).sort(), Vector::from(sorted));
                    t.gives(use_(&Vector::from(Vec::<$t>::new())).sort(), Vector::from(Vec::<$t>::new()));
                })* };
            }
            types! {
                i8: [3, -128, 127, 0, -1];
                i16: [3, i16::MIN, i16::MAX, 0, -1];
                i32: [3, i32::MIN, i32::MAX, 0, -1];
                i64: [3, i64::MIN, i64::MAX, 0, -1];
                u8: [3, 255, 128, 0, 127];
                u16: [3, u16::MAX, 1 << 15, 0, 1];
                u32: [3, u32::MAX, 1 << 31, 0, 1];
                u64: [3, u64::MAX, 1 << 63, 0, 1];
                f32: [0.5, f32::NEG_INFINITY, -0.25, f32::INFINITY, 1e-40];
                f64: [0.5, f64::NEG_INFINITY, -0.25, f64::INFINITY, 5e-324];
                bool: [true, false, true, false];
                char: ['b', char::MAX, 'a', '\0'];
            }
            let halves = [0.5f32, -2.0, 1e-7, -0.0, 3.0].map(f16::from_f32);
            let sorted = [-2.0f32, -0.0, 1e-7, 0.5, 3.0].map(f16::from_f32);
            t.gives(use_(&Vector::from(halves)).sort(), Vector::from(sorted));
        }),
        case("sort/nan-and-zeros", "", |t| {
            let xs = use_(&Vector::from([f64::NAN, 1.0, 0.0, -f64::NAN, -0.0, f64::INFINITY, -0.0]));
            t.gives(xs.argsort(), Vector::from([2, 4, 6, 1, 5, 0, 3]));
            t.gives(xs.argsort_descending(), Vector::from([0, 3, 5, 1, 2, 4, 6]));
            let xs = use_(&Vector::from([f32::NAN, 1.0, 0.0, -0.0]));
            t.gives(xs.argsort(), Vector::from([2, 3, 1, 0]));
        }),
        case("sort/rows", "", |t| {
            let m = use_(&Matrix::from([[3, 1, 2], [1, 2, 1]]));
            t.gives(m.sort(), Matrix::from([[1, 2, 3], [1, 1, 2]]));
            t.gives(m.argsort(), Matrix::from([[1, 2, 0], [0, 2, 1]]));
            t.gives(m.sort_descending(), Matrix::from([[3, 2, 1], [2, 1, 1]]));
            t.gives(m.argsort_descending(), Matrix::from([[0, 2, 1], [1, 0, 2]]));
            t.gives(fill((2, 0), 1).sort(), host((2, 0), [0; 0]));
            t.gives(fill((0, 3), 1).argsort(), host((0, 3), [0i64; 0]));
            t.gives(fill(1, 7).sort(), Vector::from([7]));
            t.gives(fill((2, 3), ()).argsort(), Matrix::from([[0, 1, 2], [0, 1, 2]]));
            let c = generate((2, 2, 3), |(i, j, k)| (i * 5 + j * 3 - k) % 4);
            t.gives(c.sort(), host((2, 2, 3), [-2, -1, 0, 1, 2, 3, 0, 1, 3, 0, 2, 3]));
        }),
        case("sort/lexicographic", "", |t| {
            let xs = [(2, 'a', 1.5), (1, 'b', 0.0), (2, 'a', -1.0), (1, 'a', 9.0), (2, 'A', 0.0)];
            let want = [(1, 'a', 9.0), (1, 'b', 0.0), (2, 'A', 0.0), (2, 'a', -1.0), (2, 'a', 1.5)];
            t.gives(use_(&Vector::from_iter(xs)).sort(), Vector::from_iter(want));
            let rows: Matrix<(u8, bool)> =
                host((2, 3), [(1, true), (0, true), (1, false), (9, false), (9, true), (8, true)]);
            t.gives(use_(&rows).argsort(), Matrix::from([[1, 2, 0], [2, 0, 1]]));
            let options: Vector<Option<i32>> = [Some(3), None, Some(-1)].into_iter().collect();
            t.gives(use_(&options).sort(), [None, Some(-1), Some(3)].into_iter().collect());
        }),
        case("sort/stable", "", |t| {
            for n in [2, 17, 64, 1000, 16384, 16385, 40000, 70001] {
                let xs = scrambled(n);
                let mut order: Vec<i64> = (0..n).collect();
                order.sort_by_key(|i| xs[*i as usize]);
                t.gives(use_(&Vector::from(xs.clone())).argsort(), Vector::from(order));
                let mut order: Vec<i64> = (0..n).collect();
                order.sort_by_key(|i| std::cmp::Reverse(xs[*i as usize]));
                t.gives(use_(&Vector::from(xs)).argsort_descending(), Vector::from(order));
            }
            let xs = scrambled(2 * 20000);
            let want: Vec<i64> = xs
                .chunks(20000)
                .flat_map(|row| {
                    let mut row = row.to_vec();
                    row.sort_unstable();
                    row
                })
                .collect();
            t.gives(use_(&host::<DIM2, i64>((2, 20000), xs)).sort(), host((2, 20000), want));
        }),
        case("sort/by-key", "", |t| {
            let xs = use_(&Vector::from([-3i32, 1, 2, -2, 3]));
            t.gives(xs.sort_by_key(|x| x.abs()), Vector::from([1, 2, -2, -3, 3]));
            t.gives(xs.sort_by_key(|x| (x % 2, -x)), Vector::from([-3, 2, -2, 3, 1]));
            t.gives(fill(0, 1).sort_by_key(|x| x), Vector::from([0; 0]));
        }),
        case("sort/unique", "", |t| {
            let xs = use_(&Vector::from([3, 1, 3, 2, 1, 3]));
            t.gives(xs.unique(), Vector::from([1, 2, 3]));
            t.gives(xs.unique_counts(), (Vector::from([1, 2, 3]), Vector::from([2, 1, 3])));
            t.gives(use_(&Vector::from([f64::NAN, 1.0, f64::NAN])).unique(), Vector::from([1.0, f64::NAN]));
            t.gives(fill(0, 1).unique_counts(), (Vector::from([0; 0]), Vector::from([0i64; 0])));
            t.gives(fill(5, (1, 'x')).unique_counts(), (Vector::from_iter([(1, 'x')]), Vector::from([5])));
        }),
        case("sort/reduce-by-key", "", |t| {
            let keys = Vector::from(['b', 'a', 'b', 'c', 'a', 'b']);
            let values = use_(&Vector::from([1i32, 2, 3, 4, 5, 6]));
            let want = (Vector::from(['a', 'b', 'c']), Vector::from([7, 10, 4]));
            t.gives(values.reduce_by_key(&keys, |a, b| a + b), want);
            // In order: each number takes two digits.
            let digits = values.map(|x| (x.to::<i64>(), lift(10i64)));
            let joined = digits.reduce_by_key(&keys, |(a, m), (b, n)| (a * n + b, m * n));
            let want = (Vector::from(['a', 'b', 'c']), Vector::from_iter([(25, 100), (136, 1000), (4, 10)]));
            t.gives(joined, want);
            t.gives(fill(0, 1).reduce_by_key(&keys, |a, b| a + b), (Vector::from(['a'; 0]), Vector::from([0; 0])));
        }),
    ]
}
