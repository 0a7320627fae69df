//! Flattening: from second-order array programs to first-order tensor graphs.
//!
//! Each scalar function over an index space becomes tensor operations over that space ([`scalar`]). Uniform values stay
//! on the host or in rank-0 tensors ([`uniformity`](scalar::uniformity)); the index along an axis is an iota, broadcast; a read at an index that is
//! affine in that of the space ([`affine`](access::affine)) is a view ([`read`](access::read)).
//!
//! Masks make the eager graph lazy. Under a condition that varies each branch runs with a refined lane mask: reads clamp
//! their index, divisors become 1 where they are 0, faults are noted only for lanes that are on, and `where` joins the
//! results. A loop runs until no lane is on. Conditions that do not vary are branches
//! of the graph.

mod access;
mod checks;
mod control;
mod limits;
mod ops;
mod scalar;
mod scope;

pub(crate) use ops::segments::segmented;

use crate::flatten::access::guarded::Guard;
use crate::graph::builder::Builder;
use crate::graph::{Body, FaultKind, Graph, Value, Values, flat_types};
use crate::settings::{Faults, Settings};
use acc_core::ir::{ArrayId, ArrayType, Program};
use acc_core::{Error, RunLimits};
use access::Indices;
use access::split_axis::Splits;
use checks::Checks;
use limits::Watch;
use scope::{Flat, IN_MEMORY_ELEMENT_BYTES, Scope};

/// Flattens a verified program without segmented folds but those that [`segmented`] leaves.
pub(crate) fn flatten(program: &Program, settings: &Settings<'_>) -> Result<Graph, Error> {
    let (graph, stopped) = graph(program, settings.faults, settings.limits);
    stopped.map_or(Ok(graph), Err)
}

/// The graph, or why it is not finished: then it is another one.
fn graph(program: &Program, faults: Faults, limits: &RunLimits) -> (Graph, Option<Error>) {
    let mut f = Flattener {
        b: Builder::new(),
        program,
        scope: Scope::default(),
        checks: Checks::new(faults),
        indices: Indices::default(),
        guards: Vec::new(),
        splits: Splits::default(),
        copies: 1,
        loops: 0,
        watch: Watch::new(limits),
    };
    for &a in &program.body.params {
        f.array_param(a, IN_MEMORY_ELEMENT_BYTES);
    }
    f.statements(&program.body);
    let results = f.scope.values(&program.body.results);
    (f.b.finish(results), f.watch.stopped)
}

/// What writes a program as a graph.
pub(crate) struct Flattener<'a> {
    b: Builder,
    program: &'a Program,
    scope: Scope,
    checks: Checks,
    indices: Indices,
    /// The conditions that hold for the current expression.
    guards: Vec<Guard>,
    splits: Splits,
    /// How often the current expression is written, since it is part of a branch on several parts of a space.
    copies: usize,
    /// The scalar loops around the current expression.
    loops: u32,
    watch: Watch<'a>,
}

impl Flattener<'_> {
    /// Adds an array parameter to the innermost body; elements of its shape may certainly have so many bytes.
    pub(crate) fn array_param(&mut self, a: ArrayId, bytes: usize) {
        let values = self.b.params(&flat_types(self.program.ty(a)));
        self.define_param(a, &values, bytes);
    }

    /// Says which values a parameter of the innermost body is.
    pub(crate) fn define_param(&mut self, a: ArrayId, values: &[Value], bytes: usize) {
        let flat = self.flat_of(self.program.ty(a), values);
        if !flat.columns.is_empty() {
            self.scope.note_shape(&self.b, &flat.shape, bytes);
        }
        self.scope.define(a, flat);
        self.scope.eager.insert(a);
    }

    /// An array from its extents and columns.
    pub(crate) fn flat_of(&mut self, ty: &ArrayType, values: &[Value]) -> Flat {
        let (shape, columns) = values.split_at(ty.rank);
        self.scope.extents.extend(shape.iter().copied());
        columns.iter().for_each(|c| self.b.set_full(*c));
        Flat { shape: shape.into(), columns: columns.into() }
    }

    fn array(&self, a: ArrayId) -> Flat {
        self.scope.get(a)
    }

    fn faults(&self) -> Faults {
        self.checks.faults
    }

    /// Notes a check of the current statement as a whole, not of an expression in it.
    fn check_stmt(&mut self, kind: FaultKind, bad: Value, space: &[Value], details: Vec<Value>) {
        self.b.at(&self.checks.loc);
        self.check(kind, bad, space, details);
    }

    /// Notes a check of the current expression.
    fn check(&mut self, kind: FaultKind, bad: Value, space: &[Value], details: Vec<Value>) {
        self.checks.note(&mut self.b, self.splits.is_padded(), kind, bad, space, details);
    }

    fn after_raise(&mut self, values: &[Value]) -> Values {
        self.checks.raised(&mut self.b, values)
    }

    fn after_checks(&mut self, v: Value) -> Value {
        self.checks.before_host(&mut self.b, v)
    }

    /// Opens a body inside the current one.
    fn open(&mut self) {
        self.b.open();
        self.checks.open();
    }

    /// Closes it; its results wait for the checks made in it.
    fn close(&mut self, results: Vec<Value>, space: &[Value]) -> Body {
        let tokens = self.checks.close();
        // Of a single lane the first fault in time is the first in order, so the run may end with it.
        let wait = |b: &mut Builder| b.checked(&results, tokens.clone(), space.is_empty()).to_vec();
        let results = if tokens.is_empty() { results } else { wait(&mut self.b) };
        self.b.close(results)
    }
}
