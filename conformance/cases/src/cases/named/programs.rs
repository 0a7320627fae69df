//! Programs of `each`, `total` and their like.

use super::*;
use crate::compare::Near;

pub fn cases() -> Vec<Case> {
    [forms(), networks()].concat()
}

/// The program in names gives what it gives in combinators.
#[track_caller]
fn same<Ax: Axes<Shape = Sh>, Sh: Shape, E: Elt>(t: &mut Check<'_>, named: &Named<Ax, E>, plain: &Acc<Array<Sh, E>>) {
    let Ok(want) = Interpreter::new().run(plain) else { return t.check(false, "the combinators run") };
    t.gives_within(named.plain(), want, Near::Relative(1e-12));
}

fn forms() -> Vec<Case> {
    vec![
        case("named/folds", "", |t| {
            let m = Named::<(Batch, Feature), i64>::of(&Matrix::from([[3i64, 1, 4], [1, 5, 9]]));
            let sums: Named<Feature, i64> = each(|f| total(|b| m.at((b, f))));
            t.gives(sums.plain(), Vector::from([4i64, 6, 13]));
            let most: Named<Batch, i64> = each(|b| most(|f| m.at((b, f))));
            t.gives(most.plain(), Vector::from([4i64, 9]));
            let least: Named<Batch, i64> = each(|b| least(|f| m.at((b, f))));
            t.gives(least.plain(), Vector::from([1i64, 1]));
            t.gives(unit(total(|(b, f)| m.at((b, f)))), Scalar::scalar(23i64));
            t.gives(unit(all(|(b, f)| m.at((b, f)).gt(0))), Scalar::scalar(true));
            let any: Named<Batch, bool> = each(|b| any(|f| m.at((b, f)).eq(9)));
            t.gives(any.plain(), Vector::from([false, true]));
            let first: Named<Batch, (i64, Index<Feature>)> = each(|b| most_at(|f| m.at((b, f))));
            t.gives(first.plain().map(|(x, f)| (x, f.position())), host(2, [(4i64, 2i64), (9, 2)]));
        }),
        case("named/empty-axes", "", |t| {
            let m = Named::<(Batch, Feature), i64>::of(fill((2, 0), 1i64));
            let sums: Named<Batch, i64> = each(|b| total(|f| m.at((b, f))));
            t.gives(sums.plain(), Vector::from([0i64, 0]));
            let most: Named<Batch, i64> = each(|b| most(|f| m.at((b, f))));
            t.gives(most.plain(), Vector::from([i64::MIN; 2]));
            let of_none: Named<Feature, i64> = each(|f| total(|b| m.at((b, f))));
            t.gives(of_none.plain(), Vector::from([0i64; 0]));
            let at: Named<Batch, i64> = each(|b| most_at(|f| m.at((b, f))).0);
            t.faults(at.plain(), "empty_fold");
        }),
        case("named/branches-are-lazy", "", |t| {
            // The sum may fault for an element that does not need it.
            let xs = Named::<Batch, i64>::of(&Vector::from([0i64, 2]));
            let ys = Named::<Feature, i64>::of(&Vector::from([4i64, 6]));
            let halves: Named<Batch, i64> = each(|b| xs.at(b).eq(0).then_else(-1, total(|f| ys.at(f) / xs.at(b))));
            t.gives(halves.plain(), Vector::from([-1i64, 5]));
            let all: Named<Batch, i64> = each(|b| total(|f| ys.at(f) / xs.at(b)));
            t.faults(all.plain(), "division_by_zero");
            // Nor is one computed where there is no element, or none to sum up.
            let none = Named::<(Batch, Hidden), i64>::of(fill((2, 0), 1i64));
            let sums: Named<(Batch, Hidden), i64> = each(|(b, h)| none.at((b, h)) + total(|f| ys.at(f) / xs.at(b)));
            t.shape(sums.plain(), [2, 0]);
            let inner: Named<Batch, i64> = each(|b| total(|h| none.at((b, h)) * total(|f| ys.at(f) / xs.at(b))));
            t.gives(inner.plain(), Vector::from([0i64, 0]));
        }),
        case("named/folds-in-loops", "", |t| {
            let m = Named::<(Batch, Feature), i64>::of(&Matrix::from([[1i64, 2], [3, 4]]));
            let looped: Named<Batch, i64> = each(|b| iterate(3, 1i64, |s| total(|f| m.at((b, f)) * s)));
            t.gives(looped.plain(), Vector::from([27i64, 343]));
            let outside = generate(2, |k: Exp<i64>| total(|(b, f)| m.at((b, f)) * k));
            t.gives(outside, Vector::from([0i64, 10]));
        }),
        case("named/sizes", "", |t| {
            let m = Named::<(Batch, Feature), i64>::of(&Matrix::from([[1i64, 2, 3], [4, 5, 6]]));
            // Sizes are known before and after the first read.
            let counts: Named<Batch, i64> =
                each(|b: Ix<Batch>| b.count() * 10 + total(|f: Ix<Feature>| m.at((b, f)) * f.count()));
            t.gives(counts.plain(), Vector::from([38i64, 65]));
            let other = Named::<Feature, i64>::of(fill(2, 1i64));
            let wrong: Named<Batch, i64> = each(|b| total(|f| m.at((b, f)) * other.at(f)));
            t.faults(wrong.plain(), "check_failed");
            t.faults(m.zip_with(Named::of(fill((2, 2), 1i64)), |a, b| a + b).plain(), "check_failed");
            let nobody: Named<(Batch, Hidden), i64> = each(|(b, _)| total(|f| m.at((b, f))));
            t.rejected(nobody, "axis Hidden has no size");
            let square = Named::<(Batch, Batch), i64>::of(fill((2, 3), 1i64));
            let trace: Acc<Scalar<i64>> = unit(total(|b| square.at((b, b))));
            t.faults(trace, "check_failed");
        }),
        case("named/positions", "", |t| {
            let xs = Named::<Batch, i64>::of(&Vector::from([5i64, 6, 7]));
            let before: Named<Batch, i64> = each(|b: Ix<Batch>| {
                let last = Ix::<Batch>::checked(b - 1);
                last.match_(|last| match last {
                    Some(last) => xs.at(b) - xs.at(last),
                    None => lift(-1i64),
                })
            });
            t.gives(before.plain(), Vector::from([-1i64, 1, 1]));
            let sums: Named<Batch, i64> = each(|b| total(|c: Ix<Batch>| c.le(b).then_else(xs.at(c), 0)));
            t.gives(sums.plain(), Vector::from([5i64, 11, 18]));
            let beyond: Named<Batch, i64> = each(|b: Ix<Batch>| xs.at(b) - xs.at(b.with(b + 1)));
            t.faults(beyond.plain(), "index_out_of_bounds");
        }),
        case("named/pairs", "", |t| {
            let m = Named::<(Batch, Feature, Hidden), i64>::of(enum_from((2, 2, 3), 0i64));
            let flat: Named<(Batch, Pair<Feature, Hidden>), i64> = m.flat();
            let sums: Named<Batch, i64> = each(|b| total(|p| flat.at((b, p))));
            t.gives(sums.plain(), Vector::from([15i64, 51]));
            t.gives(flat.split(3).plain(), host((2, 2, 3), 0..12i64));
            let transposed = Named::<(Batch, Feature), i64>::of(&Matrix::from([[1i64, 2], [3, 4]])).transposed();
            t.gives(transposed.plain(), Matrix::from([[1i64, 3], [2, 4]]));
        }),
    ]
}

fn networks() -> Vec<Case> {
    vec![
        case("named/matrix-product", "", |t| {
            let (x, w) = (use_(&matrix(1, 3, 5)), use_(&matrix(2, 5, 4)));
            let (nx, nw) = (Named::<(Batch, Feature), f64>::of(&x), Named::<(Feature, Hidden), f64>::of(&w));
            let product: Named<(Batch, Hidden), f64> = each(|(b, h)| total(|f| nx.at((b, f)) * nw.at((f, h))));
            same(t, &product, &x.matmul(&w));
            let g: Named<(Feature, Hidden), f64> = grad(&nw, |w| {
                let y: Named<(Batch, Hidden), f64> = each(|(b, h)| total(|f| nx.at((b, f)) * w.at((f, h))));
                y.map(|y| y * y).sum_all()
            });
            same(t, &g, &grad(&w, |w| x.matmul(w).map(|y| y * y).sum().sum()));
        }),
        case("named/normalisation", "", |t| {
            let x = use_(&matrix(3, 4, 6));
            let n = Named::<(Batch, Feature), f64>::of(&x);
            let by_batch: Named<(Batch, Feature), f64> = each(|(b, f)| {
                let mean = total(|b| n.at((b, f))) / b.count().to::<f64>();
                let square = total(|b| (n.at((b, f)) - mean) * (n.at((b, f)) - mean)) / b.count().to::<f64>();
                (n.at((b, f)) - mean) / (square + 1e-5).sqrt()
            });
            let mean = x.mean_over((Over, All));
            let square = x.imap(|(_, f), x| (x - mean.index(f)) * (x - mean.index(f))).mean_over((Over, All));
            same(t, &by_batch, &x.imap(|(_, f), x| (x - mean.index(f)) / (square.index(f) + 1e-5).sqrt()));
            let by_layer: Named<(Batch, Feature), f64> = each(|(b, f)| {
                let mean = total(|f| n.at((b, f))) / f.count().to::<f64>();
                n.at((b, f)) - mean
            });
            let mean = x.mean();
            same(t, &by_layer, &x.imap(|(b, _), x| x - mean.index(b)));
        }),
        case("named/attention", "", |t| {
            let (q, k, v) = (use_(&matrix(4, 3, 4)), use_(&matrix(5, 5, 4)), use_(&matrix(6, 5, 2)));
            let (nq, nk) = (Named::<(Query, Feature), f64>::of(&q), Named::<(Key, Feature), f64>::of(&k));
            let nv = Named::<(Key, Hidden), f64>::of(&v);
            let scores: Named<(Query, Key), f64> = each(|(i, j)| total(|f| nq.at((i, f)) * nk.at((j, f))));
            let powers: Named<(Query, Key), f64> =
                each(|(i, j)| (scores.at((i, j)) - most(|j| scores.at((i, j)))).exp());
            let weights: Named<(Query, Key), f64> = each(|(i, j)| powers.at((i, j)) / total(|j| powers.at((i, j))));
            let out: Named<(Query, Hidden), f64> = each(|(i, h)| total(|j| weights.at((i, j)) * nv.at((j, h))));
            same(t, &out, &q.matmul(k.transpose()).softmax().matmul(&v));
        }),
        case("named/convolution", "", |t| {
            axes!(Image, Channel, Filter, Row, Column, Down, Right);
            let x: Array<Dim<4>, i64> = host((2, 2, 5, 4), (0..80).map(|k| (k * k * 7 + k) % 23 - 11));
            let k: Array<Dim<4>, i64> = host((3, 2, 3, 2), (0..36).map(|k| (k * k * 5 + k) % 13 - 6));
            let (x, k) = (use_(&x), use_(&k));
            let nk = Named::<(Filter, Channel, Down, Right), i64>::of(&k);
            let ((n, _, h, w), (o, _, r, s)) = (x.shape(), k.shape());
            let y: Named<(Image, Filter, Row, Column), i64> = each_of((n, o, h - r + 1, w - s + 1), |(n, o, y, z)| {
                total(|(c, r, s)| {
                    x.index((n.position(), Ix::<Channel>::position(c), y + r, z + s)) * nk.at((o, c, r, s))
                })
            });
            same(t, &y, &x.conv(&k, Windows::valid()));
        }),
    ]
}
