//! What docs/TEXT.md says of programs that are written and read back, on random programs and what passes make of them.

use acc_core::ir::Program;
use acc_core::text::{canonical, parse, parse_test_file};
use acc_core::verify::verify;
use acc_core::{Backend, RunLimits};
use acc_desugar::pass;
use acc_desugar::{Rules, pipeline};
use backend_native::{Kernels, Native, Options};
use conformance::fuzz::{Choices, mode_of, program};
use std::sync::Arc;

const PROGRAMS: u64 = 1_000;

/// Writes a verified program and reads it back, with its locations and without them.
fn read_back(what: &str, p: &Program) -> Program {
    verify(p, None).unwrap_or_else(|e| panic!("{what}: {e}\n{p}"));
    let [full, short] = [p.to_string(), format!("{p:#}")].map(|text| {
        let again = parse("written.acc", &text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
        assert_eq!(again, canonical(p), "{what}\n{text}");
        (again, text)
    });
    // Locations make no difference to `==`, but they are in the text.
    assert_eq!(full.0.to_string(), full.1, "{what}");
    assert_eq!(format!("{:#}", short.0), short.1, "{what}");
    full.0
}

/// Writes the kernels of a program and reads them back; gives their number.
fn kernels_read_back(what: &str, native: &Native, p: &Arc<Program>) -> usize {
    let prepared = native.prepare(p, &RunLimits::none()).unwrap_or_else(|e| panic!("{what}: {e}\n{p}"));
    let kernels = prepared.explain().all_kernels();
    for text in [kernels.to_string(), format!("{kernels:#}")] {
        let read = Kernels::parse("kernels.acc", &text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
        read.verify().unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
        assert_eq!(format!("{read:#}"), format!("{kernels:#}"), "{what}");
        // Equal but for the numbers of scalars: that of the text is the one in order of definition.
        let again = Kernels::parse("kernels.acc", &read.to_string()).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
        assert_eq!((&again, again.to_string()), (&read, read.to_string()), "{what}");
    }
    kernels.count()
}

#[test]
fn kernels_of_random_programs_read_back() {
    let native = [Native::new(), Native::with(Options::new().checks(false).relaxed(true)).expect("threads")];
    let (mut kernels, all) = (0, PROGRAMS / 2);
    for seed in 0..all {
        let text = program(Choices::seeded(seed), mode_of(seed));
        let p = parse_test_file("random.acc", &text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}")).program;
        kernels += native.iter().map(|native| kernels_read_back(&format!("seed {seed}"), native, &p)).sum::<usize>();
    }
    assert!(kernels as u64 > 2 * all, "{kernels}");
    println!("{kernels} kernels");
}

#[test]
fn a_node_without_results_follows_a_nan() {
    let text = "program(c: [0]bool) {
  x: [0]f64 = generate(shape: || (), f: || {
    %a: f64 = nan
    () = if c[] { yield } else { yield }
    yield %a
  })
  yield x
}";
    let p = parse("nan.acc", text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(read_back("nan.acc", &p), p);
}

#[test]
fn random_programs_read_back_as_their_canonical_form() {
    let mut renumbered = 0;
    for seed in 0..PROGRAMS {
        let text = program(Choices::seeded(seed), mode_of(seed));
        let p = parse_test_file("random.acc", &text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}")).program;
        // A program that was read is in canonical form.
        assert_eq!(read_back(&format!("seed {seed}"), &p), *p);
        let (rules, limits) = (Rules::all(), RunLimits::none());
        let settings = backend_native::pass_settings(&rules, &limits);
        let passes: Vec<_> = pass::with_parts(pipeline::NATIVE).collect();
        let name = passes[seed as usize % passes.len()].name;
        // The executor's own pass makes no program.
        let Some(stage) = pass::until(pipeline::NATIVE, name, &p, &settings) else { continue };
        let stage = stage.unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{p}"));
        let passed = stage.into_program().expect("all passes but the last make programs").into_owned();
        let again = read_back(&format!("seed {seed}, after {name}"), &passed);
        renumbered += u64::from(again != passed);
    }
    // Some programs that passes make are not in canonical form: otherwise nothing is tested of those.
    assert!(renumbered > PROGRAMS / 100, "{renumbered}");
}
