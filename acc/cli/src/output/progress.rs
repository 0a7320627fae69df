//! What a long run does right now, on a terminal.

use acc_core::timeline::{self, Watch};
use backend_xla::Place;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a run takes until it shows what it does.
const MIN_TIME_SHOWN: Duration = Duration::from_secs(1);

/// How often what is shown changes.
const TIME_BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Does work. Where it takes long and standard error is a terminal, the time that has passed is shown meanwhile, and what
/// is being done; of several processes the first one shows it.
pub fn during<R>(work: impl FnOnce() -> R) -> R {
    let is_first = Place::read(|name| std::env::var(name).ok()).is_ok_and(|place| place.process == 0);
    if !is_first || !std::io::stderr().is_terminal() {
        return work();
    }
    let watch = timeline::watch();
    std::thread::scope(|s| {
        // It ends with the work, also if that panics.
        let (_working, ended) = channel::<()>();
        let shown =
            std::thread::Builder::new().name("progress".to_string()).spawn_scoped(s, move || show(&watch, &ended));
        if let Err(e) = shown {
            super::complain!("no progress is shown: {e}");
        }
        work()
    })
}

/// Shows what is being done until the other end of the channel is dropped.
fn show(watch: &Watch, ended: &Receiver<()>) {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    let mut wait = MIN_TIME_SHOWN;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        bar.set_message(message(watch));
        bar.tick();
        wait = TIME_BETWEEN_LOOKS;
    }
    bar.finish_and_clear();
}

/// The innermost span that is open.
fn message(watch: &Watch) -> String {
    watch.open().pop().map(|span| format!("{}: {}", span.kind.name(), span.name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::timeline::Kind;

    #[test]
    fn the_innermost_span_is_shown() {
        let watch = timeline::watch();
        assert_eq!(message(&watch), "");
        let _run = timeline::span(Kind::Run, || "xla");
        assert_eq!(timeline::pass("compile", || message(&watch)), "pass: compile");
        assert_eq!(message(&watch), "run: xla");
    }

    #[test]
    fn work_is_done_where_nothing_is_shown() {
        assert_eq!(during(|| 3), 3);
    }
}
