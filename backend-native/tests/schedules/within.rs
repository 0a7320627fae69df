//! Arrays that are computed inside of the first loop of what reads them, with and without a halo: what the executor says of those that
//! cannot be, that they are not stored, and that faults are those of the program without schedules.

use crate::common::{Rng, array, parse, same_outcome};
use acc_core::data::{ArrayData, ScalarType};
use acc_core::exec::Backend;
use acc_core::prelude::Matrix;
use acc_core::{BuildError, Error, Executor, RunLimits};
use backend_native::{Compile, Native, Options};

/// Arrays that are computed within the first loop of what reads them: a product of three factors, in two stages, a matrix that is folded
/// after its elements were divided by the sums of rows, and folds of folds with an epilogue.
const WITHIN: [&str; 4] = [
    "t: [4]f32 = generate(shape: || (extent(a, 0), extent(n, 1), extent(b, 1), extent(b, 0)),
       f: |%i: i64, %k: i64, %j: i64, %l: i64| mul(mul(a[%i, %l], b[%l, %j]), cast(n[0i64, %k, 0i64], f32)))
     u: [3]f32 = fold1(t, f: |%x: f32, %y: f32| add(%x, %y))
     v: [3]f32 = compute(u, loops: LOOPS3)
     w: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(n, 1)), f: |%i: i64, %j: i64, %k: i64| mul(v[%i, %k, %j], b[%k, %j]))
     r: [2]f32 = fold1(w, f: |%x: f32, %y: f32| add(%x, %y))
     yield r",
    "t: [3]f32 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)), f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
     u: [2]f32 = fold1(t, f: |%x: f32, %y: f32| add(%x, %y))
     v: [2]f32 = compute(u, loops: LOOPS2)
     r: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| add(%x, v[%i, sub(sub(extent(v, 1), 1i64), %j)]))
     yield r",
    "u: [2]f32 = map(a, f: |%x: f32| add(%x, 1f32))
     v: [2]f32 = compute(u, loops: [i0, lanes i1] within 1)
     r: [1]f32 = fold1(v, f: |%x: f32, %y: f32| max(%x, %y))
     yield r",
    "u: [2]f32 = map(a, f: |%x: f32| mul(%x, 3f32))
     v: [2]f32 = compute(u, loops: [i0, i1] within 1)
     x: [2]f32 = map(v, f: |%x: f32| sub(%x, 1f32))
     y: [2]f32 = compute(x, loops: [i0 by 4, i0, lanes i1] within 1)
     z: [2]f32 = imap(y, f: |%i: i64, %j: i64, %x: f32| mul(%x, y[%i, 0i64]))
     r: [2]f32 = compute(z, loops: [threads i0 by 6, i0, lanes i1])
     yield r",
];

#[test]
fn arrays_within_the_loops_of_their_reader_are_not_stored() {
    let (mut rng, float, int) = (Rng(6), ScalarType::F32.into(), ScalarType::I32.into());
    let args = [
        array(&[23, 13], &float, &mut rng),
        array(&[13, 37], &float, &mut rng),
        array(&[5, 6, 7], &int, &mut rng),
        array(&[9], &float, &mut rng),
    ];
    for body in WITHIN {
        for (three, two) in [
            ("[i0, i1, i2, i3]", "[i0, i1, i2]"),
            ("[i0 by 4, i1, lanes i2, i3, unrolled i0]", "[i1 by 8, i0, i2, lanes i1]"),
        ] {
            let text = |within: &str| {
                let body =
                    body.replace("LOOPS3", &format!("{three} within 1")).replace("LOOPS2", &format!("{two} within 1"));
                format!(
                    "program(a: [2]f32, b: [2]f32, n: [3]i32, v0: [1]f32) {{\n{}\n}}",
                    body.replace(" within 1", within)
                )
            };
            let (program, stored) = (parse(&text(" within 1")), parse(&text("")));
            let prepared = Backend::prepare(&Native::tiles(), &program, &RunLimits::none()).unwrap();
            let explained = prepared.explain();
            assert!(explained.row_blockings.iter().all(|r| r.is_scheduled && !r.transient.is_empty()), "{explained}");
            assert_eq!(explained.row_blockings.len(), 1, "{explained}");
            assert!(
                explained.to_string().contains("take one block of rows after another, by the program's schedule"),
                "{explained}"
            );
            let want = Native::tiles().run_untyped(&stored, &args, &RunLimits::none());
            assert!(want.is_ok(), "{want:?}");
            for threads in [1, 2, 7] {
                let native = Native::with(Options::new().threads(threads).compile(Compile::Now)).unwrap();
                let got = native.run_untyped(&program, &args, &RunLimits::none());
                same_outcome(&text(" within 1"), &args, ("stored, over tiles", &want), ("within", &got), 0.0);
            }
        }
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

/// The error for an array `v` of two dimensions that some statements read.
fn refused(reader: &str) -> (String, String) {
    let program = parse(&format!(
        "program(a: [2]f32) {{
u: [2]f32 = map(a, f: |%x: f32| add(%x, 1f32))
v: [2]f32 = compute(u, loops: [i0, lanes i1] within 1)
{reader}
}}"
    ));
    let Err(Error::Build(error)) = Executor::prepare(&Native::tiles(), &program) else { panic!("{reader}") };
    let BuildError::Schedule { why, loops, used, .. } = &*error else { panic!("{error}") };
    assert_eq!(loops, "[i0, lanes i1] within 1");
    (why.clone(), used.to_string())
}

#[test]
fn arrays_that_cannot_be_computed_within_the_loops_of_their_reader() {
    let no_window = "the kernel that reads it reads other rows of it than those around its own: legal along the first axis are its own \
                     index, plus literals, extents and the indices of folded axes, clamped or mirrored at borders";
    let in_conditionals = "the kernel that reads it may need none of it: each of the reads is in a conditional";
    let cases = [
        ("yield v", "it is a result, or no kernel of the same block reads it"),
        // A result under another name.
        (
            "w: [2]f32 = checkpoint(v, f: |p: [2]f32| { yield p })
             r: [2]f32 = map(v, f: |%x: f32| mul(%x, %x))
             yield w, r",
            "it is a result, or no kernel of the same block reads it",
        ),
        (
            "r: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| add(%x, v[sub(sub(extent(v, 0), 1i64), %i), %j]))
             yield r",
            no_window,
        ),
        (
            "r: [2]f32 = stencil(v, window: [3, 1], boundary: wrap, f: |%x: f32, %y: f32, %z: f32| add(add(%x, %y), %z))
             yield r",
            no_window,
        ),
        (
            "r: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| add(%x, v[min(%j, sub(extent(v, 0), 1i64)), %j]))
             yield r",
            no_window,
        ),
        (
            "r: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| add(%x, v[quot(%i, 2i64), %j]))
             yield r",
            no_window,
        ),
        (
            "r: [2]f32 = generate(shape: || (9i64, 9i64), f: |%i: i64, %j: i64|
               if and(lt(add(%i, 1i64), extent(v, 0)), lt(%j, extent(v, 1))) { yield v[add(%i, 1i64), %j] } else { yield 0f32 })
             yield r",
            in_conditionals,
        ),
        (
            "r: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| add(%x, v[%i, 0i64]))
             s: [1]f32 = fold1(v, f: |%x: f32, %y: f32| sub(%x, %y))
             q: [1]i64 = argsort(s)
             t: [1]f32 = fold1(r, f: |%x: f32, %y: f32| sub(%x, %y))
             yield q, t, v",
            "several kernels read it",
        ),
        // An array with two schedules is computed twice.
        (
            "r: [1]f32 = fold1(v, f: |%x: f32, %y: f32| sub(%x, %y))
             s: [1]f32 = compute(r, loops: [i0, i1])
             t: [1]f32 = compute(r, loops: [i1, i0])
             yield s, t",
            "several kernels read it",
        ),
        (
            "r: [2]f32 = scanl1(v, f: |%x: f32, %y: f32| add(%x, %y))
             yield r",
            "the kernel that reads it, or one in between, is not computed row by row",
        ),
    ];
    for (reader, why) in cases {
        let (told, used) = refused(reader);
        assert_eq!(told, format!("it cannot be computed within the loops of its reader: {why}"), "{reader}");
        assert!(used.ends_with(":3:13"), "{used}");
    }
}

/// Two passes of a blur, and the rows that the second one reads.
const BLUR: &str = "program(a: [2]f32) {
u: [2]f32 = stencil(a, window: [1, 3], boundary: clamp, f: |%x: f32, %y: f32, %z: f32| add(add(%x, %y), %z))
v: [2]f32 = compute(u, loops: [i0, lanes i1] within 1)
w: [2]f32 = stencil(v, window: [5, 1], boundary: clamp, f: |%p: f32, %q: f32, %x: f32, %y: f32, %z: f32| add(add(add(%p, %q), add(%x, %y)), %z))
x: [2]f32 = compute(w, loops: [i0, lanes i1] within 1)
r: [2]f32 = imap(x, f: |%i: i64, %j: i64, %x: f32| sub(%x, x[max(sub(%i, 1i64), 0i64), %j]))
yield r
}";

#[test]
fn explanations_show_halos() {
    let text = Backend::prepare(&Native::tiles(), &parse(BLUR), &RunLimits::none()).unwrap().explain().to_string();
    let told = "kernels 0 to 2 take one block of rows after another, by the program's schedule; a1, a3 are not stored as a whole \
                then; of a1, a3 the rows around a block are computed, too\n";
    assert!(text.contains(told), "{text}");
}

/// With machine code the memory that may be taken is less than one of the arrays; the bits are those of the arrays stored over tiles.
#[test]
fn halos_take_the_memory_of_some_rows() {
    if backend_native::llvm::status().library.is_none() {
        return;
    }
    let (program, stored) = (parse(BLUR), parse(&BLUR.replace(" within 1", "")));
    for shape in [[4000, 250], [61, 16_411], [16_411, 61], [1_000_003, 1]] {
        let args = [array(&shape, &ScalarType::F32.into(), &mut Rng(9))];
        let want = Native::tiles().run_untyped(&stored, &args, &RunLimits::none());
        for threads in [1, 2, 7] {
            let native = Native::with(Options::new().threads(threads).compile(Compile::Now)).unwrap();
            let bytes = |n: u64| RunLimits::none().max_bytes(n * 1_000_000);
            assert!(matches!(native.run_untyped(&stored, &args, &bytes(7)), Err(Error::Limit(_))));
            let most = bytes(5 + threads as u64);
            let got = native.run_untyped(&program, &args, &most);
            assert!(got.is_ok(), "{shape:?} on {threads} threads: {:?}", got.err());
            same_outcome(BLUR, &args, ("stored, over tiles", &want), ("within", &got), 0.0);
        }
    }
}

/// Faults of elements that the reader needs, that it does not need, and of the reader's own index.
#[test]
fn faults_within_a_loop_are_those_of_the_program_without_schedules() {
    let text = |reader: &str| {
        format!(
            "program(a: [2]i64) {{
u: [2]i64 = map(a, f: |%x: i64| quot(100i64, %x))
v: [2]i64 = compute(u, loops: [i0, lanes i1] within 1)
r: [2]i64 = generate(shape: || (sub(extent(v, 0), 4i64), extent(v, 1)), f: |%i: i64, %j: i64| {reader})
yield r
}}"
        )
    };
    let readers = [
        "sub(v[add(%i, 1i64), %j], v[add(%i, 2i64), %j])",
        "sub(v[%i, %j], v[add(%i, 4i64), %j])",
        "sub(v[add(%i, 2i64), %j], v[add(%i, 6i64), %j])",
        "sub(v[sub(%i, 1i64), %j], v[%i, %j])",
    ];
    let zero_at = |row: Option<usize>| {
        let mut of = vec![7i64; 40 * 9];
        if let Some(row) = row {
            of[row * 9 + 4] = 0;
        }
        [Matrix::from_vec([40, 9], of).unwrap().data().clone()]
    };
    for reader in readers {
        let (program, stored) = (parse(&text(reader)), parse(&text(reader).replace(" within 1", "")));
        for row in [None, Some(0), Some(1), Some(20), Some(37), Some(39)] {
            let args: [ArrayData; 1] = zero_at(row);
            let want = Native::tiles().run_untyped(&stored, &args, &RunLimits::none());
            for threads in [1, 2] {
                let native = Native::with(Options::new().threads(threads).compile(Compile::Now)).unwrap();
                let got = native.run_untyped(&program, &args, &RunLimits::none());
                assert_eq!(got, want, "{reader}, a zero in row {row:?}");
            }
            assert_eq!(
                want.is_err(),
                row.is_some() || reader.contains("6i64") || reader.contains("sub(%i"),
                "{reader}, {row:?}"
            );
        }
    }
}

/// A limit of bytes that the whole array would exceed.
#[test]
fn what_is_within_a_loop_takes_the_memory_of_some_rows() {
    if backend_native::llvm::status().library.is_none() {
        return;
    }
    let text = |within: &str| {
        format!(
            "program(a: [2]f32) {{
u: [2]f32 = map(a, f: |%x: f32| add(mul(%x, %x), 1f32))
v: [2]f32 = compute(u, loops: [i0 by 8, i0, lanes i1]{within})
w: [2]f32 = imap(v, f: |%i: i64, %j: i64, %x: f32| mul(%x, v[%i, sub(sub(extent(v, 1), 1i64), %j)]))
r: [1]f32 = fold1(w, f: |%x: f32, %y: f32| max(%x, %y))
yield r
}}"
        )
    };
    let args = [Matrix::from_vec([4000, 250], vec![1f32; 1_000_000]).unwrap().data().clone()];
    let native = Native::with(Options::new().threads(2).compile(Compile::Now)).unwrap();
    let run = |within| native.run_untyped(&parse(&text(within)), &args, &RunLimits::none().max_bytes(1 << 20));
    assert!(matches!(run(""), Err(Error::Limit(_))));
    assert_eq!(run(" within 1").map(|r| r[0].size()), Ok(4000));
}
