//! Random schedules of the arrays of a program.

use super::Choices;
use acc_core::exec::Backend;
use acc_core::ir::{ArrayId, Class, Program, Regroup, Schedule};
use acc_core::verify::MAX_RANK;
use acc_core::{BuildError, Error, Executor, RunLimits};
use backend_native::Native;
use std::sync::Arc;

/// How often a schedule is drawn for an array: many of a program's axes cannot be folded, split or exchanged.
const TRIES: usize = 6;

/// The program with random schedules of its results and of some of the arrays that they are made of, where they can have them, and of which
/// kinds these are; `halo` for each array of which a reader within whose loops it is needs rows around its own.
pub fn scheduled(program: &Program, choices: &mut Choices) -> (Program, Vec<&'static str>) {
    let mut with = program.clone();
    let mut kinds = Vec::new();
    let computed =
        program.body.stmts.iter().filter(|s| !matches!(s.op.class(), Class::View | Class::Control | Class::Sort));
    for &a in computed.flat_map(|s| &s.results) {
        let is_result = program.body.results.contains(&a);
        if !is_result && choices.chance(50) {
            continue;
        }
        let legal = (0..TRIES).find_map(|_| {
            let schedule = random(program, a, is_result, choices)?;
            let kind = match schedule.regrouped() {
                Some(_) => "regroup",
                None if schedule.reader_loops() > 0 => "within",
                None if !schedule.collapsed().is_empty() => "collapse",
                None => "loops",
            };
            Some((with.with_schedule(a, schedule).filter(is_legal)?, kind))
        });
        if let Some((legal, kind)) = legal {
            with = legal;
            kinds.push(kind);
        }
    }
    if kinds.contains(&"within") {
        kinds.extend((0..halos(&with)).map(|_| "halo"));
    }
    (with, kinds)
}

/// The number of arrays with a halo.
fn halos(program: &Program) -> usize {
    let prepared = Backend::prepare(&Native::tiles(), &Arc::new(program.clone()), &RunLimits::none());
    prepared.map_or(0, |p| p.explain().row_blockings.iter().map(|r| r.halos.len()).sum())
}

/// Whether the native executor can follow the schedules of a program.
fn is_legal(program: &Program) -> bool {
    let prepared = Executor::prepare(&Native::tiles(), &Arc::new(program.clone()));
    !matches!(prepared, Err(Error::Build(e)) if matches!(*e, BuildError::Schedule { .. }))
}

/// A random schedule of an array, which a reader may compute within its loops unless it is a result; none if the loops are no nest.
fn random(program: &Program, a: ArrayId, is_result: bool, choices: &mut Choices) -> Option<Schedule> {
    let rank = program.ty(a).rank;
    let regroup = choices.chance(30).then(|| Regroup { axis: rank, terms: *choices.pick(&[2, 3, 5, 16, 100]) });
    let axes = rank + choices.below(3) + regroup.map_or(0, |_| 2);
    let loops = Schedule::random(axes.min(MAX_RANK), &mut |n| choices.below(n))?;
    // What is within the loops of its reader has no collapsed axes.
    let may_be_within = !is_result && regroup.is_none() && loops.collapsed().is_empty();
    let within = usize::from(may_be_within && choices.chance(70));
    let schedule = loops.regroup(regroup).and_then(|s| s.within(within)).ok()?;
    schedule.check_rank(rank).ok().map(|()| schedule)
}
