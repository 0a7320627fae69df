//! Folds of segments by operators that are not built in.

use crate::common::{Rng, agree_within, array, ints, parse};
use acc_core::data::{ArrayData, ScalarType};
use acc_core::exec::Ready;
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};

/// Operators over elements of `a`: not commutative, over pairs, one that may fault, and one that rounds.
const FOLDS: [&str; 4] = [
    "p: [1](i64, i64) = imap(a, f: |%i: i64, %x: i64| (%x, %i))
     r: [1](i64, i64) = fold_seg(p, offsets: o, f: |%x: i64, %i: i64, %y: i64, %j: i64| {
       %v: i64, %k: i64 = if ge(%x, %y) { yield %x, %i } else { yield %y, %j } yield %v, %k }INIT(-100i64, -1i64)) yield r",
    "p: [1](i64, i64) = map(a, f: |%x: i64| (%x, add(%x, 1i64)))
     r: [1](i64, i64) = fold_seg(p, offsets: o, f: |%x: i64, %i: i64, %y: i64, %j: i64| (mul(%x, %y), add(mul(%i, %y), %j))INIT(3i64, 4i64)) yield r",
    "r: [1]i64 = fold_seg(a, offsets: o, f: |%x: i64, %y: i64| {
       %p: i64, %q: i64 = while (%x, %y) test |%p: i64, %q: i64| { yield ne(%q, 0i64) }
         step |%p: i64, %q: i64| { yield %q, rem(%p, %q) }
       yield abs(%p) }INIT12i64) yield r",
    "p: [2](f32, f32) = generate(shape: || (3i64, extent(a, 0)), f: |%i: i64, %k: i64| (0.75f32, cast(add(a[%k], %i), f32)))
     r: [2](f32, f32) = fold_seg(p, offsets: o, f: |%x: f32, %i: f32, %y: f32, %j: f32| (mul(%x, %y), add(mul(%i, %y), %j))INIT(1.0f32, 0.5f32)) yield r",
];

fn program(fold: &str, init: bool) -> String {
    let fold = match fold.split_once("INIT") {
        Some((before, after)) if init => format!("{before}, init: || {after}"),
        Some((before, after)) => {
            let rest = after.find(") yield").map_or("", |end| &after[end..]);
            format!("{before}{rest}").replace("fold_seg", "fold1_seg")
        }
        None => fold.to_string(),
    };
    format!("program(a: [1]i64, o: [1]i64) {{ {fold} }}")
}

fn offsets(lengths: &[usize]) -> ArrayData {
    let mut at = 0;
    let ends = lengths.iter().map(|n| {
        at += *n as i64;
        at
    });
    ints(&std::iter::once(0).chain(ends).collect::<Vec<_>>())
}

/// Lengths around those of runs, with and without segments of no element.
fn lengths(empty: bool) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> =
        vec![vec![], vec![1], vec![31, 32, 33, 1, 64, 65], vec![1; 300], vec![5000, 1, 2000]];
    all.push((1..90).collect());
    if empty {
        all.extend([vec![0], vec![0, 0, 5, 0, 40, 0, 0], vec![0; 70]]);
    }
    all
}

#[test]
fn segments_of_any_length() {
    let mut r = Rng(61);
    for fold in FOLDS {
        for init in [false, true] {
            for lengths in lengths(init) {
                let a = array(&[lengths.iter().sum::<usize>() + 3], &ScalarType::I64.into(), &mut r);
                agree_within(&program(fold, init), &[a, offsets(&lengths)], 1e-4);
            }
        }
    }
}

#[test]
fn any_number_of_threads_yields_the_same_bits() {
    let mut r = Rng(67);
    let mut many: Vec<usize> = (0..20_000).map(|_| (r.next() % 20) as usize).collect();
    many.extend([150_000, 3, 70_000]);
    let n = many.iter().sum();
    let args = [array(&[n], &ScalarType::I64.into(), &mut r), offsets(&many)];
    for fold in FOLDS {
        let program = parse(&program(fold, true));
        let want = Native::tiles().run_untyped(&program, &args, &RunLimits::none()).unwrap();
        for threads in [1, 2, 7] {
            let on = Native::with(Options::new().threads(threads).compile(Compile::Now)).unwrap();
            let got = on.run_untyped(&program, &args, &RunLimits::none()).unwrap();
            for (w, g) in want.iter().zip(&got) {
                crate::common::same(w, g, 0.0).unwrap_or_else(|e| panic!("{fold} on {threads}: {e}"));
            }
        }
    }
}

#[test]
fn neither_elements_nor_a_scan_of_them_are_stored() {
    for fold in &FOLDS[1..3] {
        let ready = Ready::new(&Native::new(), &parse(&program(fold, true))).unwrap();
        let explained = ready.prepared().explain();
        // What the kernels over elements, runs or segments store: numbers of segments, and totals.
        let over_elements = |k: &&backend_native::KernelReport| k.results.iter().any(|(_, op)| *op == "scanl");
        let scanned: usize = explained.kernels.iter().filter(over_elements).map(|k| k.bytes_stored).sum();
        assert_eq!(scanned, 16, "{explained}");
        assert!(explained.kernels.iter().all(|k| k.on_tiles.is_none()), "{explained}");
        assert!(!explained.to_string().contains("= map"), "{explained}");
    }
}

#[test]
fn a_choice_is_one_kernel_without_stored_elements() {
    let ready = Ready::new(&Native::new(), &parse(&program(FOLDS[0], true))).unwrap();
    let explained = ready.prepared().explain();
    let ops = explained.kernels.iter().flat_map(|k| k.results.iter().map(|(_, op)| *op));
    // The lengths of segments, of which the least one is looked at, are not stored either.
    assert_eq!(ops.collect::<Vec<_>>(), ["fold", "fold_seg"], "{explained}");
}
