//! One compiled program serves all data and all extents.

use acc_core::prelude::*;

/// Compiles at the first run, and never again.
#[track_caller]
fn compiles_once<A: Arrays, P: IntoAcc<A>>(programs: impl IntoIterator<Item = P>) {
    let backend = Interpreter::new();
    for p in programs {
        backend.run(p).unwrap();
    }
    assert_eq!(acc_core::Executor::compiled(&backend), 1);
}

fn vector(n: usize) -> Vector<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn other_data_and_other_extents() {
    compiles_once([1usize, 2, 100, 0].map(|n| use_(&vector(n)).map(|x| x * x + 1.0).sum()));
    compiles_once([1usize, 2, 7].map(|n| {
        let m: Matrix<i32> = Array::from_elts((n, n + 1), 0..(n * (n + 1)) as i32).unwrap();
        use_(&m).transpose().sum()
    }));
}

#[test]
fn extents_from_the_host() {
    compiles_once([1usize, 2, 100, 0].map(|n| generate(n, |i| i * 2)));
    compiles_once([(1usize, 5usize), (4, 4)].map(|(h, w)| fill((h, w), 1.0f32).sum()));
    compiles_once([1usize, 3].map(|n| use_(&vector(2)).replicate((n, All)).sum()));
    compiles_once([1usize, 3].map(|n| use_(&vector(6)).reshape((n, 6 / n))));
    compiles_once([1usize, 3].map(|n| use_(&vector(4)).backpermute(n, |i| i)));
    compiles_once([0usize, 2].map(|n| use_(&Matrix::from([[1, 2], [3, 4], [5, 6]])).slice((n, All))));
    compiles_once([2usize, 3].map(|n| enum_from::<Dim<1>, i32>(n, 5)));
}

#[test]
fn a_literal_that_is_no_extent_makes_another_program() {
    let backend = Interpreter::new();
    let xs = use_(&vector(3));
    for k in [1.0f32, 2.0] {
        assert_eq!(backend.run(xs.map(|x| x * k)).unwrap().to_vec()[2], 2.0 * k);
    }
    assert_eq!(acc_core::Executor::compiled(&backend), 2);
}

#[test]
fn a_compiled_function_with_extents_inside() {
    let f = Interpreter::new()
        .compile(|xs: Acc<Vector<f32>>| xs.replicate((2, All)).zip_with(fill((2, 2), 1.0f32), |a, b| a + b));
    assert_eq!(f.unwrap().call((&vector(3),)).unwrap().to_vec(), [1.0, 2.0, 1.0, 2.0]);
}

#[test]
fn extents_inside_loops_and_branches() {
    let backend = Interpreter::new();
    for n in [2usize, 3] {
        let start = fill(n, 1i64);
        let grown = awhile(
            &start,
            |a| a.length().lt(60),
            |a| acond(a.length().gt(2), generate(a.length() + (20 + n as i64), |i| i), fill(n + 1, 0i64)),
        );
        // 2, 3, 25, 47, 69; and 3, 26, 49, 72.
        assert_eq!(backend.run(&grown).unwrap().len(), if n == 2 { 69 } else { 72 });
    }
    assert_eq!(acc_core::Executor::compiled(&backend), 1);
}

/// Analyses of indices know margins and strides, so programs with others are others.
#[test]
fn small_literals_in_arithmetic_of_extents_stay() {
    let compiled = |margins: [i64; 2]| {
        let backend = Interpreter::new();
        for margin in margins {
            let inner = use_(&vector(40));
            backend.run(generate(inner.length() - margin, |i| inner.index(i))).unwrap();
        }
        acc_core::Executor::compiled(&backend)
    };
    assert_eq!((compiled([1, 2]), compiled([20, 30])), (2, 1));
}

/// A program that was compiled at another place in the source reports its faults at its own.
#[test]
fn faults_of_equal_programs_are_at_their_own_place() {
    let (backend, xs) = (Interpreter::new(), vector(3));
    let line_of = |program: Acc<Vector<f32>>| match backend.run(program) {
        Err(Error::Fault { loc, .. }) => loc.line(),
        other => panic!("{other:?}"),
    };
    let first = line_of(generate(4, |i: Exp<i64>| use_(&xs).index(i)));
    let second = line_of(generate(4, |i: Exp<i64>| use_(&xs).index(i)));
    assert_eq!((backend.cache().compiled(), second), (1, first + 1));
    let compiled = backend.compile(|xs: Acc<Vector<f32>>| xs.map(|_| xs.index(9))).expect("it compiles");
    let again = backend.compile(|xs: Acc<Vector<f32>>| xs.map(|_| xs.index(9))).expect("it compiles");
    let lines = [compiled, again].map(|f| match f.call((&xs,)) {
        Err(Error::Fault { loc, .. }) => loc.line(),
        other => panic!("{other:?}"),
    });
    assert_eq!(lines[0] + 1, lines[1]);
}
