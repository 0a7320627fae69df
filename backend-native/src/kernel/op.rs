//! The dialect of kernels: the core IR's scalar code, with indices and operations of its own.

use super::Consts;
use acc_core::data::Lit;
use acc_core::ir::{self, ArrayId, Dialect, OwnOp, ScalarOp, Val, Vals};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;

/// The dialect of kernels. Literals are in a table of the body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KernelIr {}

impl Dialect for KernelIr {
    type Array = ArrayId;
    type Literal = Infallible;
    type Index = Ix;
    type Edge = Option<Edge>;
    type Own = KernelOp;
}

/// A list of nodes.
pub(crate) type Region = ir::Region<KernelIr>;
/// One operation and the values it defines.
pub(crate) type Node = ir::Node<KernelIr>;
/// An operation of a body.
pub(crate) type Op = ScalarOp<KernelIr>;
/// A read of an array.
pub(crate) type Load = ir::Read<KernelIr>;

/// An operation of kernels alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KernelOp {
    /// The first times the second, plus the third, rounded once.
    Fma(Val, Val, Val),
    /// The first times 2 to the power of the second, an integral float, rounded once. The first is about 1, so that its
    /// product with the square root of that power is exact, or NaN; the second is between -250 and 250 (-2000 and 2000
    /// for `f64`).
    Scale(Val, Val),
    /// A Boolean that hardly any point has: a conditional on it nearly always takes its second branch.
    Unlikely(Val),
    /// A word of a table of constants; an index beyond it reads the last one.
    Table {
        /// The table, not empty.
        words: Arc<[u64]>,
        /// Which word, an `i64`.
        index: Val,
    },
    /// A host function, looked up by name when it is called; its types are those of the values.
    Call {
        /// The name.
        name: Arc<str>,
        /// The arguments.
        args: Vals,
    },
    /// A scalar of the launch: the `position`-th value of the closed function of the statement defining `array`.
    Scalar {
        /// The array whose statement it is.
        array: ArrayId,
        /// Which.
        position: u32,
    },
    /// Whether an index is in bounds.
    Inside {
        /// The array.
        array: ArrayId,
        /// The index.
        index: SmallVec<[Ix; 4]>,
    },
    /// A fault if an index of a fused array is out of bounds.
    Check {
        /// The array.
        array: ArrayId,
        /// The index.
        index: SmallVec<[Ix; 4]>,
    },
}

impl OwnOp<KernelIr> for KernelOp {
    fn visit_operands(&self, f: &mut dyn FnMut(Val)) {
        match self {
            KernelOp::Fma(a, b, c) => [a, b, c].into_iter().for_each(|&v| f(v)),
            KernelOp::Scale(a, b) => [a, b].into_iter().for_each(|&v| f(v)),
            KernelOp::Unlikely(a) => f(*a),
            KernelOp::Table { index, .. } => f(*index),
            KernelOp::Call { args, .. } => args.iter().for_each(|&v| f(v)),
            KernelOp::Scalar { .. } => {}
            KernelOp::Inside { index, .. } | KernelOp::Check { index, .. } => {
                index.iter().filter_map(ir::Index::value).for_each(f)
            }
        }
    }

    fn visit_operands_mut(&mut self, f: &mut dyn FnMut(&mut Val)) {
        match self {
            KernelOp::Fma(a, b, c) => [a, b, c].into_iter().for_each(f),
            KernelOp::Scale(a, b) => [a, b].into_iter().for_each(f),
            KernelOp::Unlikely(a) => f(a),
            KernelOp::Table { index, .. } => f(index),
            KernelOp::Call { args, .. } => args.iter_mut().for_each(f),
            KernelOp::Scalar { .. } => {}
            KernelOp::Inside { index, .. } | KernelOp::Check { index, .. } => {
                index.iter_mut().filter_map(ir::Index::value_mut).for_each(f)
            }
        }
    }
}

/// What a stencil reads beyond a boundary, in each dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Edge {
    /// The nearest element.
    Clamp,
    /// Reflected about the edge element.
    Mirror,
    /// From the other side.
    Wrap,
    /// Some element; zero if there is none. For reads without checks.
    Any,
}

/// An index along one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Ix {
    /// `scale * axis + offset + base`, in exact arithmetic modulo 2^64.
    Affine {
        /// The axis.
        axis: u32,
        /// Constant factor.
        scale: i64,
        /// Constant term.
        offset: i64,
        /// Uniform term.
        base: Option<Val>,
    },
    /// Any value.
    At(Val),
}

impl ir::Index for Ix {
    fn value(&self) -> Option<Val> {
        match *self {
            Ix::Affine { base, .. } => base,
            Ix::At(v) => Some(v),
        }
    }

    fn value_mut(&mut self) -> Option<&mut Val> {
        match self {
            Ix::Affine { base, .. } => base.as_mut(),
            Ix::At(v) => Some(v),
        }
    }
}

/// What kernels ask of an operation besides.
pub(crate) trait OpExt {
    /// The index of a read or check.
    fn index(&self) -> &[Ix];

    /// Whether evaluating it can fault, demand an array, or fail to end. The constants are those of its body.
    fn is_partial(&self, consts: &Consts) -> bool;
}

impl OpExt for Op {
    fn index(&self) -> &[Ix] {
        match self {
            Op::Index(l) => &l.index,
            Op::Own(KernelOp::Inside { index, .. } | KernelOp::Check { index, .. }) => index,
            // What is neither a read nor a check.
            _ => &[],
        }
    }

    fn is_partial(&self, consts: &Consts) -> bool {
        match self {
            Op::Prim(p, args) => p.is_partial() && args.get(1).is_none_or(|&d| divisor(consts, d).is_none()),
            Op::Const(_) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } => false,
            Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Unlikely(_)) => false,
            Op::Own(KernelOp::Table { .. } | KernelOp::Scalar { .. }) => false,
            // An extent demands its array, and so does a test against the bounds.
            Op::Extent { .. } | Op::Own(KernelOp::Inside { .. } | KernelOp::Check { .. }) => true,
            Op::Index(_) | Op::While { .. } => true,
            // Inactive lanes must not call the user's function.
            Op::Own(KernelOp::Call { .. }) => true,
            Op::If { then, else_, .. } => is_partial(then, consts) || is_partial(else_, consts),
        }
    }
}

/// Whether any node is partial. The constants are those of the region's body.
pub(crate) fn is_partial(r: &Region, consts: &Consts) -> bool {
    acc_core::grow_stack(|| r.nodes.iter().any(|n| n.op.is_partial(consts)))
}

/// Calls `f` for each node, but for those of branches that are [`KernelOp::Unlikely`].
pub(crate) fn visit_likely<'r>(r: &'r Region, f: &mut dyn FnMut(&'r Node)) {
    fn inside<'r>(r: &'r Region, unlikely: &mut HashSet<Val>, f: &mut dyn FnMut(&'r Node)) {
        for n in &r.nodes {
            f(n);
            match &n.op {
                Op::If { cond, else_, .. } if unlikely.contains(cond) => {
                    acc_core::grow_stack(|| inside(else_, unlikely, f));
                }
                Op::Own(KernelOp::Unlikely(_)) => unlikely.extend(&n.results),
                op => op.regions().into_iter().for_each(|r| acc_core::grow_stack(|| inside(r, unlikely, f))),
            }
        }
    }
    inside(r, &mut HashSet::new(), f);
}

/// A constant that integers can be divided by without a fault: any but 0, since `MIN / -1` wraps.
pub(crate) fn divisor(consts: &Consts, v: Val) -> Option<Lit> {
    let (_, lit) = consts.iter().find(|(c, _)| *c == v)?;
    (*lit != Lit::zero(lit.ty)).then_some(*lit)
}

/// Removes checks: a read out of bounds reads some element.
pub(super) fn unchecked(r: &mut Region) {
    r.nodes.retain(|n| !matches!(n.op, Op::Own(KernelOp::Check { .. })));
    for n in &mut r.nodes {
        if let Op::Index(l) = &mut n.op {
            l.edge = l.edge.or(Some(Edge::Any));
        }
        for inner in n.op.regions_mut() {
            acc_core::grow_stack(|| unchecked(inner));
        }
    }
}
