//! What a process does right now, for those who wait for it.

use super::Kind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static WATCHED: Mutex<Watched> = Mutex::new(Watched { watches: 0, numbers: 0, open: Vec::new() });

/// The spans that are open while somebody watches, in the order in which they began.
struct Watched {
    watches: usize,
    numbers: u64,
    open: Vec<(u64, Kind, String, Instant)>,
}

fn watched() -> MutexGuard<'static, Watched> {
    // A panic under the lock can at worst lose a span.
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A span that is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenSpan {
    /// What it is about.
    pub kind: Kind,
    /// What is being done.
    pub name: String,
    /// For how long.
    pub elapsed: Duration,
}

/// Watches what this process does, until what this returns is dropped: spans that begin from now on.
///
/// ```
/// use acc_core::timeline::{self, Kind};
/// let watch = timeline::watch();
/// let run = timeline::span(Kind::Run, || "training");
/// timeline::pass("compile", || {
///     // Whoever shows progress asks on a thread of its own.
///     let now = std::thread::scope(|s| s.spawn(|| watch.open()).join()).expect("it ends");
///     assert_eq!(now.last().map(|span| span.name.as_str()), Some("compile"));
/// });
/// assert_eq!(watch.open().last().map(|span| span.name.as_str()), Some("training"));
/// drop(run);
/// assert!(watch.open().is_empty());
/// ```
pub fn watch() -> Watch {
    let recorded = super::recorded();
    watched().watches += 1;
    super::set_on(&recorded);
    Watch(())
}

/// Somebody who watches.
#[must_use = "a watch that is dropped is over"]
#[derive(Debug)]
pub struct Watch(());

impl Watch {
    /// The spans that are open in this process, on all of its threads, in the order in which they began: the last one is
    /// what is being done right now.
    ///
    /// ```
    /// use acc_core::timeline;
    /// let watch = timeline::watch();
    /// let seen = timeline::pass("lower", || watch.open());
    /// assert_eq!(seen.last().map(|span| span.name.as_str()), Some("lower"));
    /// ```
    pub fn open(&self) -> Vec<OpenSpan> {
        let open = |(_, kind, name, start): &(u64, Kind, String, Instant)| OpenSpan {
            kind: *kind,
            name: name.clone(),
            elapsed: start.elapsed(),
        };
        watched().open.iter().map(open).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let recorded = super::recorded();
        let mut watched = watched();
        watched.watches -= 1;
        if watched.watches == 0 {
            watched.open.clear();
        }
        drop(watched);
        super::set_on(&recorded);
    }
}

/// Whether somebody watches.
pub(super) fn is_watched() -> bool {
    watched().watches > 0
}

/// A span among those that are open, until it is dropped.
#[derive(Debug)]
pub(super) struct Ticket(u64);

/// Notes a span that begins, if somebody watches.
pub(super) fn opened(kind: Kind, name: &str, start: Instant) -> Option<Ticket> {
    let mut watched = watched();
    if watched.watches == 0 {
        return None;
    }
    watched.numbers += 1;
    let number = watched.numbers;
    watched.open.push((number, kind, name.to_string(), start));
    Some(Ticket(number))
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut watched = watched();
        // Spans end in about the reverse order.
        if let Some(k) = watched.open.iter().rposition(|(number, ..)| *number == self.0) {
            watched.open.remove(k);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::span;

    /// Those of this test: others open spans at the same time.
    fn names(watch: &Watch) -> Vec<String> {
        let open = watch.open().into_iter().map(|span| span.name);
        open.filter(|name| name.starts_with("watched ")).collect()
    }

    #[test]
    fn open_spans_are_told_innermost_last() {
        let before = span(Kind::Pass, || "watched before");
        let watch = watch();
        let outer = span(Kind::Run, || "watched outer");
        let inner = span(Kind::Kernel, || "watched inner");
        assert_eq!(names(&watch), ["watched outer", "watched inner"]);
        let elsewhere = std::thread::scope(|s| {
            let there = || {
                let _span = span(Kind::Transfer, || "watched elsewhere");
                names(&watch)
            };
            s.spawn(there).join().expect("it ends")
        });
        assert_eq!(elsewhere, ["watched outer", "watched inner", "watched elsewhere"]);
        drop(inner);
        assert_eq!(names(&watch), ["watched outer"]);
        let second = super::watch();
        drop(watch);
        drop(before);
        assert_eq!(names(&second), ["watched outer"]);
        drop(second);
        let third = super::watch();
        assert_eq!(names(&third), Vec::<String>::new());
        // It began before this watch did.
        drop(outer);
        assert_eq!(names(&third), Vec::<String>::new());
    }
}
