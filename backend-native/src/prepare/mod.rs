//! From a verified program to executable code, by the passes of [`pipeline`](acc_desugar::pipeline): a plan whose
//! kernels and closed functions have their code.

mod code;

use crate::llvm::unsupported_loops;
use crate::lower::{self, Settings, lower};
use acc_core::ir::{Dir, Fun, Program};
use acc_core::{Error, RunLimits};
use acc_desugar::analysis::choice::Choice;
use acc_desugar::analysis::operators::reductions;
use acc_desugar::pass::{self, Pass, Stage};
use acc_desugar::{Rules, Segmented};
#[cfg(test)]
pub(crate) use code::collapsed;
use code::compile;
pub(crate) use code::{FunCode, KernelCode};

/// Plans whose kernels and closed functions have their code.
pub(crate) type Plan = lower::Plan<KernelCode, FunCode>;
pub(crate) type Step = lower::Step<KernelCode, FunCode>;
pub(crate) type Work = lower::Work<KernelCode, FunCode>;
pub(crate) type Part = lower::Part<FunCode>;
pub(crate) type Launch = lower::Launch<KernelCode>;
pub(crate) type Closed = lower::Closed<FunCode>;

/// The executable form of a program.
pub(crate) struct Executable {
    /// The program that was lowered: the plan's array numbers refer to it.
    pub(crate) program: Program,
    pub(crate) plan: Plan,
    /// Whether indices are checked.
    pub(crate) checks: bool,
    /// Whether it finds the first of several faults: its statements are not fused.
    pub(crate) in_order: bool,
}

impl Executable {
    /// Runs these passes, within the limits of a run.
    pub(crate) fn new(
        passes: &[Pass],
        program: &Program,
        rules: &Rules,
        settings: Settings,
        limits: &RunLimits,
    ) -> Result<Executable, Error> {
        let told = acc_desugar::Settings {
            fuse: settings.fuse,
            kept_states: settings.kept_states,
            ..pass_settings(rules, limits)
        };
        let Stage::Fused(program, fusion) = pass::run(passes, program, &told)? else {
            return Err(Error::defect(crate::NAME, "the passes before lowering do not end with fusion"));
        };
        let plan = pass::finish("lower", &told, || lower(&program, &fusion, settings, limits), lower::Plan::verify)?;
        for launch in plan.launches().filter(|launch| launch.kernel.has_schedule) {
            let collapsed = launch.collapsed.as_ref().map(|c| &c.launch.kernel);
            if let Some(why) = [&launch.kernel].into_iter().chain(collapsed).find_map(unsupported_loops) {
                return Err(lower::refused_schedule(&program, &launch.kernel, &why.to_string()));
            }
        }
        let plan = compile(plan, limits)?;
        Ok(Executable { program: program.into_owned(), plan, checks: settings.checks, in_order: !settings.fuse })
    }
}

/// The settings with which this executor runs the passes of [`pipeline::NATIVE`](acc_desugar::pipeline::NATIVE).
pub fn pass_settings<'a>(rules: &'a Rules, limits: &'a RunLimits) -> acc_desugar::Settings<'a> {
    acc_desugar::Settings { segmented: |_, f, _| segmented(f), ..acc_desugar::Settings::new(rules, limits) }
}

/// How a segmented fold is lowered: with built-in operators of all leaves, or one that keeps one of two elements whole, to a kernel
/// of its own.
fn segmented(f: &Fun) -> Segmented {
    let has_kernel = reductions(f).is_some() || Choice::of_either(f, Dir::Left).is_some();
    if has_kernel { Segmented::Checked } else { Segmented::Runs }
}
