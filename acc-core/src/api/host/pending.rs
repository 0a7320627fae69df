//! Runs in progress.

use crate::error::{Cause, Error};
use crate::limits::{CancelToken, RunLimits};
use std::thread::JoinHandle;

/// A run on a thread of its own, of [`Run::run_async`](crate::api::Run::run_async) or
/// [`Compiled::call_async`](crate::api::Compiled::call_async). Dropping it lets the run go on, unheard.
///
/// ```
/// use acc_core::prelude::*;
/// let total = Interpreter::new().run_async(use_(&Vector::from([1, 2, 3])).sum())?;
/// // Something else meanwhile.
/// assert_eq!(total.wait()?.value(), 6);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Pending<A> {
    cancel: CancelToken,
    state: State<A>,
}

enum State<A> {
    Running(JoinHandle<Result<A, Error>>),
    Done(Result<A, Error>),
}

impl<A: Send + 'static> Pending<A> {
    /// Starts a run within limits.
    pub(in crate::api) fn start(
        limits: &RunLimits,
        run: impl FnOnce(&RunLimits) -> Result<A, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let mut limits = limits.clone();
        let cancel = limits.cancel.get_or_insert_default().clone();
        let thread = std::thread::Builder::new().name("acc run".into()).spawn(move || run(&limits));
        let thread = thread.map_err(|e| Error::Threads { source: Cause::new(e) })?;
        Ok(Pending { cancel, state: State::Running(thread) })
    }

    /// A run that a limit stopped before it began.
    pub(in crate::api) fn stopped(error: Error) -> Self {
        Pending { cancel: CancelToken::new(), state: State::Done(Err(error)) }
    }

    /// Waits for the end of the run: its result, or its error.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let quotient = Interpreter::new().run_async(use_(&Vector::from([1, 0])).map(|x| 6 / x))?;
    /// assert!(matches!(quotient.wait(), Err(Error::Fault { .. })));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn wait(self) -> Result<A, Error> {
        match self.state {
            State::Running(thread) => joined(thread),
            State::Done(result) => result,
        }
    }

    /// The result, if the run has ended; does not wait.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let mut total = Interpreter::new().run_async(use_(&Vector::from([1, 2, 3])).sum())?;
    /// while total.poll().is_none() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(total.wait()?.value(), 6);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn poll(&mut self) -> Option<&Result<A, Error>> {
        let ended = matches!(&self.state, State::Running(thread) if thread.is_finished());
        if ended {
            // Replaced at once by the outcome; a cancelled run is what it would be without one.
            let gone = State::Done(Err(Error::Limit(crate::LimitError::Cancelled)));
            if let State::Running(thread) = std::mem::replace(&mut self.state, gone) {
                self.state = State::Done(joined(thread));
            }
        }
        match &self.state {
            State::Running(_) => None,
            State::Done(result) => Some(result),
        }
    }

    /// Asks the run to stop: it soon ends with [`LimitError::Cancelled`](crate::LimitError::Cancelled), unless it has
    /// ended before. Where the run's limits had a token, that one is cancelled.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// let endless = Interpreter::new().run_async(unit(while_(0i64, |i| i.ge(0), |i| i * 1)))?;
    /// endless.cancel();
    /// assert_eq!(endless.wait().unwrap_err(), Error::Limit(acc_core::LimitError::Cancelled));
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

fn joined<A>(thread: JoinHandle<Result<A, Error>>) -> Result<A, Error> {
    // A panic of the run (of a foreign function, say) goes on in who asks for the result.
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
