//! What a graph is specialised to, for compilers that want every extent as a number.
//!
//! A size is one of three things. It is a *number* where it follows from the extents of the arguments, or the host has
//! looked at it. It stays on the *device*, a scalar of the module, where only data tell and only operations need it:
//! counters, positions of slices, conditions. And where an *extent* needs it, the host must look at it first: the graph
//! runs in stages, and a [`Need`] says what ends one.

use acc_core::data::ScalarType;
use acc_core::ir::{ArrayType, Program};
use acc_desugar::graph::{Graph, Type, Value};
use std::collections::HashMap;
use std::fmt;

/// What is known of a graph's values when a module is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Specialisation {
    /// The extents of tensors that are computed before the module runs; of sizes that are scalars of the device, none.
    pub shapes: HashMap<Value, Vec<i64>>,
    /// Numbers: of sizes, of tensors of rank 0 of `i64` or `bool`, of [`Op::Nonzero`] how many positions it
    /// finds, and of checks that were made, 0.
    ///
    /// [`Op::Nonzero`]: acc_desugar::graph::Op::Nonzero
    pub numbers: HashMap<Value, i64>,
    /// The axes along which tensors that are computed before the module runs are cut over the processes.
    pub cut: HashMap<Value, usize>,
}

/// The fewest bytes of an array that is cut unless it is asked for: of what is smaller every process has all.
pub const MIN_CUT_BYTES: u64 = 64 << 10;

/// How the arrays of a run are cut over processes: in parts of as many positions of an axis, of which the last ones may be
/// shorter, or empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cutting {
    /// The number of processes.
    pub processes: u32,
    /// The fewest bytes of an array that is cut.
    pub min_bytes: u64,
}

impl Cutting {
    /// Over so many processes, by the rule of executors.
    pub fn over(processes: u32) -> Cutting {
        Cutting { processes, min_bytes: MIN_CUT_BYTES }
    }

    /// The rule: an array is cut along its outermost axis if that has a position for every process, and the array is not
    /// small.
    pub fn axis(&self, extents: &[i64], ty: ScalarType) -> Option<usize> {
        let rows = *extents.first()?;
        let bytes = extents.iter().fold(ty.size() as u64, |n, e| n.saturating_mul(u64::try_from(*e).unwrap_or(0)));
        let processes = i64::from(self.processes);
        (processes > 1 && rows >= processes && bytes >= self.min_bytes).then_some(0)
    }

    /// How many positions each process has of so many, the last ones' padding among them.
    pub fn part(&self, positions: i64) -> i64 {
        let processes = i64::from(self.processes.max(1));
        (positions + processes - 1).div_euclid(processes)
    }

    /// So many positions with padding.
    pub fn padded(&self, positions: i64) -> i64 {
        self.part(positions).saturating_mul(i64::from(self.processes.max(1)))
    }
}

/// What is known of an argument of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// Its extents.
    Extents(Vec<i64>),
    /// Of rank 0, the number that it holds.
    Number(i64),
}

/// The parameters of a graph that belong to an array.
pub(crate) struct Parameter<'g> {
    pub(crate) extents: &'g [Value],
    pub(crate) columns: &'g [Value],
}

/// The parameters of a graph, or its results, array by array.
pub(crate) fn by_array<'g>(mut values: &'g [Value], types: &[ArrayType]) -> Vec<Parameter<'g>> {
    let mut take = |n: usize| {
        let (taken, rest) = values.split_at(n.min(values.len()));
        values = rest;
        taken
    };
    types.iter().map(|ty| Parameter { extents: take(ty.rank), columns: take(ty.elt.leaves().len()) }).collect()
}

impl Specialisation {
    /// By arguments, one for each of the program's arrays, which are of these types.
    pub fn new(graph: &Graph, types: &[ArrayType], arguments: &[Argument]) -> Specialisation {
        let mut out = Specialisation::default();
        for (array, argument) in by_array(&graph.body.params, types).iter().zip(arguments) {
            let extents = match argument {
                Argument::Extents(extents) => extents.as_slice(),
                Argument::Number(_) => &[],
            };
            out.numbers.extend(array.extents.iter().copied().zip(extents.iter().copied()));
            out.shapes.extend(array.columns.iter().map(|c| (*c, extents.to_vec())));
            if let (Argument::Number(n), [column]) = (argument, array.columns) {
                out.numbers.insert(*column, *n);
            }
        }
        out
    }
}

impl Specialisation {
    /// Cuts the arguments along these axes, one for each of the program's arrays, or, if none are said, by the rule.
    pub(crate) fn cut_arguments(
        &mut self,
        graph: &Graph,
        types: &[ArrayType],
        cutting: Cutting,
        axes: Option<&[Option<usize>]>,
    ) {
        for (k, array) in by_array(&graph.body.params, types).iter().enumerate() {
            for column in array.columns {
                let by_rule = || match (graph.ty(*column), self.shapes.get(column)) {
                    (Type::Tensor { scalar, .. }, Some(extents)) => cutting.axis(extents, scalar),
                    _ => None,
                };
                let axis = axes.map_or_else(by_rule, |axes| axes.get(k).copied().flatten());
                self.cut.extend(axis.map(|axis| (*column, axis)));
            }
        }
    }
}

/// The axes along which the parameters of a program are cut by a text: `xs:0, ys:1`; those that are not named are not cut.
pub fn cut_axes(program: &Program, text: &str) -> Result<Vec<Option<usize>>, ExtentsError> {
    let params = named_params(program);
    let error = |problem: String| ExtentsError { problem, ..ExtentsError::of(&params, "--cut 'xs:0'".to_string()) };
    let mut axes = vec![None; params.len()];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, axis) =
            part.split_once(':').ok_or_else(|| error(format!("`{part}` is not of the form NAME:AXIS")))?;
        let at = params.iter().position(|(known, _)| known == name.trim());
        let at = at.ok_or_else(|| error(format!("there is no parameter `{}`", name.trim())))?;
        let rank = params.get(at).map_or(0, |(_, ty)| ty.rank);
        let axis: usize = axis.trim().parse().ok().filter(|axis| *axis < rank).ok_or_else(|| {
            error(format!("`{}` is no axis of `{}`, whose axes are 0 to less than {rank}", axis.trim(), name.trim()))
        })?;
        if let Some(slot) = axes.get_mut(at) {
            *slot = Some(axis);
        }
    }
    Ok(axes)
}

/// What the host must do before the rest of a graph can be specialised.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Need {
    /// Look at a number, as [`Specialisation::numbers`] has them.
    Number(Value),
    /// Run the node that defines this value: a loop whose steps change extents, step by step, or a trace.
    Node(Value),
}

/// Why a text does not say what the arguments of a program are.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{problem}\n  {parameters}\n  help: give {example}")]
pub struct ExtentsError {
    problem: String,
    parameters: String,
    example: String,
}

impl ExtentsError {
    /// Without its problem.
    fn of(params: &[(String, &ArrayType)], example: String) -> ExtentsError {
        let parameters = match params {
            [] => "the program has no parameters".to_string(),
            _ => format!("the parameters are {}", joined(params.iter().map(|(name, ty)| format!("{name}: {ty}")))),
        };
        ExtentsError { problem: String::new(), parameters, example }
    }
}

fn named_params(program: &Program) -> Vec<(String, &ArrayType)> {
    (program.body.params.iter())
        .map(|a| (program.names.get(*a).map_or_else(|| a.to_string(), |n| n.to_string()), program.ty(*a)))
        .collect()
}

/// The arguments of a program by a text: `xs=1024x10, n=8`, the extents of each parameter. One of rank 0 needs none; its
/// number is what it holds.
pub fn arguments(program: &Program, text: &str) -> Result<Vec<Argument>, ExtentsError> {
    let params = named_params(program);
    let error = |problem: String| ExtentsError { problem, ..ExtentsError::of(&params, example(&params)) };
    let mut given = HashMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, numbers) =
            part.split_once('=').ok_or_else(|| error(format!("`{part}` is not of the form NAME=EXTENTS")))?;
        let (name, ty) = (params.iter())
            .find(|(known, _)| known == name.trim())
            .map(|(name, ty)| (name.as_str(), *ty))
            .ok_or_else(|| error(format!("there is no parameter `{}`", name.trim())))?;
        let numbers: Vec<i64> = (numbers.split('x').map(|n| n.trim().parse()))
            .collect::<Result<_, _>>()
            .map_err(|_| error(format!("`{}` are no extents", numbers.trim())))?;
        let wanted = if ty.rank == 0 { 1 } else { ty.rank };
        if numbers.len() != wanted || (ty.rank > 0 && numbers.iter().any(|n| *n < 0)) {
            return Err(error(format!("`{part}` does not fit `{name}`, which is of type {ty}")));
        }
        if ty.rank == 0 && !holds_number(ty) {
            return Err(error(format!("`{name}` has no extents, and holds no integer of 64 bits")));
        }
        given.insert(name, numbers);
    }
    (params.iter())
        .map(|(name, ty)| match (given.remove(name.as_str()), ty.rank) {
            (Some(numbers), 0) => Ok(Argument::Number(numbers.first().copied().unwrap_or(0))),
            (Some(numbers), _) => Ok(Argument::Extents(numbers)),
            (None, 0) => Ok(Argument::Extents(Vec::new())),
            (None, _) => Err(error(format!("the extents of the parameter `{name}` are missing"))),
        })
        .collect()
}

/// Whether an array of rank 0 may be what an extent depends on.
fn holds_number(ty: &ArrayType) -> bool {
    matches!(ty.elt.leaves()[..], [ScalarType::I64 | ScalarType::Bool])
}

fn example(params: &[(String, &ArrayType)]) -> String {
    let with_extents: Vec<String> = (params.iter())
        .filter(|(_, ty)| ty.rank > 0)
        .map(|(name, ty)| format!("{name}={}", vec!["8"; ty.rank].join("x")))
        .collect();
    format!("--extents '{}'", with_extents.join(","))
}

fn joined(parts: impl Iterator<Item = impl fmt::Display>) -> String {
    parts.map(|p| p.to_string()).collect::<Vec<_>>().join(", ")
}
