//! Clusters of points in the plane by k-means, until no centre moves.

use super::{Example, Input, Picture, example};
use crate::compare::Near;
use acc_core::prelude::*;

const CLUSTERS: usize = 5;
const LIMIT: i32 = 100;

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Sum {
    at: Point,
    count: i32,
}

/// The square of the distance.
fn apart(a: PointExp, b: PointExp) -> Exp<f32> {
    let (dx, dy) = (a.x - b.x, a.y - b.y);
    dx * dx + dy * dy
}

/// For each point the number of the nearest centre.
fn nearest(points: &Acc<Vector<Point>>, centres: &Acc<Vector<Point>>) -> Acc<Vector<i64>> {
    let k = centres.length();
    points.map(|p| {
        let step = |(i, best, least): (Exp<i64>, Exp<i64>, Exp<f32>)| {
            let d = apart(p, centres.index(i));
            let closer = d.lt(least);
            (i + 1, closer.then_else(i, best), closer.then_else(d, least))
        };
        let (_, best, _) = while_((0i64, 0i64, f32::MAX), |(i, _, _)| i.lt(k), step);
        best
    })
}

/// Each centre moved to the middle of its points; one without points stays.
fn moved(points: &Acc<Vector<Point>>, centres: &Acc<Vector<Point>>) -> Acc<Vector<Point>> {
    let label = nearest(points, centres);
    let none = Sum { at: Point { x: 0.0, y: 0.0 }, count: 0 };
    let add = |a: SumExp, b: SumExp| SumExp {
        at: PointExp { x: a.at.x + b.at.x, y: a.at.y + b.at.y },
        count: a.count + b.count,
    };
    let one = points.map(|p| SumExp { at: p, count: lift(1) });
    let sums = one.permute(fill(centres.extent(), none), add, |i| Some(label.index(i)));
    sums.zip_with(centres, |s, centre| {
        let n = s.count.to::<f32>();
        s.count.gt(0).then_else(PointExp { x: s.at.x / n, y: s.at.y / n }, centre)
    })
}

pub(super) fn kmeans(input: &Input) -> Result<Example, Error> {
    let n = input.points.shape().0[0];
    let e = example(
        "kmeans",
        format!("k-means of {n} points, {CLUSTERS} clusters, to convergence"),
        |coordinates: Acc<Matrix<f32>>| {
            let (n, _) = coordinates.shape();
            let points = generate(n, |i| PointExp { x: coordinates.index((i, 0)), y: coordinates.index((i, 1)) });
            // Starts from points spread over the set.
            let start = points.backpermute(CLUSTERS, |i| i * n / CLUSTERS as i64);
            let (centres, _, _) = awhile(
                (&start, unit(f32::MAX), unit(0i32)),
                |(_, distance, steps)| distance.the().gt(1e-10).and(steps.the().lt(LIMIT)),
                |(centres, _, steps)| {
                    let next = moved(&points, &centres);
                    let distance = next.zip_with(&centres, apart).fold(0.0, |a, b| a.max(b));
                    (next, distance, steps.map(|n| n + 1))
                },
            );
            let labels = nearest(&points, &centres);
            (centres, points.zip(&labels))
        },
        (&input.points,).into_data(),
        // A centre is a mean of up to n coordinates: half a unit for each addition, of the greatest coordinate.
        Near::ColumnUlp(n as u64),
    )?;
    Ok(Example { picture: Some(Picture::clusters), ..e })
}
