//! Folds and scans, also of segments.

pub(in crate::api) mod combined_fold;
pub(in crate::api) mod extremes;
pub(in crate::api) mod fold;
pub(in crate::api) mod over;
pub(in crate::api) mod scan;
pub(in crate::api) mod segments;
