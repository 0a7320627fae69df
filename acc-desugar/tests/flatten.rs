//! The structure of flattened programs: which operations they become, and which they do not.

use acc_core::data::ScalarType::{self, Bool, F32, I32, I64, U8};
use acc_core::data::{Lit, Prim};
use acc_core::prelude::*;
use acc_desugar::graph::{Body, FaultKind, Graph, GraphError, Node, Op, ReduceOp, ScatterMode, Type, Value, verify};
use acc_desugar::{Faults, flatten, flatten_with};
use std::collections::HashMap;

fn graph<A: Arrays>(program: impl IntoAcc<A>) -> Graph {
    let program = program.into_acc().program().unwrap().program;
    let graph = flatten(&acc_desugar::simplify(&program));
    verify(&graph).unwrap();
    graph
}

/// How often each operation occurs, inner bodies included.
fn counts(graph: &Graph) -> HashMap<&'static str, usize> {
    let mut out = HashMap::new();
    graph.body.visit(&mut |n| *out.entry(n.op.name()).or_default() += 1);
    out
}

#[track_caller]
fn has(graph: &Graph, want: &[(&str, usize)]) {
    let counts = counts(graph);
    for (name, n) in want {
        assert_eq!(counts.get(name).copied().unwrap_or(0), *n, "{name} in {counts:?}");
    }
}

fn floats() -> Acc<Vector<f32>> {
    use_(&Vector::from([1.0f32, 2.0, 3.0]))
}

fn matrix() -> Acc<Matrix<f32>> {
    use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]))
}

#[test]
fn a_dot_product_is_a_contraction() {
    let dot = graph(floats().zip_with(floats().map(|x| x), |x, y| x * y).sum());
    has(
        &dot,
        &[("contract", 1), ("mul", 0), ("reduce", 0), ("gather", 0), ("while", 0), ("fault", 0), ("read_back", 0)],
    );
}

#[test]
fn products_are_contracted_wherever_their_axes_go() {
    let (a, b) = (matrix(), matrix());
    let ((m, inner), (_, n)) = (a.shape(), b.shape());
    let products = generate((m, n, inner), |(i, j, k)| a.index((i, k)) * b.index((k, j)));
    // The axes of the products in another order, and one more that repeats them.
    let permuted = products.backpermute((n, m, inner), |(j, i, k)| (i, j, k)).sum();
    let repeated = products.replicate((All, 3, All, All)).sum();
    // A batch of products, both operands transposed.
    let (p, q) = (a.replicate((2, All, All)), b.replicate((2, All, All)));
    let ((t, inner, m), (_, n, _)) = (p.shape(), q.shape());
    let batch = generate((t, m, n, inner), |(t, i, j, k)| p.index((t, k, i)) * q.index((t, j, k))).sum();
    let scaled = graph(a.map(|x| x * 2.0).sum());
    for g in [graph(permuted), graph(repeated), graph(batch)] {
        has(&g, &[("contract", 1), ("mul", 0), ("reduce", 0), ("gather", 0)]);
    }
    has(&scaled, &[("contract", 0), ("mul", 1), ("reduce", 1)]);
    // What repeats along the axis that is summed is no product of matrices.
    let same = products.slice((All, All, 0)).replicate((All, All, 5)).sum();
    has(&graph(same), &[("contract", 0), ("reduce", 1)]);
}

#[test]
fn sums_and_differences_of_products_of_matrices_are_several_products() {
    let complex = use_(&Matrix::from([[Complex::new(1.0f32, 2.0), Complex::new(0.5, -1.0)]; 2]));
    has(&graph(complex.matmul(&complex)), &[("contract", 4), ("mul", 0), ("reduce", 0), ("add", 1), ("sub", 1)]);
    // Of differences that may be small beside the products these are summed.
    let (x, y) = (floats(), floats().map(|x| x + 0.001));
    has(&graph(x.zip_with(y, |x, y| x * x - y * y).sum()), &[("contract", 0), ("reduce", 1), ("sub", 1)]);
}

#[test]
fn a_helper_or_a_pair_changes_nothing() {
    let times = |x: Exp<f32>, y: Exp<f32>| x * y;
    let plain = graph(floats().zip_with(&Vector::from([1.0f32, 2.0]), |x, y| x * y).sum());
    let paired = graph(floats().zip(&Vector::from([1.0f32, 2.0])).map(|(x, y)| times(x, y)).sum());
    for op in ["mul", "reduce", "gather", "concat", "while", "where"] {
        assert_eq!(counts(&plain).get(op), counts(&paired).get(op), "{op}");
    }
}

#[test]
fn known_operators_are_found_in_every_component() {
    let pairs = graph(floats().map(|x| (x, x)).fold((0.0, 0.0), |(a, b), (c, d)| (d + b, a.max(c))));
    // The components are crossed, so no operation is known.
    has(&pairs, &[("reduce", 0), ("fold", 1)]);
    let pairs = graph(floats().map(|x| (x, x)).fold((0.0, 0.0), |(a, b), (c, d)| (c + a, b.max(d))));
    has(&pairs, &[("reduce", 2), ("while", 0)]);
    has(&graph(floats().scanl1(|a, b| b * a)), &[("cumulative", 1), ("while", 0)]);
    has(&graph(floats().fold1(|a, _| a)), &[("select", 1), ("reduce", 0), ("while", 0)]);
}

#[test]
fn views_are_no_gathers() {
    has(&graph(matrix().transpose()), &[("transpose", 1), ("gather", 0)]);
    has(&graph(matrix().replicate((All, 3, All))), &[("broadcast", 1), ("gather", 0)]);
    has(&graph(matrix().slice((All, 1))), &[("select", 1), ("gather", 0)]);
    let m = matrix();
    has(&graph(m.imap(|(i, j), x| x + m.index((i, j)))), &[("gather", 0), ("fault", 0)]);
    // A row for every element: read once, broadcast.
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let table = generate((xs.length(), 4), |(i, _)| xs.index(i));
    has(&graph(table), &[("gather", 0), ("insert_axes", 1)]);
}

#[test]
fn what_does_not_vary_is_not_filled() {
    let total = floats().sum();
    let scaled = graph(floats().map(|x| x / &total));
    // The total stays of rank 0: only the result is of the array's size.
    has(&scaled, &[("div", 1), ("gather", 0)]);
    let ranks: Vec<Type> = scaled.types.clone();
    assert!(ranks.iter().any(|t| matches!(t, Type::Tensor { rank: 0, .. })));
    has(&graph(fill(1000, 1.0f32)), &[("broadcast", 1), ("iota", 0)]);
}

#[test]
fn a_guarded_read_is_clamped_and_masked() {
    let xs = floats();
    let g = graph(xs.imap(|i, x| x.lt(3.0).then_else(xs.index(i * i), 0.0)));
    has(&g, &[("where", 1), ("take", 1), ("clamp", 1), ("fault", 1), ("if", 0)]);
    // The check is of lanes that are on: its condition is a conjunction with the mask.
    let mut masked = false;
    g.body.visit(&mut |n| {
        if let Op::Fault { kind: FaultKind::IndexOutOfBounds { .. }, bad, .. } = &n.op {
            g.body.visit(&mut |m| masked |= m.results.contains(bad) && m.op.name() == "and");
        }
    });
    assert!(masked);
}

#[test]
fn a_guarded_read_of_neighbours_is_a_view_and_lanes_look_where_the_host_has_found_one_outside() {
    let xs = floats();
    let read = |at: fn(Exp<i64>) -> Exp<i64>| graph(xs.imap(|i, x| x.lt(3.0).then_else(xs.index(at(i)), 0.0)));
    for g in [read(|i| i + 1), read(|i| i * 2 - 1)] {
        has(&g, &[("where", 1), ("take", 0), ("fault", 1), ("if", 1)]);
        // Positions are compared with the extents in a branch alone.
        assert!(g.body.nodes.iter().all(|n| !matches!(n.op, Op::Iota { .. } | Op::Clamp(..))), "{g:?}");
    }
}

#[test]
fn a_condition_that_does_not_vary_is_a_branch() {
    let xs = floats();
    let total = xs.sum();
    let g = graph(xs.map(|x| total.the().gt(1.0).then_else(x / 2.0 + (x + 1.0).ln().sqrt().sin().exp(), xs.index(9))));
    // The total is computed in any case, which can do no harm.
    has(&g, &[("if", 1), ("where", 0)]);
}

#[test]
fn lanes_read_at_once_what_cannot_fail_where_they_are() {
    let m = matrix();
    // Without columns the greatest of a row is a fault, and there is no lane that reads it.
    let top = m.maximum();
    let less = m.imap(|(i, _), x| x - top.index(i));
    let plain = [("if", 0), ("fault", 0), ("slice", 0), ("checked", 0), ("outside", 0)];
    has(&graph(less), &plain);
    // What is computed of it, and so on: all of the shape of the argument.
    let less = m.imap(|(i, _), x| (x - top.index(i)).exp());
    let sums = less.sum();
    has(&graph(less.imap(|(i, _), x| x / sums.index(i))), &plain);
    // There are lanes, though rows have no columns: the fault counts if there are.
    has(&graph(generate(m.shape().0, |i| top.index(i) + 1.0)), &[("if", 0), ("fault", 1), ("slice", 0), ("min", 1)]);
    // Reading at positions may be a fault.
    let picked = m.imap(|(i, _), x| m.index((i, x.to::<i64>())));
    has(&graph(m.imap(|(i, j), x| x + picked.index((i, j)))), &[("if", 1)]);
}

#[test]
fn an_array_that_only_a_branch_reads_is_taken_on_demand() {
    let xs = floats();
    let expensive =
        awhile(&xs, |xs: Acc<Vector<f32>>| xs.index(0).lt(10.0), |xs: Acc<Vector<f32>>| xs.map(|x| x * 2.0));
    let g = graph(xs.map(|x| x.gt(5.0).then_else(expensive.index(0), x)));
    has(&g, &[("any_lane", 1), ("while", 1)]);
    assert!(counts(&g)["if"] >= 1);
}

#[test]
fn a_counted_loop_counts_on_the_host() {
    let xs = floats();
    let g = graph(generate(3, |i| while_((0i64, 0.0f32), |(k, _)| k.lt(3), |(k, s)| (k + 1, s + i.to::<f32>())).1));
    has(&g, &[("while", 1), ("any_lane", 0)]);
    let g = graph(xs.map(|x| while_(x, |y| y.lt(100.0), |y| y * 2.0)));
    has(&g, &[("lane_loop", 1), ("while", 0), ("where", 0)]);
}

#[test]
fn narrow_counters_of_loops_over_arrays_are_sizes() {
    let n = use_(&Scalar::scalar(7i32));
    let counted = |bound: Exp<i32>| {
        let next = |(k, xs): (Acc<Scalar<i32>>, Acc<Vector<f32>>)| (k.map(|k| k + 1), xs.map(|x| x * 2.0));
        graph(awhile((unit(0i32), floats()), |(k, _)| k.the().lt(bound), next))
    };
    has(&counted(constant(9)), &[("while", 1), ("argument", 0), ("read_back", 0), ("cast", 1)]);
    has(&counted(n.the()), &[("while", 1), ("argument", 1), ("read_back", 0), ("cast", 1)]);
    // What the device has to be asked for in each step is compared there.
    let sum = floats().map(|x| x.to::<i32>()).sum();
    has(&counted(sum.the()), &[("while", 1), ("read_back", 0), ("cast", 1)]);
}

/// The state has the extents that it has before the loop, so that positions that wrap around, or a step's own, are in bounds.
#[test]
fn extents_that_no_step_changes_are_those_before_the_loop() {
    let cells = matrix();
    let (rows, columns) = cells.shape();
    let stepped = aiterate(9, &cells, |cells| {
        generate((rows, columns), |(i, j)| {
            cells.index(((i + rows - 1) % rows, j)) + cells.index((i, (j + 1) % columns))
        })
    });
    let g = graph(stepped);
    has(&g, &[("while", 1), ("concat", 2), ("take", 0), ("gather", 0), ("in_bounds", 0), ("outside", 0)]);
    // Those that a step changes are its own.
    let halved = aiterate(2, floats(), |xs| generate(xs.length() / 2, |i| xs.index(i)));
    has(&graph(halved), &[("while", 1), ("outside", 1)]);
}

#[test]
fn a_loop_that_adds_up_is_a_reduction() {
    let add_up = |n: Exp<i64>, f: &dyn Fn(Exp<i64>) -> Exp<f32>| {
        while_((0i64, 0.0f32), |(k, _)| k.lt(n), |(k, sum)| (k + 1, sum + f(k))).1
    };
    // A product of matrices: nothing of the size of lanes times counter is made, so there is no loop.
    let (a, b) = (matrix(), matrix());
    let product = graph(generate((2, 2), |(i, j)| add_up(constant(2i64), &|k| a.index((i, k)) * b.index((k, j)))));
    has(&product, &[("contract", 1), ("while", 0), ("mul", 0), ("gather", 0), ("take", 0)]);
    // Of anything else there may be too much for memory: in blocks.
    let xs = floats();
    let distances = graph(xs.map(|x| add_up(xs.length(), &|k| (x - xs.index(k)).abs())));
    has(&distances, &[("while", 1), ("reduce", 1), ("abs", 1), ("any_lane", 0), ("where", 0)]);
    // Lanes that count differently are segments, or a loop of lanes if there are too many steps; what depends on the sum so
    // far has an order.
    let counts = use_(&Vector::from([1i64, 2, 3]));
    has(&graph(counts.map(|n| add_up(n, &|k| xs.index(k)))), &[("segment_reduce", 1), ("lane_loop", 1), ("while", 0)]);
    let recurrence = |(k, y): (Exp<i64>, Exp<f32>)| (k + 1, y * y + xs.index(k));
    has(&graph(xs.map(|x| while_((0i64, x), |(k, _)| k.lt(3), recurrence).1)), &[("while", 1), ("reduce", 0)]);
}

#[test]
fn a_condition_on_the_position_divides_the_space() {
    let (xs, ys) = (floats(), floats());
    has(&graph(xs.concat(&ys)), &[("concat", 1), ("where", 0), ("gather", 0), ("take", 0)]);
    let n = xs.length();
    let shifted = graph(xs.imap(|i, x| i.lt(n - 1).then_else(xs.index(i + 1), x)));
    has(&shifted, &[("concat", 1), ("where", 0), ("gather", 0), ("take", 0), ("clamp", 0)]);
    // Two ends, written either way.
    let views = [("concat", 2), ("where", 0), ("gather", 0), ("take", 0), ("clamp", 0)];
    let within = |i: Exp<i64>| i.ge(3).and(i.lt(n + 3));
    has(&graph(generate(n + 6, |i| within(i).then_else(xs.index(i - 3), 0.0))), &views);
    has(&graph(generate(n + 6, |i| i.lt(3).or(i.ge(n + 3)).then_else(0.0, xs.index(i - 3)))), &views);
    has(&graph(generate(n + 6, |i| (!within(i)).then_else(0.0, xs.index(i - 3)))), &views);
    // The ends of two axes.
    let m = matrix();
    let (rows, columns) = m.shape();
    let padded = generate((rows + 2, columns + 2), |(i, j)| {
        let inside = i.ge(1).and(i.le(rows)).and(j.ge(1).and(j.le(columns)));
        inside.then_else(m.index((i - 1, j - 1)), 0.0)
    });
    has(&graph(padded), &[("concat", 4), ("where", 0), ("gather", 0), ("take", 0), ("clamp", 0)]);
    // One position, and several in any order: there are not twice as many parts with each.
    let but = |n: i64, i: Exp<i64>, other: Exp<f32>| i.eq(n).then_else(xs.index(i - n), other);
    has(&graph(generate(n, |i| but(0, i, xs.index(i)))), &[("concat", 1), ("where", 0), ("gather", 0), ("take", 0)]);
    let several = generate(n, |i| [3, 1, 4, 2, 6, 5, 9, 7].iter().fold(i.to::<f32>(), |x, k| but(*k, i, x)));
    assert!(counts(&graph(several)).get("concat").copied().unwrap_or(0) <= 16);
    // A long branch is not written once for each border.
    let long = |x: Exp<f32>| (0..9).fold(x, |x, k| (x + k as f32).sin());
    let twice = generate(n + 6, |i| within(i).then_else(xs.index(i - 3), long(i.to::<f32>())));
    has(&graph(twice), &[("concat", 0), ("sin", 9)]);
}

#[test]
fn a_remainder_by_the_extent_is_two_views() {
    let xs = floats();
    let n = xs.length();
    let views = [("concat", 1), ("slice", 2), ("take", 0), ("gather", 0), ("mod_floor", 0), ("rem", 0)];
    has(&graph(xs.imap(|i, x| x - xs.index((i + 7).mod_floor(n)))), &views);
    has(&graph(xs.imap(|i, x| x - xs.index((i - 2).mod_floor(n)))), &views);
    has(&graph(xs.imap(|i, x| x - xs.index((i + 1).rem(n)))), &views);
    has(&graph(xs.imap(|i, x| x - xs.index((i + n - 1).rem(n)))), &views);
    // A remainder that may be negative, or by something else.
    has(&graph(xs.imap(|i, x| x - xs.index((i - 2).rem(n)))), &[("concat", 0), ("take", 1)]);
    has(&graph(xs.imap(|i, x| x - xs.index((i + 2).mod_floor(n - 1)))), &[("concat", 0), ("take", 1)]);
}

#[test]
fn permutes_scatter_where_the_operator_is_known() {
    let at = use_(&Vector::from([0i64, 1, 0]));
    let xs = floats();
    let sums = graph(xs.permute(fill(2, 0.0), |a, b| a + b, |i| Some(at.index(i))));
    has(&sums, &[("tensor_scatter", 1), ("sort", 0), ("while", 0)]);
    let bits = graph(at.permute(fill(2, 0), |a, b| a ^ b, |i| Some(at.index(i))));
    has(&bits, &[("tensor_scatter", 1), ("sort", 0), ("while", 0)]);
}

#[test]
fn permutes_guess_that_an_operator_is_associative() {
    let at = use_(&Vector::from([0i64, 1, 0]));
    // Rounds over chunks, and the same from the guesses; or over all elements. The faults are those of the targets.
    let total = graph(at.permute(fill(2, 0), |new, old| old * 31 + new, |i| Some(at.index(i))));
    has(&total, &[("sort", 1), ("scan", 1), ("while", 3), ("if", 2), ("fault", 2)]);
    // One that may fault does so in order alone: from the right guesses, or over all elements.
    let partial = graph(at.permute(fill(2, 0), |new, old| 7 / old + new, |i| Some(at.index(i))));
    has(&partial, &[("sort", 1), ("scan", 1), ("while", 4), ("if", 3), ("fault", 4)]);
    let program = at.permute(fill(2, 0), |new, old| 7 / old + new, |i| Some(at.index(i))).program().unwrap().program;
    let report = flatten_with(&program, Faults::Report, &RunLimits::none()).unwrap();
    has(&report, &[("sort", 1), ("scan", 0), ("while", 1), ("if", 0)]);
}

#[test]
fn checks_that_cannot_fail_are_not_made() {
    has(&graph(floats().map(|x| x + 1.0)), &[("fault", 0), ("checked", 0)]);
    let n = use_(&Vector::from([1i64, 2]));
    has(&graph(n.map(|x| x / 3)), &[("fault", 0)]);
    // The division finds it.
    has(&graph(n.map(|x| 3 / x)), &[("divisor", 1), ("fault", 0)]);
    // The host looks at the extents alone.
    has(&graph(floats().reverse()), &[("outside", 1), ("flip", 1), ("gather", 0), ("in_bounds", 0)]);
}

#[test]
fn branches_within_branches_grow_the_graph_in_proportion() {
    let nested = |n: i64| {
        let xs = use_(&Vector::from([1i64, 2]));
        (0..n).fold(xs.clone(), |ys, k| acond(xs.index(0).gt(k), ys.map(|y| y + 1), &xs))
    };
    let (small, large) = (graph(nested(10)).len(), graph(nested(300)).len());
    assert!(large < 30 * (small + 10), "{small} nodes, then {large}");
}

// ---- the verifier of graphs

fn broken(change: impl FnOnce(&mut Graph)) -> &'static str {
    let mut g = graph(floats().map(|x| x * 2.0 + 1.0));
    change(&mut g);
    verify(&g).unwrap_err().rule
}

fn node(body: &mut Body, name: &str) -> Node {
    body.nodes.iter().find(|n| n.op.name() == name).unwrap().clone()
}

/// Whether a graph with one operation more, on a vector, is well formed.
fn added(of: ScalarType, result: ScalarType, op: impl FnOnce(Value) -> Op) -> Result<(), Box<GraphError>> {
    let mut g = graph(floats().map(|x| x * 2.0 + 1.0));
    let before = node(&mut g.body, "mul");
    let mut push = |op, scalar| {
        g.types.push(Type::Tensor { scalar, rank: 1 });
        let v = Value(g.types.len() as u32 - 1);
        g.body.nodes.push(Node { results: [v].into_iter().collect(), op, ..before.clone() });
        v
    };
    let x = push(Op::Cast(before.results[0], of), of);
    push(op(x), result);
    verify(&g)
}

#[test]
fn positions_may_be_narrow_where_they_are_used_as_they_are() {
    let size = graph(floats().map(|x| x * 2.0 + 1.0)).body.params[0];
    let in_bounds = |by_use| move |at| Op::InBounds { at, extent: size, by_use };
    added(I32, I32, in_bounds(true)).unwrap();
    added(I64, I64, in_bounds(false)).unwrap();
    let scatter = |mode| move |at| Op::Scatter { base: at, at, values: at, mode };
    added(I32, I32, scatter(ScatterMode::Combine(ReduceOp::Sum))).unwrap();
    added(I64, I64, scatter(ScatterMode::Last)).unwrap();
    // What the host looks for is of 64 bits, and so is where the last value wins, or the greatest.
    let max = ScatterMode::Combine(ReduceOp::Max);
    for wrong in
        [added(I32, I32, in_bounds(false)), added(I32, I32, scatter(ScatterMode::Last)), added(U8, U8, scatter(max))]
    {
        assert_eq!(wrong.unwrap_err().rule, "G2");
    }
}

#[test]
fn the_verifier_finds_what_is_broken() {
    // A value used before its definition.
    assert_eq!(broken(|g| g.body.nodes.reverse()), "G1");
    // A value defined twice.
    assert_eq!(
        broken(|g| {
            let n = node(&mut g.body, "mul");
            g.body.nodes.push(n);
        }),
        "G1"
    );
    // A result of another type.
    assert_eq!(
        broken(|g| {
            let v = node(&mut g.body, "mul").results[0];
            g.types[v.index()] = Type::Size;
        }),
        "G2"
    );
    // An axis that is not there.
    let axis = |axis| move |x| Op::Flip(x, axis);
    added(F32, F32, axis(0)).unwrap();
    assert_eq!(added(F32, F32, axis(1)).unwrap_err().rule, "G2");
    let softmax = |axis| move |x| Op::Softmax { x, axis, log: false };
    added(F32, F32, softmax(0)).unwrap();
    for (of, axis) in [(F32, 1), (I32, 0), (Bool, 0)] {
        assert_eq!(added(of, of, softmax(axis)).unwrap_err().rule, "G2");
    }
    let normalize = |axes: &[u32], epsilon: Lit| {
        let axes = axes.into();
        move |x| Op::Normalize { x, axes, epsilon, scale: Some(x), shift: None }
    };
    added(F32, F32, normalize(&[0], 1f32.lit())).unwrap();
    for (axes, epsilon) in [(&[][..], 1f32.lit()), (&[1], 1f32.lit()), (&[0, 0], 1f32.lit()), (&[0], 1f64.lit())] {
        assert_eq!(added(F32, F32, normalize(axes, epsilon)).unwrap_err().rule, "G2");
    }
    // A branch on a float.
    assert_eq!(
        broken(|g| {
            let cond = node(&mut g.body, "mul").results[0];
            let empty = || Body { params: vec![], nodes: vec![], results: vec![] };
            let mut n = node(&mut g.body, "mul");
            n.results.clear();
            n.op = Op::If { cond, then: empty(), else_: empty() };
            g.body.nodes.push(n);
        }),
        "G3"
    );
}
