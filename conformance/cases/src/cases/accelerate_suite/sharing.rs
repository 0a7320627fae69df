//! The programs of Accelerate's own suite that are about sharing: they must convert in linear time, and here they also
//! run.

use crate::cases::{Case, case};
use acc_core::prelude::*;

fn three() -> Acc<Vector<i64>> {
    use_(&Vector::from([1, 2, 3]))
}

pub fn cases() -> Vec<Case> {
    [trees(), binders(), iterations()].concat()
}

fn trees() -> Vec<Case> {
    vec![
        case("nofib/sharing-simple", "ELW-04", |t| {
            let xs = enum_from(10, 0i64);
            let ys = xs.map(|x| x + 1);
            let sums = xs.zip_with(&ys, |x, y| x * y).zip_with(&ys, |x, y| x + y).zip_with(&xs, |x, y| x - y);
            t.gives(sums, (0..10).map(|x| x * (x + 1) + (x + 1) - x).collect());
        }),
        case("nofib/sharing-orders-of-definition", "ELW-04", |t| {
            // Needed first on the left, but defined last.
            let (xs, ys) = (three().map(|x| x * 10), three().map(|x| x - 1));
            let both = xs.zip_with(&ys, |x, y| x + y);
            let negated = ys.zip_with(&xs, |y, x| y - x);
            t.gives(both.zip_with(&negated, |a, b| (a, b)), Vector::from_iter([(10, -10), (21, -19), (32, -28)]));
        }),
        case("nofib/sharing-a-tree-of-a-million-leaves", "ELW-04", |t| {
            let doubled = (0..20).fold(three(), |xs, _| xs.zip_with(&xs, |a, b| a + b));
            t.gives(doubled, Vector::from([1 << 20, 2 << 20, 3 << 20]));
            let scalar = three().map(|x| (0..20).fold(x, |x, _| x + x));
            t.gives(scalar, Vector::from([1 << 20, 2 << 20, 3 << 20]));
            // With what no rule of simplification undoes: every level needs the one below in three places.
            let hash = |a: Exp<i64>, b: Exp<i64>| (a * 31) ^ (b + a);
            let mixed = (0..20).fold(three(), |xs, _| xs.zip_with(xs.reverse(), hash));
            let step = |xs: Vec<i64>| -> Vec<i64> {
                let other = |i: usize| xs[xs.len() - 1 - i];
                (0..xs.len()).map(|i| xs[i].wrapping_mul(31) ^ other(i).wrapping_add(xs[i])).collect()
            };
            t.gives(mixed, Vector::from((0..20).fold(vec![1, 2, 3], |xs, _| step(xs))));
        }),
        case("nofib/sharing-a-sort", "PRM-01", |t| {
            // One step of a sort by bits, every array of it used several times.
            let xs = use_(&Vector::from([5i64, 2, 8, 1, 6, 3]));
            let odd = xs.map(|x| (x % 2).eq(1));
            let down = odd.map(|o| o.then_else(0i64, 1i64)).prescanl(0, |a, b| a + b);
            let up = odd.map(|o| o.then_else(1i64, 0i64)).prescanl(0, |a, b| a + b);
            let evens = odd.map(|o| o.then_else(0i64, 1i64)).sum();
            let place = odd.zip_with3(&up, &down, |o, u, d| o.then_else(u + &evens, d));
            t.gives(xs.scatter(&place, fill(xs.extent(), 0)), Vector::from([2, 8, 6, 5, 1, 3]));
        }),
        case("nofib/sharing-breadth-first-search", "CMP-03", |t| {
            // 0 -> 1, 2; 1 -> 3; 2 -> 3; 3 -> 4; 5 is alone.
            let edges = use_(&Vector::from_iter([(0i64, 1i64), (0, 2), (1, 3), (2, 3), (3, 4)]));
            let start: Vector<i64> = [0, -1, -1, -1, -1, -1].into_iter().collect();
            let (_, _, depths) = awhile(
                (unit(0i64), unit(true), &start),
                |(_, go, _)| go.the(),
                |(depth, _, depths)| {
                    let next = depth.the() + 1;
                    let target = |k: Exp<i64>| -> Exp<Option<i64>> {
                        let (from, to) = edges.index(k);
                        depths.index(from).eq(depth.the()).and(depths.index(to).lt(0)).then_some(to)
                    };
                    let reached = fill(edges.extent(), next).permute(&depths, |new, _| new, target);
                    let changed = reached.zip_with(&depths, |a, b| a.ne(b)).or();
                    (depth.map(|d| d + 1), changed, reached)
                },
            );
            t.gives(depths, Vector::from([0, 1, 1, 2, 3, -1]));
        }),
        case("nofib/sharing-a-big-tuple", "TYP-08", |t| {
            let big = three().map(|x| {
                let y = x * x;
                ((x, y, x + y, x - y, y * y, x, y, x), (y, (x, y), (y + 1, x + 1), x.gt(1), y.to::<f32>()))
            });
            let sum = big.map(|((a, b, c, d, e, f, g, h), (i, (j, k), (l, m), n, o))| {
                (a + b + c + d + e + f + g + h + i + j + k + l + m, n, o)
            });
            let want = [1i64, 2, 3].map(|x| {
                let y = x * x;
                let sum = x + y + (x + y) + (x - y) + y * y + x + y + x + y + x + y + (y + 1) + (x + 1);
                (sum, x > 1, y as f32)
            });
            t.gives(sum, want.into_iter().collect());
        }),
    ]
}

fn binders() -> Vec<Case> {
    vec![
        case("nofib/sharing-two-at-the-same-level", "ELW-04 PRM-01", |t| {
            // Both functions of one operation use what is shared, and in another program only one of them each.
            let xs = three().map(|x| x - 1);
            let ys = three().map(|x| x * 100);
            let moved = ys.permute(&ys, |a, b| a + b + xs.index(0) + xs.index(1), |i| Some(xs.index(i)));
            t.gives(moved, Vector::from([201, 401, 601]));
            let moved = ys.permute(&xs, |a, b| a + b + ys.index(0), |i| Some(xs.index(i)));
            t.gives(moved, Vector::from([200, 301, 402]));
        }),
        case("nofib/sharing-nothing-at-the-top", "ELW-04", |t| {
            let doubled = three().map(|x| {
                let y = x * x + 1;
                y + y
            });
            t.gives(doubled, Vector::from([4, 10, 20]));
            let constants = three().map(|x| x + use_(&Scalar::scalar(7i64)).the() * use_(&Scalar::scalar(7i64)).the());
            t.gives(constants, Vector::from([50, 51, 52]));
        }),
        case("nofib/sharing-across-a-pipe", "CMP-05", |t| {
            let xs = three();
            let both = pipe(
                |ys: Acc<Vector<i64>>| ys.zip_with(&xs, |y, x| x + y),
                |zs: Acc<Vector<i64>>| zs.zip_with(&xs, |z, x| z * x),
            );
            t.gives(both(xs.map(|x| x + 1)), Vector::from([3, 10, 21]));
        }),
        case("nofib/sharing-bound-variables-of-a-stencil", "STN-02", |t| {
            let (a, b) = (fill((5, 5), 1i64), fill((5, 5), 2i64));
            let sum = a.stencil2(Edge::Clamp, &b, Edge::Clamp, |x: Stencil3x3<i64>, y: Stencil3x3<i64>| {
                let (left, right) = (x[(0, -1)] + y[(0, -1)], x[(0, 1)] + y[(0, 1)]);
                left * right + left + right
            });
            t.gives(sum, Matrix::from([[15; 5]; 5]));
        }),
        case("nofib/sharing-does-not-make-nested-parallelism", "E-CF-15", |t| {
            let m = use_(&Matrix::from([[1i64, 2, 3], [4, 5, 6]]));
            let dot = |row: Exp<i64>| m.slice((row, All)).zip_with(three(), |a, b| a * b).sum().the();
            t.rejected(generate(2, dot), "nested data parallelism");
            // With a loop in its place it is a program.
            let xs = three();
            let dot = |row: Exp<i64>| {
                iterate::<(i64, i64), _>(3i64, (0i64, 0i64), |(j, sum)| (j + 1, sum + m.index((row, j)) * xs.index(j)))
                    .1
            };
            t.gives(generate(2, dot), Vector::from([14, 32]));
        }),
    ]
}

fn iterations() -> Vec<Case> {
    vec![
        case("nofib/sharing-iterate-simple", "FLW-05", |t| {
            t.maps(|x: Exp<i64>| iterate(3i64, x, |x| x + x), &[(1i64, 8i64), (-2, -16)]);
        }),
        case("nofib/sharing-iterate-with-what-is-outside", "FLW-05", |t| {
            t.maps(
                |x: Exp<i64>| {
                    let y = x * x;
                    iterate(3i64, x + y, |z| z + y) + y
                },
                &[(1i64, 6i64), (2, 22)],
            );
        }),
        case("nofib/sharing-between-a-condition-and-a-body", "FLW-04", |t| {
            t.maps(
                |x: Exp<i64>| {
                    let limit = x * 10;
                    while_(x, |z| (z + limit).lt(limit * 3), |z| z + limit)
                },
                &[(1i64, 21i64), (2, 42), (0, 0)],
            );
        }),
        case("nofib/sharing-in-awhile", "CMP-03", |t| {
            let limit = three().map(|x| x * 10).sum();
            let ys = awhile(
                three(),
                |xs| xs.sum().map(|s| s.lt(&limit)),
                |xs| {
                    let twice = xs.map(|x| x * 2);
                    twice.zip_with(&xs, |a, b| a + b).zip_with(&twice, |a, b| a - b + limit.the())
                },
            );
            t.gives(ys, Vector::from([61, 62, 63]));
        }),
        case("nofib/sharing-in-nested-iterations", "FLW-05", |t| {
            t.maps(
                |x: Exp<i64>| {
                    iterate(2i64, x, |y| {
                        let z = y * y;
                        iterate(2i64, z, |w| w + z + y)
                    })
                },
                &[(1i64, 85i64), (2, 800)],
            );
        }),
        case("nofib/sharing-with-an-unused-state", "FLW-04 FLW-05", |t| {
            t.maps(|x: Exp<i64>| iterate(3i64, x, |_| lift(7i64)), &[(1i64, 7i64)]);
            let second = |x: Exp<i64>| while_((x, 0i64), |(_, k)| k.lt(4), |(a, k)| (a + 1, k + 1)).1;
            t.maps(second, &[(1i64, 4i64), (5, 4)]);
        }),
    ]
}
