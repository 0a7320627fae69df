//! Digits drawn by a program: strokes that are bent, scaled, slanted and moved at random, with ink, on noise.

use acc_array::array::DIM3;
use acc_array::prelude::*;
use acc_array::random::{random_f32, random_u32};

/// Rows and columns of an image.
pub const SIDE: usize = 28;
/// The segments of each digit.
const SEGMENTS: usize = 16;
/// The numbers that say how an image is drawn.
const TRAITS: usize = 12;

type Segment = (f32, f32, f32, f32);

/// A stroke in a square of side 1, downwards.
enum Stroke {
    Line(Segment),
    /// Centre, radii, and two angles in degrees.
    Arc(Segment, f32, f32),
}
use Stroke::{Arc, Line};

/// Of each digit the segments, one repeated where there are fewer.
fn segments() -> Matrix<Segment> {
    let strokes = [
        vec![Arc((0.5, 0.5, 0.33, 0.48), 0.0, 360.0)],
        vec![Line((0.3, 0.25, 0.52, 0.02)), Line((0.52, 0.02, 0.52, 0.98))],
        vec![
            Arc((0.5, 0.29, 0.31, 0.27), -170.0, 45.0),
            Line((0.72, 0.48, 0.17, 0.98)),
            Line((0.17, 0.98, 0.85, 0.98)),
        ],
        vec![Arc((0.47, 0.26, 0.3, 0.24), -150.0, 90.0), Arc((0.47, 0.73, 0.34, 0.25), -90.0, 150.0)],
        vec![Line((0.62, 0.02, 0.12, 0.66)), Line((0.12, 0.66, 0.9, 0.66)), Line((0.66, 0.35, 0.66, 0.98))],
        vec![
            Line((0.8, 0.03, 0.25, 0.03)),
            Line((0.25, 0.03, 0.22, 0.46)),
            Arc((0.47, 0.67, 0.33, 0.31), -140.0, 150.0),
        ],
        vec![Arc((0.75, 0.64, 0.55, 0.62), -95.0, -180.0), Arc((0.5, 0.71, 0.3, 0.27), 0.0, 360.0)],
        vec![Line((0.15, 0.04, 0.85, 0.04)), Line((0.85, 0.04, 0.4, 0.98))],
        vec![Arc((0.5, 0.26, 0.25, 0.24), 0.0, 360.0), Arc((0.5, 0.74, 0.31, 0.25), 0.0, 360.0)],
        vec![Arc((0.5, 0.29, 0.29, 0.27), 0.0, 360.0), Arc((0.2, 0.38, 0.6, 0.62), -8.0, 70.0)],
    ];
    let digits = strokes.map(|strokes| {
        let arcs = strokes.iter().filter(|s| matches!(s, Arc(..))).count();
        let per_arc = (SEGMENTS + arcs - strokes.len()) / arcs.max(1);
        let mut segments: Vec<Segment> = Vec::new();
        for stroke in strokes {
            match stroke {
                Line(segment) => segments.push(segment),
                Arc((x, y, across, down), from, to) => {
                    let at = |k: usize| {
                        let angle = f64::from(from + (to - from) * k as f32 / per_arc as f32).to_radians();
                        (x + across * angle.cos() as f32, y + down * angle.sin() as f32)
                    };
                    segments.extend((0..per_arc).map(|k| {
                        let ((x, y), (z, w)) = (at(k), at(k + 1));
                        (x, y, z, w)
                    }));
                }
            }
        }
        std::array::from_fn::<_, SEGMENTS, _>(|k| segments[k.min(segments.len() - 1)])
    });
    Matrix::from(digits)
}

/// The square of the distance of a point from a segment.
fn apart((x, y): (Exp<f32>, Exp<f32>), (x0, y0, x1, y1): ExpOf<Segment>) -> Exp<f32> {
    let (dx, dy, px, py) = (x1 - x0, y1 - y0, x - x0, y - y0);
    let along = ((px * dx + py * dy) / (dx * dx + dy * dy).max(1e-6)).max(0.0).min(1.0);
    let (ex, ey) = (px - along * dx, py - along * dy);
    ex * ex + ey * ey
}

/// `count` images, and which digits they are. The same seed gives the same images, and more of them begin with the same.
pub fn digits(seed: Exp<u64>, count: usize) -> (Acc<Array<DIM3, u8>>, Acc<Vector<u8>>) {
    let labels = random_u32(seed * 3, count).map(|x| (x % 10).to::<u8>());
    let traits = random_f32(seed * 3 + 1, (count, TRAITS));
    // Between -1 and 1.
    let vary = |n: Exp<i64>, k: usize| traits.index((n, k)) * 2.0 - 1.0;
    let place = |n: Exp<i64>, x: Exp<f32>, y: Exp<f32>| {
        let (x, y) = (x - 0.5, y - 0.5);
        let bent = |x: Exp<f32>, y: Exp<f32>, k: usize| x + 0.1 * vary(n, k) * (y * 6.0 + 3.0 * vary(n, k + 1)).sin();
        let (x, y) = (bent(x, y, 0), bent(y, x, 2));
        let (x, y) = (x * (0.97 + 0.27 * vary(n, 4)), y * (0.97 + 0.22 * vary(n, 5)));
        let slanted = x - y * (0.12 + 0.32 * vary(n, 6));
        (slanted * 17.0 + 13.5 + 2.5 * vary(n, 7), y * 19.0 + 13.5 + 2.5 * vary(n, 8))
    };
    let table = use_(&segments());
    let strokes = generate((count, SEGMENTS), |(n, s)| {
        let (x0, y0, x1, y1) = table.index((labels.index(n), s));
        let ((x0, y0), (x1, y1)) = (place(n, x0, y0), place(n, x1, y1));
        (x0, y0, x1, y1)
    });
    let points = (count, SIDE, SIDE, SEGMENTS);
    let nearest =
        generate(points, |(n, y, x, s)| apart((x.to::<f32>(), y.to::<f32>()), strokes.index((n, s)))).minimum();
    let images = nearest.zip_with(random_f32(seed * 3 + 2, (count, SIDE, SIDE)), |d, noise| (d.sqrt(), noise));
    let images = images.imap(|(n, _, _), (distance, noise)| {
        let half_width = 1.25 + 0.45 * vary(n, 9);
        let ink = ((half_width - distance) * 0.9 + 0.5).max(0.0).min(1.0) * (0.8 + 0.2 * vary(n, 10));
        let dirt = (noise - 0.5) * (0.3 + 0.2 * vary(n, 11));
        ((ink + dirt).max(0.0).min(1.0) * 255.0).to::<u8>()
    });
    (images, labels)
}
