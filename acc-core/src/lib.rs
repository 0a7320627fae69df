//! Typed second-order array programs: the API, the core IR with its verifier and text form, and the reference
//! interpreter.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![forbid(unsafe_code)]

pub mod ad;
pub mod api;
pub mod builder;
pub mod data;
mod error;
pub mod eval;
pub mod exec;
pub mod interp;
pub mod ir;
mod limits;
pub mod memory;
pub mod text;
pub mod timeline;
pub mod verify;

pub use api::{Acc, Array, Dim, Elt, Exp, Matrix, Scalar, Vector};
pub use error::{BuildError, Cause, Error, Fault, LimitError, ParseError, Site, VerifyError};
pub use exec::{Backend, Executor, ProgramCache, foreign};
pub use interp::Interpreter;
pub use limits::{CancelToken, Charge, Meter, RunLimits};
pub use memory::grow_stack;

#[doc(hidden)]
pub use acc_core_derive::{FacadeArrays, FacadeElt, einsum_of as __einsum_of, tensor_of as __tensor_of};

/// What programs import.
pub mod prelude {
    pub use crate::api::*;
    pub use crate::error::Error;
    pub use crate::exec::Backend;
    pub use crate::interp::Interpreter;
    pub use crate::limits::{CancelToken, RunLimits};
    pub use crate::{axes, einsum, tensor};
    pub use acc_core_derive::{Arrays, Elt};
    pub use either::Either;
    pub use half::f16;
    pub use num_complex::Complex;
}
