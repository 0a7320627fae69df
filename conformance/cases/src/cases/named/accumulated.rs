//! Programs of `accumulate`.

use super::*;
use crate::compare::Near;

pub fn cases() -> Vec<Case> {
    vec![
        case("named/histogram", "", |t| {
            let xs = Named::<Point, i64>::of(&Vector::from([0i64, 2, 2, 1, 2]));
            let counts = accumulate(Named::<Bin, i64>::of(fill(4, 0i64)), |p, out| out.add(Ix::of(xs.at(p)), 1));
            t.gives(counts.plain(), Vector::from([1i64, 1, 3, 0]));
            let some = accumulate(Named::<Bin, i64>::of(fill(2, 10i64)), |p, out| {
                out.add_if(xs.at(p).lt(2), Ix::of(xs.at(p)), 1);
                out.raise_if(xs.at(p).eq(2), Ix::of(lift(0i64)), 50);
            });
            t.gives(some.plain(), Vector::from([50i64, 11]));
            t.faults(
                accumulate(Named::<Bin, i64>::of(fill(2, 0i64)), |p, out| out.add(Ix::of(xs.at(p)), 1)).plain(),
                "index_out_of_bounds",
            );
            let none = Named::<Point, i64>::of(fill(0, 0i64));
            let counts = accumulate(Named::<Bin, i64>::of(fill(2, 7i64)), |p, out| out.add(Ix::of(none.at(p)), 1));
            t.gives(counts.plain(), Vector::from([7i64, 7]));
        }),
        case("named/conditions-guard-values", "", |t| {
            let xs = Named::<Point, i64>::of(&Vector::from([0i64, 2, 4]));
            let sums = accumulate(Named::<Bin, i64>::of(fill(1, 0i64)), |p, out| {
                out.add_if(xs.at(p).ne(0), Ix::of(lift(0i64)), 8 / xs.at(p));
            });
            t.gives(sums.plain(), Vector::from([6i64]));
        }),
        case("named/k-means", "", |t| {
            let x =
                Named::<(Point, Feature), f64>::of(&Matrix::from([[0.0f64, 0.0], [4.0, 4.0], [1.0, 0.0], [4.0, 5.0]]));
            let c = Named::<(Cluster, Feature), f64>::of(&Matrix::from([[0.0f64, 1.0], [5.0, 5.0]]));
            let nearest: Named<Point, Index<Cluster>> =
                each(|p| least_at(|k| total(|f| (x.at((p, f)) - c.at((k, f))) * (x.at((p, f)) - c.at((k, f))))).1);
            t.gives(nearest.plain().map(|k| k.position()), Vector::from([0i64, 1, 0, 1]));
            let zero = c.map(|_| 0.0f64);
            let sums = accumulate(&zero, |(p, f), out| out.add((nearest.at(p), f), x.at((p, f))));
            let none: Named<Cluster, f64> = each(|k| total(|f| zero.at((k, f))));
            let counts = accumulate(&none, |p, out| out.add(nearest.at(p), 1.0));
            let next: Named<(Cluster, Feature), f64> = each(|(k, f)| sums.at((k, f)) / counts.at(k));
            t.gives(next.plain(), Matrix::from([[0.5, 0.0], [4.0, 4.5]]));
        }),
        case("named/gradients-of-accumulated", "", |t| {
            let at = Named::<Point, Index<Bin>>::of(&host(4, [0, 1, 0, 1].map(Index::of)));
            let xs = NamedArray::<Point, f64>::of(Vector::from([1.0, 2.0, 3.0, 4.0]));
            let loss = |xs: Named<Point, f64>| {
                let sums = accumulate(Named::<Bin, f64>::of(fill(2, 0.0f64)), |p, out| out.add(at.at(p), xs.at(p)));
                sums.map(|s| s * s).sum_all()
            };
            t.gives_within(grad(&xs, loss).plain(), Vector::from([8.0, 12.0, 8.0, 12.0]), Near::Relative(1e-12));
        }),
    ]
}
