//! Programs on XLA, where a plugin is there.

use acc_core::prelude::*;
use acc_core::{Error, LimitError, timeline};
use backend_xla::Xla;
use std::time::Duration;

/// The executor; without a plugin there is none, and a message says how to get one.
fn xla() -> Option<Xla> {
    match Xla::local() {
        Ok(xla) => Some(xla),
        Err(e) => {
            assert!(e.to_string().contains("scripts/xla.sh"), "{e}");
            eprintln!("not run: {e}");
            None
        }
    }
}

#[test]
fn a_program_is_compiled_for_the_extents_of_its_arguments() -> Result<(), Error> {
    let Some(xla) = xla() else { return Ok(()) };
    let sums = xla.compile(|xs: Acc<Matrix<f32>>| xs.map(|x| x * x).fold(0.0, |a, b| a + b))?;
    for rows in [1, 3, 0, 3] {
        let elements: Vec<f32> = (0..rows * 4).map(|k| k as f32).collect();
        let xs = Matrix::from_vec([rows, 4], elements).expect("as many elements");
        let want: Vector<f32> = (0..rows).map(|i| (0..4).map(|j| ((i * 4 + j) as f32).powi(2)).sum()).collect();
        assert_eq!(sums.call((&xs,))?, want);
    }
    Ok(())
}

#[test]
fn an_extent_that_data_tell_is_looked_at() -> Result<(), Error> {
    let Some(xla) = xla() else { return Ok(()) };
    let xs = Vector::from([5i64, -1, 7, 0, 9]);
    let kept = xla.run(use_(&xs).filter(|x| x.gt(0)).map(|x| x * 2))?;
    assert_eq!(kept, Vector::from([10, 14, 18]));
    Ok(())
}

#[test]
fn a_fault_is_told_with_its_line() {
    let Some(xla) = xla() else { return };
    let xs = Vector::from([1, 2, 0]);
    let line = line!() + 1;
    let Err(Error::Fault { fault, loc, .. }) = xla.run(use_(&xs).map(|x| 6 / x)) else { panic!("a fault") };
    assert_eq!((fault.kind(), loc.line()), ("division_by_zero", line));
}

/// A run with limits looks at them after some milliseconds of steps, and not after each step.
#[test]
fn a_loop_with_limits_takes_many_steps_at_a_time() -> Result<(), Error> {
    const STEPS: i64 = 2000;
    let Some(xla) = xla() else { return Ok(()) };
    let limits = RunLimits::none().timeout(Duration::from_secs(600));
    let recording = timeline::record();
    // Other tests run beside this one.
    let own = timeline::span(timeline::Kind::Run, || "many steps");
    let counted = xla.run_with(awhile(unit(0i64), |i| i.map(|i| i.lt(STEPS)), |i| i.map(|i| i + 1)), &limits)?;
    let lanes =
        use_(&Vector::from([STEPS, 7])).map(|n| while_((n, 0i64), |(n, _)| n.gt(0), |(n, k)| (n - 1, k + 84 / n)).1);
    let lanes = xla.run_with(lanes, &limits)?;
    drop(own);
    let spans = recording.stop().spans;
    assert_eq!(counted.value(), STEPS);
    let harmonic = |n: i64| (1..=n).map(|k| 84 / k).sum::<i64>();
    assert_eq!(lanes, Vector::from([harmonic(STEPS), harmonic(7)]));
    let thread = spans.iter().find(|s| s.name == "many steps").map(|s| s.thread);
    let own = |name: &str| spans.iter().filter(|s| Some(s.thread) == thread && s.name == name).count();
    assert!((2..STEPS as usize / 4).contains(&own("stage")), "{} stages", own("stage"));
    assert_eq!(own("interpreter"), 0, "a lane that left the loop divides no more");
    Ok(())
}

#[test]
fn loops_end_at_the_deadline() {
    let Some(xla) = xla() else { return };
    let array_loop = || awhile(unit(0i64), |_| lift(true), |i| i.map(|i| i + 1));
    let lanes = || use_(&Vector::from([1i64, 2])).map(|x| while_(x, |i| i.ge(0), |i| i * 1)).sum();
    for program in [array_loop(), lanes()] {
        let limits = RunLimits::none().timeout(Duration::from_millis(300));
        assert_eq!(xla.run_with(program, &limits).unwrap_err(), Error::Limit(LimitError::Deadline));
    }
}

/// A loop in a loop over elements, and one outside of the loop whose step needs it.
#[test]
fn loops_in_loops_end_at_the_deadline() {
    let Some(xla) = xla() else { return };
    let endless = |x: Exp<i64>| while_(x, |k| k.eq(k), |k| k + 1);
    let nested = use_(&Vector::from([1i64, 2])).map(move |x| while_(x, |i| i.ge(0), endless)).sum();
    let once = use_(&Scalar::scalar(0i64)).map(endless);
    let around = awhile(unit(0i64), |s| s.map(|s| s.lt(3)), move |s| s.map(|s| s + once.the()));
    for program in [nested, around] {
        let limits = RunLimits::none().timeout(Duration::from_millis(300));
        assert_eq!(xla.run_with(program, &limits).unwrap_err(), Error::Limit(LimitError::Deadline));
    }
}

#[test]
fn inverse_tangents_of_as_many_elements_as_vectors_have() -> Result<(), Error> {
    let Some(xla) = xla() else { return Ok(()) };
    let xs: Vector<f32> = (0..156).map(|k| (k as f32 - 70.0) / 3.0).collect();
    let got = xla.run(use_(&xs).map(|x| x.atan()))?;
    for (x, y) in xs.iter().zip(got.iter()) {
        assert!((x.atan() - y).abs() < 1e-6, "atan {x} is {y}");
    }
    Ok(())
}
