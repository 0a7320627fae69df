//! Compiled stages of a graph, by what they are specialised to.

use crate::device::{Device, Module};
use acc_core::{Cause, Error, RunLimits, timeline};
use acc_desugar::graph::{Body, Graph, Node, Value};
use backend_graph::Specialisation;
use backend_graph::export::stablehlo::stage::{Next, Stage, stage, steps};
use backend_graph::export::stablehlo::{ModuleError, Options};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

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
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    compiled: HashMap<Key, Arc<Compiled>>,
    order: VecDeque<Key>,
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
        Stages { graph: Box::new(graph), kept: Mutex::default() }
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
