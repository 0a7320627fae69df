//! Programs over named axes have the code of the same programs in combinators.

use acc_array::AccFn;
use acc_array::named::{Index, Ix, Named, accumulate, axes, each, each_of, least_at, most, total};
use acc_array::prelude::*;
use conformance::structure;

axes!(Batch, Feature, Hidden, Query, Key, Sample, Cluster, Bin, Image, Channel, Filter, Row, Column, Down, Right);

/// What executors make of a program: kernels and arrays between them, or launches and checks.
#[track_caller]
fn counts(executor: &str, program: &std::sync::Arc<acc_core::ir::Program>) -> Vec<(String, u64)> {
    let structure = structure::of(executor, program).unwrap_or_else(|e| panic!("{e}\n{program}"));
    // Views cost nothing.
    structure.counts.into_iter().map(|(word, n)| (word.text, n)).filter(|(word, _)| word != "views").collect()
}

/// Both functions have as many kernels, and launches of as many graph operations.
#[track_caller]
pub fn equal_code<P, Q, A: Arrays, B: Arrays>(named: impl AccFn<P, A>, plain: impl AccFn<Q, B>) {
    let (named, plain) = (compile(named).expect("names"), compile(plain).expect("combinators"));
    for executor in ["native", "graph"] {
        let (of_names, of_combinators) = (counts(executor, named.program()), counts(executor, plain.program()));
        assert_eq!(of_names, of_combinators, "{executor}:\n{}\n{}", named.program(), plain.program());
    }
    let (named, plain) = (named.explain(), plain.explain());
    assert_eq!(named.matches("kernel ").count(), plain.matches("kernel ").count(), "{named}\n{plain}");
}

type M = Acc<Matrix<f32>>;

#[test]
fn matrix_products() {
    equal_code(
        |x: Named<(Batch, Feature), f32>, w: Named<(Feature, Hidden), f32>| {
            let y: Named<(Batch, Hidden), f32> = each(|(b, h)| total(|f| x.at((b, f)) * w.at((f, h))));
            y
        },
        |x: M, w: M| x.matmul(&w),
    );
}

#[test]
fn normalisation_over_batches_and_layers() {
    equal_code(
        |x: Named<(Batch, Feature), f32>| {
            let y: Named<(Batch, Feature), f32> =
                each(|(b, f): (Ix<Batch>, Ix<Feature>)| x.at((b, f)) - total(|b| x.at((b, f))) / b.count().to::<f32>());
            y
        },
        |x: M| {
            let mean = x.mean_over((Over, All));
            x.imap(|(_, f), x| x - mean.index(f))
        },
    );
    equal_code(
        |x: Named<(Batch, Feature), f32>| {
            let y: Named<(Batch, Feature), f32> =
                each(|(b, f): (Ix<Batch>, Ix<Feature>)| x.at((b, f)) - total(|f| x.at((b, f))) / f.count().to::<f32>());
            y
        },
        |x: M| {
            let mean = x.mean();
            x.imap(|(b, _), x| x - mean.index(b))
        },
    );
}

#[test]
fn attention() {
    equal_code(
        |q: Named<(Query, Feature), f32>, k: Named<(Key, Feature), f32>, v: Named<(Key, Hidden), f32>| {
            let scores: Named<(Query, Key), f32> = each(|(i, j)| total(|f| q.at((i, f)) * k.at((j, f))));
            let powers: Named<(Query, Key), f32> =
                each(|(i, j)| (scores.at((i, j)) - most(|j| scores.at((i, j)))).exp());
            let weights: Named<(Query, Key), f32> = each(|(i, j)| powers.at((i, j)) / total(|j| powers.at((i, j))));
            let y: Named<(Query, Hidden), f32> = each(|(i, h)| total(|j| weights.at((i, j)) * v.at((j, h))));
            y
        },
        |q: M, k: M, v: M| q.matmul(k.transpose()).softmax().matmul(&v),
    );
}

#[test]
fn convolutions() {
    type Four = Acc<Array<Dim<4>, f32>>;
    equal_code(
        |x: Four, k: Named<(Filter, Channel, Down, Right), f32>| {
            let ((n, _, h, w), (o, _, r, s)) = (x.shape(), k.plain().shape());
            let y: Named<(Image, Filter, Row, Column), f32> =
                each_of((n, o, h - r + 1, w - s + 1), |(n, o, y, z): (Ix<Image>, Ix<Filter>, Ix<Row>, Ix<Column>)| {
                    total(|(c, r, s): (Ix<Channel>, Ix<Down>, Ix<Right>)| {
                        x.index((n, c, y + r, z + s)) * k.at((o, c, r, s))
                    })
                });
            y
        },
        |x: Four, k: Four| {
            let ((n, _, h, w), (o, c, r, s)) = (x.shape(), k.shape());
            let terms = generate((n, o, h - r + 1, w - s + 1, c, r, s), |(n, o, y, z, c, r, s)| {
                x.index((n, c, y + r, z + s)) * k.index((o, c, r, s))
            });
            terms.sum().sum().sum()
        },
    );
}

#[test]
fn histograms() {
    equal_code(
        |xs: Named<Sample, i64>| {
            accumulate(Named::<Bin, i64>::of(fill(8, 0i64)), |s, out| out.add(Ix::of(xs.at(s)), 1))
        },
        |xs: Acc<Vector<i64>>| {
            fill(xs.extent(), 1i64).permute::<DIM1, _, _>(fill(8, 0i64), |a, b| a + b, |s| Some(xs.index(s)))
        },
    );
}

#[test]
fn prefix_sums() {
    equal_code(
        |xs: Named<Sample, f32>| Named::<Sample, f32>::of(xs.map(|x| x * x).plain().scanl1(|a, b| a + b)),
        |xs: Acc<Vector<f32>>| xs.map(|x| x * x).scanl1(|a, b| a + b),
    );
}

#[test]
fn nearest_centres() {
    equal_code(
        |x: Named<(Sample, Feature), f32>, c: Named<(Cluster, Feature), f32>| {
            let nearest: Named<Sample, Index<Cluster>> =
                each(|s| least_at(|k| total(|f| (x.at((s, f)) - c.at((k, f))) * (x.at((s, f)) - c.at((k, f))))).1);
            nearest
        },
        |x: M, c: M| {
            let ((n, d), (k, _)) = (x.shape(), c.shape());
            let squares = generate((n, k, d), |(s, k, f)| {
                (x.index((s, f)) - c.index((k, f))) * (x.index((s, f)) - c.index((k, f)))
            });
            squares.sum().arg_min()
        },
    );
}
