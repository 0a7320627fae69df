//! The parser of schedules: lists of loops.

use super::cursor::Cursor;
use crate::error::Error;
use crate::ir::{Loop, Mark, Schedule};

/// `[threads i1 by 64, i0 by 8, lanes i1, i2, unrolled i0]`, `[i0, lanes i1] within 1`
pub(super) fn schedule(c: &mut Cursor<'_>) -> Result<Schedule, Error> {
    let token = c.token().clone();
    c.expect('[')?;
    let loops = c.list(']', one_loop)?;
    let schedule = Schedule::new(loops).or_else(|why| c.error_at(&token, why))?;
    let within = if c.eat_word("within") { c.natural("a number of loops")? } else { 0 };
    schedule.within(within).or_else(|why| c.error_at(&token, why))
}

/// A schedule as a text of its own.
pub fn schedule_of(text: &str) -> Result<Schedule, Error> {
    super::parse_whole("schedule", text, "the schedule", schedule)
}

/// A loop: `unrolled i0`, `i1 by 64`.
pub fn one_loop(c: &mut Cursor<'_>) -> Result<Loop, Error> {
    let marked = Mark::ALL.into_iter().find(|mark| mark.word().is_some_and(|word| c.eat_word(word)));
    let axis = match c.peek_word().and_then(|w| w.strip_prefix('i')).and_then(|n| n.parse().ok()) {
        Some(axis) => axis,
        None => return c.expected("an axis, as in `i0`"),
    };
    c.word("an axis")?;
    let step = if c.eat_word("by") { c.natural("a number of points")? } else { 1 };
    Ok(Loop { axis, step, mark: marked.unwrap_or_default() })
}
