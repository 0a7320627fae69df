//! Arrays that lanes demand: evaluated on demand, unless nobody can tell.

use crate::flatten::Flattener;
use crate::flatten::scalar::{Lanes, Scalar};
use crate::flatten::scope::Flat;
use crate::graph::builder::Builder;
use crate::graph::{FaultKind, Op, SizeOp, Type, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::ArrayId;
use std::collections::HashMap;

/// So many operations are computed again without checks.
const LOOKED_AT: usize = 64;

/// Values without checks that extents are not 0.
struct Unchecked {
    extents: Vec<Value>,
    known: HashMap<Value, Value>,
    /// How many more operations are looked at.
    left: usize,
}

impl Flattener<'_> {
    /// An array that lanes may read. One that nothing else needs is evaluated only if a lane demands it, or if that can
    /// do no harm.
    pub(crate) fn readable(&mut self, a: ArrayId, lanes: &Lanes<'_>, mask: Option<Value>) -> Flat {
        let flat = self.array(a);
        self.demanded(a, flat, lanes, mask)
    }

    /// The same of an array that has the extents of `a`, and these columns.
    pub(crate) fn demanded(&mut self, a: ArrayId, flat: Flat, lanes: &Lanes<'_>, mask: Option<Value>) -> Flat {
        if self.scope.eager.contains(&a) || (mask.is_none() && lanes.space.is_empty()) {
            return flat;
        }
        if mask.is_none()
            && let Some(flat) = where_lanes_are(&mut self.b, &flat, &lanes.space)
        {
            return flat;
        }
        let cond = match mask {
            Some(m) => self.b.any(m),
            None => some_lane(&mut self.b, &lanes.space.clone()),
        };
        if self.b.const_size(cond).is_some_and(|c| c != 0) {
            return flat;
        }
        if let Some(flat) = self.checked_for_lanes(&flat, cond) {
            return flat;
        }
        self.b.open();
        let then = self.b.close(flat.values().collect());
        self.b.open();
        let zero = self.b.size(0);
        let shape: Values = flat.shape.iter().map(|_| zero).collect();
        let mut values = shape.to_vec();
        for c in &flat.columns {
            let x = self.b.constant(Lit::zero(self.b.scalar(*c)));
            values.push(self.b.full(x, &shape));
        }
        let else_ = self.b.close(values);
        let values = self.b.if_(cond, then, else_);
        let (extents, columns) = values.split_at(shape.len());
        self.scope.extents.extend(extents.iter().copied());
        self.indices.demanded.extend(extents.iter().zip(&flat.shape).map(|(demanded, n)| (*demanded, *n)));
        for (c, of) in columns.iter().zip(&flat.columns) {
            if self.b.is_full(*of) {
                self.b.set_full(*c);
            } else {
                self.b.set_along(*c, self.b.axes(*of));
            }
        }
        Flat { shape: extents.into(), columns: columns.into() }
    }
}

impl Flattener<'_> {
    /// An array that can be computed though no lane demands it, but for its checks: what they find counts where one does.
    fn checked_for_lanes(&mut self, flat: &Flat, demanded: Value) -> Option<Flat> {
        // A report tells which of several checks is the first.
        if self.faults().exact() {
            return None;
        }
        let mut tokens = Vec::new();
        let total = |v: Value| total_beneath(&self.b, v, &mut tokens);
        let values: Vec<Value> = flat.values().map(total).collect::<Option<_>>()?;
        tokens.sort_unstable();
        tokens.dedup();
        let fault = |token: &Value| match self.b.def(*token)? {
            Op::Fault { kind, bad, .. } if self.b.is_total(*bad) => Some((kind.clone(), *bad)),
            _ => None,
        };
        let faults: Vec<(FaultKind, Value)> = tokens.iter().map(fault).collect::<Option<_>>()?;
        for (kind, bad) in faults {
            let both = if [demanded, bad].iter().all(|v| self.b.ty(*v) == Type::Size) {
                self.b.size_op(SizeOp::Min, demanded, bad)
            } else {
                let [demanded, bad] = [demanded, bad].map(|v| match self.b.ty(v) {
                    Type::Size => self.indices.tensor(&mut self.b, Scalar::Size(v), ScalarType::Bool),
                    _ => self.b.any(v),
                });
                self.b.and(demanded, bad)
            };
            self.check(kind, both, &[], Vec::new());
        }
        let (shape, columns) = values.split_at(flat.shape.len());
        self.scope.extents.extend(shape.iter().copied());
        Some(Flat { shape: shape.into(), columns: columns.into() })
    }
}

/// The value that can be computed in any case below checks, which are added to these.
fn total_beneath(b: &Builder, v: Value, tokens: &mut Vec<Value>) -> Option<Value> {
    let mut v = v;
    while !b.is_total(v) {
        let Op::Checked { tokens: these, .. } = b.def(v)? else { return None };
        tokens.extend(these);
        v = b.beneath_checks(v);
    }
    Some(v)
}

/// Whether a space has any lane.
pub(crate) fn some_lane(b: &mut Builder, space: &[Value]) -> Value {
    let (n, zero) = (b.product(space), b.size(0));
    b.size_op(SizeOp::Lt, zero, n)
}

/// An array that can be computed though there is no lane, without its checks that an extent of the lanes' space is not
/// 0: where lanes are it is not.
fn where_lanes_are(b: &mut Builder, flat: &Flat, space: &[Value]) -> Option<Flat> {
    let extents = space.iter().map(|n| b.origin(*n)).collect();
    let mut at = Unchecked { extents, known: HashMap::new(), left: LOOKED_AT };
    let mut all =
        |values: &[Value]| -> Option<Values> { values.iter().map(|v| without_checks(b, *v, &mut at)).collect() };
    Some(Flat { shape: all(&flat.shape)?, columns: all(&flat.columns)? })
}

/// A value without checks of emptiness, computed again if these come in between, if that cannot fail.
fn without_checks(b: &mut Builder, v: Value, at: &mut Unchecked) -> Option<Value> {
    if b.is_total(v) {
        return Some(v);
    }
    if let Some(known) = at.known.get(&v) {
        return Some(*known);
    }
    at.left = at.left.checked_sub(1)?;
    let plain = match b.def(v)? {
        Op::Checked { tokens, .. } => {
            let empty = |t: &Value| emptiness(b, *t).is_some_and(|n| at.extents.contains(&n));
            if !tokens.iter().all(empty) {
                return None;
            }
            without_checks(b, b.beneath_checks(v), at)?
        }
        _ => {
            let op = b.harmless(v)?;
            let operands: Option<HashMap<Value, Value>> =
                op.operands().into_iter().map(|x| Some((x, without_checks(b, x, at)?))).collect();
            b.again(op, v, &operands?)
        }
    };
    at.known.insert(v, plain);
    Some(plain)
}

/// The extent that a check finds to be 0.
fn emptiness(b: &Builder, token: Value) -> Option<Value> {
    let Some(Op::Fault { kind: FaultKind::EmptyFold, bad, .. }) = b.def(token) else { return None };
    match b.def(*bad) {
        Some(Op::SizeOp(SizeOp::Eq, n, zero)) if b.const_size(*zero) == Some(0) => Some(b.origin(*n)),
        _ => None,
    }
}
