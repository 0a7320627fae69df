//! Computations of one point: conditions, counters, extents. A few integer operations are evaluated directly;
//! everything else runs as machine code or on the tile executor.

use crate::common::{agree, int, ints, parse};
use acc_core::data::{ArrayData, Column, ScalarType};
use backend_native::Native;

fn floats(xs: &[f64]) -> ArrayData {
    ArrayData::new([xs.len()], ScalarType::F64.into(), [Column::from_vec(xs.to_vec())]).unwrap()
}

#[test]
fn operations_of_one_point() {
    let bodies = [
        "add(a[], b[])",
        "sub(mul(a[], a[]), b[])",
        "quot(a[], b[])",
        "rem(a[], b[])",
        "div_floor(a[], b[])",
        "mod_floor(a[], b[])",
        "if eq(b[], 0i64) { yield 7i64 } else { yield quot(a[], b[]) }",
        "xs[a[]]",
        "xs[add(a[], b[])]",
        "extent(xs, 0)",
        "if lt(a[], extent(xs, 0)) { yield xs[a[]] } else { yield b[] }",
        "while (rem(a[], 9i64)) test |%k: i64| { yield lt(%k, rem(b[], 20i64)) } step |%k: i64| { yield add(%k, 3i64) }",
    ];
    for body in bodies {
        let text = format!(
            "program(a: [0]i64, b: [0]i64, xs: [1]i64) {{
               r: [0]i64 = generate(shape: || (), f: || {{ %r: i64 = {body} yield %r }})
               yield r
             }}"
        );
        for (a, b) in [(0, 0), (1, 1), (2, -1), (-7, 3), (i64::MIN, -1), (i64::MIN, i64::MAX), (i64::MAX, i64::MAX)] {
            agree(&text, &[int(a), int(b), ints(&[5, -6, 7])]);
        }
        agree(&text, &[int(0), int(0), ints(&[])]);
    }
}

#[test]
fn comparisons_and_moves_of_floats() {
    let text = "program(xs: [1]f64, k: [0]i64) {
      r: [0](bool, bool, bool, f64) = generate(shape: || (), f: || {
        %x: f64 = xs[k[]]
        %y: f64 = xs[sub(extent(xs, 0), 1i64)]
        %c: bool = lt(%x, %y)
        yield %c, eq(%x, %y), ge(%x, %y), select(%c, %x, %y)
      })
      n: [1]f64 = generate(shape: || if lt(xs[k[]], 2f64) { yield 3i64 } else { yield 0i64 }, f: |%i: i64| xs[k[]])
      yield r, n
    }";
    let xs = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, -1e300];
    for last in 1..=xs.len() {
        for k in -1..=last as i64 {
            agree(text, &[floats(&xs[..last]), int(k)]);
        }
    }
}

#[test]
fn conditions_and_counters_that_fault() {
    let text = "program(n: [0]i64, xs: [1]i64) {
      z: [0]i64 = generate(shape: || (), f: || 0i64)
      k: [0]i64, s: [1]i64 = awhile(z, xs,
        test: |k: [0]i64, s: [1]i64| { t: [0]bool = map(k, f: |%k: i64| lt(%k, n[])) yield t },
        step: |k: [0]i64, s: [1]i64| {
          j: [0]i64 = map(k, f: |%k: i64| add(%k, quot(6i64, sub(4i64, %k))))
          r: [1]i64 = acond(cond: || gt(s[k[]], 2i64), then: { a: [1]i64 = map(s, f: |%x: i64| sub(%x, 1i64)) yield a }, else: { yield s })
          yield j, r
        })
      yield k, s
    }";
    for n in 0..8 {
        for xs in [&[][..], &[1], &[5, 6], &[1, 2, 3, 4, 5, 6, 7, 8]] {
            agree(text, &[int(n), ints(xs)]);
        }
    }
}

#[test]
fn one_point_of_floats_is_machine_code() {
    let text = "program(x: [0]f64) {
      r: [0]f64 = map(x, f: |%x: f64| {
        %s: f64, %k: i64 = while (1f64, 1i64) test |%s: f64, %k: i64| { yield lt(%k, 20i64) }
          step |%s: f64, %k: i64| { yield add(mul(%s, %x), 0.5f64), add(%k, 1i64) }
        yield sqrt(mul(%s, %s))
      })
      yield r
    }";
    let x = |x: f64| ArrayData::new([], ScalarType::F64.into(), [Column::from_vec(vec![x])]).unwrap();
    for value in [0.0, 0.25, -3.5, f64::NAN, f64::INFINITY] {
        agree(text, &[x(value)]);
    }
    let listing =
        acc_core::Backend::prepare(&Native::compiled(), &parse(text), &acc_core::RunLimits::none()).unwrap().listing();
    assert!(listing.contains("define i64") || listing.contains("no LLVM is found"), "{listing}");
}

#[test]
fn loops_whose_lanes_divide_by_their_counter() {
    for ty in ["i64", "i32", "u64", "u32", "i16"] {
        let text = format!(
            "program(xs: [1]{ty}, from: [0]{ty}) {{
               r: [1]({ty}, {ty}) = map(xs, f: |%x: {ty}| {{
                 %d: {ty} = while (from[]) test |%d: {ty}| {{ yield and(lt(%d, 40{ty}), ne(rem(%x, %d), 0{ty})) }}
                   step |%d: {ty}| {{ yield add(%d, 1{ty}) }}
                 yield %d, quot(%x, %d)
               }})
               q: [0]{ty} = fold(xs, f: |%a: {ty}, %b: {ty}| max(%a, %b), init: || 0{ty})
               yield r, q
             }}"
        );
        let all: acc_core::data::ScalarType = match ty {
            "i64" => ScalarType::I64,
            "i32" => ScalarType::I32,
            "u64" => ScalarType::U64,
            "u32" => ScalarType::U32,
            _ => ScalarType::I16,
        };
        let most: i128 = match all {
            ScalarType::I64 => i128::from(i64::MAX),
            ScalarType::U64 => i128::from(u64::MAX),
            ScalarType::I32 => i128::from(i32::MAX),
            ScalarType::U32 => i128::from(u32::MAX),
            _ => i128::from(i16::MAX),
        };
        for n in [0usize, 1, 7, 64, 133] {
            let xs: Vec<i128> = (0..n as i128).map(|k| if k % 11 == 10 { most - k } else { k * 3 + 1 }).collect();
            for from in [0, 1, 2, 41] {
                let from = crate::common::numbers(all, &[], &[from]);
                agree(&text, &[crate::common::numbers(all, &[n], &xs), from]);
            }
        }
    }
}
