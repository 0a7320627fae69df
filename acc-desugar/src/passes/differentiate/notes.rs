//! What an expanded derivative says of itself.

use acc_core::ir::Loc;
use std::fmt;

/// How the tangents or adjoints of an operation are computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Where the user wrote the operation.
    pub loc: Loc,
    /// Its name in text form; of reads inside functions `read`.
    pub operation: &'static str,
    /// How.
    pub how: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.operation, self.loc, self.how)
    }
}
