//! Scalar functions: SSA with regions, over scalar leaves.

use super::{Loc, PrimOp};
use crate::data::{Lit, ScalarType};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A scalar value of a [`Fun`]: a parameter, a result of a node, or a parameter of a loop's region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(pub u32);

impl Val {
    /// The position in side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
impl fmt::Debug for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}
impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A list of scalar values.
pub type Vals = SmallVec<[Val; 2]>;

/// A scalar function. Tuples do not occur: parameters and results are the leaves of the element types around it.
///
/// `A` is the handle by which it reads arrays: an [`ArrayId`](super::ArrayId) in a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fun<A = super::ArrayId> {
    /// The type of every value, by [`Val::index`]; each value is defined exactly once.
    pub types: Vec<ScalarType>,
    /// The body; its parameters are those of the function.
    pub body: Region<A>,
}

/// A straight-line piece of scalar code with parameters and results.
///
/// It sees the values defined before it in the regions around it. Nothing in it is evaluated unless control reaches
/// it, and then all of it may be: a partial node stands in a region only if the region's results, or its partial
/// nodes, need it whenever the region runs.
#[derive(Debug)]
pub struct Region<A = super::ArrayId> {
    /// Values defined on entry.
    pub params: Vec<Val>,
    /// The nodes, in order of definition.
    pub nodes: Vec<Node<A>>,
    /// What the region yields.
    pub results: Vec<Val>,
}

/// One operation and the values it defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node<A = super::ArrayId> {
    /// The values defined.
    pub results: Vals,
    /// The operation.
    pub op: ScalarOp<A>,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// A scalar operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScalarOp<A = super::ArrayId> {
    /// A literal.
    Const(Lit),
    /// A primitive operation.
    Prim(PrimOp, Vals),
    /// A numeric conversion to the type of the result: see [`cast_exists`](super::cast_exists).
    Cast(Val),
    /// The same bits read as the type of the result: see [`bitcast_exists`](super::bitcast_exists).
    Bitcast(Val),
    /// One of two total values: both operands exist already. Where a side is to be evaluated on demand, `If`.
    Select {
        /// The condition.
        cond: Val,
        /// The value if true.
        then: Val,
        /// The value if false.
        else_: Val,
    },
    /// A conditional: only the region taken is evaluated. Neither region has parameters.
    If {
        /// The condition.
        cond: Val,
        /// Evaluated if true.
        then: Region<A>,
        /// Evaluated if false.
        else_: Region<A>,
    },
    /// A loop: while `test` yields true of the state, the state becomes what `step` yields.
    While {
        /// The initial state.
        init: Vals,
        /// From the state to one `bool`.
        test: Region<A>,
        /// From the state to the next state.
        step: Region<A>,
    },
    /// A function that is not of the language, with one that is and means the same.
    Foreign {
        /// The host function defined under this name (see [`foreign`](crate::foreign)), where an executor can run it.
        name: Arc<str>,
        /// The arguments.
        args: Vals,
        /// The same function in the language: from the arguments to the results.
        fallback: Region<A>,
    },
    /// Some leaves of an array element. An index out of bounds is a fault.
    Index {
        /// The array.
        array: A,
        /// Which columns to read, one per result.
        leaves: SmallVec<[u32; 4]>,
        /// The index: one `i64` per dimension.
        index: SmallVec<[Val; 4]>,
    },
    /// The extent of an array along an axis, as `i64`; axis 0 is the outermost.
    Extent {
        /// The array.
        array: A,
        /// The axis.
        axis: u32,
    },
}

// What a region inside a region does recursively must not depend on the stack that is left.
impl<A: Clone> Clone for Region<A> {
    fn clone(&self) -> Region<A> {
        let nodes = crate::grow_stack(|| self.nodes.clone());
        Region { params: self.params.clone(), nodes, results: self.results.clone() }
    }
}
impl<A: PartialEq> PartialEq for Region<A> {
    fn eq(&self, other: &Region<A>) -> bool {
        self.params == other.params && self.results == other.results && crate::grow_stack(|| self.nodes == other.nodes)
    }
}
impl<A: Eq> Eq for Region<A> {}
impl<A: Hash> Hash for Region<A> {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.params.hash(h);
        self.results.hash(h);
        crate::grow_stack(|| self.nodes.hash(h));
    }
}
impl<A> Drop for Region<A> {
    fn drop(&mut self) {
        crate::grow_stack(|| self.nodes.clear());
    }
}

impl<A> ScalarOp<A> {
    /// Whether evaluating the node itself can fault or fail to end, regions included.
    pub fn is_partial(&self) -> bool {
        match self {
            ScalarOp::Const(_)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Extent { .. } => false,
            ScalarOp::Prim(p, _) => p.is_partial(),
            ScalarOp::If { then, else_, .. } => then.is_partial() || else_.is_partial(),
            ScalarOp::While { .. } | ScalarOp::Index { .. } | ScalarOp::Foreign { .. } => true,
        }
    }

    /// The values used directly, not those used inside regions.
    pub fn operands(&self) -> SmallVec<[Val; 4]> {
        match self {
            ScalarOp::Const(_) | ScalarOp::Extent { .. } => SmallVec::new(),
            ScalarOp::Prim(_, v) | ScalarOp::Foreign { args: v, .. } => v.iter().copied().collect(),
            ScalarOp::Cast(a) | ScalarOp::Bitcast(a) => smallvec::smallvec![*a],
            ScalarOp::Select { cond, then, else_ } => smallvec::smallvec![*cond, *then, *else_],
            ScalarOp::If { cond, .. } => smallvec::smallvec![*cond],
            ScalarOp::While { init, .. } => init.iter().copied().collect(),
            ScalarOp::Index { index, .. } => index.clone(),
        }
    }

    /// The regions inside.
    pub fn regions(&self) -> SmallVec<[&Region<A>; 2]> {
        match self {
            ScalarOp::If { then, else_, .. } => smallvec::smallvec![then, else_],
            ScalarOp::While { test, step, .. } => smallvec::smallvec![test, step],
            ScalarOp::Foreign { fallback, .. } => smallvec::smallvec![fallback],
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index { .. }
            | ScalarOp::Extent { .. } => SmallVec::new(),
        }
    }

    /// The same operation with other array handles and values; those inside regions are replaced too.
    pub fn map<B>(&self, array: &mut dyn FnMut(&A) -> B, val: &mut dyn FnMut(Val) -> Val) -> ScalarOp<B> {
        match self {
            ScalarOp::Const(l) => ScalarOp::Const(*l),
            ScalarOp::Prim(p, v) => ScalarOp::Prim(*p, v.iter().map(|&x| val(x)).collect()),
            ScalarOp::Cast(a) => ScalarOp::Cast(val(*a)),
            ScalarOp::Bitcast(a) => ScalarOp::Bitcast(val(*a)),
            ScalarOp::Select { cond, then, else_ } => {
                ScalarOp::Select { cond: val(*cond), then: val(*then), else_: val(*else_) }
            }
            ScalarOp::If { cond, then, else_ } => {
                ScalarOp::If { cond: val(*cond), then: then.map(array, val), else_: else_.map(array, val) }
            }
            ScalarOp::While { init, test, step } => ScalarOp::While {
                init: init.iter().map(|&x| val(x)).collect(),
                test: test.map(array, val),
                step: step.map(array, val),
            },
            ScalarOp::Foreign { name, args, fallback } => ScalarOp::Foreign {
                name: name.clone(),
                args: args.iter().map(|&x| val(x)).collect(),
                fallback: fallback.map(array, val),
            },
            ScalarOp::Index { array: a, leaves, index } => ScalarOp::Index {
                array: array(a),
                leaves: leaves.clone(),
                index: index.iter().map(|&x| val(x)).collect(),
            },
            ScalarOp::Extent { array: a, axis } => ScalarOp::Extent { array: array(a), axis: *axis },
        }
    }
}

impl<A> Region<A> {
    /// Whether any node is partial.
    pub fn is_partial(&self) -> bool {
        crate::grow_stack(|| self.nodes.iter().any(|n| n.op.is_partial()))
    }

    /// Calls `f` on every node, those of inner regions included, with how deep in conditionals and loops it stands
    /// (0: evaluated whenever this region is).
    pub fn visit<'a>(&'a self, depth: usize, f: &mut impl FnMut(&'a Node<A>, usize)) {
        for n in &self.nodes {
            f(n, depth);
            for r in n.op.regions() {
                crate::grow_stack(|| r.visit(depth + 1, f));
            }
        }
    }

    /// The same code with other array handles and values, definitions included.
    pub fn map<B>(&self, array: &mut dyn FnMut(&A) -> B, val: &mut dyn FnMut(Val) -> Val) -> Region<B> {
        Region {
            params: self.params.iter().map(|&v| val(v)).collect(),
            nodes: self
                .nodes
                .iter()
                .map(|n| {
                    let op = crate::grow_stack(|| n.op.map(array, val));
                    Node { results: n.results.iter().map(|&v| val(v)).collect(), op, loc: n.loc.clone() }
                })
                .collect(),
            results: self.results.iter().map(|&v| val(v)).collect(),
        }
    }
}

impl<A> Fun<A> {
    /// The type of a value.
    pub fn ty(&self, v: Val) -> ScalarType {
        self.types[v.index()]
    }
    /// The types of the parameters.
    pub fn param_types(&self) -> impl ExactSizeIterator<Item = ScalarType> + '_ {
        self.body.params.iter().map(|&v| self.ty(v))
    }
    /// The types of the results.
    pub fn result_types(&self) -> impl ExactSizeIterator<Item = ScalarType> + '_ {
        self.body.results.iter().map(|&v| self.ty(v))
    }
    /// A new value of this type.
    pub fn new_val(&mut self, ty: ScalarType) -> Val {
        self.types.push(ty);
        Val(self.types.len() as u32 - 1)
    }
    /// The same function with other array handles.
    pub fn map_arrays<B>(&self, f: &mut dyn FnMut(&A) -> B) -> Fun<B> {
        Fun { types: self.types.clone(), body: self.body.map(f, &mut |v| v) }
    }
}
