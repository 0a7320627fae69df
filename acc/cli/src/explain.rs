//! `acc explain FILE`

use crate::output::{read_program, say};
use acc_core::ir::Program;
use acc_core::{Backend, RunLimits};
use backend_graph::specialise::{Cutting, arguments, cut_axes};
use backend_native::Native;
use conformance::structure;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what the native executor makes of a program.
#[derive(clap::Args)]
pub struct Args {
    /// A program or test file in text form; `-` is standard input.
    file: PathBuf,
    /// With the simplified program, whose names the explanation uses.
    #[arg(long)]
    program: bool,
    /// With the kernels in the kernel IR.
    #[arg(long)]
    kernel_ir: bool,
    /// The structure of the native code and of the graph alone, as test files expect it.
    #[arg(long)]
    structure: bool,
    /// With the code that LLVM makes of the kernels, as its IR before and after optimisation and in assembly language.
    #[arg(long)]
    code: bool,
    /// What processes send each other in place of kernels, if XLA runs the program on so many.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
    /// With `--processes`, the extents of parameters, `xs=1024x10,ys=10`, and the numbers of those of rank 0, `n=5`.
    #[arg(long, requires = "processes", default_value = "", hide_default_value = true)]
    extents: String,
    /// With `--processes`, the parameters that are cut, with the axis of each, `xs:0,ys:1`; if not given, those that
    /// executors cut.
    #[arg(long, requires = "processes")]
    cut: Option<String>,
}

pub fn main(args: &Args) -> crate::Outcome {
    let program = read_program(&args.file)?.program;
    if args.structure {
        for executor in structure::executors() {
            say!("{}", structure::of(executor, &program)?);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(processes) = args.processes {
        return on_processes(args, &program, processes);
    }
    let prepared = Native::new().prepare(&program, &RunLimits::none()).map_err(|e| e.to_string())?;
    let explanation = prepared.explain();
    if args.program {
        say!("{:#}", prepared.simplified());
    }
    if args.kernel_ir {
        say!("{}", explanation.kernel_ir().trim_end());
    }
    if args.code {
        say!("{}", prepared.listing().trim_end());
    }
    say!("{}", explanation.to_string().trim_end());
    if program.has_derivatives() {
        say!("\nderivatives:");
        let (rules, limits) = (acc_desugar::Rules::all(), RunLimits::none());
        let settings = backend_native::pass_settings(&rules, &limits);
        for note in acc_desugar::explain_derivatives(&program, &settings).map_err(|e| e.to_string())? {
            say!("  {note}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The collectives of a program, by their names.
fn on_processes(args: &Args, program: &Program, processes: u32) -> crate::Outcome {
    let arguments = arguments(program, &args.extents).map_err(|e| e.to_string())?;
    let axes = args.cut.as_ref().map(|text| cut_axes(program, text)).transpose().map_err(|e| e.to_string())?;
    let found = backend_xla::collectives(program, &arguments, Cutting::over(processes), axes.as_deref());
    let found = found.map_err(|e| e.to_string())?;
    let mut by_name: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for collective in &found {
        let (count, bytes) = by_name.entry(&collective.name).or_default();
        (*count, *bytes) = (*count + 1, *bytes + collective.bytes);
    }
    for (name, (count, bytes)) in &by_name {
        say!("{count} {name}, {bytes} B on each process");
    }
    let bytes: u64 = found.iter().map(|c| c.bytes).sum();
    say!("on {processes} processes: {} collectives, {bytes} B; those in a loop in each of its steps", found.len());
    Ok(ExitCode::SUCCESS)
}
