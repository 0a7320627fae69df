//! A host loop does not grow: what a program holds outside closures is gone when nobody can use it any more. A binary of its
//! own, for it counts the bytes that are held.

mod allocator;

use acc_core::builder::live_nodes;
use acc_core::prelude::*;

#[global_allocator]
static ALLOCATOR: allocator::Watched = allocator::Watched;

const RUNS: usize = 1000;
/// The elements of each input.
const LENGTH: usize = 32;
/// What may be left over: a few inputs, tables that grow by doubling.
const MARGIN_BYTES: isize = 64 * 1024;

struct Inputs {
    xs: Acc<Vector<i64>>,
    reals: Acc<Vector<f64>>,
    flags: Acc<Vector<bool>>,
    places: Acc<Vector<i64>>,
    lengths: Acc<Vector<i64>>,
    table: Acc<Matrix<i64>>,
    halves: Acc<Matrix<f64>>,
    pairs: Acc<Vector<(i64, i64)>>,
    maybe: Acc<Vector<Option<i64>>>,
}

/// Other data each time, as in a host loop.
fn inputs(k: usize) -> Inputs {
    let reals: Vector<f64> = (0..LENGTH).map(|i| (i + k) as f64).collect();
    let xs: Vector<i64> = (0..LENGTH).map(|i| ((i * 7 + k) % 50) as i64).collect();
    let places: Vector<i64> = (0..LENGTH as i64).rev().collect();
    let flags: Vector<bool> = (0..LENGTH).map(|i| i % 3 == 0).collect();
    let table = Matrix::from_fn((8, LENGTH / 8), |ix| (ix[0] * ix[1] + k) as i64).unwrap();
    let halves = Matrix::from_fn((8, 8), |ix| (ix[0] * ix[1] + k) as f64 / 2.0).unwrap();
    let xs = use_(&xs);
    Inputs {
        reals: use_(&reals),
        flags: use_(&flags),
        places: use_(&places),
        lengths: use_(&Vector::from(vec![LENGTH as i64 / 8; 8])),
        table: use_(&table),
        halves: use_(&halves),
        pairs: xs.map(|x| (x, x + 1)),
        maybe: xs.map(|x| x.gt(3).then_some(x)),
        xs,
    }
}

/// Runs programs of one kind many times; the bytes held must not grow.
fn stays<A: Arrays>(what: &str, program: impl Fn(&Inputs) -> Acc<A>) {
    let backend = Interpreter::new();
    let run = |k| {
        let inputs = inputs(k);
        if let Err(e) = backend.run(program(&inputs)) {
            panic!("{what}: {e}");
        }
    };
    (0..20).for_each(run);
    let (held, nodes) = (allocator::held(), live_nodes());
    (0..RUNS).for_each(run);
    let grown = allocator::held() - held;
    assert!(grown < MARGIN_BYTES, "{what}: {grown} bytes more are held after {RUNS} runs");
    assert!(live_nodes() <= nodes + 100, "{what}: {} expressions, after {nodes}", live_nodes());
}

/// The same for a combinator, which leaves no expression at all.
fn leaves_nothing<A: Arrays>(what: &str, program: impl Fn(&Inputs) -> Acc<A>) {
    let inputs = inputs(0);
    let nodes = live_nodes();
    drop(program(&inputs));
    assert_eq!(live_nodes(), nodes, "{what} leaves expressions");
    stays(what, program);
}

#[test]
fn reading_lengths_shapes_and_items_outside_closures() {
    stays("length", |i| generate(i.xs.length(), |k| k));
    stays("length of a temporary", |i| generate(i.xs.map(|x| x + 1).length(), |k| k));
    stays("size", |i| generate(i.table.size(), |k| k));
    stays("shape", |i| {
        let (n, m) = i.table.shape();
        generate((m, n), |(a, b)| a + b)
    });
    stays("extent", |i| {
        let (n, _) = i.table.extent().unlift();
        generate(n, |a| a)
    });
    stays("parts", |i| generate(i.table.extent().parts()[1], |a| a));
    stays("is_empty", |i| acond(i.xs.is_empty(), &i.xs, i.xs.map(|x| x + 1)));
    stays("the", |i| {
        let total = i.xs.sum().the();
        i.xs.map(|x| x - total)
    });
    stays("arithmetic on the", |i| {
        let mean = i.reals.sum().the() / i.reals.length().to::<f64>();
        let spread = i.reals.map(|x| (x - mean) * (x - mean)).sum().the().sqrt();
        i.reals.map(|x| (x - mean) / spread)
    });
    stays("index", |i| {
        let first = i.xs.index(0);
        i.xs.map(|x| x + first)
    });
    stays("index_linear", |i| unit(i.table.index_linear(5)));
    stays("to_index and from_index", |i| {
        let (a, b) = from_index::<DIM2>(i.table.extent(), 5i64);
        unit(i.table.index((a, b)) + to_index::<DIM2>(i.table.extent(), (a, b)))
    });
    stays("sfoldl", |i| unit(i.table.sfoldl(0i64, 1usize, |a, x| a + x)));
    stays("a loop", |i| unit(while_(i.xs.index(0), |x| x.lt(1000), |x| x * 2 + i.xs.index(1) + 1)));
    stays("a condition", |i| unit(i.xs.index(0).gt(3).then_else(i.xs.index(1), i.xs.index(2))));
    stays("a constant", |i| {
        let k = constant(3i64);
        i.xs.map(|x| x * k)
    });
}

#[test]
fn combinators_of_elements() {
    leaves_nothing("map", |i| i.xs.map(|x| x + 1));
    leaves_nothing("imap", |i| i.xs.imap(|k, x| k + x));
    leaves_nothing("zip_with", |i| i.xs.zip_with(&i.places, |a, b| a + b));
    leaves_nothing("zip", |i| i.xs.zip(&i.places));
    leaves_nothing("indexed", |i| i.xs.indexed::<i64>());
    leaves_nothing("unzip", |i| i.pairs.unzip().1);
    leaves_nothing("operators", |i| &(&i.xs + 1) * &i.places);
    leaves_nothing("negation", |i| -&i.xs);
    leaves_nothing("fill", |i| fill(i.xs.extent(), 3i64));
    leaves_nothing("generate", |i| generate(i.xs.extent(), |k| i.xs.index(k)));
    leaves_nothing("enum_from", |i| enum_from(i.table.extent(), 3i64));
    leaves_nothing("enum_from_step", |i| enum_from_step(i.table.extent(), 3i64, 2i64));
    leaves_nothing("random", |i| random_f64(7u64, i.table.extent()));
    leaves_nothing("random_normal", |i| random_normal(7u64, i.table.extent()));
    leaves_nothing("check", |i| i.xs.check(true, "never"));
    leaves_nothing("compute", |i| i.xs.compute());
}

#[test]
fn folds_and_scans() {
    leaves_nothing("fold", |i| i.table.fold(0, |a, b| a + b));
    leaves_nothing("fold1", |i| i.table.fold1(|a, b| a + b));
    leaves_nothing("fold_all", |i| i.table.fold_all(0, |a, b| a + b));
    leaves_nothing("fold1_all", |i| i.table.fold1_all(|a, b| a + b));
    leaves_nothing("flatten", |i| i.table.flatten());
    leaves_nothing("sum, product", |i| i.xs.sum().zip(i.xs.product()));
    leaves_nothing("minimum, maximum", |i| i.xs.minimum().zip(i.xs.maximum()));
    leaves_nothing("arg_min, arg_max", |i| i.xs.arg_min().zip(i.xs.arg_max()));
    leaves_nothing("mean", |i| i.reals.mean());
    leaves_nothing("all, any", |i| i.xs.all(|x| x.gt(0)).zip(i.xs.any(|x| x.gt(3))));
    leaves_nothing("and, or", |i| i.flags.and().zip(i.flags.or()));
    leaves_nothing("scans", |i| i.xs.scanl(0, |a, b| a + b).zip(i.xs.scanr(0, |a, b| a + b)));
    leaves_nothing("scans without a first value", |i| i.xs.scanl1(|a, b| a + b).zip(i.xs.scanr1(|a, b| a + b)));
    leaves_nothing("prescans", |i| i.xs.prescanl(0, |a, b| a + b).zip(i.xs.prescanr(0, |a, b| a + b)));
    leaves_nothing("postscans", |i| i.xs.postscanl(0, |a, b| a + b).zip(i.xs.postscanr(0, |a, b| a + b)));
    leaves_nothing("scans with totals", |i| i.xs.scanl_with_total(0, |a, b| a + b).1);
    leaves_nothing("scans with totals from the right", |i| i.xs.scanr_with_total(0, |a, b| a + b).1);
    leaves_nothing("fold_seg", |i| i.xs.fold_seg(&i.lengths, 0, |a, b| a + b));
    leaves_nothing("fold1_seg", |i| i.xs.fold1_seg(&i.lengths, |a, b| a + b));
    leaves_nothing("scanl_seg", |i| i.xs.scanl_seg(&i.lengths, 0, |a, b| a + b));
    leaves_nothing("scanl1_seg", |i| i.xs.scanl1_seg(&i.lengths, |a, b| a + b));
    leaves_nothing("scanr_seg", |i| i.xs.scanr_seg(&i.lengths, 0, |a, b| a + b));
    leaves_nothing("prescanl_seg", |i| i.xs.prescanl_seg(&i.lengths, 0, |a, b| a + b));
    leaves_nothing("postscanl_seg", |i| i.xs.postscanl_seg(&i.lengths, 0, |a, b| a + b));
    leaves_nothing("run_fold", |i| i.reals.run_fold(&Fold::new(|x| sum_(x), |s: Exp<Sum<f64>>| s.get_sum())));
}

#[test]
fn movements_and_control() {
    leaves_nothing("permute", |i| i.xs.permute(fill(i.xs.extent(), 0i64), |a, b| a + b, |k| Some(i.places.index(k))));
    leaves_nothing("backpermute", |i| i.xs.backpermute(i.xs.extent(), |k| i.places.index(k)));
    leaves_nothing("gather", |i| i.xs.gather(&i.places));
    leaves_nothing("scatter", |i| i.xs.scatter(&i.places, &i.xs));
    leaves_nothing("reshape", |i| i.xs.reshape((4, LENGTH / 4)));
    leaves_nothing("replicate", |i| i.lengths.replicate((4, All)));
    leaves_nothing("slice", |i| i.table.slice((All, 0)));
    leaves_nothing("reverse", |i| i.xs.reverse());
    leaves_nothing("transpose", |i| i.table.transpose());
    leaves_nothing("matmul", |i| i.halves.matmul(&i.halves));
    leaves_nothing("take, drop", |i| i.xs.take(5).zip(i.xs.drop(5)));
    leaves_nothing("init, tail", |i| i.xs.init().zip(i.xs.tail()));
    leaves_nothing("concat", |i| i.xs.concat(&i.places));
    leaves_nothing("concat_on", |i| i.table.concat_on::<2>(&i.table));
    leaves_nothing("stencil", |i| i.xs.stencil(Edge::Clamp, |s: Stencil3<i64>| s[-1] + s[0] + s[1]));
    leaves_nothing("filter", |i| i.xs.filter(|x| x.gt(9)));
    leaves_nothing("compact", |i| i.xs.compact(&i.flags));
    leaves_nothing("expand", |i| i.lengths.expand(|_| 3, |x, k| x + k));
    leaves_nothing("justs", |i| i.maybe.justs().0);
    leaves_nothing("slit", |i| i.xs.slit(1, 3));
    leaves_nothing("take_on, drop_on", |i| i.table.take_on::<2>(3).zip(i.table.drop_on::<2>(1)));
    leaves_nothing("reverse_on, transpose_on", |i| i.table.reverse_on::<2>().transpose_on::<1, 2>());
    leaves_nothing("gather_if", |i| i.xs.gather_if(&i.places, &i.places, |m| m.gt(5), &i.xs));
    leaves_nothing("scatter_if", |i| i.xs.scatter_if(&i.places, &i.places, |m| m.gt(5), &i.xs));
    leaves_nothing("reduce_by_key", |i| i.xs.reduce_by_key(&i.places, |a, b| a + b).1);
    leaves_nothing("argsort", |i| i.xs.argsort());
    leaves_nothing("argsort_descending", |i| i.xs.argsort_descending());
    leaves_nothing("sort", |i| i.xs.sort());
    leaves_nothing("sort_descending", |i| i.xs.sort_descending());
    leaves_nothing("sort_by_key", |i| i.xs.sort_by_key(|x| -x));
    leaves_nothing("unique", |i| i.xs.unique());
    leaves_nothing("unique_counts", |i| i.xs.unique_counts().1);
    leaves_nothing("acond", |i| acond(true, &i.xs, &i.places));
    leaves_nothing("awhile", |i| {
        awhile(&i.xs, |a| a.sum().the().lt(1_000_000), |a: Acc<Vector<i64>>| a.map(|x| x * 2 + 1))
    });
}

#[test]
fn compiling_and_looking_at_programs() {
    let grows = |what: &str, step: &dyn Fn(usize)| {
        (0..20).for_each(step);
        let held = allocator::held();
        (0..RUNS).for_each(step);
        let grown = allocator::held() - held;
        assert!(grown < MARGIN_BYTES, "{what}: {grown} bytes more are held");
    };
    let backend = Interpreter::new();
    grows("compile", &|k| {
        let n = inputs(k).xs.length();
        backend.compile(|a: Acc<Vector<i64>>| a.map(|x| x + n)).unwrap();
    });
    grows("program", &|k| {
        inputs(k).table.fold_all(inputs(k).xs.sum().the(), |a, b| a + b).program().unwrap();
    });
}

/// Runs something else, which reads outside of every closure, too.
fn another_program() {
    let xs = use_(&Vector::from([4i64]));
    assert_eq!(Interpreter::new().run(unit(xs.index(0))).unwrap().value(), 4);
}

#[test]
fn an_expression_serves_programs_one_after_the_other() {
    let (backend, host) = (Interpreter::new(), Vector::from([1i64, 2, 3]));
    let total = use_(&host).sum().the();
    for k in 0..10i64 {
        assert_eq!(backend.run(unit(total + k)).unwrap().value(), 6 + k);
    }
}

#[test]
fn an_expression_lives_as_long_as_its_array() {
    let (backend, xs) = (Interpreter::new(), use_(&Vector::from([1i64, 2, 3])));
    let n = xs.length() * 2;
    (0..10).for_each(|_| another_program());
    assert_eq!(backend.run(unit(n)).unwrap().value(), 6);
    let constant = lift(5i64) + 1;
    (0..10).for_each(|_| another_program());
    assert_eq!(backend.run(unit(constant)).unwrap().value(), 6);
}

#[test]
fn an_expression_that_is_gone_is_an_error_that_says_where_it_was_made() {
    let total = use_(&Vector::from([1i64, 2, 3])).sum().the();
    let line = line!() - 1;
    (0..3).for_each(|_| another_program());
    let e = Interpreter::new().run(unit(total + 1)).unwrap_err().to_string();
    assert!(e.contains("when it was gone") && e.contains(&format!("held_memory.rs:{line}")), "{e}");
}

#[test]
fn programs_compiled_one_after_the_other_share_expressions() {
    let (backend, xs) = (Interpreter::new(), Vector::from([1i64, 2, 3]));
    let n = use_(&xs).length();
    for _ in 0..5 {
        backend.compile(|a: Acc<Vector<i64>>| a.map(|x| x + 1)).unwrap();
    }
    let f = backend.compile(|a: Acc<Vector<i64>>| a.map(|x| x + n)).unwrap();
    assert_eq!(f.call((&xs,)).unwrap().to_vec(), [4, 5, 6]);
}
