//! Arrays that only some points need: they are evaluated before a launch if one of its first points needs them.

mod common;

use acc_core::timeline::{self, Kind};
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};
use common::{Rng, array, parse, reference, same_outcome};

#[test]
fn a_launch_does_not_begin_before_what_its_first_points_need_is_there() {
    // The sums are stored, since they are read at other points than their own.
    let text = "program(x: [2]f32) {
      sums: [1]f32 = fold(x, f: |%a: f32, %b: f32| add(%a, %b), init: || 0.0f32)
      next: [1]f32 = generate(shape: || extent(x, 0), f: |%i: i64| {
        %s: f32 = if gt(%i, 2i64) { yield sums[sub(%i, 1i64)] } else { yield 0.5f32 }
        yield %s
      })
      yield next
    }";
    let program = parse(text);
    // With two rows no point needs the sums.
    for (rows, launches) in [(3000, ["fold", "generate"].as_slice()), (2, &["generate"])] {
        let args = [array(&[rows, 40], &acc_core::data::ScalarType::F32.into(), &mut Rng(5))];
        for compile in [Compile::Now, Compile::Never] {
            let native = Native::with(Options::new().threads(2).compile(compile)).unwrap();
            let recording = timeline::record();
            let got = native.run_untyped(&program, &args, &RunLimits::none());
            let spans = recording.stop().spans;
            let kernels = spans.iter().filter(|s| s.kind == Kind::Kernel);
            let mut names: Vec<&str> = kernels.filter_map(|s| s.name.split(' ').next_back()).collect();
            names.sort_unstable();
            assert_eq!(names, launches, "{rows} rows");
            same_outcome(text, &args, ("interpreter", &reference(&program, &args)), ("native", &got), 1e-3);
        }
    }
}
