//! Refused memory is an error, and never the end of the process: loaders, parser, verifier and interpreter
//! with an allocator that refuses what grows with data, from the first such allocation on, then from the second, and so on.
//! `docs/SECURITY.md` says which allocations these are.

mod allocator;

use acc_core::prelude::*;
use acc_core::text::{TestFile, verified_test_file};
use acc_core::{Error, Executor};

#[global_allocator]
static ALLOCATOR: allocator::Watched = allocator::Watched;

/// Smaller allocations have a size that the code states, or that of a small program.
const MIN_REFUSED_BYTES: usize = 64 * 1024;

/// Refuses one allocation after the other, each with all that follow; the outcome must be a success or what `is_expected` says. Gives how many
/// allocations there are.
fn each_refused<T, E: std::fmt::Debug>(
    what: &str,
    f: impl Fn() -> Result<T, E>,
    is_expected: impl Fn(&E) -> bool,
) -> usize {
    for granted in 0..1000 {
        let (result, refused) = allocator::refusing(MIN_REFUSED_BYTES, granted, &f);
        match result {
            Ok(_) if refused == 0 => return granted,
            // Something made do without.
            Ok(_) => {}
            Err(e) => assert!(is_expected(&e), "{what}, {granted} granted: {e:?}"),
        }
    }
    panic!("{what} asks for memory without an end");
}

fn out_of_memory(e: &Error) -> bool {
    use acc_core::data::ShapeError;
    matches!(e, Error::OutOfMemory { .. } | Error::Argument { error: ShapeError::Memory(_), .. })
}

fn file(text: &str) -> TestFile {
    verified_test_file("test.acc", text).unwrap()
}

/// Every array operation of the interpreter, each over more elements than `MIN_REFUSED_BYTES` bytes hold.
const OPERATIONS: &str = r#"
program(n: [0]i64, xs: [1]i64) {
  a: [1]f64 = generate(shape: || n[], f: |%i: i64| cast(%i, f64))
  b: [1]f64 = scanl1(a, f: |%a: f64, %b: f64| add(%a, %b))
  s: [1]f64 = scanr(a, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
  p: [1]i64 = argsort(b)
  c: [2]f64 = replicate(b, axes: [fixed, all], extents: || 2i64)
  l: [1]f64 = slice(c, axes: [fixed, all], index: || 1i64)
  w: [2]f64 = backpermute(c, shape: || (n[], 2i64), index: |%i: i64, %j: i64| (%j, %i))
  d: [1]f64 = fold(w, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
  e: [1]i64 = permute(p, into: p, combine: |%a: i64, %b: i64| add(%a, %b), target: |%i: i64| (1u8, sub(sub(n[], 1i64), %i)))
  o: [1]i64 = generate(shape: || n[], f: |%i: i64| %i)
  g: [1]f64 = fold_seg(b, offsets: o, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
  t: [1]f64 = stencil(b, window: [3], boundary: clamp, f: |%a: f64, %b: f64, %c: f64| add(%a, %c))
  z: [1](f64, i64) = zip_with(b, xs, f: |%a: f64, %b: i64| (%a, %b))
  yield b, s, p, l, d, e, g, t, z
}
run { n = [] i64 { 10000 } xs = [10000] i64 lcg(1) expect agree }
"#;

#[test]
fn the_interpreter() {
    let file = file(OPERATIONS);
    let args = file.runs[0].arrays().unwrap();
    let run = || Interpreter::new().run_untyped(&file.program, &args, &RunLimits::none());
    let asked = each_refused("the interpreter", run, out_of_memory);
    assert!(asked >= 14, "{asked}");
}

#[test]
fn data_of_test_files() {
    for (ty, data) in [
        ("i64", "[20000] i64 iota"),
        ("(i64, f32)", "[20000] (i64, f32) fill((3, 1.0))"),
        ("f32", "[20000] f32 lcg(3)"),
    ] {
        let text = format!("program(xs: [1]{ty}) {{ yield xs }} run {{ xs = {data} expect agree }}");
        // Reading and verifying ask for none of it.
        assert_eq!(each_refused("reading", || verified_test_file("t.acc", &text), out_of_memory), 0, "{data}");
        let asked = each_refused(data, || file(&text).runs[0].arrays(), out_of_memory);
        assert!(asked > 0, "{data}");
    }
}

#[test]
fn elements_in_a_text() {
    let elements = "1, ".repeat(5000);
    let text = format!("program(xs: [1]i64) {{ yield xs }} run {{ xs = [5000] i64 {{ {elements} }} expect agree }}");
    // Tokens, elements, and the array.
    let asked = each_refused(
        "parsing",
        || verified_test_file("t.acc", &text),
        |e| out_of_memory(e) || e.to_string().contains("no memory for"),
    );
    assert!(asked >= 3, "{asked}");
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), data].concat()
}

#[test]
fn files_of_numpy() {
    for order in ["False", "True"] {
        let header = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': (200, 100), }}");
        let bytes = npy(&header, &[0; 8 * 200 * 100]);
        let refused = |e: &npy::NpyError| e.to_string().contains("no memory");
        let asked = each_refused("npy", || Matrix::<f64>::from_npy(&bytes), refused);
        assert!(asked >= 1, "{asked}");
    }
}

#[test]
fn what_a_file_of_numpy_claims_is_not_asked_for() {
    // A shape whose key is escaped; a header of 4 GiB; brackets that nest deep.
    let escaped = npy("{'descr': '<f4', 'fortran_order': False, 'sh\\x61pe': (549755813888, 2), }", &[0; 12]);
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}";
    let nested = npy(&"{".repeat(100), &[]);
    for bytes in [&escaped[..], long, &nested] {
        let (result, refused) = allocator::refusing(1 << 20, 0, || Matrix::<f32>::from_npy(bytes));
        assert!(result.is_err() && refused == 0);
    }
}

#[test]
fn a_zip_file_gives_no_more_than_its_array_has() {
    use std::io::Write;
    let zipped = |contents: &[u8]| {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file("xs.npy", options).unwrap();
        zip.write_all(contents).unwrap();
        zip.finish().unwrap().into_inner()
    };
    let header = |n: usize| format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({n},), }}");
    // A small array, and 16 MiB after it.
    let bomb = zipped(&npy(&header(3), &vec![0; 16 << 20]));
    assert!(bomb.len() < 1 << 17, "{}", bomb.len());
    let (result, refused) = allocator::refusing(1 << 20, 0, || Vector::<u8>::from_npz(&bomb, "xs", u64::MAX));
    assert!(refused == 0 && result.is_err_and(|e| e.to_string().contains("extra bytes")));
    // An array of 16 MiB where one MiB is allowed.
    let large = zipped(&npy(&header(16 << 20), &vec![0; 16 << 20]));
    let (result, refused) = allocator::refusing(1 << 20, 0, || Vector::<u8>::from_npz(&large, "xs", 1 << 20));
    assert!(refused == 0 && result.is_err_and(|e| e.to_string().contains("are allowed")));
    assert_eq!(Vector::<u8>::from_npz(&large, "xs", u64::MAX).unwrap().len(), 16 << 20);
}

#[test]
fn limits_are_charged_before_memory_is_taken() {
    let file = file(OPERATIONS.trim());
    let args = file.runs[0].arrays().unwrap();
    let limits = RunLimits::none().max_bytes(1000);
    let run = || Interpreter::new().run_untyped(&file.program, &args, &limits);
    let (result, refused) = allocator::refusing(MIN_REFUSED_BYTES, 0, run);
    assert!(matches!(result, Err(Error::Limit(_))) && refused == 0, "{result:?}");
}
