//! The scalar expressions that a closure's result reaches, numbered with operands first.

use super::frame::{Builder, ExpOp, ExpRef};
use super::schedule::{Dag, Inner, NodeId, NodeIds};
use super::{AccOp, AccRef};
use crate::data::{EltType, Lit};
use crate::error::BuildError;
use crate::ir::{Loc, PrimOp};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) struct ScalarGraph {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) root: NodeId,
}

pub(super) struct GraphNode {
    pub(super) kind: Kind,
    pub(super) ty: EltType,
    pub(super) loc: Loc,
    variant: SmallVec<[NodeId; 2]>,
}

pub(super) enum Kind {
    Const(Lit),
    /// A parameter of the function.
    Param,
    /// The parameter of a loop's closure.
    LoopParam,
    Tuple(NodeIds),
    Proj(NodeId, u32),
    Prim(PrimOp, NodeIds),
    Cast(NodeId),
    Bitcast(NodeId),
    Cond(NodeId, NodeId, NodeId),
    While {
        init: NodeId,
        test: NodeId,
        test_param: NodeId,
        step: NodeId,
        step_param: NodeId,
    },
    Foreign {
        name: Arc<str>,
        arg: NodeId,
        param: NodeId,
        fallback: NodeId,
        partials: Option<(NodeId, NodeId)>,
    },
    Derivative {
        arg: NodeId,
        param: NodeId,
        result: NodeId,
    },
    Index(AccRef, NodeId),
    Extent(AccRef, u32),
}

/// Collects what `root` reaches. A parameter that is neither one of `params` nor a parameter of a loop inside is an error:
/// the closure depends on a variable of another closure around it.
pub(super) fn collect(
    b: &Builder,
    params: &[ExpRef],
    root: ExpRef,
    used: &Loc,
) -> Result<ScalarGraph, Arc<BuildError>> {
    let mut nodes: Vec<GraphNode> = Vec::new();
    let mut number: HashMap<ExpRef, NodeId> = HashMap::new();
    let mut loop_params: HashSet<ExpRef> = HashSet::new();
    // Parameters first, so that they have numbers even where nothing uses them.
    for &p in params {
        if let Some(n) = b.node(p) {
            number.insert(p, nodes.len());
            nodes.push(GraphNode { kind: Kind::Param, ty: n.ty.clone(), loc: n.loc.clone(), variant: SmallVec::new() });
        }
    }
    // Post-order without recursion: programs can be deep.
    let mut stack = vec![(root, false)];
    while let Some((r, ready)) = stack.pop() {
        if number.contains_key(&r) {
            continue;
        }
        let Some(node) = b.node(r) else {
            return Err(b.escaped(r, used));
        };
        if !ready {
            stack.push((r, true));
            match &node.op {
                ExpOp::While { test_param, step_param, .. } => loop_params.extend([*test_param, *step_param]),
                ExpOp::Foreign { param, partials, .. } => {
                    loop_params.insert(*param);
                    loop_params.extend(partials.map(|(param, _)| param));
                }
                ExpOp::Derivative { param, .. } => {
                    loop_params.insert(*param);
                }
                ExpOp::Poison(e) => return Err(e.clone()),
                ExpOp::Param(_) if !loop_params.contains(&r) => {
                    let lambda = b.closure_of(r);
                    return Err(Arc::new(BuildError::NestedParallelism { lambda, used: used.clone() }));
                }
                // What binds no parameter and is none.
                _ => {}
            }
            let mut children: SmallVec<[ExpRef; 6]> = SmallVec::new();
            node.op.children(&mut |c| children.push(c));
            stack.extend(children.into_iter().rev().map(|c| (c, false)));
            continue;
        }
        let kind = node.op.number(&|c| number[&c]);
        let variant = variant(&nodes, &kind, nodes.len());
        number.insert(r, nodes.len());
        nodes.push(GraphNode { kind, ty: node.ty.clone(), loc: node.loc.clone(), variant });
    }
    Ok(ScalarGraph { root: number[&root], nodes })
}

/// The loop parameters that a node depends on.
fn variant(nodes: &[GraphNode], kind: &Kind, this: NodeId) -> SmallVec<[NodeId; 2]> {
    if let Kind::LoopParam = kind {
        return smallvec![this];
    }
    let mut out: SmallVec<[NodeId; 2]> = SmallVec::new();
    for n in kind.operands().into_iter().chain(kind.inner().into_iter().map(|i| i.result)) {
        out.extend(nodes[n].variant.iter().copied());
    }
    if let Kind::While { test_param, step_param, .. } = kind {
        out.retain(|p| p != test_param && p != step_param);
    }
    if let Kind::Foreign { .. } | Kind::Derivative { .. } = kind {
        out.retain(|p| kind.inner().iter().all(|i| i.param != Some(*p)));
    }
    out.sort_unstable();
    out.dedup();
    out
}

impl ExpOp {
    /// Calls `f` on every expression that this one is made of.
    pub(super) fn children(&self, f: &mut dyn FnMut(ExpRef)) {
        self.operands(f);
        match self {
            ExpOp::Const(_) | ExpOp::Param(_) | ExpOp::Extent(..) | ExpOp::Poison(_) => {}
            ExpOp::Tuple(_) | ExpOp::Prim(..) | ExpOp::Proj(..) | ExpOp::Cast(_) | ExpOp::Bitcast(_) => {}
            ExpOp::Index(..) | ExpOp::Cond(..) => {}
            ExpOp::While { init: _, test, test_param, step, step_param } => {
                [test_param, test, step_param, step].into_iter().for_each(|r| f(*r));
            }
            ExpOp::Foreign { param, fallback, partials, .. } => {
                [*param, *fallback].into_iter().for_each(&mut *f);
                partials.iter().flat_map(|(param, result)| [*param, *result]).for_each(f);
            }
            ExpOp::Derivative { param, result, .. } => [param, result].into_iter().for_each(|r| f(*r)),
        }
    }

    fn number(&self, id: &dyn Fn(ExpRef) -> NodeId) -> Kind {
        match self {
            ExpOp::Const(l) => Kind::Const(*l),
            // The function's own parameters were numbered before, so this is a loop's; and a poisoned expression has
            // ended the collection already.
            ExpOp::Param(_) | ExpOp::Poison(_) => Kind::LoopParam,
            ExpOp::Tuple(v) => Kind::Tuple(v.iter().map(|r| id(*r)).collect()),
            ExpOp::Proj(a, i) => Kind::Proj(id(*a), *i),
            ExpOp::Prim(p, v) => Kind::Prim(*p, v.iter().map(|r| id(*r)).collect()),
            ExpOp::Cast(a) => Kind::Cast(id(*a)),
            ExpOp::Bitcast(a) => Kind::Bitcast(id(*a)),
            ExpOp::Cond(c, t, e) => Kind::Cond(id(*c), id(*t), id(*e)),
            ExpOp::While { init, test, test_param, step, step_param } => Kind::While {
                init: id(*init),
                test: id(*test),
                test_param: id(*test_param),
                step: id(*step),
                step_param: id(*step_param),
            },
            ExpOp::Foreign { name, arg, param, fallback, partials } => Kind::Foreign {
                name: name.clone(),
                arg: id(*arg),
                param: id(*param),
                fallback: id(*fallback),
                partials: partials.map(|(param, result)| (id(param), id(result))),
            },
            ExpOp::Derivative { arg, param, result } => {
                Kind::Derivative { arg: id(*arg), param: id(*param), result: id(*result) }
            }
            ExpOp::Index(a, i) => Kind::Index(a.clone(), id(*i)),
            ExpOp::Extent(a, axis) => Kind::Extent(a.clone(), *axis),
        }
    }
}

impl Kind {
    fn operands(&self) -> NodeIds {
        match self {
            Kind::Const(_) | Kind::Param | Kind::LoopParam | Kind::Extent(..) => smallvec![],
            Kind::Tuple(v) | Kind::Prim(_, v) => v.clone(),
            Kind::Proj(a, _) | Kind::Cast(a) | Kind::Bitcast(a) | Kind::Index(_, a) => smallvec![*a],
            Kind::Cond(c, ..) => smallvec![*c],
            Kind::While { init, .. } => smallvec![*init],
            Kind::Foreign { arg, .. } | Kind::Derivative { arg, .. } => smallvec![*arg],
        }
    }

    fn inner(&self) -> SmallVec<[Inner; 2]> {
        match self {
            Kind::Cond(_, t, e) => {
                [*t, *e].into_iter().map(|result| Inner { result, param: None, always: false }).collect()
            }
            Kind::While { test, test_param, step, step_param, .. } => smallvec![
                Inner { result: *test, param: Some(*test_param), always: true },
                Inner { result: *step, param: Some(*step_param), always: false },
            ],
            Kind::Foreign { param, fallback, partials, .. } => {
                let inner = |(param, result): (NodeId, NodeId)| Inner { result, param: Some(param), always: false };
                std::iter::once((*param, *fallback)).chain(*partials).map(inner).collect()
            }
            Kind::Derivative { param, result, .. } => {
                smallvec![Inner { result: *result, param: Some(*param), always: false }]
            }
            Kind::Const(_)
            | Kind::Param
            | Kind::LoopParam
            | Kind::Tuple(_)
            | Kind::Proj(..)
            | Kind::Prim(..)
            | Kind::Cast(_)
            | Kind::Bitcast(_)
            | Kind::Index(..)
            | Kind::Extent(..) => smallvec![],
        }
    }
}

impl Dag for ScalarGraph {
    fn strict(&self, n: NodeId) -> NodeIds {
        self.nodes[n].kind.operands()
    }
    fn inner(&self, n: NodeId) -> SmallVec<[Inner; 2]> {
        self.nodes[n].kind.inner()
    }
    fn variant(&self, n: NodeId) -> &[NodeId] {
        &self.nodes[n].variant
    }
    fn harmless(&self, n: NodeId) -> bool {
        match &self.nodes[n].kind {
            Kind::Prim(p, _) => !p.is_partial(),
            Kind::While { .. } | Kind::Foreign { .. } | Kind::Derivative { .. } | Kind::Index(..) | Kind::LoopParam => {
                false
            }
            Kind::Const(_)
            | Kind::Param
            | Kind::Tuple(_)
            | Kind::Proj(..)
            | Kind::Cast(_)
            | Kind::Bitcast(_)
            | Kind::Cond(..) => true,
            // Measuring an array evaluates it, which may fault; arguments are there already.
            Kind::Extent(array, _) => matches!(array.op, AccOp::Use(_) | AccOp::Param { .. }),
        }
    }
}
