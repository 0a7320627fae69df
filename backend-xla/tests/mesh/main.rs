//! Programs on the processes of a mesh, where jaxlib is there. A test starts itself as several processes; in each of them its
//! body runs.

mod collectives;
mod failures;

use acc_core::prelude::*;
use backend_xla::{CallOn, Cut, Mesh, Sharded, Xla, variables};
use std::error::Error;
use std::ffi::OsStr;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

type Outcome = Result<(), Box<dyn Error>>;

/// Whether jaxlib is there; if not a message says how to get it.
fn is_there() -> bool {
    let there = backend_xla::jaxlib_folder().is_some();
    if !there {
        eprintln!("not run: {}", backend_xla::HOW_TO_GET_JAXLIB);
    }
    there
}

/// Starts the test of a name as so many processes.
fn started(test: &str, processes: usize) -> Result<Vec<Child>, Box<dyn Error>> {
    started_with(test, processes, &[])
}

/// The same with more variables of the environment.
fn started_with(test: &str, processes: usize, more: &[(&str, &OsStr)]) -> Result<Vec<Child>, Box<dyn Error>> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let start = |process: usize| {
        Command::new(std::env::current_exe()?)
            .args([test, "--exact", "--nocapture"])
            .env(variables::PROCESS, process.to_string())
            .env(variables::PROCESSES, processes.to_string())
            .env(variables::COORDINATOR, format!("127.0.0.1:{port}"))
            .env(variables::CONNECT_SECONDS, "10")
            .envs(more.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    Ok((0..processes).map(start).collect::<Result<_, _>>()?)
}

fn is_one_of_several() -> bool {
    std::env::var_os(variables::PROCESSES).is_some()
}

/// Runs the body of the test of a name on so many processes, or is one of them.
fn on_processes(test: &str, processes: usize, body: impl FnOnce(&Mesh) -> Outcome) -> Outcome {
    if is_one_of_several() {
        return body(&Mesh::from_env()?);
    }
    if !is_there() {
        return Ok(());
    }
    let outputs = started(test, processes)?.into_iter().map(Child::wait_with_output);
    for (process, output) in outputs.collect::<Result<Vec<Output>, _>>()?.iter().enumerate() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "process {process} of {processes}: {said}");
    }
    Ok(())
}

/// Whole arrays in and out: what is cut is put together again, also where processes do not divide its extent.
fn whole_arrays(mesh: &Mesh) -> Outcome {
    let xla = Xla::on(&mesh.min_cut_bytes(0))?;
    for n in [1usize, 2, 3, 7, 8, 100] {
        let xs: Vector<i64> = (0..n as i64).map(|k| k * k % 17 - 5).collect();
        let matrix = Matrix::from_fn((n, 3), |ix| (ix[0] * 3 + ix[1]) as f32)?;
        let (sums, running, kept, doubled) = (
            xla.run(use_(&matrix).fold(0.0, |a, b| a + b))?,
            xla.run(use_(&xs).scanl1(|a, b| a + b))?,
            xla.run(use_(&xs).filter(|x| x.gt(0)))?,
            xla.run(use_(&matrix).map(|x| x * 2.0))?,
        );
        let interpreter = Interpreter::new();
        assert_eq!(sums, interpreter.run(use_(&matrix).fold(0.0, |a, b| a + b))?);
        assert_eq!(running, interpreter.run(use_(&xs).scanl1(|a, b| a + b))?);
        assert_eq!(kept, interpreter.run(use_(&xs).filter(|x| x.gt(0)))?);
        assert_eq!(doubled, interpreter.run(use_(&matrix).map(|x| x * 2.0))?);
    }
    // An operator that is not commutative: (a, b) is x ↦ a·x + b, in wrapping integers.
    let maps: Vector<(i64, i64)> = (0..23).map(|k| (2 * k + 1, k - 7)).collect();
    let after = |(a, b): (Exp<i64>, Exp<i64>), (c, d): (Exp<i64>, Exp<i64>)| (a * c, b * c + d);
    let (scanned, folded) = (xla.run(use_(&maps).scanl1(after))?, xla.run(use_(&maps).fold1(after))?);
    assert_eq!(scanned, Interpreter::new().run(use_(&maps).scanl1(after))?);
    assert_eq!(folded, Interpreter::new().run(use_(&maps).fold1(after))?);
    Ok(())
}

#[test]
fn whole_arrays_on_two_processes() -> Outcome {
    on_processes("whole_arrays_on_two_processes", 2, whole_arrays)
}

#[test]
fn whole_arrays_on_three_processes() -> Outcome {
    on_processes("whole_arrays_on_three_processes", 3, whole_arrays)
}

/// Arrays that stay on the devices: each process gives its rows, and gets them back.
#[test]
fn arrays_stay_where_they_are() -> Outcome {
    on_processes("arrays_stay_where_they_are", 2, |mesh| {
        let mesh = mesh.min_cut_bytes(64);
        let step = Xla::on(&mesh)?.compile(|xs: Acc<Matrix<f64>>, by: Acc<Vector<f64>>| {
            let total = xs.map(|x| x * x).flatten().sum();
            let rows = xs.extent().parts()[0];
            (xs.zip_with(by.replicate((rows, All)), |x, y| x * y), total)
        })?;
        let by = Vector::from([1.0, 10.0, 100.0]);
        for rows in [6usize, 7] {
            let all = Matrix::from_fn((rows, 3), |ix| (ix[0] + ix[1]) as f64)?;
            let own = mesh.rows(rows);
            let mine = Matrix::from_fn((own.len(), 3), |ix| (own.start + ix[0] + ix[1]) as f64)?;
            let xs: Sharded<Matrix<f64>> = mesh.cut((rows, 3), &mine)?;
            assert_eq!((xs.own()?, xs.whole()?), (mine.clone(), all.clone()));
            let (ys, total): (Sharded<Matrix<f64>>, _) = step.call_on((&xs, &by))?;
            assert!(ys.is_cut() && !total.is_cut());
            let (again, _) = step.call_on((&ys, (&by, Cut::Whole)))?;
            let want = Matrix::from_fn((own.len(), 3), |ix| {
                mine.get((ix[0], ix[1])).unwrap_or(0.0) * [1.0, 100.0, 1e4][ix[1]]
            })?;
            assert_eq!(again.own()?, want);
            assert_eq!(total.own()?.value(), all.iter().map(|x| x * x).sum::<f64>());
        }
        Ok(())
    })
}

#[test]
fn a_fault_is_told_by_every_process() -> Outcome {
    on_processes("a_fault_is_told_by_every_process", 2, |mesh| {
        let xla = Xla::on(&mesh.min_cut_bytes(0))?;
        let xs = Vector::from([1, 2, 3, 0, 5]);
        let line = line!() + 1;
        let Err(acc_core::Error::Fault { fault, loc, .. }) = xla.run(use_(&xs).map(|x| 6 / x)) else {
            panic!("a fault")
        };
        assert_eq!((fault.kind(), loc.line()), ("division_by_zero", line));
        assert_eq!(xla.run(use_(&xs).sum())?.value(), 11);
        Ok(())
    })
}

/// While its mesh lives a process records what it does, where its launch asks for that.
#[test]
fn a_mesh_leaves_a_trace() -> Outcome {
    const TEST: &str = "a_mesh_leaves_a_trace";
    if is_one_of_several() {
        let mesh = Mesh::from_env()?;
        assert_eq!(Xla::on(&mesh)?.run(use_(&Vector::from([1, 2])).sum())?.value(), 3);
        return Ok(());
    }
    if !is_there() {
        return Ok(());
    }
    let room = tempfile::tempdir()?;
    // It is made when it is written to.
    let folder = room.path().join("traces");
    let children = started_with(TEST, 2, &[(variables::TRACE, folder.as_os_str())])?;
    for output in children.into_iter().map(Child::wait_with_output).collect::<Result<Vec<Output>, _>>()? {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for process in [0, 1] {
        let trace = std::fs::read_to_string(folder.join(backend_xla::trace_name(process)))?;
        for name in ["connect", "agree", "prepare", "compile", "stage"] {
            assert!(trace.contains(&format!("\"name\":\"{name}\"")), "{name} is missing in {trace}");
        }
    }
    assert_eq!(std::fs::read_dir(&folder)?.count(), 2);
    Ok(())
}

/// What two processes save three load, and a failure leaves no folder.
#[test]
fn saved_arrays_are_loaded_by_another_number_of_processes() -> Outcome {
    const FOLDER: &str = "ACC_TEST_FOLDER";
    const TEST: &str = "saved_arrays_are_loaded_by_another_number_of_processes";
    let all = Matrix::from_fn((10, 3), |ix| (ix[0] * 3 + ix[1]) as f64)?;
    let own =
        |rows: std::ops::Range<usize>| Matrix::from_fn((rows.len(), 3), |ix| ((rows.start + ix[0]) * 3 + ix[1]) as f64);
    if is_one_of_several() {
        let mesh = Mesh::from_env()?;
        let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).ok_or("a folder")?);
        if !folder.exists() {
            let xs: Sharded<Matrix<f64>> = mesh.cut((10, 3), &own(mesh.rows(10))?)?;
            xs.save(&folder)?;
        }
        let xs: Sharded<Matrix<f64>> = mesh.load(&folder)?;
        assert_eq!((xs.own()?, xs.whole()?), (own(mesh.rows(10))?, all));
        let e = xs.save(&folder).unwrap_err().to_string();
        assert!(e.contains("exists already"), "{e}");
        return Ok(());
    }
    if !is_there() {
        return Ok(());
    }
    let room = tempfile::tempdir()?;
    let folder = room.path().join("xs");
    for processes in [2, 3, 1] {
        let children = started_with(TEST, processes, &[(FOLDER, folder.as_os_str())])?;
        for output in children.into_iter().map(Child::wait_with_output).collect::<Result<Vec<Output>, _>>()? {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(folder.exists() && !room.path().join("xs.new").exists());
    }
    assert_eq!(std::fs::read_dir(&folder)?.count(), 2);
    Ok(())
}
