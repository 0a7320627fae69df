//! Clusters of points by k-means until no centre moves: elements of one's own, and a scatter that adds.
//!
//! ```text
//! Point { x: 0.5, y: 0.5 }
//! Point { x: 8.5, y: 8.0 }
//! [0, 0, 0, 0, 1, 1]
//! ```

use acc_array::prelude::*;

const LIMIT: i32 = 100;

/// A point of the plane.
#[derive(Elt, Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Up.
    pub y: f32,
}

#[derive(Elt, Clone, Copy, Debug, PartialEq)]
struct Total {
    at: Point,
    count: i32,
}

/// The square of the distance.
fn apart(a: PointExp, b: PointExp) -> Exp<f32> {
    let (dx, dy) = (a.x - b.x, a.y - b.y);
    dx * dx + dy * dy
}

/// For each point the number of the nearest centre.
pub fn nearest(points: &Acc<Vector<Point>>, centres: &Acc<Vector<Point>>) -> Acc<Vector<i64>> {
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
    let none = Total { at: Point { x: 0.0, y: 0.0 }, count: 0 };
    let add = |a: TotalExp, b: TotalExp| TotalExp {
        at: PointExp { x: a.at.x + b.at.x, y: a.at.y + b.at.y },
        count: a.count + b.count,
    };
    let one = points.map(|p| TotalExp { at: p, count: lift(1) });
    let totals = one.permute(fill(centres.extent(), none), add, |i| Some(label.index(i)));
    totals.zip_with(centres, |t, centre| {
        let n = t.count.to::<f32>();
        t.count.gt(0).then_else(PointExp { x: t.at.x / n, y: t.at.y / n }, centre)
    })
}

/// Centres of `k` clusters, started from points spread over the set.
pub fn centres(points: &Acc<Vector<Point>>, k: usize) -> Acc<Vector<Point>> {
    let n = points.length();
    let start = points.backpermute(k, |i| i * n / k as i64);
    let (centres, _, _) = awhile(
        (&start, unit(f32::MAX), unit(0i32)),
        |(_, distance, steps)| distance.the().gt(1e-10).and(steps.the().lt(LIMIT)),
        |(centres, _, steps)| {
            let next = moved(points, &centres);
            let distance = next.zip_with(&centres, apart).fold(0.0, |a, b| a.max(b));
            (next, distance, steps.map(|n| n + 1))
        },
    );
    centres
}

fn main() -> Result<(), Error> {
    let points = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (8.0, 8.0), (9.0, 8.0)];
    let points = use_(&Vector::from(points.map(|(x, y)| Point { x, y })));
    let found = centres(&points, 2);
    for centre in run(&found)?.to_vec() {
        println!("{centre:?}");
    }
    println!("{:?}", run(nearest(&points, &found))?.to_vec());
    Ok(())
}
