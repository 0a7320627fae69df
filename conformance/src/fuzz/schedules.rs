//! Random schedules of the results of a program.

use super::Choices;
use acc_core::ir::{ArrayId, Class, Loop, Mark, Program, Schedule};
use acc_core::verify::MAX_RANK;
use acc_core::{BuildError, Error, Executor};
use backend_native::Native;
use std::sync::Arc;

/// How often a schedule is drawn for a result: many of a program's axes cannot be folded, split or exchanged.
const TRIES: usize = 6;

/// The program with random schedules of those of its results that can have them, and how many these are.
pub fn scheduled(program: &Program, choices: &mut Choices) -> (Program, usize) {
    let mut program = program.clone();
    let results: Vec<ArrayId> = program.body.results.clone();
    let mut count = 0;
    for (k, &a) in results.iter().enumerate() {
        let computed = program
            .body
            .stmts
            .iter()
            .any(|s| s.results.contains(&a) && !matches!(s.op.class(), Class::View | Class::Control | Class::Sort));
        if !computed || results[..k].contains(&a) {
            continue;
        }
        let rank = program.ty(a).rank;
        for _ in 0..TRIES {
            let axes = (rank + choices.below(3)).min(MAX_RANK);
            let Some(with) = random(axes, choices).and_then(|s| program.with_schedule(a, s)) else { continue };
            if is_legal(&with) {
                (program, count) = (with, count + 1);
                break;
            }
        }
    }
    (program, count)
}

/// Whether the native executor can follow the schedules of a program.
fn is_legal(program: &Program) -> bool {
    let prepared = Native::tiles().prepare(&Arc::new(program.clone()));
    !matches!(prepared, Err(Error::Build(e)) if matches!(*e, BuildError::Schedule { .. }))
}

/// Random loops over so many axes; none if they are no nest.
fn random(axes: usize, choices: &mut Choices) -> Option<Schedule> {
    let mut loops: Vec<Loop> = Schedule::row_major(axes).loops().to_vec();
    if loops.is_empty() {
        return None;
    }
    for _ in 0..choices.below(4) {
        let at = choices.below(loops.len());
        let own = loops[at];
        let step = own.step.checked_mul(*choices.pick(&[2, 3, 4, 8, 64]))?;
        loops.insert(at, Loop { step, ..own });
    }
    for _ in 0..choices.below(6) {
        let (a, b) = (choices.below(loops.len()), choices.below(loops.len()));
        loops.swap(a, b);
    }
    let unrolled = loops.len().saturating_sub(choices.below(3));
    loops.iter_mut().skip(unrolled).for_each(|l| l.mark = Mark::Unrolled);
    let threads = choices.below(3);
    loops.iter_mut().take(threads).for_each(|l| l.mark = Mark::Threads);
    let at = choices.below(loops.len());
    if choices.chance(50) && loops[at].mark == Mark::Sequential {
        loops[at].mark = Mark::Lanes;
    }
    Schedule::new(loops).ok()
}
