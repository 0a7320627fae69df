//! `acc search`: the nests that it lists, and what it says when there is nothing to search.

use std::process::{Command, Output};
use tempfile::TempDir;

fn search(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_acc")).arg("search").args(args).output().expect("acc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const PRODUCT: &str = "program(a: [2]f64, b: [2]f64) {
  p: [3]f64 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
    f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
  m: [2]f64 = fold(p, f: |%x: f64, %y: f64| add(%x, %y), init: || 0f64)
  yield m
}
";

/// A folder with the product and its arguments in a file.
fn product(run: &str) -> (TempDir, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("product.acc");
    std::fs::write(&path, format!("{PRODUCT}{run}")).expect("a temporary file");
    let path = path.display().to_string();
    (folder, path)
}

const RUN: &str = "run { a = [40, 30] f64 lcg(1)  b = [30, 50] f64 lcg(2)  expect agree }\n";

#[test]
fn orders_are_listed_as_higher_order_functions() {
    let (folder, path) = product(RUN);
    let picture = folder.path().join("times.svg").display().to_string();
    let out = search(&[&path, "--orders", "--all", "--rounds", "1", "--svg", &picture]);
    let said = text(&out.stdout);
    assert!(out.status.success(), "{said}{}", text(&out.stderr));
    for order in ["mapA mapB rnz", "mapA rnz mapB", "mapB mapA rnz", "mapB rnz mapA", "rnz mapA mapB", "rnz mapB mapA"]
    {
        assert!(said.contains(order), "{order} is not in:\n{said}");
    }
    assert!(said.contains("6 nests, 6 of them measured\nall have the bits of the program as it is\n"), "{said}");
    let fastest = said.lines().find_map(|line| line.strip_prefix("fastest: ")).expect("the fastest nest");
    assert!(fastest.parse::<acc_core::api::Schedule>().is_ok(), "{fastest}");
    let drawn = std::fs::read_to_string(picture).expect("a picture");
    assert_eq!(drawn.matches("<circle").count(), 6, "{drawn}");
}

#[test]
fn axes_are_subdivided_and_few_nests_measured() {
    let (_folder, path) = product(RUN);
    let out = search(&[&path, "--orders", "--split", "i2=4", "--measure", "2", "--rounds", "1"]);
    let said = text(&out.stdout);
    assert!(said.contains("12 nests, 2 of them measured"), "{said}{}", text(&out.stderr));
    assert!(said.contains("rnz mapA rnz mapB"), "{said}");
}

#[test]
fn rules_are_printed() {
    let said = text(&search(&["--rules"]).stdout);
    let rules = backend_native::search::RULES.iter().map(|rule| rule.name);
    assert!(rules.clone().count() > 5 && rules.into_iter().all(|name| said.contains(name)), "{said}");
}

#[test]
fn there_may_be_nothing_to_search() {
    let fails = |run: &str, args: &[&str], wanted: &str| {
        let (_folder, path) = product(run);
        let out = search(&[&[&path[..]], args].concat());
        let said = text(&out.stderr);
        assert!(!out.status.success() && said.contains(wanted), "{said}");
    };
    fails("", &[], "has no arguments to run on");
    fails(RUN, &["--array", "z"], "there is no array `z` in the program");
    fails(RUN, &["--array", "a"], "no statement outside of inner blocks defines the array");
    fails(RUN, &["--orders", "--split", "i7=4"], "the tiles are not of its axes");
    fails(RUN, &["--split", "i0=4"], "--orders");
    fails(RUN, &["--orders", "--split", "i0"], "expected an axis and a size of at least 2");
}
