//! Combinators made of others: what is built is the user's, and nothing stays.

use acc_core::builder::{live_nodes, scope};
use acc_core::prelude::*;
use acc_core::{Error, Fault};

fn fault_of<A: Arrays>(program: impl IntoAcc<A>) -> (Fault, u32) {
    match Interpreter::new().run(program) {
        Err(Error::Fault { fault, loc, .. }) => {
            assert!(loc.file().is_some_and(|f| f.ends_with("composed.rs")), "{loc}");
            (fault, loc.line())
        }
        Err(e) => panic!("a fault is expected, not: {e}"),
        Ok(_) => panic!("a fault is expected"),
    }
}

#[test]
fn a_wrong_descriptor_is_named_at_the_users_line() {
    let xs = use_(&Vector::from([1, 2, 3]));
    let (fault, line) = fault_of(xs.fold_seg(&Vector::from([2i64, 2]), 0, |a, b| a + b));
    assert_eq!(line, line!() - 1);
    let message = "segment descriptor: the segments need 4 elements, but a row has 3";
    assert_eq!(fault, Fault::CheckFailed { message: message.into() });
    let (fault, _) = fault_of(xs.scanr_seg(&Vector::from([2i64, -1]), 0, |a, b| a + b));
    assert_eq!(fault, Fault::CheckFailed { message: "segment descriptor: a length is negative".into() });
}

#[test]
fn a_fault_of_the_users_operator_is_at_its_line() {
    let xs = use_(&Vector::from([1, 0, 3]));
    let (fault, line) = fault_of(xs.fold1_seg(&Vector::from([3i64]), |a, b| {
        let quotient = a / b;
        quotient + 1
    }));
    assert_eq!((fault, line), (Fault::DivisionByZero, line!() - 3));
    let (fault, line) = fault_of(xs.postscanl(1, |a, b| a / b));
    assert_eq!((fault, line), (Fault::DivisionByZero, line!() - 1));
}

#[test]
fn a_fault_of_the_combinator_is_at_its_call() {
    let (fault, line) = fault_of(use_(&Vector::from([1i32, 2])).expand(|x| x.to::<i64>() - 2, |x, _| x));
    assert_eq!(line, line!() - 1);
    assert_eq!(fault, Fault::CheckFailed { message: "expand: -1 is a negative number of elements".into() });
    let (fault, line) = fault_of(&use_(&Vector::from([1, 2])) / 0);
    assert_eq!((fault, line), (Fault::DivisionByZero, line!() - 1));
    let (fault, line) = fault_of(unit(use_(&Vector::from([1, 2])).index_linear(2)));
    assert!(matches!(fault, Fault::IndexOutOfBounds { .. }));
    assert_eq!(line, line!() - 2);
}

#[test]
fn no_scalar_expression_stays() {
    let xs = use_(&Vector::from([1i64, 2, 3]));
    let m = use_(&Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
    let before = live_nodes();
    let _ = xs.scanl_with_total_seg(&Vector::from([1i64, 2]), 0, |a, b| a + b);
    let _ = (xs.fold_seg_offsets(&Vector::from([0i64, 3]), 0, |a, b| a + b), xs.postscanr(1, |a, b| a + b));
    let _ = (xs.filter(|x| x.gt(1)), xs.expand(|x| x, |x, i| x + i), xs.unique_counts(), xs.sort_descending());
    let _ = (xs.concat(&xs), xs.take(2), xs.reverse(), m.transpose(), m.matmul(&m), m.mean(), m.arg_max(), &m * 2.0);
    assert_eq!(live_nodes(), before);
}

#[test]
fn a_panic_in_an_operator_leaves_locations_alone() {
    let xs = use_(&Vector::from([1, 2, 3]));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = xs.fold_seg(&Vector::from([3i64]), 0, |_, _| -> Exp<i32> { panic!("as a test") });
    }));
    assert!(caught.is_err());
    let (_, line) = fault_of(scope(|| xs.map(|x| x / 0)));
    assert_eq!(line, line!() - 1);
}

/// `&t - x` in a closure, where `t` is an array of rank 0: its element, as in `x - &t`.
#[test]
fn a_rank_0_array_on_the_left_of_an_operator_in_scalar_code_is_its_element() {
    let xs = use_(&Vector::from([1.0f32, 2.0, 6.0]));
    let (least, most) = (xs.minimum(), xs.maximum());
    let run = |ys: Acc<Vector<f32>>| Interpreter::new().run(ys).unwrap().to_vec();
    assert_eq!(run(xs.map(|x| &most - x)), [5.0, 4.0, 0.0]);
    assert_eq!(run(xs.map(|x| -(&most - x) * 2.0 / (&most - &least))), [-2.0, -1.6, 0.0]);
    assert_eq!(run(xs.map(|x| 1.0 - (x - &least) / (&most - &least))), [1.0, 0.8, 0.0]);
    assert_eq!(run(xs.map(|x| 3.0 * ((&most - x) + &least))), [18.0, 15.0, 3.0]);
    assert_eq!(run(xs.map(|x| most.gt(x).then_else(x, 0.0))), [1.0, 2.0, 0.0]);
}

#[test]
fn what_an_operator_yields_in_scalar_code_is_no_array() {
    let xs = use_(&Vector::from([1.0f32, 2.0, 6.0]));
    let most = xs.maximum();
    let nested = xs.map(|x| (&most - x).map(|y| y * y).the());
    let error = Interpreter::new().run(nested).unwrap_err().to_string();
    assert!(error.starts_with("invalid program: nested data parallelism") && error.contains("`.the()`"), "{error}");
}
