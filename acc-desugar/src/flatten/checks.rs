//! The checks for faults that are made on the way.

use crate::graph::builder::Builder;
use crate::graph::{FaultKind, Value, Values};
use crate::settings::Faults;
use acc_core::ir::Loc;

/// The checks of the statements around.
pub(super) struct Checks {
    pub(super) faults: Faults,
    /// The checks made in each of the bodies open.
    tokens: Vec<Vec<Value>>,
    /// How many checks the current statement has so far.
    sites: u32,
    /// Where the user wrote the current statement.
    pub(super) loc: Loc,
}

/// The checks of a statement, while those of another one inside of it are made.
pub(super) struct Outer {
    sites: u32,
    loc: Loc,
}

/// How many checks there were.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    tokens: usize,
    sites: u32,
}

impl Checks {
    pub(super) fn new(faults: Faults) -> Checks {
        Checks { faults, tokens: vec![Vec::new()], sites: 0, loc: Loc::unknown() }
    }

    /// Starts a statement.
    pub(super) fn begin(&mut self, loc: &Loc) -> Outer {
        self.open();
        let sites = std::mem::take(&mut self.sites);
        Outer { sites, loc: std::mem::replace(&mut self.loc, loc.clone()) }
    }

    /// Ends a statement; its checks, if it made any.
    pub(super) fn end(&mut self, outer: Outer) -> Option<Vec<Value>> {
        let tokens = self.close();
        let sites = std::mem::replace(&mut self.sites, outer.sites);
        self.loc = outer.loc;
        (sites > 0).then_some(tokens)
    }

    /// Opens a body.
    pub(super) fn open(&mut self) {
        self.tokens.push(Vec::new());
    }

    /// Closes a body; the checks made in it.
    pub(super) fn close(&mut self) -> Vec<Value> {
        self.tokens.pop().unwrap_or_default()
    }

    /// Notes a check of the current statement, even where faults do not count if it is `wanted`.
    pub(super) fn note(
        &mut self,
        b: &mut Builder,
        wanted: bool,
        kind: FaultKind,
        bad: Value,
        space: &[Value],
        details: Vec<Value>,
    ) {
        let wanted = wanted || self.faults.checked() || matches!(kind, FaultKind::CheckFailed { .. });
        if !wanted || b.const_size(bad) == Some(0) || b.const_bool(bad) == Some(false) {
            return;
        }
        // Only a report has numbers.
        let details = if self.faults.exact() { details } else { Vec::new() };
        let token = b.fault(kind, bad, space, details, self.sites);
        self.sites += 1;
        if let Some(t) = self.tokens.last_mut() {
            t.push(token);
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { tokens: self.tokens.last().map_or(0, Vec::len), sites: self.sites }
    }

    /// Forgets the checks made since then.
    pub(super) fn reset(&mut self, to: Mark) {
        self.sites = to.sites;
        if let Some(tokens) = self.tokens.last_mut() {
            tokens.truncate(to.tokens);
        }
    }

    /// A value that the host is about to look at: the checks made so far come first.
    pub(super) fn before_host(&self, b: &mut Builder, v: Value) -> Value {
        match self.tokens.last() {
            Some(t) if !t.is_empty() => b.checked(&[v], t.clone(), false)[0],
            _ => v,
        }
    }

    /// Values after the checks that were made so far, which end the run if they found a fault.
    pub(super) fn raised(&self, b: &mut Builder, values: &[Value]) -> Values {
        match self.tokens.last() {
            Some(t) if !t.is_empty() => b.checked(values, t.clone(), true),
            _ => values.into(),
        }
    }

    /// A mask without the lanes that the checks made in this body have stopped.
    pub(super) fn confined(&mut self, b: &mut Builder, mask: Value, space: &[Value]) -> Value {
        let inner = self.tokens.len() > 1;
        let tokens = match self.tokens.last_mut() {
            // In a statement's own body the checks stay, for its end to raise what they found.
            Some(t) if !inner => t.clone(),
            Some(t) => std::mem::take(t),
            None => Vec::new(),
        };
        if tokens.is_empty() { mask } else { b.confine(mask, tokens, space) }
    }
}
