//! Sums whose terms are 0 where a condition does not hold, as those of a convolution with a margin.

use crate::common::{Rng, agree, int};
use acc_core::data::{ArrayData, Prim, ScalarType};

/// Every element of a row of windows, under a guard, in registers: `init` is the initial value, `low` and `high` the bounds of
/// the indices that are read.
fn windows(ty: &str, init: &str, [low, high]: [&str; 2]) -> String {
    format!(
        "program(x: [3]{ty}, k: [4]{ty}, n: [0]i64) {{
           terms: [6]{ty} = generate(
             shape: || (extent(k, 0), extent(x, 1), extent(x, 2), extent(k, 1), extent(k, 2), extent(k, 3)),
             f: |%o: i64, %y: i64, %z: i64, %i: i64, %r: i64, %s: i64| {{
               %a: i64 = sub(%y, %r)
               %b: i64 = sub(%z, %s)
               %rows: bool = and(ge(%a, {low}), lt(%a, {high}))
               %columns: bool = and(ge(%b, 0i64), lt(%b, extent(x, 2)))
               %t: {ty} = if and(%rows, %columns) {{
                 yield mul(x[%i, %a, %b], k[%o, %i, %r, %s])
               }} else {{ yield 0{ty} }}
               yield %t
             }})
           a: [5]{ty} = fold(terms, f: |%p: {ty}, %q: {ty}| add(%p, %q), init: || {init})
           b: [4]{ty} = fold(a, f: |%p: {ty}, %q: {ty}| add(%p, %q), init: || {init})
           c: [3]{ty} = fold(b, f: |%p: {ty}, %q: {ty}| add(%p, %q), init: || {init})
           yield c
         }}"
    )
}

/// Small integers, whose sums are exact in any order.
fn small(ty: ScalarType, shape: &[usize], rng: &mut Rng) -> ArrayData {
    let all: Vec<f64> = (0..shape.iter().product()).map(|_| (rng.next() >> 9) as f64 % 17.0 - 8.0).collect();
    let lit = |x: &f64| match ty {
        ScalarType::F32 => [(*x as f32).lit()],
        ScalarType::F64 => [x.lit()],
        ScalarType::I32 => [(*x as i32).lit()],
        _ => [(*x as i64).lit()],
    };
    ArrayData::from_leaves(shape.iter().copied(), ty.into(), all.iter().map(lit)).unwrap()
}

fn args(ty: ScalarType, [channels, h, w]: [usize; 3], [o, r, s]: [usize; 3], n: i64, rng: &mut Rng) -> [ArrayData; 3] {
    [small(ty, &[channels, h, w], rng), small(ty, &[o, channels, r, s], rng), int(n)]
}

const SHAPES: [([usize; 3], [usize; 3]); 6] = [
    ([2, 9, 12], [6, 5, 5]),
    ([1, 4, 40], [8, 3, 3]),
    ([3, 12, 7], [4, 2, 7]),
    ([2, 1, 17], [5, 3, 1]),
    ([1, 3, 3], [7, 5, 5]),
    ([4, 6, 33], [3, 1, 4]),
];

#[test]
fn windows_with_margins_agree() {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    for ty in [ScalarType::F32, ScalarType::F64, ScalarType::I32, ScalarType::I64] {
        let text = windows(ty.name(), &format!("0{}", ty.name()), ["0i64", "extent(x, 1)"]);
        for (x, k) in SHAPES {
            agree(&text, &args(ty, x, k, 0, &mut rng));
        }
    }
}

/// What is left out adds 0 all the same, which makes 0 of a sum that is -0 so far.
#[test]
fn initial_values_are_kept() {
    let mut rng = Rng(0x1234_5678_9abc_def1);
    for init in ["-0.0f32", "1.5f32", "-3.0f32"] {
        let text = windows("f32", init, ["0i64", "extent(x, 1)"]);
        for (x, k) in SHAPES {
            let mut args = args(ScalarType::F32, x, k, 0, &mut rng);
            agree(&text, &args);
            let shape = args[0].shape().to_vec();
            let zeros = (0..args[0].size()).map(|_| [(-0.0f32).lit()]);
            args[0] = ArrayData::from_leaves(shape, ScalarType::F32.into(), zeros).unwrap();
            agree(&text, &args);
        }
    }
}

/// A guard that lets an index out of bounds through is a fault, and one that is never reached is none.
#[test]
fn looser_guards_agree() {
    let mut rng = Rng(0x0bad_cafe_dead_beef);
    for bounds in
        [["-1i64", "extent(x, 1)"], ["0i64", "n[]"], ["n[]", "extent(x, 1)"], ["1i64", "sub(extent(x, 1), 1i64)"]]
    {
        let text = windows("i64", "0i64", bounds);
        for (x, k) in SHAPES {
            for n in [0, 1, 3, 100, -5] {
                agree(&text, &args(ScalarType::I64, x, k, n, &mut rng));
            }
        }
    }
}

/// The same for several images at a time, whose axis and that of channels the guard does not depend on.
#[test]
fn windows_of_many_images_agree() {
    let text = "program(x: [4]f32, k: [4]f32, n: [0]i64) {
      terms: [7]f32 = generate(
        shape: || (n[], extent(k, 1), extent(x, 2), extent(x, 3), extent(k, 0), extent(k, 2), extent(k, 3)),
        f: |%n: i64, %i: i64, %y: i64, %z: i64, %o: i64, %r: i64, %s: i64| {
          %a: i64 = sub(%y, %r)
          %b: i64 = sub(%z, %s)
          %rows: bool = and(ge(%a, 0i64), lt(%a, extent(x, 2)))
          %columns: bool = and(ge(%b, 0i64), lt(%b, extent(x, 3)))
          %t: f32 = if and(%rows, %columns) { yield x[%n, %o, %a, %b] } else { yield 0.0f32 }
          yield mul(%t, k[%o, %i, %r, %s])
        })
      a: [6]f32 = fold(terms, f: |%p: f32, %q: f32| add(%p, %q), init: || 0.0f32)
      b: [5]f32 = fold(a, f: |%p: f32, %q: f32| add(%p, %q), init: || 0.0f32)
      c: [4]f32 = fold(b, f: |%p: f32, %q: f32| add(%p, %q), init: || 0.0f32)
      yield c
    }";
    let mut rng = Rng(0x51ed_270b_9c1e_3a77);
    // Images, and those that there are; channels, and those that there are; rows and columns; filters.
    for ([n, there], [o, own], [h, w], [i, r, s]) in [
        ([5, 5], [12, 12], [12, 12], [6, 5, 5]),
        ([3, 3], [2, 2], [7, 33], [5, 3, 4]),
        // More images than these are read along the axis that the guard does not bound: a fault, unless no row is read.
        ([5, 4], [3, 3], [6, 9], [4, 3, 3]),
        ([5, 4], [3, 3], [0, 9], [4, 3, 3]),
        // Fewer channels than filters have.
        ([2, 2], [3, 2], [6, 9], [4, 3, 3]),
        ([2, 9], [3, 4], [6, 20], [8, 1, 2]),
    ] {
        let mut of = |shape: [usize; 4]| small(ScalarType::F32, &shape, &mut rng);
        agree(text, &[of([there, own, h, w]), of([o, i, r, s]), int(n as i64)]);
    }
}

/// What a condition leaves out is not added, were it infinite or no number; a sum of nothing is 0.
#[test]
fn infinite_terms_are_left_out() {
    let mut rng = Rng(23);
    for ty in [ScalarType::F32, ScalarType::F64] {
        let text = windows(ty.name(), &format!("0{}", ty.name()), ["0i64", "extent(x, 1)"]);
        for [rows, columns, filters] in [[5, 12, 6], [4, 7, 3], [1, 1, 2], [9, 33, 5]] {
            let x = small(ty, &[2, rows, columns], &mut rng);
            let k = small(ty, &[filters, 2, 3, 5], &mut rng);
            // The last column of the windows, and one in the middle.
            let infinite = |at: usize| at % 5 == 4 || (at % 5 == 2 && at.is_multiple_of(3));
            let lits = (0..k.columns()[0].len()).map(|at| match (ty, infinite(at)) {
                (ScalarType::F32, true) => [f32::INFINITY.lit()],
                (_, true) => [f64::NAN.lit()],
                (_, false) => [k.columns()[0].slice().get(at).unwrap()],
            });
            let k = ArrayData::from_leaves([filters, 2, 3, 5], ty.into(), lits.collect::<Vec<_>>()).unwrap();
            agree(&text, &[x, k, int(0)]);
        }
    }
}
