//! Counted loops that reduce: `acc = acc op f(counter)`, for which executors may take the steps in any order.

use super::{Fun, Node, PrimOp, Region, ScalarOp, Val};
use crate::data::{Lit, Prim, ScalarType};
use std::collections::{HashMap, HashSet};

/// What each step does to one value of a counted loop's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// It counts the steps: one more after each.
    Counter,
    /// It stays the same.
    Same,
    /// It is combined with something that depends on the counter and on what stays, but on nothing that is combined. The
    /// operation [is a reduction](PrimOp::is_reduction); differences are sums of negatives.
    Reduces(PrimOp),
}

/// A loop over a counter that reduces: its results do not depend on the order of its steps, but for rounding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedLoop {
    /// What each step does to each value of the state; one of them is the counter.
    pub parts: Vec<Part>,
    /// The position of the counter.
    pub counter: usize,
    /// What the counter is compared with: a value of the test region, or of one around it.
    pub bound: Val,
    /// Whether the loop goes on as long as the counter is at most the bound, not only below it.
    pub inclusive: bool,
}

impl CountedLoop {
    /// A loop as a counted one that reduces, if it is one. The test compares the counter with what stays the same and
    /// looks at nothing else of the state; each step adds 1 to the counter.
    ///
    /// ```
    /// use acc_core::ir::{ArrayOp, CountedLoop, Part, PrimOp, ScalarOp};
    /// let program = acc_core::text::parse("p.acc", "
    ///     program(m: [2]f32) {
    ///       sums: [1]f32 = generate(shape: || extent(m, 0), f: |%i: i64| {
    ///         %n: i64, %s: f32 = while (0i64, 0.0f32)
    ///           test |%j: i64, %a: f32| { yield lt(%j, extent(m, 1)) }
    ///           step |%j: i64, %a: f32| { yield add(%j, 1i64), add(%a, m[%i, %j]) }
    ///         yield %s
    ///       })
    ///       yield sums
    ///     }")?;
    /// let ArrayOp::Generate { f, .. } = &program.body.stmts[0].op else { unreachable!() };
    /// let ScalarOp::While { test, step, .. } = &f.body.nodes.last().unwrap().op else { unreachable!() };
    /// let counted = CountedLoop::of(f, test, step).unwrap();
    /// assert_eq!(counted.parts, [Part::Counter, Part::Reduces(PrimOp::AddP)]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn of(f: &Fun, test: &Region, step: &Region) -> Option<CountedLoop> {
        // Most other loops are rejected here, without a look at what is inside of them.
        if !step.params.iter().zip(&step.results).all(|(p, r)| p == r || may_combine(step, *r)) {
            return None;
        }
        let defs = Definitions::new(f);
        let (counter, compared) = compared(f, &defs, test)?;
        let (bound, inclusive) = compared;
        if !counts(&defs, step, counter) {
            return None;
        }
        let others = || (0..step.params.len()).filter(|k| *k != counter && step.results[*k] != step.params[*k]);
        // The test may read values that stay the same; only its comparison may read the counter.
        let moving: HashSet<Val> = others().chain([counter]).map(|k| test.params[k]).collect();
        let beyond = dependent(test, moving.clone());
        if moving.contains(&bound) || beyond.difference(&moving).any(|v| Some(v) != test.results.first()) {
            return None;
        }
        let combined = dependent(step, others().map(|k| step.params[k]).collect());
        let counted = dependent(step, HashSet::from([step.params[counter]]));
        let mut spines =
            Spines { f, defs: &defs, combined: &combined, counted: &counted, nodes: HashSet::new(), by_counter: false };
        let mut parts = Vec::new();
        for (k, (p, r)) in step.params.iter().zip(&step.results).enumerate() {
            parts.push(match (k == counter, p == r) {
                (true, _) => Part::Counter,
                (false, true) => Part::Same,
                (false, false) => {
                    let op = spines.operation(*r, *p)??;
                    let ty = f.ty(*p);
                    // Products of floats may overflow in one order and not in another, and sums of f16 are
                    // rounded so coarsely that the order matters.
                    let rounds = match op {
                        PrimOp::MulP => ty.is_float(),
                        PrimOp::AddP => ty == ScalarType::F16,
                        _ => false,
                    };
                    if rounds {
                        return None;
                    }
                    Part::Reduces(op)
                }
            });
        }
        // Nothing else that can fault may read a combined value.
        let mut elsewhere = false;
        step.visit(0, &mut |n, _| {
            let uses =
                n.results.iter().any(|v| combined.contains(v)) || n.op.operands().iter().any(|v| combined.contains(v));
            elsewhere |= uses && n.op.is_partial() && !n.results.iter().any(|v| spines.nodes.contains(v));
        });
        (spines.by_counter && !elsewhere).then_some(CountedLoop { parts, counter, bound, inclusive })
    }
}

impl CountedLoop {
    /// Whether its results are rounded otherwise in another order: whether it adds up floats.
    pub fn rounds(&self, f: &Fun, step: &Region) -> bool {
        let mut parts = self.parts.iter().zip(&step.params);
        parts.any(|(part, p)| *part == Part::Reduces(PrimOp::AddP) && f.ty(*p).is_float())
    }
}

/// The nodes of a function by the values they define.
struct Definitions<'f> {
    of: HashMap<Val, (&'f Node, usize)>,
}

impl<'f> Definitions<'f> {
    fn new(f: &'f Fun) -> Definitions<'f> {
        let mut of = HashMap::new();
        f.body.visit(0, &mut |n, _| of.extend(n.results.iter().enumerate().map(|(k, v)| (*v, (n, k)))));
        Definitions { of }
    }

    fn op(&self, v: Val) -> Option<&'f ScalarOp> {
        self.of.get(&v).map(|(n, _)| &n.op)
    }

    fn literal(&self, v: Val) -> Option<Lit> {
        let ScalarOp::Const(l) = self.op(v)? else { return None };
        Some(*l)
    }
}

/// Whether a node of the region itself defines the value as a combination, at least on some path.
fn may_combine(step: &Region, v: Val) -> bool {
    step.definition(v).is_some_and(|n| match &n.op {
        ScalarOp::Prim(op, _) => op.is_reduction() || *op == PrimOp::SubP,
        ScalarOp::Select { .. } | ScalarOp::If { .. } => true,
        ScalarOp::Const(_)
        | ScalarOp::Cast(_)
        | ScalarOp::Bitcast(_)
        | ScalarOp::While { .. }
        | ScalarOp::Own(_)
        | ScalarOp::Index(_)
        | ScalarOp::Extent { .. } => false,
    })
}

/// Which parameter of the test is compared with what, and whether they may be equal.
fn compared(f: &Fun, defs: &Definitions<'_>, test: &Region) -> Option<(usize, (Val, bool))> {
    let ScalarOp::Prim(p, args) = defs.op(*test.results.first()?)? else { return None };
    let [a, b] = args[..] else { return None };
    let (less, more, inclusive) = match p {
        PrimOp::LtP => (a, b, false),
        PrimOp::GtP => (b, a, false),
        PrimOp::LeP => (a, b, true),
        PrimOp::GeP => (b, a, true),
        _ => return None,
    };
    let ty = f.ty(less);
    // A counter beyond the greatest value of its type would wrap around.
    let counts = ty == ScalarType::I64 || (ty == ScalarType::I32 && !inclusive);
    let counter = test.params.iter().position(|p| *p == less).filter(|_| counts)?;
    Some((counter, (more, inclusive)))
}

/// Whether each step adds 1 to the counter.
fn counts(defs: &Definitions<'_>, step: &Region, counter: usize) -> bool {
    let Some(ScalarOp::Prim(PrimOp::AddP, args)) = defs.op(step.results[counter]) else { return false };
    let [a, b] = args[..] else { return false };
    let one = |v: Val| defs.literal(v).is_some_and(|l| l == 1i64.lit() || l == 1i32.lit());
    let k = step.params[counter];
    (a == k && one(b)) || (b == k && one(a))
}

/// The values of a region that depend on `on`, these included.
fn dependent(region: &Region, mut on: HashSet<Val>) -> HashSet<Val> {
    fn walk(region: &Region, on: &mut HashSet<Val>) {
        for n in &region.nodes {
            crate::grow_stack(|| node(n, on));
        }
    }
    fn node(n: &Node, on: &mut HashSet<Val>) {
        let direct = n.op.operands().iter().any(|v| on.contains(v));
        match &n.op {
            ScalarOp::If { then, else_, .. } => {
                walk(then, on);
                walk(else_, on);
                for (k, r) in n.results.iter().enumerate() {
                    if direct || on.contains(&then.results[k]) || on.contains(&else_.results[k]) {
                        on.insert(*r);
                    }
                }
            }
            ScalarOp::While { .. } | ScalarOp::Own(_) => {
                // Any part of a state may depend on any other after some steps.
                let regions = n.op.regions();
                let mut used = direct || regions.iter().any(|r| r.results.iter().any(|v| on.contains(v)));
                for r in &regions {
                    r.visit(0, &mut |n, _| {
                        let results = n.op.regions().into_iter().flat_map(|r| &r.results);
                        used |= n.op.operands().iter().chain(results).any(|v| on.contains(v));
                    });
                }
                if used {
                    for r in &regions {
                        on.extend(&r.params);
                        r.visit(0, &mut |n, _| {
                            on.extend(&n.results);
                            on.extend(n.op.regions().into_iter().flat_map(|r| &r.params));
                        });
                    }
                    on.extend(&n.results);
                }
            }
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => {
                if direct {
                    on.extend(&n.results);
                }
            }
        }
    }
    walk(region, &mut on);
    on
}

/// The chains of operations that lead from a combined value of the state to its next value.
struct Spines<'a> {
    f: &'a Fun,
    defs: &'a Definitions<'a>,
    /// What depends on something that is combined.
    combined: &'a HashSet<Val>,
    /// What depends on the counter.
    counted: &'a HashSet<Val>,
    /// The values on the chains.
    nodes: HashSet<Val>,
    /// Whether an operand of a chain depends on the counter.
    by_counter: bool,
}

impl Spines<'_> {
    /// The one operation by which `v` combines `p` with values that do not depend on it; `None` inside if `v` is `p`.
    fn operation(&mut self, v: Val, p: Val) -> Option<Option<PrimOp>> {
        if v == p {
            return Some(None);
        }
        let (node, k) = *self.defs.of.get(&v).filter(|_| self.combined.contains(&v))?;
        self.nodes.insert(v);
        match &node.op {
            ScalarOp::Prim(op, args) => {
                let [a, b] = args[..] else { return None };
                let (way, other) = if self.combined.contains(&a) { (a, b) } else { (b, a) };
                let op = match op {
                    PrimOp::SubP if way == a => PrimOp::AddP,
                    op if op.is_reduction() => *op,
                    _ => return None,
                };
                self.beside(other)?;
                // A minimum of `bool` is a conjunction.
                let op = match (op, self.f.ty(p)) {
                    (PrimOp::MinP, ScalarType::Bool) => PrimOp::AndP,
                    (PrimOp::MaxP, ScalarType::Bool) => PrimOp::OrP,
                    (op, _) => op,
                };
                let before = crate::grow_stack(|| self.operation(way, p))?;
                before.is_none_or(|b| b == op).then_some(Some(op))
            }
            ScalarOp::Select { cond, then, else_ } => {
                self.beside(*cond)?;
                self.either(*then, *else_, p)
            }
            ScalarOp::If { cond, then, else_ } => {
                self.beside(*cond)?;
                self.either(then.results[k], else_.results[k], p)
            }
            ScalarOp::Const(_)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::While { .. }
            | ScalarOp::Own(_)
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => None,
        }
    }

    /// The same operation on both sides, or on one of them, where the other is `p`.
    fn either(&mut self, then: Val, else_: Val, p: Val) -> Option<Option<PrimOp>> {
        let sides = [then, else_].map(|v| crate::grow_stack(|| self.operation(v, p)));
        match sides {
            [Some(a), Some(b)] if a == b || b.is_none() => Some(a),
            [Some(None), Some(b)] => Some(b),
            _ => None,
        }
    }

    /// Notes an operand of a chain, which must depend on nothing that is combined.
    fn beside(&mut self, v: Val) -> Option<()> {
        self.by_counter |= self.counted.contains(&v);
        (!self.combined.contains(&v)).then_some(())
    }
}
