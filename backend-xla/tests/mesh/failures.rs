//! What breaks is told, on every process and in time.

use super::{Outcome, is_one_of_several, is_there, on_processes, started};
use acc_core::prelude::*;
use acc_core::{Error, LimitError};
use backend_xla::{Mesh, Xla};
use std::process::Child;
use std::time::{Duration, Instant};

/// Within which time an error must be told.
const MAX_TIME_TO_TELL: Duration = Duration::from_secs(30);

#[test]
fn other_programs_are_told() -> Outcome {
    on_processes("failures::other_programs_are_told", 2, |mesh| {
        let xla = Xla::on(mesh)?;
        let xs = Vector::from([1.5f64, 2.5]);
        let e = if mesh.is_first() { xla.run(use_(&xs).sum()) } else { xla.run(use_(&xs).product()) };
        let e = e.unwrap_err().to_string();
        assert!(e.contains("the processes do not do the same") && e.contains("process 1 has: program"), "{e}");
        // Nothing was begun: the mesh goes on.
        assert_eq!(xla.run(use_(&xs).sum())?.value(), 4.0);
        Ok(())
    })
}

#[test]
fn other_data_of_a_small_array_are_told() -> Outcome {
    on_processes("failures::other_data_of_a_small_array_are_told", 2, |mesh| {
        let xla = Xla::on(mesh)?;
        let xs = Vector::from([mesh.process() as i64]);
        let e = xla.run(use_(&xs).sum()).unwrap_err().to_string();
        assert!(e.contains("the processes do not do the same"), "{e}");
        Ok(())
    })
}

#[test]
fn rows_that_do_not_fit_are_told_to_all() -> Outcome {
    on_processes("failures::rows_that_do_not_fit_are_told_to_all", 2, |mesh| {
        let rows = if mesh.is_first() { mesh.rows(10).len() } else { 3 };
        let own = Vector::from(vec![1i32; rows]);
        let Err(e) = mesh.cut([10], &own) else { panic!("an error") };
        assert!(e.to_string().contains("process 1 has rows of shape [3], and must have [5] of [10]"), "{e}");
        Ok(())
    })
}

#[test]
fn a_process_that_leaves_is_told() -> Outcome {
    on_processes("failures::a_process_that_leaves_is_told", 2, |mesh| {
        if mesh.is_first() {
            let e = Xla::on(mesh)?.run(use_(&Vector::from([1, 2])).sum()).unwrap_err().to_string();
            assert!(e.contains("process 1 has: nothing, and has left"), "{e}");
        }
        Ok(())
    })
}

/// A loop that a process is in when another one is killed.
fn endless(mesh: &Mesh) -> Result<(), Error> {
    let xs: Vector<f64> = (0..1000).map(f64::from).collect();
    let step = |s: &Acc<Vector<f64>>| {
        let total = s.sum();
        s.map(|x| x + total.the() * 1e-9)
    };
    let program = awhile(use_(&xs), |s| s.sum().map(|t| t.ge(0.0)), |s| step(&s));
    Xla::on(&mesh.min_cut_bytes(0))?.run(program).map(drop)
}

fn end(child: &mut Child) -> Outcome {
    child.kill()?;
    child.wait()?;
    Ok(())
}

#[test]
fn a_process_that_is_killed_ends_the_others() -> Outcome {
    if is_one_of_several() {
        let mesh = Mesh::from_env()?;
        println!("connected");
        let start = Instant::now();
        let e = endless(&mesh).unwrap_err();
        assert!(matches!(e, Error::Library { .. }), "{e}");
        println!("{e} after {:.1?}", start.elapsed());
        return Ok(());
    }
    if !is_there() {
        return Ok(());
    }
    for killed in [0, 1] {
        let mut all = started("failures::a_process_that_is_killed_ends_the_others", 2)?;
        std::thread::sleep(Duration::from_secs(6));
        end(&mut all[killed])?;
        let start = Instant::now();
        while all[1 - killed].try_wait()?.is_none() {
            assert!(start.elapsed() < MAX_TIME_TO_TELL, "the other process waits for good");
            std::thread::sleep(Duration::from_millis(50));
        }
        let output = all.swap_remove(1 - killed).wait_with_output()?;
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("another process"), "{said}{errors}");
    }
    Ok(())
}

#[test]
fn a_deadline_ends_the_run_on_all() -> Outcome {
    on_processes("failures::a_deadline_ends_the_run_on_all", 2, |mesh| {
        let forever = awhile(unit(0i64), |_| lift(true), |i| i.map(|i| i + 1));
        let limits = RunLimits::none().timeout(Duration::from_secs(3));
        let e = Xla::on(mesh)?.run_with(forever, &limits).unwrap_err();
        assert!(matches!(e, Error::Limit(LimitError::Deadline) | Error::Library { .. }), "{e}");
        Ok(())
    })
}

#[test]
fn too_little_memory_is_told() -> Outcome {
    on_processes("failures::too_little_memory_is_told", 2, |mesh| {
        let limits = RunLimits::none().max_bytes(1000);
        let e = Xla::on(mesh)?.run_with(fill(100_000, 1.5f64), &limits).unwrap_err();
        assert!(matches!(e, Error::Limit(LimitError::Memory { .. })), "{e}");
        Ok(())
    })
}

#[test]
fn a_peer_that_cannot_be_reached_is_told() -> Outcome {
    if is_one_of_several() {
        let start = Instant::now();
        let Err(e) = Mesh::from_env() else { panic!("an error") };
        println!("{e} after {:.1?}", start.elapsed());
        return Ok(());
    }
    if !is_there() {
        return Ok(());
    }
    let mut all = started("failures::a_peer_that_cannot_be_reached_is_told", 2)?;
    end(&mut all[0])?;
    let output = all.swap_remove(1).wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("cannot be reached"), "{said}");
    Ok(())
}
