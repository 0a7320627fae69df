//! `acc reduce FILE --fails COMMAND`

use crate::output::{read_program, say, write_file};
use acc_core::Error;
use acc_core::text::Run;
use conformance::fuzz::shrink::{Sample, shrink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Make a program small that makes a command fail, while it still does.
#[derive(clap::Args)]
pub struct Args {
    /// A test file: a program with a run. Of several runs, the first that fails is kept.
    file: PathBuf,
    /// A command of the shell, run with the path of a test file as its last argument. It fails if its exit status is
    /// not 0, as that of `acc run` is where executors differ.
    #[arg(long, value_name = "COMMAND")]
    fails: String,
    /// Where to write what is left; it is printed if not given.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// The most programs to try.
    #[arg(long, default_value_t = 5000)]
    attempts: usize,
}

pub fn main(args: &Args) -> crate::Outcome {
    let file = read_program(&args.file)?;
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
    let path = folder.path().join("candidate.acc");
    let mut problem = None;
    let mut fails =
        |sample: &Sample| match write_file(&path, sample.text().as_bytes()).and_then(|()| run(&args.fails, &path)) {
            Ok(failed) => failed,
            Err(e) => {
                problem.get_or_insert(e);
                false
            }
        };
    let sample = |run: &Run| Ok(Sample { program: file.program.clone(), args: run.arrays()? });
    let samples = file.runs.iter().map(sample).collect::<Result<Vec<_>, Error>>().map_err(|e| e.to_string())?;
    let Some(sample) = samples.into_iter().find(|s| fails(s)) else {
        return Err(problem.unwrap_or_else(|| {
            format!(
                "the command fails with no run of {}, each alone\n  help: it is run as `{} FILE`",
                args.file.display(),
                args.fails
            )
        }));
    };
    let text = shrink(&sample, args.attempts, &mut fails).text();
    if let Some(e) = problem {
        return Err(e);
    }
    match &args.output {
        Some(path) => write_file(path, text.as_bytes())?,
        None => say!("{}", text.trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the command fails on a file.
fn run(command: &str, file: &Path) -> Result<bool, String> {
    let status = Command::new("sh")
        .args(["-c", &format!("{command} \"$1\""), "sh"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|e| format!("cannot run `{command}`: {e}"))?;
    match status.code() {
        Some(126 | 127) => Err(format!("the shell cannot run `{command}`")),
        code => Ok(code != Some(0)),
    }
}
