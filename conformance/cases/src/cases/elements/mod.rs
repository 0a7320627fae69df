//! Element types beyond plain numbers.

mod complex;
mod lifting;
mod monoids;
mod ratio;
mod sums;
mod tuples;

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    [complex::cases(), lifting::cases(), monoids::cases(), ratio::cases(), sums::cases(), tuples::cases()].concat()
}
