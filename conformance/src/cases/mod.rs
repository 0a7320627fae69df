//! Tests of the typed API that run on every executor: one file per family of combinators.
//!
//! A case names the rows it covers, components (`FLD-01`) and edge cases (`E-FD-06`), and its cells of the matrix come
//! from its checks. Expected values are from the reference or from independent knowledge, never from an executor.

mod check;

mod bits;
mod compare;
mod complex;
mod control;
mod exact;
mod floats;
mod fold;
mod foreign;
mod half;
mod index;
mod lifting;
mod monoids;
mod num;
mod plain;
mod random;
mod ratio;
mod real;
mod runs;
mod sums;
mod tuples;

pub use check::{Check, Outcome};

/// A test of the typed API.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name, as in `fold/E-FD-03-initial-value-per-row`.
    pub name: &'static str,
    /// The rows it covers, separated by spaces.
    pub rows: &'static str,
    /// The checks.
    pub run: fn(&mut Check<'_>),
}

/// A case: its name, the rows it covers, separated by spaces, and its checks.
fn case(name: &'static str, rows: &'static str, run: fn(&mut Check<'_>)) -> Case {
    Case { name, rows, run }
}

/// Every case.
pub fn all() -> Vec<Case> {
    [
        bits::cases(),
        compare::cases(),
        complex::cases(),
        control::cases(),
        exact::cases(),
        floats::cases(),
        fold::cases(),
        foreign::cases(),
        half::cases(),
        index::cases(),
        lifting::cases(),
        monoids::cases(),
        num::cases(),
        plain::cases(),
        random::cases(),
        ratio::cases(),
        real::cases(),
        runs::cases(),
        sums::cases(),
        tuples::cases(),
    ]
    .concat()
}
