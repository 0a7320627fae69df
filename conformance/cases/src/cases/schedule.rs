//! Schedules of arrays.

use crate::cases::{Case, case};
use acc_core::prelude::*;

/// A few rows at a time, for vectors of columns.
fn register_tile(s: &mut Nest, [i, j, k]: [LoopVar; 3], rows: usize) -> LoopVar {
    let (tiles, i) = s.split(i, rows);
    s.order(&[tiles, j, k, i]).vectorize(j).unroll(i);
    tiles
}

pub fn cases() -> Vec<Case> {
    vec![
        case("schedule/steps-of-products", "", |t| {
            let a = generate((21, 34), |(i, j)| i - 2 * j).map(|x| x.to::<f32>());
            let b = generate((34, 19), |(i, j)| 3 * i + j).map(|x| x.to::<f32>());
            let product = a.matmul(&b);
            t.agrees(product.schedule(|s, loops| {
                let tiles = register_tile(s, loops, 4);
                s.parallel(tiles);
            }));
            for rows in [2, 8] {
                let path = Schedule::new(|s, loops| _ = register_tile(s, loops, rows));
                t.agrees(product.scheduled(&path).map(|x| x + 1.0));
            }
        }),
        case("schedule/steps-of-windows", "", |t| {
            let x = generate((12, 17), |(i, j)| i * 17 + j);
            let w = generate((3, 3), |(i, j)| i - j);
            let windows = tensor!([y, z] sum[p, q](x[y + p, z + q] * w[p, q]));
            // Integers are summed in any order.
            t.agrees(windows.schedule(|s, [y, z, p, q]| {
                let ([yb, zb], [y, z]) = s.tile([(y, 3), (z, 8)]);
                s.order(&[yb, zb, q, p, z, y]).vectorize(z).unroll(y);
            }));
        }),
        case("schedule/steps-of-partial-results", "", |t| {
            let x = generate((21, 130), |(i, j)| i * j - 7 * j);
            let tiles = Schedule::new(|s, [i, k]| {
                let tiles = s.regroup(k, 8);
                s.order(&[tiles, k, i]).vectorize(i);
            });
            t.agrees(x.sum().scheduled(&tiles));
            t.agrees(x.map(|x| x.min(9)).maximum().map(|x| x + 1).scheduled(&tiles));
            t.agrees(x.flatten().sum().schedule(|s, [k]| {
                let tiles = s.regroup(k, 100);
                s.parallel(tiles);
            }));
        }),
        case("schedule/steps-of-collapsed-axes", "", |t| {
            let x = generate((7, 13, 5), |(i, j, k)| 91 * i - 3 * j * k);
            let all = Schedule::new(|s, [i, j, k]| {
                let inner = s.collapse(j, k);
                let all = s.collapse(i, inner);
                let (tiles, all) = s.split(all, 32);
                s.parallel(tiles).vectorize(all);
            });
            t.agrees(x.map(|x| x * x).scheduled(&all));
            t.agrees(x.imap(|(i, j, k), x| x + 100 * i + 10 * j + k).scheduled(&all));
            t.agrees(x.sum().schedule(|s, [i, j, k]| {
                let rows = s.collapse(i, j);
                s.order(&[k, rows]).vectorize(rows);
            }));
        }),
        case("schedule/steps-of-stencils", "", |t| {
            let x = generate((41, 23), |(i, j)| i * j - 7 * j);
            let along = x.stencil(Edge::Clamp, |s: Stencil3x3<i64>| s[(0, -1)] + 2 * s[(0, 0)] + s[(0, 1)]);
            let along = along.schedule(|s, [_, j]| _ = s.within(1).vectorize(j));
            t.agrees(along.stencil(Edge::Mirror, |s: Stencil3x3<i64>| s[(-1, 0)] + 2 * s[(0, 0)] + s[(1, 0)]));
            let along = x.map(|x| x * x).schedule(|s, [_, _]| _ = s.within(1));
            t.agrees(generate((37, 23), |(i, j)| {
                along.index((i, j)) - along.index((i + 1, j)) + along.index((i + 4, j))
            }));
        }),
        case("schedule/steps-of-elements", "", |t| {
            let x = generate((6, 7), |(i, j)| 10 * i + j);
            let transposed = x.transpose().map(|x| x * x);
            t.agrees(transposed.schedule(|s, [i, j]| _ = s.interchange(i, j)));
            let (sums, halves) = (x.sum(), Schedule::new(|s, [i, _k]| _ = s.split(i, 2)));
            t.agrees(sums.scheduled(&halves));
        }),
    ]
}
