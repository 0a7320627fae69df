//! `acc print FILE`

use crate::output::{read_program, say};
use acc_core::RunLimits;
use acc_desugar::{pass_names, simplify, simplify_until};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print a program in text form.
#[derive(clap::Args)]
pub struct Args {
    /// A program or test file in text form.
    file: PathBuf,
    /// After this pass: one of simplification, which runs those before it, too; `simplify`, all of them; `flatten`, the
    /// graph of tensor operations; `lower`, the kernels of the native executor.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
    /// With the source location of every operation.
    #[arg(long)]
    locations: bool,
}

pub fn main(args: &Args) -> crate::Outcome {
    let program = read_program(&args.file)?.program;
    let show = |p: &acc_core::ir::Program| if args.locations { p.to_string() } else { format!("{p:#}") };
    let text = match args.after.as_deref() {
        None => show(&program),
        Some("simplify") => show(&simplify(&program)),
        Some("flatten") => {
            let graph = backend_graph::graph_of(&program).map_err(|e| e.to_string())?;
            backend_graph::export(&graph, backend_graph::Format::Text)
        }
        Some("lower") => {
            use acc_core::Backend;
            backend_native::Native::new()
                .prepare(&program, &RunLimits::none())
                .map_err(|e| e.to_string())?
                .explain()
                .kernel_ir()
        }
        Some(pass) => match simplify_until(&program, pass) {
            Some(p) => show(&p),
            None => {
                let names: Vec<&str> = pass_names().chain(["simplify", "flatten", "lower"]).collect();
                return Err(format!("there is no pass `{pass}`; there are: {}", names.join(", ")));
            }
        },
    };
    say!("{}", text.trim_end());
    Ok(ExitCode::SUCCESS)
}
