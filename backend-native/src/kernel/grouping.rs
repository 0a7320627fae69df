//! How folds and scans group their elements: the same as machine code, over tiles, and whatever the width of vectors, so that
//! sums have the same bits everywhere.
//!
//! * A fold by known operators keeps [`PARTIAL_RESULTS`] partial results: element `k` goes into the one of number `k % PARTIAL_RESULTS`. At the end
//!   these are combined by halving.
//! * A fold by any other operator combines neighbours pairwise in blocks of [`PAIRWISE_BLOCK`] elements, and the blocks in order.
//! * A scan goes in steps of [`PARTIAL_RESULTS`] elements, in groups of [`SCAN_GROUP`] that are scanned by doubling distances.

pub(crate) use backend_native_lanes::reduce::{PAIRWISE_BLOCK, PARTIAL_RESULTS};
pub(crate) use backend_native_lanes::scans::SCAN_GROUP;
