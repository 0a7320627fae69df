//! Every executor held to the reference interpreter: test programs, how results are compared, and the matrix.
//!
//! * [`suite`]: the tests: text files under `programs/`, the generated products of [`laziness`], and the [`cases`].
//! * [`cases`]: tests of the typed API, a file for each family of combinators.
//! * [`executors`]: who runs them.
//! * [`runner`]: one program on one executor, and whether what comes out is what the program's file expects.
//! * [`compare`] and [`bound`]: when two results are equal.
//! * [`fuzz`]: random programs, to find what nobody thought of.
//! * [`inspect`]: a program as a page: its stages and its graph, with times of a run.
//! * [`digits`]: a network that reads digits, trained on any executor.
//! * [`tour`]: eleven programs in the typed API, on real input.
//! * [`components`]: the components of the language and its edge cases; [`matrix`]: which of them pass where.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]

pub mod components;
pub mod digits;
pub mod executors;
pub mod fuzz;
pub mod headers;
pub mod inspect;
pub mod laziness;
pub mod matrix;
pub mod onnx;
pub mod runs;
pub mod structure;
pub mod suite;
pub mod tour;

pub use conformance_cases::{bound, cases, compare, runner};
