//! Tuples, indices and SIMD vectors taken apart and put together: what Accelerate's pattern synonyms do.

use crate::cases::{Case, case};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    [tuples(), indices(), vectors()].concat()
}

/// A case for tuples of one length: of scalars, rotated by one place, and of arrays.
macro_rules! tuple_case {
    ($name:literal, $rows:literal, $a:ident $m:literal, $($x:ident $n:literal),*) => {
        case($name, $rows, |t| {
            t.maps(|($a, $($x,)*)| ($($x,)* $a), &[(($m, $($n,)*), ($($n,)* $m))]);
            let arrays = (unit($m), $(fill($n, $n),)*);
            t.gives(arrays, (Scalar::scalar($m), $(Vector::from(vec![$n; $n]),)*));
            t.gives((fill(0, $m), $(unit($n),)*), (Vector::from(vec![$m; 0]), $(Scalar::scalar($n),)*));
        })
    };
}

fn tuples() -> Vec<Case> {
    vec![
        tuple_case!("tuples/T2", "PAT-02 E-TY-01 TYP-03", a 1, b 2),
        tuple_case!("tuples/T3", "PAT-03 E-TY-01", a 1, b 2, c 3),
        tuple_case!("tuples/T4", "PAT-04 E-TY-01", a 1, b 2, c 3, d 4),
        tuple_case!("tuples/T5", "PAT-05 E-TY-01", a 1, b 2, c 3, d 4, e 5),
        tuple_case!("tuples/T6", "PAT-06 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6),
        tuple_case!("tuples/T7", "PAT-07 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7),
        tuple_case!("tuples/T8", "PAT-08 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8),
        tuple_case!("tuples/T9", "PAT-09 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9),
        tuple_case!("tuples/T10", "PAT-10 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10),
        tuple_case!("tuples/T11", "PAT-11 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10, k 11),
        tuple_case!("tuples/T12", "PAT-12 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10, k 11, l 12),
        tuple_case!("tuples/T13", "PAT-13 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10, k 11, l 12, m 13),
        tuple_case!("tuples/T14", "PAT-14 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10, k 11, l 12, m 13, n 14),
        tuple_case!("tuples/T15", "PAT-15 E-TY-01", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10, k 11, l 12, m 13, n 14, o 15),
        tuple_case!("tuples/T16", "PAT-16 E-TY-01 TYP-03", a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, i 9, j 10, k 11, l 12, m 13, n 14, o 15, p 16),
        case("tuples/comparisons-of-sixteen", "E-TY-01 E-TY-03", |t| {
            type T = (u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8);
            let t16 = |last: u8| -> T { (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, last) };
            t.maps2(
                |a, b| (lift::<T>(a).lt(lift::<T>(b)), lift::<T>(a).eq(lift::<T>(b))),
                &[(t16(1), t16(2), (true, false)), (t16(2), t16(2), (false, true)), (t16(3), t16(2), (false, false))],
            );
        }),
        case("tuples/E-TY-02-nested-and-unit", "E-TY-02 TYP-08 PAT-01", |t| {
            t.maps(|(a, (b, c))| ((c, b), a), &[((1, (2u8, 'x')), (('x', 2u8), 1))]);
            t.maps(|((), a)| (a, ()), &[(((), 1), (1, ()))]);
            t.gives(fill(2, ()), [(), ()].into_iter().collect::<Vector<()>>());
            t.gives(fill(0, ()), [].into_iter().collect::<Vector<()>>());
            t.gives(fill(3, ()).map(|()| 1), Vector::from([1, 1, 1]));
        }),
    ]
}

/// A case for indices of one rank: built from their parts, and taken apart.
macro_rules! index_case {
    ($name:literal, $rows:literal, $rank:literal, $pattern:pat, [$($i:ident),*], $shape:expr, $empty:expr) => {
        case($name, $rows, |t| {
            let digits = |ix: &[usize]| ix.iter().fold(0, |n, i| 10 * n + *i as i64);
            let program = generate::<Dim<$rank>, i64, _>($shape, |$pattern| {
                let n = lift(0i64);
                $(let n = n * 10 + $i;)*
                n
            });
            if let Ok(want) = Array::<Dim<$rank>, i64>::from_fn($shape, digits) {
                t.gives(program, want);
            }
            let extent: [usize; $rank] = $empty;
            t.shape(generate::<Dim<$rank>, i64, _>(extent, |_| 1), extent);
        })
    };
}

fn indices() -> Vec<Case> {
    vec![
        index_case!("indices/I0", "PAT-17 PAT-20 TYP-09 TYP-11", 0, (), [], (), []),
        index_case!("indices/I1", "PAT-21 PAT-18 PAT-19 TYP-10 TYP-11", 1, i, [i], 3, [0]),
        index_case!("indices/I2", "PAT-22 PAT-18 PAT-19 TYP-10 TYP-11", 2, (i, j), [i, j], (2, 3), [2, 0]),
        index_case!("indices/I3", "PAT-23 TYP-11", 3, (i, j, k), [i, j, k], (2, 1, 3), [2, 0, 3]),
        index_case!("indices/I4", "PAT-24 TYP-11", 4, (i, j, k, l), [i, j, k, l], (1, 2, 1, 2), [1, 0, 1, 2]),
        index_case!(
            "indices/I5",
            "PAT-25 TYP-11",
            5,
            (i, j, k, l, m),
            [i, j, k, l, m],
            (1, 2, 1, 2, 2),
            [1, 1, 0, 1, 2]
        ),
        index_case!(
            "indices/I6",
            "PAT-26 TYP-11",
            6,
            (i, j, k, l, m, n),
            [i, j, k, l, m, n],
            (2, 1, 2, 1, 1, 2),
            [1, 1, 0, 1, 2, 1]
        ),
        index_case!(
            "indices/I7",
            "PAT-27 TYP-11",
            7,
            (i, j, k, l, m, n, o),
            [i, j, k, l, m, n, o],
            (2, 1, 2, 1, 1, 2, 1),
            [1, 1, 0, 1, 2, 1, 1]
        ),
        index_case!(
            "indices/I8",
            "PAT-28 TYP-11",
            8,
            (i, j, k, l, m, n, o, p),
            [i, j, k, l, m, n, o, p],
            (2, 1, 2, 1, 1, 2, 1, 1),
            [1, 1, 0, 1, 2, 1, 1, 1]
        ),
        index_case!(
            "indices/I9",
            "PAT-29 TYP-11",
            9,
            (i, j, k, l, m, n, o, p, q),
            [i, j, k, l, m, n, o, p, q],
            (2, 1, 2, 1, 1, 2, 1, 1, 2),
            [1, 1, 0, 1, 2, 1, 1, 1, 1]
        ),
        case("indices/in-arrays", "PAT-18 PAT-19 TYP-12", |t| {
            let m = use_(&Matrix::from([[1, 2], [3, 4]]));
            t.maps(|(i, j): (Exp<i64>, Exp<i64>)| m.index((i, j)), &[((0i64, 1i64), 2), ((1, 0), 3)]);
        }),
    ]
}

/// A case for SIMD vectors of one length: host values, lanes out and in, arithmetic.
macro_rules! simd_case {
    ($name:literal, $rows:literal, $n:literal) => {
        case($name, $rows, |t| {
            let count = Simd::<i32, $n>(std::array::from_fn(|i| i as i32 + 1));
            let Simd(host) = count;
            t.equal(host[$n - 1], $n);
            let reversed = |v: Exp<Simd<i32, $n>>| {
                let mut lanes = v.lanes();
                lanes.reverse();
                simd(lanes)
            };
            t.maps(reversed, &[(count, Simd(std::array::from_fn(|i| $n - i as i32)))]);
            t.maps(
                |v: Exp<Simd<i32, $n>>| v * v - Simd::splat(1),
                &[(count, Simd(std::array::from_fn(|i| (i as i32 + 1).pow(2) - 1)))],
            );
            t.maps(
                |v: Exp<Simd<i32, $n>>| v.lanes().into_iter().sum::<Exp<i32>>(),
                &[(count, $n * ($n + 1) / 2), (Simd::splat(3), 3 * $n)],
            );
            t.maps(|x: Exp<u8>| simd([x; $n]), &[(7u8, Simd::splat(7u8))]);
        })
    };
}

fn vectors() -> Vec<Case> {
    vec![
        simd_case!("simd/V2", "PAT-30 PAT-31 TYP-17 TYP-18 E-TY-13", 2),
        simd_case!("simd/V3", "PAT-32 PAT-33 TYP-17 E-TY-13", 3),
        simd_case!("simd/V4", "PAT-34 PAT-35 TYP-17 E-TY-13", 4),
        simd_case!("simd/V8", "PAT-36 PAT-37 TYP-17 E-TY-13", 8),
        simd_case!("simd/V16", "PAT-38 PAT-39 TYP-17 E-TY-13", 16),
        case("simd/every-lane-type", "TYP-18", |t| {
            macro_rules! lanes {
                ($($ty:ty: $a:expr, $b:expr);*) => { $(
                    t.maps(
                        |v: Exp<Simd<$ty, 2>>| {
                            let [a, b] = v.lanes();
                            [b, a]
                        },
                        &[(Simd([$a, $b]), Simd([$b, $a]))],
                    );
                )* };
            }
            lanes!(i8: -1, 2; i16: -1, 2; i32: -1, 2; i64: -1, 2; u8: 1, 255; u16: 1, 65535; u32: 1, 2; u64: 1, u64::MAX;
                f16: f16::ONE, f16::NEG_ONE; f32: 0.5, -2.0; f64: 0.5, -2.0; bool: true, false; char: 'a', 'b');
        }),
        case("simd/in-folds", "TYP-17", |t| {
            let xs: Vector<Simd<f32, 2>> = [Simd([1.0, 2.0]), Simd([3.0, 4.0])].into_iter().collect();
            t.gives(use_(&xs).fold(Simd::splat(0.0), |a, b| a + b), Scalar::scalar(Simd([4.0, 6.0])));
            let none: Vector<Simd<f32, 2>> = [].into_iter().collect();
            t.gives(use_(&none).fold(Simd::splat(0.5), |a, b| a + b), Scalar::scalar(Simd([0.5, 0.5])));
        }),
    ]
}
