//! Numeric conversions where they round, saturate, or convert NaN.

use crate::common::{Rng, agree, numbers};
use acc_core::data::{ArrayData, Column, ScalarType};
use acc_core::prelude::f16;

const INTEGERS: [ScalarType; 8] = {
    use ScalarType::*;
    [I8, U8, I16, U16, I32, U32, I64, U64]
};
const FLOATS: [ScalarType; 3] = [ScalarType::F16, ScalarType::F32, ScalarType::F64];

/// Integers near powers of two, near the midpoints of adjacent floats, and others.
fn integers() -> Vec<i128> {
    let mut out = vec![0];
    for power in 0..=64 {
        let x = 1i128 << power;
        for digits in [11, 12, 24, 25, 53, 54] {
            for below in [0, 1, 3] {
                let tie = x + below * if power < digits { 0 } else { 1 << (power - digits) };
                out.extend((-2..=2).map(|k| tie + k));
            }
        }
    }
    let mut r = Rng(3);
    out.extend((0..300).map(|_| i128::from(r.next() >> (r.next() % 64))));
    let negative: Vec<i128> = out.iter().map(|x| -x).collect();
    out.extend(negative);
    out
}

/// Floats near powers of two, halves, NaN and infinities, and random bits.
fn floats() -> Vec<f64> {
    let mut out = vec![0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 5e-324, f64::MAX];
    for power in -3..=66 {
        let x = 2f64.powi(power);
        for y in [x, x - 1.0, x + 1.0, x - 0.5, x + 0.5, x + 0.75] {
            let single = y as f32;
            out.extend([y, y.next_up(), y.next_down()]);
            out.extend([single, single.next_up(), single.next_down()].map(f64::from));
        }
    }
    let mut r = Rng(17);
    out.extend((0..300).map(|_| f64::from_bits(r.next())));
    out.extend((0..300).map(|_| f64::from(f32::from_bits(r.next() as u32))));
    out.extend((0..300).map(|_| (r.next() as i64 >> (r.next() % 64)) as f64 / 1024.0));
    let negative: Vec<f64> = out.iter().map(|x| -x).collect();
    out.extend(negative);
    out
}

fn of_floats(ty: ScalarType) -> ArrayData {
    let xs = floats();
    let column = match ty {
        ScalarType::F16 => Column::from_vec(xs.iter().map(|&x| f16::from_f64(x)).collect::<Vec<_>>()),
        ScalarType::F32 => Column::from_vec(xs.iter().map(|&x| x as f32).collect::<Vec<_>>()),
        _ => Column::from_vec(xs.clone()),
    };
    ArrayData::new([xs.len()], ty.into(), [column]).unwrap()
}

/// Converts each element, and one scalar per row.
fn agree_on_casts(xs: &ArrayData, from: ScalarType, to: ScalarType) {
    let text = format!(
        "program(xs: [1]{from}) {{
           r: [1]{to} = map(xs, f: |%x: {from}| cast(%x, {to}))
           s: [2]{to} = generate(shape: || (extent(xs, 0), 3i64), f: |%i: i64, %j: i64| {{
             %x: {from} = xs[%i]
             yield cast(%x, {to})
           }})
           yield r, s
         }}"
    );
    agree(&text, std::slice::from_ref(xs));
}

#[test]
fn integers_to_all_numbers() {
    for from in INTEGERS {
        let xs = integers();
        let xs = numbers(from, &[xs.len()], &xs);
        for to in FLOATS.into_iter().chain(INTEGERS) {
            agree_on_casts(&xs, from, to);
        }
    }
}

#[test]
fn floats_to_all_numbers() {
    for from in FLOATS {
        let xs = of_floats(from);
        for to in INTEGERS.into_iter().chain(FLOATS) {
            agree_on_casts(&xs, from, to);
        }
    }
}
