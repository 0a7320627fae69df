//! From the scalar expressions of a closure to a function with regions over scalar leaves.

use super::frame::{Builder, ExpRef};
use super::graph::{Kind, ScalarGraph, collect};
use super::schedule::{Needs, NodeId, Placer};
use super::{Building, Frozen};
use crate::ad::{Code, Dual, NoArrays, Tangent, active_values};
use crate::data::{EltType, Lit, ScalarType};
use crate::error::BuildError;
use crate::ir::{Foreign, Fun, Loc, Node, Read, Region, ScalarOp, Val, Vals};
use smallvec::smallvec;
use std::collections::HashMap;
use std::sync::Arc;

/// How many times larger than written a function may become through copies of values into branches.
const MAX_GROWTH: usize = 100;

/// Freezes `result` as a function of `params`.
pub(super) fn fun(b: &Builder, params: &[ExpRef], result: ExpRef, loc: &Loc) -> Frozen {
    let graph = collect(b, params, result, loc)?;
    let limit = MAX_GROWTH * graph.nodes.len() + 10_000;
    let needs = Needs::of(&graph, graph.nodes.len());
    let len = graph.nodes.len();
    let mut f = Freezer {
        graph: &graph,
        types: Vec::new(),
        vals: vec![None; len],
        loops: Vec::new(),
        limit,
        mistake: None,
        needs,
        placer: Placer::new(len),
    };
    let mut all = Vec::new();
    for (i, _) in params.iter().enumerate() {
        // `collect` numbers the parameters first.
        let vals = f.fresh(&graph.nodes[i].ty);
        all.extend(vals.iter().copied());
        f.vals[i] = Some(vals);
    }
    let body = f.region(graph.root, all);
    if f.types.len() > limit {
        return Err(Arc::new(BuildError::TooManyCopies { used: loc.clone() }));
    }
    match f.mistake {
        Some(mistake) => Err(Arc::new(mistake)),
        None => Ok(Arc::new(Fun { types: f.types, body })),
    }
}

struct Freezer<'a> {
    graph: &'a ScalarGraph,
    types: Vec<ScalarType>,
    /// The leaves of each node evaluated so far in the regions around.
    vals: Vec<Option<Vals>>,
    /// The parameters of the loops around.
    loops: Vec<NodeId>,
    /// The most values: copies into branches can double at each of many levels.
    limit: usize,
    /// The first mistake found.
    mistake: Option<BuildError>,
    needs: Needs,
    placer: Placer,
}

impl Freezer<'_> {
    fn fresh(&mut self, ty: &EltType) -> Vals {
        ty.leaves()
            .into_iter()
            .map(|t| {
                self.types.push(t);
                Val(self.types.len() as u32 - 1)
            })
            .collect()
    }

    /// The leaves of a node that is evaluated.
    fn leaves(&self, n: NodeId) -> &[Val] {
        self.vals[n].as_deref().unwrap_or_default()
    }

    fn region(&mut self, result: NodeId, params: Vec<Val>) -> Region<Building> {
        if self.types.len() > self.limit {
            return Region { params, nodes: Vec::new(), results: Vec::new() };
        }
        let vals = &self.vals;
        let placed = self.placer.place(self.graph, &[result], &|n| vals[n].is_some(), &self.loops, &self.needs);
        let mut nodes = Vec::new();
        for &n in &placed {
            let leaves = crate::grow_stack(|| self.emit(n, &mut nodes));
            self.vals[n] = Some(leaves);
        }
        let results = self.leaves(result).to_vec();
        for n in placed {
            self.vals[n] = None;
        }
        Region { params, nodes, results }
    }

    /// A region of a loop, with the loop's state as its parameters.
    fn loop_region(&mut self, result: NodeId, param: NodeId) -> Region<Building> {
        let vals = self.fresh(&self.graph.nodes[param].ty);
        self.vals[param] = Some(vals.clone());
        self.loops.push(param);
        let region = self.region(result, vals.to_vec());
        self.loops.pop();
        self.vals[param] = None;
        region
    }

    fn emit(&mut self, n: NodeId, nodes: &mut Vec<Node<Building>>) -> Vals {
        let graph = self.graph;
        let node = &graph.nodes[n];
        let op = match &node.kind {
            // Parameters are evaluated on entry, never placed.
            Kind::Param | Kind::LoopParam => return Vals::new(),
            Kind::Tuple(parts) => return parts.iter().flat_map(|p| self.leaves(*p).iter().copied()).collect(),
            Kind::Proj(of, i) => return self.component(*of, *i as usize),
            Kind::Const(l) => ScalarOp::Const(*l),
            Kind::Prim(p, args) => ScalarOp::Prim(*p, args.iter().map(|a| self.leaves(*a)[0]).collect()),
            Kind::Cast(a) => ScalarOp::Cast(self.leaves(*a)[0]),
            Kind::Bitcast(a) => ScalarOp::Bitcast(self.leaves(*a)[0]),
            Kind::Index(array, index) => {
                let leaves: Vec<u32> = (0..node.ty.leaf_count() as u32).collect();
                ScalarOp::Index(Read::new(array.clone(), leaves, self.leaves(*index)))
            }
            Kind::Extent(array, axis) => ScalarOp::Extent { array: array.clone(), axis: *axis },
            Kind::Cond(c, t, e) => {
                let cond = self.leaves(*c)[0];
                let (then, else_) = (self.region(*t, Vec::new()), self.region(*e, Vec::new()));
                if then.nodes.is_empty() && else_.nodes.is_empty() {
                    return self.selects(n, cond, &then.results, &else_.results, nodes);
                }
                ScalarOp::If { cond, then, else_ }
            }
            Kind::Foreign { name, arg, param, fallback, partials } => ScalarOp::Own(Foreign {
                name: name.clone(),
                args: self.leaves(*arg).into(),
                fallback: self.loop_region(*fallback, *param),
                partials: partials.map(|(param, result)| self.loop_region(result, param)),
            }),
            Kind::Derivative { arg, param, result } => return self.derivative(*arg, *param, *result, &node.loc, nodes),
            Kind::While { init, test, test_param, step, step_param } => ScalarOp::While {
                init: self.leaves(*init).into(),
                test: self.loop_region(*test, *test_param),
                step: self.loop_region(*step, *step_param),
            },
        };
        let results = self.fresh(&node.ty);
        nodes.push(Node { results: results.clone(), op, loc: node.loc.clone() });
        results
    }

    /// A function of one float, written out with its tangent; the float's is 1.
    fn derivative(
        &mut self,
        arg: NodeId,
        param: NodeId,
        result: NodeId,
        loc: &Loc,
        nodes: &mut Vec<Node<Building>>,
    ) -> Vals {
        let region = self.loop_region(result, param);
        let f = Fun { types: self.types.clone(), body: region.clone() };
        if let Some(used) = active_values(&f, &vec![true; region.params.len()], &|_, _| false).captured {
            self.mistake.get_or_insert(BuildError::ActiveCapture { read: used.clone(), used });
        }
        let mut code = Code::of_values(std::mem::take(&mut self.types), loc);
        let mut tangents = HashMap::new();
        for p in &region.params {
            let value = code.literal(Lit::one(code.ty(*p)));
            tangents.insert(*p, smallvec![Some(Tangent { value, careful: false })]);
        }
        let mut dual = Dual { code: &mut code, directions: 1, arrays: &NoArrays, tangents };
        dual.region(&region);
        let mut results = region.results.clone();
        for v in region.results.iter().filter(|v| dual.code.ty(**v).is_float()).copied().collect::<Vec<_>>() {
            results.push(dual.value(v, 0));
        }
        let written = Region { params: Vec::new(), nodes: code.take(), results };
        self.types = code.types;
        // The parameter is another value than the argument until here: what the function uses from around it is constant.
        let args = region.params.iter().copied().zip(self.leaves(arg).iter().copied());
        let args: HashMap<Val, Val> = args.collect();
        let written = written.map(&mut |a| a.clone(), &mut |v| args.get(&v).copied().unwrap_or(v));
        nodes.extend(written.nodes.iter().cloned());
        written.results.iter().copied().collect()
    }

    /// A conditional both of whose sides exist already.
    fn selects(&mut self, n: NodeId, cond: Val, then: &[Val], else_: &[Val], nodes: &mut Vec<Node<Building>>) -> Vals {
        let node = &self.graph.nodes[n];
        let results = self.fresh(&node.ty);
        for ((&result, &then), &else_) in results.iter().zip(then).zip(else_) {
            let op = ScalarOp::Select { cond, then, else_ };
            nodes.push(Node { results: [result].into_iter().collect(), op, loc: node.loc.clone() });
        }
        results
    }

    /// The leaves of a component of a tuple.
    fn component(&self, of: NodeId, i: usize) -> Vals {
        let EltType::Tuple(parts) = &self.graph.nodes[of].ty else {
            return self.leaves(of).into();
        };
        let start: usize = parts[..i].iter().map(EltType::leaf_count).sum();
        let len = parts[i].leaf_count();
        self.leaves(of)[start..start + len].into()
    }
}
