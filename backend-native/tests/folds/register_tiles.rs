//! Folds in register tiles: over rows that lanes read packed, and over a long outer axis, in blocks.

use crate::common::{Rng, array, native, parse, reference, same};
use acc_core::data::{ArrayData, Column, EltType, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::Native;

/// Extents: points, centres, dimensions.
const SIZES: [[usize; 3]; 12] = [
    [0, 25, 10],
    [70, 25, 0],
    [9, 3, 1],
    [70, 5, 35],
    [33, 25, 10],
    [101, 16, 63],
    [40, 17, 64],
    [13, 130, 300],
    [30, 8, 4097],
    [700, 4, 9],
    [3000, 3, 70],
    [40_000, 5, 7],
];

fn floats(shape: [usize; 2], r: &mut Rng) -> ArrayData {
    numbers(&shape, r)
}

fn numbers(shape: &[usize], r: &mut Rng) -> ArrayData {
    let values = (0..shape.iter().product()).map(|_| (r.next() % 2000) as f32 / 1000.0 - 0.9).collect();
    ArrayData::new(shape.iter().copied(), ScalarType::F32.into(), [Column::from_vec(values)]).unwrap()
}

/// The same bits on any number of threads and over tiles, and near the interpreter's.
fn agrees(text: &str, args: &[ArrayData]) {
    let program = parse(text);
    let want = native(&program, args).unwrap();
    let mut backends: Vec<Native> = [1, 2, 7].map(|n| Native::with_threads(n).unwrap()).into();
    backends.extend([Native::tiles(), Native::compiled()]);
    for b in &backends {
        let got = b.run_untyped(&program, args, &RunLimits::none()).unwrap();
        for (w, g) in want.iter().zip(&got) {
            same(w, g, 0.0).unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
    for (w, g) in reference(&program, args).unwrap().iter().zip(&want) {
        same(w, g, 1e-3).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

#[test]
fn distances_of_points_from_centres() {
    let text = "program(x: [2]f32, c: [2]f32, s: [2]f32) {
        p: [3]f32 = generate(shape: || (extent(x, 0), extent(c, 0), extent(c, 1)),
          f: |%i: i64, %k: i64, %j: i64| { %t: f32 = mul(sub(x[%i, %j], c[%k, %j]), s[%k, %j]) yield mul(%t, %t) })
        d: [2]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.25f32)
        q: [2]f32 = map(d, f: |%d: f32| mul(%d, 0.5f32))
        yield d, q
      }";
    let mut r = Rng(3);
    for [n, k, d] in SIZES {
        agrees(text, &[floats([n, d], &mut r), floats([k, d], &mut r), floats([k, d], &mut r)]);
    }
}

#[test]
fn other_types_and_operators() {
    let mut r = Rng(4);
    for (ty, of, by) in [("i32", "sub", "max"), ("f64", "sub", "min"), ("u8", "xor", "add"), ("i64", "add", "mul")] {
        let text = format!(
            "program(x: [2]{ty}, c: [2]{ty}) {{
               p: [3]{ty} = generate(shape: || (extent(x, 0), extent(c, 0), extent(c, 1)),
                 f: |%i: i64, %k: i64, %j: i64| {of}(x[%i, %j], c[%k, %j]))
               d: [2]{ty} = fold(p, f: |%x: {ty}, %y: {ty}| {by}(%x, %y), init: || 3{ty})
               yield d
             }}"
        );
        let elt: EltType = parse(&text).param_types().next().unwrap().elt.clone();
        for [n, k, d] in SIZES {
            agrees(&text, &[array(&[n, d], &elt, &mut r), array(&[k, d], &elt, &mut r)]);
        }
    }
}

#[test]
fn batches_and_pairs() {
    let text = "program(x: [3](i32, i64), c: [3](i32, i64)) {
        p: [4](i32, i64) = generate(shape: || (extent(x, 0), extent(x, 1), extent(c, 1), extent(c, 2)),
          f: |%b: i64, %i: i64, %k: i64, %j: i64| {
            %a: i32, %s: i64 = x[%b, %i, %j]
            %d: i32, %t: i64 = c[%b, %k, %j]
            yield mul(%a, %d), add(%s, %t) })
        d: [3](i32, i64) = fold1(p, f: |%x: i32, %s: i64, %y: i32, %t: i64| (add(%x, %y), max(%s, %t)))
        yield d
      }";
    let elt = parse(text).param_types().next().unwrap().elt.clone();
    let mut r = Rng(5);
    for [n, k, d] in [[30, 25, 10], [70, 5, 35], [40, 20, 70]] {
        agrees(text, &[array(&[3, n, d], &elt, &mut r), array(&[3, k, d], &elt, &mut r)]);
    }
}

#[test]
fn sums_over_points() {
    let text = "program(x: [2]f32, c: [2]f32, w: [2]f32) {
        p: [3]f32 = generate(shape: || (extent(c, 0), extent(c, 1), extent(x, 0)),
          f: |%k: i64, %j: i64, %i: i64| mul(w[%i, %k], sub(x[%i, %j], c[%k, %j])))
        d: [2]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 1.5f32)
        m: [2]f32 = fold1(p, f: |%x: f32, %y: f32| max(%x, %y))
        yield d, m
      }";
    let mut r = Rng(6);
    for [n, k, d] in SIZES.into_iter().filter(|[n, ..]| *n > 0) {
        agrees(text, &[floats([n, d], &mut r), floats([k, d], &mut r), floats([n, k], &mut r)]);
    }
}

/// Where guards hold at all points the kernel runs without them.
#[test]
fn sums_over_a_part() {
    let text = "program(x: [2]f32, c: [2]f32, m: [2]f32, w: [2]f32) {
        p: [3]f32 = generate(shape: || (extent(c, 0), extent(c, 1), extent(x, 0)),
          f: |%k: i64, %j: i64, %i: i64| {
            %there: bool = and(lt(%k, extent(m, 0)), lt(%j, extent(m, 1)))
            %y: f32 = if %there { yield mul(w[%i, %k], sub(x[%i, %j], m[%k, %j])) } else { yield 0.0f32 }
            yield %y })
        d: [2]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        q: [2]f32 = map(d, f: |%d: f32| mul(%d, 0.5f32))
        yield d, q
      }";
    let mut r = Rng(7);
    for [n, k, d] in SIZES {
        for [shorter, narrower] in [[0, 0], [1, 0], [0, 1]] {
            let m = [k - shorter, d.saturating_sub(narrower)];
            let args = [floats([n, d], &mut r), floats([k, d], &mut r), floats(m, &mut r), floats([n, k], &mut r)];
            agrees(text, &args);
        }
    }
}

/// Tiles have as many rows and vectors as suit the extents, and short folded loops are unrolled: more shapes than there are codes.
#[test]
fn windows_of_any_shape() {
    let text = "program(x: [3]f32, k: [4]f32) {
        p: [6]f32 = generate(shape: || (extent(k, 0), sub(extent(x, 1), sub(extent(k, 2), 1i64)),
            sub(extent(x, 2), sub(extent(k, 3), 1i64)), extent(k, 1), extent(k, 2), extent(k, 3)),
          f: |%o: i64, %y: i64, %z: i64, %c: i64, %r: i64, %s: i64| mul(x[%c, add(%y, %r), add(%z, %s)], k[%o, %c, %r, %s]))
        a: [5]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        b: [4]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        c: [3]f32 = fold(b, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        d: [3]f32 = map(c, f: |%d: f32| mul(%d, 0.5f32))
        yield d
      }";
    let mut r = Rng(8);
    let shapes = [
        ([6, 1, 5, 5], [1, 28, 28]),
        ([12, 6, 5, 5], [6, 12, 12]),
        ([5, 3, 3, 3], [3, 10, 7]),
        ([7, 2, 1, 9], [2, 4, 41]),
        ([9, 4, 3, 17], [4, 5, 49]),
        ([1, 1, 2, 2], [1, 9, 90]),
        ([13, 17, 1, 1], [17, 3, 33]),
        ([3, 40, 7, 2], [40, 8, 3]),
        ([20, 2, 4, 4], [2, 4, 100]),
    ];
    for (k, x) in shapes {
        agrees(text, &[numbers(&x, &mut r), numbers(&k, &mut r)]);
    }
    // One program with all of them, so that later ones find the codes of earlier ones.
    let (program, run) = (parse(text), Native::compiled());
    for (k, x) in shapes.into_iter().chain(shapes.into_iter().rev()) {
        let args = [numbers(&x, &mut r), numbers(&k, &mut r)];
        let want = Native::tiles().run_untyped(&program, &args, &RunLimits::none()).unwrap();
        let got = run.run_untyped(&program, &args, &RunLimits::none()).unwrap();
        same(&want[0], &got[0], 0.0).unwrap();
    }
}

/// Products of few terms go to tiles, too, whatever the order of the axes.
#[test]
fn small_products() {
    let mut r = Rng(9);
    for (read, batch) in [("u[%e, %x, %k]", 9usize), ("u[%e, %k, %x]", 9), ("u[%k, %e, %x]", 5)] {
        let text = format!(
            "program(a: [2]f32, u: [3]f32) {{
               p: [4]f32 = generate(shape: || ({batch}i64, extent(a, 0), 11i64, extent(a, 1)),
                 f: |%e: i64, %y: i64, %x: i64, %k: i64| mul(a[%y, %k], {read}))
               d: [3]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
               yield d
             }}"
        );
        for [m, k] in [[7, 7], [5, 15], [40, 16], [33, 70]] {
            let u = if read == "u[%e, %x, %k]" {
                [9, 11, k]
            } else if batch == 9 {
                [9, k, 11]
            } else {
                [k, 5, 11]
            };
            agrees(&text, &[numbers(&[m, k], &mut r), numbers(&u, &mut r)]);
        }
    }
}

/// Where a condition does not hold nothing is read, although tiles read ahead what all their rows share.
#[test]
fn guarded_windows() {
    let text = "program(d: [4]f32, k: [4]f32, n: [0]i64, m: [0]i64) {
        p: [7]f32 = generate(shape: || (extent(d, 0), extent(k, 1), n[], m[], extent(d, 1), extent(k, 2), extent(k, 3)),
          f: |%n: i64, %i: i64, %y: i64, %z: i64, %o: i64, %r: i64, %c: i64| {
            %a: i64 = sub(%y, %r)
            %b: i64 = sub(%z, %c)
            %rows: bool = and(ge(%a, 0i64), lt(%a, extent(d, 2)))
            %columns: bool = and(ge(%b, 0i64), lt(%b, extent(d, 3)))
            %v: f32 = if and(and(%rows, %columns), lt(%o, extent(k, 0))) {
              yield mul(d[%n, %o, %a, %b], k[%o, %i, %r, %c])
            } else { yield 0.0f32 }
            yield %v })
        a: [6]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        b: [5]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        c: [4]f32 = fold(b, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        yield c
      }";
    let mut r = Rng(10);
    let extent = |n: usize| ArrayData::new([], ScalarType::I64.into(), [Column::from_vec(vec![n as i64])]).unwrap();
    for (d, k, n, m) in [
        ([2, 4, 8, 8], [4, 6, 5, 5], 12, 12),
        ([3, 5, 6, 20], [5, 3, 3, 3], 8, 22),
        // More channels than there are filters.
        ([2, 9, 8, 17], [7, 4, 2, 3], 9, 19),
        ([1, 2, 3, 40], [2, 1, 1, 20], 3, 5),
        ([2, 3, 0, 4], [3, 2, 2, 2], 1, 5),
    ] {
        agrees(text, &[numbers(&d, &mut r), numbers(&k, &mut r), extent(n), extent(m)]);
    }
}

/// Tiles of rows along two axes where the results of a vector are short, with all numbers of rows left over; and the next elements
/// prefetched where rows are short.
#[test]
fn grouped_convolutions_and_matrices_along_axes() {
    let convolution = "program(x: [4]f32, w: [4]f32) {
        p: [7]f32 = generate(shape: || (extent(x, 0), extent(w, 0), sub(extent(x, 2), 2i64), sub(extent(x, 3), 2i64), extent(x, 1), 3i64, 3i64),
          f: |%n: i64, %f: i64, %y: i64, %z: i64, %c: i64, %p: i64, %q: i64| mul(x[%n, %c, add(%y, %p), add(%z, %q)], w[%f, %c, %p, %q]))
        a: [6]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        b: [5]f32 = fold(a, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        c: [4]f32 = fold(b, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        yield c
      }";
    let mut r = Rng(9);
    for [n, c, f, y, z] in [[2, 9, 32, 7, 7], [3, 8, 5, 4, 8], [2, 11, 7, 9, 3], [2, 8, 1, 1, 1], [1, 8, 13, 6, 5]] {
        agrees(convolution, &[numbers(&[n, c, y + 2, z + 2], &mut r), numbers(&[f, c, 3, 3], &mut r)]);
    }
    let along = "program(u: [4]f32, a: [2]f32) {
        p: [5]f32 = generate(shape: || (extent(u, 0), extent(a, 0), extent(u, 2), extent(u, 3), extent(u, 1)),
          f: |%e: i64, %x: i64, %j: i64, %k: i64, %i: i64| mul(a[%x, %i], u[%e, %i, %j, %k]))
        t: [4]f32 = fold(p, f: |%x: f32, %y: f32| add(%x, %y), init: || 0.0f32)
        yield t
      }";
    for [e, n] in [[300, 7], [100, 13], [50, 3], [9, 20]] {
        agrees(along, &[numbers(&[e, n, n, n], &mut r), numbers(&[n, n], &mut r)]);
    }
}
