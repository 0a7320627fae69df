//! Simplification of the core IR, for both backends.
//!
//! The law that every rule obeys:
//!
//! 1. *Same meaning.* Where the program has a value, the result has the same, bit for bit. Floats are not reassociated,
//!    and an identity that does not hold for NaN, infinities and `-0.0` is not used on them.
//! 2. *Laziness kept.* A node that can fault or fail to end leaves no branch and no loop, and is never evaluated where
//!    it was not. Measuring an array evaluates it, so an extent counts as such a node. A fault that nobody needs may be
//!    dropped; none is added.
//! 3. *Never worse.* No rule makes a program larger or does more work, except that a conditional of two small total
//!    branches computes both, and that an invariant leaves a loop which may run no step.
//!
//! [`pipeline`](crate::pipeline) lists the passes, [`RULES`](crate::RULES) the rules by name, each of which can be switched off.

pub(crate) mod aliases;
pub(crate) mod bounds;
pub(crate) mod common;
pub(crate) mod conditions;
pub(crate) mod dead_arrays;
pub(crate) mod dead_scalars;
pub(crate) mod hoist;
pub(crate) mod hoist_arrays;
pub(crate) mod rewrite;
mod rules;
#[cfg(test)]
mod tests;
pub(crate) mod walk;

pub use walk::{map_funs, map_op};
