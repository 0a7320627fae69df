//! Timelines of what a process does, from the front end to the kernels, for tools that draw them.
//!
//! Passes and executors open [`span`]s. While nobody records or watches, that is one look at a flag. A recording takes the
//! spans of the whole process, whatever thread they are on, and a [`watch`] tells which are open; Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` open what
//! [`Timeline::to_chrome`] writes.
//!
//! ```
//! use acc_core::{prelude::*, timeline};
//! let recording = timeline::record();
//! Interpreter::new().run(use_(&Vector::from([1, 2, 3])).sum())?;
//! let timeline = recording.stop();
//! assert!(timeline.spans.iter().any(|s| s.name == "interpreter"));
//! # Ok::<(), acc_core::Error>(())
//! ```
//!
//! (Messages from inside programs are another thing: see [`trace`](crate::foreign::trace).)

mod chrome;
mod watch;

pub use chrome::{BEGAN, SPANS_LOST};
pub use watch::{OpenSpan, Watch, watch};

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a span is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A pass over a program, from the front end to the code.
    Pass,
    /// A run of a program on an executor.
    Run,
    /// A kernel of the native executor.
    Kernel,
    /// A step of the graph executor.
    Tensor,
    /// An array that goes to a device or comes back.
    Transfer,
    /// A wait for other processes.
    Wait,
}

impl Kind {
    /// The name: the category in Chrome's format.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Pass => "pass",
            Kind::Run => "run",
            Kind::Kernel => "kernel",
            Kind::Tensor => "tensor",
            Kind::Transfer => "transfer",
            Kind::Wait => "wait",
        }
    }
}

/// Something that was done: from when to when, on which thread.
#[derive(Clone, Debug)]
pub struct SpanRecord {
    /// What it is about.
    pub kind: Kind,
    /// What was done.
    pub name: String,
    /// When it began, in nanoseconds since the recording did.
    pub start: u64,
    /// How long it took, in nanoseconds.
    pub duration: u64,
    /// The thread, by a number. Spans of one thread lie inside of each other, or apart.
    pub thread: u64,
    /// More about it.
    pub notes: Vec<(&'static str, String)>,
}

/// What a recording saw.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When the recording began: the system's time since 1970, by which timelines of several processes are put side by side.
    pub began: Duration,
    /// The spans, in the order in which they ended.
    pub spans: Vec<SpanRecord>,
    /// The names of threads that have one, by their numbers.
    pub threads: Vec<(u64, String)>,
    /// How many spans were dropped because the recording was full.
    pub lost: u64,
}

/// The most spans of a recording, so that a long one does not fill the memory.
const MAX_SPANS: usize = 1 << 20;

/// Whether somebody records or watches.
static ON: AtomicBool = AtomicBool::new(false);
static RECORDED: Mutex<Vec<Recorded>> = Mutex::new(Vec::new());

/// A recording under way.
struct Recorded {
    number: u64,
    start: Instant,
    timeline: Timeline,
}

fn recorded() -> MutexGuard<'static, Vec<Recorded>> {
    // A panic under the lock can at worst lose a span.
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets whether somebody records or watches. The lock on recordings is held, so that the last one to set it is right.
fn set_on(recorded: &[Recorded]) {
    ON.store(!recorded.is_empty() || watch::is_watched(), Ordering::Relaxed);
}

/// Whether spans are recorded or watched now.
///
/// ```
/// use acc_core::prelude::*;
/// use acc_core::timeline;
/// let recording = timeline::record();
/// assert!(timeline::is_on());
/// recording.stop();
/// assert!(!timeline::is_on());
/// ```
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Starts to record the spans of this process that begin from now on. Recordings may overlap: each has its own timeline.
///
/// ```
/// use acc_core::prelude::*;
/// use acc_core::timeline;
/// let recording = timeline::record();
/// Interpreter::new().run(use_(&Vector::from([1, 2])).sum())?;
/// let timeline = recording.stop();
/// assert!(timeline.spans.iter().any(|span| span.kind == timeline::Kind::Run));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn record() -> Recording {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let mut recorded = recorded();
    // A clock before 1970 has no time to tell.
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    recorded.push(Recorded { number, start: Instant::now(), timeline: Timeline { began, ..Timeline::default() } });
    set_on(&recorded);
    Recording(number)
}

/// A recording under way. It ends when it is stopped or dropped.
#[must_use = "a recording that is dropped is over"]
#[derive(Debug)]
pub struct Recording(u64);

impl Recording {
    /// Ends the recording.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// use acc_core::timeline;
    /// let recording = timeline::record();
    /// timeline::pass("lower", || ());
    /// assert_eq!(recording.stop().spans[0].name, "lower");
    /// ```
    pub fn stop(self) -> Timeline {
        self.end()
    }

    fn end(&self) -> Timeline {
        let mut recorded = recorded();
        let found = recorded.iter().position(|r| r.number == self.0);
        let timeline = found.map(|k| recorded.swap_remove(k).timeline);
        set_on(&recorded);
        timeline.unwrap_or_default()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end();
    }
}

/// Opens a span, which ends when what this returns is dropped. The name is made only if somebody records or watches.
#[inline]
pub fn span<N: Into<String>>(kind: Kind, name: impl FnOnce() -> N) -> Span {
    if !is_on() {
        return Span { open: None, _thread: PhantomData };
    }
    let (name, start) = (name().into(), Instant::now());
    let watched = watch::opened(kind, &name, start);
    Span { open: Some(Box::new(Open { kind, name, start, watched, notes: Vec::new() })), _thread: PhantomData }
}

/// Runs a pass in a span of this name.
#[inline]
pub fn pass<R>(name: &'static str, run: impl FnOnce() -> R) -> R {
    let _span = span(Kind::Pass, || name);
    run()
}

/// A span that has not ended.
#[must_use = "a span ends when it is dropped"]
#[derive(Debug)]
pub struct Span {
    open: Option<Box<Open>>,
    /// It ends on the thread on which it began.
    _thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    name: String,
    start: Instant,
    watched: Option<watch::Ticket>,
    notes: Vec<(&'static str, String)>,
}

impl Span {
    /// Adds to what is known about it. The text is made only if the span is recorded.
    pub fn note<V: ToString>(&mut self, key: &'static str, value: impl FnOnce() -> V) {
        if let Some(open) = &mut self.open {
            open.notes.push((key, value().to_string()));
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        drop(open.watched.take());
        let end = Instant::now();
        let (thread, current) = (thread_number(), std::thread::current());
        for r in recorded().iter_mut().filter(|r| r.start <= open.start) {
            r.take(&open, end, thread, current.name());
        }
    }
}

impl Recorded {
    fn take(&mut self, open: &Open, end: Instant, thread: u64, thread_name: Option<&str>) {
        let timeline = &mut self.timeline;
        if timeline.spans.len() >= MAX_SPANS {
            timeline.lost += 1;
            return;
        }
        let since = |t: Instant| u64::try_from(t.duration_since(self.start).as_nanos()).unwrap_or(u64::MAX);
        let (start, duration) = (since(open.start), since(end) - since(open.start));
        let Open { kind, name, notes, .. } = open;
        timeline.spans.push(SpanRecord {
            kind: *kind,
            name: name.clone(),
            start,
            duration,
            thread,
            notes: notes.clone(),
        });
        if let Some(name) = thread_name
            && !timeline.threads.iter().any(|(number, _)| *number == thread)
        {
            timeline.threads.push((thread, name.to_string()));
        }
    }
}

/// A number for each thread of the process.
fn thread_number() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    NUMBER.with(|n| {
        if n.get() == 0 {
            n.set(NUMBERS.fetch_add(1, Ordering::Relaxed));
        }
        n.get()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_recorded_while_somebody_records() {
        let early = span(Kind::Pass, || "early");
        let recording = record();
        {
            let mut outer = span(Kind::Pass, || "outer");
            outer.note("bytes", || 3);
            let _inner = span(Kind::Kernel, || "with \"quotes\"\n");
            std::thread::spawn(|| drop(span(Kind::Run, || "elsewhere"))).join().expect("it ends");
        }
        let late = span(Kind::Pass, || "late");
        drop(early);
        let timeline = recording.stop();
        drop(late);
        let spans: Vec<&SpanRecord> =
            timeline.spans.iter().filter(|s| ["outer", "with \"quotes\"\n", "elsewhere"].contains(&&*s.name)).collect();
        let [elsewhere, inner, outer] = spans[..] else { panic!("{timeline:?}") };
        assert!(!timeline.spans.iter().any(|s| ["early", "late"].contains(&&*s.name)), "{timeline:?}");
        assert!(elsewhere.thread != inner.thread && inner.thread == outer.thread);
        assert!(outer.start <= inner.start && inner.start + inner.duration <= outer.start + outer.duration);
        assert_eq!(outer.notes, [("bytes", "3".to_string())]);
        let chrome = timeline.to_chrome();
        assert!(chrome.contains(r#""cat":"kernel","name":"with \"quotes\"\u000a""#), "{chrome}");
    }

    #[test]
    fn recordings_do_not_disturb_each_other() {
        let outer = record();
        drop(span(Kind::Pass, || "first of two"));
        let inner = record();
        drop(span(Kind::Pass, || "second of two"));
        let count = |t: &Timeline| t.spans.iter().filter(|s| s.name.ends_with(" of two")).count();
        assert_eq!(count(&inner.stop()), 1);
        drop(span(Kind::Pass, || "third of two"));
        assert_eq!(count(&outer.stop()), 3);
    }
}
