//! Tests of the typed API that run on every executor: one file per family of combinators.
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

mod access;
mod bits;
mod compare;
mod complex;
mod construct;
mod control;
mod elementwise;
mod exact;
mod floats;
mod fold;
mod foreign;
mod half;
mod index;
mod lifting;
mod modify;
mod monoids;
mod neighbours;
mod nofib_control;
mod nofib_data;
mod nofib_elementwise;
mod nofib_folds;
mod nofib_movements;
mod nofib_permutes;
mod nofib_programs;
mod nofib_reductions;
mod nofib_scans;
mod nofib_sharing;
mod nofib_stencils;
mod num;
mod permute;
mod plain;
mod random;
mod ratio;
mod real;
mod reduce;
mod scan;
mod segments;
mod sort;
mod stencil;
mod sums;
mod tuples;

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
        access::cases(),
        bits::cases(),
        compare::cases(),
        complex::cases(),
        construct::cases(),
        control::cases(),
        elementwise::cases(),
        exact::cases(),
        floats::cases(),
        fold::cases(),
        foreign::cases(),
        half::cases(),
        index::cases(),
        lifting::cases(),
        modify::cases(),
        monoids::cases(),
        nofib_control::cases(),
        nofib_elementwise::cases(),
        nofib_folds::cases(),
        nofib_movements::cases(),
        nofib_permutes::cases(),
        nofib_programs::cases(),
        nofib_reductions::cases(),
        nofib_scans::cases(),
        nofib_sharing::cases(),
        nofib_stencils::cases(),
        neighbours::cases(),
        num::cases(),
        permute::cases(),
        plain::cases(),
        random::cases(),
        ratio::cases(),
        real::cases(),
        reduce::cases(),
        scan::cases(),
        segments::cases(),
        sort::cases(),
        stencil::cases(),
        sums::cases(),
        tuples::cases(),
    ]
    .concat()
}
