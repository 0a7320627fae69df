//! Runs that are repeated to find out which fault comes first.

use crate::error::{Error, Fault};
use std::sync::{Arc, Mutex};

/// What is wrong where a derivative, as it runs fast, combines arrays that it assumes to have the same extents. Its exact form does not
/// assume it: that is no fault of the program.
pub const EQUAL_EXTENTS: &str = "arrays that a function combines have other extents than each other";

/// The same of a loop whose states it assumes to have the same extents.
pub const LOOP_EXTENTS: &str = "the steps of a loop change the extents of its state";

/// A program in two prepared forms: a fast one, and, made once a run has met a fault, an exact one.
///
/// Optimisation keeps whether a program has a fault, but not always which of several comes first. The fault that is
/// reported is that of the exact form, which was prepared without simplification and fusion.
pub struct Replay<T> {
    fast: T,
    /// Tried, never waited for: in a child made by `fork` another thread's lock is never released.
    exact: Mutex<Option<Arc<T>>>,
}

/// Why a run has no results.
#[derive(Debug)]
pub enum Ended {
    /// The program has a fault: this one, if the run can tell.
    Fault(Option<Box<Error>>),
    /// Anything else.
    Error(Box<Error>),
}

impl From<Error> for Ended {
    fn from(e: Error) -> Ended {
        match e {
            Error::Fault { .. } => Ended::Fault(Some(Box::new(e))),
            e => Ended::Error(Box::new(e)),
        }
    }
}

impl<T> Replay<T> {
    /// A program as it runs fast.
    pub fn new(fast: T) -> Replay<T> {
        Replay { fast, exact: Mutex::new(None) }
    }

    /// The program as it runs fast.
    pub fn fast(&self) -> &T {
        &self.fast
    }

    /// Runs the program; where that meets a fault, makes the exact form, if there is none yet, and runs that.
    ///
    /// The outcome is that of the exact run. If a limit stops it, or there is no memory for it, the fault of the fast run is
    /// reported, if it is known to be one: an error of a library need not be due to a fault. A defect is always reported.
    pub fn run<R>(
        &self,
        run: impl Fn(&T) -> Result<R, Ended>,
        exact: impl FnOnce() -> Result<T, Error>,
    ) -> Result<R, Error> {
        let known = match run(&self.fast) {
            Ok(results) => return Ok(results),
            Err(Ended::Error(e)) => return Err(*e),
            Err(Ended::Fault(known)) => known.filter(|known| !is_of_assumption(known)),
        };
        let again = self.exact(exact).map_err(Ended::from).and_then(|exact| run(&exact));
        again.map_err(|ended| match (ended, known) {
            (Ended::Fault(Some(first)), _) => *first,
            (Ended::Error(e), Some(known))
                if matches!(*e, Error::Limit(_)) && !matches!(*known, Error::Fault { .. }) =>
            {
                *e
            }
            (Ended::Error(e), Some(_)) if matches!(*e, Error::Defect { .. } | Error::Verify(_)) => *e,
            (Ended::Fault(None) | Ended::Error(_), Some(known)) => *known,
            (Ended::Error(e), None) => *e,
            (Ended::Fault(None), None) => Error::defect("replay", "a fault was found that no run can tell"),
        })
    }

    fn exact(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<Arc<T>, Error> {
        if let Ok(kept) = self.exact.try_lock()
            && let Some(exact) = &*kept
        {
            return Ok(exact.clone());
        }
        let made = Arc::new(make()?);
        if let Ok(mut kept) = self.exact.try_lock() {
            *kept = Some(made.clone());
        }
        Ok(made)
    }
}

/// Whether a check with this message holds what a fast form assumes.
///
/// ```
/// use acc_core::exec::replay::{EQUAL_EXTENTS, is_assumption};
/// assert!(is_assumption(EQUAL_EXTENTS) && !is_assumption("the number of points is even"));
/// ```
pub fn is_assumption(message: &str) -> bool {
    [EQUAL_EXTENTS, LOOP_EXTENTS].contains(&message)
}

fn is_of_assumption(e: &Error) -> bool {
    matches!(e, Error::Fault { fault: Fault::CheckFailed { message }, .. } if is_assumption(message))
}

#[cfg(test)]
mod tests {
    use super::{Ended, Replay};
    use crate::error::{Error, Fault, LimitError};
    use crate::ir::Loc;
    use std::cell::Cell;

    fn fault(message: &str) -> Error {
        let fault = Fault::CheckFailed { message: message.into() };
        Error::Fault { fault, op: "check", loc: Loc::unknown() }
    }

    /// The result of a program whose fast and exact runs give these.
    fn outcome(fast: Result<i32, Option<Error>>, exact: Result<i32, Error>) -> Result<i32, Error> {
        let run = |r: &Result<i32, Option<Error>>| r.clone().map_err(|e| e.map_or(Ended::Fault(None), Ended::from));
        Replay::new(fast).run(run, || Ok(exact.map_err(Some)))
    }

    #[test]
    fn the_exact_run_decides() {
        assert_eq!(outcome(Ok(1), Ok(2)), Ok(1));
        assert_eq!(outcome(Err(Some(fault("a"))), Err(fault("b"))), Err(fault("b")));
        assert_eq!(outcome(Err(None), Err(fault("b"))), Err(fault("b")));
        assert_eq!(outcome(Err(Some(fault("a"))), Ok(2)), Ok(2));
        // Other errors than faults do not lead to a second run.
        let limit = Error::Limit(LimitError::Deadline);
        assert_eq!(outcome(Err(Some(limit.clone())), Ok(2)), Err(limit));
    }

    #[test]
    fn a_limit_of_the_exact_run_leaves_the_known_fault() {
        let limit = Error::Limit(LimitError::Deadline);
        assert_eq!(outcome(Err(Some(fault("a"))), Err(limit.clone())), Err(fault("a")));
        assert_eq!(outcome(Err(None), Err(limit.clone())), Err(limit.clone()));
        let replay = Replay::new(());
        let run = |_: &()| Err::<i32, _>(Ended::from(fault("a")));
        assert_eq!(replay.run(run, || Err(limit)), Err(fault("a")));
    }

    #[test]
    fn an_assumption_that_fails_is_no_fault() {
        let limit = Error::Limit(LimitError::Deadline);
        for assumption in [super::EQUAL_EXTENTS, super::LOOP_EXTENTS] {
            assert_eq!(outcome(Err(Some(fault(assumption))), Err(limit.clone())), Err(limit.clone()));
            assert_eq!(outcome(Err(Some(fault(assumption))), Ok(1)), Ok(1));
        }
    }

    #[test]
    fn a_defect_of_the_exact_run_is_told() {
        let defect = Error::defect("native", "no such array");
        assert_eq!(outcome(Err(Some(fault("a"))), Err(defect.clone())), Err(defect));
    }

    #[test]
    fn the_exact_form_is_made_once() {
        let (made, replay) = (Cell::new(0), Replay::new(0));
        for _ in 0..3 {
            let run = |n: &i32| if *n == 0 { Err(Ended::Fault(None)) } else { Ok(*n) };
            let exact = || Ok(made.replace(made.get() + 1) + 1);
            assert_eq!(replay.run(run, exact), Ok(1));
        }
        assert_eq!(made.get(), 1);
    }
}
