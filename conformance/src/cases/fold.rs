//! Folds along the innermost dimension.

use super::{Case, case};
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![case("fold/E-FD-03-initial-value-per-row", "FLD-01 E-FD-03 E-FD-04 E-FD-06", |t| {
        t.gives(use_(&Matrix::from([[1, 2, 3], [4, 5, 6]])).fold(7, |a, b| a + b), Vector::from([13, 22]));
        t.gives(fill((3, 0), 1i32).fold(7, |a, b| a + b), Vector::from([7, 7, 7]));
        t.gives(fill((0, 3), 1i32).fold(7, |a, b| a + b), Vector::from([0i32; 0]));
    })]
}
