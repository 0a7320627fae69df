//! Scalar code.

mod bits;
mod compare;
mod exact_integers;
mod floats;
mod half;
mod index;
mod num;
mod real;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    [
        bits::cases(),
        compare::cases(),
        exact_integers::cases(),
        floats::cases(),
        half::cases(),
        index::cases(),
        num::cases(),
        real::cases(),
    ]
    .concat()
}
