//! Relaxed arithmetic: close to the exact semantics, and equal for NaN, infinities and zeros.

use crate::common::{Rng, parse, reference};
use acc_core::data::{ArrayData, Column, ColumnSlice};
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options, llvm};

fn relaxed(text: &str, args: &[ArrayData]) -> Vec<ArrayData> {
    let options = Options::new().relaxed(true).compile(Compile::Now);
    Native::with(options).unwrap().run_untyped(&parse(text), args, &RunLimits::none()).unwrap()
}

/// Numbers of every exponent, infinities and NaN, as `f32` or `f64`.
fn numbers(double: bool) -> ArrayData {
    let mut r = Rng(0x2545_f491_4f6c_dd1d);
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0, f64::MIN_POSITIVE, f64::MAX];
    let n = 20_003 + special.len();
    let column = if double {
        let drawn = (special.len()..n).map(|_| f64::from_bits(r.next() >> 1));
        Column::from_vec(special.into_iter().chain(drawn).collect::<Vec<f64>>())
    } else {
        let drawn = (special.len()..n).map(|_| f32::from_bits((r.next() >> 33) as u32));
        Column::from_vec(special.iter().map(|&x| x as f32).chain(drawn).collect::<Vec<f32>>())
    };
    let ty = if double { acc_core::data::ScalarType::F64 } else { acc_core::data::ScalarType::F32 };
    ArrayData::new([n], ty.into(), [column]).unwrap()
}

/// The distance of two floats in units in the last place; 0 if both are NaN.
fn apart(a: &ArrayData, b: &ArrayData, at: usize) -> u64 {
    match (a.columns()[0].slice(), b.columns()[0].slice()) {
        (ColumnSlice::F32(x), ColumnSlice::F32(y)) if x[at].is_nan() && y[at].is_nan() => 0,
        (ColumnSlice::F64(x), ColumnSlice::F64(y)) if x[at].is_nan() && y[at].is_nan() => 0,
        (ColumnSlice::F32(x), ColumnSlice::F32(y)) => x[at].to_bits().abs_diff(y[at].to_bits()).into(),
        (ColumnSlice::F64(x), ColumnSlice::F64(y)) => x[at].to_bits().abs_diff(y[at].to_bits()),
        _ => u64::MAX,
    }
}

#[test]
fn quotients_by_roots_are_near() {
    for (double, ty) in [(false, "f32"), (true, "f64")] {
        let args = [numbers(double)];
        for dividend in ["1.0", "-3.7", "0.0"] {
            let text = format!(
                "program(a: [1]{ty}) {{ r: [1]{ty} = map(a, f: |%x: {ty}| div({dividend}{ty}, sqrt(%x))) yield r }}"
            );
            let (want, got) = (reference(&parse(&text), &args).unwrap(), relaxed(&text, &args));
            for k in 0..args[0].shape()[0] {
                let n = apart(&want[0], &got[0], k);
                assert!(n <= 4, "{dividend}: element {k} of {:?}: {n} apart", args[0].element(k));
            }
        }
    }
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

/// A product and a sum are rounded once, or twice as without LLVM; a product that is used elsewhere is rounded by
/// itself.
#[test]
fn products_are_rounded_with_sums() {
    let mut r = Rng(17);
    let draw = |r: &mut Rng| (r.next() >> 11) as f64 / (1u64 << 53) as f64;
    let columns: [Vec<f64>; 3] = [0, 1, 2].map(|_| (0..4001).map(|_| draw(&mut r)).collect());
    let args = columns
        .clone()
        .map(|c| ArrayData::new([c.len()], acc_core::data::ScalarType::F64.into(), [Column::from_vec(c)]).unwrap());
    let text = "program(a: [1]f64, b: [1]f64, c: [1]f64) {
        r: [1]f64 = zip_with(a, b, c, f: |%x: f64, %y: f64, %z: f64| sub(mul(%x, %y), %z)) yield r }";
    let results = relaxed(text, &args);
    let ColumnSlice::F64(got) = results[0].columns()[0].slice() else { panic!("not f64") };
    let [a, b, c] = &columns;
    let once = (0..a.len()).filter(|&k| got[k] == a[k].mul_add(b[k], -c[k])).count();
    let either = (0..a.len()).filter(|&k| got[k] == a[k].mul_add(b[k], -c[k]) || got[k] == a[k] * b[k] - c[k]).count();
    assert_eq!(either, a.len());
    if llvm::status().library.is_some() && cfg!(target_arch = "x86_64") {
        assert_eq!(once, a.len());
    }
}

/// What `relaxed` gives up, as documented: results where a product alone does not fit its type. All else about NaN and
/// infinities is exact.
#[test]
fn only_products_that_do_not_fit_yield_other_infinities() {
    use acc_core::data::ScalarType;
    // Each with its result for two roundings, and for one.
    let inf = f32::INFINITY;
    let cases: [([f32; 3], f32, f32); 12] = [
        ([2.0, 3e38, -3e38], inf, 3e38),
        ([2.0, 3e38, -inf], f32::NAN, -inf),
        ([-2.0, 3e38, inf], f32::NAN, inf),
        // The product underflows, and has a sign.
        ([-1e-30, 1e-30, 0.0], 0.0, -0.0),
        // The product fits or is not finite: as without the option.
        ([2.0, 3e38, 3e38], inf, inf),
        ([inf, 1.0, -inf], f32::NAN, f32::NAN),
        ([inf, -1.0, 3e38], -inf, -inf),
        ([inf, 0.0, 1.0], f32::NAN, f32::NAN),
        ([f32::NAN, 0.0, inf], f32::NAN, f32::NAN),
        ([1.0, 1.0, -1.0], 0.0, 0.0),
        ([-0.0, 1.0, -0.0], -0.0, -0.0),
        ([-0.0, 1.0, 0.0], 0.0, 0.0),
    ];
    // Enough elements for whole vectors, so that machine code computes them.
    let column = |k: usize| Column::from_vec(cases.iter().cycle().take(600).map(|c| c.0[k]).collect::<Vec<f32>>());
    let args = [0, 1, 2].map(|k| ArrayData::new([600], ScalarType::F32.into(), [column(k)]).unwrap());
    let text = "program(a: [1]f32, b: [1]f32, c: [1]f32) {
        r: [1]f32 = zip_with(a, b, c, f: |%x: f32, %y: f32, %z: f32| add(mul(%x, %y), %z)) yield r }";
    let (exact, relaxed) = (reference(&parse(text), &args).unwrap(), relaxed(text, &args));
    let compiled = llvm::status().library.is_some() && cfg!(target_arch = "x86_64");
    for (k, (operands, twice, once)) in cases.iter().cycle().take(600).enumerate() {
        let same = |results: &[ArrayData], want: f32| {
            let ColumnSlice::F32(got) = results[0].columns()[0].slice() else { panic!("not f32") };
            assert!(got[k].to_bits() == want.to_bits() || got[k].is_nan() && want.is_nan(), "{operands:?}: {}", got[k]);
        };
        same(&exact, *twice);
        same(&relaxed, if compiled { *once } else { *twice });
    }
}

/// A consequence of different rounding: a sum is 0 with two roundings, and a small number with one.
#[test]
fn what_is_computed_of_a_sum_that_vanishes_is_unspecified() {
    use acc_core::data::ScalarType;
    let array = |x: f64| ArrayData::new([100], ScalarType::F64.into(), [Column::from_vec(vec![x; 100])]).unwrap();
    let args = [array(1e200), array(1e-200), array(-1.0)];
    let text = "program(a: [1]f64, b: [1]f64, c: [1]f64) {
        r: [1]f64 = zip_with(a, b, c, f: |%x: f64, %y: f64, %z: f64| div(%z, sqrt(add(mul(%x, %y), %z)))) yield r }";
    let exact = reference(&parse(text), &args).unwrap();
    let ColumnSlice::F64(exact) = exact[0].columns()[0].slice() else { panic!("not f64") };
    assert_eq!(exact[0], f64::NEG_INFINITY);
    let results = relaxed(text, &args);
    let ColumnSlice::F64(got) = results[0].columns()[0].slice() else { panic!("not f64") };
    let once = 1e200f64.mul_add(1e-200, -1.0);
    if llvm::status().library.is_some() && cfg!(target_arch = "x86_64") {
        assert!(got.iter().all(|x| x.is_nan() == (once < 0.0)), "{} of {once}", got[0]);
    }
}
