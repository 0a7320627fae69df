//! The parser of schedules: lists of loops.

use super::cursor::Cursor;
use crate::error::Error;
use crate::ir::{Collapse, Loop, Mark, Regroup, Schedule};

/// `[threads i1 by 64, i0 by 8, lanes i1, i2, unrolled i0]`, `[i0, lanes i1] within 1`, `[lanes i0, i1] regroup i0 by 256`,
/// `[lanes i0, i2] collapse i0 to i1`
pub(super) fn schedule(c: &mut Cursor<'_>) -> Result<Schedule, Error> {
    let token = c.token().clone();
    c.expect('[')?;
    let loops = c.list(']', one_loop)?;
    let regroup = if c.eat_word("regroup") { Some(regroup(c)?) } else { None };
    let mut collapsed = Vec::new();
    while c.eat_word("collapse") {
        collapsed.push(collapse(c)?);
    }
    let within = if c.eat_word("within") { c.natural("a number of loops")? } else { 0 };
    let schedule = Schedule::with_collapsed(loops, collapsed);
    let schedule = schedule.and_then(|s| s.regroup(regroup)).and_then(|s| s.within(within));
    schedule.or_else(|why| c.error_at(&token, why))
}

/// `i1 by 256`
fn regroup(c: &mut Cursor<'_>) -> Result<Regroup, Error> {
    let axis = axis(c)?;
    if !c.eat_word("by") {
        return c.expected("`by`, and the terms of a partial result");
    }
    Ok(Regroup { axis, terms: c.natural("a number of terms")? })
}

/// `i0 to i1`
fn collapse(c: &mut Cursor<'_>) -> Result<Collapse, Error> {
    let first = axis(c)?;
    if !c.eat_word("to") {
        return c.expected("`to`, and the last of the axes that are one");
    }
    Ok(Collapse { first, last: axis(c)? })
}

/// A schedule as a text of its own.
pub fn schedule_of(text: &str) -> Result<Schedule, Error> {
    super::parse_whole("schedule", text, "the schedule", schedule)
}

/// A loop: `unrolled i0`, `i1 by 64`.
pub fn one_loop(c: &mut Cursor<'_>) -> Result<Loop, Error> {
    let marked = Mark::ALL.into_iter().find(|mark| mark.word().is_some_and(|word| c.eat_word(word)));
    let axis = axis(c)?;
    let step = if c.eat_word("by") { c.natural("a number of points")? } else { 1 };
    Ok(Loop { axis, step, mark: marked.unwrap_or_default() })
}

/// `i0`
fn axis(c: &mut Cursor<'_>) -> Result<usize, Error> {
    match c.peek_word().and_then(|w| w.strip_prefix('i')).and_then(|n| n.parse().ok()) {
        Some(axis) => c.word("an axis").map(|_| axis),
        None => c.expected("an axis, as in `i0`"),
    }
}
