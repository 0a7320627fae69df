//! The graph executor, checked and unchecked, beside the same programs written by hand for libtorch and the interpreter:
//! `make bench-graph`. All are interleaved in one process, and medians compared.

mod convolutions;
mod everyday;
mod kernels;
mod overhead;
mod papers;
mod report;
mod row;
mod thesis;

use backend_graph::Device;
use row::Row;
use std::time::{Duration, Instant};

/// How often each is timed, but for rows that take long.
const ROUNDS: usize = 15;
/// Fewer rounds,
const MIN_ROUNDS: usize = 5;
/// if a row takes longer than this.
const MAX_ROW_TIME: Duration = Duration::from_secs(5);
/// How long one sample takes at least.
const MIN_SAMPLE_TIME: Duration = Duration::from_millis(4);

/// The medians of a row.
struct Measured {
    /// Nanoseconds.
    checked: f64,
    unchecked: f64,
    hand: f64,
    /// The interpreter, or the copies; NaN where they are not timed.
    reference: f64,
    /// The ratios to the code by hand, each of two samples of one round.
    checked_of_hand: f64,
    unchecked_of_hand: f64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file = args.iter().position(|a| a == "--markdown").and_then(|i| args.get(i + 1));
    let filter = args.iter().position(|a| a == "--only").and_then(|i| args.get(i + 1));
    let mut setup = backend_graph::torch::Setup::default();
    if let Some(threads) = args.iter().position(|a| a == "--threads").and_then(|i| args.get(i + 1)?.parse().ok()) {
        setup.threads = threads;
    }
    // What is written by hand has as many threads.
    tch::set_num_threads(setup.apply().threads as i32);
    if let Some(device) = args.iter().position(|a| a == "--device").and_then(|i| args.get(i + 1)) {
        let named = Device::available().into_iter().find(|d| d.to_string() == *device);
        row::run_on(named.unwrap_or_else(|| panic!("this libtorch finds no device {device}")));
    }
    let mut all = Vec::new();
    for make in thesis::rows()
        .into_iter()
        .chain(kernels::rows())
        .chain(everyday::rows())
        .chain(papers::rows())
        .chain(convolutions::rows())
    {
        if filter.is_none_or(|f| make.0.contains(f.as_str())) {
            let row = (make.1)();
            let measured = measure(&row);
            println!("{}", report::line(&row, &measured));
            all.push((Summary::of(row), measured));
        }
    }
    let overhead = overhead::line();
    println!("{overhead}");
    let text = report::report(&all, &overhead);
    println!("{}", text.lines().last().unwrap_or_default());
    if let Some(file) = file {
        report::write(file, &text);
    }
}

/// What a report needs of a row, without its data.
struct Summary {
    name: String,
    group: &'static str,
    size: usize,
    source: &'static str,
    launches: usize,
    compile: Duration,
}

impl Summary {
    fn of(row: Row) -> Summary {
        let Row { name, group, size, source, launches, compile, .. } = row;
        Summary { name, group, size, source, launches, compile }
    }
}

/// A call as often as makes a sample.
struct Timed<'a> {
    call: &'a dyn Fn(),
    repeat: u32,
    samples: Vec<f64>,
}

impl<'a> Timed<'a> {
    fn new(call: &'a dyn Fn()) -> Timed<'a> {
        call();
        let start = Instant::now();
        call();
        let once = start.elapsed().max(Duration::from_nanos(100));
        let repeat = (MIN_SAMPLE_TIME.as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32;
        Timed { call, repeat, samples: Vec::new() }
    }

    fn sample(&mut self) {
        let start = Instant::now();
        for _ in 0..self.repeat {
            (self.call)();
        }
        self.samples.push(start.elapsed().as_nanos() as f64 / f64::from(self.repeat));
    }

    fn median(&self) -> f64 {
        median(&self.samples)
    }

    /// The median of the ratios of samples taken in one round.
    fn of(&self, other: &Timed<'_>) -> f64 {
        median(&self.samples.iter().zip(&other.samples).map(|(a, b)| a / b).collect::<Vec<_>>())
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn measure(row: &Row) -> Measured {
    let mut timed = [&row.hand, &row.checked, &row.unchecked].map(|c| Timed::new(c.as_ref()));
    // The interpreter is slow: it is timed fewer times.
    let once = |call: &dyn Fn()| {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    let mut reference: Vec<Duration> = row.reference.iter().map(|call| once(call)).collect();
    let begun = Instant::now();
    for round in 0..ROUNDS {
        if round >= MIN_ROUNDS && begun.elapsed() > MAX_ROW_TIME {
            break;
        }
        // Who is first changes: what one leaves in caches and in the heap is another's luck.
        for k in 0..timed.len() {
            timed[(round + k) % 3].sample();
        }
        if let (Some(call), Some(first)) = (&row.reference, reference.first())
            && *first < Duration::from_millis(200)
            && round < 5
        {
            reference.push(once(call));
        }
    }
    let [hand, checked, unchecked] = &timed;
    Measured {
        checked: checked.median(),
        unchecked: unchecked.median(),
        hand: hand.median(),
        reference: median(&reference.iter().map(|t| t.as_nanos() as f64).collect::<Vec<_>>()),
        checked_of_hand: checked.of(hand),
        unchecked_of_hand: unchecked.of(hand),
    }
}
