//! Which arrays have the same extents, whatever the arguments: extents as interned expressions.

use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Axis, Block, Fun, PrimOp, Program, ScalarOp, Stmt, Val};
use std::collections::HashMap;

/// An extent. Equal numbers are equal extents; others may be equal, too.
pub(super) type Extent = u32;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Expr {
    Const(Lit),
    Prim(PrimOp, Vec<Extent>),
    Convert(ScalarType, bool, Extent),
    Select([Extent; 3]),
    Read(ArrayId, u32, Vec<Extent>),
    Of(ArrayId, usize),
    /// The least of several, in ascending order.
    Min(Vec<Extent>),
    /// Equal to nothing else.
    Unknown(u32),
}

/// The extents of every array.
pub(super) struct Extents {
    interned: HashMap<Expr, Extent>,
    of: Vec<Vec<Extent>>,
    unknown: u32,
}

impl Extents {
    pub(super) fn new(p: &Program) -> Extents {
        let mut e = Extents { interned: HashMap::new(), of: vec![Vec::new(); p.types.len()], unknown: 0 };
        e.block(p, &p.body);
        e
    }

    /// The extents of an array.
    pub(super) fn of(&self, a: ArrayId) -> &[Extent] {
        &self.of[a.index()]
    }

    fn intern(&mut self, e: Expr) -> Extent {
        let next = self.interned.len() as Extent;
        *self.interned.entry(e).or_insert(next)
    }

    fn own(&mut self, p: &Program, a: ArrayId) -> Vec<Extent> {
        (0..p.ty(a).rank).map(|axis| self.intern(Expr::Of(a, axis))).collect()
    }

    fn block(&mut self, p: &Program, b: &Block) {
        for &a in &b.params {
            self.of[a.index()] = self.own(p, a);
        }
        for s in &b.stmts {
            s.op.blocks().into_iter().for_each(|b| acc_core::grow_stack(|| self.block(p, b)));
            for &r in &s.results {
                let extents = self.stmt(s).unwrap_or_else(|| self.own(p, r));
                self.of[r.index()] = extents;
            }
        }
    }

    /// The extents of a statement's result; none for control flow and foreign functions.
    fn stmt(&mut self, s: &Stmt) -> Option<Vec<Extent>> {
        Some(match &s.op {
            ArrayOp::Generate { shape, .. } | ArrayOp::Backpermute { shape, .. } | ArrayOp::Reshape { shape, .. } => {
                self.closed(shape)
            }
            ArrayOp::Map { xs, .. } => self.least(xs),
            ArrayOp::Stencil { inputs, .. } => self.least(&inputs.iter().map(|i| i.xs).collect::<Vec<_>>()),
            ArrayOp::Fold { xs, .. } => self.of(*xs).split_last().map(|(_, outer)| outer.to_vec()).unwrap_or_default(),
            ArrayOp::Scan { init, xs, .. } => {
                let mut out = self.of(*xs).to_vec();
                if let (Some(_), Some(n)) = (init, out.last().copied()) {
                    let one = self.intern(Expr::Const(Lit { ty: ScalarType::I64, bits: 1 }));
                    let longer = self.intern(Expr::Prim(PrimOp::AddP, vec![n.min(one), n.max(one)]));
                    out.pop();
                    out.push(longer);
                }
                out
            }
            ArrayOp::Permute { defaults: xs, .. }
            | ArrayOp::Argsort { xs }
            | ArrayOp::Check { xs, .. }
            | ArrayOp::Compute { xs } => self.of(*xs).to_vec(),
            ArrayOp::Replicate { axes, extents, xs } => {
                let (mut fixed, mut kept) = (self.closed(extents).into_iter(), self.of(*xs).to_vec().into_iter());
                axes.iter().filter_map(|a| if *a == Axis::All { kept.next() } else { fixed.next() }).collect()
            }
            ArrayOp::Slice { axes, xs, .. } => {
                let all = axes.iter().zip(self.of(*xs));
                all.filter(|(a, _)| **a == Axis::All).map(|(_, e)| *e).collect()
            }
            ArrayOp::Foreign { .. } | ArrayOp::If { .. } | ArrayOp::While { .. } => return None,
        })
    }

    fn least(&mut self, xs: &[ArrayId]) -> Vec<Extent> {
        let rank = xs.first().map_or(0, |x| self.of(*x).len());
        let along = |axis: usize| {
            let mut all: Vec<Extent> = xs.iter().filter_map(|x| self.of(*x).get(axis).copied()).collect();
            all.sort_unstable();
            all.dedup();
            if let [one] = all[..] { one } else { self.intern(Expr::Min(all)) }
        };
        (0..rank).map(along).collect()
    }

    /// The values of a closed function.
    fn closed(&mut self, f: &Fun) -> Vec<Extent> {
        let mut known: HashMap<Val, Extent> = HashMap::new();
        for n in &f.body.nodes {
            let values = |v: &[Val]| v.iter().map(|v| known.get(v).copied()).collect::<Option<Vec<Extent>>>();
            let expr = match &n.op {
                ScalarOp::Const(l) => Some(Expr::Const(*l)),
                ScalarOp::Prim(p, v) => values(v).map(|mut v| {
                    if p.is_commutative() {
                        v.sort_unstable();
                    }
                    Expr::Prim(*p, v)
                }),
                ScalarOp::Cast(v) => values(&[*v]).map(|v| Expr::Convert(f.ty(n.results[0]), true, v[0])),
                ScalarOp::Bitcast(v) => values(&[*v]).map(|v| Expr::Convert(f.ty(n.results[0]), false, v[0])),
                ScalarOp::Select { cond, then, else_ } => {
                    values(&[*cond, *then, *else_]).map(|v| Expr::Select([v[0], v[1], v[2]]))
                }
                ScalarOp::Index { array, leaves, index } => {
                    let Some(index) = values(index) else { continue };
                    for (&v, &leaf) in n.results.iter().zip(leaves) {
                        known.insert(v, self.intern(Expr::Read(*array, leaf, index.clone())));
                    }
                    continue;
                }
                ScalarOp::Extent { array, axis } => {
                    let extent = self.of(*array).get(*axis as usize).copied();
                    known.extend(n.results.iter().copied().zip(extent));
                    continue;
                }
                ScalarOp::If { .. } | ScalarOp::While { .. } | ScalarOp::Foreign { .. } => None,
            };
            if let (Some(expr), [v]) = (expr, &n.results[..]) {
                known.insert(*v, self.intern(expr));
            }
        }
        f.body
            .results
            .iter()
            .map(|v| {
                known.get(v).copied().unwrap_or_else(|| {
                    self.unknown += 1;
                    self.intern(Expr::Unknown(self.unknown))
                })
            })
            .collect()
    }
}
