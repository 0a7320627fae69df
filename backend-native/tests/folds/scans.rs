//! Right scans of long rows: machine code against the tile executor, on one thread and on several.

use crate::common::{Rng, array, parse, same};
use acc_core::data::{ArrayData, ScalarType};
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};

/// Scans of elements of type `@`, with `#` for a constant: with built-in operators, of one leaf and of two, and a
/// segmented one; with other operators, not commutative; with and without initial values; with other stored results,
/// and with epilogues; of arrays read in reverse, or near a boundary.
const SCANS: &[&str] = &[
    "s: [1]@ = scanr1(a, f: |%x: @, %y: @| add(%x, %y)) yield s",
    "s: [1]@ = scanr(a, f: |%x: @, %y: @| min(%x, %y), init: || #) yield s",
    "p: [1](@, bool) = zip_with(a, m, f: |%x: @, %m: bool| (%x, %m))
     s: [1](@, bool) = scanr1(p, f: |%x: @, %f: bool, %y: @, %g: bool| (mul(%x, %y), or(%f, %g))) yield s",
    "p: [1](bool, @) = zip_with(a, m, f: |%x: @, %m: bool| (%m, %x))
     s: [1](bool, @) = scanr1(p, f: |%f: bool, %x: @, %g: bool, %y: @| (or(%f, %g), select(%f, %x, add(%x, %y))))
     r: [1]@ = map(s, f: |%f: bool, %x: @| add(%x, %x)) yield r",
    "s: [1]@ = scanr1(a, f: |%x: @, %y: @| select(lt(%x, %y), %y, %x)) yield s",
    "p: [1](@, @) = map(a, f: |%x: @| (%x, add(%x, #)))
     s: [1](@, @) = scanr(p, f: |%a: @, %b: @, %c: @, %d: @| (mul(%a, %c), add(mul(%b, %c), %d)), init: || (#, #))
     yield s",
    "d: [1]@ = map(a, f: |%x: @| add(%x, #))
     s: [1]@ = scanr1(d, f: |%x: @, %y: @| add(%x, %y))
     t: [1]bool = scanr1(m, f: |%x: bool, %y: bool| select(%y, %x, ne(%x, %y)))
     yield d, s, t",
    "b: [1]@ = generate(shape: || extent(a, 0), f: |%i: i64| a[sub(sub(extent(a, 0), %i), 1i64)])
     s: [1]@ = scanr1(b, f: |%x: @, %y: @| add(%x, %y)) yield s",
    "b: [1](i64, bool) = generate(shape: || extent(a, 0), f: |%i: i64|
       if lt(%i, 40i64) { yield %i, m[%i] } else { yield 7i64, m[sub(%i, 1i64)] })
     s: [1](i64, bool) = scanr1(b, f: |%i: i64, %f: bool, %j: i64, %g: bool| (add(%i, %j), and(%f, %g))) yield s",
    "w: [2]@ = generate(shape: || (3i64, extent(a, 0)), f: |%i: i64, %j: i64| add(a[%j], #))
     s: [2]@ = scanr1(w, f: |%x: @, %y: @| add(%x, %y))
     t: [2]@ = scanr1(w, f: |%x: @, %y: @| select(lt(%x, %y), %x, %y)) yield s, t",
    "e: [1]@ = stencil(a, window: [3], boundary: clamp, f: |%x: @, %y: @, %z: @| add(add(%x, %y), %z))
     s: [1]@ = scanr1(e, f: |%x: @, %y: @| add(%x, %y)) yield s",
];

/// Checks that machine code and the tile executor agree on a scan of `n` elements.
fn agree(scan: &str, ty: &str, n: usize, r: &mut Rng) {
    let on = |threads| Native::with(Options::new().threads(threads).compile(Compile::Now));
    let three = if ty.starts_with('f') { format!("3.0{ty}") } else { format!("3{ty}") };
    let body = scan.replace('@', ty).replace('#', &three);
    let program = parse(&format!("program(a: [1]{ty}, m: [1]bool) {{ {body} }}"));
    let elt = program.param_types().next().unwrap().elt.clone();
    let args = [array(&[n], &elt, r), array(&[n], &ScalarType::Bool.into(), r)];
    let run = |b: &Native| -> Vec<ArrayData> { b.run_untyped(&program, &args, &RunLimits::none()).unwrap() };
    let want = run(&Native::tiles());
    for threads in [1, 3] {
        for (want, got) in want.iter().zip(run(&on(threads).unwrap())) {
            same(want, &got, 0.0).unwrap_or_else(|e| panic!("{n} {ty} {scan}: {e}"));
        }
    }
    assert_eq!(backend_native::llvm::defects(), Vec::<String>::new());
}

#[test]
fn from_the_right_machine_code_yields_the_bits_of_tiles() {
    let mut r = Rng(23);
    // Around groups, steps and chunks; the last ones for several threads.
    for n in [1, 7, 8, 9, 31, 32, 33, 100, 255, 1000, 32_767, 32_769, 33_025, 70_000, 300_001] {
        for ty in if n < 1000 { &["f32", "f64", "i8", "u16", "i64"][..] } else { &["f32"] } {
            SCANS.iter().for_each(|scan| agree(scan, ty, n, &mut r));
        }
    }
}

#[test]
fn from_the_right_with_non_temporal_stores() {
    // Rows that end at a cache line, and one that does not.
    for n in [(4 << 20) + 16, (4 << 20) + 3] {
        for k in [0, 3] {
            agree(SCANS[k], "f32", n, &mut Rng(29));
        }
    }
}

#[test]
fn from_the_left_with_non_temporal_stores() {
    let scans = [
        "s: [1]@ = scanl1(a, f: |%x: @, %y: @| add(%x, %y)) yield s",
        "p: [1](@, bool) = zip_with(a, m, f: |%x: @, %m: bool| (%x, %m))
         s: [1](@, bool) = scanl1(p, f: |%x: @, %f: bool, %y: @, %g: bool| (select(%g, %y, add(%x, %y)), or(%f, %g)))
         yield s",
    ];
    scans.iter().for_each(|scan| agree(scan, "f32", (4 << 20) + 16, &mut Rng(31)));
}

#[test]
fn whole_rows_with_an_initial_value() {
    let scans = [
        "s: [2]@ = SCAN(a, f: |%x: @, %y: @| add(%x, %y), init: || #) yield s",
        // Not commutative, and not built in; together with a scan of the same rows without an initial value.
        "s: [2]@ = SCAN(a, f: |%x: @, %y: @| select(ne(%x, #), %x, %y), init: || #)
         t: [2]@ = SCAN1(a, f: |%x: @, %y: @| max(%x, %y)) yield s, t",
        "p: [2](bool, @) = map(a, f: |%x: @| (eq(%x, #), %x))
         s: [2](bool, @) = SCAN(p, f: |%f: bool, %x: @, %g: bool, %y: @| PAIR, init: || (false, #)) yield s",
        // A fold, and elements stored along with it.
        "d: [2]@ = map(a, f: |%x: @| add(%x, #))
         s: [2]@ = SCAN(d, f: |%x: @, %y: @| min(%x, %y), init: || #)
         m: [1]@ = fold(d, f: |%x: @, %y: @| max(%x, %y), init: || #) yield d, s, m",
    ];
    let mut r = Rng(97);
    for (rows, row) in [(1, 64), (3, 65), (200, 64), (7, 257), (40, 1000), (1100, 70), (2, 0), (0, 90)] {
        for scan in scans {
            for (right, pair) in [
                (false, "(or(%f, %g), select(%g, %y, add(%x, %y)))"),
                (true, "(or(%f, %g), select(%f, %x, add(%x, %y)))"),
            ] {
                for ty in ["i32", "f64", "u8", "f32"] {
                    let scan = scan.replace("SCAN", if right { "scanr" } else { "scanl" }).replace("PAIR", pair);
                    let constant = if ty.starts_with('f') { format!("3.0{ty}") } else { format!("3{ty}") };
                    let body = scan.replace('@', ty).replace('#', &constant);
                    let text = format!("program(a: [2]{ty}) {{ {body} }}");
                    let elt = parse(&text).param_types().next().unwrap().elt.clone();
                    let a = array(&[rows, row], &elt, &mut r);
                    crate::common::agree_within(&text, &[a], if ty.starts_with('f') { 1e-2 } else { 0.0 });
                }
            }
        }
    }
}

/// On several threads the total of a chunk comes first. It takes one operation for each element, where a scan takes several.
#[test]
fn totals_of_chunks_take_fewer_operations_than_scans() {
    let text = "program(a: [1]f32) { p: [1](f32, f32) = map(a, f: |%x: f32| (%x, add(%x, 1.0f32)))
      s: [1](f32, f32) = scanl1(p, f: |%a: f32, %b: f32, %c: f32, %d: f32| (mul(%a, %c), add(mul(%b, %c), %d))) yield s }";
    let ready = acc_core::exec::Ready::new(&Native::new(), &parse(text)).unwrap();
    let listing = ready.prepared().listing();
    let products = |variant: &str| {
        let own = listing.split(&format!("{variant}:\n")).nth(1)?;
        let text = own.split("after LLVM's passes").next()?;
        // Of the loop over whole steps: the first of two, the other one has masks.
        Some(text.split("llvm.smin").next()?.matches("= fmul <").count())
    };
    let (Some(scan), Some(totals)) = (products("Chunk { stream: false }"), products("ChunkTotals")) else {
        assert!(listing.contains("no LLVM is found"), "{listing}");
        return;
    };
    assert!(totals > 0 && totals * 2 < scan, "{totals} products for totals, {scan} for a scan");
}

/// Operators that cost so much that elements are divided into runs, from the left, where the other one is that from the right: one
/// that is neither associative nor commutative, alone, beside other outputs, and with an initial value and an epilogue; one with
/// several leaves, one of them `bool`; one that reads an array.
const OF_COSTLY_OPERATORS: &[&str] = &[
    "s: [1]@ = scanl1(a, f: |%x: @, %y: @| F) yield s",
    "d: [1]@ = map(a, f: |%x: @| add(%x, #))
     s: [1]@ = scanl(d, f: |%x: @, %y: @| F, init: || #)
     t: [1]@ = scanl1(a, f: |%x: @, %y: @| max(%x, %y))
     u: [1]@ = scanl1(a, f: |%x: @, %y: @| select(lt(%x, %y), %y, %x))
     e: [1]@ = map(s, f: |%x: @| sub(%x, #)) yield d, e, t, u",
    "p: [1](@, bool) = zip_with(a, m, f: |%x: @, %m: bool| (%x, %m))
     s: [1](@, bool) = scanl1(p, f: |%x: @, %f: bool, %y: @, %g: bool| (add(F, F), or(%f, lt(F, add(%y, #))))) yield s",
    "b: [1]@ = generate(shape: || 3i64, f: |%i: i64| #)
     s: [1]@ = scanl1(a, f: |%x: @, %y: @| add(F, b[select(lt(%x, %y), 1i64, 2i64)])) yield s",
    "w: [2]@ = generate(shape: || (5i64, extent(a, 0)), f: |%i: i64, %j: i64| add(a[%j], #))
     s: [2]@ = scanl1(w, f: |%x: @, %y: @| F)
     t: [2]@ = scanl1(w, f: |%x: @, %y: @| max(%x, %y)) yield s, t",
];
const COSTLY: &str = "add(sub(max(%x, %y), min(mul(%x, #), %y)), \
    sub(min(%y, #), add(max(abs(%x), %y), max(abs(%y), min(mul(%x, %x), sub(%y, #))))))";

#[test]
fn by_costly_operators_machine_code_yields_the_bits_of_tiles() {
    let mut r = Rng(31);
    // Around runs, blocks and chunks.
    for n in [1, 2, 31, 33, 64, 65, 100, 511, 512, 513, 1000, 2047, 2049, 5000, 32_768, 32_769, 70_001] {
        for ty in if n < 500 { &["f32", "f64", "i8", "u16", "i64"][..] } else { &["f32", "f64"] } {
            for (k, scan) in OF_COSTLY_OPERATORS.iter().enumerate().filter(|(k, _)| n < 5000 || *k < 4) {
                let scan = scan.replace('F', COSTLY);
                agree(&scan, ty, n, &mut r);
                if k != 3 {
                    agree(&scan.replace("scanl", "scanr"), ty, n, &mut r);
                }
            }
        }
    }
}

/// Elements are divided into runs where the operator costs more than their transposition.
#[test]
fn only_costly_operators_scan_runs() {
    let runs = |operator: &str| {
        let text = format!("program(a: [1]f32) {{ s: [1]f32 = scanl1(a, f: |%x: f32, %y: f32| {operator}) yield s }}");
        let ready = acc_core::exec::Ready::new(&Native::new(), &parse(&text)).unwrap();
        ready.prepared().listing().contains(", runs")
    };
    assert!(runs("add(max(%x, %y), ln(add(exp(sub(min(%x, %y), max(%x, %y))), 1.0f32)))"));
    assert!(!runs("add(%x, %y)"));
    assert!(!runs("select(lt(%x, %y), %y, %x)"));
}
