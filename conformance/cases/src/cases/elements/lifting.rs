//! What Haskell needs to get in and out of expressions, and what the main module exports beside.

use crate::cases::{Case, case};
use acc_core::prelude::*;

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Age(i32);

pub fn cases() -> Vec<Case> {
    [lifts(), pairs(), unsafe_(), exports()].concat()
}

fn lifts() -> Vec<Case> {
    vec![
        case("lifting/lift", "LFT-01 TYP-16", |t| {
            t.maps(|x: Exp<i32>| lift((x, 2u8)), &[(1, (1, 2u8))]);
            t.maps(|x: Exp<i32>| lift((x, (true, x + 1))), &[(1, (1, (true, 2)))]);
            t.gives(unit(lift(5)), Scalar::scalar(5));
        }),
        case("lifting/unlift", "LFT-02", |t| {
            t.maps(
                |x: Exp<i32>| {
                    let (a, (b, c)) = lift::<(i32, (i32, bool))>((x, (x + 1, true))).unlift();
                    c.then_else(a * b, 0)
                },
                &[(3, 12), (0, 0)],
            );
        }),
        case("lifting/lift1", "LFT-03", |t| {
            let f = |x: Exp<(i32, i32)>| functions::lift1(|(a, b): (Exp<i32>, Exp<i32>)| a + b)(x);
            t.maps(|(a, b)| f(lift((a, b))), &[((1, 2), 3)]);
        }),
        case("lifting/lift2", "LFT-04", |t| {
            t.maps2(
                |a: Exp<i32>, b: Exp<i32>| functions::lift2(|a: Exp<i32>, b: Exp<i32>| (b, a))(a, b),
                &[(1, 2, (2, 1))],
            );
        }),
        case("lifting/lift3", "LFT-05", |t| {
            let f = |a: Exp<i32>, b: Exp<i32>| {
                functions::lift3(|a: Exp<i32>, b: Exp<i32>, c: Exp<bool>| c.then_else(a, b))(a, b, lift(true))
            };
            t.maps2(f, &[(1, 2, 1)]);
        }),
        case("lifting/ilift1", "LFT-06", |t| {
            t.maps(|i: Exp<i64>| functions::ilift1(|i| i + 1)(i), &[(1i64, 2i64), (5, 6)])
        }),
        case("lifting/ilift2", "LFT-07", |t| {
            t.maps2(|i: Exp<i64>, j: Exp<i64>| functions::ilift2(|i, j| i * j)(i, j), &[(2i64, 3i64, 6i64)]);
        }),
        case("lifting/ilift3", "LFT-08", |t| {
            t.maps2(
                |i: Exp<i64>, j: Exp<i64>| functions::ilift3(|i, j, k| i * j + k)(i, j, lift(1)),
                &[(2i64, 3i64, 7i64)],
            );
        }),
        case("lifting/constant", "SCA-01", |t| {
            t.gives(unit(constant((1, 'x', Some(2.5f32)))), Scalar::scalar((1, 'x', Some(2.5f32))));
            t.maps(|x: Exp<i32>| x + constant(2), &[(1, 3)]);
        }),
    ]
}

fn pairs() -> Vec<Case> {
    vec![
        case("pairs/fst", "SCA-02", |t| {
            t.maps(functions::fst, &[((1, 'x'), 1), ((2, 'y'), 2)]);
            t.maps(|x: Exp<i32>| lift::<(i32, bool)>((x, true)).fst(), &[(1, 1)]);
        }),
        case("pairs/snd", "SCA-04", |t| {
            t.maps(functions::snd, &[((1, 'x'), 'x'), ((2, 'y'), 'y')]);
            t.maps(|x: Exp<i32>| lift::<(bool, i32)>((true, x)).snd(), &[(1, 1)]);
        }),
        case("pairs/afst", "SCA-03", |t| {
            let both: Acc<(Vector<i32>, Scalar<bool>)> = (fill(2, 7), unit(true)).into_acc();
            t.gives(both.afst(), Vector::from([7, 7]));
            let both: Acc<(Vector<i32>, Vector<i32>)> = (fill(0, 7), fill(1, 1).map(|x| x / 0)).into_acc();
            t.gives(both.afst(), Vector::from([0; 0]));
        }),
        case("pairs/asnd", "SCA-05", |t| {
            let both: Acc<(Vector<i32>, Scalar<bool>)> = (fill(2, 7), unit(true)).into_acc();
            t.gives(both.asnd(), Scalar::scalar(true));
            let both: Acc<(Vector<i32>, Vector<i32>)> = (fill(1, 1).map(|x| x / 0), fill(0, 7)).into_acc();
            t.gives(both.asnd(), Vector::from([0; 0]));
        }),
        case("pairs/curry", "SCA-06", |t| {
            let f = |(a, b): (Exp<i32>, Exp<i32>)| a - b;
            t.maps2(|a: Exp<i32>, b: Exp<i32>| functions::curry(f)(a, b), &[(5, 3, 2)]);
            let g = |(xs, ys): (Acc<Vector<i32>>, Acc<Vector<i32>>)| xs.zip_with(&ys, |x, y| x - y);
            t.gives(functions::curry(g)(fill(2, 5), fill(3, 2)), Vector::from([3, 3]));
        }),
        case("pairs/uncurry", "SCA-07", |t| {
            t.maps(|p| functions::uncurry(|a: Exp<i32>, b: Exp<i32>| a - b)(p), &[((5, 3), 2)]);
            let g = |xs: Acc<Vector<i32>>, ys: Acc<Vector<i32>>| xs.zip_with(&ys, |x, y| x - y);
            t.gives(functions::uncurry(g)((fill(2, 5), fill(3, 2))), Vector::from([3, 3]));
        }),
    ]
}

fn unsafe_() -> Vec<Case> {
    vec![
        case("unsafe/undef", "UNS-01", |t| {
            t.shape(fill((2, 3), undef::<(i32, Option<f64>)>()), [2, 3]);
            t.gives(fill(3, undef::<i32>()).permute(fill(3, 5), |_, old| old, Some), Vector::from([5, 5, 5]));
            t.maps(|x: Exp<i32>| x.gt(0).then_else(x, undef()), &[(1, 1), (2, 2)]);
        }),
        case("unsafe/coerce", "UNS-02 UNS-03", |t| {
            t.maps(|x: Exp<i32>| coerce::<i32, Age>(x).0 + 1, &[(1, 2)]);
            t.maps(|a: AgeExp| coerce::<Age, Sum<i32>>(a), &[(Age(3), Sum(3))]);
            t.maps(
                |(a, (b, c))| coerce::<(i32, (bool, char)), ((i32, bool), char)>((a, (b, c))),
                &[((1, (true, 'x')), ((1, true), 'x'))],
            );
            t.rejected(unit(coerce::<i32, f32>(1)), "`coerce` from i32 to f32");
        }),
    ]
}

fn exports() -> Vec<Case> {
    vec![
        case("exports/functions-of-the-host", "REX-01 REX-02 REX-03 REX-06 REX-07 N14-03", |t| {
            let (double, inc) = (|x: Exp<i32>| x * 2, |x: Exp<i32>| x + 1);
            t.maps(|x: Exp<i32>| double(inc(x)), &[(3, 8)]);
            t.maps2(|a: Exp<i32>, b: Exp<i32>| functions::flip(|a, b| a - b)(a, b), &[(1, 5, 4)]);
            let xs = use_(&Vector::from([1, 2, 3]));
            t.gives(xs.permute::<DIM1, _, _>(fill(1, 0), |new, _| new, |_| Some(0usize)), Vector::from([3]));
        }),
        case("exports/REX-04-E-CF-16-panics-while-building", "REX-04 REX-05 E-CF-16", |t| {
            let built = std::panic::catch_unwind(|| {
                use_(&Vector::from([1])).map(|x: Exp<i32>| {
                    if std::hint::black_box(true) {
                        std::panic::resume_unwind(Box::new("no such case"));
                    }
                    x
                })
            });
            t.check(built.is_err(), "a panic in a closure happens while the program is built");
            // And leaves nothing behind.
            t.maps(|x: Exp<i32>| x + 1, &[(1, 2)]);
        }),
        case("exports/Show", "REX-08", |t| {
            t.equal(Matrix::from([[1, 2], [3, 4]]).to_string(), "[[1, 2],\n [3, 4]]".to_string());
            let program = format!("{:?}", use_(&Vector::from([1, 2])).map(|x| x + 1));
            t.check(program.contains("map") && program.contains("add"), "a program shows its operations");
            t.shape(fill((2, 0), 1), [2, 0]);
        }),
        case("exports/scalar-types", "REX-09 REX-10 REX-11 REX-12 REX-18 REX-19 TYP-08", |t| {
            macro_rules! through {
                ($($x:expr),*) => { $( t.maps(|x| x, &[($x, $x)]); )* };
            }
            through!(i8::MIN, i16::MIN, i32::MIN, i64::MIN, u8::MAX, u16::MAX, u32::MAX, u64::MAX);
            through!(f16::from_f32(1.5), 1.5f32, -0.25f64, true, false, 'x', '\u{10FFFF}');
            through!(
                1 as std::ffi::c_int,
                2 as std::ffi::c_ulonglong,
                3 as std::ffi::c_short,
                0.5 as std::ffi::c_double
            );
            through!(4 as std::ffi::c_uchar, 5 as std::ffi::c_schar, 0.5 as std::ffi::c_float, 6 as std::ffi::c_long);
        }),
        case("exports/All_", "N14-01 TYP-14 TYP-06", |t| {
            let m = use_(&Matrix::from([[1, 2, 3], [4, 5, 6]]));
            t.gives(m.slice((All, 1usize)), Vector::from([2, 5]));
            t.gives(m.slice((1usize, All)), Vector::from([4, 5, 6]));
            t.gives(fill((0, 3), 1).slice((All, 1usize)), Vector::from([0; 0]));
        }),
        case("exports/list-literals", "N14-05", |t| {
            t.gives(use_(&Vector::from([1, 2, 3])), (1..4).collect::<Vector<i32>>());
            t.gives(use_(&Vector::from([0i32; 0])), Vector::from_iter([]));
        }),
        case("exports/string-literals", "N14-04", |t| {
            let text: Vector<char> = "añ€".chars().collect();
            t.gives(use_(&text).reverse(), "€ña".chars().collect::<Vector<char>>());
            t.gives(use_(&"".chars().collect::<Vector<char>>()).map(|c| c), Vector::from_iter([]));
        }),
    ]
}
