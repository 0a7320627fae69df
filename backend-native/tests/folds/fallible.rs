//! Folds and scans of long rows with operators that may fault: split into chunks like others, and the first fault in
//! order is reported.

use crate::common::{
    Rng, agree, agree_within, array, int, ints, native, numbers, parse, reference, same, same_outcome,
};
use acc_core::Executor;
use acc_core::RunLimits;
use acc_core::data::{ArrayData, ScalarType};
use acc_core::exec::Ready;
use backend_native::{Compile, Native, Options};

/// Rows and their lengths, around those of vectors, groups, steps, blocks and chunks.
const SHAPES: [(usize, usize); 13] = [
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 7),
    (3, 65),
    (2, 129),
    (1, 1023),
    (1, 1025),
    (3, 1056),
    (70, 100),
    (1, 3 * 1024 + 17),
    (2, (1 << 15) + 1),
    (1, 140_003),
];

/// A part of the shapes, which differs by type; one type has all.
fn shapes(of: ScalarType) -> impl Iterator<Item = (usize, usize)> {
    SHAPES.into_iter().filter(move |(rows, row)| of == ScalarType::U32 || rows * row < 5000)
}

/// The folds and scans with an operator over elements of a type.
fn all_with(ty: &str, init: &str, f: &str) -> String {
    "program(a: [2]T, t: [1]T, m: [0]T) {
       r: [1]T = fold(a, OP, init: || INIT)
       s: [2]T = scanl1(a, OP)
       u: [2]T = scanr1(a, OP)
       v: [2]T = scanl(a, OP, init: || INIT)
       w: [2]T = scanr(a, OP, init: || INIT)
       x: [2]T = map(s, f: |%x: T| add(%x, ONE))
       yield r, s, u, v, w, x
     }"
    .replace("OP", &format!("f: |%a: T, %b: T| {{ {f} }}"))
    .replace("INIT", init)
    .replace("ONE", &format!("1{ty}"))
    .replace('T', ty)
}

/// Random bits, all odd except at the given positions.
fn odd(ty: ScalarType, shape: [usize; 2], even: &[usize], r: &mut Rng) -> ArrayData {
    let n = shape[0] * shape[1];
    let xs: Vec<i128> = (0..n).map(|k| if even.contains(&k) { 0 } else { i128::from(r.next() | 1) }).collect();
    numbers(ty, &shape, &xs)
}

const INTEGERS: [(&str, ScalarType); 4] =
    [("u8", ScalarType::U8), ("i16", ScalarType::I16), ("u32", ScalarType::U32), ("i64", ScalarType::I64)];

#[test]
fn sums_modulo_a_constant_and_a_variable() {
    let mut r = Rng(3);
    for (ty, of) in INTEGERS {
        for (divisor, m) in [(format!("61{ty}"), 1), ("m[]".to_string(), 61), ("m[]".to_string(), 0)] {
            let reduced = |x: &str| format!("mod_floor(%{x}, {divisor})");
            let f =
                format!("%x: T = {} %y: T = {} yield mod_floor(add(%x, %y), {divisor})", reduced("a"), reduced("b"));
            let text = all_with(ty, &format!("5{ty}"), &f);
            for (rows, row) in shapes(of) {
                let a = array(&[rows, row], &of.into(), &mut r);
                agree(&text, &[a, numbers(of, &[1], &[7]), numbers(of, &[], &[m])]);
            }
        }
    }
}

/// A product of bits that faults where none is left, in any order of combination.
#[test]
fn a_fault_anywhere_is_told_as_that_of_the_first_application() {
    let mut r = Rng(5);
    let f = "%c: T = and(%a, %b) %q: T = quot(%c, %c) yield sub(add(%c, %q), 1T)";
    for (ty, of) in INTEGERS {
        let text = all_with(ty, &format!("-1{ty}").replace("-1u", "255u"), f);
        for (rows, row) in shapes(of) {
            let n = rows * row;
            for even in [vec![], vec![0], vec![n / 2, n.saturating_sub(3)], vec![n.saturating_sub(1)]] {
                let a = odd(of, [rows, row], &even, &mut r);
                agree(&text, &[a, numbers(of, &[1], &[7]), numbers(of, &[], &[0])]);
            }
        }
    }
}

#[test]
fn operators_that_read() {
    let mut r = Rng(7);
    let f = "%c: T = or(%a, %b) %x: T = t[cast(%c, i64)] yield add(%c, xor(%x, %x))";
    for (ty, of) in INTEGERS {
        let text = all_with(ty, &format!("0{ty}"), f);
        for (rows, row) in shapes(of) {
            let xs: Vec<i128> = (0..rows * row).map(|_| i128::from(r.next() % 64)).collect();
            for len in [64, 60, 0] {
                let t = numbers(of, &[len], &vec![3; len]);
                agree(&text, &[numbers(of, &[rows, row], &xs), t, numbers(of, &[], &[0])]);
            }
        }
    }
}

/// Operators that would not end if applied to lanes that no result depends on: to garbage, and to elements that are not
/// adjacent.
#[test]
fn loops_that_end_for_neighbours_alone() {
    // The greater of two powers of two, found by doubling.
    let f = "%g: T = while (%a) test |%g: T| { yield lt(%g, %b) } step |%g: T| { yield mul(%g, 2T) }
             yield %g";
    let mut r = Rng(9);
    let text = all_with("u32", "1u32", f);
    for (rows, row) in SHAPES {
        let xs: Vec<i128> = (0..rows * row).map(|_| 1 << (r.next() % 20)).collect();
        let a = numbers(ScalarType::U32, &[rows, row], &xs);
        agree(&text, &[a, numbers(ScalarType::U32, &[1], &[7]), numbers(ScalarType::U32, &[], &[0])]);
    }
    // Consecutive positions: it counts from the end of the first range to the start of the second.
    let runs = "program(a: [2]i64) {
        p: [2](i64, i64) = imap(a, f: |%i: i64, %j: i64, %x: i64| (%j, add(%j, 1i64)))
        r: [1](i64, i64) = fold1(p, OP)
        s: [2](i64, i64) = scanl1(p, OP)
        t: [2](i64, i64) = scanr1(p, OP)
        yield r, s, t
      }"
    .replace(
        "OP",
        "f: |%a: i64, %b: i64, %c: i64, %d: i64| {
           %e: i64 = while (%b) test |%g: i64| { yield ne(%g, %c) } step |%g: i64| { yield add(%g, 1i64) }
           yield %a, add(%d, sub(%e, %c)) }",
    );
    for (rows, row) in SHAPES.into_iter().filter(|(_, row)| *row > 0) {
        agree(&runs, &[array(&[rows, row], &ScalarType::I64.into(), &mut r)]);
    }
}

/// Long columns, in blocks.
#[test]
fn columns() {
    let text = "program(a: [2]u32, m: [0]u32) {
       t: [2]u32 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i))
       r: [1]u32 = fold1(t, f: |%a: u32, %b: u32| rem(add(%a, %b), m[]))
       s: [2]u32 = scanl1(t, f: |%a: u32, %b: u32| rem(add(%a, %b), m[]))
       yield r, s
     }";
    let mut r = Rng(13);
    for (rows, row) in [(1, 5), (3001, 7), (20_000, 64), (70_001, 9)] {
        let xs: Vec<i128> = (0..rows * row).map(|_| i128::from(r.next() % 65521)).collect();
        for m in [65521, 0] {
            let a = numbers(ScalarType::U32, &[rows, row], &xs);
            agree(text, &[a, numbers(ScalarType::U32, &[], &[m])]);
        }
    }
}

/// Sums of floats, whose bits show how they are grouped.
#[test]
fn tiles_machine_code_and_any_number_of_threads_group_equally() {
    let text = "program(a: [1]f32, t: [1]f32, k: [0]i64) {
       r: [0]f32 = fold(a, f: |%a: f32, %b: f32| add(add(%a, %b), t[quot(4i64, k[])]), init: || 1.0f32)
       s: [1]f32 = scanl1(a, f: |%a: f32, %b: f32| add(add(%a, %b), t[quot(4i64, k[])]))
       u: [1]f32 = scanr(a, f: |%a: f32, %b: f32| add(add(%a, %b), t[quot(4i64, k[])]), init: || 1.0f32)
       yield r, s, u
     }";
    let mut r = Rng(15);
    let t = array(&[3], &ScalarType::F32.into(), &mut Rng(2));
    for n in [1, 9, 1025, 140_001] {
        let xs: Vec<[acc_core::data::Lit; 1]> =
            (0..n).map(|_| [acc_core::data::Prim::lit((r.next() % 1000) as f32 / 7.0)]).collect();
        let a = ArrayData::from_leaves([n], ScalarType::F32.into(), xs).unwrap();
        let args = [a, t.clone(), int(2)];
        let program = parse(text);
        let want = native(&program, &args).unwrap();
        for threads in [1, 2, 7] {
            for compile in [Compile::Never, Compile::Now] {
                let executor = Native::with(Options::new().threads(threads).compile(compile)).unwrap();
                let got = executor.run_untyped(&program, &args, &RunLimits::none()).unwrap();
                for (w, g) in want.iter().zip(&got) {
                    assert_eq!(same(w, g, 0.0), Ok(()), "{n} elements, {threads} threads");
                }
            }
        }
        for wrong in [0, 1] {
            let args = [args[0].clone(), t.clone(), int(wrong)];
            let want = reference(&program, &args);
            same_outcome(text, &args, ("interpreter", &want), ("machine code", &native(&program, &args)), 1e-3);
        }
    }
}

/// An array that only an operator reads is evaluated when the first two elements are combined, and not for a single
/// element.
#[test]
fn what_only_an_operator_reads_is_evaluated_on_demand() {
    let text = "program(a: [1]i64, k: [0]i64) {
       t: [1]i64 = generate(shape: || 1000i64, f: |%i: i64| quot(%i, k[]))
       u: [1]i64 = scanl1(t, f: |%x: i64, %y: i64| max(%x, %y))
       r: [0]i64 = fold1(a, f: |%x: i64, %y: i64| u[max(%x, %y)])
       s: [1]i64 = scanl1(a, f: |%x: i64, %y: i64| u[max(%x, %y)])
       yield r, s
     }";
    for n in [1, 2, 5000] {
        for k in [1, 0] {
            agree(text, &[ints(&(0..n).map(|i| i * 7 % 1000).collect::<Vec<_>>()), int(k)]);
        }
    }
}

#[test]
fn pairs_with_a_remainder_beside_what_is_known() {
    let text = "program(a: [1]u8) {
       p: [1](u32, u32, u32) = map(a, f: |%x: u8| (1u32, cast(%x, u32), cast(%x, u32)))
       r: [0](u32, u32, u32) = fold1(p, f: |%n: u32, %a: u32, %b: u32, %m: u32, %c: u32, %d: u32|
         (rem(add(%n, %m), 65521u32), rem(add(%a, %c), 65521u32), rem(add(add(%b, %d), mul(%m, %a)), 65521u32)))
       n: [0]u8 = fold1(a, f: |%x: u8, %y: u8| max(%x, %y))
       yield r, n
     }";
    let mut r = Rng(17);
    for n in [1, 100, 5000, 300_001] {
        let xs: Vec<i128> = (0..n).map(|_| i128::from(r.next() % 256)).collect();
        agree_within(text, &[numbers(ScalarType::U8, &[n], &xs)], 0.0);
    }
}

/// In loops that lanes leave one by one, in conditionals, and with permuted elements.
#[test]
fn divisions_by_constants_fault_nowhere() {
    let mut r = Rng(19);
    let signed = ["-1", "-3", "1", "2", "3", "10", "64", "100"];
    for (ty, of) in INTEGERS {
        for d in signed.into_iter().filter(|d| !ty.starts_with('u') || !d.starts_with('-')) {
            let text = "program(a: [1]T, z: [1]T) {
               l: [1](T, i32) = map(a, f: |%x: T| {
                 %y: T, %k: i32 = while (%x, 0i32) test |%y: T, %k: i32| { yield and(ne(%y, 0T), lt(%k, 20i32)) }
                   step |%y: T, %k: i32| {
                     %n: T = if eq(mod_floor(%y, DT), 0T) { yield quot(%y, DT) } else { yield div_floor(sub(%y, 1T), 2T) }
                     yield %n, add(%k, 1i32)
                   }
                 yield %y, %k
               })
               c: [1]T = map(a, f: |%x: T| {
                 %y: T = if lt(%x, 9T) { yield rem(%x, DT) } else { yield add(%x, 1T) }
                 yield %y
               })
               p: [1]T = permute(a, into: z, combine: |%x: T, %y: T| rem(sub(%x, %y), DT), target: |%i: i64| (1u8, rem(%i, 5i64)))
               yield l, c, p
             }"
            .replace('D', d)
            .replace('T', ty);
            for n in [0, 1, 9, 1000] {
                agree(&text, &[array(&[n], &of.into(), &mut r), numbers(of, &[5], &[1, 2, 3, 4, 5])]);
            }
        }
    }
}

#[test]
fn explanations_say_what_is_not_compiled() {
    let explain = |text: &str| Ready::new(&Native::new(), &parse(text)).unwrap().prepared().explain().to_string();
    let not_compiled = "machine code does not do all of it";
    for f in ["rem(add(%x, %y), 7i64)", "rem(%x, %y)", "a[%x]"] {
        let told = explain(&format!(
            "program(a: [1]i64) {{
               r: [0]i64 = fold1(a, f: |%x: i64, %y: i64| {f})
               s: [1]i64 = scanl1(a, f: |%x: i64, %y: i64| {f})
               yield r, s }}"
        ));
        assert!(!told.contains(not_compiled), "{told}");
    }
    let scatter = |f: &str| {
        explain(&format!(
            "program(a: [1]i64, d: [1]i64) {{
               r: [1]i64 = permute(a, into: d, combine: |%x: i64, %y: i64| {f}, target: |%i: i64| (1u8, rem(%i, 5i64)))
               yield r }}"
        ))
    };
    assert!(!scatter("rem(add(%x, %y), 7i64)").contains(not_compiled));
    assert!(!scatter("rem(%x, %y)").contains(not_compiled));
}
