//! Folds of columns that are long enough to be folded in blocks.

use crate::common::{Rng, agree, agree_within, array, parse, reference};
use acc_core::data::{ArrayData, Column, EltType, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};

/// Columns of a matrix, folded.
fn columns(ty: &str, combine: &str, init: &str) -> String {
    let fold = if init.is_empty() { "fold1" } else { "fold" };
    format!(
        "program(a: [2]{ty}) {{
           t: [2]{ty} = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
           r: [1]{ty} = {fold}(t, f: |%x: {ty}, %y: {ty}| {combine}(%x, %y){init})
           yield r
         }}"
    )
}

/// Extents around those of blocks and vectors: columns by elements of each.
const SHAPES: [(usize, usize); 6] = [(6, 22_000), (7, 30_001), (16, 9_001), (65, 2_048), (100, 1_500), (1_030, 513)];

#[test]
fn known_operations_with_and_without_an_initial_value() {
    let mut r = Rng(11);
    for (width, length) in SHAPES {
        for (ty, combine, init) in [
            ("i32", "add", ", init: || 7i32"),
            ("i64", "max", ""),
            ("u8", "mul", ", init: || 1u8"),
            ("f64", "min", ""),
            ("i16", "xor", ", init: || 3i16"),
        ] {
            let text = columns(ty, combine, init);
            let elt = parse(&text).param_types().next().unwrap().elt.clone();
            agree(&text, &[array(&[length, width], &elt, &mut r)]);
        }
    }
}

#[test]
fn leaves_by_operations_of_their_own_and_siblings() {
    let text = "program(a: [2]f32) {
        t: [2]f32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
        u: [2](f32, f32, i64) = imap(t, f: |%i: i64, %j: i64, %x: f32| (%x, mul(%x, %x), rem(%j, 1000i64)))
        r: [1](f32, f32, i64) = fold(u, init: || (0.0f32, 0.0f32, 5i64),
          f: |%a: f32, %b: f32, %c: i64, %x: f32, %y: f32, %z: i64| (add(%a, %x), add(%b, %y), max(%c, %z)))
        s: [1]f32 = fold1(t, f: |%x: f32, %y: f32| max(%x, %y))
        d: [1]f32 = map(r, s, f: |%a: f32, %b: f32, %c: i64, %s: f32| sub(sub(%b, %a), mul(%s, cast(%c, f32))))
        yield r, d
      }";
    for (width, length) in SHAPES {
        let n = width * length;
        let floats: Vec<f32> = (0..n).map(|k| ((k * 37) % 101) as f32 / 64.0 - 0.25).collect();
        let a = ArrayData::new([length, width], ScalarType::F32.into(), [Column::from_vec(floats)]).unwrap();
        agree_within(text, &[a], 1e-3);
    }
}

#[test]
fn operations_that_are_not_known() {
    // The first maximum and its position; and a non-commutative operator whose initial value is not neutral.
    let text = "program(a: [2]i32) {
        t: [2](i32, i64) = generate(shape: || (extent(a, 1), extent(a, 0)), f: |%i: i64, %j: i64| (a[%j, %i], %j))
        m: [1](i32, i64) = fold1(t, f: |%x: i32, %i: i64, %y: i32, %j: i64|
          if lt(%x, %y) { yield %y, %j } else { yield %x, %i })
        u: [2]i32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
        l: [1]i32 = fold(u, f: |%x: i32, %y: i32| select(ne(%y, 3i32), %y, %x), init: || 3i32)
        yield m, l
      }";
    let mut r = Rng(23);
    for (width, length) in SHAPES {
        agree(text, &[array(&[length, width], &ScalarType::I32.into(), &mut r)]);
    }
}

#[test]
fn few_matrices_side_by_side() {
    let text = "program(a: [3]i32) {
        t: [3]i32 = backpermute(a, shape: || (extent(a, 0), extent(a, 2), extent(a, 1)),
          index: |%k: i64, %i: i64, %j: i64| (%k, %j, %i))
        r: [2]i32 = fold(t, f: |%x: i32, %y: i32| add(%x, %y), init: || 0i32)
        yield r
      }";
    let mut r = Rng(5);
    for shape in [[1, 2_000, 70], [3, 1_000, 65], [15, 700, 40], [20, 700, 40]] {
        agree(text, &[array(&shape, &ScalarType::I32.into(), &mut r)]);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let text = columns("f32", "add", ", init: || 0.5f32");
    let program = parse(&text);
    for (width, length) in SHAPES {
        let args = [array(&[length, width], &EltType::from(ScalarType::F32), &mut Rng(3))];
        let want = Native::tiles().run_untyped(&program, &args, &RunLimits::none()).unwrap();
        for threads in [1, 2, 3, 7, 16] {
            let options = Options::new().threads(threads).compile(Compile::Now);
            let got = Native::with(options).unwrap().run_untyped(&program, &args, &RunLimits::none()).unwrap();
            crate::common::same(&want[0], &got[0], 0.0)
                .unwrap_or_else(|e| panic!("{width} by {length}, {threads}: {e}"));
        }
    }
}

#[test]
fn the_fault_is_the_first_one_in_order() {
    // The second column faults in the first block, the first one in the last.
    let text = "program(a: [2]i64, v: [1]i64) {
        t: [2]i64 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
        u: [2]i64 = map(t, f: |%x: i64| v[%x])
        r: [1]i64 = fold(u, f: |%x: i64, %y: i64| add(%x, %y), init: || 0i64)
        yield r
      }";
    let (width, length) = (70, 2_000);
    let mut at = vec![0i64; width * length];
    (at[3 * width + 1], at[(length - 2) * width]) = (1_000, 2_000);
    let at = ArrayData::new([length, width], ScalarType::I64.into(), [Column::from_vec(at)]).unwrap();
    let v = ArrayData::new([4], ScalarType::I64.into(), [Column::from_vec(vec![1i64, 2, 3, 4])]).unwrap();
    let (program, args) = (parse(text), [at, v]);
    let want = reference(&program, &args).unwrap_err().to_string();
    assert!(want.contains("2000"), "{want}");
    for native in [Native::tiles(), Native::compiled(), Native::with_threads(3).unwrap()] {
        assert_eq!(native.run_untyped(&program, &args, &RunLimits::none()).unwrap_err().to_string(), want);
    }
}
