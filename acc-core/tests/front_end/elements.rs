//! Element types: scalars, tuples, structs, options, complex numbers.

use crate::support::run;
use acc_core::prelude::*;

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Named {
    a: i32,
    b: f64,
}
#[derive(Elt, Clone, Debug, PartialEq)]
struct Pair(u8, bool);
#[derive(Elt, Clone, Debug, PartialEq)]
struct Nothing;
#[derive(Elt, Clone, Debug, PartialEq)]
struct Nested {
    named: Named,
    pair: Pair,
    nothing: Nothing,
    both: (i64, Option<char>),
}
#[derive(Elt, Clone, Debug, PartialEq)]
struct Generic<T, U> {
    first: T,
    second: U,
}
#[derive(Elt, Clone, Debug, PartialEq)]
struct Wrapper<T: PartialEq>(T);

fn nested(k: i32) -> Nested {
    Nested {
        named: Named { a: k, b: f64::from(k) / 2.0 },
        pair: Pair(k as u8, k % 2 == 0),
        nothing: Nothing,
        both: (-i64::from(k), (k > 1).then_some('x')),
    }
}

#[test]
fn named_structs() {
    let xs: Vector<Named> = (0..3).map(|k| Named { a: k, b: 0.5 }).collect();
    let p = use_(&xs).map(|n| NamedExp { a: n.a + 1, ..n });
    assert_eq!(run(&p).to_vec()[2], Named { a: 3, b: 0.5 });
    let q = p.map(|NamedExp { a, b }| a.to::<f64>() + b);
    assert_eq!(run(q).to_vec(), [1.5, 2.5, 3.5]);
    assert_eq!(run(fill(2, Named { a: 1, b: 2.0 })).to_vec()[1], Named { a: 1, b: 2.0 });
}

#[test]
fn tuple_and_unit_structs() {
    let xs: Vector<Pair> = [Pair(1, true), Pair(2, false)].into_iter().collect();
    assert_eq!(run(use_(&xs).map(|PairExp(n, b)| PairExp(n * 2, !b))).to_vec(), [Pair(2, false), Pair(4, true)]);
    let none: Vector<Nothing> = [Nothing, Nothing].into_iter().collect();
    assert_eq!(run(use_(&none).map(|n| n)).to_vec(), [Nothing, Nothing]);
    assert_eq!(run(use_(&none).map(|_| 3)).to_vec(), [3, 3]);
}

#[test]
fn nested_structs() {
    let xs: Vector<Nested> = (0..4).map(nested).collect();
    assert_eq!(run(use_(&xs).map(|n| n)), xs);
    assert_eq!(run(use_(&xs).backpermute(4, |i| 3 - i)).to_vec()[0], nested(3));
    let sums = use_(&xs).map(|n| n.named.a.to::<i64>() + n.both.0 + n.both.1.map_or(0, |c| c.ord().to::<i64>()));
    assert_eq!(run(sums).to_vec(), [0, 0, 120, 120]);
}

#[test]
fn generic_structs() {
    let xs: Vector<Generic<i32, (f32, f32)>> = (0..2).map(|k| Generic { first: k, second: (0.5, 1.5) }).collect();
    let p = use_(&xs).map(|g| GenericExp::<f32, i32> { first: g.second.0 + g.second.1, second: g.first });
    assert_eq!(run(p).to_vec()[1], Generic { first: 2.0, second: 1 });
    let ws: Vector<Wrapper<u16>> = [Wrapper(7)].into_iter().collect();
    assert_eq!(run(use_(&ws).map(|WrapperExp(x)| x + 1)).to_vec(), [8]);
}

#[test]
fn tuples_of_up_to_twelve() {
    macro_rules! width {
        ($($t:expr),+) => {{
            let xs: Vector<_> = [($($t,)+)].into_iter().collect();
            assert_eq!(run(use_(&xs).map(|t| t)), xs);
        }};
    }
    width!(1i8);
    width!(1i8, 2i16);
    width!(1i8, 2i16, 3i32);
    width!(1i8, 2i16, 3i32, 4i64);
    width!(1i8, 2i16, 3i32, 4i64, 5u8);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16, 7u32);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16, 7u32, 8u64);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16, 7u32, 8u64, 9.5f32);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16, 7u32, 8u64, 9.5f32, 10.5f64);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16, 7u32, 8u64, 9.5f32, 10.5f64, true);
    width!(1i8, 2i16, 3i32, 4i64, 5u8, 6u16, 7u32, 8u64, 9.5f32, 10.5f64, true, 'c');
    let sum = generate(2, |i| (i, i * 2, i, i, i, i, i, i, i, i, i, i * 3)).map(|t| t.0 + t.1 + t.11);
    assert_eq!(run(sum).to_vec(), [0, 6]);
}

#[test]
fn complex_numbers() {
    let z = |re, im| Complex::new(re, im);
    let xs: Vector<Complex<f64>> = [z(1.0, 2.0), z(-3.0, 0.5)].into_iter().collect();
    let w = z(0.5, -1.0);
    let p = use_(&xs).map(|x| (x * w + x - w, x / w, -x, x.conj(), x.norm_sqr()));
    for (x, got) in xs.iter().zip(run(p).iter()) {
        assert_eq!((got.0, got.2, got.3, got.4), (x * w + x - w, -x, x.conj(), x.norm_sqr()));
        approx::assert_relative_eq!(got.1, x / w, max_relative = 1e-15);
    }
    assert_eq!(run(use_(&xs).sum()).value(), z(-2.0, 2.5));
}

#[test]
fn options() {
    let xs: Vector<Option<(i32, f32)>> = [Some((1, 2.0)), None].into_iter().collect();
    assert_eq!(run(use_(&xs).map(|o| (o.is_some(), o.is_none()))).to_vec(), [(true, false), (false, true)]);
    assert_eq!(run(use_(&xs).map(|o| o.unwrap_or((7, 0.0)))).to_vec(), [(1, 2.0), (7, 0.0)]);
    assert_eq!(run(use_(&xs).map(|o| o.map_or(-1, |(a, _)| a * 10))).to_vec(), [10, -1]);
    let made = generate(3, |i| i.eq(1).then_else(some((i, i)), none()));
    assert_eq!(run(made).to_vec(), [None, Some((1, 1)), None]);
}

#[test]
fn arrays_of_rust_become_arrays_whatever_their_elements() {
    let pairs = Vector::from([(1i32, 2.5f64), (3, 4.5)]);
    assert_eq!(pairs.to_vec(), [(1, 2.5), (3, 4.5)]);
    let maybe = Matrix::from([[Some(1i64), None], [None, Some(4)], [None, None]]);
    assert_eq!((maybe.shape(), maybe.get((1, 1))), (Dim([3, 2]), Some(Some(4))));
    assert_eq!(Vector::<(u8, char)>::from([]).len(), 0);
    assert_eq!(Matrix::<(u8, char)>::from([[], []]).shape(), Dim([2, 0]));
}

#[test]
fn host_arrays_report_a_wrong_count() {
    let e = Array::<Dim<2>, i32>::from_elts((2, 3), 0..5).unwrap_err();
    assert!(e.to_string().contains('5') && e.to_string().contains('6'), "{e}");
    // Elements without end are too many, and no more of them are made than it takes to know.
    let e = Array::<Dim<2>, i32>::from_elts((2, 3), 0..).unwrap_err();
    assert!(e.to_string().contains('7') && e.to_string().contains('6'), "{e}");
    assert_eq!(Matrix::from([[1, 2], [3, 4]]).to_string(), "[[1, 2],\n [3, 4]]");
}

#[derive(Elt, Clone, Debug, PartialEq)]
enum Figure {
    Circle(f32),
    Rect { w: f32, h: f32 },
    Point,
}
#[derive(Elt, Clone, Copy, Debug, PartialEq)]
enum Colour {
    Red,
    Green,
    Blue,
}
#[derive(Elt, Clone, Debug, PartialEq)]
enum Tree<T, U> {
    Leaf(T),
    Node(Colour, (U, T), Option<U>),
}

#[test]
fn enums_go_through_arrays() {
    let xs: Vector<Figure> =
        [Figure::Circle(1.5), Figure::Rect { w: 2.0, h: 3.0 }, Figure::Point].into_iter().collect();
    assert_eq!(run(use_(&xs).map(|x| x)).to_vec(), xs.to_vec());
    let trees: Vector<Tree<i8, char>> =
        [Tree::Leaf(1), Tree::Node(Colour::Green, ('x', 2), Some('y')), Tree::Node(Colour::Blue, ('z', 3), None)]
            .into_iter()
            .collect();
    assert_eq!(run(use_(&trees).reverse()).to_vec()[1], trees.to_vec()[1]);
    assert_eq!(run(fill(2, Figure::Point)).to_vec(), [Figure::Point, Figure::Point]);
}

#[test]
fn matches_of_enums() {
    let trees: Vector<Tree<i32, i64>> =
        [Tree::Leaf(1), Tree::Node(Colour::Green, (5, 2), Some(10)), Tree::Node(Colour::Blue, (7, 3), None)]
            .into_iter()
            .collect();
    let mapped = use_(&trees).map(|t| {
        t.match_(|t| match t {
            TreeExp::Leaf(n) => lift(TreeExp::Node(lift(Colour::Red), (n.to::<i64>(), n), none())),
            TreeExp::Node(colour, (u, n), more) => colour.match_(|c| match c {
                ColourExp::Green => TreeExp::Leaf(n + more.unwrap_or(0).to::<i32>()),
                _ => TreeExp::Node(colour, (u + 1, n), more),
            }),
        })
    });
    assert_eq!(
        run(mapped).to_vec(),
        [Tree::Node(Colour::Red, (1, 1), None), Tree::Leaf(12), Tree::Node(Colour::Blue, (8, 3), None)]
    );
}
