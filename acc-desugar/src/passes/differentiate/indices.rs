//! The indices of reads as functions of the point: sums of coordinates times literals, and of literals and extents.
//!
//! Where the index of a read is such a sum, the points that read an element can be found from its index.

use crate::analysis::access::{Affine, Index, Numbers};
use crate::analysis::extents::{Extent, Extents};
use acc_core::ad::Code;
use acc_core::data::{Prim, ScalarType};
use acc_core::grow_stack;
use acc_core::ir::{ArrayId, PrimOp, Region, ScalarOp, Val};
use std::collections::HashMap;

/// An integer that is equal at all points.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Uniform {
    Literal(i64),
    Extent(ArrayId, usize),
    /// What an operation that does not fault yields of others.
    Of(PrimOp, Vec<Uniform>),
}

/// The index along one axis of an array, by the coordinates of the point, of which 0 is the outermost.
pub(super) type Sum = Affine<Uniform, u32>;

/// The same with what else an index may be: between bounds, or a remainder.
pub(super) type Form = Index<Uniform, u32>;

impl Uniform {
    pub(super) fn literal(&self) -> Option<i64> {
        match self {
            Uniform::Literal(n) => Some(*n),
            Uniform::Extent(..) | Uniform::Of(..) => None,
        }
    }

    /// The integer as one that can be compared with extents.
    pub(super) fn among(&self, extents: &mut Extents) -> Extent {
        match self {
            Uniform::Literal(n) => extents.literal(n.lit()),
            Uniform::Extent(a, axis) => extents.of(*a)[*axis],
            Uniform::Of(op, args) => {
                let args = args.iter().map(|arg| arg.among(extents)).collect();
                extents.prim(*op, args)
            }
        }
    }

    /// The integer in another function.
    pub(super) fn write(&self, c: &mut Code) -> Val {
        match self {
            Uniform::Literal(n) => c.int(*n),
            Uniform::Extent(a, axis) => c.extent(*a, *axis),
            Uniform::Of(op, args) => {
                let args: Vec<Val> = args.iter().map(|arg| arg.write(c)).collect();
                c.op(*op, &args)
            }
        }
    }
}

struct Uniforms;

impl Numbers for Uniforms {
    type Number = Uniform;
    type Axis = u32;

    fn literal(&mut self, n: i64) -> Uniform {
        Uniform::Literal(n)
    }

    fn constant(&self, n: &Uniform) -> Option<i64> {
        n.literal()
    }

    fn apply(&mut self, op: PrimOp, a: &Uniform, b: &Uniform) -> Option<Uniform> {
        use Uniform::Literal;
        Some(match (op, a, b) {
            (PrimOp::AddP, Literal(a), Literal(b)) => Literal(a.wrapping_add(*b)),
            (PrimOp::SubP, Literal(a), Literal(b)) => Literal(a.wrapping_sub(*b)),
            (PrimOp::MulP, Literal(a), Literal(b)) => Literal(a.wrapping_mul(*b)),
            (PrimOp::AddP, n, Literal(0)) | (PrimOp::AddP, Literal(0), n) => n.clone(),
            (PrimOp::SubP, n, Literal(0)) => n.clone(),
            (PrimOp::MulP, n, Literal(1)) | (PrimOp::MulP, Literal(1), n) => n.clone(),
            (PrimOp::MulP, _, Literal(0)) | (PrimOp::MulP, Literal(0), _) => Literal(0),
            (op, a, b) => Uniform::Of(op, vec![a.clone(), b.clone()]),
        })
    }
}

/// What an operation other than a sum or product yields of integers that are equal at all points, if it never faults.
fn uniform(op: PrimOp, args: &[Form]) -> Option<Form> {
    use PrimOp as P;
    let number = |arg: &Form| match arg {
        Index::Affine(sum) if sum.is_uniform() => Some(sum.base.clone()),
        _ => None,
    };
    let args: Vec<Uniform> = args.iter().map(number).collect::<Option<_>>()?;
    let is_total = match op {
        P::MinP | P::MaxP | P::ShlP | P::ShrP | P::AbsP => true,
        P::QuotP | P::RemP | P::DivFloorP | P::ModFloorP => args[1].literal().is_some_and(|by| by > 0),
        _ => false,
    };
    is_total.then(|| Index::Affine(Affine::uniform(Uniform::Of(op, args))))
}

/// What is known of the values of a function.
pub(super) struct Indices {
    /// The coordinates of the point.
    point: Vec<Val>,
    defined: HashMap<Val, ScalarOp>,
    found: HashMap<Val, Option<Form>>,
}

impl Indices {
    pub(super) fn new(point: &[Val]) -> Indices {
        Indices { point: point.to_vec(), defined: HashMap::new(), found: HashMap::new() }
    }

    /// Notes what the values of a region are.
    pub(super) fn note(&mut self, r: &Region) {
        r.visit(0, &mut |n, _| {
            if let ([v], ScalarOp::Const(_) | ScalarOp::Extent { .. } | ScalarOp::Prim(..)) = (&n.results[..], &n.op) {
                self.defined.insert(*v, n.op.clone());
            }
        });
    }

    /// What an index is along each axis, where it follows the coordinates.
    pub(super) fn forms(&mut self, index: &[Val]) -> Vec<Option<Form>> {
        index.iter().map(|v| self.index(*v)).collect()
    }

    /// The sums that an index consists of, if it is made of nothing else.
    pub(super) fn sums(&mut self, index: &[Val]) -> Option<Vec<Sum>> {
        let sum = |form: Option<Form>| match form? {
            Index::Affine(sum) => Some(sum),
            Index::Clamped(_) | Index::Wrapped(_) => None,
        };
        self.forms(index).into_iter().map(sum).collect()
    }

    fn index(&mut self, v: Val) -> Option<Form> {
        if let Some(found) = self.found.get(&v) {
            return found.clone();
        }
        let found = grow_stack(|| self.find(v));
        self.found.insert(v, found.clone());
        found
    }

    fn find(&mut self, v: Val) -> Option<Form> {
        if let Some(axis) = self.point.iter().position(|p| *p == v) {
            return Some(Index::Affine(Affine::along(axis as u32, Uniform::Literal(0), Uniform::Literal(1))));
        }
        match self.defined.get(&v)?.clone() {
            ScalarOp::Const(l) if l.ty == ScalarType::I64 => {
                Some(Index::Affine(Affine::uniform(Uniform::Literal(l.bits as i64))))
            }
            ScalarOp::Extent { array, axis } => {
                Some(Index::Affine(Affine::uniform(Uniform::Extent(array, axis as usize))))
            }
            ScalarOp::Prim(op, args) => {
                let args = args.iter().map(|a| self.index(*a)).collect::<Option<Vec<_>>>()?;
                uniform(op, &args).or_else(|| Index::prim(&mut Uniforms, op, &args))
            }
            _ => None,
        }
    }
}
