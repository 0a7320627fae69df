//! Array programs: SSA statements in blocks.

use super::{Fun, Loc, Names};
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
/// Evaluation is by need: a statement is evaluated when the block's results, or another statement that is evaluated,
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
    /// The arrays defined: one, or for `If`, `While` and `Foreign` any number.
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

/// What a stencil reads beyond the edges, each dimension handled on its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Boundary {
    /// The nearest element.
    Clamp,
    /// Reflected about the edge element, which is not repeated; a single reflection.
    Mirror,
    /// From the other side; a single wrap.
    Wrap,
    /// A function of the true, out-of-range index: `rank` parameters of type `i64` to the element's leaves.
    Function(Fun),
}

/// An array that a stencil reads, and how.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StencilInput {
    /// The array.
    pub xs: ArrayId,
    /// The extents of its window, all odd, one per dimension.
    pub window: Vec<usize>,
    /// What is read beyond its edges.
    pub boundary: Boundary,
}

impl StencilInput {
    /// The number of elements in the window.
    pub fn neighbours(&self) -> usize {
        self.window.iter().product()
    }
}

/// An array operation. "Leaves" are the scalar leaves of an element type; a function of `rank` indices takes that
/// many `i64`; an extent function is closed and yields one `i64` per dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ArrayOp {
    /// An array of a shape, each element from its index.
    Generate {
        /// Closed; the extents. A negative one is a fault.
        shape: Fun,
        /// From an index to the element's leaves.
        f: Fun,
    },
    /// Element-wise on the intersection of the shapes of one or more arrays of one rank.
    Map {
        /// From the index, if `indexed`, and the leaves of each array's element, to the result's leaves.
        f: Fun,
        /// The arrays.
        xs: Vec<ArrayId>,
        /// Whether `f` takes the index first.
        indexed: bool,
    },
    /// Reduces the innermost dimension with an associative function, in order.
    Fold {
        /// From the leaves of two elements to those of one.
        f: Fun,
        /// Closed; included once per row, on the left. Without it every row must have an element.
        init: Option<Fun>,
        /// The array, of rank 1 or more.
        xs: ArrayId,
    },
    /// Reduces segments of the innermost dimension with an associative function, in order; the segments are the same in
    /// every row: segment `k` are the positions from `offsets[k]` to before `offsets[k + 1]`. Offsets that are none, that
    /// do not ascend, or that are not all in `0..=extent`, are a fault ([`SEGMENTS_WRONG`]).
    FoldSeg {
        /// From the leaves of two elements to those of one.
        f: Fun,
        /// Closed; included once per segment, on the left, and needed if there is one. Without it an empty segment is a fault
        /// ([`SEGMENT_EMPTY`]).
        init: Option<Fun>,
        /// The array, of rank 1 or more.
        xs: ArrayId,
        /// A vector of `i64`, one more than there are segments.
        offsets: ArrayId,
    },
    /// Scans along the innermost dimension with an associative function, in order.
    Scan {
        /// The end it starts from.
        dir: Dir,
        /// From the leaves of two elements to those of one; the left operand is the one of lesser index.
        f: Fun,
        /// Closed. With it the result is one longer (it starts, or from the right ends, with the initial value);
        /// without it the scan is inclusive and keeps the extent.
        init: Option<Fun>,
        /// The array, of rank 1 or more.
        xs: ArrayId,
    },
    /// Writes each element to a target position, combining it with what is there.
    Permute {
        /// From the leaves of the new element and those of the value present to those stored.
        combine: Fun,
        /// What is there at first; gives the result's shape.
        defaults: ArrayId,
        /// From a source index to a `u8` (0: drop the element) and a target index. Out of bounds is a fault.
        target: Fun,
        /// The source.
        xs: ArrayId,
    },
    /// Reads each element of the result from a source position.
    Backpermute {
        /// Closed; the extents of the result.
        shape: Fun,
        /// From an index of the result to one of the source. Out of bounds is a fault.
        index: Fun,
        /// The source.
        xs: ArrayId,
    },
    /// Maps a fixed neighbourhood of each element, on the intersection of the shapes of one or more arrays of one rank.
    Stencil {
        /// From the leaves of each window's elements, in row-major order, window after window, to the result's leaves.
        f: Fun,
        /// The arrays with their windows.
        inputs: Vec<StencilInput>,
    },
    /// The positions (`i64`) that sort each row along the innermost dimension: ascending, stable. Elements are compared
    /// leaf by leaf, the first one first; floats by value, NaN (any) after all numbers.
    Argsort {
        /// The array, of rank 1 or more.
        xs: ArrayId,
    },
    /// The same array, if a condition holds; else a fault.
    Check {
        /// Closed; a `bool`, then integers for the message.
        ok: Fun,
        /// What is wrong if the condition does not hold; each `{}` stands for the next integer.
        message: Arc<str>,
        /// The array.
        xs: ArrayId,
    },
    /// The same elements in row-major order under another shape of the same size.
    Reshape {
        /// Closed; the extents.
        shape: Fun,
        /// The array.
        xs: ArrayId,
    },
    /// Repeats an array along new axes.
    Replicate {
        /// One entry per axis of the result; the `All`s are the source's axes in order.
        axes: Vec<Axis>,
        /// Closed; the extents of the `Fixed` axes, in order.
        extents: Fun,
        /// The array.
        xs: ArrayId,
    },
    /// Fixes some axes at a position.
    Slice {
        /// One entry per axis of the source; the `All`s are the result's axes in order.
        axes: Vec<Axis>,
        /// Closed; the positions on the `Fixed` axes, in order. Out of bounds is a fault.
        index: Fun,
        /// The array.
        xs: ArrayId,
    },
    /// The array itself, stored: no operation after it is fused with one before it.
    Compute {
        /// The array.
        xs: ArrayId,
    },
    /// A function that is not of the language, with one that is and means the same.
    Foreign {
        /// Which.
        function: ForeignFun,
        /// The arguments; of a trace, the arrays to show, then those that the block yields.
        xs: Vec<ArrayId>,
        /// The same function in the language: from the arguments to the results.
        fallback: Block,
    },
    /// A conditional: only the block taken is evaluated. The blocks have no parameters.
    If {
        /// Closed; one `bool`.
        cond: Fun,
        /// Evaluated if true.
        then: Block,
        /// Evaluated if false.
        else_: Block,
    },
    /// A loop: while `test` yields true of the state, the state becomes what `step` yields.
    While {
        /// The initial state.
        init: Vec<ArrayId>,
        /// From the state to one rank-0 array of `bool`.
        test: Block,
        /// From the state to the next state.
        step: Block,
    },
}

/// A function that is not of the language.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ForeignFun {
    /// The host function defined under this name (see [`foreign`](crate::foreign)), where an executor can run it.
    Host(Arc<str>),
    /// Prints a message and the arrays to show (see [`trace`](crate::trace)). On every executor, and once each time
    /// that the results are needed.
    Trace(Arc<str>),
}

/// The fault of segments that are not there: a message of [`Fault::check_failed`](crate::Fault::check_failed) with the
/// rows' extent.
pub const SEGMENTS_WRONG: &str =
    "offsets of segments are one more than segments, and ascend from 0 or more to at most {}";

/// The fault of a segment that has no value.
pub const SEGMENT_EMPTY: &str = "a segment is empty, and there is no initial value";

impl ArrayOp {
    /// The names of all operations.
    pub const NAMES: [&str; 26] = [
        "generate",
        "map",
        "zip_with",
        "imap",
        "izip_with",
        "fold",
        "fold1",
        "fold_seg",
        "fold1_seg",
        "scanl",
        "scanl1",
        "scanr",
        "scanr1",
        "permute",
        "backpermute",
        "stencil",
        "argsort",
        "check",
        "reshape",
        "replicate",
        "slice",
        "compute",
        "foreign",
        "trace",
        "acond",
        "awhile",
    ];

    /// The name among those of all operations, if it is one.
    pub fn known_name(name: &str) -> Option<&'static str> {
        ArrayOp::NAMES.into_iter().find(|n| *n == name)
    }

    /// The name in the text form and in messages.
    pub fn name(&self) -> &'static str {
        match self {
            ArrayOp::Generate { .. } => "generate",
            ArrayOp::Map { indexed: false, xs, .. } => {
                if xs.len() > 1 {
                    "zip_with"
                } else {
                    "map"
                }
            }
            ArrayOp::Map { indexed: true, xs, .. } => {
                if xs.len() > 1 {
                    "izip_with"
                } else {
                    "imap"
                }
            }
            ArrayOp::Fold { init: Some(_), .. } => "fold",
            ArrayOp::Fold { init: None, .. } => "fold1",
            ArrayOp::FoldSeg { init: Some(_), .. } => "fold_seg",
            ArrayOp::FoldSeg { init: None, .. } => "fold1_seg",
            ArrayOp::Scan { dir: Dir::Left, init: Some(_), .. } => "scanl",
            ArrayOp::Scan { dir: Dir::Left, init: None, .. } => "scanl1",
            ArrayOp::Scan { dir: Dir::Right, init: Some(_), .. } => "scanr",
            ArrayOp::Scan { dir: Dir::Right, init: None, .. } => "scanr1",
            ArrayOp::Permute { .. } => "permute",
            ArrayOp::Backpermute { .. } => "backpermute",
            ArrayOp::Stencil { .. } => "stencil",
            ArrayOp::Argsort { .. } => "argsort",
            ArrayOp::Check { .. } => "check",
            ArrayOp::Reshape { .. } => "reshape",
            ArrayOp::Replicate { .. } => "replicate",
            ArrayOp::Slice { .. } => "slice",
            ArrayOp::Compute { .. } => "compute",
            ArrayOp::Foreign { function: ForeignFun::Host(_), .. } => "foreign",
            ArrayOp::Foreign { function: ForeignFun::Trace(_), .. } => "trace",
            ArrayOp::If { .. } => "acond",
            ArrayOp::While { .. } => "awhile",
        }
    }

    /// The arrays it takes as operands, not those that its functions read or its blocks use.
    pub fn arrays(&self) -> SmallVec<[ArrayId; 2]> {
        match self {
            ArrayOp::Generate { .. } | ArrayOp::If { .. } => SmallVec::new(),
            ArrayOp::Map { xs, .. } | ArrayOp::Foreign { xs, .. } => xs.iter().copied().collect(),
            ArrayOp::While { init, .. } => init.iter().copied().collect(),
            ArrayOp::Stencil { inputs, .. } => inputs.iter().map(|i| i.xs).collect(),
            ArrayOp::Permute { defaults, xs, .. } => smallvec::smallvec![*defaults, *xs],
            ArrayOp::FoldSeg { xs, offsets, .. } => smallvec::smallvec![*xs, *offsets],
            ArrayOp::Fold { xs, .. }
            | ArrayOp::Scan { xs, .. }
            | ArrayOp::Backpermute { xs, .. }
            | ArrayOp::Argsort { xs }
            | ArrayOp::Check { xs, .. }
            | ArrayOp::Reshape { xs, .. }
            | ArrayOp::Replicate { xs, .. }
            | ArrayOp::Slice { xs, .. }
            | ArrayOp::Compute { xs } => smallvec::smallvec![*xs],
        }
    }

    /// The scalar functions inside, each with its role. Closed ones (no parameters) are evaluated once.
    pub fn funs(&self) -> SmallVec<[(&'static str, &Fun); 2]> {
        let mut out = SmallVec::new();
        match self {
            ArrayOp::Generate { shape, f } => out.extend([("shape", shape), ("f", f)]),
            ArrayOp::Map { f, .. } => out.push(("f", f)),
            ArrayOp::Stencil { f, inputs } => {
                out.push(("f", f));
                for i in inputs {
                    if let Boundary::Function(b) = &i.boundary {
                        out.push(("boundary", b));
                    }
                }
            }
            ArrayOp::Argsort { .. } => {}
            ArrayOp::Check { ok, .. } => out.push(("ok", ok)),
            ArrayOp::Fold { f, init, .. } | ArrayOp::FoldSeg { f, init, .. } | ArrayOp::Scan { f, init, .. } => {
                out.push(("f", f));
                out.extend(init.iter().map(|i| ("init", i)));
            }
            ArrayOp::Permute { combine, target, .. } => out.extend([("combine", combine), ("target", target)]),
            ArrayOp::Backpermute { shape, index, .. } => out.extend([("shape", shape), ("index", index)]),
            ArrayOp::Reshape { shape, .. } => out.push(("shape", shape)),
            ArrayOp::Replicate { extents, .. } => out.push(("extents", extents)),
            ArrayOp::Slice { index, .. } => out.push(("index", index)),
            ArrayOp::If { cond, .. } => out.push(("cond", cond)),
            ArrayOp::Compute { .. } | ArrayOp::Foreign { .. } | ArrayOp::While { .. } => {}
        }
        out
    }

    /// The blocks inside.
    pub fn blocks(&self) -> SmallVec<[&Block; 2]> {
        match self {
            ArrayOp::If { then, else_, .. } => smallvec::smallvec![then, else_],
            ArrayOp::While { test, step, .. } => smallvec::smallvec![test, step],
            ArrayOp::Foreign { fallback, .. } => smallvec::smallvec![fallback],
            ArrayOp::Generate { .. }
            | ArrayOp::Map { .. }
            | ArrayOp::Fold { .. }
            | ArrayOp::FoldSeg { .. }
            | ArrayOp::Scan { .. }
            | ArrayOp::Permute { .. }
            | ArrayOp::Backpermute { .. }
            | ArrayOp::Stencil { .. }
            | ArrayOp::Argsort { .. }
            | ArrayOp::Check { .. }
            | ArrayOp::Reshape { .. }
            | ArrayOp::Replicate { .. }
            | ArrayOp::Slice { .. }
            | ArrayOp::Compute { .. } => SmallVec::new(),
        }
    }
}

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

    /// The types of the results.
    pub fn result_types(&self) -> impl ExactSizeIterator<Item = &ArrayType> + '_ {
        self.body.results.iter().map(|&a| self.ty(a))
    }
}
