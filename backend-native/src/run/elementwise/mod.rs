//! Launches that store each element at its point.

pub(super) mod column_panels;
pub(super) mod epilogue;
pub(super) mod store;
