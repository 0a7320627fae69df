//! `acc explain FILE`

use crate::output::{read_program, say};
use acc_core::{Backend, RunLimits};
use backend_native::Native;
use conformance::structure;
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
}

pub fn main(args: &Args) -> crate::Outcome {
    let program = read_program(&args.file)?.program;
    if args.structure {
        for executor in structure::executors() {
            say!("{}", structure::of(executor, &program)?);
        }
        return Ok(ExitCode::SUCCESS);
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
