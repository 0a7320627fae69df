//! Random well-typed programs, as test files.
//!
//! Extents are tracked while a program is made, as far as they follow from those of its inputs, so that nearly all of
//! its operations are valid on them. On other extents, of which each file has a second run, more may fault.

use super::Choices;
use super::scalar::Region;
use acc_core::data::ScalarType as T;
use std::fmt::Write;

/// What floats a program computes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Exactly rounded operations in a fixed order: every executor must give the same bits.
    Exact,
    /// Mathematical functions and sums of floats, too: results are held to intervals.
    Tolerant,
    /// Floats are small integers, which sums, products and choices alone make larger: exact in any order.
    Dyadic,
    /// As [`Mode::Tolerant`], in double precision alone and at ordinary numbers, so that differences of values say what the
    /// derivative is.
    Smooth,
}

impl Mode {
    /// Whether all floats are of type `f64`, most elements have one, and arrays are small.
    pub(super) fn is_of_doubles(self) -> bool {
        matches!(self, Mode::Dyadic | Mode::Smooth)
    }
    /// Whether the result of each operation is that of exact arithmetic, rounded once, or exact.
    pub(super) fn is_exact(self) -> bool {
        matches!(self, Mode::Exact | Mode::Dyadic)
    }
}

/// An array that a program may use.
#[derive(Clone, Debug)]
pub(super) struct ArrayVar {
    pub(super) name: String,
    /// Of its elements.
    pub(super) leaves: Vec<T>,
    /// Its extents in the first run; those that are not known when the program is made are absent.
    pub(super) dims: Vec<Option<usize>>,
}

impl ArrayVar {
    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }
    fn known(&self) -> Option<Vec<usize>> {
        self.dims.iter().copied().collect()
    }
    /// Whether the extent of this axis is at least so much in the first run.
    pub(super) fn at_least(&self, axis: usize, n: usize) -> bool {
        self.dims.get(axis).copied().flatten().is_some_and(|d| d >= n)
    }
    pub(super) fn elt(&self) -> String {
        elt(&self.leaves)
    }
}

/// An element type as text.
pub(super) fn elt(leaves: &[T]) -> String {
    match leaves {
        [one] => one.to_string(),
        several => format!("({})", several.iter().map(T::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A program in the making.
pub(super) struct Generator {
    pub(super) choices: Choices,
    pub(super) mode: Mode,
    names: usize,
    /// How deep the expression in the making nests.
    pub(super) depth: usize,
    /// How many nodes the function in the making may still have.
    pub(super) budget: usize,
    /// How deep the statement in the making nests in blocks.
    pub(super) blocks: usize,
}

/// The extents of inputs, the small ones first.
const EXTENTS: [usize; 14] = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 16, 33, 70];

/// How many of them are small enough for the inputs of a program of doubles.
const SMALL_EXTENTS: usize = 9;

/// A test file with two runs on different extents that expect executors to agree.
pub fn program(choices: Choices, mode: Mode) -> String {
    let mut g = Generator { choices, mode, names: 0, depth: 0, budget: 0, blocks: 0 };
    let inputs: Vec<ArrayVar> = (0..1 + g.choices.below(4)).map(|k| g.input(k)).collect();
    let params: Vec<String> = inputs.iter().map(|a| format!("{}: [{}]{}", a.name, a.rank(), a.elt())).collect();
    let mut text = format!("program({}) {{\n", params.join(", "));
    let mut arrays = inputs.clone();
    let statements = 1 + g.choices.below(7);
    let body = g.statements(statements, &mut arrays);
    text += &body;
    let mut results: Vec<&str> = arrays[inputs.len()..].iter().map(|a| a.name.as_str()).collect();
    if results.is_empty() || g.choices.chance(5) {
        results.push(&inputs[0].name);
    }
    if g.choices.chance(60) {
        // Not all is needed.
        let keep = 1 + g.choices.below(results.len());
        results.drain(..results.len() - keep);
    }
    let _ = writeln!(text, "  yield {}\n}}", results.join(", "));
    let dims: Vec<Vec<usize>> = inputs.iter().filter_map(ArrayVar::known).collect();
    let first = g.run("first", &inputs, &dims);
    let others: Vec<Vec<usize>> =
        dims.iter().map(|d| d.iter().map(|_| *g.choices.pick(&EXTENTS[..12])).collect()).collect();
    let others = others.into_iter().map(smaller).collect::<Vec<_>>();
    let second = g.run("other extents", &inputs, &others);
    text + &first + &second
}

/// Extents of an array that is not large.
fn smaller(mut dims: Vec<usize>) -> Vec<usize> {
    while dims.iter().product::<usize>() > 400 {
        if let Some(greatest) = dims.iter_mut().max() {
            *greatest /= 2;
        }
    }
    dims
}

impl Generator {
    pub(super) fn fresh(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    pub(super) fn array_name(&mut self) -> String {
        self.names += 1;
        format!("r{}", self.names)
    }

    /// Leaves of an element type.
    pub(super) fn leaves(&mut self) -> Vec<T> {
        let count = self.choices.weighted(&[(60, 1), (20, 2), (10, 3), (5, 4), (5, 5)]);
        match count {
            // All of one type, as complex numbers, vectors and matrices are.
            4 => vec![self.scalar_type(); 4],
            5 => (0..2 + self.choices.below(6)).map(|_| self.scalar_type()).collect(),
            n => (0..n).map(|_| self.scalar_type()).collect(),
        }
    }

    fn input(&mut self, k: usize) -> ArrayVar {
        let rank = self.choices.weighted(&[(10, 0), (50, 1), (25, 2), (10, 3), (5, 4)]);
        let extents = if self.mode.is_of_doubles() { &EXTENTS[..SMALL_EXTENTS] } else { &EXTENTS[..] };
        let large = rank == 1 && !self.mode.is_of_doubles() && self.choices.chance(3);
        let dims = match large {
            // Beyond a tile, and now and then beyond what one thread takes.
            true => vec![*self.choices.pick(&[255, 1024, 1025, 4099, 20_000])],
            false => smaller((0..rank).map(|_| *self.choices.pick(extents)).collect()),
        };
        let leaves = self.leaves();
        ArrayVar { name: format!("x{k}"), leaves, dims: dims.into_iter().map(Some).collect() }
    }

    fn run(&mut self, name: &str, inputs: &[ArrayVar], dims: &[Vec<usize>]) -> String {
        let mut text = format!("run \"{name}\" {{\n");
        for (a, dims) in inputs.iter().zip(dims) {
            let size: usize = dims.iter().product();
            let shape = dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let data = if size > 80 {
                format!("lcg({}, 0, 100)", self.choices.below(1000))
            } else {
                let one = |g: &mut Generator| -> String {
                    let leaves: Vec<String> = a.leaves.iter().map(|&t| g.untyped(t)).collect();
                    if leaves.len() == 1 { leaves.concat() } else { format!("({})", leaves.join(", ")) }
                };
                format!("{{ {} }}", (0..size).map(|_| one(self)).collect::<Vec<_>>().join(", "))
            };
            let _ = writeln!(text, "  {} = [{shape}] {} {data}", a.name, a.elt());
        }
        text + "  expect agree\n}\n"
    }

    /// So many statements, which add to the arrays there are.
    pub(super) fn statements(&mut self, count: usize, arrays: &mut Vec<ArrayVar>) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let made = self.statement(arrays, &mut text);
            arrays.extend(made);
        }
        text
    }

    /// A function from parameters to leaves; the names of the parameters are new.
    pub(super) fn function(&mut self, params: &[T], results: &[T], arrays: &[ArrayVar]) -> String {
        let params: Vec<(String, T)> = params.iter().map(|&t| (self.fresh(), t)).collect();
        let mut region = Region::new(&params);
        self.budget = 2 + self.choices.below(12);
        let values: Vec<String> = results.iter().map(|&t| self.value(t, &mut region, arrays)).collect();
        format!("|{}| {}", list(&params), region.close(&values))
    }
}

/// Parameters as text.
pub(super) fn list(params: &[(String, T)]) -> String {
    params.iter().map(|(n, t)| format!("{n}: {t}")).collect::<Vec<_>>().join(", ")
}
