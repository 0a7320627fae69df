//! Typed second-order array programs: the API, the core IR with its verifier and text form, and the reference
//! interpreter.
#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod exec;
pub mod ir;
mod limits;
pub mod verify;

pub use error::{BuildError, Error, Fault, LimitError, ParseError, VerifyError};
pub use exec::{Backend, Executor, ProgramCache};
pub use limits::{CancelToken, RunLimits};
