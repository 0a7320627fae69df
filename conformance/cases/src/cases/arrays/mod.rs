//! Operations that define arrays.

mod access;
mod construct;
mod control;
mod elementwise;
pub(super) mod fold;
mod modify;
mod neighbours;
mod permute;
mod random;
mod reduce;
mod scan;
mod segments;
mod sort;
mod stencil;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    [
        access::cases(),
        construct::cases(),
        control::cases(),
        elementwise::cases(),
        fold::cases(),
        modify::cases(),
        neighbours::cases(),
        permute::cases(),
        random::cases(),
        reduce::cases(),
        scan::cases(),
        segments::cases(),
        sort::cases(),
        stencil::cases(),
    ]
    .concat()
}
