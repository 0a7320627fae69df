//! The properties of Accelerate's own suite: weighted sums over windows of random arrays, with a random edge.

use super::data::{Sample, array};
use crate::cases::{Case, Check, case};
use crate::choices::Choices;
use crate::compare::Near;
use acc_core::api::Stencil;
use acc_core::data::unlinear_index;
use acc_core::prelude::*;

/// How many random arrays a property is tried on.
const TRIES: usize = 4;

/// Numbers that have sums with small weights exactly.
trait Weighted: Sample {
    fn times(self, weight: i64) -> Self;
}
impl Weighted for i64 {
    fn times(self, weight: i64) -> Self {
        self.wrapping_mul(weight)
    }
}
impl Weighted for u8 {
    fn times(self, weight: i64) -> Self {
        self.wrapping_mul(weight as u8)
    }
}
impl Weighted for f64 {
    fn times(self, weight: i64) -> Self {
        self * weight as f64
    }
}

/// Where an index beyond the edges is read: nowhere, if the edge is a constant.
fn inside<E>(edge: &Edge<E>, i: i64, n: i64) -> Option<i64> {
    if (0..n).contains(&i) {
        return Some(i);
    }
    match edge {
        Edge::Clamp => Some(i.clamp(0, n - 1)),
        Edge::Mirror => Some(if i < 0 { -i } else { 2 * (n - 1) - i }),
        Edge::Wrap => Some(i.rem_euclid(n)),
        Edge::Constant(_) | Edge::Function(_) => None,
    }
}

/// The weights 1, -2, 3, -4, ... in row-major order.
fn weight(k: usize) -> i64 {
    (k as i64 + 1) * [1, -1][k % 2]
}

fn sums<Sh: Shape, S: Stencil<Sh, E>, E: Weighted>(t: &mut Check<'_>, elements: fn(S) -> Vec<Exp<E>>) {
    let window = S::extent();
    let c = &mut Choices::seeded(window.iter().fold(90, |seed, w| seed * 10 + *w as u64));
    for _ in 0..TRIES {
        let most = [100, 20, 8][Sh::RANK - 1];
        let dims: Vec<usize> = window.iter().map(|w| w / 2 + 1 + c.below(most)).collect();
        let values: Vec<E> = (0..dims.iter().product()).map(|_| E::sample(c)).collect();
        let outside = E::sample(c);
        let edge = c.pick(&[Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Constant(outside)]).clone();
        let read = |at: &[i64], offset: &[i64]| -> E {
            let mut place = Some(0);
            for d in 0..dims.len() {
                let i = inside(&edge, at[d] + offset[d] - (window[d] / 2) as i64, dims[d] as i64);
                place = place.zip(i).map(|(p, i)| p * dims[d] as i64 + i);
            }
            place.map_or(outside, |p| values[p as usize])
        };
        let want = (0..values.len()).map(|p| {
            let at = unlinear_index(&dims, p);
            (0..window.iter().product())
                .map(|k| read(&at, &unlinear_index(&window, k)).times(weight(k)))
                .fold(E::from_i64(0), Sample::plus)
        });
        let want: Array<Sh, E> = array(&dims, want);
        let xs: Array<Sh, E> = array(&dims, values.iter().copied());
        let weighted = use_(&xs).stencil(edge.clone(), |s: S| {
            let terms = elements(s).into_iter().enumerate().map(|(k, x)| x * constant(E::from_i64(weight(k))));
            terms.fold(constant(E::from_i64(0)), |a, b| a + b)
        });
        t.gives_within(weighted, want, Near::Equal);
    }
    let none: Array<Sh, E> = array(&vec![0; Sh::RANK], []);
    t.gives(use_(&none).stencil(Edge::Clamp, |s: S| elements(s)[0]), none);
}

macro_rules! rows {
    ($t:expr, $E:ty: $($S:ident),*) => { $(
        sums::<DIM1, $S<$E>, $E>($t, |s| s.0.to_vec());
    )* };
}
macro_rules! squares {
    ($t:expr, $E:ty: $($S:ident),*) => { $(
        sums::<DIM2, $S<$E>, $E>($t, |s| s.0.concat());
    )* };
}

pub fn cases() -> Vec<Case> {
    vec![
        case("nofib/stencil-DIM1", "STN-01 STN-04 STN-09 STN-10 STN-11 STN-12", |t| {
            rows!(t, i64: Stencil3, Stencil5, Stencil7, Stencil9);
            rows!(t, f64: Stencil3, Stencil5, Stencil7, Stencil9);
            rows!(t, u8: Stencil3);
        }),
        case("nofib/stencil-DIM2", "STN-01 STN-04 STN-13 STN-16", |t| {
            squares!(t, i64: Stencil3x3, Stencil5x5, Stencil7x7, Stencil9x9);
            squares!(t, f64: Stencil3x3, Stencil5x5);
        }),
        case("nofib/stencil-DIM3", "STN-01 STN-04 STN-17", |t| {
            sums::<DIM3, Stencil3x3x3<i64>, i64>(t, |s| s.0.concat().concat());
            sums::<DIM3, Stencil3x3x3<f64>, f64>(t, |s| s.0.concat().concat());
        }),
    ]
}
