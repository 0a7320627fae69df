//! Executors without checks: programs without faults give the same, and a fault gives an unspecified value and nothing
//! worse. On the native executor such programs run the code with checks, on the graph there is no check.

use acc_core::prelude::*;
use backend_native::{Compile, Native, Options};

fn native(compile: Compile) -> Native {
    Native::with(Options::new().checks(false).compile(compile)).unwrap()
}

/// Programs with and without faults, on indices that are given.
fn reads(backend: &impl Run, at: &[i64]) -> Vec<Result<Vec<i64>, Error>> {
    let (xs, none) = (Vector::from([10i64, 20, 30]), Vector::<i64>::from([]));
    let at = use_(&Vector::from(at.to_vec()));
    let (xs, none, m) = (use_(&xs), use_(&none), use_(&Matrix::from([[1i64, 2], [3, 4], [5, 6]])));
    let programs: Vec<Acc<Vector<i64>>> = vec![
        at.map(|i| xs.index(i)),
        at.map(|i| m.index((i, i - 1))),
        at.map(|i| none.index(i)),
        at.map(|i| cond(i.lt(1), xs.index(i), none.index(i))),
        at.map(|x| x * 2).backpermute(at.length(), |i| i * 3 - 2),
        at.permute(&xs, |new, old| new + old, |i| Some(at.index(i))),
        at.permute(&none, |new, old| new + old, |i| Some(at.index(i))),
        at.map(|i| iterate(3, i, |k| xs.index(k) / 10)),
    ];
    programs.into_iter().map(|p| backend.run(p).map(|v| v.to_vec())).collect()
}

/// Everything that the same executor with checks yields, without them too; and nothing faults.
fn holds<B: Run, C: Run>(checked: &B, unchecked: &C) {
    for at in [&[0i64, 1, 2][..], &[1, 1], &[], &[-1, 3], &[i64::MIN, i64::MAX, 1 << 40]] {
        for (k, (want, got)) in reads(checked, at).into_iter().zip(reads(unchecked, at)).enumerate() {
            let got = got.unwrap_or_else(|e| panic!("program {k} at {at:?}: {e}"));
            match want {
                Ok(want) => assert_eq!(got, want, "program {k} at {at:?}"),
                Err(fault) => assert!(matches!(fault, Error::Fault { .. }), "{fault}"),
            }
        }
    }
}

const PROGRAM: &str = "program(xs: [1]i64, at: [1]i64) {
  a: [1]i64 = map(at, f: |%i: i64| add(xs[%i], xs[rem(%i, 2i64)]))
  b: [1]i64 = backpermute(a, shape: || extent(at, 0), index: |%i: i64| mul(%i, 2i64))
  c: [1]i64 = permute(b, into: xs, combine: |%a: i64, %b: i64| %a, target: |%i: i64| (1u8, at[%i]))
  yield c
}";

#[test]
fn native_gives_the_same_without_faults() {
    for compile in [Compile::Never, Compile::Background, Compile::Now] {
        holds(&Native::new(), &native(compile));
    }
}

#[test]
fn native_runs_the_code_with_checks() {
    let program = acc_core::text::parse("unchecked.acc", PROGRAM).unwrap().into();
    let [checked, unchecked] = [Native::compiled(), native(Compile::Now)]
        .map(|native| native.prepare(&program, &RunLimits::none()).unwrap().listing());
    assert_eq!(checked, unchecked);
    assert!(checked.lines().count() > 20, "{checked}");
}

#[cfg(feature = "libtorch")]
#[test]
fn libtorch_gives_the_same_without_faults() {
    use backend_graph::Libtorch;
    holds(&Libtorch::cpu(), &Libtorch::with(backend_graph::Options::new().checks(false)).expect("the CPU"));
}

#[test]
fn the_graph_has_no_check_left() {
    use acc_desugar::graph::Op;
    let program = acc_core::text::parse("unchecked.acc", PROGRAM).unwrap();
    let checks = |checks: bool| {
        let graph = backend_graph::graph_with(&program, &acc_desugar::Rules::all(), checks).unwrap();
        let mut count = 0;
        graph.body.visit(&mut |n| {
            let made = matches!(
                n.op,
                Op::Fault { .. } | Op::Checked { .. } | Op::Confine { .. } | Op::InBounds { by_use: false, .. }
            );
            count += usize::from(made);
        });
        count
    };
    assert_eq!(checks(false), 0);
    assert!(checks(true) > 0);
}
