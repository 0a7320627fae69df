//! What a user of the graph backend relies on beside results: threads, errors, the graph itself.
#![cfg(feature = "libtorch")]

use acc_core::prelude::*;
use acc_core::{Executor, Fault};
use backend_graph::{Device, Format, HasGraph, Libtorch, export};

#[test]
fn a_compiled_function_is_called_from_many_threads_at_once() {
    fn send_sync<T: Send + Sync>(_: &T) {}
    let torch = Libtorch::cpu();
    let f = torch
        .compile(|xs: Acc<Vector<i64>>, k: Acc<Scalar<i64>>| {
            xs.map(|x| while_(x, |y| y.lt(1000), |y| y * 2 + 1)).zip_with(&xs, |a, b| a + b * &k).sum()
        })
        .unwrap();
    send_sync(&f);
    let expect = |n: i64, k: i64| -> i64 {
        (0..n)
            .map(|x| {
                let mut y = x;
                while y < 1000 {
                    y = y * 2 + 1;
                }
                y + x * k
            })
            .sum()
    };
    std::thread::scope(|s| {
        for t in 0..8i64 {
            let f = &f;
            s.spawn(move || {
                for round in 0..20 {
                    let n = t * 7 + round;
                    let xs: Vector<i64> = (0..n).collect();
                    assert_eq!(f.call((&xs, &Scalar::scalar(t))).unwrap().value(), expect(n, t));
                }
            });
        }
    });
    assert_eq!(torch.cache().compiled(), 1);
}

#[test]
fn an_allocation_that_fails_is_an_error_with_the_users_line() {
    let huge = generate((1usize << 21, 1usize << 21), |(i, j)| i + j);
    let line = line!() - 1;
    let error = Libtorch::cpu().run(huge).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("backend.rs:{line}:")), "{text}");
    // The process goes on.
    assert_eq!(Libtorch::cpu().run(generate(3, |i| i).sum()).unwrap().value(), 3);
}

/// tch panics where an operation that takes a number fails.
#[test]
fn an_allocation_by_an_operation_with_a_number_is_an_error_too() {
    let error = Libtorch::cpu().run(generate(1usize << 45, |i| i)).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("no memory for an array of 281474976710656 bytes\n  in `generate` at "), "{text}");
    assert!(text.contains("backend.rs:"), "{text}");
    assert_eq!(Libtorch::cpu().run(generate(3, |i| i).sum()).unwrap().value(), 3);
}

#[test]
fn a_fault_names_the_array_the_index_the_extent_and_the_line() {
    let xs = Vector::from([1i64, 2, 3]);
    let f = Libtorch::cpu().compile(|xs: Acc<Vector<i64>>| xs.map(|x| xs.index(x + 1))).unwrap();
    let line = line!() - 1;
    match f.call((&xs,)).unwrap_err() {
        Error::Fault { fault: Fault::IndexOutOfBounds { array, index, shape }, op, loc } => {
            assert_eq!(
                (array.to_string().as_str(), &index[..], &shape[..], op),
                ("an array", &[3][..], &[3][..], "map")
            );
            assert_eq!(loc.line(), line);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    let program = use_(&Vector::from([1.0f32])).map(|x| x + 1.0).program().unwrap().program;
    let matrix = Matrix::from([[1.0f32]]);
    let doubles = Vector::from([1.0f64]);
    let torch = Libtorch::cpu();
    for args in [vec![], vec![matrix.data().clone()], vec![doubles.data().clone()]] {
        let error = torch.run_untyped(&program, &args, &RunLimits::none()).unwrap_err();
        assert!(matches!(error, Error::Argument { .. } | Error::ArgumentCount { .. }), "{error}");
    }
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let error = Libtorch::new(Device::Cuda(99)).err().unwrap();
    assert!(error.to_string().contains("cuda:99"), "{error}");
}

#[test]
fn results_are_arguments_without_a_copy_and_outlive_the_run() {
    let torch = Libtorch::cpu();
    let double = torch.compile(|xs: Acc<Vector<f32>>| xs.map(|x| x * 2.0)).unwrap();
    let both = torch.compile(|xs: Acc<Vector<f32>>| (xs.clone(), xs.map(|x| x + 1.0), xs)).unwrap();
    let mut xs: Vector<f32> = (0..1000).map(|i| i as f32).collect();
    for _ in 0..5 {
        xs = double.call((&xs,)).unwrap();
    }
    let (same, more, again) = both.call((&xs,)).unwrap();
    drop((torch, double, both));
    assert_eq!(xs.get(3), Some(96.0));
    assert_eq!((same.get(3), more.get(3), again.get(999)), (Some(96.0), Some(97.0), Some(999.0 * 32.0)));
}

#[test]
fn a_memory_limit_holds() {
    let limits = RunLimits::none().max_bytes(1000);
    let torch = Libtorch::cpu();
    assert!(matches!(torch.run_with(generate(1000, |i| i + 1), &limits), Err(Error::Limit(_))));
    // Before libtorch is asked for the memory.
    assert!(matches!(torch.run_with(generate((1 << 20, 1 << 20), |(i, j)| i + j), &limits), Err(Error::Limit(_))));
    assert_eq!(torch.run_with(generate(10, |i| i + 1).sum(), &limits).unwrap().value(), 55);
}

#[test]
fn the_graph_of_a_compiled_function() {
    let f = Libtorch::cpu().compile(|xs: Acc<Vector<f32>>| xs.map(|x| x + x).sum()).unwrap();
    let text = export(f.graph(), Format::Text);
    let shown: Vec<&str> = text.lines().map(|l| l.split("  //").next().unwrap_or_default()).collect();
    assert_eq!(
        shown,
        [
            "graph(t0: size, t1: f32[t0]) {",
            "  t2: f32[t0] = add(t1, t1)",
            "  t3: f32[] = reduce(t2) [with = sum]",
            "  yield t3",
            "}",
        ],
        "{text}"
    );
    assert!(text.contains("// map at ") && text.contains("backend.rs:"), "{text}");
}

/// Code nested deeper than a thread's stack would allow is compiled and run.
#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = use_(&Vector::from([5i64, 700])).map(|x| {
        let mut y = x;
        for k in 0..600i64 {
            y = x.gt(k).then_else(y, x / (x - k));
        }
        y
    });
    let nested = use_(&Vector::from([5i64, 300])).map(|x| {
        let mut y = lift(0i64);
        for k in (0..400i64).rev() {
            y = x.eq(k).then_else(x / (x + k), y);
        }
        y
    });
    let torch = Libtorch::cpu();
    assert_eq!(torch.run(deep).unwrap().to_vec(), [0, 700]);
    assert_eq!(torch.run(nested).unwrap().to_vec(), [0, 0]);
}
