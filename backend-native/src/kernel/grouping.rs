//! How folds and scans group their elements: the same as machine code, over tiles, and whatever the width of vectors, so that
//! sums have the same bits everywhere.
//!
//! * A fold by known operators keeps [`WIDTH`] partial results: element `k` goes into the one of number `k % WIDTH`. At the end
//!   these are combined by halving.
//! * A fold by any other operator combines neighbours pairwise in blocks of [`TREE`] elements, and the blocks in order.
//! * A scan goes in steps of [`WIDTH`] elements, in groups of [`GROUP`] that are scanned by doubling distances.

pub(crate) use backend_native_lanes::reduce::{TREE, WIDTH};
pub(crate) use backend_native_lanes::scans::GROUP;
