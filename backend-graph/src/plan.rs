//! Plans: in which order a graph's nodes run, when each value is freed, and which memory is written again. No library is
//! named here.

mod joins;
mod memory;
pub(crate) mod row_blocking;
mod show;
mod storage;
mod verify;

pub use memory::{Bytes, Peak};

use acc_core::{Error, RunLimits};
use acc_desugar::graph::{Body, Graph, Node, Op, Value};
use row_blocking::Group;
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
    /// Operands that may have to be evaluated first.
    pub(crate) demands: Vec<Value>,
    /// What no later step uses.
    pub(crate) last_use_of: Vec<Value>,
    /// An operand whose memory nobody looks at after this step.
    pub(crate) overwrites: Option<Place>,
    /// Whether its result, a concatenation, is not made: the concatenation that takes it writes its parts.
    pub(crate) is_inner: bool,
}

impl Step {
    /// Whether the value is there before any run.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(self.node.op, Op::Const(_) | Op::Size(_))
    }
}

/// The memory of an operand as that of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) of: Value,
    /// Whether the operand surely has as many elements as the result, each with memory of its own; else a run has to
    /// look.
    pub(crate) fits: bool,
}

/// A body as steps.
#[derive(Debug, Default)]
pub(crate) struct PlannedBody {
    pub(crate) params: Vec<Value>,
    pub(crate) results: Vec<Value>,
    /// The steps that run whenever the body does, in order. The others run when a value of theirs is demanded, but for
    /// literals, which are there before.
    pub(crate) strict: Vec<StepId>,
    /// Which of them may go through their tensors together, by the position of the first one.
    pub(crate) groups: Vec<(usize, Group)>,
    /// Results that may have to be evaluated at the end.
    pub(crate) demands: Vec<Value>,
    /// Every value defined in the body that is not freed before its end.
    pub(crate) values: Vec<Value>,
}

impl Plan {
    /// Plans a verified graph.
    pub fn new(graph: Graph) -> Plan {
        Plan::of(graph, &RunLimits::none()).0
    }

    /// Plans a verified graph, until a deadline passes or the run that needs it is cancelled.
    pub fn within(graph: Graph, limits: &RunLimits) -> Result<Plan, Error> {
        let (plan, stopped) = Plan::of(graph, limits);
        stopped.map_or(Ok(plan), Err)
    }

    /// The plan, or why it is not finished.
    fn of(mut graph: Graph, limits: &RunLimits) -> (Plan, Option<Error>) {
        let groups = row_blocking::arrange(&mut graph);
        let definitions = vec![None; graph.types.len()];
        let mut p = Planner { steps: Vec::new(), definitions, graph: &graph, groups, limits, stopped: None };
        let (body, _) = p.body(&graph.body, &HashSet::new());
        let Planner { steps, definitions, stopped, .. } = p;
        (Plan { steps, definitions, body, graph }, stopped)
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

    /// Every step, those of inner bodies included: first those, then the step whose they are.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// How many steps write into the memory of an operand.
    pub fn in_place(&self) -> usize {
        self.steps.iter().filter(|s| s.overwrites.is_some()).count()
    }
}

struct Planner<'a> {
    graph: &'a Graph,
    steps: Vec<Step>,
    definitions: Vec<Option<StepId>>,
    /// By the first result of their first step.
    groups: HashMap<Value, Group>,
    limits: &'a RunLimits,
    /// The limit that was reached.
    stopped: Option<Error>,
}

impl Planner<'_> {
    /// Plans a body, around which `lazy` values are evaluated on demand; also returns the values that it uses from
    /// outside.
    fn body(&mut self, body: &Body, lazy: &HashSet<Value>) -> (PlannedBody, HashSet<Value>) {
        if self.stopped.is_none() {
            self.stopped = self.limits.check().err();
        }
        if self.stopped.is_some() {
            return (PlannedBody::default(), HashSet::new());
        }
        let strict = body.strict();
        let mut demanded = lazy.clone();
        for (n, _) in body.nodes.iter().zip(&strict).filter(|(_, strict)| !**strict) {
            demanded.extend(n.results.iter().copied());
        }
        // What a node uses, itself or inside its bodies. A value that a node off the strict path uses, or the results,
        // lives as long as the body.
        let mut kept: HashSet<Value> = body.results.iter().copied().collect();
        let mut captured = kept.clone();
        let mut last: HashMap<Value, usize> = HashMap::new();
        // What goes into branches and loops may come out of them as another value.
        let mut shared: HashSet<Value> = kept.clone();
        let mut planned_bodies = Vec::new();
        let mut takers: HashMap<Value, Vec<usize>> = HashMap::new();
        for (k, (n, strict)) in body.nodes.iter().zip(&strict).enumerate() {
            let mut used: HashSet<Value> = n.op.operands().into_iter().collect();
            let mut bodies = Vec::new();
            for b in n.op.bodies() {
                let (planned, inner) = acc_core::grow_stack(|| self.body(b, &demanded));
                bodies.push(planned);
                used.extend(inner);
            }
            if !bodies.is_empty() {
                shared.extend(&used);
            }
            planned_bodies.push(bodies);
            captured.extend(&used);
            used.iter().for_each(|v| takers.entry(*v).or_default().push(k));
            if *strict {
                last.extend(used.into_iter().map(|v| (v, k)));
            } else {
                kept.extend(used);
            }
        }
        let own: HashSet<Value> =
            body.params.iter().chain(body.nodes.iter().flat_map(|n| &n.results)).copied().collect();
        shared.extend(&kept);
        let inner = joins::inner_joins(body, &strict, &takers, &kept, &mut last);
        let overwrites = storage::overwrites(self.graph, body, &strict, &last, &shared);
        let mut frees: HashMap<usize, Vec<Value>> = HashMap::new();
        let mut values = Vec::new();
        for v in &own {
            match last.get(v) {
                Some(k) if !kept.contains(v) => frees.entry(*k).or_default().push(*v),
                _ => values.push(*v),
            }
        }
        values.sort_unstable();
        let mut planned = PlannedBody {
            params: body.params.clone(),
            results: body.results.clone(),
            strict: Vec::new(),
            groups: Vec::new(),
            demands: body.results.iter().filter(|r| demanded.contains(r)).copied().collect(),
            values,
        };
        for (k, ((n, strict), bodies)) in body.nodes.iter().zip(strict).zip(planned_bodies).enumerate() {
            let id = self.steps.len();
            for r in &n.results {
                if let Some(d) = self.definitions.get_mut(r.index()) {
                    *d = Some(id);
                }
            }
            let mut last_use_of = frees.remove(&k).unwrap_or_default();
            last_use_of.sort_unstable();
            let demands = n.op.operands().into_iter().filter(|v| demanded.contains(v)).collect();
            let overwrites = overwrites.get(k).copied().flatten();
            let node =
                Node { results: n.results.clone(), op: n.op.without_bodies(), source: n.source, loc: n.loc.clone() };
            let is_inner = n.results.iter().any(|r| inner.contains(r));
            let step = Step { node, bodies, demands, last_use_of, overwrites, is_inner };
            if strict && !step.is_literal() {
                if let Some(group) = n.results.first().and_then(|r| self.groups.remove(r)) {
                    planned.groups.push((planned.strict.len(), group));
                }
                planned.strict.push(id);
            }
            self.steps.push(step);
        }
        for (first, group) in &mut planned.groups {
            let steps = planned.strict.iter().skip(*first).take(group.steps).filter_map(|id| self.steps.get(*id));
            let ended: HashSet<Value> = steps.flat_map(|s| &s.last_use_of).copied().collect();
            group.results.retain(|(v, _)| captured.contains(v) && !ended.contains(v));
        }
        planned.groups.retain(|(_, group)| group.pays());
        captured.retain(|v| !own.contains(v));
        (planned, captured)
    }
}
