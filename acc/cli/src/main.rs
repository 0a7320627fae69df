//! `acc`: run, check and compare array programs.

mod check;
mod doctor;
mod examples;
mod explain;
mod export;
mod inspect;
mod launch;
mod list;
mod output;
mod print;
mod run;
mod search;
mod testing;

use clap::{Parser, Subcommand};
use examples::{digits, tour};
use output::complain;
use output::trace::{self, Parts};
use std::path::PathBuf;
use std::process::ExitCode;
use testing::{fuzz, matrix, reduce};

/// Array programs on every executor.
#[derive(Parser)]
#[command(name = "acc", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Write what the command does when as a Chrome trace, which Perfetto opens: passes, kernels, tensor operations,
    /// transfers; of `acc launch` and of `--processes` what all processes do, side by side.
    #[arg(long, global = true, value_name = "FILE")]
    trace: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// List the executors, test programs and components.
    List(list::Args),
    /// Read a program or kernels and check that they are well formed.
    Check(check::Args),
    /// Run the program of a test file on its inputs and compare the results with what it expects.
    Run(run::Args),
    /// Start a program as several processes, which run arrays together on XLA.
    Launch(launch::Args),
    /// Write the first-order graph that a program becomes.
    Export(export::Args),
    /// Show the kernels that a program becomes on the native executor, what was fused and what was not, and why.
    Explain(explain::Args),
    /// Write a page that shows a program, what every stage makes of it, and times and memory from a run.
    Inspect(inspect::Args),
    /// Look for the loops that compute an array fastest on the native executor.
    Search(search::Args),
    /// Print a program in text form, as it is or after a pass.
    Print(print::Args),
    /// Make a program small that makes a command fail, while it still does.
    Reduce(reduce::Args),
    /// Run random programs on every executor, and make small those on which executors differ.
    Fuzz(fuzz::Args),
    /// Run every test on every executor and print which components pass.
    Matrix(matrix::Args),
    /// Run every test program as an ONNX model in onnxruntime, and compare.
    CheckOnnx(check::onnx::Args),
    CheckExecutor(check::executor::Args),
    /// Say what this machine offers the executors: LLVM, threads, libtorch.
    Doctor(doctor::Args),
    /// Run eleven example programs on every executor, on real input, and write what they make.
    Tour(tour::Args),
    /// Train a network that reads digits, on MNIST's files or on drawn digits, and show what it learns.
    Digits(digits::Args),
}

/// What a command says when it cannot do its work; the exit status is then 1.
type Outcome = Result<ExitCode, String>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match (&cli.trace, cli.command.processes()) {
        (Some(path), Some(processes)) => {
            trace::of_processes(path, processes, |parts| command(&cli.command, Some(parts)))
        }
        (None, Some(_)) => command(&cli.command, None),
        (_, None) => trace::of_this_process(cli.trace.as_deref(), || command(&cli.command, None)),
    };
    outcome.unwrap_or_else(|message| {
        complain!("error: {message}");
        ExitCode::FAILURE
    })
}

impl Command {
    /// How many processes it starts on this machine, if it starts any.
    fn processes(&self) -> Option<u32> {
        match self {
            Command::Run(args) => args.processes,
            Command::Launch(args) => args.processes(),
            Command::CheckExecutor(args) => args.processes,
            _ => None,
        }
    }
}

/// Runs a command; the processes that it starts leave their traces among these parts.
fn command(command: &Command, parts: Option<&Parts>) -> Outcome {
    match command {
        Command::List(args) => list::main(args),
        Command::Check(args) => check::main(args),
        Command::Run(args) => run::main(args, parts),
        Command::Launch(args) => launch::main(args, parts),
        Command::Export(args) => export::main(args),
        Command::Explain(args) => explain::main(args),
        Command::Inspect(args) => inspect::main(args),
        Command::Search(args) => search::main(args),
        Command::Print(args) => print::main(args),
        Command::Reduce(args) => reduce::main(args),
        Command::Fuzz(args) => fuzz::main(args),
        Command::Matrix(args) => matrix::main(args),
        Command::CheckOnnx(args) => check::onnx::main(args),
        Command::CheckExecutor(args) => check::executor::main(args, parts),
        Command::Doctor(args) => doctor::main(args),
        Command::Tour(args) => tour::main(args),
        Command::Digits(args) => digits::main(args),
    }
}
