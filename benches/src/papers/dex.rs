//! The benchmarks of Paszke and others: Getting to the Point: Index Sets and Parallelism-Preserving Autodiff for Pointful
//! Array Programming (2021), on arrays of their sizes.

use acc_core::prelude::*;

/// How warm the parts of a processor become.
pub mod hotspot {
    /// How many steps are taken.
    pub const STEPS: i32 = 360;
    /// How much a part takes on of what power, its neighbours and the surroundings give.
    pub const RATE: f32 = 0.5;
    /// The conductance to the neighbours above and below.
    pub const VERTICAL: f32 = 0.3;
    /// The conductance to the neighbours at the sides.
    pub const HORIZONTAL: f32 = 0.2;
    /// The conductance to the surroundings.
    pub const OUTSIDE: f32 = 0.01;
    /// The temperature of the surroundings.
    pub const AMBIENT: f32 = 80.0;
}

/// The temperatures after all steps, of the first ones and of the power that each part takes up.
pub fn hotspot(start: Acc<Matrix<f32>>, power: Acc<Matrix<f32>>) -> Acc<Matrix<f32>> {
    use hotspot::{AMBIENT, HORIZONTAL, OUTSIDE, RATE, STEPS, VERTICAL};
    let (_, end) = awhile(
        (unit(0i32), &start),
        |(step, _)| step.the().lt(STEPS),
        |(step, warmth)| {
            let flow = warmth.stencil(Edge::Clamp, |Window2([[_, n, _], [w, c, e], [_, s, _]]): Stencil3x3<f32>| {
                c + RATE * (VERTICAL * (n + s - 2.0 * c) + HORIZONTAL * (w + e - 2.0 * c) + OUTSIDE * (AMBIENT - c))
            });
            (step.map(|step| step + 1), flow.zip_with(&power, |warmth, power| warmth + RATE * power))
        },
    );
    end
}

/// The least costs of ways down a grid, row by row.
pub fn pathfinder(costs: Acc<Matrix<i32>>) -> Acc<Vector<i32>> {
    let (_, end) = awhile(
        (unit(1i64), costs.slice((0, All))),
        |(row, _)| row.the().lt(costs.shape().0),
        |(row, least)| {
            let before = least.stencil(Edge::Clamp, |Window1([l, c, r]): Stencil3<i32>| l.min(c).min(r));
            let next = before.zip_with(costs.slice((row.the(), All)), |least, cost| least + cost);
            (row.map(|row| row + 1), next)
        },
    );
    end
}

/// Coordinates of points, each along an axis.
pub type Points = (Vector<f32>, Vector<f32>, Vector<f32>);

/// A matrix of magnetic resonance imaging: of each voxel a sum over the samples of the scanner.
pub fn mri(at: Acc<Points>, k: Acc<Points>, magnitude: Acc<Vector<f32>>) -> Acc<Vector<(f32, f32)>> {
    let ((x, y, z), (kx, ky, kz)) = (at.unlift(), k.unlift());
    let terms = generate((x.length(), kx.length()), |(v, s)| {
        let turns = kx.index(s) * x.index(v) + ky.index(s) * y.index(v) + kz.index(s) * z.index(v);
        let (angle, magnitude) = (std::f32::consts::TAU * turns, magnitude.index(s));
        (magnitude * angle.cos(), magnitude * angle.sin())
    });
    terms.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d))
}

/// A stencil of seven points in space.
pub mod stencil {
    /// The weight of the point itself.
    pub const CENTRE: f32 = 0.25;
    /// The weight of each neighbour.
    pub const BESIDE: f32 = 0.125;
}

/// A step of the stencil; the boundary stays as it is.
fn stencil_step(x: &Acc<Array<DIM3, f32>>) -> Acc<Array<DIM3, f32>> {
    use stencil::{BESIDE, CENTRE};
    let (n, m, p) = x.shape();
    let inside = |i: Exp<i64>, n: Exp<i64>| i.gt(0).and(i.lt(n - 1));
    generate(x.shape(), |(i, j, k)| {
        let here = x.index((i, j, k));
        let around = || {
            x.index((i - 1, j, k))
                + x.index((i + 1, j, k))
                + x.index((i, j - 1, k))
                + x.index((i, j + 1, k))
                + x.index((i, j, k - 1))
                + x.index((i, j, k + 1))
        };
        let interior = inside(i, n).and(inside(j, m)).and(inside(k, p));
        interior.then_else(BESIDE * around() + CENTRE * here, here)
    })
}

/// So many steps of the stencil.
pub fn stencil(steps: i32) -> impl Fn(Acc<Array<DIM3, f32>>) -> Acc<Array<DIM3, f32>> + Clone {
    move |start| {
        let (_, end) = awhile(
            (unit(0i32), &start),
            |(step, _)| step.the().lt(steps),
            |(step, x)| (step.map(|step| step + 1), stencil_step(&x)),
        );
        end
    }
}
