//! Sum types: `match_`, enums, `Option`, `Either`, `Ordering`.

use crate::cases::{Case, case};
use acc_core::prelude::*;
use std::cmp::Ordering;

#[derive(Elt, Clone, Debug, PartialEq)]
struct Pt {
    x: i32,
    y: i32,
}

#[derive(Elt, Clone, Debug, PartialEq)]
enum Shape {
    Cc(i32),
    Rr { w: i32, h: i32 },
    Nothing,
}

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
enum Colour {
    Red,
    Green,
    Blue,
}

#[derive(Elt, Clone, Debug, PartialEq)]
enum Generic<T, U> {
    One(T),
    Both(T, (U, Option<T>)),
}

fn vector<E: Elt>(elements: impl IntoIterator<Item = E>) -> Vector<E> {
    elements.into_iter().collect()
}

fn area(s: Exp<Shape>) -> Exp<i32> {
    s.match_(|s| match s {
        ShapeExp::Cc(r) => r * r,
        ShapeExp::Rr { w, h } => w * h,
        ShapeExp::Nothing => lift(0),
    })
}

pub fn cases() -> Vec<Case> {
    [matches(), laziness(), options(), eithers(), orderings()].concat()
}

fn matches() -> Vec<Case> {
    vec![
        case("sums/E-TY-10-records-and-variants", "FLW-02 E-TY-07 E-TY-10 PAT-01 TYP-08", |t| {
            t.maps(|p: PtExp| PtExp { x: p.x * 2, y: p.y * 2 }, &[(Pt { x: 1, y: 2 }, Pt { x: 2, y: 4 })]);
            t.maps(area, &[(Shape::Cc(2), 4), (Shape::Rr { w: 2, h: 5 }, 10), (Shape::Nothing, 0)]);
            t.maps(
                |n: Exp<i32>| n.gt(0).then_else(ShapeExp::Cc(n), ShapeExp::Rr { w: n, h: n - 1 }),
                &[(3, Shape::Cc(3)), (-2, Shape::Rr { w: -2, h: -3 })],
            );
        }),
        case("sums/E-TY-09-wildcards-and-nested-matches", "FLW-02 E-TY-09", |t| {
            let next = |c: Exp<Colour>| {
                c.match_(|c| match c {
                    ColourExp::Red => ColourExp::Green,
                    ColourExp::Green => ColourExp::Blue,
                    ColourExp::Blue => ColourExp::Red,
                })
            };
            use Colour::{Blue, Green, Red};
            t.maps(next, &[(Red, Green), (Green, Blue), (Blue, Red)]);
            t.maps(
                |c: Exp<Colour>| c.match_(|c| if let ColourExp::Green = c { lift(1) } else { lift(2) }),
                &[(Red, 2), (Green, 1), (Blue, 2)],
            );
            t.maps(
                |e: Exp<Option<Either<i32, bool>>>| {
                    e.match_(|e| match e {
                        None => lift(-1),
                        Some(e) => e.match_(|e| match e {
                            Either::Left(n) => n,
                            Either::Right(b) => b.match_(|b| lift(if b { 1 } else { 0 })),
                        }),
                    })
                },
                &[
                    (None, -1),
                    (Some(Either::Left(7)), 7),
                    (Some(Either::Right(true)), 1),
                    (Some(Either::Right(false)), 0),
                ],
            );
            // Several at once.
            t.maps2(
                |a: Exp<Option<i32>>, c: Exp<Colour>| {
                    (a, c).match_(|both| match both {
                        (Some(n), ColourExp::Red) => n,
                        (Some(n), _) => n * 10,
                        (None, _) => lift(0),
                    })
                },
                &[(Some(3), Red, 3), (Some(3), Blue, 30), (None, Red, 0)],
            );
        }),
        case("sums/every-pair-of-cases-of-an-enum", "FLW-02 E-TY-09 NOFIB-551", |t| {
            use Colour::{Blue, Green, Red};
            let code = |c: ColourExp| match c {
                ColourExp::Red => 0,
                ColourExp::Green => 1,
                ColourExp::Blue => 2,
            };
            let all = [Red, Green, Blue];
            let pairs: Vec<(Colour, Colour, (bool, i32))> =
                (0..9).map(|k| (all[k / 3], all[k % 3], (k / 3 == k % 3, k as i32))).collect();
            t.maps2(
                |a: Exp<Colour>, b: Exp<Colour>| {
                    (a, b).match_(|(a, b)| lift::<(bool, i32)>((code(a) == code(b), 3 * code(a) + code(b))))
                },
                &pairs,
            );
        }),
        case("sums/generic-enums", "FLW-02 E-TY-07 TYP-08", |t| {
            let all = [Generic::One(1i16), Generic::Both(2, ('x', Some(3))), Generic::Both(4, ('y', None))];
            t.gives(use_(&vector(all.clone())).reverse(), vector(all.clone().into_iter().rev()));
            t.maps(
                |g: Exp<Generic<i16, char>>| {
                    g.match_(|g| match g {
                        GenericExp::One(n) => n,
                        GenericExp::Both(n, (c, more)) => n + more.unwrap_or(0) + c.eq('y').then_else(100i16, 0),
                    })
                },
                &all.into_iter().zip([1, 5, 104]).collect::<Vec<_>>(),
            );
        }),
        case("sums/in-folds-and-permutes", "FLW-02 E-TY-07", |t| {
            let shapes = vector([Shape::Cc(2), Shape::Nothing, Shape::Rr { w: 1, h: 5 }]);
            let larger = |a: Exp<Shape>, b: Exp<Shape>| area(a).ge(area(b)).then_else(a, b);
            t.gives(use_(&shapes).fold(Shape::Nothing, larger), Scalar::scalar(Shape::Rr { w: 1, h: 5 }));
            t.gives(use_(&vector([])).fold(Shape::Cc(1), larger), Scalar::scalar(Shape::Cc(1)));
        }),
        case("sums/True_-False_", "REX-12 REX-13 REX-14", |t| {
            t.maps(|b: Exp<bool>| b.match_(|b| lift(if b { 'T' } else { 'F' })), &[(true, 'T'), (false, 'F')]);
            t.maps(|n: Exp<i32>| n.gt(0).then_else(true, false), &[(1, true), (0, false)]);
        }),
    ]
}

fn laziness() -> Vec<Case> {
    vec![
        case("sums/arms-are-lazy", "FLW-02 E-CF-02 E-CF-05 E-TY-09", |t| {
            let xs = Vector::from([10, 20, 30]);
            // A read out of bounds, in the arm that is taken only where it is in bounds.
            t.maps(
                |i: Exp<Option<i64>>| {
                    i.match_(|i| match i {
                        Some(i) => use_(&xs).index(i),
                        None => lift(0),
                    })
                },
                &[(Some(2), 30), (None, 0), (Some(0), 10)],
            );
            t.faults(
                use_(&vector([Some(3i64), None])).map(|i| i.map_or(0, |i| use_(&xs).index(i))),
                "index_out_of_bounds",
            );
            // The payload of what is not there is zero, a divisor.
            t.maps(
                |e: Exp<Either<i32, bool>>| {
                    e.match_(|e| match e {
                        Either::Left(n) => 100 / n,
                        Either::Right(_) => lift(-1),
                    })
                },
                &[(Either::Left(3), 33), (Either::Right(true), -1)],
            );
            t.faults(
                use_(&vector([Shape::Cc(0)])).map(|s| {
                    s.match_(|s| match s {
                        ShapeExp::Cc(n) => 1 / n,
                        _ => lift(0),
                    })
                }),
                "division_by_zero",
            );
            // A loop that ends in its own arm alone.
            t.maps(
                |c: Exp<Colour>| {
                    c.match_(|c| match c {
                        ColourExp::Red => while_(1, |_| c_is_not_red(&c), |n| n + 1),
                        _ => lift(5),
                    })
                },
                &[(Colour::Green, 5), (Colour::Red, 1)],
            );
            // A loop without an end, never entered.
            t.maps(
                |n: Exp<Option<i32>>| {
                    n.match_(|n| match n {
                        Some(n) => n,
                        None => while_(0, |_| lift(true), |n| n),
                    })
                },
                &[(Some(1), 1), (Some(2), 2)],
            );
        }),
        case("sums/a-guarded-value-shared-by-arms", "FLW-02 E-CF-05", |t| {
            let xs = Vector::from([1, 2, 3]);
            t.maps2(
                |c: Exp<Colour>, i: Exp<i64>| {
                    let x = use_(&xs).index(i);
                    c.match_(|c| match c {
                        ColourExp::Red => x,
                        ColourExp::Green => x * 2,
                        ColourExp::Blue => lift(0),
                    })
                },
                &[(Colour::Red, 1i64, 2), (Colour::Green, 2, 6), (Colour::Blue, 99, 0)],
            );
        }),
        case("sums/arms-in-folds-scans-and-stencils-are-lazy", "FLW-02 E-CF-05", |t| {
            let xs = Vector::from([4, 0, 2]);
            // A sum, with a division by what is not zero.
            let add = |a: Exp<i32>, b: Exp<i32>| {
                b.ne(0).then_some(b).match_(|b| match b {
                    Some(b) => a + b * b / b,
                    None => a,
                })
            };
            t.gives(use_(&xs).fold(100, add), Scalar::scalar(106));
            t.gives(use_(&xs).scanl(100, add), Vector::from([100, 104, 104, 106]));
            t.gives(use_(&xs).stencil(Edge::Clamp, |s: Stencil3<i32>| add(s[0], s[1])), Vector::from([4, 2, 4]));
            t.gives(xs_dropped(&xs), Vector::from([4, 2, 0]));
        }),
    ]
}

fn options() -> Vec<Case> {
    vec![
        case("option/Just_-Nothing_", "REX-15 REX-16 REX-17 E-TY-07", |t| {
            t.maps(|n: Exp<i32>| n.gt(0).then_else(some(n), none()), &[(3, Some(3)), (-3, None)]);
            t.maps(|n: Exp<i32>| n.gt(0).then_some(n * 2), &[(3, Some(6)), (-3, None)]);
            t.gives(fill(3, Some((1i32, 'x'))), vector([Some((1, 'x')); 3]));
            t.gives(fill(2, None::<i32>), vector([None::<i32>; 2]));
        }),
        case("option/maybe", "MAY-01", |t| {
            t.maps(|o: Exp<Option<i32>>| o.map_or(-1, |n| n * 2), &[(Some(4), 8), (None, -1)])
        }),
        case("option/isJust", "MAY-02", |t| {
            t.maps(|o: Exp<Option<i32>>| o.is_some(), &[(Some(0), true), (None, false)])
        }),
        case("option/isNothing", "MAY-03", |t| {
            t.maps(|o: Exp<Option<i32>>| o.is_none(), &[(Some(0), false), (None, true)])
        }),
        case("option/fromMaybe", "MAY-04", |t| {
            t.maps(|o: Exp<Option<i32>>| o.unwrap_or(9), &[(Some(4), 4), (None, 9)])
        }),
        case("option/fromJust", "MAY-05", |t| {
            t.maps(|o: Exp<Option<i32>>| o.from_just(), &[(Some(4), 4), (Some(-1), -1)]);
            t.shape(use_(&vector([None::<i32>])).map(|o| o.from_just()), [1]);
        }),
        case("option/bind-and-return", "N14-06", |t| {
            let half = |n: Exp<i32>| (n % 2).eq(0).then_some(n / 2);
            t.maps(|o: Exp<Option<i32>>| o.and_then(half), &[(Some(6), Some(3)), (Some(3), None), (None, None)]);
            t.maps(|n: Exp<i32>| some(n).and_then(half), &[(6, Some(3)), (3, None)]);
        }),
        case("option/flipped-bind", "N14-07", |t| {
            let half = |n: Exp<i32>| (n % 2).eq(0).then_some(n / 2);
            t.maps(
                |o: Exp<Option<i32>>| functions::flip(Exp::<Option<i32>>::and_then)(half, o),
                &[(Some(6), Some(3)), (Some(3), None), (None, None)],
            );
        }),
        case("option/sequence", "N14-08", |t| {
            t.maps2(
                |a: Exp<Option<i32>>, b: Exp<Option<bool>>| a.and(b),
                &[(Some(1), Some(true), Some(true)), (None, Some(true), None), (Some(1), None, None)],
            );
        }),
        case("option/Kleisli-composition", "N14-09 N14-10", |t| {
            let half = |n: Exp<i32>| (n % 2).eq(0).then_some(n / 2);
            let minus = |n: Exp<i32>| n.gt(1).then_some(n - 1);
            t.maps(|n: Exp<i32>| half(n).and_then(minus), &[(6, Some(2)), (2, None), (3, None)]);
            t.maps(|n: Exp<i32>| minus(n).and_then(half), &[(7, Some(3)), (6, None), (1, None)]);
        }),
        case("option/when-unless", "N14-11", |t| {
            t.maps(|b: Exp<bool>| b.then_else(none::<()>(), some(())), &[(true, None), (false, Some(()))]);
        }),
        case("option/liftM", "N14-12", |t| {
            t.maps(|o: Exp<Option<i32>>| o.map(|n| n + 1), &[(Some(1), Some(2)), (None, None)]);
            t.maps2(
                |a: Exp<Option<i32>>, b: Exp<Option<i32>>| a.zip(b).map(|(a, b)| a - b),
                &[(Some(5), Some(2), Some(3)), (None, Some(2), None), (Some(5), None, None), (None, None, None)],
            );
            t.maps(
                |o: Exp<Option<i32>>| o.zip(o).zip(some(1)).map(|((a, b), c)| a + b + c),
                &[(Some(2), Some(5)), (None, None)],
            );
            t.maps2(
                |a: Exp<Option<i32>>, b: Exp<Option<i32>>| a.or(b),
                &[(Some(5), Some(2), Some(5)), (None, Some(2), Some(2)), (None, None, None)],
            );
        }),
    ]
}

fn eithers() -> Vec<Case> {
    type E = Either<i32, bool>;
    use Either::{Left, Right};
    vec![
        case("either/Left_", "EIT-01 E-TY-07", |t| {
            t.maps(|n: Exp<i32>| left::<i32, bool>(n + 1), &[(1, Left(2)), (-1, Left(0))])
        }),
        case("either/Right_", "EIT-02 E-TY-07", |t| {
            t.maps(|b: Exp<bool>| right::<i32, bool>(!b), &[(true, Right(false))])
        }),
        case("either/either", "EIT-03", |t| {
            t.maps(
                |e: Exp<E>| e.either(|n| n * 2, |b| b.to_num::<i32>()),
                &[(Left(4), 8), (Right(true), 1), (Right(false), 0)],
            );
        }),
        case("either/isLeft", "EIT-04", |t| t.maps(|e: Exp<E>| e.is_left(), &[(Left(0), true), (Right(false), false)])),
        case("either/isRight", "EIT-05", |t| {
            t.maps(|e: Exp<E>| e.is_right(), &[(Left(0), false), (Right(false), true)])
        }),
        case("either/fromLeft", "EIT-06", |t| {
            t.maps(|e: Exp<E>| e.from_left(), &[(Left(4), 4)]);
            t.shape(use_(&vector([E::Right(true)])).map(|e| e.from_left()), [1]);
        }),
        case("either/fromRight", "EIT-07", |t| {
            t.maps(|e: Exp<E>| e.from_right(), &[(Right(true), true), (Right(false), false)]);
            t.shape(use_(&vector([E::Left(3)])).map(|e| e.from_right()), [1]);
        }),
        case("either/monad", "N14-06 N14-08 N14-12", |t| {
            t.maps(
                |e: Exp<Either<bool, i32>>| e.and_then(|n| n.gt(0).then_else(right(n - 1), left::<bool, i32>(true))),
                &[(Right(3), Right(2)), (Right(0), Left(true)), (Left(false), Left(false))],
            );
            t.maps(|e: Exp<Either<bool, i32>>| e.map(|n| n + 1), &[(Right(3), Right(4)), (Left(true), Left(true))]);
            t.maps(
                |e: Exp<Either<bool, i32>>| e.and(right::<bool, char>('x')),
                &[(Right(3), Right('x')), (Left(true), Left(true))],
            );
        }),
    ]
}

fn orderings() -> Vec<Case> {
    use Ordering::{Equal, Greater, Less};
    vec![
        case("ordering/elements", "EQO-12 E-TY-06", |t| {
            let all = vector([Less, Equal, Greater]);
            t.gives(use_(&all).reverse(), vector([Greater, Equal, Less]));
            t.maps(|o: Exp<Ordering>| o.reverse(), &[(Less, Greater), (Equal, Equal), (Greater, Less)]);
        }),
        case("ordering/compare", "EQO-11 E-TY-03", |t| {
            t.maps2(|a: Exp<i32>, b: Exp<i32>| a.compare(b), &[(1, 2, Less), (2, 2, Equal), (3, 2, Greater)]);
            t.maps2(|a: Exp<u64>, b: Exp<u64>| a.compare(b), &[(1, u64::MAX, Less), (u64::MAX, 1, Greater)]);
            t.maps2(|a: Exp<char>, b: Exp<char>| a.compare(b), &[('a', 'b', Less), ('b', 'b', Equal)]);
            t.maps2(|a: Exp<bool>, b: Exp<bool>| a.compare(b), &[(false, true, Less), (true, true, Equal)]);
            t.maps2(
                |a, b| lift::<(i32, char)>(a).compare(lift::<(i32, char)>(b)),
                &[((1, 'b'), (2, 'a'), Less), ((1, 'b'), (1, 'a'), Greater), ((1, 'b'), (1, 'b'), Equal)],
            );
        }),
        case("ordering/E-FP-02-compare-with-NaN", "EQO-11 E-FP-02 E-FP-05", |t| {
            t.maps2(
                |a: Exp<f64>, b: Exp<f64>| a.compare(b),
                &[
                    (f64::NAN, 1.0, Greater),
                    (1.0, f64::NAN, Greater),
                    (f64::NAN, f64::NAN, Greater),
                    (0.0, -0.0, Equal),
                ],
            );
        }),
        case("ordering/E-TY-08-orders-of-sum-types", "EQO-12 E-TY-06 E-TY-08 MAY-01 EIT-03", |t| {
            type O = Option<i32>;
            t.maps2(
                |a: Exp<O>, b: Exp<O>| a.compare(b),
                &[
                    (None, Some(i32::MIN), Less),
                    (Some(-1), None, Greater),
                    (None, None, Equal),
                    (Some(1), Some(2), Less),
                    (Some(2), Some(2), Equal),
                ],
            );
            t.maps2(
                |a: Exp<O>, b: Exp<O>| a.eq(b),
                &[(Some(0), None, false), (None, None, true), (Some(1), Some(1), true)],
            );
            t.maps2(
                |a: Exp<O>, b: Exp<O>| a.ge(b),
                &[(Some(0), None, true), (None, Some(0), false), (None, None, true)],
            );
            t.maps2(|a: Exp<O>, b: Exp<O>| a.max(b), &[(Some(0), None, Some(0)), (None, Some(-3), Some(-3))]);
            t.maps2(
                |a: Exp<Either<i32, bool>>, b: Exp<Either<i32, bool>>| a.compare(b),
                &[
                    (Either::Left(9), Either::Right(false), Less),
                    (Either::Right(false), Either::Left(9), Greater),
                    (Either::Left(1), Either::Left(1), Equal),
                    (Either::Right(true), Either::Right(false), Greater),
                ],
            );
            t.maps2(
                |a: Exp<Ordering>, b: Exp<Ordering>| a.lt(b),
                &[(Less, Greater, true), (Equal, Equal, false), (Greater, Less, false)],
            );
            t.maps2(|a: Exp<Sum<i32>>, b: Exp<Sum<i32>>| a.min(b), &[(Sum(3), Sum(2), Sum(2))]);
            t.maps2(|a: Exp<Max<i32>>, b: Exp<Max<i32>>| a.eq(b), &[(Max(3), Max(2), false), (Max(2), Max(2), true)]);
        }),
        case("ordering/LT_-EQ_-GT_", "EQO-13 EQO-14 EQO-15 E-TY-06", |t| {
            t.maps(
                |o: Exp<Ordering>| {
                    o.match_(|o| match o {
                        Less => lift(-1),
                        Equal => lift(0),
                        Greater => lift(1),
                    })
                },
                &[(Less, -1), (Equal, 0), (Greater, 1)],
            );
            t.maps(
                |n: Exp<i32>| n.lt(0).then_else(Less, n.gt(0).then_else(Greater, Equal)),
                &[(-5, Less), (0, Equal), (5, Greater)],
            );
            t.maps2(
                |a: Exp<Ordering>, b: Exp<Ordering>| a.then(b),
                &[(Less, Greater, Less), (Equal, Greater, Greater)],
            );
        }),
    ]
}

/// Whether a colour, known when the program is built, is not red.
fn c_is_not_red(c: &ColourExp) -> Exp<bool> {
    lift(!matches!(c, ColourExp::Red))
}

/// The elements without their zeros, at the positions of a quotient that only they have.
fn xs_dropped(xs: &Vector<i32>) -> Acc<Vector<i32>> {
    let xs = use_(xs);
    xs.permute::<DIM1, _, _>(
        fill(3, 0),
        |new, old| new + old,
        |i| {
            let x: Exp<i32> = xs.index(i);
            x.ne(0).then_some(x).and_then(|x| some((4 / x).to::<i64>() - 1))
        },
    )
}
