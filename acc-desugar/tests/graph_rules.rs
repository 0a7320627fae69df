//! The rules over graphs: what each one finds, what is left without it, and what it leaves alone.

use acc_core::RunLimits;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::Program;
use acc_core::prelude::*;
use acc_desugar::graph::{Graph, Node, Op, ReduceOp};
use acc_desugar::pass::{self, Stage};
use acc_desugar::{Faults, Rules, pipeline};

type Grid = Acc<Matrix<f32>>;

/// The graph by these rules; passes verify it.
fn graph(program: &Program, rules: &Rules, faults: Faults) -> Graph {
    let limits = RunLimits::none();
    match pass::run(pipeline::GRAPH, program, &pipeline::graph_settings(rules, faults, &limits)) {
        Ok(Stage::Graph(graph)) => graph,
        other => panic!("{other:?}"),
    }
}

fn count(g: &Graph, is: fn(&Op) -> bool) -> usize {
    let mut n = 0;
    g.body.visit(&mut |node: &Node| n += usize::from(is(&node.op)));
    n
}

fn grid() -> Grid {
    use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]))
}

fn softmax() -> Grid {
    let m = grid();
    let top = m.maximum();
    let powers = m.imap(|(i, _), x| (x - top.index(i)).exp());
    let sums = powers.sum();
    powers.imap(|(i, _), x| x / sums.index(i))
}

fn normal(m: &Grid) -> Grid {
    let n = m.shape().1.to::<f32>();
    let mean = m.sum().map(|sum| sum / n);
    let squares = m.imap(|(i, _), x| (x - mean.index(i)) * (x - mean.index(i)));
    let variance = squares.sum().map(|sum| sum / n);
    m.imap(|(i, _), x| (x - mean.index(i)) / (variance.index(i) + 1e-5).sqrt())
}

fn bags() -> Acc<Vector<f32>> {
    let (table, ids) = (use_(&Vector::from([1.0f32, 2.0, 3.0])), use_(&Vector::from([2i64, 0, 1])));
    ids.map(|k| table.index(k)).fold_seg(&Vector::from([2i64, 1]), 0.0, |a, b| a + b)
}

/// The greatest of two neighbours.
fn pool() -> Grid {
    let m = grid();
    generate((2, 1, 2), |(i, j, w)| m.index((i, j + w))).maximum()
}

fn is_bag(op: &Op) -> bool {
    matches!(op, Op::SegmentReduce { at: Some(_), .. })
}

/// For each rule that looks at the program's own operations a program in which it finds something, and what that is.
fn found() -> Vec<(&'static str, Program, fn(&Op) -> bool)> {
    fn program<A: Arrays>(program: impl IntoAcc<A>) -> Program {
        Program::clone(&program.into_acc().program().unwrap().program)
    }
    let clip = grid().map(|x| x.max(0.25).min(0.75));
    let product = grid().zip_with(grid().map(|x| x), |x, y| x * y).sum();
    vec![
        ("clip", program(clip), |op| matches!(op, Op::Clip { .. })),
        ("softmax", program(softmax()), |op| matches!(op, Op::Softmax { .. })),
        ("normalize", program(normal(&grid())), |op| matches!(op, Op::Normalize { .. })),
        ("contract", program(product), |op| matches!(op, Op::Contract { .. })),
        ("bags", program(bags()), is_bag),
        ("selections", program(grid().sort().take(1)), |op| matches!(op, Op::Sort { count: Some(_), last: false, .. })),
        ("selections", program(grid().top_k(1).0), |op| matches!(op, Op::Sort { count: Some(_), last: true, .. })),
        ("pools", program(pool()), |op| matches!(op, Op::Pool { .. })),
    ]
}

#[test]
fn each_rule_is_switched_by_its_name() {
    for (name, program, is) in found() {
        for faults in [Faults::Detect, Faults::Ignore] {
            let alone = Rules::none().with(name).unwrap();
            let without = Rules::all().without(name).unwrap();
            for (rules, times) in [(&Rules::all(), 1), (&alone, 1), (&without, 0), (&Rules::none(), 0)] {
                let found = count(&graph(&program, rules, faults), is);
                // Alone, the mean of squares may be written as a product, whose sum no rule has made one.
                assert_eq!(found, times, "{name} by {rules:?}");
            }
        }
    }
}

/// A convolution with zeros around the images asks nothing of each window.
#[test]
fn zeros_around_images_are_read() {
    let image = || use_(&Array::from_vec(Dim([1, 1, 3, 4]), (0..12u8).map(f32::from).collect()).unwrap());
    let filter = || use_(&Array::from_vec(Dim([1, 1, 3, 3]), vec![1.0f32; 9]).unwrap());
    let program = image().conv(filter(), Windows::same()).program().unwrap().program;
    let without = |names: &[&str]| names.iter().fold(Rules::all(), |rules, name| rules.without(name).unwrap());
    let expected =
        [(without(&[]), 0, 1), (without(&["pad_windows"]), 0, 1), (without(&["pad_windows", "zeros"]), 1, 0)];
    for (rules, choices, convolutions) in expected {
        let g = graph(&program, &rules, Faults::Detect);
        assert_eq!(count(&g, |op| matches!(op, Op::Where(..))), choices);
        assert_eq!(count(&g, |op| matches!(op, Op::Convolve { .. })), convolutions);
    }
}

/// Sums of products of windows with a filter, in one dimension and in two, the second one backwards.
#[test]
fn windows_times_filters_are_convolutions() {
    let x = || use_(&Matrix::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]));
    let k = || use_(&Matrix::from([[1.0f32, 2.0]]));
    let along_rows = generate((2, 2, 2), |(i, j, w)| x().index((i, j + w)) * k().index((lift(0i64), w))).sum();
    let of_planes =
        generate((2, 2, 1, 2), |(i, j, v, w)| k().index((v, w)) * x().index((i + v, j - w + 1))).sum().sum();
    let rules = Rules::none().with("contract").unwrap();
    for program in [along_rows.into_acc(), of_planes.into_acc()] {
        let program = program.program().unwrap().program;
        let [with, without] = [&Rules::all(), &rules].map(|rules| graph(&program, rules, Faults::Detect));
        for (g, convolutions, contractions) in [(with, 1, 0), (without, 0, 1)] {
            assert_eq!(count(&g, |op| matches!(op, Op::Convolve { .. })), convolutions);
            assert_eq!(count(&g, |op| matches!(op, Op::Contract { .. })), contractions);
        }
    }
}

/// A product that is 0 outside of what it reads is a contraction, and a convolution where the filter is finite.
#[test]
fn zeros_around_an_array_are_no_condition() {
    let (x, k) = (use_(&Vector::from([1.0f32, 2.0, 3.0])), use_(&Vector::from([1.0f32, 2.0])));
    let n = x.length();
    let sums = generate((4, 2), |(i, w)| {
        let at = i - w;
        at.ge(0).and(at.lt(n)).then_else(x.index(at) * k.index(w), 0.0f32)
    })
    .sum();
    let program = sums.into_acc().program().unwrap().program;
    let g = graph(&program, &Rules::all(), Faults::Detect);
    assert_eq!(count(&g, |op| matches!(op, Op::Convolve { .. })), 1);
    assert_eq!(count(&g, |op| matches!(op, Op::Contract { mask: Some(_), .. })), 1);
    assert_eq!(count(&g, |op| matches!(op, Op::Gather(..))), 0);
}

#[test]
fn what_a_rule_replaces_goes() {
    for (name, program, is) in found() {
        let (all, without) = (Rules::all(), Rules::all().without(name).unwrap());
        let [with, without] = [&all, &without].map(|rules| graph(&program, rules, Faults::Detect));
        assert!(with.len() < without.len(), "{name}: {} of {}", with.len(), without.len());
        assert_eq!(count(&with, |op| matches!(op, Op::Prim(..))).min(1) * count(&without, is), 0);
    }
}

/// What was found is found in a body, too, and takes the place of the values that later bodies use.
#[test]
fn rules_look_into_bodies() {
    let looped = awhile(
        grid(),
        |m| m.sum().sum().map(|x| x.lt(1e9)),
        |m| normal(&m).zip_with(softmax(), |x, y| x.max(-1.0).min(1.0) + y),
    );
    let program = Program::clone(&looped.into_acc().program().unwrap().program);
    let g = graph(&program, &Rules::all(), Faults::Detect);
    assert_eq!(count(&g, |op| matches!(op, Op::Normalize { .. })), 1);
    assert_eq!(count(&g, |op| matches!(op, Op::Softmax { .. })), 1);
    assert_eq!(count(&g, |op| matches!(op, Op::Clip { .. })), 1);
}

/// Numbers in which one part is another one's.
#[test]
fn what_looks_like_it_stays() {
    fn none<A: Arrays>(program: impl IntoAcc<A>, is: fn(&Op) -> bool) {
        let program = Program::clone(&program.into_acc().program().unwrap().program);
        assert_eq!(count(&graph(&program, &Rules::all(), Faults::Detect), is), 0);
    }
    let is_clip = |op: &Op| matches!(op, Op::Clip { .. });
    none(grid().map(|x| x.max(0.75).min(0.25)), is_clip);
    none(grid().map(|x| x.max(0.25).min(f32::NAN)), is_clip);
    // Over the sum of other rows, or of the numbers less another one.
    let m = grid();
    let (top, least) = (m.maximum(), m.minimum());
    let powers = m.imap(|(i, _), x| (x - top.index(i)).exp());
    let sums = powers.transpose().sum();
    let is_softmax = |op: &Op| matches!(op, Op::Softmax { .. });
    none(powers.imap(|(i, _), x| x / sums.index(i)), is_softmax);
    let powers = m.imap(|(i, _), x| (x - least.index(i)).exp());
    let sums = powers.sum();
    none(powers.imap(|(i, _), x| x / sums.index(i)), is_softmax);
    // A mean of one element more, and one along another axis.
    let is_normal = |op: &Op| matches!(op, Op::Normalize { .. });
    for of_columns in [false, true] {
        let n = (m.shape().1 + i64::from(!of_columns)).to::<f32>();
        let mean = if of_columns { m.transpose().sum() } else { m.sum() }.map(|sum| sum / n);
        let variance = m.imap(|(i, _), x| (x - mean.index(i)) * (x - mean.index(i))).sum().map(|sum| sum / n);
        none(m.imap(|(i, _), x| (x - mean.index(i)) / (variance.index(i) + 1e-5).sqrt()), is_normal);
    }
    // Integers, and the greatest instead of a sum.
    let (table, ids) = (use_(&Vector::from([1i64, 2, 3])), use_(&Vector::from([2i64, 0, 1])));
    none(ids.map(|k| table.index(k)).fold_seg(&Vector::from([2i64, 1]), 0, |a, b| a + b), is_bag);
    none(
        ids.map(|k| table.index(k)).map(|x| x.to::<f32>()).fold_seg(&Vector::from([2i64, 1]), 0.0, |a, b| a.max(b)),
        is_bag,
    );
    none(table.zip_with(&table, |x, y| x * y).sum(), |op| matches!(op, Op::Contract { .. }));
}

/// Neither is a neutral element of the other's operation taken for a sum's.
#[test]
fn a_contraction_is_of_floats_that_are_added() {
    let (xs, ys) = (use_(&Vector::from([1.0f64, 2.0])), use_(&Vector::from([3.0f64, 4.0])));
    let products = xs.zip_with(&ys, |x, y| x * y);
    for (program, with) in [(products.maximum(), ReduceOp::Max), (products.product(), ReduceOp::Product)] {
        let program = Program::clone(&program.into_acc().program().unwrap().program);
        let g = graph(&program, &Rules::all(), Faults::Detect);
        let mut found = Vec::new();
        g.body.visit(&mut |n: &Node| match n.op {
            Op::Reduce(op, _) => found.push(op),
            Op::Contract { .. } => panic!("a contraction of {with:?}"),
            _ => {}
        });
        assert_eq!(found, [with]);
    }
    assert_eq!(Lit::zero(ScalarType::F64), ReduceOp::Sum.neutral(ScalarType::F64));
}

/// Of three factors each sum goes to the product both sides of which vary along it, and the sum as it was written stays for what is
/// not finite.
#[test]
fn products_of_three_factors_are_chains() {
    let m = || grid().compute();
    let (a, b, c) = (m(), m().map(|x| x + 1.0).compute(), m().map(|x| x + 2.0).compute());
    let terms = generate((2, 2, 2, 2), |(i, j, k, l)| a.index((i, k)) * b.index((k, l)) * c.index((l, j))).sum().sum();
    let program = terms.into_acc().program().unwrap().program;
    let without = Rules::all().without("factors").unwrap();
    for (rules, contractions, branches) in [(&Rules::all(), 3, 1), (&without, 1, 0)] {
        let g = graph(&program, rules, Faults::Detect);
        assert_eq!(count(&g, |op| matches!(op, Op::Contract { .. })), contractions, "{rules:?}");
        assert_eq!(count(&g, |op| matches!(op, Op::If { .. })), branches, "{rules:?}");
    }
}

/// A filter as a loop of conditionals, which close one end of the positions alone.
#[test]
fn filters_as_loops_are_convolutions() {
    let (xs, h) = (use_(&Vector::from([1.0f32, 2.0, 3.0])), use_(&Vector::from([1.0f32, 0.5])));
    // Also with bounds that the condition keeps.
    let kept = |i: Exp<i64>| i.max(0).min(xs.length() - 1);
    for position in [&|i| i, &kept as &dyn Fn(Exp<i64>) -> Exp<i64>] {
        let filtered = xs.imap(|i, _| {
            let taps = while_(
                (lift(0i64), lift(0.0f32)),
                |(k, _)| k.lt(h.length()),
                |(k, sum)| {
                    let inside = (i - k).ge(0).and((i - k).lt(xs.length()));
                    (k + 1, sum + inside.then_else(xs.index(position(i - k)) * h.index(k), 0.0f32))
                },
            );
            taps.1
        });
        let g = graph(&filtered.into_acc().program().unwrap().program, &Rules::all(), Faults::Detect);
        assert_eq!(count(&g, |op| matches!(op, Op::Convolve { .. })), 1);
        assert_eq!(count(&g, |op| matches!(op, Op::Gather(..) | Op::Take { .. })), 0);
    }
}

/// The library's convolutions and pools with windows beyond the edges: their checks and halved margins hide nothing.
#[test]
fn windows_beyond_the_edges_are_found() {
    let images = || generate((2, 3, 9, 9), |(n, c, y, x)| (n + c + y * x).to::<f32>()).compute();
    let filters = generate((2, 3, 3, 3), |(o, c, y, x)| (o + c + y * x).to::<f32>()).compute();
    let convolution = images().conv(&filters, Windows::same());
    let greatest = images().max_pool(5, Windows::same().stride(2));
    let means = images().mean_pool(5, Windows::same());
    for (program, convolutions, pools) in [(convolution, 1, 0), (greatest, 0, 2), (means, 0, 2)] {
        let program = program.into_acc().program().unwrap().program;
        let g = graph(&program, &Rules::all(), Faults::Detect);
        assert_eq!(count(&g, |op| matches!(op, Op::Convolve { .. })), convolutions);
        assert_eq!(count(&g, |op| matches!(op, Op::Pool { .. })), pools);
        assert_eq!(count(&g, |op| matches!(op, Op::Gather(..) | Op::Take { .. })), 0);
    }
}
