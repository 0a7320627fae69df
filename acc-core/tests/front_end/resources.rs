//! What closures leave behind, panics, threads.

use crate::support::run;
use acc_core::builder::{live_nodes, reset_ambient, scope};
use acc_core::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn closures_do_not_leak() {
    let xs = use_(&Vector::from([1.0f32]));
    let before = live_nodes();
    for k in 0..100 {
        let _ = xs.map(|x| while_(x * k as f32, |y| y.lt(10.0), |y| y + 1.0));
    }
    assert_eq!(live_nodes(), before);
    let f = Interpreter::new().compile(|a: Acc<Vector<f32>>| {
        let t = a.sum().the();
        a.map(|x| x / t)
    });
    assert!(f.is_ok());
    assert_eq!(live_nodes(), before);
}

#[test]
fn array_level_code_retains_only_expressions_made_there() {
    let xs = use_(&Vector::from([1.0f32]));
    let before = live_nodes();
    let _ = (fill(xs.extent(), 1.0f32), generate((3, 4), |(i, j)| i + j), unit(5.0f32), xs.sum(), xs.flatten());
    let _ = (xs.replicate((4, All)), enum_from::<Dim<1>, i32>(4, 1), xs.reshape((1, 1)), xs.reverse());
    let kept = live_nodes() - before;
    let _ = scope(|| xs.sum().the());
    assert_eq!(live_nodes() - before, kept);
    let _ = xs.sum().the();
    assert!(live_nodes() - before > kept);
    reset_ambient();
    assert_eq!(live_nodes(), 0);
}

#[test]
fn expressions_of_before_a_reset_are_stale() {
    let (c, xs) = (lift(2.0f32), use_(&Vector::from([1.0f32])));
    assert_eq!(run(xs.map(|x| x * c)).to_vec(), [2.0]);
    reset_ambient();
    let e = Interpreter::new().run(xs.map(|x| x * c)).unwrap_err();
    assert!(e.to_string().contains("after its closure ended"), "{e}");
}

#[test]
fn a_panic_in_a_closure_leaves_the_builder_usable() {
    let xs = use_(&Vector::from([1.0f32]));
    let before = live_nodes();
    let panics: [Box<dyn FnOnce()>; 3] = [
        Box::new(|| drop(xs.map(|x| if xs.untyped().ty.leaf_count() == 1 { panic!("boom") } else { x }))),
        Box::new(|| {
            drop(xs.map(|x| while_(x, |_| -> bool { panic!("in a loop") }, |y| y)));
        }),
        Box::new(|| drop(awhile(&xs, |_| -> Exp<bool> { panic!("in an array function") }, |a| a))),
    ];
    for f in panics {
        assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
        assert_eq!(live_nodes(), before);
    }
    assert_eq!(run(xs.map(|x| x + 1.0)).to_vec(), [2.0]);
}

#[test]
fn programs_and_compiled_functions_cross_threads() {
    fn send_sync<T: Send + Sync>(_: &T) {}
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let backend = Interpreter::new();
    let f = backend.compile(|a: Acc<Vector<f32>>| a.map(|x| x * 2.0)).unwrap();
    send_sync(&xs);
    send_sync(&f);
    send_sync(&backend);
    std::thread::scope(|s| {
        for k in 0..8 {
            let (xs, f, backend) = (&xs, &f, &backend);
            s.spawn(move || {
                let k = k as f32;
                assert_eq!(backend.run(xs.map(|x| x * k)).unwrap().to_vec(), [k, 2.0 * k]);
                assert_eq!(f.call((&Vector::from([k]),)).unwrap().to_vec(), [2.0 * k]);
            });
        }
    });
}

#[test]
fn limits_stop_an_endless_loop() {
    let xs = use_(&Vector::from([1i64]));
    let p = xs.map(|x| while_(x, |_| true, |y| y + 1));
    let limits = RunLimits::none().deadline(std::time::Instant::now());
    let e = Interpreter::new().run_with(p, &limits).unwrap_err();
    assert!(e.to_string().contains("deadline"), "{e}");
}

#[test]
fn an_expression_is_two_words() {
    assert_eq!(size_of::<Exp<f32>>(), 16);
}
