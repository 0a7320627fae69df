//! Tests of the typed API that run on every executor: one folder per family of operations.
//!
//! A case names the rows it covers, components (`FLD-01`) and edge cases (`E-FD-06`), and its cells of the matrix come
//! from its checks. Expected values are from the reference or from independent knowledge, never from an executor.

mod check;

/// The same checks for each of these types.
macro_rules! each {
    ([$($t:ty),*] $T:ident $body:block) => { $({
        type $T = $t;
        $body
    })* };
}

mod accelerate_suite;
mod arrays;
mod derivatives;
mod elements;
mod host;
mod named;
mod networks;
mod scalars;
mod schedule;
mod tensor;

use acc_core::prelude::*;
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
pub fn case(name: &'static str, rows: &'static str, run: fn(&mut Check<'_>)) -> Case {
    Case { name, rows, run }
}

/// A host array of these elements, as many as its shape has.
fn host<Sh: Shape, E: Elt>(shape: impl IntoShape<Sh>, elements: impl IntoIterator<Item = E>) -> Array<Sh, E> {
    match Array::from_elts(shape, elements) {
        Ok(a) => a,
        Err(e) => unreachable!("a case gives other elements than its shape has: {e}"),
    }
}

/// Every case.
pub fn all() -> Vec<Case> {
    [
        accelerate_suite::cases(),
        arrays::cases(),
        derivatives::cases(),
        elements::cases(),
        host::cases(),
        named::cases(),
        networks::cases(),
        scalars::cases(),
        schedule::cases(),
        tensor::cases(),
    ]
    .concat()
}
