//! Graphs: bodies of nodes, and the values that these define.

use super::Op;
use acc_core::data::ScalarType;
use acc_core::grow_stack;
use acc_core::ir::{ArrayType, Loc};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A value of a [`Graph`]: a parameter or a result of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

impl Value {
    /// The position in side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The type of a value. Extents are run-time values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// An integer on the host: an extent, a position on an axis, or a condition (0 or not).
    Size,
    /// A tensor.
    Tensor {
        /// The type of its scalars, in the language's terms: how a library stores it is the library's matter.
        scalar: ScalarType,
        /// The number of dimensions.
        rank: usize,
    },
    /// That a check was made: see [`Op::Fault`].
    Token,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Size => f.write_str("size"),
            Type::Tensor { scalar, rank } => write!(f, "{scalar}[{rank}]"),
            Type::Token => f.write_str("token"),
        }
    }
}

/// The greatest rank of a tensor: what libraries have room for. The arrays of programs have fewer axes, but flattening adds
/// some.
pub const MAX_RANK: usize = 64;

/// A list of values.
pub type Values = SmallVec<[Value; 4]>;

/// A program as first-order tensor operations, made by [`flatten`](crate::flatten()).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Graph {
    /// The type of every value, by [`Value::index`]; each value is defined exactly once.
    pub types: Vec<Type>,
    /// The body. Parameters: for each array of the program its extents, then its columns; results likewise.
    pub body: Body,
    /// The statements of the program that nodes come from: name and source location.
    pub sources: Vec<Source>,
}

/// A statement of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Source {
    /// The combinator.
    pub name: &'static str,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// Nodes with parameters and results: a graph, a branch, or a loop's test or step. A body sees the values of those
/// around it.
///
/// Evaluation is on demand: a node is evaluated when a result, or a node that is evaluated, uses its value; the values a
/// branch or loop takes from outside are evaluated when control reaches their use.
#[derive(Default, Debug)]
pub struct Body {
    /// Values defined on entry.
    pub params: Vec<Value>,
    /// The nodes, in order of definition.
    pub nodes: Vec<Node>,
    /// What the body yields.
    pub results: Vec<Value>,
}

// What a body inside a body does recursively must not depend on the stack that is left.
impl Clone for Body {
    fn clone(&self) -> Body {
        let nodes = grow_stack(|| self.nodes.clone());
        Body { params: self.params.clone(), nodes, results: self.results.clone() }
    }
}
impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        self.params == other.params && self.results == other.results && grow_stack(|| self.nodes == other.nodes)
    }
}
impl Eq for Body {}
impl Hash for Body {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.params.hash(h);
        self.results.hash(h);
        grow_stack(|| self.nodes.hash(h));
    }
}
impl Drop for Body {
    fn drop(&mut self) {
        grow_stack(|| self.nodes.clear());
    }
}

/// One operation and the values it defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// The values defined.
    pub results: Values,
    /// The operation.
    pub op: Op,
    /// The statement it comes from: a position in [`Graph::sources`].
    pub source: u32,
    /// Where the user wrote the expression it comes from.
    pub loc: Loc,
}

impl Graph {
    /// The type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.types[v.index()]
    }

    /// The number of nodes, those of inner bodies included.
    pub fn len(&self) -> usize {
        fn count(b: &Body) -> usize {
            let inside = |n: &Node| n.op.bodies().iter().map(|b| grow_stack(|| count(b))).sum::<usize>();
            b.nodes.iter().map(|n| 1 + inside(n)).sum()
        }
        count(&self.body)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.body.nodes.is_empty()
    }
}

/// The types of an array's extents and columns.
pub(crate) fn flat_types(ty: &ArrayType) -> Vec<Type> {
    let sizes = std::iter::repeat_n(Type::Size, ty.rank);
    sizes.chain(ty.elt.leaves().into_iter().map(|scalar| Type::Tensor { scalar, rank: ty.rank })).collect()
}
