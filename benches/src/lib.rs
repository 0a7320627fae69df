//! Benchmarks of the executors: `make bench`, and what the commands have in common.
#![forbid(unsafe_code)]

pub mod page;
pub mod papers;
