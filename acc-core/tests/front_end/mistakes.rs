//! Mistakes that only a run finds: the message says what to do and names the user's lines.

use crate::support::{error_of, run};
use acc_core::prelude::*;
use std::cell::{Cell, RefCell};

#[track_caller]
fn names(e: &Error, parts: &[&str]) {
    let text = e.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn an_expression_that_left_its_closure() {
    let xs = use_(&Vector::from([1.0, 2.0f32]));
    let leak = Cell::new(None);
    let created = line!() + 1;
    let _ = xs.map(|x| {
        leak.set(Some(x));
        x
    });
    let used = line!() + 1;
    let p = xs.map(|y| y + leak.get().unwrap());
    let (created, used) = (format!("mistakes.rs:{created}:"), format!("mistakes.rs:{used}:"));
    names(&error_of(p), &["scalar expression used after its closure ended", &created, &used, "help: "]);
    let returned = xs.map(|_| leak.get().unwrap());
    names(&error_of(returned), &["after its closure ended", &created]);
}

#[test]
fn an_expression_that_left_a_loop() {
    let xs = use_(&Vector::from([1i64]));
    let p = xs.map(|x| {
        let leak = Cell::new(x);
        let y = while_(
            x,
            |s| s.lt(10),
            |s| {
                leak.set(s);
                s + 1
            },
        );
        y + leak.get()
    });
    names(&error_of(p), &["after its closure ended", "mistakes.rs"]);
}

#[test]
fn nested_parallelism() {
    let xs = use_(&Vector::from([1.0, 2.0f32]));
    let outer = line!() + 1;
    let p = xs.map(|x| {
        let inner = xs.map(|y| y * x);
        inner.sum().the()
    });
    let lines = [format!("mistakes.rs:{outer}:"), format!("mistakes.rs:{}:", outer + 1)];
    names(&error_of(p), &["nested data parallelism", &lines[0], &lines[1], "help: "]);
    // In an extent too.
    names(&error_of(use_(&Vector::from([3i64])).map(|n| fill(n, 1i64).sum().the())), &["nested data parallelism"]);
    // An inner array that depends on nothing of the closure is fine.
    let p = xs.map(|x| {
        let c = lift(2.0f32) * 3.0;
        x + xs.map(|y| y * c).sum().the()
    });
    assert_eq!(run(p).to_vec(), [19.0, 20.0]);
}

#[test]
fn an_array_that_left_its_function() {
    let leak = RefCell::new(None);
    let xs = use_(&Vector::from([1i64, 2]));
    let out = awhile(
        &xs,
        |a| a.sum().the().lt(10),
        |a| {
            *leak.borrow_mut() = Some(a.clone());
            a.map(|x| x + 1)
        },
    );
    assert_eq!(run(&out).to_vec(), [5, 6]);
    let a = leak.borrow().clone().unwrap();
    names(
        &error_of(a.map(|x| x + 1)),
        &["array used outside the array function that made it", "mistakes.rs", "help: "],
    );
    // Read by a scalar function, and beside the loop in one program.
    names(&error_of(xs.map(|x| x + a.index(0))), &["outside the array function"]);
    names(&error_of((&out, a.map(|x| x * 2))), &["outside the array function"]);
    // A parameter of the function around is fine.
    let f = Interpreter::new()
        .compile(|ys: Acc<Vector<i64>>| awhile(&ys, |a| a.sum().the().lt(10), |a| a.zip_with(&ys, |x, y| x + y)))
        .unwrap();
    assert_eq!(f.call((&Vector::from([1i64, 2]),)).unwrap().to_vec(), [4, 8]);
}

#[test]
fn faults_name_the_operation_and_the_line() {
    let xs = use_(&Vector::from([5i64, 6]));
    let here = "mistakes.rs:";
    names(&error_of(xs.backpermute(3, |i| i)), &["(2,) is out of bounds", "shape (2,)", "`backpermute`", here]);
    names(&error_of(xs.map(|x| xs.index(x))), &["(5,) is out of bounds", "`map`", here]);
    names(&error_of(xs.map(|x| 1 / (x - 5))), &["division by zero", here]);
    names(&error_of(xs.map(|x| x % (x - 5))), &["division by zero", here]);
    names(&error_of(xs.reshape((3, 2))), &["cannot reshape (2,) to (3, 2)", here]);
    names(&error_of(fill(xs.index(0) - 9, 1)), &["negative extent in shape (-4,)", here]);
    names(&error_of(fill(0, 1i64).fold1(|a, b| a + b)), &["at least one element", "fold1", here]);
    names(&error_of(xs.slice((2,))), &["(2,) is out of bounds", here]);
}

#[test]
fn the_line_is_that_of_the_expression() {
    let xs = use_(&Vector::from([5i64]));
    let line = line!() + 3;
    let p = xs.map(|x| {
        let zero = x - 5;
        let q = x / zero;
        q + 1
    });
    names(&error_of(p), &[&format!("mistakes.rs:{line}:17")]);
}

#[test]
fn permute_out_of_bounds_is_a_fault() {
    let xs = use_(&Vector::from([5i64, 6]));
    names(&error_of(xs.permute(fill(2, 0), |a, _| a, |i| Some(i + 1))), &["(2,) is out of bounds", "`permute`"]);
}

#[test]
fn a_shape_too_large() {
    names(&error_of(fill((1 << 40, 1 << 40), 1u8)), &["more elements than memory can address"]);
}

#[test]
fn a_broken_program_is_found_by_the_verifier() {
    let xs = use_(&Vector::from([1.0f32]));
    let mut program = (*xs.map(|x| x + 1.0).program().unwrap().program).clone();
    let acc_core::ir::ArrayOp::Map { f, .. } = &mut program.body.stmts[0].op else { panic!("one map") };
    let result = f.body.results[0];
    f.types[result.index()] = acc_core::data::ScalarType::Bool;
    let e = acc_core::verify::verify(&program, Some("a pass")).unwrap_err();
    let text = e.to_string();
    assert!(text.contains("mistakes.rs") && text.contains("after pass a pass"), "{text}");
}
