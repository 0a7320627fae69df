//! What is known of a body before its code is written.

use super::access::clamped::Clamped;
use super::access::wrapped::Wrapped;
use super::analysis::affine_bounds::{AffineSum, affine_sums};
use crate::kernel::{Body, Uniformity};
use acc_core::ir::Val;
use std::collections::HashMap;

/// A body, and facts about its values.
pub(crate) struct Facts<'a> {
    /// The element or a combination.
    pub body: &'a Body,
    pub uniformities: Vec<Uniformity>,
    /// Whether a value has any use.
    pub used: Vec<bool>,
    /// Integers that are affine sums over axes.
    pub affine_sums: HashMap<Val, AffineSum>,
    /// Indices that wrap around at a divisor.
    pub wrapped: HashMap<Val, Wrapped>,
    /// Clamped indices.
    pub clamped: HashMap<Val, Clamped>,
}

impl<'a> Facts<'a> {
    /// The facts that do not depend on how the body's axes become lanes.
    pub(crate) fn new(body: &'a Body) -> Facts<'a> {
        Facts {
            body,
            uniformities: Vec::new(),
            used: body.used(),
            affine_sums: affine_sums(body),
            wrapped: HashMap::new(),
            clamped: HashMap::new(),
        }
    }
}
