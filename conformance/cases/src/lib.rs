//! Tests of the typed API that run on any executor, and when results are equal.
//!
//! * [`cases`]: the tests, a file for each family of combinators.
//! * [`runner`]: one program on one executor, and whether what comes out is what the program's file expects.
//! * [`compare`] and [`bound`]: when two results are equal.
//! * [`choices`]: random numbers from a seed.
//!
//! A crate of its own, since it knows no backend and takes longest to compile: it stays compiled while backends change.
#![forbid(unsafe_code)]

pub mod bound;
pub mod cases;
pub mod choices;
pub mod compare;
pub mod runner;

/// The name of the executor that the others are held to.
pub const REFERENCE: &str = "interpreter";
