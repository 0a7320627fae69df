//! Running tests on one executor.

use crate::bound;
use crate::cases::Outcome;
use crate::compare::{Near, compare};
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::text::{Data, Expect, Run, TestFile};
use acc_core::{Error, Executor, Interpreter, LimitError, RunLimits};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may take that states no deadline: far beyond what any test needs, so that an endless one ends.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(120);

/// How much later than its deadline a run may stop: 50 ms are promised, and a machine under load is given more.
const DEADLINE_GRACE: Duration = Duration::from_millis(1000);

/// The outcome of a run.
pub fn execute(executor: &dyn Executor, file: &TestFile, run: &Run) -> Result<Vec<ArrayData>, Error> {
    self::run(executor, &file.program, &run.arrays()?, run.deadline_ms)
}

/// Runs a program, within the deadline if there is one. A panic is an error like others here, so that one defect does not
/// hide the rest.
pub fn run(
    executor: &dyn Executor,
    program: &Arc<Program>,
    args: &[ArrayData],
    deadline_ms: Option<u64>,
) -> Result<Vec<ArrayData>, Error> {
    let patience = deadline_ms.map_or(DEFAULT_DEADLINE, Duration::from_millis);
    let limits = RunLimits::none().deadline(Instant::now() + patience);
    caught(|| executor.run_untyped(program, args, &limits))
        .unwrap_or_else(|message| Err(Error::defect("panic", message)))
}

/// The message of a panic, if there is one.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        text.unwrap_or("without a message").to_string()
    })
}

/// Every run of a test file.
pub fn check_file(executor: &dyn Executor, file: &TestFile) -> Outcome {
    let mut outcome = Outcome::default();
    for r in &file.runs {
        let start = Instant::now();
        let got = execute(executor, file, r);
        if let Err(e) = judge(file, r, &got, start.elapsed()) {
            outcome.failures.push(format!("run {:?} at line {}: {e}", r.name.as_deref().unwrap_or_default(), r.line));
            continue;
        }
        match &got {
            // They were made for the run.
            Ok(results) => outcome.saw(&r.arrays().unwrap_or_default(), results),
            Err(_) => outcome.value = true,
        }
    }
    outcome
}

/// Runs and checks; the error says what differs from the expectation.
pub fn check(executor: &dyn Executor, file: &TestFile, run: &Run) -> Result<(), String> {
    let start = Instant::now();
    let got = execute(executor, file, run);
    judge(file, run, &got, start.elapsed())
}

/// Whether the outcome of a run that took `time` is what its file expects.
pub fn judge(file: &TestFile, run: &Run, got: &Result<Vec<ArrayData>, Error>, time: Duration) -> Result<(), String> {
    match (&run.expect, got) {
        (Expect::Values(want), Ok(got)) => {
            let want = want.iter().map(Data::array).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
            compare_all(file, run, got, &want)
        }
        (Expect::Agree, Ok(got)) => {
            let want = execute(&Interpreter::new(), file, run).map_err(|e| format!("the interpreter fails: {e}"))?;
            compare_all(file, run, got, &want)
        }
        (Expect::Values(_) | Expect::Agree, Err(e)) => Err(format!("results are expected, but the run fails: {e}")),
        (Expect::Fault { kind, line }, Err(Error::Fault { fault, loc, .. })) => match line {
            _ if fault.kind() != kind => Err(format!("the fault {kind} is expected, not {}: {fault}", fault.kind())),
            Some(line) if *line != loc.line() => Err(format!("the fault is expected at line {line}, not at {loc}")),
            Some(_) | None => Ok(()),
        },
        (Expect::Fault { kind, .. }, Err(e)) => Err(format!("the fault {kind} is expected, not: {e}")),
        (Expect::Fault { kind, .. }, Ok(_)) => Err(format!("the fault {kind} is expected, but the run succeeds")),
        (Expect::Stopped, Err(Error::Limit(LimitError::Deadline))) => {
            let deadline = Duration::from_millis(run.deadline_ms.unwrap_or(0));
            if time <= deadline + DEADLINE_GRACE {
                Ok(())
            } else {
                Err(format!("stopped after {time:?}, long after its deadline of {deadline:?}"))
            }
        }
        (Expect::Stopped, Err(e)) => Err(format!("the deadline is expected to stop the run, not: {e}")),
        (Expect::Stopped, Ok(_)) => Err("the deadline is expected to stop the run, but it ends".into()),
    }
}

fn compare_all(file: &TestFile, run: &Run, got: &[ArrayData], want: &[ArrayData]) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} results where {} are expected", got.len(), want.len()));
    }
    let near = match run.tolerance {
        Some(t) => Near::from(t),
        None => bound::of_program(&file.program, &run.arrays().map_err(|e| e.to_string())?)?,
    };
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        compare(g, w, near).map_err(|e| format!("result {k}: {e}"))?;
    }
    Ok(())
}
