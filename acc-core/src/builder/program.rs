//! From array expressions to a program: numbering, blocks, common subexpressions, extents as arguments.

use super::extents::{extent_argument, lift_literals};
use super::schedule::{Dag, Inner, Needs, NodeId, NodeIds, Placer};
use super::wide::{cast_results, conversion, wide_elt, widened};
use super::{AccFun, AccOp, AccRef, AccType, Building, Frozen};
use crate::ad::{self, Activity};
use crate::data::{ArrayData, EltType, ScalarType};
use crate::error::{BuildError, Error};
use crate::ir::{ArrayId, ArrayOp, ArrayType, Block, Closed, Fun, Ir, Loc, Mapper, Names, Program, Stmt};
use crate::limits::RunLimits;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// A program and the data embedded in it, which are its last parameters: the arrays of `use_`, then the literals among
/// the extents, each a rank-0 array of `i64`. So one program serves all data and all extents.
#[derive(Clone, Debug)]
pub struct Built {
    /// The program.
    pub program: Arc<Program>,
    /// The arguments for the parameters after those of the function.
    pub embedded: Vec<ArrayData>,
}

/// Numbers an array function.
pub fn build(f: &AccFun) -> Result<Built, Error> {
    build_within(f, &RunLimits::none())
}

/// The same, until a deadline passes or the run is cancelled.
pub fn build_within(f: &AccFun, limits: &RunLimits) -> Result<Built, Error> {
    let _span = crate::timeline::span(crate::timeline::Kind::Pass, || "build");
    let dag = ArrayDag::collect(f, limits)?;
    let mut n = Numberer {
        dag: &dag,
        types: Vec::new(),
        arrays: vec![None; dag.nodes.len()],
        placer: Placer::new(dag.nodes.len()),
        known: HashMap::new(),
        extents: Vec::new(),
        lifted: HashMap::new(),
        rules: 0,
        limits,
    };
    let mut params = Vec::new();
    for (i, ty) in f.params.iter().enumerate() {
        let ids = n.fresh(ty);
        params.extend(ids.iter().copied());
        if let Some(node) = dag.params.get(&(f.lambda, i)) {
            n.arrays[*node] = Some(ids);
        }
    }
    let mut embedded: Vec<(ArrayData, ArrayId)> = Vec::new();
    for (k, node) in dag.nodes.iter().enumerate() {
        if let AccOp::Use(data) = &node.acc.op {
            let id = match embedded.iter().find(|(d, _)| d.ptr_eq(data)) {
                Some((_, id)) => *id,
                None => {
                    let id = n.fresh(&node.acc.ty)[0];
                    params.push(id);
                    embedded.push((data.clone(), id));
                    id
                }
            };
            n.arrays[k] = Some(smallvec![id]);
        }
    }
    let mut body = n.block(dag.root, params)?;
    body.params.extend(n.extents.iter().map(|(_, id)| *id));
    let extents = n.extents.iter().map(|(value, _)| extent_argument(*value));
    let embedded = embedded.into_iter().map(|(d, _)| d).chain(extents).collect();
    Ok(Built { program: Arc::new(Program { types: n.types, names: Names::default(), body }), embedded })
}

struct ArrayNode {
    acc: AccRef,
    strict: NodeIds,
    inner: Vec<(NodeId, Option<NodeId>, bool)>,
    variant: SmallVec<[NodeId; 2]>,
}

/// Array expressions numbered with operands first.
struct ArrayDag {
    nodes: Vec<ArrayNode>,
    root: NodeId,
    number: HashMap<usize, NodeId>,
    /// The parameter nodes by function and position.
    params: HashMap<(u64, usize), NodeId>,
}

impl ArrayDag {
    fn collect(f: &AccFun, limits: &RunLimits) -> Result<ArrayDag, Error> {
        let mut dag = ArrayDag { nodes: Vec::new(), root: 0, number: HashMap::new(), params: HashMap::new() };
        let mut lambdas = vec![f.lambda];
        let mut stack = vec![(f.body.clone(), false)];
        while let Some((acc, ready)) = stack.pop() {
            if dag.number.contains_key(&acc.id()) {
                continue;
            }
            limits.check()?;
            if ready {
                dag.add(acc);
                continue;
            }
            match &acc.op {
                AccOp::Param { lambda, index } => {
                    if !lambdas.contains(lambda) {
                        return Err(Arc::new(BuildError::EscapedArray { used: acc.loc.clone() }).into());
                    }
                    // Every handle to a parameter is one node.
                    if let Some(n) = dag.params.get(&(*lambda, *index)) {
                        dag.number.insert(acc.id(), *n);
                        continue;
                    }
                }
                AccOp::Use(_)
                | AccOp::Element(_)
                | AccOp::Invalid(_)
                | AccOp::Tuple(_)
                | AccOp::Proj(..)
                | AccOp::Op(_) => {}
            }
            let mut children = acc.op.operands();
            for block in acc.op.blocks() {
                lambdas.push(block.lambda);
                children.push(block.body.clone());
            }
            stack.push((acc, true));
            stack.extend(children.into_iter().rev().map(|c| (c, false)));
        }
        dag.root = dag.number[&f.body.id()];
        match dag.escaped(f.lambda) {
            Some(used) => Err(Arc::new(BuildError::EscapedArray { used }).into()),
            None => Ok(dag),
        }
    }

    /// Where the program uses a parameter of an array function outside that function, which is elsewhere in the program. (If
    /// it is not in the program at all, `collect` has reported that.)
    fn escaped(&self, lambda: u64) -> Option<Loc> {
        let own = |p: &NodeId| self.params.iter().any(|(key, n)| n == p && key.0 == lambda);
        let param = *self.nodes[self.root].variant.iter().find(|p| !own(p))?;
        let (mut at, mut used) = (self.root, self.nodes[self.root].acc.loc.clone());
        while at != param {
            let node = &self.nodes[at];
            used = node.acc.loc.clone();
            let children = node.strict.iter().copied().chain(node.inner.iter().map(|i| i.0));
            at = children.into_iter().find(|n| self.nodes[*n].variant.contains(&param))?;
        }
        Some(used)
    }

    fn add(&mut self, acc: AccRef) {
        let id = |a: &AccRef| self.number[&a.id()];
        let strict: NodeIds = acc.op.operands().iter().map(id).collect();
        let param = |f: &AccFun| self.params.get(&(f.lambda, 0)).copied();
        // The test of a loop runs whenever the loop does.
        let always = |block: usize| block == 0 && matches!(acc.op, AccOp::Op(ArrayOp::While { .. }));
        let inner = acc.op.blocks().into_iter().enumerate();
        let inner: Vec<_> = inner.map(|(k, b)| (id(&b.body), param(b), always(k))).collect();
        let this = self.nodes.len();
        let mut variant: SmallVec<[NodeId; 2]> = SmallVec::new();
        if let AccOp::Param { lambda, index } = &acc.op {
            self.params.insert((*lambda, *index), this);
            variant.push(this);
        }
        for n in strict.iter().copied().chain(inner.iter().map(|i| i.0)) {
            variant.extend(self.nodes[n].variant.iter().copied());
        }
        variant.retain(|p| !inner.iter().any(|i| i.1 == Some(*p)));
        variant.sort_unstable();
        variant.dedup();
        self.number.insert(acc.id(), this);
        self.nodes.push(ArrayNode { acc, strict, inner, variant });
    }
}

impl Dag for ArrayDag {
    fn strict(&self, n: NodeId) -> NodeIds {
        self.nodes[n].strict.clone()
    }
    fn inner(&self, n: NodeId) -> SmallVec<[Inner; 2]> {
        // A loop whose body does not use the state has no parameter node; it is a loop all the same.
        self.nodes[n].inner.iter().map(|&(result, param, always)| Inner { result, param, always }).collect()
    }
    fn variant(&self, n: NodeId) -> &[NodeId] {
        &self.nodes[n].variant
    }
    fn harmless(&self, _: NodeId) -> bool {
        // Statements are evaluated on demand, wherever they stand.
        true
    }
}

type Ids = SmallVec<[ArrayId; 1]>;

struct Numberer<'a> {
    dag: &'a ArrayDag,
    types: Vec<ArrayType>,
    arrays: Vec<Option<Ids>>,
    placer: Placer,
    /// Statements in the blocks around, for common subexpressions.
    known: HashMap<ArrayOp, Ids>,
    /// The literal extents met so far, with the parameters that stand for them.
    extents: Vec<(i64, ArrayId)>,
    /// Extent functions done, before and after: one shared by two operations keeps its parameters. (A function of arrays that
    /// stands twice has other arrays each time.)
    lifted: HashMap<*const Fun<Building>, (Fun, Fun)>,
    /// How many rules for derivatives the block is in.
    rules: usize,
    limits: &'a RunLimits,
}

impl Numberer<'_> {
    fn fresh(&mut self, ty: &AccType) -> Ids {
        ty.leaves().into_iter().map(|t| new_array(&mut self.types, t.clone())).collect()
    }

    fn block(&mut self, result: NodeId, params: Vec<ArrayId>) -> Result<Block, Error> {
        let arrays = &self.arrays;
        let in_scope: Vec<NodeId> = self.dag.params.values().copied().filter(|p| arrays[*p].is_some()).collect();
        let placed = self.placer.place(self.dag, &[result], &|n| arrays[n].is_some(), &in_scope, &Needs::none());
        let mut out = Out::default();
        for &n in &placed {
            self.limits.check()?;
            let ids = crate::grow_stack(|| self.emit(n, &mut out))?;
            self.arrays[n] = Some(ids);
        }
        let results = self.arrays[result].clone().unwrap_or_default().into_vec();
        for n in placed {
            self.arrays[n] = None;
        }
        for op in &out.added {
            self.known.remove(op);
        }
        Ok(Block { params, stmts: out.stmts, results })
    }

    /// The block of an array function: a branch, without parameters, or a function of one parameter.
    fn function(&mut self, f: &AccFun) -> Result<Block, Error> {
        let ids: Ids = f.params.iter().flat_map(|ty| self.fresh(ty)).collect();
        let param = self.dag.params.get(&(f.lambda, 0)).copied();
        if let Some(p) = param {
            self.arrays[p] = Some(ids.clone());
        }
        let block = self.block(self.dag.number[&f.body.id()], ids.to_vec());
        if let Some(p) = param {
            self.arrays[p] = None;
        }
        block
    }

    fn ids(&self, a: &AccRef) -> Ids {
        self.arrays[self.dag.number[&a.id()]].clone().unwrap_or_default()
    }

    fn id(&self, a: &AccRef) -> ArrayId {
        self.ids(a)[0]
    }

    fn plain(&self, f: &Frozen) -> Result<Fun, Error> {
        match f {
            Ok(f) => Ok(f.map_arrays(&mut |a| self.id(a))),
            Err(e) => Err(e.clone().into()),
        }
    }

    /// An extent function, or one of positions, with its literals as parameters of the program.
    fn extent(&mut self, f: &Frozen) -> Result<Fun, Error> {
        let key = match f {
            Ok(f) => Arc::as_ptr(f),
            Err(e) => return Err(e.clone().into()),
        };
        let plain = self.plain(f)?;
        if let Some((_, done)) = self.lifted.get(&key).filter(|(before, _)| *before == plain) {
            return Ok(done.clone());
        }
        let (types, extents) = (&mut self.types, &mut self.extents);
        let lifted = lift_literals(&plain, &mut |value| {
            let id = new_array(types, ArrayType { rank: 0, elt: EltType::Scalar(ScalarType::I64) });
            extents.push((value, id));
            id
        });
        self.lifted.insert(key, (plain, lifted.clone()));
        Ok(lifted)
    }

    fn emit(&mut self, n: NodeId, out: &mut Out) -> Result<Ids, Error> {
        let dag = self.dag;
        let acc = &dag.nodes[n].acc;
        let op = match &acc.op {
            // Embedded data and parameters are evaluated on entry, never placed.
            AccOp::Use(_) | AccOp::Param { .. } => return Ok(Ids::new()),
            AccOp::Element(r) => return Err(super::frame::not_an_array(*r, &acc.loc).into()),
            AccOp::Invalid(error) => return Err(error.clone().into()),
            AccOp::Tuple(parts) => return Ok(parts.iter().flat_map(|p| self.ids(p)).collect()),
            AccOp::Proj(of, i) => {
                let AccType::Tuple(parts) = &of.ty else { return Ok(self.ids(of)) };
                let start: usize = parts[..*i].iter().map(AccType::leaf_count).sum();
                return Ok(self.ids(of)[start..start + parts[*i].leaf_count()].into());
            }
            AccOp::Op(ArrayOp::Compute { xs, schedule }) => {
                // One statement per array, each evaluated only if it is needed.
                let (loc, of) = (&acc.loc, self.ids(xs));
                let stored = of.iter().map(|&xs| {
                    let ty = self.types[xs.index()].clone();
                    let result = new_array(&mut self.types, ty);
                    let op = ArrayOp::Compute { xs, schedule: schedule.clone() };
                    out.stmts.push(Stmt { results: smallvec![result], op, loc: loc.clone() });
                    result
                });
                return Ok(stored.collect());
            }
            AccOp::Op(ArrayOp::Ruled { at, residuals, f, jvp, vjp }) => {
                let (at, f) = (self.arrays(at)?, self.function(f)?);
                self.rules += 1;
                let mut rule = |f: &Option<AccFun>| f.as_ref().map(|f| self.function(f)).transpose();
                let rules = (rule(jvp), rule(vjp));
                self.rules -= 1;
                ArrayOp::Ruled { at, residuals: *residuals, f, jvp: rules.0?, vjp: rules.1? }
            }
            AccOp::Op(op) => op.try_map(self)?,
        };
        match &op {
            ArrayOp::Derivative { f, .. } => self.check_smooth(f, &acc.loc)?,
            ArrayOp::Ruled { at, residuals, jvp, vjp, .. } => {
                self.check_linear(at.len(), *residuals, [jvp.as_ref(), vjp.as_ref()], &acc.loc)?;
            }
            // What it computes need not be smooth.
            _ => {}
        }
        let types: Vec<ArrayType> = acc.ty.leaves().into_iter().cloned().collect();
        let reduced = op.operand().copied().filter(|_| op.class().reduces());
        let wide = reduced.and_then(|xs| Some((xs, wide_elt(&self.types[xs.index()].elt)?)));
        Ok(match wide {
            Some((xs, wide)) => self.accumulate_wide(&op, xs, wide, types, &acc.loc, out),
            None => self.statement(op, types, &acc.loc, out),
        })
    }

    /// A derivative that is zero wherever it is taken is a mistake.
    fn check_smooth(&self, f: &Block, used: &Loc) -> Result<(), Error> {
        let activity = Activity::of(&self.types, f, f.params.iter().copied());
        if let Some(captured) = activity.captured() {
            return Err(ad::captured(captured.clone()));
        }
        // Nobody may ask for a rule.
        if self.rules > 0 || f.results.iter().any(|r| activity.is_active(*r)) {
            return Ok(());
        }
        Err(Arc::new(BuildError::ZeroDerivative { blocked: activity.blocked().cloned(), used: used.clone() }).into())
    }

    /// A rule that stands alone is transposed for the other mode: it must be linear.
    fn check_linear(&self, args: usize, residuals: usize, rules: [Option<&Block>; 2], used: &Loc) -> Result<(), Error> {
        let (rule, from) = match rules {
            [Some(jvp), None] => (jvp, args + residuals),
            [None, Some(vjp)] => (vjp, residuals),
            _ => return Ok(()),
        };
        match ad::nonlinear(&self.types, rule, from) {
            Some((op, at)) => Err(Arc::new(BuildError::NonlinearRule { op, at, used: used.clone() }).into()),
            None => Ok(()),
        }
    }

    /// A fold or scan of an array with `f16` in its elements, in `f32`.
    fn accumulate_wide(
        &mut self,
        op: &ArrayOp,
        xs: ArrayId,
        wide: EltType,
        types: Vec<ArrayType>,
        loc: &Loc,
        out: &mut Out,
    ) -> Ids {
        let ty = self.types[xs.index()].clone();
        let map = ArrayOp::Map { f: conversion(&ty.elt, &wide, loc), xs: vec![xs], indexed: false };
        let wide_xs = self.statement(map, vec![ArrayType { rank: ty.rank, elt: wide.clone() }], loc, out)[0];
        let op = op.map(&mut Widen { xs, wide_xs, wide: &wide, loc });
        let wide_types = types.iter().map(|t| ArrayType { rank: t.rank, elt: wide.clone() }).collect();
        let results = self.statement(op, wide_types, loc, out);
        let mut narrow = Ids::new();
        for (x, ty) in results.into_iter().zip(types) {
            let map = ArrayOp::Map { f: conversion(&wide, &ty.elt, loc), xs: vec![x], indexed: false };
            narrow.extend(self.statement(map, vec![ty], loc, out));
        }
        narrow
    }

    /// A statement, or the earlier one that is the same.
    fn statement(&mut self, op: ArrayOp, types: Vec<ArrayType>, loc: &Loc, out: &mut Out) -> Ids {
        // Branches and loops are not compared: their blocks may be as large as the program, and nested deep.
        let comparable = op.blocks().is_empty();
        if comparable && let Some(ids) = self.known.get(&op) {
            // Equal operations can differ in type: a function yields leaves, which fit several element types.
            if ids.iter().zip(&types).all(|(id, ty)| self.types[id.index()] == *ty) {
                return ids.clone();
            }
        }
        let results: Ids = types.into_iter().map(|ty| new_array(&mut self.types, ty)).collect();
        if comparable {
            self.known.insert(op.clone(), results.clone());
            out.added.push(op.clone());
        }
        out.stmts.push(Stmt { results: results.clone(), op, loc: loc.clone() });
        results
    }
}

impl Mapper<Building, Ir> for Numberer<'_> {
    type Error = Error;

    fn array(&mut self, a: &AccRef) -> Result<ArrayId, Error> {
        Ok(self.id(a))
    }
    fn arrays(&mut self, a: &AccRef) -> Result<Vec<ArrayId>, Error> {
        Ok(self.ids(a).to_vec())
    }
    fn fun(&mut self, closed: Closed, f: &Frozen) -> Result<Fun, Error> {
        match closed {
            Closed::Extents => self.extent(f),
            Closed::Yes | Closed::No => self.plain(f),
        }
    }
    fn block(&mut self, f: &AccFun) -> Result<Block, Error> {
        self.function(f)
    }
}

/// A fold or scan over wider elements.
struct Widen<'a> {
    xs: ArrayId,
    wide_xs: ArrayId,
    wide: &'a EltType,
    loc: &'a Loc,
}

impl Mapper<Ir, Ir> for Widen<'_> {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok(if *a == self.xs { self.wide_xs } else { *a })
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(all.clone())
    }
    fn fun(&mut self, closed: Closed, f: &Fun) -> Result<Fun, Infallible> {
        Ok(match closed {
            Closed::No => widened(f),
            // The initial value.
            Closed::Yes | Closed::Extents => {
                let mut f = f.clone();
                cast_results(&mut f, self.wide, self.loc);
                f
            }
        })
    }
    fn block(&mut self, b: &Block) -> Result<Block, Infallible> {
        Ok(b.clone())
    }
}

/// A block being made: its statements, and which operations are now known.
#[derive(Default)]
struct Out {
    stmts: Vec<Stmt>,
    added: Vec<ArrayOp>,
}

fn new_array(types: &mut Vec<ArrayType>, ty: ArrayType) -> ArrayId {
    types.push(ty);
    ArrayId(types.len() as u32 - 1)
}
