//! Where values go: stores, folds, scans, scatters, compactions.

pub(crate) mod aos_scatter;
pub(crate) mod chunk;
pub(crate) mod combine;
pub(crate) mod compact;
pub(crate) mod pairwise_fold;
pub(crate) mod row_lanes;
pub(crate) mod row_scatter;
pub(crate) mod scan;
pub(crate) mod scan_runs;
pub(crate) mod scatter;
pub(crate) mod sink;
