//! Search: which loop nest computes an array fastest.
//!
//! | what | where |
//! |---|---|
//! | rewrites of nests, as data | `rules` |
//! | the nests that are compared | `space` |
//! | the time that a nest is expected to take | `cost` |
//! | times | `measure` |
//!
//! A nest is a schedule, and a schedule changes no bit: what search finds can be written in the program
//! ([`Acc::scheduled`](acc_core::Acc::scheduled)), and makes nothing but its time different.

mod cost;
pub(crate) mod measure;
mod rules;
mod space;

pub use measure::Times;
pub use rules::{RULES, Rule};

use crate::kernel::AxisKind;
use crate::llvm;
use crate::prepare::Launch;
use crate::run::{Value, schedules_keep_bits};
use crate::{Compile, NAME, Native, Options, Prepared, Tune};
use acc_core::data::{ArrayData, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Block, Fun, Loc, Node, Program, Region, ScalarOp, Schedule, Stmt, Val};
use acc_core::verify::MAX_RANK;
use acc_core::{Backend, BuildError, Error, Executor, RunLimits};
use cost::Shape;
use std::sync::Arc;

/// What is searched for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchOptions {
    /// The nests that are compared.
    pub space: Space,
    /// How many are measured: those that are expected to be the fastest.
    pub measured: usize,
    /// How often each is measured, in turn.
    pub rounds: usize,
    /// Threads; the machine's if none.
    pub threads: Option<usize>,
}

/// Which nests are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Nests in register tiles.
    RegisterTiles,
    /// All orders of the loops over the axes, some of which are subdivided: the axis, and the iterations of a tile.
    Orders(Vec<(usize, usize)>),
}

impl Default for SearchOptions {
    /// Register tiles, the 12 best measured 5 times each, on all threads.
    fn default() -> SearchOptions {
        SearchOptions { space: Space::RegisterTiles, measured: 12, rounds: 5, threads: None }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct SearchReport {
    /// What the axes are, outermost first: whether each is folded.
    pub folded: Vec<bool>,
    /// The nests, the fastest first; those that were not measured behind.
    pub nests: Vec<Found>,
    /// The time of the program as it is.
    pub default: Times,
    /// The loops of the program as it is, or what it does instead; nothing if its kernel is another one.
    pub default_loops: String,
}

/// A nest.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its loops.
    pub schedule: Schedule,
    /// The nanoseconds that it is expected to take, on one thread.
    pub predicted: f64,
    /// Its times, if it was measured.
    pub measured: Option<Times>,
}

impl Found {
    /// The order of its loops as higher-order functions: `mapA mapB rnz`.
    pub fn words(&self, folded: &[bool]) -> String {
        let several = folded.iter().filter(|f| **f).count() > 1;
        let word = |axis: usize| {
            let letter = char::from(b'A' + u8::try_from(axis).unwrap_or(0).min(25));
            match folded.get(axis) {
                Some(true) if several => format!("rnz{letter}"),
                Some(true) => "rnz".to_string(),
                _ => format!("map{letter}"),
            }
        };
        self.schedule.loops().iter().map(|l| word(l.axis)).collect::<Vec<_>>().join(" ")
    }
}

/// Looks for the fastest nest of an array of a program, on these arguments. `progress` is told how many runs are done, and of how
/// many.
///
/// # Errors
///
/// Of a run, and where no loop nest computes the array.
pub fn search(
    program: &Arc<Program>,
    array: ArrayId,
    args: &[ArrayData],
    options: &SearchOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SearchReport, Error> {
    let native = Options::new().compile(Compile::Now).threads(options.threads).tune(Tune::Never);
    on(&Native::with(native)?, program, array, args, options, progress)
}

/// [`search`] by measuring on this executor, which waits for machine code.
pub(crate) fn on(
    native: &Native,
    program: &Arc<Program>,
    array: ArrayId,
    args: &[ArrayData],
    options: &SearchOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<SearchReport, Error> {
    let limits = RunLimits::none();
    let (axes, prepared) = nest_of(program, array)?;
    let launch = scheduled_launch(&prepared)?;
    let kernel = &launch.kernel;
    let (extents, arrays) = extents_of(&prepared, launch, args)?;
    let extent =
        |a: ArrayId, dim: usize| arrays.iter().find(|(of, d, _)| (*of, *d) == (a, dim)).map_or(1, |(.., n)| *n);
    let shape = Shape::new(kernel, extents, &extent, llvm::register_bytes());
    let mut nests = match &options.space {
        Space::RegisterTiles => space::register_tiles(kernel),
        Space::Orders(splits) => {
            let start = space::subdivided(kernel, splits)
                .ok_or_else(|| wrong(&Schedule::row_major(axes), "the tiles are not of its axes"))?;
            space::orders(kernel, start)
        }
    };
    nests.retain(|nest| {
        let with = kernel.clone().with_schedule(nest);
        with.is_ok_and(|kernel| llvm::unsupported_loops(&kernel).is_none())
    });
    let mut found: Vec<Found> =
        nests.into_iter().map(|nest| Found { predicted: shape.time(&nest), schedule: nest, measured: None }).collect();
    found.sort_by(|a, b| a.predicted.total_cmp(&b.predicted));
    let chosen = found.len().min(options.measured);
    let with = |nest: &Found| program.with_schedule(array, nest.schedule.clone()).map(Arc::new);
    let mut programs: Vec<Arc<Program>> = vec![program.clone()];
    programs.extend(found[..chosen].iter().filter_map(with));
    let times = measure::interleaved(native, &programs, args, options.rounds, &limits, progress)?;
    for (nest, times) in found.iter_mut().zip(&times[1..]) {
        nest.measured = Some(times.clone());
    }
    let median = |f: &Found| f.measured.as_ref().map_or(f64::INFINITY, |t| t.median);
    found.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let plain = Backend::prepare(native, program, &limits)?;
    let own = plain.plan().launches().find(|l| l.kernel.title() == kernel.title());
    let default_loops = own.map_or_else(String::new, |l| match &l.product {
        Some(_) if !l.kernel.has_schedule => "a product of matrices".to_string(),
        _ => l.kernel.shown_loops(),
    });
    let folded = kernel.axes.iter().map(|kind| *kind == AxisKind::Reduction).collect();
    Ok(SearchReport { folded, nests: found, default: times[0].clone(), default_loops })
}

fn wrong(schedule: &Schedule, why: &str) -> Error {
    let (why, loops, used) = (why.to_string(), schedule.to_string(), Loc::unknown());
    Error::from(Arc::new(BuildError::Schedule { array: None, why, loops, used }))
}

/// The number of axes of the nest that computes an array, and the program with the row-major schedule of it. Folds of folds are one
/// nest if they are that without a schedule: of the numbers of axes that a nest can have, the first is taken that leaves the number of
/// kernels as it is.
fn nest_of(program: &Arc<Program>, array: ArrayId) -> Result<(usize, Prepared), Error> {
    let prepare = |program: &Arc<Program>| Backend::prepare(&Native::tiles(), program, &RunLimits::none());
    let plain = prepare(program)?.plan().launches().count();
    let rank = program.types.get(array.index()).map_or(0, |t| t.rank);
    let mut found = None;
    let mut refused = wrong(&Schedule::row_major(rank), "no statement outside of inner blocks defines the array");
    for axes in rank..=MAX_RANK {
        let Some(with) = program.with_schedule(array, Schedule::row_major(axes)) else { break };
        match prepare(&Arc::new(with)) {
            Ok(prepared) if prepared.plan().launches().count() == plain => return Ok((axes, prepared)),
            Ok(prepared) => found = found.or(Some((axes, prepared))),
            Err(error) => refused = error,
        }
    }
    found.ok_or(refused)
}

/// The arrays of a program that may be computed by any schedule: a kernel stores them anyway, and their bits are the same with
/// each schedule and without.
pub(crate) fn tunable(program: &Arc<Program>, args: &[ArrayData]) -> Result<Vec<ArrayId>, Error> {
    let plain = Backend::prepare(&Native::tiles(), program, &RunLimits::none())?.plan().launches().count();
    let stmts = &program.body.stmts;
    let has_own =
        |a: &ArrayId| stmts.iter().any(|s| matches!(s.op, ArrayOp::Compute { xs, schedule: Some(_) } if xs == *a));
    let hands_on = |s: &&Stmt| matches!(s.op, ArrayOp::Compute { .. });
    let mut found = Vec::new();
    for array in stmts.iter().filter(|s| !hands_on(s)).flat_map(|s| &s.results).copied().filter(|a| !has_own(a)) {
        // Arrays that no loop nest computes are not searched for.
        let Ok((_, prepared)) = nest_of(program, array) else { continue };
        let launch = scheduled_launch(&prepared)?;
        if prepared.plan().launches().count() == plain && keeps_bits(&prepared, launch, args)? {
            found.push(array);
        }
    }
    Ok(found)
}

/// Whether a block calls functions of the host, inner blocks included.
pub(crate) fn has_foreign_function(b: &Block) -> bool {
    let calls = |op: &ArrayOp| matches!(op, ArrayOp::Foreign { .. });
    b.stmts
        .iter()
        .any(|s| calls(&s.op) || s.op.blocks().into_iter().any(|b| acc_core::grow_stack(|| has_foreign_function(b))))
}

/// Whether results have the bits of a run without a schedule, on these arguments.
fn keeps_bits(prepared: &Prepared, launch: &Launch, args: &[ArrayData]) -> Result<bool, Error> {
    let (extents, arrays) = extents_of(prepared, launch, args)?;
    let mut values: Vec<Option<Value>> = vec![None; prepared.simplified().types.len()];
    let mut set = |a: ArrayId, shape: Vec<usize>| {
        if let Some(value) = values.get_mut(a.index()) {
            *value = Some(Value::of_shape(&shape));
        }
    };
    for &a in &launch.arrays {
        set(a, arrays.iter().filter(|(of, ..)| *of == a).map(|(.., n)| *n).collect());
    }
    set(launch.over, extents.clone());
    Ok(schedules_keep_bits(launch, &extents, &values))
}

/// The launch whose kernel has a schedule.
fn scheduled_launch(prepared: &Prepared) -> Result<&Launch, Error> {
    let found = prepared.plan().launches().find(|l| l.kernel.has_schedule);
    found.ok_or_else(|| Error::defect(NAME, "no kernel has the schedule that it was given"))
}

/// An extent: of which array, along which dimension.
type Extent = (ArrayId, usize, usize);

/// The extents of a launch's axes on these arguments, and those of the arrays that it reads.
fn extents_of(prepared: &Prepared, launch: &Launch, args: &[ArrayData]) -> Result<(Vec<usize>, Vec<Extent>), Error> {
    let simplified = prepared.simplified();
    let mut program = simplified.clone();
    let mut wanted: Vec<(ArrayId, usize)> = (0..launch.kernel.axes.len()).map(|axis| (launch.over, axis)).collect();
    for &a in &launch.arrays {
        wanted.extend((0..simplified.ty(a).rank).map(|dim| (a, dim)));
    }
    program.body.results.clear();
    for &(array, dim) in &wanted {
        let result = ArrayId(u32::try_from(program.types.len()).unwrap_or(u32::MAX));
        program.types.push(acc_core::ir::ArrayType { rank: 0, elt: ScalarType::I64.into() });
        let op = ArrayOp::Generate { shape: constant_shape(), f: extent_of(array, dim) };
        program.body.stmts.push(Stmt { results: [result].into_iter().collect(), op, loc: Loc::unknown() });
        program.body.results.push(result);
    }
    let values = Native::tiles().run_untyped(&Arc::new(program), args, &RunLimits::none())?;
    let number = |a: &ArrayData| a.columns().first().and_then(|c| c.slice().get(0)).map_or(0, |lit| lit.bits);
    let sizes: Vec<usize> = values.iter().map(|a| usize::try_from(number(a)).unwrap_or(0)).collect();
    let axes = launch.kernel.axes.len();
    let arrays = wanted.iter().zip(&sizes).skip(axes).map(|(&(a, dim), &n)| (a, dim, n)).collect();
    Ok((sizes[..axes].to_vec(), arrays))
}

/// The extents of a rank-0 array.
fn constant_shape() -> Fun {
    Fun { types: Vec::new(), body: Region { params: Vec::new(), nodes: Vec::new(), results: Vec::new() } }
}

/// The function that yields an extent of an array.
fn extent_of(array: ArrayId, dim: usize) -> Fun {
    let dim = u32::try_from(dim).unwrap_or(u32::MAX);
    let value = Val(0);
    let node =
        Node { results: [value].into_iter().collect(), op: ScalarOp::Extent { array, axis: dim }, loc: Loc::unknown() };
    let body = Region { params: Vec::new(), nodes: vec![node], results: vec![value] };
    Fun { types: vec![ScalarType::I64], body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::{EltType, Prim};
    use acc_core::text::parse;

    /// A convolution whose folds over channels, rows and columns of the window are one kernel.
    #[test]
    fn folds_of_folds_are_searched_as_the_nest_that_they_are() {
        let text = "program(x: [3]i64, w: [3]i64) {
            terms: [5]i64 = generate(shape: || (sub(extent(x, 1), 2i64), sub(extent(x, 2), 2i64), 2i64, 3i64, 3i64),
              f: |%y: i64, %z: i64, %c: i64, %p: i64, %q: i64| mul(x[%c, add(%y, %p), add(%z, %q)], w[%c, %p, %q]))
            rows: [4]i64 = fold1(terms, f: |%a: i64, %b: i64| add(%a, %b))
            windows: [3]i64 = fold1(rows, f: |%a: i64, %b: i64| add(%a, %b))
            o: [2]i64 = fold1(windows, f: |%a: i64, %b: i64| add(%a, %b))
            yield o
          }";
        let program = Arc::new(parse("convolution.acc", text).unwrap());
        let ones = |shape: [usize; 3]| {
            let elements = (0..shape.iter().product()).map(|_| [1i64.lit()]);
            ArrayData::from_leaves(shape, EltType::Scalar(ScalarType::I64), elements).unwrap()
        };
        let args = [ones([2, 10, 12]), ones([2, 3, 3])];
        let options = SearchOptions { measured: 0, rounds: 1, ..SearchOptions::default() };
        let found = search(&program, ArrayId(5), &args, &options, &mut |_, _| {}).unwrap();
        assert_eq!(found.folded, [false, false, true, true, true]);
        assert_eq!(tunable(&program, &args).unwrap(), [ArrayId(5)]);
    }
}
