//! Scalar functions rebuilt node by node: local rules, constant branches, common subexpressions.
//!
//! After the pass no local rule applies to a node, except where a value became known later in the same region.

use super::rules::{LOCAL, Replace};
use super::walk::{is_speculable, known_extents, try_map_funs};
use crate::settings::Rules;
use crate::settings::Settings;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, Foreign, Fun, Loc, Node, PrimOp, Program, Region, ScalarOp, Val, Vals};
use acc_core::{Error, RunLimits, grow_stack};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    try_map_funs(p, &mut |s, f| {
        let is_closed = s.op.closed().iter().any(|of| std::ptr::eq(*of, f));
        Rewriter::run(f, if is_closed { HashSet::new() } else { known_extents(&s.op) }, rules, limits)
    })
    .map(Cow::Owned)
}

/// How many nodes are rewritten between two looks at the limits.
const NODES_BETWEEN_CHECKS: u32 = 256;

/// How many rules may follow one another at one node.
const MAX_RULES_PER_NODE: usize = 16;

/// How much work the branches of a conditional may be to become a select.
const MAX_SELECTED_WORK: u32 = 6;

/// The same for conditionals that yield conditions.
const MAX_CONDITION_WORK: u32 = 24;

/// What local rules see: the values defined so far.
pub(super) struct Definitions {
    pub(super) types: Vec<ScalarType>,
    definitions: HashMap<Val, ScalarOp>,
}

impl Definitions {
    /// The operation that defines a value, if it has no regions.
    pub(super) fn op(&self, v: Val) -> Option<&ScalarOp> {
        self.definitions.get(&v)
    }
    pub(super) fn lit(&self, v: Val) -> Option<Lit> {
        match self.op(v) {
            Some(ScalarOp::Const(l)) => Some(*l),
            _ => None,
        }
    }
    pub(super) fn ty(&self, v: Val) -> ScalarType {
        self.types[v.index()]
    }
    /// The operands of `v`, if it is the primitive operation `p`.
    pub(super) fn prim(&self, v: Val, p: PrimOp) -> Option<&[Val]> {
        match self.op(v) {
            Some(ScalarOp::Prim(q, args)) if *q == p => Some(args),
            _ => None,
        }
    }
}

/// An operation and the types of its results.
type Key = (ScalarOp, Vec<ScalarType>);

struct Rewriter<'a> {
    old: &'a Fun,
    rules: &'a Rules,
    limits: &'a RunLimits,
    /// Nodes until the limits are looked at again.
    left: u32,
    known: Definitions,
    /// Arrays whose extents are known, so that asking for them evaluates nothing.
    extents: HashSet<ArrayId>,
    /// From old values to new ones.
    vals: HashMap<Val, Val>,
    /// What was computed in this region and those around.
    done: HashMap<Key, Vals>,
    /// What each of these regions, innermost last, added to it.
    added: Vec<Vec<Key>>,
}

impl<'a> Rewriter<'a> {
    fn run(old: &'a Fun, extents: HashSet<ArrayId>, rules: &'a Rules, limits: &'a RunLimits) -> Result<Fun, Error> {
        limits.check()?;
        let known = Definitions { types: Vec::new(), definitions: HashMap::new() };
        let (vals, done, added) = (HashMap::new(), HashMap::new(), Vec::new());
        let mut r = Rewriter { old, rules, limits, left: NODES_BETWEEN_CHECKS, known, extents, vals, done, added };
        let body = r.region(&old.body)?;
        Ok(Fun { types: r.known.types, body })
    }

    fn fresh(&mut self, ty: ScalarType) -> Val {
        self.known.types.push(ty);
        Val(self.known.types.len() as u32 - 1)
    }

    fn region(&mut self, r: &Region) -> Result<Region, Error> {
        let mut params = Vec::new();
        for &p in &r.params {
            let v = self.fresh(self.old.ty(p));
            self.vals.insert(p, v);
            params.push(v);
        }
        self.added.push(Vec::new());
        let mut nodes = Vec::new();
        let results = self.inline(r, &mut nodes)?.to_vec();
        for key in self.added.pop().into_iter().flatten() {
            self.done.remove(&key);
        }
        Ok(Region { params, nodes, results })
    }

    /// Rewrites the nodes of a region onto the end of `nodes`; returns its results.
    fn inline(&mut self, r: &Region, nodes: &mut Vec<Node>) -> Result<Vals, Error> {
        for n in &r.nodes {
            self.left -= 1;
            if self.left == 0 {
                self.left = NODES_BETWEEN_CHECKS;
                self.limits.check()?;
            }
            let results = grow_stack(|| self.node(n, nodes))?;
            self.vals.extend(n.results.iter().copied().zip(results));
        }
        Ok(r.results.iter().map(|v| self.vals[v]).collect())
    }

    fn node(&mut self, n: &Node, nodes: &mut Vec<Node>) -> Result<Vals, Error> {
        Ok(match &n.op {
            ScalarOp::If { cond, then, else_ } => self.conditional(n, self.vals[cond], then, else_, nodes)?,
            ScalarOp::While { init, test, step } => {
                let init = init.iter().map(|v| self.vals[v]).collect();
                let (test, step) = (self.region(test)?, self.region(step)?);
                self.push(n, ScalarOp::While { init, test, step }, nodes)
            }
            ScalarOp::Own(Foreign { name, args, fallback, partials }) => {
                let args = args.iter().map(|v| self.vals[v]).collect();
                let fallback = self.region(fallback)?;
                let partials = partials.as_ref().map(|r| self.region(r)).transpose()?;
                self.push(n, ScalarOp::Own(Foreign { name: name.clone(), args, fallback, partials }), nodes)
            }
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => {
                let op = n.op.map(&mut |a| *a, &mut |v| self.vals[&v]);
                let types = n.results.iter().map(|&v| self.old.ty(v)).collect();
                self.emit(op, types, &n.loc, nodes)
            }
        })
    }

    /// A node with regions, as it is.
    fn push(&mut self, n: &Node, op: ScalarOp, nodes: &mut Vec<Node>) -> Vals {
        let results: Vals = n.results.iter().map(|&v| self.fresh(self.old.ty(v))).collect();
        nodes.push(Node { results: results.clone(), op, loc: n.loc.clone() });
        results
    }

    fn conditional(
        &mut self,
        n: &Node,
        cond: Val,
        then: &Region,
        else_: &Region,
        nodes: &mut Vec<Node>,
    ) -> Result<Vals, Error> {
        if self.rules.on("branches")
            && let Some(c) = self.known.lit(cond)
        {
            return self.inline(if c.bits != 0 { then } else { else_ }, nodes);
        }
        let (mut then, mut else_) = (self.region(then)?, self.region(else_)?);
        // Conditions of several parts: to look at all of them is faster than to branch at each.
        let is_condition = n.results.iter().all(|&v| self.old.ty(v) == ScalarType::Bool);
        let most = if is_condition { MAX_CONDITION_WORK } else { MAX_SELECTED_WORK };
        let small = self.work(&then).and_then(|t| Some(t + self.work(&else_)?)).is_some_and(|w| w <= most);
        if !(self.rules.on("small_branches") && small) {
            return Ok(self.push(n, ScalarOp::If { cond, then, else_ }, nodes));
        }
        nodes.append(&mut then.nodes);
        nodes.append(&mut else_.nodes);
        let mut results = Vals::new();
        for (&then, &else_) in then.results.iter().zip(&else_.results) {
            let ty = self.known.ty(then);
            results.extend(self.emit(ScalarOp::Select { cond, then, else_ }, vec![ty], &n.loc, nodes));
        }
        Ok(results)
    }

    /// How much work a region is; `None` if it holds more than cheap total operations.
    fn work(&self, r: &Region) -> Option<u32> {
        r.nodes.iter().try_fold(0, |sum, n| {
            let cheap = match &n.op {
                ScalarOp::Const(_) => 0,
                ScalarOp::Prim(p, _) if is_cheap(*p) => 1,
                ScalarOp::Extent { array, .. } if self.extents.contains(array) => 1,
                op if is_speculable(op) && !matches!(op, ScalarOp::Prim(..)) => 1,
                _ => return None,
            };
            Some(sum + cheap)
        })
    }

    /// A node without regions: by the local rules, then by what is computed already.
    fn emit(&mut self, mut op: ScalarOp, types: Vec<ScalarType>, loc: &Loc, nodes: &mut Vec<Node>) -> Vals {
        for _ in 0..MAX_RULES_PER_NODE {
            let Some(&ty) = types.first() else { break };
            let applied =
                LOCAL.iter().filter(|(name, _)| self.rules.on(name)).find_map(|(_, f)| f(&op, ty, &self.known));
            match applied {
                Some(Replace::Val(v)) => return [v].into_iter().collect(),
                Some(Replace::Op(new)) => op = new,
                None => break,
            }
        }
        if let ScalarOp::Prim(p, args) = &mut op
            && p.is_commutative()
        {
            // One order, so that the same sum written both ways is found.
            args.sort_unstable();
        }
        let key = (op, types);
        if self.rules.on("common_scalars")
            && let Some(v) = self.done.get(&key)
        {
            return v.clone();
        }
        let results: Vals = key.1.iter().map(|&t| self.fresh(t)).collect();
        if let [v] = results[..] {
            self.known.definitions.insert(v, key.0.clone());
        }
        nodes.push(Node { results: results.clone(), op: key.0.clone(), loc: loc.clone() });
        if self.rules.on("common_scalars")
            && let Some(added) = self.added.last_mut()
        {
            added.push(key.clone());
            self.done.insert(key, results.clone());
        }
        results
    }
}

/// About as fast as an addition.
fn is_cheap(p: PrimOp) -> bool {
    use PrimOp as P;
    match p {
        P::AddP | P::SubP | P::MulP | P::MinP | P::MaxP | P::AndP | P::OrP | P::XorP | P::ShlP | P::ShrP => true,
        P::EqP | P::NeP | P::LtP | P::LeP | P::GtP | P::GeP => true,
        P::NegP | P::AbsP | P::SignumP | P::NotP | P::IsNanP | P::IsInfiniteP => true,
        P::FloorP | P::CeilP | P::RoundP | P::TruncP => true,
        P::PopCountP | P::LeadingZerosP | P::TrailingZerosP => true,
        P::QuotP | P::RemP | P::DivFloorP | P::ModFloorP => false,
        P::DivP | P::FmodP | P::PowP | P::Atan2P | P::SqrtP | P::ExpP | P::LnP | P::Log2P | P::Log10P => false,
        P::SinP | P::CosP | P::TanP | P::AsinP | P::AcosP | P::AtanP => false,
        P::SinhP | P::CoshP | P::TanhP | P::AsinhP | P::AcoshP | P::AtanhP => false,
    }
}
