//! Comparisons of indices with bounds: of lane numbers with the first lane that reaches them.

use crate::common::{agree, int};
use acc_core::data::{ArrayData, Column, ScalarType};

const COMPARISONS: [&str; 6] = ["lt", "le", "gt", "ge", "eq", "ne"];
/// Bounds within rows of 70, at their ends, beyond them, and as far as integers go.
const BOUNDS: [i64; 12] = [0, 1, 2, 15, 16, 35, 69, 70, -1, 1000, i64::MAX, i64::MIN];

/// A matrix of different numbers.
fn matrix(rows: i64, columns: i64) -> ArrayData {
    let values = Column::from_vec((0..rows * columns).map(|k| k * k).collect());
    ArrayData::new([rows as usize, columns as usize], ScalarType::I64.into(), [values]).unwrap()
}

#[test]
fn along_a_row() {
    for p in COMPARISONS {
        for (index, bound) in [
            ("%j", "%n"),
            ("%n", "%j"),
            ("sub(69i64, %j)", "%n"),
            ("add(%j, 3i64)", "%n"),
            ("sub(%j, %n)", "7i64"),
            ("add(%j, %i)", "%n"),
            ("quot(%j, 2i64)", "%n"),
            ("%n", "div_floor(add(%j, 5i64), 3i64)"),
            ("quot(add(%j, mul(%i, 7i64)), 40i64)", "%n"),
            ("quot(sub(%j, 9i64), 4i64)", "%n"),
        ] {
            let text = format!(
                "program(n: [0]i64, x: [2]i64) {{
                   a: [2]i64 = generate(shape: || (3i64, 70i64), f: |%i: i64, %j: i64| {{
                     %n: i64 = n[]
                     %c: bool = {p}({index}, {bound})
                     %v: i64 = if %c {{ yield x[%i, %j] }} else {{ yield sub(%j, %i) }}
                     yield %v }})
                   yield a
                 }}"
            );
            for n in BOUNDS {
                agree(&text, &[int(n), matrix(3, 70)]);
            }
        }
    }
}

/// What a condition guards is read where it holds, and a fault elsewhere stays one.
#[test]
fn guarded_reads() {
    let text = "program(n: [0]i64, x: [2]i64) {
        a: [2]i64 = generate(shape: || (extent(x, 0), extent(x, 1)), f: |%i: i64, %j: i64| {
          %left: i64 = if ge(%j, n[]) { yield x[%i, sub(%j, n[])] } else { yield -1i64 }
          %right: i64 = if lt(add(%j, 2i64), extent(x, 1)) { yield x[%i, add(%j, 2i64)] } else { yield -2i64 }
          %above: i64 = if gt(%i, 0i64) { yield x[sub(%i, 1i64), %j] } else { yield -3i64 }
          yield add(%left, add(mul(%right, 3i64), mul(%above, 5i64))) })
        yield a
      }";
    for columns in [1, 2, 3, 31, 32, 33, 100] {
        // The last one reads beyond the row where there is one.
        for n in [1, 2, 17, columns, columns + 1, -1] {
            agree(text, &[int(n), matrix(4, columns)]);
        }
    }
}
