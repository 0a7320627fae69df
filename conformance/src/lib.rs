//! Every executor held to the reference interpreter: test programs, how results are compared, and the matrix.
//!
//! * [`suite`]: the test programs, text files under `programs/` and the generated products of [`laziness`].
//! * [`executors`]: who runs them.
//! * [`runner`]: one program on one executor, and whether what comes out is what the program's file expects.
//! * [`compare`] and [`bound`]: when two results are equal.
//! * [`random`]: random programs, to find what nobody thought of.
//! * [`tour`]: ten programs in the typed API, on real input.
//! * [`matrix`]: which components pass where.
#![forbid(unsafe_code)]

pub mod bound;
pub mod compare;
pub mod executors;
pub mod laziness;
pub mod matrix;
pub mod random;
pub mod runner;
pub mod suite;
pub mod tour;
