//! Errors of libtorch as errors of ours.

use acc_core::ir::Loc;
use acc_core::{Cause, Error};
use tch::TchError;

/// The name of the executor in messages.
pub(crate) const BACKEND: &str = "graph";

/// An error of libtorch: the text of its exception, without the stack trace.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{message}")]
#[non_exhaustive]
pub struct TorchError {
    /// What libtorch says.
    pub message: String,
}

/// How much memory an allocation that failed asked for, as far as libtorch says, and in bytes if it says these.
fn wanted(message: &str) -> Option<(String, Option<u64>)> {
    // "you tried to allocate 1024 bytes", "Tried to allocate 20.00 GiB".
    let (_, rest) = message.split_once("ried to allocate ")?;
    let mut words = rest.split(' ').map(|word| word.trim_end_matches(['.', ',']));
    let (number, unit) = (words.next()?, words.next()?);
    number.parse::<f64>().ok()?;
    let bytes = number.parse().ok().filter(|_| unit == "bytes");
    Some((format!("{number} {unit}"), bytes))
}

impl TorchError {
    pub(crate) fn new(message: impl Into<String>) -> TorchError {
        TorchError { message: message.into() }
    }

    /// The error, with the operation during which it happened and the user's line.
    pub fn at(&self, op: &'static str, loc: &Loc) -> Error {
        Error::from(self.clone()).during(op, loc)
    }
}

impl From<TchError> for TorchError {
    fn from(error: TchError) -> TorchError {
        let text = match error {
            TchError::Torch(text) => text,
            other => other.to_string(),
        };
        // The lines after the first are the C++ stack trace.
        TorchError::new(text.lines().next().unwrap_or_default().trim_end())
    }
}

impl From<TorchError> for Error {
    fn from(error: TorchError) -> Error {
        let out_of_memory = ["can't allocate memory", "not enough memory", "out of memory"];
        if !out_of_memory.iter().any(|text| error.message.contains(text)) {
            return Error::Library { library: "libtorch", source: Cause::new(error), at: None };
        }
        let (what, bytes) = match wanted(&error.message) {
            Some((amount, bytes)) => (format!("an array of {amount}"), bytes),
            None => ("an array".to_string(), None),
        };
        Error::OutOfMemory { what, bytes, at: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    fn six() -> Tensor {
        Tensor::f_arange(6, (Kind::Int64, tch::Device::Cpu)).unwrap()
    }

    #[test]
    fn a_reshape_to_a_wrong_size_is_an_error() {
        let error = TorchError::from(six().f_reshape([4]).unwrap_err());
        assert_eq!(error.message, "shape '[4]' is invalid for input of size 6");
    }

    #[test]
    fn an_index_out_of_bounds_is_an_error_and_the_next_call_works() {
        let index = Tensor::f_from_slice(&[7i64]).unwrap();
        let error = TorchError::from(six().f_index_select(0, &index).unwrap_err());
        assert!(error.message.contains("out of range"), "{error}");
        assert!(!error.message.contains('\n'), "the stack trace is cut off: {error}");
        assert_eq!(six().f_sum(Kind::Int64).and_then(|s| s.f_int64_value(&[])).unwrap(), 15);
    }

    #[test]
    fn an_allocation_that_cannot_succeed_is_an_error() {
        let result = Tensor::f_empty([1 << 50], (Kind::Uint8, tch::Device::Cpu));
        let error = |e: TorchError| Error::from(e).to_string();
        assert_eq!(error(result.unwrap_err().into()), "no memory for an array of 1125899906842624 bytes");
        let cuda = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB";
        assert_eq!(error(TorchError::new(cuda)), "no memory for an array of 20.00 GiB");
        assert_eq!(error(TorchError::new("out of memory")), "no memory for an array");
    }

    #[test]
    fn the_users_line_is_in_the_error() {
        let loc = Loc::caller();
        let error = TorchError::new("no").at("map", &loc).to_string();
        assert_eq!(error, format!("libtorch: no\n  in `map` at {loc}"));
    }
}
