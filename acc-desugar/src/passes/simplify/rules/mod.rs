//! Local rules: from one node, and what is known of its operands, to something simpler.

mod constants;
mod identities;
mod selects;

use super::rewrite::Definitions;
use acc_core::data::ScalarType;
use acc_core::ir::{ScalarOp, Val};

/// What a rule puts in a node's place.
pub(super) enum Replace {
    /// A value that exists already.
    Val(Val),
    /// Another operation.
    Op(ScalarOp),
}

/// From an operation and its result's type.
type Local = fn(&ScalarOp, ScalarType, &Definitions) -> Option<Replace>;

/// The rules, by the names under which they are switched off.
pub(super) const LOCAL: &[(&str, Local)] =
    &[("constants", constants::rule), ("identities", identities::rule), ("selects", selects::rule)];
