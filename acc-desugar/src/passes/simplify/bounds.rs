//! Rule `bounds`: a coordinate is at least 0 and less than the extent of its axis.
//!
//! Where a comparison says what holds at every point of the statement's index space, or at none, it is a truth value. The
//! extents of arrays are compared as expressions ([`Extents`]), so that it need not be the extent of the result itself.

use super::walk::map_op;
use crate::analysis::extents::{Extent, Extents};
use crate::settings::Settings;
use acc_core::data::Prim;
use acc_core::ir::{ArrayId, ArrayOp, Block, Fun, Node, PrimOp, Program, Region, ScalarOp, Stmt, Val};
use acc_core::{Error, RunLimits, grow_stack};
use std::borrow::Cow;
use std::collections::HashMap;

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("bounds") || !compares(p, &p.body) {
        return Ok(Cow::Borrowed(p));
    }
    let mut b = Bounds { extents: Extents::new(p), limits, stopped: None };
    let body = b.block(&p.body);
    match b.stopped {
        Some(e) => Err(e),
        None => Ok(Cow::Owned(Program { types: p.types.clone(), names: p.names.clone(), body })),
    }
}

/// The function of an operation whose first parameters are the coordinates of a point, and the array whose extents the
/// coordinates are in.
fn of_points(s: &Stmt) -> Option<(&Fun, ArrayId)> {
    let result = s.results.first().copied()?;
    match &s.op {
        ArrayOp::Generate { f, .. } | ArrayOp::Map { f, indexed: true, .. } => Some((f, result)),
        ArrayOp::Backpermute { index, .. } => Some((index, result)),
        ArrayOp::Permute { target, xs, .. } => Some((target, *xs)),
        _ => None,
    }
}

/// Whether a program has a comparison of a coordinate.
fn compares(p: &Program, b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        let mut any = false;
        if let Some((f, space)) = of_points(s) {
            let coordinates = &f.body.params[..p.ty(space).rank];
            f.body.visit(0, &mut |n, _| {
                any |= comparison(&n.op).is_some_and(|(_, i, _)| coordinates.contains(&i));
            });
        }
        any || s.op.blocks().into_iter().any(|b| grow_stack(|| compares(p, b)))
    })
}

/// How an integer compares with another one.
enum Comparison {
    AtLeast,
    Below,
}

fn comparison(op: &ScalarOp) -> Option<(Comparison, Val, Val)> {
    let ScalarOp::Prim(p, v) = op else { return None };
    let [a, b] = v[..] else { return None };
    match p {
        PrimOp::GeP => Some((Comparison::AtLeast, a, b)),
        PrimOp::LeP => Some((Comparison::AtLeast, b, a)),
        PrimOp::LtP => Some((Comparison::Below, a, b)),
        PrimOp::GtP => Some((Comparison::Below, b, a)),
        _ => None,
    }
}

struct Bounds<'a> {
    extents: Extents,
    limits: &'a RunLimits,
    stopped: Option<Error>,
}

impl Bounds<'_> {
    fn block(&mut self, b: &Block) -> Block {
        let stmts = b.stmts.iter().map(|s| {
            if self.stopped.is_none() {
                self.stopped = self.limits.check().err();
            }
            let of_points = of_points(s).map(|(f, space)| (f, self.known(f, self.extents.of(space))));
            let mut block = |b: &Block, _: &mut dyn FnMut(&Fun) -> Fun| grow_stack(|| self.block(b));
            let mut fun = |g: &Fun| match &of_points {
                Some((f, known)) if std::ptr::eq(*f, g) => decided(f, known),
                _ => g.clone(),
            };
            Stmt { results: s.results.clone(), op: map_op(&s.op, &mut fun, &mut |a| a, &mut block), loc: s.loc.clone() }
        });
        Block { params: b.params.clone(), stmts: stmts.collect(), results: b.results.clone() }
    }

    /// The comparisons of a function that are the same at all points of a space.
    fn known(&self, f: &Fun, space: &[Extent]) -> HashMap<Val, bool> {
        let mut defined: HashMap<Val, &ScalarOp> = HashMap::new();
        f.body.visit(0, &mut |n, _| {
            if let ([v], ScalarOp::Const(_) | ScalarOp::Extent { .. }) = (&n.results[..], &n.op) {
                defined.insert(*v, &n.op);
            }
        });
        let axis = |v: Val| f.body.params[..space.len()].iter().position(|p| *p == v);
        // Whether a number is the extent of an axis, and whether it is no greater than any coordinate.
        let is_end = |v: Val, k: usize| match defined.get(&v) {
            Some(ScalarOp::Extent { array, axis }) => self.extents.of(*array).get(*axis as usize) == space.get(k),
            _ => false,
        };
        let is_start = |v: Val| matches!(defined.get(&v), Some(ScalarOp::Const(l)) if l.bits as i64 <= 0);
        let mut known = HashMap::new();
        f.body.visit(0, &mut |n, _| {
            let (Some((how, i, other)), [result]) = (comparison(&n.op), &n.results[..]) else { return };
            let Some(axis) = axis(i) else { return };
            let truth = match how {
                Comparison::AtLeast if is_start(other) => true,
                Comparison::AtLeast if is_end(other, axis) => false,
                Comparison::Below if is_start(other) => false,
                Comparison::Below if is_end(other, axis) => true,
                Comparison::AtLeast | Comparison::Below => return,
            };
            known.insert(*result, truth);
        });
        known
    }
}

/// The function with these comparisons as truth values.
fn decided(f: &Fun, known: &HashMap<Val, bool>) -> Fun {
    fn region(r: &Region, known: &HashMap<Val, bool>) -> Region {
        let node = |n: &Node| {
            let op = match n.results.first().and_then(|v| known.get(v)) {
                Some(truth) => ScalarOp::Const(truth.lit()),
                None => {
                    let mut op = n.op.clone();
                    for inner in op.regions_mut() {
                        *inner = grow_stack(|| region(inner, known));
                    }
                    op
                }
            };
            Node { results: n.results.clone(), op, loc: n.loc.clone() }
        };
        Region { params: r.params.clone(), nodes: r.nodes.iter().map(node).collect(), results: r.results.clone() }
    }
    if known.is_empty() {
        return f.clone();
    }
    Fun { types: f.types.clone(), body: region(&f.body, known) }
}
