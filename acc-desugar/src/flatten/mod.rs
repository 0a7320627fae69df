//! Flattening: from second-order array programs to first-order tensor graphs.
//!
//! Each scalar function over an index space becomes tensor operations over that space ([`scalar`]). Uniform values stay
//! on the host or in rank-0 tensors ([`level`]); the index along an axis is an iota, broadcast; a read at an index that is
//! affine in that of the space ([`affine`]) is a view ([`read`]).
//!
//! Masks make the eager graph lazy. Under a condition that varies each branch runs with a refined lane mask: reads clamp
//! their index, divisors become 1 where they are 0, faults are noted only for lanes that are on, and `where` joins the
//! results. A loop runs until no lane is on. Conditions that do not vary are branches
//! of the graph.

mod access;
mod control;
mod limits;
mod ops;
mod scalar;

pub(crate) use ops::segments::segmented;

use crate::graph::builder::Builder;
use crate::graph::{Graph, Value, Values, flat_types};
use crate::settings::{Faults, Settings};
use acc_core::ir::{ArrayId, ArrayType, Loc, Program};
use acc_core::{Error, RunLimits};
use limits::Watch;
use std::collections::{HashMap, HashSet};

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
        arrays: HashMap::new(),
        eager: HashSet::new(),
        tokens: vec![Vec::new()],
        extents: HashSet::new(),
        shapes: HashMap::new(),
        borders: HashMap::new(),
        copies: 1,
        clamped: HashMap::new(),
        wrapped: HashMap::new(),
        split_space: None,
        split_columns: HashMap::new(),
        affines: Vec::new(),
        loops: 0,
        sites: 0,
        faults,
        loc: Loc::unknown(),
        watch: Watch::new(limits),
    };
    for &a in &program.body.params {
        f.array_param(a, IN_MEMORY);
    }
    f.statements(&program.body);
    let results = f.array_values(&program.body.results);
    (f.b.finish(results), f.watch.stopped)
}

/// Arrays that are in memory have fewer than 2^57 elements on every machine: with elements of this many bytes they would
/// still not be too large.
const IN_MEMORY: usize = 64;

/// An array in the graph.
#[derive(Clone)]
pub(crate) struct Flat {
    /// The extents, sizes.
    shape: Values,
    /// One tensor per leaf, of the array's rank.
    columns: Values,
}

impl Flat {
    /// The extents, and then the columns.
    fn values(&self) -> impl Iterator<Item = Value> {
        self.shape.iter().chain(&self.columns).copied()
    }
}

pub(crate) struct Flattener<'a> {
    b: Builder,
    program: &'a Program,
    arrays: HashMap<ArrayId, Flat>,
    /// Arrays that are evaluated whatever happens: parameters, and results of strict statements of the blocks around.
    eager: HashSet<ArrayId>,
    /// The checks made in each of the bodies open.
    tokens: Vec<Vec<Value>>,
    /// Sizes known not to be negative.
    extents: HashSet<Value>,
    /// The extents, sorted, of arrays that are there, and how many bytes the elements of such arrays may have.
    shapes: HashMap<Values, usize>,
    /// The conditions met that hold up to a position of an axis, or from there on.
    borders: HashMap<Value, control::index_set_splitting::Borders>,
    /// How often the current expression is written, since it is part of a branch on several parts of a space.
    copies: usize,
    /// The integers met that are an index between bounds.
    clamped: HashMap<Value, access::clamped::Clamped>,
    /// The remainders met of an index by the extent of its axis.
    wrapped: HashMap<Value, access::wrapped::Wrapped>,
    /// How the space of the lanes around is divided, if it may be.
    split_space: Option<access::split_axis::SplitSpace>,
    /// What was computed over divided spaces, by what it was put together to.
    split_columns: HashMap<Value, access::split_axis::SplitColumn>,
    /// The affine integers met so far.
    affines: Vec<access::affine::Affine>,
    /// The scalar loops around the current expression.
    loops: u32,
    /// The checks of the current statement so far.
    sites: u32,
    faults: Faults,
    /// Where the user wrote the current statement.
    loc: Loc,
    watch: Watch<'a>,
}

impl Flattener<'_> {
    /// Adds an array parameter to the innermost body; elements of its shape may have so many bytes for sure.
    pub(crate) fn array_param(&mut self, a: ArrayId, bytes: usize) {
        let flat = self.flat_params(&self.program.ty(a).clone());
        if !flat.columns.is_empty() {
            self.note_shape(&flat.shape, bytes);
        }
        self.arrays.insert(a, flat);
        self.eager.insert(a);
    }

    fn flat_params(&mut self, ty: &ArrayType) -> Flat {
        let types = flat_types(ty);
        let values = self.b.params(&types);
        self.flat_of(ty, &values)
    }

    /// An array from its extents and columns.
    pub(crate) fn flat_of(&mut self, ty: &ArrayType, values: &[Value]) -> Flat {
        let (shape, columns) = values.split_at(ty.rank);
        self.extents.extend(shape.iter().copied());
        for c in columns {
            self.b.set_full(*c);
        }
        Flat { shape: shape.into(), columns: columns.into() }
    }

    fn array(&self, a: ArrayId) -> Flat {
        self.arrays[&a].clone()
    }

    /// The extents and columns of arrays, one after the other.
    fn array_values(&self, arrays: &[ArrayId]) -> Vec<Value> {
        arrays.iter().flat_map(|a| self.arrays[a].values()).collect()
    }
}
