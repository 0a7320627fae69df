//! The network of digits of acc-array's examples, trained on any executor: what `acc digits` is made of.
//!
//! * [`network`]: the example itself: definition, loss, steps.
//! * [`data`], [`idx`]: images from files, and drawn ones.
//! * [`training`]: epochs and tests on an executor.
//! * [`checkpoint`]: a training kept in a `.npz` file, to be continued exactly.
//! * [`pictures`], [`chart`]: how it goes, what is learned, what is taken for what.

pub mod chart;
pub mod checkpoint;
pub mod data;
pub mod idx;
pub mod pictures;
pub mod training;

pub use crate::tour::digits as network;
