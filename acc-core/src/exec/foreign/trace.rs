//! Messages from inside programs: where they go.
//!
//! A trace ([`Acc::atrace`](crate::Acc::atrace) and its relatives) prints when, and only if, its array is evaluated, on
//! every executor. Messages go to the standard error stream, or to a sink that the process sets.

use crate::data::ArrayData;
use crate::text::show_array;
use std::io::Write;
use std::sync::{Arc, PoisonError, RwLock};

/// What takes messages, one at a time, without a line break at the end. Called from the thread that runs the program.
pub type Sink = Arc<dyn Fn(&str) + Send + Sync>;

static SINK: RwLock<Option<Sink>> = RwLock::new(None);

/// How many elements of an array are shown.
const MAX_ELEMENTS_SHOWN: usize = 1000;

/// Sets where the messages of this process go, `None` for the standard error stream; returns what was set before.
///
/// ```
/// use acc_core::prelude::*;
/// use std::sync::{Arc, Mutex};
/// let heard = Arc::new(Mutex::new(Vec::new()));
/// let sink = Arc::clone(&heard);
/// acc_core::foreign::trace::set_sink(Some(Arc::new(move |message: &str| sink.lock().unwrap().push(message.to_string()))));
/// let xs = use_(&Vector::from([1, 2])).atrace("in use");
/// assert_eq!(Interpreter::new().run(xs.sum())?.value(), 3);
/// assert_eq!(*heard.lock().unwrap(), ["in use"]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn set_sink(sink: Option<Sink>) -> Option<Sink> {
    std::mem::replace(&mut *SINK.write().unwrap_or_else(PoisonError::into_inner), sink)
}

/// Prints the message of a trace with these arguments, of which the last `results` are passed on and not shown. For
/// executors.
pub fn emit(message: &str, args: &[ArrayData], results: usize) {
    let shown = args.len().saturating_sub(results);
    let arrays: Vec<String> = args.iter().take(shown).map(|a| show_array(a, MAX_ELEMENTS_SHOWN)).collect();
    let text = if arrays.is_empty() { message.to_string() } else { format!("{message}: {}", arrays.join(", ")) };
    // Not called under the lock: a sink may run programs.
    let sink = SINK.read().unwrap_or_else(PoisonError::into_inner).clone();
    match sink {
        Some(sink) => sink(&text),
        // Where nobody can read it a message is lost, and the run goes on.
        None => {
            let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
        }
    }
}
