//! Array programs: SSA statements in blocks.

use super::{ArrayOp, Loc, Names};
use crate::data::EltType;
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An array of a [`Program`]: a parameter, a result of a statement, or a parameter of a loop's block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

impl ArrayId {
    /// The position in side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
impl fmt::Debug for ArrayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0)
    }
}
impl fmt::Display for ArrayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0)
    }
}

/// The type of an array: rank and element type. Extents are run-time values.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ArrayType {
    /// The number of dimensions.
    pub rank: usize,
    /// The element type.
    pub elt: EltType,
}

impl ArrayType {
    /// The type of its tangents and adjoints, if it has any: if there is a float in its elements.
    pub fn tangent(&self) -> Option<ArrayType> {
        self.elt.has_float().then(|| ArrayType { rank: self.rank, elt: self.elt.tangent() })
    }
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]{}", self.rank, self.elt)
    }
}
impl fmt::Debug for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An array function: from arrays to arrays.
///
/// Data embedded with `use_` are parameters too, so that a program is the same whatever data it runs on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    /// The type of every array, by [`ArrayId::index`]; each array is defined exactly once.
    pub types: Vec<ArrayType>,
    /// The names that arrays have in the source, for messages.
    pub names: Names,
    /// The body; its parameters are those of the program.
    pub body: Block,
}

/// Statements with parameters and results.
///
/// Evaluation is on demand: a statement is evaluated when the block's results, or another statement that is evaluated,
/// need it, and at most once each time the block runs. See [`strict_statements`](super::strict_statements).
#[derive(Debug)]
pub struct Block {
    /// Arrays defined on entry.
    pub params: Vec<ArrayId>,
    /// The statements, in order of definition.
    pub stmts: Vec<Stmt>,
    /// What the block yields.
    pub results: Vec<ArrayId>,
}

// What a block inside a block does recursively must not depend on the stack that is left.
impl Clone for Block {
    fn clone(&self) -> Block {
        let stmts = crate::grow_stack(|| self.stmts.clone());
        Block { params: self.params.clone(), stmts, results: self.results.clone() }
    }
}
impl PartialEq for Block {
    fn eq(&self, other: &Block) -> bool {
        self.params == other.params && self.results == other.results && crate::grow_stack(|| self.stmts == other.stmts)
    }
}
impl Eq for Block {}
impl Hash for Block {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.params.hash(h);
        self.results.hash(h);
        crate::grow_stack(|| self.stmts.hash(h));
    }
}
impl Drop for Block {
    fn drop(&mut self) {
        crate::grow_stack(|| self.stmts.clear());
    }
}

/// One array operation and the arrays it defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stmt {
    /// The arrays defined: one, or for operations with blocks any number.
    pub results: SmallVec<[ArrayId; 1]>,
    /// The operation.
    pub op: ArrayOp,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// An axis of a slice specification.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Axis {
    /// The whole axis.
    All,
    /// One position of it (slice), or a new axis of some extent (replicate).
    Fixed,
}

/// From which end a scan runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dir {
    /// From the first element.
    Left,
    /// From the last element.
    Right,
}

/// In which direction a derivative is taken (Griewank and Walther, Evaluating Derivatives, 2008).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// From tangents of the point to tangents of the results.
    Forward,
    /// From adjoints of the results to adjoints of the point.
    Reverse,
}

/// A function that is not of the language.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ForeignFun {
    /// The host function defined under this name (see [`foreign`](crate::foreign)), where an executor can run it.
    Host(Arc<str>),
    /// Prints a message and the arrays to show (see [`trace`](crate::foreign::trace)). On every executor, and once each time
    /// that the results are needed.
    Trace(Arc<str>),
}

/// The fault of segments that are not there: a message of [`Fault::check_failed`](crate::Fault::check_failed) with the
/// rows' extent.
pub const SEGMENTS_WRONG: &str =
    "offsets of segments are one more than segments, and ascend from 0 or more to at most {}";

/// The fault of a tangent or adjoint of other extents than its array's.
pub const TANGENT_EXTENTS: &str = "a tangent or adjoint has other extents than the array that it belongs to";

/// The fault of a segment that has no value.
pub const SEGMENT_EMPTY: &str = "a segment is empty, and there is no initial value";

impl Stmt {
    /// What messages call the operation: the combinator that the user called, where it is composed of others.
    pub fn operation(&self) -> &'static str {
        self.loc.operation().unwrap_or(self.op.name())
    }
}

impl Program {
    /// The type of an array.
    pub fn ty(&self, a: ArrayId) -> &ArrayType {
        &self.types[a.index()]
    }
    /// The types of the parameters.
    pub fn param_types(&self) -> impl ExactSizeIterator<Item = &ArrayType> + '_ {
        self.body.params.iter().map(|&a| self.ty(a))
    }
    /// Where all its statements and scalar nodes were written, each with the array operation that it belongs to, in an order
    /// that equal programs share.
    pub fn locations(&self) -> Vec<(&'static str, Loc)> {
        fn block(b: &Block, out: &mut Vec<(&'static str, Loc)>) {
            for s in &b.stmts {
                let op = s.operation();
                out.push((op, s.loc.clone()));
                for (_, f) in s.op.funs() {
                    f.body.visit(0, &mut |n, _| out.push((op, n.loc.clone())));
                }
                s.op.blocks().into_iter().for_each(|b| crate::grow_stack(|| block(b, out)));
            }
        }
        let mut out = Vec::new();
        block(&self.body, &mut out);
        out
    }

    /// Whether there is a derivative in it.
    pub fn has_derivatives(&self) -> bool {
        fn in_block(b: &Block) -> bool {
            b.stmts.iter().any(|s| {
                matches!(s.op, ArrayOp::Derivative { .. })
                    || s.op.blocks().into_iter().any(|b| crate::grow_stack(|| in_block(b)))
            })
        }
        in_block(&self.body)
    }

    /// Whether there is a function with rules for its derivatives in it, of arrays or of scalars.
    pub fn has_rules(&self) -> bool {
        fn in_block(b: &Block) -> bool {
            b.stmts.iter().any(|s| {
                matches!(s.op, ArrayOp::Ruled { .. })
                    || s.op.funs().into_iter().any(|(_, f)| f.body.has_rules())
                    || s.op.blocks().into_iter().any(|b| crate::grow_stack(|| in_block(b)))
            })
        }
        in_block(&self.body)
    }

    /// The types of the results.
    pub fn result_types(&self) -> impl ExactSizeIterator<Item = &ArrayType> + '_ {
        self.body.results.iter().map(|&a| self.ty(a))
    }
}
