//! Reads at quotients of indices, which take each element several times.

use crate::common::{Rng, agree, array, int, parse};
use acc_core::data::ScalarType;
use acc_core::exec::Ready;
use backend_native::Native;

/// An index along the lanes and a divisor.
fn quotient(r: &mut Rng) -> String {
    let by = [2, 2, 2, 3, 4, 8, 16, 64, 1][r.next() as usize % 9];
    let of =
        ["%j", "%j", "%j", "add(%j, 1i64)", "add(%j, 2i64)", "add(%j, %i)", "add(%j, mul(%i, 4i64))", "sub(%j, 1i64)"];
    let p = ["quot", "div_floor"][r.next() as usize % 2];
    format!("{p}({}, {by}i64)", of[r.next() as usize % of.len()])
}

/// A program with three such reads: as they are, under a condition that often bounds them, and under another one.
fn program(r: &mut Rng, ty: &str) -> String {
    let [a, b, c] = [(); 3].map(|()| quotient(r));
    let p = ["lt", "ge", "le", "gt", "eq", "ne"][r.next() as usize % 6];
    format!(
        "program(xs: [2]{ty}, ys: [1]{ty}, n: [0]i64) {{
           a: [2]{ty} = generate(shape: || (extent(xs, 0), n[]), f: |%i: i64, %j: i64| {{
             %a: i64 = {a}
             %b: i64 = {b}
             %c: i64 = {c}
             %u: {ty} = if lt(%a, extent(xs, 1)) {{ yield xs[%i, %a] }} else {{ yield ys[quot(%i, 2i64)] }}
             %v: {ty} = if and(ge(%b, 0i64), lt(%b, extent(ys, 0))) {{ yield ys[%b] }} else {{ yield %u }}
             %w: {ty} = if {p}(%c, %a) {{ yield xs[%i, %c] }} else {{ yield %v }}
             %z: {ty} = if {p}(%i, 2i64) {{ yield %w }} else {{ yield ys[%b] }}
             yield min(max(%u, %v), max(%w, %z))
           }})
           yield a
         }}"
    )
}

#[test]
fn quotients_read_each_element_several_times() {
    let mut r = Rng(7);
    for k in 0..150 {
        let ty = ["f32", "f64", "i64", "u8", "i16", "f16", "u32"][k % 7];
        let text = program(&mut r, ty);
        let elt = parse(&text).param_types().next().unwrap().elt.clone();
        for n in [1, 7, 16, 24, 33, 100, 300] {
            // Sometimes all that is asked for is there.
            let columns = [n as usize + 2, (n as usize).div_ceil(2), 5][r.next() as usize % 3];
            let xs = array(&[3, columns], &elt, &mut r);
            let ys = array(&[n as usize + 2], &elt, &mut r);
            agree(&text, &[xs, ys, int(n)]);
        }
    }
}

/// A part of a row is asked for that begins within an element, and rows are too long by one.
#[test]
fn ends_of_rows() {
    let text = "program(x: [1]f32, n: [0]i64) {
        a: [1]f32 = generate(shape: || (n[]), f: |%i: i64| x[quot(%i, 2i64)])
        b: [1]f32 = backpermute(a, shape: || (sub(n[], 3i64)), index: |%i: i64| add(%i, 3i64))
        c: [1]f32 = scanl1(b, f: |%x: f32, %y: f32| max(%x, %y))
        yield a, c
      }";
    let mut r = Rng(3);
    for elements in [4, 16, 50, 1000] {
        let x = array(&[elements], &ScalarType::F32.into(), &mut r);
        for n in 2 * elements as i64 - 3..=2 * elements as i64 + 1 {
            agree(text, &[x.clone(), int(n)]);
        }
    }
}

#[test]
fn explain_tells_how_often_elements_are_read() {
    let text = "program(x: [2]f32) {
        a: [2]f32 = generate(shape: || (extent(x, 0), mul(extent(x, 1), 2i64)), f: |%i: i64, %j: i64| {
          %k: i64 = quot(%j, 2i64)
          %v: f32 = if lt(%k, extent(x, 1)) { yield x[%i, %k] } else { yield 0.0f32 }
          yield mul(%v, 0.25f32)
        })
        yield a
      }";
    let explained = Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain().to_string();
    assert!(explained.contains("repeated 2 times"), "{explained}");
}
