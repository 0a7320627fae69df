//! `acc digits`

use super::{check_folder, make_folder};
use crate::output::{say, write_file};
use acc_core::Executor;
use backend_native::Native;
use clap::ValueEnum;
use conformance::digits::checkpoint::{Checkpoint, Epoch};
use conformance::digits::data::Data;
use conformance::digits::network::{self, Training};
use conformance::digits::training::{Test, Trainer};
use conformance::digits::{idx, pictures};
use conformance::executors;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Train a network that reads digits, on MNIST's files or on drawn digits, and show what it learns.
///
/// Two convolutions (6 and 12 filters of 5 x 5, sigmoid, means of 2 x 2) and a layer of all with all. The folder of --out gets
/// loss.png and loss.svg (loss and accuracy over epochs), confusion.png, filters.png (the first filters before and after) and
/// wrong.png (25 wrong guesses).
#[derive(clap::Args)]
pub struct Args {
    /// A folder with MNIST's or Fashion-MNIST's four files (train-images-idx3-ubyte, .., plain or .gz). If not given, digits
    /// are drawn.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// So many epochs (more, after --resume).
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    epochs: u32,
    /// Images of a step. [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: Option<u32>,
    /// The length of steps. [default: 0.05 for sgd, 0.005 for momentum, 0.002 for adam; a tenth of these for sgd and momentum
    /// with cross-entropy]
    #[arg(long, value_parser = rate)]
    rate: Option<f32>,
    /// By which steps. [default: sgd]
    #[arg(long, value_enum)]
    optimiser: Option<Optimiser>,
    /// What is made small. [default: squares]
    #[arg(long, value_enum)]
    loss: Option<Loss>,
    /// The part of what the last layer reads that each step drops. [default: 0]
    #[arg(long, value_name = "PART", value_parser = part)]
    dropout: Option<f32>,
    /// The most images to train on, and the most to test with. [default: all of the files; 10000 drawn ones]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=idx::MAX_IMAGES as i64))]
    images: Option<u32>,
    /// Of drawn digits, first parameters and dropout. [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// The executor; if not given, native.
    #[arg(long)]
    executor: Option<String>,
    /// The folder for pictures.
    #[arg(long, value_name = "FOLDER", default_value = "target/digits")]
    out: PathBuf,
    /// Keep the training in this .npz file, after every epoch.
    #[arg(long, value_name = "FILE.npz")]
    save: Option<PathBuf>,
    /// Go on from a file of --save, with its options where none are given here.
    #[arg(long, value_name = "FILE.npz")]
    resume: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Optimiser {
    Sgd,
    Momentum,
    Adam,
}

#[derive(Clone, Copy, ValueEnum)]
enum Loss {
    Squares,
    CrossEntropy,
}

fn rate(text: &str) -> Result<f32, String> {
    let rate: f32 = text.parse().map_err(|e| format!("{e}"))?;
    if rate > 0.0 && rate.is_finite() { Ok(rate) } else { Err("a rate is above 0".to_string()) }
}

fn part(text: &str) -> Result<f32, String> {
    let part: f32 = text.parse().map_err(|e| format!("{e}"))?;
    if (0.0..1.0).contains(&part) { Ok(part) } else { Err("a part is from 0 up to but without 1".to_string()) }
}

const DEFAULT_BATCH: usize = 100;
const DEFAULT_SEED: u64 = 1;
const DEFAULT_DRAWN: usize = 10_000;

pub fn main(args: &Args) -> crate::Outcome {
    check_folder(&args.out, "pictures")?;
    let resumed = args.resume.as_deref().map(Checkpoint::read).transpose()?;
    let (how, batch) = (training(args, resumed.as_ref())?, batch(args, resumed.as_ref()));
    let (name, executor) = executor(args.executor.as_deref())?;
    let most = args.images.map(|n| n as usize);
    let data = match &args.data {
        Some(folder) => Data::read(folder, most.unwrap_or(usize::MAX), most.unwrap_or(usize::MAX))?,
        None => {
            let n = most.unwrap_or(DEFAULT_DRAWN);
            Data::drawn(&Native::new(), how.seed, n, n)?
        }
    };
    say!("{}: {} images to train on, {} to test with; on {name}", data.source, data.training.len(), data.test.len());

    let trainer = Trainer::new(executor, how).map_err(|e| e.to_string())?;
    let start = match resumed {
        Some(checkpoint) => Checkpoint { how, batch, ..checkpoint },
        None => {
            let state = trainer.start(how.seed).map_err(|e| e.to_string())?;
            Checkpoint { how, batch, steps: 0, epochs: Vec::new(), state }
        }
    };
    let before = start.state.0.clone();
    let (end, test) = train(args, &trainer, &data, start)?;

    // No picture is written before all are made.
    let files = pictures::all(&end.epochs, &data.test, &test, &before, &end.state.0)?;
    make_folder(&args.out)?;
    for (name, contents) in &files {
        write_file(&args.out.join(name), contents)?;
    }
    say!("pictures are in {}", args.out.display());
    Ok(ExitCode::SUCCESS)
}

/// The options given, those of the file that is resumed, and else the paper's.
fn training(args: &Args, resumed: Option<&Checkpoint>) -> Result<Training, String> {
    let before = resumed.map(|checkpoint| checkpoint.how);
    let optimiser = args.optimiser.map(|o| match o {
        Optimiser::Sgd => network::Optimiser::Sgd,
        Optimiser::Momentum => network::Optimiser::Momentum,
        Optimiser::Adam => network::Optimiser::Adam,
    });
    let loss = args.loss.map(|l| match l {
        Loss::Squares => network::Loss::Squares,
        Loss::CrossEntropy => network::Loss::CrossEntropy,
    });
    if let (Some(other), Some(before)) = (optimiser.filter(|o| before.is_some_and(|b| b.optimiser != *o)), before) {
        return Err(format!(
            "the training to resume is by {:?}, not {other:?}, which keeps other numbers\n  help: leave out `--optimiser`",
            before.optimiser
        ));
    }
    let optimiser = optimiser.or(before.map(|b| b.optimiser)).unwrap_or(network::Optimiser::Sgd);
    let loss = loss.or(before.map(|b| b.loss)).unwrap_or(network::Loss::Squares);
    // Scores have larger gradients than what a sigmoid makes of them.
    let part = if loss == network::Loss::CrossEntropy { 0.1 } else { 1.0 };
    let default = match optimiser {
        network::Optimiser::Sgd => 0.05 * part,
        network::Optimiser::Momentum => 0.005 * part,
        network::Optimiser::Adam => 0.002,
    };
    Ok(Training {
        loss,
        optimiser,
        rate: args.rate.or(before.map(|b| b.rate)).unwrap_or(default),
        dropout: args.dropout.or(before.map(|b| b.dropout)).unwrap_or(0.0),
        seed: args.seed.or(before.map(|b| b.seed)).unwrap_or(DEFAULT_SEED),
    })
}

fn batch(args: &Args, resumed: Option<&Checkpoint>) -> usize {
    args.batch.map(|n| n as usize).or(resumed.map(|r| r.batch)).unwrap_or(DEFAULT_BATCH)
}

/// The executor of this name; without one the native executor, by machine code where it can.
fn executor(name: Option<&str>) -> Result<(&'static str, Arc<dyn Executor>), String> {
    let present = |name: &str| -> Result<(&'static str, Arc<dyn Executor>), String> {
        let selected = executors::select(Some(name))?;
        let found = selected.iter().find_map(|r| Some((r.name, r.present()?.clone())));
        found.ok_or_else(|| format!("the executor `{name}` is not there"))
    };
    match name {
        Some(name) => present(name),
        None => present("native").or_else(|_| present("native-tile")),
    }
}

/// Trains for the epochs asked for, each followed by a test.
fn train(args: &Args, trainer: &Trainer, data: &Data, mut now: Checkpoint) -> Result<(Checkpoint, Test), String> {
    let batches = data.training.batches(now.batch).collect::<Result<Vec<_>, String>>()?;
    let images = data.training.len();
    say!("epoch      loss   train time   images/s   read rightly");
    let mut test = None;
    for _ in 0..args.epochs {
        let epoch = now.epochs.len() + 1;
        let bar = ProgressBar::new(images as u64);
        if let Ok(style) = ProgressStyle::with_template("epoch {prefix} [{bar:40}] {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(epoch.to_string());
        let (mut sum, mut seen, start) = (0.0, 0, Instant::now());
        for (x, t) in &batches {
            let (loss, state) = trainer.step(&now.state, x, t, now.steps as i64 + 1).map_err(|e| e.to_string())?;
            sum += f64::from(loss);
            seen += t.len();
            (now.state, now.steps) = (state, now.steps + 1);
            bar.set_position(seen as u64);
            bar.set_message(format!("loss {:.4}, {} images/s", sum / seen as f64, per_second(seen, start.elapsed())));
        }
        let time = start.elapsed();
        bar.set_message("test");
        let found = trainer.test(&now.state.0, &data.test)?;
        bar.finish_and_clear();
        let (loss, accuracy) = (sum / images as f64, found.accuracy());
        now.epochs.push(Epoch { loss, accuracy, seconds: time.as_secs_f64() });
        say!(
            "{epoch:>5}  {loss:>8.4}  {:>9.2} s  {:>9}  {:>11.2} %",
            time.as_secs_f64(),
            per_second(images, time),
            100.0 * accuracy
        );
        if !loss.is_finite() {
            return Err(format!("the loss is {loss}\n  help: give a smaller `--rate` than {}", now.how.rate));
        }
        if let Some(path) = &args.save {
            write_file(path, &now.to_npz()?)?;
        }
        test = Some(found);
    }
    let test = test.ok_or("there is no epoch")?;
    Ok((now, test))
}

fn per_second(images: usize, time: Duration) -> String {
    let rate = images as f64 / time.as_secs_f64().max(1e-9);
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}
