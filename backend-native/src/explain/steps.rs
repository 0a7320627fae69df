//! The steps of a program in order of execution: kernels, and steps without a kernel.

use super::{Explanation, KernelReport, ReadReport};
use crate::lower::Materialization;
use crate::prepare::{Step, Work};
use acc_core::ir::{ArrayId, ForeignFun, Loc, Names};
use acc_desugar::fuse::End;
use std::fmt::{self, Formatter};

/// The deepest indentation, so that the length of the text remains linear in that of the program.
const MAX_INDENT: usize = 32;

/// A step. Those of loops and conditionals follow the step of the loop or conditional.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Levels of indentation: two per enclosing block.
    pub depth: usize,
    /// What it is.
    pub what: StepKind,
}

/// What a step is.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// The kernel of this number.
    Kernel(usize),
    /// A sort, which is not a kernel.
    Sort {
        /// The sort and its result.
        title: String,
        /// What it defines.
        results: Vec<ArrayId>,
        /// Where the user wrote it.
        loc: Loc,
    },
    /// Any other step without a kernel: a view, a checked condition, a loop, a conditional, a host function.
    Apart {
        /// What it does.
        title: String,
        /// What it defines.
        results: Vec<ArrayId>,
        /// Where the user wrote it.
        loc: Loc,
    },
    /// Not a step: a block of the preceding loop, conditional or host function, whose steps follow.
    Block(&'static str),
}

impl StepReport {
    /// A step of a plan, if it does anything; `kernel` is its number if it is a kernel.
    pub(super) fn of(step: &Step, kernel: usize, depth: usize) -> Option<StepReport> {
        let (loc, results) = (step.loc.clone(), step.results.clone());
        let apart = |kind: &str, of: &[ArrayId]| {
            let mut title = format!("{kind}: ");
            if !step.results.is_empty() {
                title += &format!("{} = ", list(&step.results));
            }
            title += step.op;
            if !of.is_empty() {
                title += &format!(" of {}", list(of));
            }
            title
        };
        let what = match &step.work {
            Work::Kernel { .. } => StepKind::Kernel(kernel),
            Work::Array { materialization: Materialization::Fused, .. } => return None,
            Work::Array { materialization: Materialization::Argsort, op, .. } => {
                StepKind::Sort { title: apart("sort", &op.arrays()), results, loc }
            }
            Work::Array { materialization: Materialization::Selection(end), op, .. } => {
                let end = if *end == End::First { "first" } else { "last" };
                StepKind::Sort { title: apart(&format!("selection of the {end}"), &op.arrays()), results, loc }
            }
            Work::Array { materialization: Materialization::Sort, op, .. } => {
                let title = format!("sort: {} = {}, sorted", list(&step.results), list(&op.arrays()));
                StepKind::Sort { title, results, loc }
            }
            Work::Array { materialization: Materialization::View, op, .. } => {
                StepKind::Apart { title: apart("no copy", &op.arrays()), results, loc }
            }
            Work::If { .. } => StepKind::Apart { title: apart("conditional", &[]), results, loc },
            Work::While { init, .. } => StepKind::Apart { title: apart("loop", init), results, loc },
            Work::Foreign { function: ForeignFun::Host(name), xs, .. } => {
                StepKind::Apart { title: apart(&format!("host function {name:?}"), xs), results, loc }
            }
            Work::Foreign { function: ForeignFun::Trace(message), xs, .. } => {
                StepKind::Apart { title: apart(&format!("message {message:?}"), xs), results, loc }
            }
        };
        Some(StepReport { depth, what })
    }

    pub(super) fn show(&self, f: &mut Formatter<'_>, all: &Explanation) -> fmt::Result {
        let indent = "  ".repeat(self.depth.min(MAX_INDENT));
        match &self.what {
            StepKind::Block(name) => writeln!(f, "{indent}{name}:"),
            StepKind::Sort { title, results, loc } | StepKind::Apart { title, results, loc } => {
                writeln!(f, "{indent}{title}")?;
                places(f, &indent, &all.names, results.iter().map(|&r| (r, loc)))
            }
            StepKind::Kernel(number) => match all.kernels.get(*number) {
                Some(kernel) => show_kernel(f, &indent, *number, kernel, &all.names),
                None => Ok(()),
            },
        }
    }
}

fn show_kernel(f: &mut Formatter<'_>, indent: &str, number: usize, k: &KernelReport, names: &Names) -> fmt::Result {
    writeln!(f, "{indent}kernel {number} over ({}): {}", k.axes, k.title)?;
    places(f, indent, names, k.results.iter().map(|(r, _)| *r).zip(&k.locs))?;
    if !k.fused.is_empty() {
        let named = k.fused.iter().map(|&a| match names.get(a) {
            Some(name) => format!("{a} (`{name}`)"),
            None => a.to_string(),
        });
        writeln!(f, "{indent}  with {}", named.collect::<Vec<_>>().join(", "))?;
    }
    let mut shown: Vec<&ReadReport> = Vec::new();
    for read in &k.accesses {
        if read.along.is_empty() || shown.contains(&read) {
            continue;
        }
        shown.push(read);
        let along: Vec<String> =
            (0..).zip(&read.along).map(|(k, access): (u32, _)| format!("{access} along i{k}")).collect();
        let times = match k.accesses.iter().filter(|r| *r == read).count() {
            1 => String::new(),
            n => format!(" {n} times"),
        };
        writeln!(f, "{indent}  reads {}{times}: {}", read.array, along.join(", "))?;
    }
    if let Some(loops) = &k.loops {
        writeln!(f, "{indent}  loops {loops}{}", if k.has_schedule { ", by the program's schedule" } else { "" })?;
    }
    if let Some(collapsed) = k.collapsed.as_ref().map(ToString::to_string).filter(|text| !text.is_empty()) {
        writeln!(f, "{indent}    {collapsed}")?;
    }
    k.manner.iter().try_for_each(|way| writeln!(f, "{indent}  {way}"))?;
    if let Some(reason) = &k.on_tiles {
        writeln!(f, "{indent}  machine code does not do all of it: {reason}")?;
    }
    writeln!(f, "{indent}  {} bytes read and {} stored for each point", k.bytes_read, k.bytes_stored)
}

/// The user's names of arrays, and where they are defined, as far as known, without repetitions.
fn places<'a>(
    f: &mut Formatter<'_>,
    indent: &str,
    names: &Names,
    arrays: impl Iterator<Item = (ArrayId, &'a Loc)>,
) -> fmt::Result {
    let mut places: Vec<String> = Vec::new();
    for (a, loc) in arrays {
        let place = match (names.get(a), loc.file()) {
            (Some(name), Some(_)) => format!("`{name}` at {loc}"),
            (Some(name), None) => format!("`{name}`"),
            (None, Some(_)) => format!("at {loc}"),
            (None, None) => continue,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() { Ok(()) } else { writeln!(f, "{indent}  {}", places.join(", ")) }
}

fn list(arrays: &[ArrayId]) -> String {
    arrays.iter().map(ArrayId::to_string).collect::<Vec<_>>().join(", ")
}
