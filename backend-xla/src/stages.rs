//! Compiled stages of a graph, by what they are specialised to.

use crate::device::{Device, Module};
use acc_core::{Cause, Error, RunLimits, timeline};
use acc_desugar::graph::{Body, Graph, Node, Value};
use backend_graph::Specialisation;
use backend_graph::export::stablehlo::stage::{Next, Stage, stage, steps};
use backend_graph::export::stablehlo::{ModuleError, Options};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A stage with its machine code, if there is something to compute.
pub(crate) struct Compiled {
    pub(crate) stage: Stage,
    pub(crate) executable: Option<Module>,
}

/// What a stage computes.
#[derive(Clone, Copy)]
pub(crate) enum Of<'g> {
    /// The innermost body.
    Body,
    /// Some steps of a loop in it.
    Steps(&'g Node),
}

/// The body that a stage is of or in, and the loop that it is some steps of, by their addresses in the graph; and what is
/// known.
type Key = (usize, usize, Options, Vec<(Value, Vec<i64>)>, Vec<(Value, i64)>, Vec<(Value, usize)>);

/// Compiled stages that are kept for a graph.
const MAX_STAGES_PER_GRAPH: usize = 64;

/// A graph with its stages. It stays where it is: stages know its bodies by their addresses.
pub(crate) struct Stages {
    pub(crate) graph: Box<Graph>,
    /// Made when the host first looks for a node.
    places: OnceLock<Places>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    compiled: HashMap<Key, Arc<Compiled>>,
    order: VecDeque<Key>,
}

/// Where the nodes of a graph are.
struct Places {
    /// All bodies, the graph's first: in which body each is, of which node there, and which of its bodies.
    bodies: Vec<(usize, usize, usize)>,
    /// In which body the node is that defines a value, and which one there.
    nodes: HashMap<Value, (usize, usize)>,
}

impl Places {
    fn of(graph: &Graph) -> Places {
        let mut places = Places { bodies: vec![(0, 0, 0)], nodes: HashMap::new() };
        let mut left = VecDeque::from([(0, &graph.body)]);
        while let Some((at, body)) = left.pop_front() {
            for (n, node) in body.nodes.iter().enumerate() {
                places.nodes.extend(node.results.iter().map(|v| (*v, (at, n))));
                for (which, inner) in node.op.bodies().into_iter().enumerate() {
                    left.push_back((places.bodies.len(), inner));
                    places.bodies.push((at, n, which));
                }
            }
        }
        places
    }
}

fn key(body: &Body, of: Of<'_>, known: &Specialisation, options: Options) -> Key {
    let mut shapes: Vec<_> = known.shapes.iter().map(|(v, s)| (*v, s.clone())).collect();
    let mut numbers: Vec<_> = known.numbers.iter().map(|(v, n)| (*v, *n)).collect();
    let mut cut: Vec<_> = known.cut.iter().map(|(v, axis)| (*v, *axis)).collect();
    shapes.sort_unstable();
    cut.sort_unstable();
    numbers.sort_unstable();
    let node = match of {
        Of::Body => 0,
        Of::Steps(node) => std::ptr::from_ref(node).addr(),
    };
    (std::ptr::from_ref(body).addr(), node, options, shapes, numbers, cut)
}

impl Stages {
    pub(crate) fn new(graph: Graph) -> Stages {
        Stages { graph: Box::new(graph), places: OnceLock::new(), kept: Mutex::default() }
    }

    /// The node that defines a value, and the bodies that it is in, outermost first.
    pub(crate) fn node(&self, v: Value) -> Option<(Vec<&Body>, &Node)> {
        let places = self.places.get_or_init(|| Places::of(&self.graph));
        let (mut at, n) = *places.nodes.get(&v)?;
        let mut between = Vec::new();
        while at > 0 {
            let (around, node, which) = *places.bodies.get(at)?;
            between.push((node, which));
            at = around;
        }
        let mut innermost = &self.graph.body;
        let mut bodies = vec![innermost];
        for (node, which) in between.into_iter().rev() {
            innermost = innermost.nodes.get(node)?.op.bodies().into_iter().nth(which)?;
            bodies.push(innermost);
        }
        Some((bodies, innermost.nodes.get(n)?))
    }

    /// The next stage of the innermost of these bodies.
    pub(crate) fn next(
        &self,
        device: &Device,
        bodies: &[&Body],
        of: Of<'_>,
        known: &Specialisation,
        options: Options,
        limits: &RunLimits,
    ) -> Result<Arc<Compiled>, Error> {
        let innermost = bodies.last().ok_or_else(|| Error::defect("xla", "a stage of no body"))?;
        let key = key(innermost, of, known, options);
        if let Some(found) = self.lock().compiled.get(&key) {
            return Ok(found.clone());
        }
        let stage = match of {
            Of::Body => stage(&self.graph, bodies, known, options),
            Of::Steps(node) => steps(&self.graph, bodies, node, known, options),
        };
        let stage = stage.map_err(module_error)?;
        // A number that is there already needs no module.
        let is_there = matches!(stage.next, Next::Number(v) if known.shapes.contains_key(&v));
        let text = stage.text.as_ref().filter(|_| !is_there);
        let compile = |text: &String| timeline::pass("compile", || device.compile(text, limits));
        let executable = text.map(compile).transpose()?;
        let compiled = Arc::new(Compiled { stage, executable });
        let mut kept = self.lock();
        while kept.order.len() >= MAX_STAGES_PER_GRAPH
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.compiled.remove(&oldest);
        }
        kept.compiled.insert(key.clone(), compiled.clone());
        kept.order.push_back(key);
        Ok(compiled)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A panic under the lock can at worst lose an entry.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn module_error(e: ModuleError) -> Error {
    match e {
        ModuleError::TooLarge(extents) => {
            Error::OutOfMemory { what: format!("an array of extents {extents:?}"), bytes: None, at: None }
        }
        e => Error::Export { format: "StableHLO", source: Cause::new(e) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::prelude::*;

    /// Every node with the bodies around it, found by going through all of them.
    fn all<'g>(bodies: &[&'g Body], into: &mut Vec<(Vec<&'g Body>, &'g Node)>) {
        for node in bodies.last().into_iter().flat_map(|b| &b.nodes) {
            into.push((bodies.to_vec(), node));
            node.op.bodies().into_iter().for_each(|inner| all(&[bodies, &[inner]].concat(), into));
        }
    }

    #[test]
    fn every_node_is_found_with_the_bodies_around_it() {
        let xs = use_(&Vector::from([1i64, 2, 3]));
        let inner =
            |s: &Acc<Vector<i64>>| awhile(s, |s| s.sum().map(|n| n.lt(100)), |s| s.zip_with(s.reverse(), |x, y| x + y));
        let program = awhile(&xs, |s| unit(s.length().lt(9)), |s| inner(&s).concat(&xs));
        let graph = backend_graph::graph_of(&program.program().expect("a program").program).expect("a graph");
        let stages = Stages::new(graph);
        let mut nodes = Vec::new();
        all(&[&stages.graph.body], &mut nodes);
        assert!(nodes.iter().any(|(bodies, _)| bodies.len() > 2), "a loop in a loop");
        for (bodies, node) in nodes {
            for v in &node.results {
                let (around, found) = stages.node(*v).expect("a node");
                assert!(std::ptr::eq(found, node));
                assert!(around.len() == bodies.len() && around.iter().zip(&bodies).all(|(a, b)| std::ptr::eq(*a, *b)));
            }
        }
        assert!(stages.graph.body.params.iter().all(|v| stages.node(*v).is_none()));
    }
}
