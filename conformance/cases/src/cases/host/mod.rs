//! Arrays and functions of the host.

mod arrays;
mod foreign;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    [arrays::cases(), foreign::cases()].concat()
}
