//! How folds and scans group their elements: the same in machine code and over tiles, and for any vector width, so that
//! results have the same bits everywhere.
//!
//! * A fold by built-in operators has [`PARTIAL_RESULTS`] partial results: element `k` goes into number `k %
//!   PARTIAL_RESULTS`. At the end they are combined by halving.
//! * A fold by a user's operator combines neighbours pairwise in blocks of [`PAIRWISE_BLOCK`] elements, and the blocks
//!   in order.
//! * A scan takes steps of [`PARTIAL_RESULTS`] elements, in groups of [`SCAN_GROUP`] that are scanned by doubling
//!   distances.

pub(crate) use backend_native_lanes::reduce::{PAIRWISE_BLOCK, PARTIAL_RESULTS};
pub(crate) use backend_native_lanes::scans::SCAN_GROUP;
