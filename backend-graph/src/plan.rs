//! Plans: in which order a graph's nodes run, and when each value is freed. No library is named here.

use acc_desugar::graph::{Body, Graph, Node, Value};
use std::collections::{HashMap, HashSet};

/// A graph ready to run.
#[derive(Debug)]
pub struct Plan {
    graph: Graph,
    steps: Vec<Step>,
    body: PlannedBody,
    /// The step that defines each value; none for parameters.
    definitions: Vec<Option<StepId>>,
}

/// The number of a step.
pub(crate) type StepId = usize;

/// A node, its bodies planned.
#[derive(Debug)]
pub(crate) struct Step {
    /// The node; its bodies are empty, see `bodies`.
    pub(crate) node: Node,
    pub(crate) bodies: Vec<PlannedBody>,
    /// What no later step uses.
    pub(crate) last_use_of: Vec<Value>,
}

/// A body as steps.
#[derive(Debug, Default)]
pub(crate) struct PlannedBody {
    pub(crate) params: Vec<Value>,
    pub(crate) results: Vec<Value>,
    /// The steps that run whenever the body does, in order. The others run when a value of theirs is demanded.
    pub(crate) strict: Vec<StepId>,
    /// Every value defined in the body, for starting afresh.
    pub(crate) values: Vec<Value>,
}

impl Plan {
    /// Plans a verified graph.
    pub fn new(graph: Graph) -> Plan {
        let mut p = Planner { steps: Vec::new(), definitions: vec![None; graph.types.len()] };
        let (body, _) = p.body(&graph.body);
        Plan { steps: p.steps, definitions: p.definitions, body, graph }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(crate) fn body(&self) -> &PlannedBody {
        &self.body
    }

    pub(crate) fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.get(id)
    }

    pub(crate) fn definition(&self, v: Value) -> Option<StepId> {
        self.definitions.get(v.index()).copied().flatten()
    }

    /// Every step, those of inner bodies included.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

struct Planner {
    steps: Vec<Step>,
    definitions: Vec<Option<StepId>>,
}

impl Planner {
    /// Plans a body; also returns the values that it uses from outside.
    fn body(&mut self, body: &Body) -> (PlannedBody, HashSet<Value>) {
        // Backwards from the results: which nodes are needed for sure.
        let mut needed: HashSet<Value> = body.results.iter().copied().collect();
        let mut strict = vec![false; body.nodes.len()];
        for (n, strict) in body.nodes.iter().zip(&mut strict).rev() {
            if n.results.iter().any(|r| needed.contains(r)) {
                *strict = true;
                needed.extend(n.op.operands());
            }
        }
        // What a node uses, itself or inside its bodies. A value that a node off the strict path uses, or the results,
        // lives as long as the body.
        let mut kept: HashSet<Value> = body.results.iter().copied().collect();
        let mut captured = kept.clone();
        let mut last: HashMap<Value, usize> = HashMap::new();
        let mut planned_bodies = Vec::new();
        for (k, (n, strict)) in body.nodes.iter().zip(&strict).enumerate() {
            let mut used: HashSet<Value> = n.op.operands().into_iter().collect();
            let mut bodies = Vec::new();
            for b in n.op.bodies() {
                let (planned, inner) = acc_core::grow_stack(|| self.body(b));
                bodies.push(planned);
                used.extend(inner);
            }
            planned_bodies.push(bodies);
            captured.extend(&used);
            if *strict {
                last.extend(used.into_iter().map(|v| (v, k)));
            } else {
                kept.extend(used);
            }
        }
        let own: HashSet<Value> =
            body.params.iter().chain(body.nodes.iter().flat_map(|n| &n.results)).copied().collect();
        captured.retain(|v| !own.contains(v));
        let mut frees: HashMap<usize, Vec<Value>> = HashMap::new();
        for (v, k) in last {
            if own.contains(&v) && !kept.contains(&v) {
                frees.entry(k).or_default().push(v);
            }
        }
        let mut planned = PlannedBody {
            params: body.params.clone(),
            results: body.results.clone(),
            strict: Vec::new(),
            values: own.into_iter().collect(),
        };
        planned.values.sort_unstable();
        for (k, ((n, strict), bodies)) in body.nodes.iter().zip(strict).zip(planned_bodies).enumerate() {
            let id = self.steps.len();
            for r in &n.results {
                if let Some(d) = self.definitions.get_mut(r.index()) {
                    *d = Some(id);
                }
            }
            let mut last_use_of = frees.remove(&k).unwrap_or_default();
            last_use_of.sort_unstable();
            self.steps.push(Step { node: without_bodies(n), bodies, last_use_of });
            if strict {
                planned.strict.push(id);
            }
        }
        (planned, captured)
    }
}

fn without_bodies(n: &Node) -> Node {
    let mut n = n.clone();
    for b in n.op.bodies_mut() {
        *b = Body { params: Vec::new(), nodes: Vec::new(), results: Vec::new() };
    }
    n
}
