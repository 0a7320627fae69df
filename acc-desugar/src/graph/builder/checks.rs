//! Values after checks.

use super::Builder;
use crate::graph::{Op, Value, Values};

impl Builder {
    /// The value that this one is, apart from checks made before it and from loops that do not change it.
    pub(crate) fn origin(&self, v: Value) -> Value {
        let mut v = self.same(v);
        while let Some((Op::Checked { values, .. } | Op::Trace { values, .. }, results)) = self.defining(v)
            && let Some(k) = results.iter().position(|r| *r == v)
            && let Some(inner) = values.get(k)
        {
            v = self.same(*inner);
        }
        v
    }

    /// The value that this one is, apart from the checks right before it.
    pub(crate) fn beneath_checks(&self, v: Value) -> Value {
        match self.defining(v) {
            Some((Op::Checked { values, .. }, results)) => {
                let at = results.iter().position(|r| *r == v);
                at.and_then(|k| values.get(k)).copied().unwrap_or(v)
            }
            _ => v,
        }
    }

    /// Values after the same checks as the checked value `v`, which they are to replace: the checks stay where they are. Values
    /// that are defined after them are checked here.
    pub(crate) fn checked_with(&mut self, v: Value, values: &[Value]) -> Values {
        let Some((body, node)) = self.place(v) else { return values.into() };
        let Op::Checked { values: checked, tokens, raise } = self.bodies[body].nodes[node].op.clone() else {
            return values.into();
        };
        let mut all = Values::new();
        for &x in values {
            let results = &self.bodies[body].nodes[node].results;
            // One of its own results has waited for the checks.
            let own = results.contains(&x).then_some(x);
            let known = own.or_else(|| checked.iter().position(|c| *c == x).map(|k| results[k]));
            all.push(match known {
                Some(r) => r,
                None if self.place(x) > Some((body, node)) => self.checked(&[x], tokens.clone(), raise)[0],
                None => self.check_too(body, node, x),
            });
        }
        all
    }

    /// A value after these checked ones' checks, in the order in which they are made.
    pub(crate) fn after_checks(&mut self, x: Value, mut checked: Vec<Value>) -> Value {
        checked.sort_by_key(|c| self.place(*c));
        checked.into_iter().fold(x, |x, c| self.checked_with(c, &[x])[0])
    }

    fn check_too(&mut self, body: usize, node: usize, x: Value) -> Value {
        let r = self.fresh(self.ty(x), None);
        self.facts.copy(r, x);
        let node = &mut self.bodies[body].nodes[node];
        if let Some(first) = node.results.first() {
            self.facts.total[r.index()] = self.facts.total[first.index()];
            self.places[r.index()] = self.places[first.index()];
        }
        if let Op::Checked { values, .. } = &mut node.op {
            values.push(x);
        }
        node.results.push(r);
        r
    }

    /// What a value is apart from checks before it, which are added to these.
    pub(crate) fn unchecked(&self, v: Value, checked: &mut Vec<Value>) -> Value {
        let mut v = v;
        while let Some(Op::Checked { .. }) = self.def(v) {
            checked.push(v);
            v = self.beneath_checks(v);
        }
        v
    }
}
