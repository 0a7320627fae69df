//! Array expressions: a DAG of reference-counted nodes.

use crate::data::{ArrayData, EltType};
use crate::error::BuildError;
use crate::ir::{ArrayType, Axis, Dir, ForeignFun, Fun, Loc};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A scalar function over array expressions, or the mistake that prevents it.
pub type Frozen = Result<Arc<Fun<AccRef>>, Arc<BuildError>>;

/// An array expression. Identity is sharing: a node used twice is computed once.
#[derive(Clone, Debug)]
pub struct AccRef(Arc<AccNode>);

impl AccRef {
    /// A new node.
    pub fn new(op: AccOp, ty: AccType, loc: Loc) -> AccRef {
        AccRef(Arc::new(AccNode { op, ty, loc }))
    }

    /// A number that identifies the node while it lives.
    pub(super) fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// How many handles to the node there are.
    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

impl std::ops::Deref for AccRef {
    type Target = AccNode;
    fn deref(&self) -> &AccNode {
        &self.0
    }
}
impl PartialEq for AccRef {
    fn eq(&self, other: &AccRef) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for AccRef {}
impl Hash for AccRef {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.id().hash(h);
    }
}

/// A node of an array expression.
#[derive(Debug)]
pub struct AccNode {
    /// The operation.
    pub op: AccOp,
    /// What it yields.
    pub ty: AccType,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// The type of an array expression: an array or a tuple of these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccType {
    /// One array.
    Array(ArrayType),
    /// A tuple.
    Tuple(Vec<AccType>),
}

impl AccType {
    /// An array of this rank and element type.
    pub fn array(rank: usize, elt: EltType) -> AccType {
        AccType::Array(ArrayType { rank, elt })
    }

    /// The arrays in it, left to right.
    pub fn leaves(&self) -> Vec<&ArrayType> {
        fn go<'a>(t: &'a AccType, out: &mut Vec<&'a ArrayType>) {
            match t {
                AccType::Array(a) => out.push(a),
                AccType::Tuple(parts) => parts.iter().for_each(|p| go(p, out)),
            }
        }
        let mut out = Vec::new();
        go(self, &mut out);
        out
    }

    /// The number of arrays in it.
    pub fn leaf_count(&self) -> usize {
        match self {
            AccType::Array(_) => 1,
            AccType::Tuple(parts) => parts.iter().map(AccType::leaf_count).sum(),
        }
    }

    /// The array type, if it is one array.
    pub fn as_array(&self) -> Option<&ArrayType> {
        match self {
            AccType::Array(a) => Some(a),
            AccType::Tuple(_) => None,
        }
    }
}

/// What a stencil reads beyond the edges.
#[derive(Clone, Debug)]
pub enum FrozenBoundary {
    /// The nearest element.
    Clamp,
    /// Reflected.
    Mirror,
    /// From the other side.
    Wrap,
    /// A function of the index.
    Function(Frozen),
}

/// An array that a stencil reads, and how: [`StencilInput`](crate::ir::StencilInput) over array expressions.
#[derive(Debug)]
pub struct FrozenInput {
    /// The array.
    pub xs: AccRef,
    /// The extents of its window.
    pub window: Vec<usize>,
    /// What is read beyond its edges.
    pub boundary: FrozenBoundary,
}

/// An array operation under construction: [`ArrayOp`](crate::ir::ArrayOp) over array expressions, with embedded data,
/// parameters and tuples beside.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum AccOp {
    /// Embedded host data.
    Use(ArrayData),
    /// A parameter of an array function.
    Param {
        lambda: u64,
        index: usize,
    },
    /// A scalar expression in place of a rank-0 array, inside the closure that made it: what an operator on a rank-0 array and
    /// an expression yields there. It is no array operation, and can be read alone.
    Element(super::ExpRef),
    Tuple(Vec<AccRef>),
    Proj(AccRef, usize),
    Generate {
        shape: Frozen,
        f: Frozen,
    },
    Map {
        f: Frozen,
        xs: Vec<AccRef>,
        indexed: bool,
    },
    Fold {
        f: Frozen,
        init: Option<Frozen>,
        xs: AccRef,
    },
    FoldSeg {
        f: Frozen,
        init: Option<Frozen>,
        xs: AccRef,
        offsets: AccRef,
    },
    Scan {
        dir: Dir,
        f: Frozen,
        init: Option<Frozen>,
        xs: AccRef,
    },
    Permute {
        combine: Frozen,
        defaults: AccRef,
        target: Frozen,
        xs: AccRef,
    },
    Backpermute {
        shape: Frozen,
        index: Frozen,
        xs: AccRef,
    },
    Stencil {
        f: Frozen,
        inputs: Vec<FrozenInput>,
    },
    Argsort {
        xs: AccRef,
    },
    Check {
        ok: Frozen,
        message: Arc<str>,
        xs: AccRef,
    },
    Reshape {
        shape: Frozen,
        xs: AccRef,
    },
    Replicate {
        axes: Vec<Axis>,
        extents: Frozen,
        xs: AccRef,
    },
    Slice {
        axes: Vec<Axis>,
        index: Frozen,
        xs: AccRef,
    },
    /// The same arrays, stored.
    Compute(AccRef),
    /// A foreign function of arrays, a tuple if there are many.
    Foreign {
        function: ForeignFun,
        xs: AccRef,
        fallback: AccFun,
    },
    If {
        cond: Frozen,
        then: AccRef,
        else_: AccRef,
    },
    While {
        init: AccRef,
        test: AccFun,
        step: AccFun,
    },
}

/// An array function under construction.
#[derive(Clone, Debug)]
pub struct AccFun {
    /// Its number, in the `Param` nodes of its parameters.
    pub lambda: u64,
    /// The types of its parameters.
    pub params: Vec<AccType>,
    /// The body.
    pub body: AccRef,
}

/// The array function that `f` is of its one parameter.
pub fn array_function(param: AccType, loc: &Loc, f: impl FnOnce(AccRef) -> AccRef) -> AccFun {
    let lambda = lambda_id();
    let node = AccRef::new(AccOp::Param { lambda, index: 0 }, param.clone(), loc.clone());
    super::scope(|| AccFun { lambda, params: vec![param], body: crate::grow_stack(|| f(node)) })
}

/// A fresh number for an array function.
pub fn lambda_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl AccOp {
    /// The operand arrays, and those that its scalar functions read: all that is needed outside branches and loops.
    pub(super) fn operands(&self) -> Vec<AccRef> {
        let mut out = match self {
            AccOp::Use(_) | AccOp::Param { .. } | AccOp::Element(_) | AccOp::Generate { .. } | AccOp::If { .. } => {
                vec![]
            }
            AccOp::Tuple(xs) | AccOp::Map { xs, .. } => xs.clone(),
            AccOp::Permute { defaults, xs, .. } => vec![defaults.clone(), xs.clone()],
            AccOp::FoldSeg { xs, offsets, .. } => vec![xs.clone(), offsets.clone()],
            AccOp::Proj(xs, _)
            | AccOp::Fold { xs, .. }
            | AccOp::Scan { xs, .. }
            | AccOp::Backpermute { xs, .. }
            | AccOp::Argsort { xs }
            | AccOp::Check { xs, .. }
            | AccOp::Reshape { xs, .. }
            | AccOp::Replicate { xs, .. }
            | AccOp::Slice { xs, .. }
            | AccOp::Compute(xs)
            | AccOp::Foreign { xs, .. } => vec![xs.clone()],
            AccOp::Stencil { inputs, .. } => inputs.iter().map(|i| i.xs.clone()).collect(),
            AccOp::While { init, .. } => vec![init.clone()],
        };
        for f in self.funs().into_iter().flatten() {
            f.body.visit(0, &mut |node, _| {
                if let crate::ir::ScalarOp::Index { array, .. } | crate::ir::ScalarOp::Extent { array, .. } = &node.op {
                    out.push(array.clone());
                }
            });
        }
        out
    }

    fn funs(&self) -> Vec<&Frozen> {
        match self {
            AccOp::Use(_)
            | AccOp::Param { .. }
            | AccOp::Element(_)
            | AccOp::Tuple(_)
            | AccOp::Proj(..)
            | AccOp::Compute(_)
            | AccOp::Foreign { .. }
            | AccOp::While { .. } => vec![],
            AccOp::Generate { shape, f } => vec![shape, f],
            AccOp::Map { f, .. } => vec![f],
            AccOp::Stencil { f, inputs } => {
                let edges = inputs.iter().filter_map(|i| match &i.boundary {
                    FrozenBoundary::Function(b) => Some(b),
                    FrozenBoundary::Clamp | FrozenBoundary::Mirror | FrozenBoundary::Wrap => None,
                });
                std::iter::once(f).chain(edges).collect()
            }
            AccOp::Argsort { .. } => vec![],
            AccOp::Check { ok, .. } => vec![ok],
            AccOp::Fold { f, init, .. } | AccOp::FoldSeg { f, init, .. } | AccOp::Scan { f, init, .. } => {
                let mut v = vec![f];
                v.extend(init);
                v
            }
            AccOp::Permute { combine, target, .. } => vec![combine, target],
            AccOp::Backpermute { shape, index, .. } => vec![shape, index],
            AccOp::Reshape { shape, .. } => vec![shape],
            AccOp::Replicate { extents, .. } => vec![extents],
            AccOp::Slice { index, .. } => vec![index],
            AccOp::If { cond, .. } => vec![cond],
        }
    }
}

/// Long chains of operations are dropped in a loop, not by recursion as deep as the chain.
impl Drop for AccNode {
    fn drop(&mut self) {
        fn take(op: &mut AccOp, out: &mut Vec<AccRef>) {
            let unit = AccOp::Tuple(Vec::new());
            match std::mem::replace(op, unit) {
                AccOp::Use(_) | AccOp::Param { .. } | AccOp::Element(_) | AccOp::Generate { .. } => {}
                AccOp::Tuple(xs) | AccOp::Map { xs, .. } => out.extend(xs),
                AccOp::Permute { defaults, xs, .. } => out.extend([defaults, xs]),
                AccOp::FoldSeg { xs, offsets, .. } => out.extend([xs, offsets]),
                AccOp::If { then, else_, .. } => out.extend([then, else_]),
                AccOp::Stencil { inputs, .. } => out.extend(inputs.into_iter().map(|i| i.xs)),
                AccOp::While { init, test, step } => out.extend([init, test.body, step.body]),
                AccOp::Foreign { xs, fallback, .. } => out.extend([xs, fallback.body]),
                AccOp::Proj(xs, _)
                | AccOp::Fold { xs, .. }
                | AccOp::Scan { xs, .. }
                | AccOp::Backpermute { xs, .. }
                | AccOp::Argsort { xs }
                | AccOp::Check { xs, .. }
                | AccOp::Reshape { xs, .. }
                | AccOp::Replicate { xs, .. }
                | AccOp::Slice { xs, .. }
                | AccOp::Compute(xs) => out.push(xs),
            }
        }
        let mut pending = Vec::new();
        take(&mut self.op, &mut pending);
        while let Some(next) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(next.0) {
                take(&mut node.op, &mut pending);
            }
        }
    }
}
