//! Array expressions: a DAG of reference-counted nodes.

use crate::data::{ArrayData, EltType, Lit};
use crate::error::BuildError;
use crate::ir::{ArrayOp, ArrayType, Dialect, Foreign, Fun, Loc, OpPart, Read, Rep, ScalarOp, Val};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A scalar function over array expressions, or the mistake that prevents it.
pub type Frozen = Result<Arc<Fun<Building>>, Arc<BuildError>>;

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

/// Operations over array expressions. The branches of a conditional and the state of a loop are expressions, too: tuples, if
/// there are several arrays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Building {}

impl Rep for Building {
    type Array = AccRef;
    type Arrays = AccRef;
    type Fun = Frozen;
    type Block = AccFun;
}

impl Dialect for Building {
    type Array = AccRef;
    type Literal = Lit;
    type Index = Val;
    type Edge = ();
    type Own = Foreign<Building>;
}

/// The operation of an array expression.
#[derive(Debug)]
pub enum AccOp {
    /// Embedded host data.
    Use(ArrayData),
    /// A parameter of an array function.
    Param {
        /// The function's number.
        lambda: u64,
        /// Which of its parameters.
        index: usize,
    },
    /// A scalar expression as a rank-0 array, inside the closure that made it: an operator on a rank-0 array and an expression
    /// yields this. It is no array operation: its element can be read, and nothing else.
    Element(super::ExpRef),
    /// What cannot be built: its use is this error.
    Invalid(Arc<BuildError>),
    /// A tuple of arrays.
    Tuple(Vec<AccRef>),
    /// A component of a tuple.
    Proj(AccRef, usize),
    /// An array operation. `Compute` may be of a tuple, and stands for one operation per array in it.
    Op(ArrayOp<Building>),
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

/// `f` as an array function of one parameter.
pub fn array_function(param: AccType, loc: &Loc, f: impl FnOnce(AccRef) -> AccRef) -> AccFun {
    let lambda = lambda_id();
    let node = AccRef::new(AccOp::Param { lambda, index: 0 }, param.clone(), loc.clone());
    super::scope(|| AccFun { lambda, params: vec![param], body: crate::grow_stack(|| f(node)) })
}

impl AccFun {
    /// A branch: without parameters.
    pub fn branch(body: AccRef) -> AccFun {
        AccFun { lambda: lambda_id(), params: Vec::new(), body }
    }
}

/// A new number for an array function.
pub fn lambda_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl AccOp {
    /// The operand arrays, and those that its scalar functions read: all that is needed outside branches and loops.
    pub(super) fn operands(&self) -> Vec<AccRef> {
        let op = match self {
            AccOp::Use(_) | AccOp::Param { .. } | AccOp::Element(_) | AccOp::Invalid(_) => return Vec::new(),
            AccOp::Tuple(xs) => return xs.clone(),
            AccOp::Proj(xs, _) => return vec![xs.clone()],
            AccOp::Op(op) => op,
        };
        let (mut out, mut read) = (Vec::new(), Vec::new());
        for part in op.parts() {
            match part {
                OpPart::Array(a) | OpPart::Arrays(a) => out.push(a.clone()),
                OpPart::Fun(_, _, Ok(f)) => f.body.visit(0, &mut |node, _| {
                    if let ScalarOp::Index(Read { array, .. }) | ScalarOp::Extent { array, .. } = &node.op {
                        read.push(array.clone());
                    }
                }),
                OpPart::Fun(_, _, Err(_)) | OpPart::Block(_) => {}
            }
        }
        out.append(&mut read);
        out
    }

    /// The array functions of its branches and loops.
    pub(super) fn blocks(&self) -> SmallVec<[&AccFun; 2]> {
        let AccOp::Op(op) = self else { return SmallVec::new() };
        op.parts().into_iter().filter_map(|part| if let OpPart::Block(b) = part { Some(b) } else { None }).collect()
    }

    /// All array expressions that it holds, but for those that its scalar functions read.
    fn held(&self) -> Vec<AccRef> {
        match self {
            AccOp::Use(_) | AccOp::Param { .. } | AccOp::Element(_) | AccOp::Invalid(_) => Vec::new(),
            AccOp::Tuple(xs) => xs.clone(),
            AccOp::Proj(xs, _) => vec![xs.clone()],
            AccOp::Op(op) => {
                let held = |part: OpPart<'_, Building>| match part {
                    OpPart::Array(a) | OpPart::Arrays(a) => Some(a.clone()),
                    OpPart::Block(b) => Some(b.body.clone()),
                    OpPart::Fun(..) => None,
                };
                op.parts().into_iter().filter_map(held).collect()
            }
        }
    }
}

/// Long chains of operations are dropped in a loop, not by recursion as deep as the chain.
impl Drop for AccNode {
    fn drop(&mut self) {
        fn take(op: &mut AccOp, out: &mut Vec<AccRef>) {
            // The operation goes first: then what it held is held by `out` alone.
            let held = op.held();
            *op = AccOp::Tuple(Vec::new());
            out.extend(held);
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
