//! Loops that points of several axes leave at different iterations: computed several rows at a time.

use crate::common::{agree, agree_within, ints, parse};
use acc_core::exec::Ready;
use backend_native::Native;

/// Extents around the number of rows at a time, and the least number of rows.
const SHAPES: [&[i64]; 7] = [&[32, 16], &[35, 17], &[33, 70], &[31, 100], &[65, 1], &[3, 11, 20], &[2, 2, 9, 19]];

/// A program over an index space: `R` stands for its rank, `EXTENTS` for its extents, `AXES` for its parameters, `SUM`
/// for their sum with different weights.
fn over(extents: &[i64], text: &str) -> String {
    let shape: Vec<String> = extents.iter().map(|n| format!("{n}i64")).collect();
    let axes: Vec<String> = (0..extents.len()).map(|k| format!("%a{k}: i64")).collect();
    let sum = (0..extents.len()).fold("0i64".to_string(), |sum, k| format!("add(mul({sum}, 7i64), %a{k})"));
    let text = text.replace("[R]", &format!("[{}]", extents.len()));
    text.replace("EXTENTS", &format!("({})", shape.join(", "))).replace("AXES", &axes.join(", ")).replace("SUM", &sum)
}

#[test]
fn iterations_are_counted_at_each_point() {
    // Collatz sequences: the number of steps to 1, and the greatest number in between.
    for ty in ["i32", "i64", "u32", "u64"] {
        let text = "program() {
          a: [R](T, T) = generate(shape: || EXTENTS, f: |AXES| {
            %from: T = add(cast(SUM, T), cast(1i64, T))
            %x: T, %k: T, %most: T = while (%from, cast(0i64, T), %from)
              test |%x: T, %k: T, %most: T| { yield ne(%x, cast(1i64, T)) }
              step |%x: T, %k: T, %most: T| {
                %odd: bool = eq(and(%x, cast(1i64, T)), cast(1i64, T))
                %next: T = select(%odd, add(mul(%x, cast(3i64, T)), cast(1i64, T)), shr(%x, cast(1i64, T)))
                yield %next, add(%k, cast(1i64, T)), max(%most, %next) }
            yield %k, %most
          })
          yield a
        }";
        for shape in SHAPES {
            let rank = shape.len().to_string();
            let text =
                over(shape, text).replace("n, most: [R](T, T)", "a: [R](T, T)").replace("yield n, most", "yield a");
            agree(&text.replace("[R]", &format!("[{rank}]")).replace('T', ty), &[]);
        }
    }
}

#[test]
fn loops_of_floats_with_loops_inside() {
    for ty in ["f32", "f64"] {
        let text = "program() {
          a: [R](T, bool, u8) = generate(shape: || EXTENTS, f: |AXES| {
            %c: T = mul(cast(SUM, T), 0.0625T)
            %x: T, %k: i32 = while (%c, 0i32)
              test |%x: T, %k: i32| { yield and(gt(%x, 1.0T), lt(%k, 40i32)) }
              step |%x: T, %k: i32| {
                %y: T, %j: i32 = while (%x, 0i32)
                  test |%y: T, %j: i32| { yield and(gt(%y, 2.0T), lt(%j, 3i32)) }
                  step |%y: T, %j: i32| { yield mul(%y, 0.75T), add(%j, 1i32) }
                %z: T = if gt(%y, 3.0T) { yield sub(%y, sqrt(%y)) } else { yield mul(%y, 0.5T) }
                yield %z, add(%k, add(%j, 1i32)) }
            yield %x, lt(%x, 0.75T), cast(%k, u8)
          })
          yield a
        }";
        for shape in SHAPES {
            agree_within(&over(shape, text).replace('T', ty), &[], 1e-4);
        }
    }
}

/// Follows links until one leads to itself, at most `LIMIT` steps, with a division at each step.
const LINKS: &str = "program(next: [1]i64) {
    a: [R]i64 = generate(shape: || EXTENTS, f: |AXES| {
      %at: i64, %k: i64 = while (rem(SUM, extent(next, 0)), 1i64)
        test |%at: i64, %k: i64| { yield and(ne(next[%at], %at), lt(%k, 50i64)) }
        step |%at: i64, %k: i64| { yield add(next[%at], quot(0i64, sub(%k, LIMIT))), add(%k, 1i64) }
      yield add(mul(%at, 100i64), %k)
    })
    yield a
  }";

#[test]
fn reads_in_loops_and_what_stops_them() {
    for shape in SHAPES {
        let text = over(shape, LINKS);
        let links = |wrong: Option<usize>| {
            let mut to: Vec<i64> = (0..64).map(|k| (k * 37 + 11) % 64).collect();
            to[5] = 5;
            wrong.into_iter().for_each(|k| to[k] = 64);
            ints(&to)
        };
        let endless = text.replace("LIMIT", "1000i64");
        agree(&endless, &[links(None)]);
        agree(&endless, &[links(Some(20))]);
        agree(&text.replace("LIMIT", "17i64"), &[links(None)]);
        agree(&text.replace("LIMIT", "9i64"), &[links(Some(63))]);
    }
}

#[test]
fn several_rows_at_once_where_lanes_leave_at_different_iterations_and_nothing_is_read_along_them() {
    let is_multi_row = |text: &str| {
        let ready = Ready::new(&Native::compiled(), &parse(text)).unwrap();
        ready.prepared().listing().lines().any(|line| line == "MultiRow:")
    };
    let text = |start: &str, test: &str| {
        format!(
            "program(b: [2]i64) {{
               a: [2]i64 = generate(shape: || (20i64, 30i64), f: |%i: i64, %j: i64| {{
                 %x: i64, %k: i64 = while ({start}, 0i64)
                   test |%x: i64, %k: i64| {{ yield {test} }}
                   step |%x: i64, %k: i64| {{ yield quot(%x, 3i64), add(%k, 1i64) }}
                 yield add(%x, %k)
               }})
               yield a
             }}"
        )
    };
    assert!(is_multi_row(&text("add(mul(%i, 1000i64), %j)", "gt(%x, 10i64)")));
    assert!(!is_multi_row(&text("add(mul(%i, 1000i64), %j)", "lt(%k, 10i64)")), "all lanes leave at once");
    assert!(!is_multi_row(&text("b[%i, %j]", "gt(%x, 10i64)")), "reads along rows");
}
