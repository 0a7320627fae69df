//! Constants without their type: where the type comes from.

use crate::support::run;
use acc_core::prelude::*;

fn sign(x: Exp<f32>) -> Exp<f32> {
    x.lt(0.0).then_else(-1.0, 1.0)
}
fn step(x: Exp<f32>) -> Exp<i64> {
    cond(x.lt(0.0), -1, 1)
}
fn parts(x: Exp<f32>) -> (Exp<u8>, Exp<f32>) {
    x.lt(0.0).then_else((1, 0.5), (2, 1.5))
}
fn known(x: Exp<Option<f32>>) -> Exp<f32> {
    x.match_(|x| match x {
        Some(_) => 1.0,
        None => 0.0,
    })
}

#[test]
fn both_sides_of_a_condition_have_the_type_that_is_declared() {
    let xs = use_(&Vector::from([-2.0f32, 3.0]));
    assert_eq!(run(xs.map(sign)).to_vec(), [-1.0, 1.0]);
    assert_eq!(run(xs.map(step)).to_vec(), [-1, 1]);
    assert_eq!(run(xs.map(parts)).to_vec(), [(1, 0.5), (2, 1.5)]);
    assert_eq!(run(xs.map(|x| -> Exp<u64> { x.lt(0.0).then_else(1, 2) })).to_vec(), [1, 2]);
    assert_eq!(run(xs.map(|x| sign(x.gt(0.0).then_else(-1.0, 1.0)))).to_vec(), [1.0, -1.0]);
    let scaled = xs.map(|x| {
        let s: Exp<f32> = x.lt(0.0).then_else(-1.0, 1.0);
        s * x
    });
    assert_eq!(run(scaled).to_vec(), [2.0, 3.0]);
}

#[test]
fn without_a_declared_type_the_literals_are_those_of_rust() {
    let xs = use_(&Vector::from([-2i64, 3]));
    let ys: Vector<i32> = run(xs.map(|x| x.lt(0).then_else(-1, 1)));
    assert_eq!(ys.to_vec(), [-1, 1]);
    assert_eq!(run(xs.map(|x| x.lt(0).then_else(0, x))).to_vec(), [0, 3]);
    assert_eq!(run(xs.map(|x| x.lt(0).then_else::<i64, _>(-1, 1) * x)).to_vec(), [2, 3]);
}

#[test]
fn arms_of_a_match_have_the_type_that_is_declared() {
    let xs = use_(&[Some(2.0f32), None].into_iter().collect::<Vector<_>>());
    assert_eq!(run(xs.map(known)).to_vec(), [1.0, 0.0]);
}

#[test]
fn a_constant_beside_expressions_in_a_match_is_converted() {
    let xs = use_(&[Some(2.0f32), None].into_iter().collect::<Vector<_>>());
    let ys = xs.map(|x| {
        x.match_(|x| match x {
            Some(x) => x,
            None => 0.5.into(),
        })
    });
    assert_eq!(run(ys).to_vec(), [2.0, 0.5]);
    let x: Exp<u8> = 7.into();
    assert_eq!(run(unit(x)).value(), 7);
}

#[test]
fn an_integer_alone_replicates_a_scalar_and_slices_a_vector() {
    let xs = use_(&Vector::from([5i32, 6, 7]));
    let x = xs.slice(1);
    assert_eq!(run(&x).value(), 6);
    assert_eq!(run(xs.slice(xs.length() - 1)).value(), 7);
    assert_eq!(run(x.replicate(2)).to_vec(), [6, 6]);
    assert_eq!(run(x.replicate(xs.length())).to_vec(), [6, 6, 6]);
    assert_eq!(run(x.replicate((2, 1))), Matrix::from([[6], [6]]));
}

#[test]
fn a_real_constant_beside_a_complex_number() {
    let c = |re, im| Complex::new(re, im);
    let zs = use_(&Vector::from([c(2.0f64, -4.0)]));
    assert_eq!(run(zs.map(|z| (z + 1.0, z - 1.0))).to_vec(), [(c(3.0, -4.0), c(1.0, -4.0))]);
    assert_eq!(run(zs.map(|z| (z * 2.0, z / 2.0))).to_vec(), [(c(4.0, -8.0), c(1.0, -2.0))]);
    let assigned = zs.map(|z| {
        let mut w = z;
        w += 2.0;
        w *= 3.0;
        w -= 2.0;
        w /= 2.0;
        w
    });
    assert_eq!(run(assigned).to_vec(), [c(5.0, -6.0)]);
    let integers = use_(&Vector::from([Complex::new(7i32, -3)]));
    assert_eq!(run(integers.map(|z| z * 2 / 3)).to_vec(), [Complex::new(4, -2)]);
}

#[test]
fn a_real_constant_keeps_infinities_and_the_signs_of_zeros() {
    let zs = use_(&Vector::from([Complex::new(f64::INFINITY, -0.0)]));
    let z = run(zs.map(|z| z * 2.0)).to_vec()[0];
    assert_eq!((z.re, z.im.to_bits()), (f64::INFINITY, (-0.0f64).to_bits()));
    let z = run(zs.map(|z| z + 0.0)).to_vec()[0];
    assert_eq!((z.re, z.im.to_bits()), (f64::INFINITY, (-0.0f64).to_bits()));
}

#[test]
fn complex_constants_on_either_side() {
    let (i, zs) = (Complex::new(0.0f32, 1.0), use_(&Vector::from([Complex::new(2.0f32, 3.0)])));
    assert_eq!(run(zs.map(|z| i * z)).to_vec(), [Complex::new(-3.0, 2.0)]);
    assert_eq!(run(zs.map(|z| i - z)).to_vec(), [Complex::new(-2.0, -2.0)]);
    assert_eq!(run(&zs * i).to_vec(), [Complex::new(-3.0, 2.0)]);
}

#[test]
fn constants_whose_type_follows_from_the_other_operand_still_do() {
    let xs = use_(&Vector::from([2.0f32]));
    assert_eq!(run(xs.map(|x| x * lift(2.0) + constant(1.0) * x)).to_vec(), [6.0]);
    assert_eq!(run(xs.map(|x| x * pi() / pi())).to_vec(), [2.0]);
    let zs = xs.map(|x| complex(x, x));
    assert_eq!(run(zs.zip_with(&xs, |z, x| z * x.to())).to_vec(), [Complex::new(4.0, 4.0)]);
}
