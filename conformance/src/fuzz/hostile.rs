//! Inputs as strangers may write them, for everything that reads inputs from outside.
//!
//! A reader gives a value or an error. It does not panic, and takes memory and time in proportion to what it is given; the
//! test `hostile` and the targets in `fuzz/` hold it to that. What is read is used a little, too: programs are printed, run
//! within limits and simplified, graphs are exported.

#![allow(clippy::panic, reason = "findings of a test or a fuzz target")]

use super::Choices;
use acc_core::Executor;
use acc_core::prelude::*;
use acc_core::text::{TestFile, verified_test_file};
use backend_graph::Format;
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

/// A reader of inputs from outside.
pub struct Reader {
    /// Its name.
    pub name: &'static str,
    /// Gives it bytes.
    pub read: fn(&[u8]),
    /// Inputs that it reads without an error.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const READERS: &[Reader] = &[
    Reader { name: "text", read: text, seeds: texts },
    Reader { name: "npy", read: npy, seeds: arrays },
    Reader { name: "npz", read: npz, seeds: archives },
    Reader { name: "json", read: json, seeds: graphs },
];

/// A program or test file in text form.
pub fn text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = verified_test_file("stranger.acc", text) else { return };
    let printed = file.program.to_string();
    match acc_core::text::parse("printed.acc", &printed) {
        Ok(again) if again == *file.program => {}
        Ok(_) => panic!("the printed program is another one:\n{printed}"),
        Err(e) => panic!("the printed program cannot be read: {e}\n{printed}"),
    }
    acc_desugar::simplify(&file.program);
    run(&file);
}

/// Runs what a file says within limits, and not at all if it says more than a little.
fn run(file: &TestFile) {
    const MAX_SCALARS: usize = 1 << 16;
    let Some(run) = file.runs.first() else { return };
    let size = |shape: &[usize]| shape.iter().fold(1usize, |n, &d| n.saturating_mul(d));
    if run.args.iter().any(|a| size(a.shape()).saturating_mul(a.elt().leaf_count().max(1)) > MAX_SCALARS) {
        return;
    }
    let Ok(args) = run.arrays() else { return };
    let deadline = Some(Instant::now() + Duration::from_millis(20));
    let limits = RunLimits::none().max_bytes(1 << 20).deadline(deadline);
    let _ = Interpreter::new().run_untyped(&file.program, &args, &limits);
}

/// A `.npy` file.
pub fn npy(bytes: &[u8]) {
    let _ = Vector::<f32>::from_npy(bytes);
    let _ = Matrix::<i64>::from_npy(bytes);
    let _ = Array::<DIM3, bool>::from_npy(bytes);
}

/// A `.npz` file, with an array `xs`.
pub fn npz(bytes: &[u8]) {
    let _ = Vector::<f32>::from_npz(bytes, "xs", 1 << 20);
    let _ = Matrix::<i64>::from_npz(bytes, "xs", 1 << 20);
}

/// A graph as JSON.
pub fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(graph) = backend_graph::from_json(text) {
        let again = backend_graph::export(&graph, Format::Json);
        if let Err(e) = backend_graph::from_json(&again) {
            panic!("the graph that was read is written so that it cannot be read: {e}\n{again}");
        }
    }
}

const PROGRAMS: [&str; 4] = [
    r#"component: FLD-01
program(xs: [1]i64, table: [2](f32, bool)) {
  a: [1]f32 = map(xs, f: |%x: i64| { %y: f32, %b: bool = table[%x, 0i64]  yield if %b { yield %y } else { yield mul(%y, -1.5e-3f32) } })
  b: [0]f32 = fold(a, f: |%a: f32, %b: f32| add(%a, %b), init: || nan(0x7fc00001))
  c: [2]i64 = generate(shape: || (extent(xs, 0), 3i64), f: |%i: i64, %j: i64| quot(%i, %j))
  yield b, c @"src/main.rs":3:5
}
run "one" { xs = [4] i64 { 1, 0, -1, 9223372036854775807 }  table = [2, 2] (f32, bool) { (1.0, true), (inf, false), (0.5, true), (-0.0, true) }  expect fault division_by_zero }
"#,
    r#"program(xs: [1]i64, d: [1]u8) {
  s: [1]i64 = awhile(xs, test: |a: [1]i64| { t: [0]bool = generate(shape: || (), f: || lt(a[0i64], 100i64)) yield t },
    step: |a: [1]i64| { b: [1]i64 = scanl1(a, f: |%x: i64, %y: i64| add(%x, %y)) yield b })
  p: [1]i64 = argsort(s)
  q: [1]i64 = permute(p, into: s, combine: |%n: i64, %o: i64| max(%n, %o), target: |%i: i64| (1u8, p[%i]))
  r: [2]u8 = replicate(d, axes: [fixed, all], extents: || 2i64)
  t: [2]u8 = stencil(r, window: [3, 3], boundary: mirror, f: |%a: u8, %b: u8, %c: u8, %d: u8, %e: u8, %f: u8, %g: u8, %h: u8, %i: u8| max(%a, %i))
  yield q, t
}
run { xs = [5] i64 lcg(3, 1, 9)  d = [4] u8 iota  expect agree }
"#,
    r#"program(n: [0]i64) {
  c: [1]char = acond(cond: || gt(n[], 0i64), then: { a: [1]char = generate(shape: || n[], f: |%i: i64| 'λ') yield a },
    else: { a: [1]char = generate(shape: || 0i64, f: |%i: i64| '\u{3bb}') yield a })
  d: [1]char = check(c, ok: || (gt(n[], 0i64), n[]), message: "{} is too few")
  e: [1]char = foreign(d, name: "twice \"x\"", fallback: |a: [1]char| { yield a })
  f: [0]i64 = generate(shape: || (), f: || { %a: i64, %b: i64 = while (0i64, n[]) test |%k: i64, %m: i64| { yield lt(%k, %m) } step |%k: i64, %m: i64| { yield add(%k, 1i64), %m } yield %a })
  yield e, f
}
run { n = [] i64 { 3 }  expect [3] char fill('λ')  expect [] i64 { 3 } }
"#,
    "program() { yield }",
];

fn texts() -> Vec<Vec<u8>> {
    PROGRAMS.iter().map(|p| p.as_bytes().to_vec()).collect()
}

fn graphs() -> Vec<Vec<u8>> {
    let graph = |text: &&str| {
        let file = verified_test_file("seed.acc", text).ok()?;
        let graph = backend_graph::graph_of(&file.program).ok()?;
        Some(backend_graph::export(&graph, Format::Json).into_bytes())
    };
    PROGRAMS.iter().filter_map(graph).collect()
}

fn array_file(descr: &str, shape: &str, order: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{header:<117}\n").as_bytes(), data].concat()
}

fn arrays() -> Vec<Vec<u8>> {
    vec![
        array_file("<f4", "(5,)", "False", &[1; 20]),
        array_file(">i8", "(2, 3)", "True", &[1; 48]),
        array_file("|b1", "(2, 1, 3)", "False", &[1; 6]),
    ]
}

fn archives() -> Vec<Vec<u8>> {
    let archive = |contents: &[u8], method| {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file("xs.npy", options).ok()?;
        zip.write_all(contents).ok()?;
        Some(zip.finish().ok()?.into_inner())
    };
    let methods = [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated];
    arrays().iter().flat_map(|a| methods.map(|m| archive(a, m))).flatten().collect()
}

/// One of the inputs with a few changes: bytes replaced, pieces removed, repeated, or taken from another input, numbers made
/// extreme.
pub fn changed(seeds: &[Vec<u8>], choices: &mut Choices) -> Vec<u8> {
    const NUMBERS: [&[u8]; 8] =
        [b"0", b"-1", b"255", b"65536", b"4294967296", b"9223372036854775807", b"18446744073709551615", b"1e999"];
    let mut bytes = choices.pick(seeds).clone();
    for _ in 0..1 + choices.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = choices.below(bytes.len());
        let end = (at + 1 + choices.below(16)).min(bytes.len());
        match choices.below(7) {
            0 => bytes[at] = choices.bits() as u8,
            1 => bytes[at] ^= 1 << choices.below(8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].repeat(1 + choices.below(200));
                bytes.splice(at..at, piece);
            }
            4 => {
                let other = choices.pick(seeds);
                let from = choices.below(other.len().max(1)).min(other.len());
                let to = (from + choices.below(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            5 => {
                // The number that stands there or after it.
                let digits = |b: &u8| b.is_ascii_digit();
                let start = bytes[at..].iter().position(digits).map_or(at, |k| at + k);
                let end = bytes[start..].iter().position(|b| !digits(b)).map_or(bytes.len(), |k| start + k);
                bytes.splice(start..end, choices.pick(&NUMBERS).iter().copied());
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}
