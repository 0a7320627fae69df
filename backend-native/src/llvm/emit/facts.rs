//! What is known of a body before its code is written.

use crate::kernel::{Accesses, Body, Uniformity};
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// A body, and facts about its values.
pub(crate) struct Facts<'a> {
    /// The element or a combination.
    pub body: &'a Body,
    /// How the values follow the axes.
    pub accesses: Accesses,
    /// How they vary over lanes.
    pub uniformities: Vec<Uniformity>,
    /// The lane axis, if each lane is one further along it than the one before.
    pub lane: Option<usize>,
    /// Whether a value has any use.
    pub used: Vec<bool>,
    /// Remainders that are computed where elements are read at them.
    pub deferred: HashMap<Val, Deferred>,
}

/// A remainder: its operation, dividend and divisor.
#[derive(Clone, Copy)]
pub(crate) struct Deferred {
    pub op: PrimOp,
    pub index: Val,
    pub by: Val,
}

impl<'a> Facts<'a> {
    /// The facts that do not depend on how the body's axes become lanes.
    pub(crate) fn new(body: &'a Body) -> Facts<'a> {
        Facts {
            body,
            accesses: Accesses::of(body),
            uniformities: Vec::new(),
            lane: None,
            used: body.used(),
            deferred: HashMap::new(),
        }
    }

    /// The same, where the parameters of the body vary so over lanes.
    pub(crate) fn over_lanes(body: &'a Body, params: &[Uniformity]) -> Facts<'a> {
        let mut facts = Facts::new(body);
        facts.vary(params);
        facts
    }

    /// Notes how the parameters of the body vary over lanes.
    pub(crate) fn vary(&mut self, params: &[Uniformity]) {
        self.uniformities = self.accesses.uniformities(params);
    }
}
