//! Scalar functions: SSA with regions, over scalar leaves.

use super::{Dialect, Index, Ir, Loc, OwnOp, PrimOp, Programs};
use crate::data::ScalarType;
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};

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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fun<D: Dialect = Ir> {
    /// The type of every value, by [`Val::index`]; each value is defined exactly once.
    pub types: Vec<ScalarType>,
    /// The body; its parameters are those of the function.
    pub body: Region<D>,
}

/// A straight-line piece of scalar code with parameters and results.
///
/// It sees the values defined before it in the regions around it. Nothing in it is evaluated unless control reaches
/// it, and then all of it may be: a partial node stands in a region only if the region's results, or its partial
/// nodes, need it whenever the region runs.
#[derive(Debug)]
pub struct Region<D: Dialect = Ir> {
    /// Values defined on entry.
    pub params: Vec<Val>,
    /// The nodes, in order of definition.
    pub nodes: Vec<Node<D>>,
    /// What the region yields.
    pub results: Vec<Val>,
}

/// One operation and the values it defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node<D: Dialect = Ir> {
    /// The values defined.
    pub results: Vals,
    /// The operation.
    pub op: ScalarOp<D>,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// A scalar operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScalarOp<D: Dialect = Ir> {
    /// A literal.
    Const(D::Literal),
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
        then: Region<D>,
        /// Evaluated if false.
        else_: Region<D>,
    },
    /// A loop: while `test` yields true of the state, the state becomes what `step` yields.
    While {
        /// The initial state.
        init: Vals,
        /// From the state to one `bool`.
        test: Region<D>,
        /// From the state to the next state.
        step: Region<D>,
    },
    /// Some leaves of an array element.
    Index(Read<D>),
    /// The extent of an array along an axis, as `i64`; axis 0 is the outermost.
    Extent {
        /// The array.
        array: D::Array,
        /// The axis.
        axis: u32,
    },
    /// An operation of the dialect alone: in programs, a foreign function.
    Own(D::Own),
}

/// A read of an array element.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Read<D: Dialect = Ir> {
    /// The array.
    pub array: D::Array,
    /// Which columns to read, one per result.
    pub leaves: SmallVec<[u32; 4]>,
    /// The index, one item per dimension.
    pub index: SmallVec<[D::Index; 4]>,
    /// What an index out of bounds reads, if that is no fault.
    pub edge: D::Edge,
}

impl<D: Programs> Read<D> {
    /// A read for which an index out of bounds is a fault.
    pub fn new(
        array: D::Array,
        leaves: impl Into<SmallVec<[u32; 4]>>,
        index: impl Into<SmallVec<[Val; 4]>>,
    ) -> Read<D> {
        Read { array, leaves: leaves.into(), index: index.into(), edge: () }
    }
}

// What a region inside a region does recursively must not depend on the stack that is left.
impl<D: Dialect> Clone for Region<D> {
    fn clone(&self) -> Region<D> {
        let nodes = crate::grow_stack(|| self.nodes.clone());
        Region { params: self.params.clone(), nodes, results: self.results.clone() }
    }
}
impl<D: Dialect> PartialEq for Region<D> {
    fn eq(&self, other: &Region<D>) -> bool {
        self.params == other.params && self.results == other.results && crate::grow_stack(|| self.nodes == other.nodes)
    }
}
impl<D: Dialect> Eq for Region<D> {}
impl<D: Dialect> Hash for Region<D> {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.params.hash(h);
        self.results.hash(h);
        crate::grow_stack(|| self.nodes.hash(h));
    }
}
impl<D: Dialect> Drop for Region<D> {
    fn drop(&mut self) {
        crate::grow_stack(|| self.nodes.clear());
    }
}

impl<D: Dialect> ScalarOp<D> {
    /// The values used directly, not those used inside regions.
    pub fn operands(&self) -> SmallVec<[Val; 4]> {
        let mut out = SmallVec::new();
        self.visit_operands(&mut |v| out.push(v));
        out
    }

    /// Calls `f` on the values used directly, not those used inside regions.
    pub fn visit_operands(&self, f: &mut dyn FnMut(Val)) {
        match self {
            ScalarOp::Const(_) | ScalarOp::Extent { .. } => {}
            ScalarOp::Prim(_, v) | ScalarOp::While { init: v, .. } => v.iter().for_each(|&v| f(v)),
            ScalarOp::Cast(v) | ScalarOp::Bitcast(v) | ScalarOp::If { cond: v, .. } => f(*v),
            ScalarOp::Select { cond, then, else_ } => [cond, then, else_].into_iter().for_each(|&v| f(v)),
            ScalarOp::Index(read) => read.index.iter().filter_map(Index::value).for_each(f),
            ScalarOp::Own(op) => op.visit_operands(f),
        }
    }

    /// Calls `f` on the values used directly, to be changed.
    pub fn visit_operands_mut(&mut self, f: &mut dyn FnMut(&mut Val)) {
        match self {
            ScalarOp::Const(_) | ScalarOp::Extent { .. } => {}
            ScalarOp::Prim(_, v) | ScalarOp::While { init: v, .. } => v.iter_mut().for_each(f),
            ScalarOp::Cast(v) | ScalarOp::Bitcast(v) | ScalarOp::If { cond: v, .. } => f(v),
            ScalarOp::Select { cond, then, else_ } => [cond, then, else_].into_iter().for_each(f),
            ScalarOp::Index(read) => read.index.iter_mut().filter_map(Index::value_mut).for_each(f),
            ScalarOp::Own(op) => op.visit_operands_mut(f),
        }
    }

    /// The regions inside.
    pub fn regions(&self) -> SmallVec<[&Region<D>; 2]> {
        match self {
            ScalarOp::If { then, else_, .. } => smallvec::smallvec![then, else_],
            ScalarOp::While { test, step, .. } => smallvec::smallvec![test, step],
            ScalarOp::Own(op) => op.regions(),
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => SmallVec::new(),
        }
    }

    /// The regions inside, to be changed.
    pub fn regions_mut(&mut self) -> SmallVec<[&mut Region<D>; 2]> {
        match self {
            ScalarOp::If { then, else_, .. } => smallvec::smallvec![then, else_],
            ScalarOp::While { test, step, .. } => smallvec::smallvec![test, step],
            ScalarOp::Own(op) => op.regions_mut(),
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Index(_)
            | ScalarOp::Extent { .. } => SmallVec::new(),
        }
    }
}

impl<D: Programs> ScalarOp<D> {
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
            ScalarOp::While { .. } | ScalarOp::Index(_) | ScalarOp::Own(_) => true,
        }
    }

    /// The same operation with other array handles and values; those inside regions are replaced too.
    pub fn map<E: Programs>(
        &self,
        array: &mut dyn FnMut(&D::Array) -> E::Array,
        val: &mut dyn FnMut(Val) -> Val,
    ) -> ScalarOp<E> {
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
            ScalarOp::Own(f) => ScalarOp::Own(super::Foreign {
                name: f.name.clone(),
                args: f.args.iter().map(|&x| val(x)).collect(),
                fallback: f.fallback.map(array, val),
                partials: f.partials.as_ref().map(|r| r.map(array, val)),
            }),
            ScalarOp::Index(read) => {
                let index: SmallVec<_> = read.index.iter().map(|&x| val(x)).collect();
                ScalarOp::Index(Read::new(array(&read.array), read.leaves.clone(), index))
            }
            ScalarOp::Extent { array: a, axis } => ScalarOp::Extent { array: array(a), axis: *axis },
        }
    }
}

impl<D: Dialect> Region<D> {
    /// Calls `f` on every node, those of inner regions included, with how deep in conditionals and loops it stands
    /// (0: evaluated whenever this region is).
    pub fn visit<'a>(&'a self, depth: usize, f: &mut impl FnMut(&'a Node<D>, usize)) {
        for n in &self.nodes {
            f(n, depth);
            for r in n.op.regions() {
                crate::grow_stack(|| r.visit(depth + 1, f));
            }
        }
    }

    /// Calls `f` on every value where it is defined and where it is used, in the order of the text form.
    pub fn visit_vals_mut(&mut self, f: &mut dyn FnMut(&mut Val)) {
        self.params.iter_mut().for_each(&mut *f);
        for n in &mut self.nodes {
            n.results.iter_mut().for_each(&mut *f);
            n.op.visit_operands_mut(f);
            for r in n.op.regions_mut() {
                crate::grow_stack(|| r.visit_vals_mut(f));
            }
        }
        self.results.iter_mut().for_each(f);
    }

    /// The node that defines a value; none if it is a parameter, or is defined in another region.
    pub fn definition(&self, v: Val) -> Option<&Node<D>> {
        self.nodes.iter().find(|n| n.results.contains(&v))
    }

    /// The literal that a value is, if the region defines it.
    pub fn literal(&self, v: Val) -> Option<D::Literal> {
        let ScalarOp::Const(literal) = &self.definition(v)?.op else { return None };
        Some(*literal)
    }
}

/// Numbers values anew, in the order in which they are met.
pub struct Renumbering {
    new: Vec<Option<Val>>,
    old: Vec<Val>,
}

impl Renumbering {
    /// Of values below this number.
    pub fn new(values: usize) -> Renumbering {
        Renumbering { new: vec![None; values], old: Vec::new() }
    }

    /// Gives a value its new number. One that is in no table keeps its own, for the verifier to report.
    pub fn renumber(&mut self, v: &mut Val) {
        let Some(new) = self.new.get_mut(v.index()) else { return };
        *v = *new.get_or_insert_with(|| {
            self.old.push(*v);
            Val(self.old.len() as u32 - 1)
        });
    }

    /// A table by value, in the new order.
    pub fn table<T: Copy>(&self, old: &[T]) -> Vec<T> {
        self.old.iter().filter_map(|v| old.get(v.index()).copied()).collect()
    }
}

impl<D: Programs> Region<D> {
    /// Whether there is a function with partial derivatives of its own in it.
    pub fn has_rules(&self) -> bool {
        crate::grow_stack(|| {
            self.nodes.iter().any(|n| {
                matches!(&n.op, ScalarOp::Own(f) if f.partials.is_some() || f.name.is_empty())
                    || n.op.regions().into_iter().any(Region::has_rules)
            })
        })
    }

    /// Whether any node is partial.
    pub fn is_partial(&self) -> bool {
        crate::grow_stack(|| self.nodes.iter().any(|n| n.op.is_partial()))
    }

    /// The same code with other array handles and values, definitions included.
    pub fn map<E: Programs>(
        &self,
        array: &mut dyn FnMut(&D::Array) -> E::Array,
        val: &mut dyn FnMut(Val) -> Val,
    ) -> Region<E> {
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

impl<D: Dialect> Fun<D> {
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
    /// The same function with its values numbered in the order of the text form, and nothing unused in its table of types.
    pub fn renumbered(mut self) -> Fun<D> {
        let mut n = Renumbering::new(self.types.len());
        self.body.visit_vals_mut(&mut |v| n.renumber(v));
        self.types = n.table(&self.types);
        self
    }
    /// A new value of this type.
    pub fn new_val(&mut self, ty: ScalarType) -> Val {
        self.types.push(ty);
        Val(self.types.len() as u32 - 1)
    }
}

impl<D: Programs> Fun<D> {
    /// The same function with other array handles.
    pub fn map_arrays<E: Programs>(&self, f: &mut dyn FnMut(&D::Array) -> E::Array) -> Fun<E> {
        Fun { types: self.types.clone(), body: self.body.map(f, &mut |v| v) }
    }
}
