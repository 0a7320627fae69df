//! Stencils.

use crate::cases::{Case, case, host};
use acc_core::prelude::*;

fn nine() -> Acc<Matrix<i64>> {
    generate((3, 3), |(i, j)| i * 3 + j)
}

/// A window's elements as the digits of a number, the first one highest.
fn digits(elements: impl IntoIterator<Item = Exp<i64>>) -> Exp<i64> {
    elements.into_iter().reduce(|a, b| a * 10 + b).unwrap_or_else(|| lift(0i64))
}

fn vector(n: i64) -> Acc<Vector<i64>> {
    enum_from(n as usize, 1i64)
}

/// What a window of odd extents sees of the numbers in row-major order, clamped at the edges; weighted by position.
fn weighted(shape: &[usize], window: &[usize]) -> Vec<i64> {
    use acc_core::data::unlinear_index;
    let size: usize = shape.iter().product();
    (0..size)
        .map(|p| {
            let at = unlinear_index(shape, p);
            (0..window.iter().product())
                .map(|k| {
                    let offset = unlinear_index(window, k);
                    let position =
                        at.iter().zip(&offset).zip(shape.iter().zip(window)).fold(0, |linear, ((i, o), (&n, &w))| {
                            linear * n as i64 + (i + o - (w / 2) as i64).clamp(0, n as i64 - 1)
                        });
                    (k as i64 + 1) * position
                })
                .sum()
        })
        .collect()
}

fn sum_weighted(elements: impl IntoIterator<Item = Exp<i64>>) -> Exp<i64> {
    elements.into_iter().zip(1i64..).map(|(x, k)| x * k).sum()
}

pub fn cases() -> Vec<Case> {
    vec![
        case("stencils/E-ST-01-order", "STN-01 STN-03 STN-13 E-ST-01", |t| {
            let cross = nine().stencil(Edge::Clamp, |s: Stencil3x3<i64>| {
                digits([s[(-1, 0)], s[(0, -1)], s[(0, 0)], s[(0, 1)], s[(1, 0)]])
            });
            t.gives(cross.slice((1, 1)), Scalar::scalar(13457));
            t.gives(
                nine().stencil(Edge::Wrap, |s: Stencil3x3<i64>| sum_weighted(s.0.into_iter().flatten())).slice((1, 1)),
                Scalar::scalar(weighted(&[3, 3], &[3, 3])[4]),
            );
            t.gives(fill((0, 3), 1i64).stencil(Edge::Clamp, |s: Stencil3x3<i64>| s[(0, 0)]), host((0, 3), [0; 0]));
        }),
        case("stencils/E-ST-02-names", "STN-14 STN-15 E-ST-02", |t| {
            let m = generate((3, 5), |(i, j)| i * 5 + j);
            let row = m.stencil(Edge::Clamp, |s: Stencil5x3<i64>| digits((-2..=2).map(|j| s[(0, j)])));
            t.gives(row.slice((1, 2)), Scalar::scalar(56789));
            let column = generate((5, 3), |(i, j)| i * 3 + j)
                .stencil(Edge::Clamp, |s: Stencil3x5<i64>| sum_weighted((-2..=2).map(|i| s[(i, 0)])));
            t.gives(column.slice((2, 1)), Scalar::scalar(1 + 2 * 4 + 3 * 7 + 4 * 10 + 5 * 13));
            t.shape(fill((3, 0), 1i64).stencil(Edge::Wrap, |s: Stencil5x3<i64>| s[(0, 2)]), [3, 0]);
            t.shape(fill((3, 0), 1i64).stencil(Edge::Wrap, |s: Stencil3x5<i64>| s[(2, 0)]), [3, 0]);
        }),
        case("stencils/E-ST-03-planes", "STN-17 E-ST-03", |t| {
            let c = generate((3, 3, 3), |(i, j, k)| (i * 3 + j) * 3 + k);
            let seven = |s: Stencil3x3x3<i64>| {
                sum_weighted([
                    s[(-1, 0, 0)],
                    s[(0, -1, 0)],
                    s[(0, 0, -1)],
                    s[(0, 0, 0)],
                    s[(0, 0, 1)],
                    s[(0, 1, 0)],
                    s[(1, 0, 0)],
                ])
            };
            let want = [4, 10, 12, 13, 14, 16, 22].iter().zip(1..).map(|(x, k)| x * k).sum();
            t.gives(c.stencil(Edge::Clamp, seven).slice((1, 1, 1)), Scalar::scalar(want));
            t.shape(fill((3, 0, 2), 1i64).stencil(Edge::Clamp, seven), [3, 0, 2]);
        }),
        case("stencils/E-ST-04-ragged", "STN-03 E-ST-04", |t| {
            // A cross in rows of 3, 5 and 3.
            let m = generate((3, 5), |(i, j)| i * 5 + j);
            let cross = m.stencil(Edge::Clamp, |(above, row, below): (Stencil3<i64>, Stencil5<i64>, Stencil3<i64>)| {
                sum_weighted([above[0], row[-2], row[2], below[0]])
            });
            t.gives(cross.slice((1, 2)), Scalar::scalar(2 + 2 * 5 + 3 * 9 + 4 * 12));
            // The reference's: a four by four array, rows of 1, 3 and 1 as the middle of those of 3.
            let m = generate((4, 4), |(i, j)| i * 4 + j);
            let cross = m.stencil(Edge::Clamp, |(above, row, below): (Stencil3<i64>, Stencil3<i64>, Stencil3<i64>)| {
                digits([above[0], row[-1], row[1]]) * 100 + below[0]
            });
            t.gives(cross.slice((2, 1)), Scalar::scalar((5 * 100 + 8 * 10 + 10) * 100 + 13));
            let c = generate((3, 3, 5), |(i, j, k)| (i * 3 + j) * 5 + k);
            let planes = c.stencil(
                Edge::Wrap,
                |(a, (b, c, d), e): (
                    Stencil3x3<i64>,
                    (Stencil3<i64>, Stencil5<i64>, Stencil3<i64>),
                    Stencil5x3<i64>,
                )| { sum_weighted([a[(1, 1)], b[0], c[2], d[-1], e[(-1, -2)]]) },
            );
            t.gives(planes.slice((1, 1, 2)), Scalar::scalar(13 + 2 * 17 + 3 * 24 + 4 * 26 + 5 * 30));
            let empty = fill((0, 4), 1i64)
                .stencil(Edge::Mirror, |(a, _, _): (Stencil5<i64>, Stencil3<i64>, Stencil3<i64>)| a[2]);
            t.gives(empty, host((0, 4), [0; 0]));
        }),
        case("stencils/E-ST-05-rows", "STN-09 STN-10 STN-11 STN-12 E-ST-05 E-ST-13", |t| {
            macro_rules! rows {
                ($($S:ident $w:literal;)*) => { $(
                    for n in [1usize, 2, 9, 40] {
                        let xs = enum_from(n, 0i64);
                        t.gives(xs.stencil(Edge::Clamp, |s: $S<i64>| sum_weighted(s.0)), Vector::from(weighted(&[n], &[$w])));
                    }
                    t.gives(fill(0, 1i64).stencil(Edge::Clamp, |s: $S<i64>| s[1]), Vector::from([0; 0]));
                )* };
            }
            rows! { Stencil3 3; Stencil5 5; Stencil7 7; Stencil9 9; }
            t.gives(
                vector(3).stencil(Edge::Clamp, |s: Stencil9<i64>| s.0.into_iter().sum::<Exp<i64>>()),
                Vector::from([16, 18, 20]),
            );
        }),
        case("stencils/matrices", "STN-13 STN-14 STN-15 STN-16", |t| {
            macro_rules! matrices {
                ($($S:ident $w:literal $h:literal;)*) => { $(
                    let m = generate((6, 7), |(i, j)| i * 7 + j);
                    t.gives(m.stencil(Edge::Clamp, |s: $S<i64>| sum_weighted(s.0.into_iter().flatten())), host((6, 7), weighted(&[6, 7], &[$h, $w])));
                    t.shape(fill((0, 7), 1i64).stencil(Edge::Clamp, |s: $S<i64>| s[(0, 0)]), [0, 7]);
                )* };
            }
            matrices! {
                Stencil3x3 3 3; Stencil3x5 3 5; Stencil3x7 3 7; Stencil3x9 3 9;
                Stencil5x3 5 3; Stencil5x5 5 5; Stencil5x7 5 7; Stencil5x9 5 9;
                Stencil7x3 7 3; Stencil7x5 7 5; Stencil7x7 7 7; Stencil7x9 7 9;
                Stencil9x3 9 3; Stencil9x5 9 5; Stencil9x7 9 7; Stencil9x9 9 9;
            }
        }),
        case("stencils/cubes", "STN-17 STN-18 STN-19 STN-20 STN-21 STN-22 STN-23 STN-24", |t| {
            macro_rules! cubes {
                ($($S:ident $w:literal $h:literal $d:literal;)*) => { $(
                    let c = generate((3, 2, 4), |(i, j, k)| (i * 2 + j) * 4 + k);
                    let sums = c.stencil(Edge::Clamp, |s: $S<i64>| sum_weighted(s.0.into_iter().flatten().flatten()));
                    t.gives(sums, host((3, 2, 4), weighted(&[3, 2, 4], &[$d, $h, $w])));
                    t.shape(fill((3, 0, 4), 1i64).stencil(Edge::Clamp, |s: $S<i64>| s[(0, 0, 0)]), [3, 0, 4]);
                )* };
            }
            cubes! {
                Stencil3x3x3 3 3 3; Stencil5x3x3 5 3 3; Stencil3x5x3 3 5 3; Stencil3x3x5 3 3 5;
                Stencil5x5x3 5 5 3; Stencil5x3x5 5 3 5; Stencil3x5x5 3 5 5; Stencil5x5x5 5 5 5;
            }
        }),
        case("stencils/E-ST-06-clamp", "STN-04 STN-05 E-ST-06", |t| {
            t.gives(vector(3).stencil(Edge::Clamp, |s: Stencil3<i64>| digits(s.0)), Vector::from([112, 123, 233]));
            t.gives(vector(0).stencil(Edge::Clamp, |s: Stencil3<i64>| digits(s.0)), Vector::from([0; 0]));
        }),
        case("stencils/E-ST-07-mirror", "STN-04 STN-06 E-ST-07 E-ST-10 E-ST-11", |t| {
            t.gives(vector(3).stencil(Edge::Mirror, |s: Stencil3<i64>| digits(s.0)), Vector::from([212, 123, 232]));
            t.gives(
                vector(3).stencil(Edge::Mirror, |s: Stencil5<i64>| digits(s.0)),
                Vector::from([32123, 21232, 12321]),
            );
            let seven = vector(4).stencil(Edge::Mirror, |s: Stencil7<i64>| digits(s.0));
            t.gives(seven, Vector::from([4321234, 3212343, 2123432, 1234321]));
            t.gives(vector(0).stencil(Edge::Mirror, |s: Stencil3<i64>| digits(s.0)), Vector::from([0; 0]));
        }),
        case("stencils/E-ST-08-wrap", "STN-04 STN-07 E-ST-08 E-ST-12", |t| {
            t.gives(vector(3).stencil(Edge::Wrap, |s: Stencil3<i64>| digits(s.0)), Vector::from([312, 123, 231]));
            t.gives(vector(2).stencil(Edge::Wrap, |s: Stencil5<i64>| digits(s.0)), Vector::from([12121, 21212]));
            t.gives(vector(0).stencil(Edge::Wrap, |s: Stencil3<i64>| digits(s.0)), Vector::from([0; 0]));
        }),
        case("stencils/E-ST-09-function", "STN-04 STN-08 E-ST-09 E-ST-19", |t| {
            let xs = vector(3);
            let each = |k: i32| xs.stencil(xs.outside(|i| i * 100), move |s: Stencil3<i64>| s[k]);
            t.gives(
                (each(-1), each(0), each(1)),
                (Vector::from([-100, 1, 2]), Vector::from([1, 2, 3]), Vector::from([2, 3, 300])),
            );
            let m = generate((2, 2), |(i, j)| i * 2 + j);
            let top_left = m.stencil(m.outside(|(y, x)| y * 1000 + x), |s: Stencil3x3<i64>| s[(-1, -1)]);
            t.gives(top_left, Matrix::from([[-1001, -1000], [-1, 0]]));
            let constant = vector(2).stencil(Edge::Constant(7), |s: Stencil3<i64>| digits(s.0));
            t.gives(constant, Vector::from([712, 127]));
            let none = vector(0);
            t.gives(none.stencil(none.outside(|i| i), |s: Stencil3<i64>| s[1]), Vector::from([0; 0]));
        }),
        case("stencils/E-ST-14-too-small", "STN-06 STN-07 E-ST-14", |t| {
            t.faults(vector(1).stencil(Edge::Mirror, |s: Stencil3<i64>| s[1]), "stencil_extent");
            t.faults(vector(2).stencil(Edge::Mirror, |s: Stencil5<i64>| s[1]), "stencil_extent");
            t.faults(vector(1).stencil(Edge::Wrap, |s: Stencil5<i64>| s[1]), "stencil_extent");
        }),
        case("stencils/E-ST-15-corners", "STN-13 E-ST-15 E-ST-16 E-ST-17 E-ST-18", |t| {
            let corner = |edge, at: (i32, i32)| nine().stencil(edge, move |s: Stencil3x3<i64>| s[at]);
            let (top_left, bottom_right) = ((-1, -1), (1, 1));
            t.gives(corner(Edge::Clamp, top_left), Matrix::from([[0, 0, 1], [0, 0, 1], [3, 3, 4]]));
            t.gives(corner(Edge::Mirror, top_left), Matrix::from([[4, 3, 4], [1, 0, 1], [4, 3, 4]]));
            t.gives(corner(Edge::Wrap, top_left), Matrix::from([[8, 6, 7], [2, 0, 1], [5, 3, 4]]));
            t.gives(corner(Edge::Clamp, bottom_right), Matrix::from([[4, 5, 5], [7, 8, 8], [7, 8, 8]]));
            t.gives(corner(Edge::Mirror, bottom_right), Matrix::from([[4, 5, 4], [7, 8, 7], [4, 5, 4]]));
            t.gives(corner(Edge::Wrap, bottom_right), Matrix::from([[4, 5, 3], [7, 8, 6], [1, 2, 0]]));
        }),
        case("stencils/E-ST-20-empty", "STN-01 E-ST-20", |t| {
            for edge in [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Constant(1)] {
                t.gives(vector(0).stencil(edge.clone(), |s: Stencil5<i64>| s[2]), Vector::from([0; 0]));
                for shape in [(0, 3), (3, 0), (1, 0)] {
                    t.gives(
                        fill(shape, 1i64).stencil(edge.clone(), |s: Stencil5x5<i64>| s[(1, 1)]),
                        host(shape, [0; 0]),
                    );
                }
            }
        }),
        case("stencils/E-ST-21-two", "STN-02 E-ST-21", |t| {
            let (xs, ys) = (vector(4), Vector::from([10i64, 20, 30]));
            let both = xs.stencil2(Edge::Clamp, &ys, Edge::Wrap, |x: Stencil3<i64>, y: Stencil3<i64>| (x[-1], y[1]));
            t.gives(both, Vector::from_iter([(1, 20), (1, 30), (2, 10)]));
            // Each array has its own type, window and edge.
            let (a, b) = (generate((3, 4), |(i, j)| i * 4 + j), fill((4, 3), 0.5f32));
            let sums = a.stencil2(Edge::Mirror, &b, Edge::Constant(0.0), |x: Stencil3x3<i64>, y: Stencil5x3<f32>| {
                x[(-1, 1)].to::<f32>() + y[(1, 0)] + y[(0, 2)]
            });
            let mut want = Vec::new();
            for i in 0..3i64 {
                for j in 0..3i64 {
                    let (up, right) = (if i == 0 { 1 } else { i - 1 }, j + 1);
                    let outside = if j + 2 < 3 { 0.5 } else { 0.0 };
                    want.push((up * 4 + right) as f32 + 0.5 + outside);
                }
            }
            t.gives(sums, host((3, 3), want));
            let none = fill(0, 1i64);
            t.gives(
                none.stencil2(Edge::Wrap, &ys, Edge::Mirror, |x: Stencil3<i64>, y: Stencil3<i64>| x[0] + y[1]),
                Vector::from([0; 0]),
            );
            t.gives(
                use_(&ys).stencil2(Edge::Wrap, &none, Edge::Mirror, |x: Stencil3<i64>, y: Stencil3<i64>| x[0] + y[1]),
                Vector::from([0; 0]),
            );
            t.faults(
                use_(&ys).stencil2(Edge::Wrap, fill(1, 1i64), Edge::Mirror, |x: Stencil3<i64>, y: Stencil3<i64>| {
                    x[0] + y[1]
                }),
                "stencil_extent",
            );
            let functions = xs.stencil2(
                xs.outside(|i| i * 100),
                &ys,
                use_(&ys).outside(|i| i * 1000),
                |x: Stencil3<i64>, y: Stencil3<i64>| x[1] + y[1],
            );
            t.gives(functions, Vector::from([22, 33, 3004]));
        }),
    ]
}
