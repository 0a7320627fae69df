//! Tuning: programs run with the loops that [search](crate::search) found fastest for the extents at hand.
//!
//! | what | where |
//! |---|---|
//! | which arrays get a schedule | `choose` |
//! | what earlier processes found | `kept` |
//!
//! Decisions are for a program and the extents of its arguments. A schedule is taken only where all schedules have the bits of the
//! program without one, so that tuning changes nothing but time.

mod choose;
mod kept;
#[cfg(all(test, unix))]
mod tests;

pub use choose::Chosen;
pub use kept::folder;

use crate::search::{has_foreign_function, tunable};
use crate::{Compile, Native, Options, Prepared, fork};
use acc_core::data::ArrayData;
use acc_core::ir::{ArrayId, Program, Schedule};
use acc_core::text::canonical;
use acc_core::{Backend, Error, RunLimits};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// Whether runs use the loops that search found for a program and the extents of its arguments.
///
/// Results are the same bits, whatever is chosen. Nothing is searched for in runs with a deadline, a limit of memory or a token that
/// can stop them, of programs that call foreign functions, with relaxed arithmetic, and without machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tune {
    /// They do not.
    Never,
    /// Those that an earlier search kept on disk.
    #[default]
    Kept,
    /// Those, or the run starts a search in the background, one at a time, and later runs use what it finds.
    Background,
    /// Those, or the run searches first, for seconds.
    Now,
}

/// Keeps a schedule of an array for runs with these options of a program on arguments of these extents, in place of the one that may be
/// kept. Yields the file.
///
/// # Errors
///
/// If nothing can be kept, if the program fails on the arguments, and if a schedule of the array could change its bits, or the number of
/// kernels.
pub fn keep(options: &Options, program: &Arc<Program>, args: &[ArrayData], chosen: Chosen) -> Result<PathBuf, String> {
    let tunable = tunable(program, args).map_err(|e| e.to_string())?;
    if !tunable.contains(&chosen.array) {
        let name = program.names.show(chosen.array);
        return Err(format!(
            "a schedule of {name} could change its last bits or how the program is fused, which runs do not do by themselves: write it into the program"
        ));
    }
    // Numbered as in the text, in which statements are in the same order.
    let results = |p: &Program| -> Vec<ArrayId> { p.body.stmts.iter().flat_map(|s| s.results.to_vec()).collect() };
    let at = results(program).iter().position(|r| *r == chosen.array);
    let program = canonical(program);
    let array = at.and_then(|at| results(&program).get(at).copied()).ok_or("no statement defines the array")?;
    let mut all = kept::get(&program, args, options).unwrap_or_default();
    all.retain(|c| c.array != array);
    all.push(Chosen { array, ..chosen });
    kept::put(&program, args, options, &all)
}

/// How many searches runs of this process have made, because nothing was kept.
pub fn searches() -> u64 {
    SEARCHES.load(Ordering::Relaxed)
}

static SEARCHES: AtomicU64 = AtomicU64::new(0);

/// Extents of arguments for which decisions of a program are held at most.
const MAX_DECISIONS: usize = 256;

/// What was decided for a program, by the extents of its arguments.
#[derive(Default)]
pub(crate) struct Decisions(Mutex<HashMap<Box<[usize]>, Decision>>);

#[derive(Clone)]
enum Decision {
    /// It runs as it is.
    AsItIs,
    /// A search is running.
    Searching,
    /// It runs with schedules.
    Scheduled(Arc<Prepared>),
}

impl Decisions {
    fn get(&self, extents: &[usize]) -> Option<Decision> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(extents).cloned()
    }

    fn set(&self, extents: &[usize], decision: Decision) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_DECISIONS {
            all.clear();
        }
        all.insert(extents.into(), decision);
    }

    fn forget(&self, extents: &[usize]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(extents);
    }
}

/// Only one search measures at a time.
static MEASURING: Mutex<()> = Mutex::new(());

/// The program to run in place of another one on these arguments, if there is one.
pub(crate) fn scheduled(
    options: &Options,
    program: &Prepared,
    args: &[ArrayData],
    limits: &RunLimits,
) -> Option<Arc<Prepared>> {
    let may_tune = options.compile != Compile::Never && !options.relaxed && options.fuse && !fork::is_child();
    if options.tune == Tune::Never || !may_tune {
        return None;
    }
    if options.tune == Tune::Kept && !kept::exist() {
        return None;
    }
    let extents: Vec<usize> = args.iter().flat_map(|a| a.shape().iter().copied()).collect();
    match program.decisions.get(&extents) {
        Some(Decision::AsItIs | Decision::Searching) => return None,
        Some(Decision::Scheduled(prepared)) => return Some(prepared),
        None => {}
    }
    // Numbered as in the text, which is what schedules are kept for.
    let numbered = Arc::new(canonical(&program.program));
    let search = Search { options: options.clone(), program: numbered, args: args.to_vec() };
    let is_limited = limits.deadline.is_some() || limits.max_bytes.is_some() || limits.cancel.is_some();
    let may_search = !is_limited && !has_foreign_function(&program.program.body);
    let decision = match search.kept() {
        Some(kept) => kept,
        None => match options.tune {
            Tune::Never | Tune::Kept => Decision::AsItIs,
            // A later run may search.
            Tune::Background | Tune::Now if !may_search => return None,
            Tune::Now => search.now(),
            Tune::Background => return search.in_background(program, extents),
        },
    };
    program.decisions.set(&extents, decision.clone());
    match decision {
        Decision::Scheduled(prepared) => Some(prepared),
        Decision::AsItIs | Decision::Searching => None,
    }
}

/// A program and the arguments of a run of it.
struct Search {
    options: Options,
    program: Arc<Program>,
    args: Vec<ArrayData>,
}

impl Search {
    /// What an earlier search found.
    fn kept(&self) -> Option<Decision> {
        let chosen = kept::get(&self.program, &self.args, &self.options)?;
        // What was kept by another version, or written by hand, may not fit.
        self.prepared(chosen.iter().map(|c| (c.array, c.schedule.clone()))).ok()
    }

    /// Searches, and keeps what is found.
    fn now(self) -> Decision {
        let _one = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
        self.measured()
    }

    fn measured(self) -> Decision {
        // Another process may have searched while this one was waiting.
        self.kept().unwrap_or_else(|| {
            SEARCHES.fetch_add(1, Ordering::Relaxed);
            let untuned = self.options.clone().tune(Tune::Never);
            // Where a run fails there is nothing to compare: the program itself reports why.
            let Ok(chosen) = choose::choose(&untuned, &self.program, &self.args) else { return Decision::AsItIs };
            // What cannot be kept is searched for again by the next process.
            let _ = kept::put(&self.program, &self.args, &self.options, &chosen);
            self.prepared(chosen.into_iter().map(|c| (c.array, c.schedule))).unwrap_or(Decision::AsItIs)
        })
    }

    /// Searches on another thread, unless one searches already.
    fn in_background(self, program: &Prepared, extents: Vec<usize>) -> Option<Arc<Prepared>> {
        if matches!(MEASURING.try_lock(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        program.decisions.set(&extents, Decision::Searching);
        let decisions = program.decisions.clone();
        let begun = extents.clone();
        let search = move || {
            let decision = self.now();
            decisions.set(&extents, decision);
        };
        if std::thread::Builder::new().name("acc-tune".to_string()).spawn(search).is_err() {
            program.decisions.forget(&begun);
        }
        None
    }

    /// The program with these schedules.
    fn prepared(&self, schedules: impl Iterator<Item = (ArrayId, Schedule)>) -> Result<Decision, Error> {
        let mut program = self.program.clone();
        for (array, schedule) in schedules {
            let Some(with) = program.with_schedule(array, schedule) else { return Ok(Decision::AsItIs) };
            program = Arc::new(with);
        }
        if Arc::ptr_eq(&program, &self.program) {
            return Ok(Decision::AsItIs);
        }
        let native = Native::with(self.options.clone().threads(None).tune(Tune::Never))?;
        Ok(Decision::Scheduled(Arc::new(native.prepare(&program, &RunLimits::none())?)))
    }
}
