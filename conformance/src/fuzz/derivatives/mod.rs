//! Derivatives of random programs.
//!
//! Every program is differentiated as a whole, by all floats among its inputs, along small tangents and by small adjoints.
//! What must hold:
//!
//! * An executor's derivative is that of the interpreter's jets (`compare.rs`): forward, reverse, and of small programs
//!   forward and reverse derivatives of the reverse one.
//! * Forward and reverse derivatives of one executor belong together, and the interpreter's forward derivative is the
//!   limit of differences of values (`identities.rs`).
//! * A native executor's derivative has the same bits on any number of threads and with any number of states of loops kept
//!   (`varied.rs`).
//!
//! Four kinds of programs and points, by the seed: those of [`super::program`] as they are, with extreme numbers among the
//! inputs; the same at ordinary numbers; with small integers for floats, where executors must agree bit for bit; and with
//! mathematical functions of doubles, of which differences can be taken.

mod compare;
mod edges;
mod identities;
mod infinities;
mod moved_operands;
mod points;
mod varied;

use super::shrink::{Sample, shrink};
use super::{Choices, Mode as Floats, PROGRAMS_IN_CACHES, mode_of, program};
use crate::executors::{REFERENCE, Registered};
use acc_core::ad::derivative_of;
use acc_core::data::ArrayData;
use acc_core::ir::{Mode, Program};
use acc_core::text::parse_test_file;
use acc_core::{Error, Executor, Interpreter, RunLimits};
use compare::compare;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use varied::Varied;

/// The most floats among the inputs of a program whose derivatives are checked: the interpreter runs it once for each.
const MAX_FLOATS: usize = 60;

/// The most floats among the inputs and results of a program whose second derivatives are checked.
const MAX_FLOATS_TWICE: usize = 12;

/// How long one derivative may run.
const TIME: Duration = Duration::from_secs(10);

/// The programs and points that a seed stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any program at any point.
    Any,
    /// Any program, at ordinary numbers.
    Ordinary,
    /// Small integers for floats: every executor has the same bits.
    Dyadic,
    /// Functions of doubles.
    Smooth,
}

impl Kind {
    /// The kind of a seed's program.
    pub fn of(seed: u64) -> Kind {
        match seed % 4 {
            0 => Kind::Any,
            1 => Kind::Dyadic,
            2 => Kind::Ordinary,
            _ => Kind::Smooth,
        }
    }

    /// The program of a seed, as a test file.
    pub fn program(self, seed: u64) -> String {
        let floats = match self {
            Kind::Any | Kind::Ordinary => mode_of(seed / 4),
            Kind::Dyadic => Floats::Dyadic,
            Kind::Smooth => Floats::Smooth,
        };
        program(Choices::seeded(seed), floats)
    }
}

/// Which derivative of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The forward one.
    Forward,
    /// The reverse one.
    Reverse,
    /// The derivative of the reverse one.
    Second(Mode),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Forward => "forward derivative",
            Order::Reverse => "reverse derivative",
            Order::Second(Mode::Forward) => "forward derivative of the reverse one",
            Order::Second(Mode::Reverse) => "reverse derivative of the reverse one",
        })
    }
}

/// A program whose derivative is wrong.
pub struct Difference {
    /// Where it comes from.
    pub seed: u64,
    /// The executor that differs.
    pub executor: String,
    /// Which derivative.
    pub order: Order,
    /// What differs.
    pub why: String,
    /// The program and the point.
    sample: Sample,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { seed, executor, order, why, .. } = self;
        write!(f, "seed {seed} on {executor}, {order}: {why}")
    }
}

/// What was found.
#[derive(Default)]
pub struct Found {
    /// Programs of which a derivative was compared.
    pub programs: u64,
    /// Derivatives that were compared on an executor.
    pub derivatives: u64,
    /// Those of them that are second derivatives.
    pub second: u64,
    /// Elements compared, and left out.
    pub elements: [u64; 2],
    /// Derivatives left out, since an executor has no number at an edge of the function or beside an infinity.
    pub at_edges: u64,
    /// Elements compared bit for bit.
    pub exact: u64,
    /// Products of forward and reverse derivatives compared, and left out.
    pub products: [u64; 2],
    /// Elements compared with differences of values, and left out, since a step changes a decision.
    pub differences_of_values: [u64; 2],
    /// Where executors differ.
    pub differences: Vec<Difference>,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.programs += other.programs;
        self.derivatives += other.derivatives;
        self.second += other.second;
        self.exact += other.exact;
        self.at_edges += other.at_edges;
        for (mine, others) in [
            (&mut self.elements, other.elements),
            (&mut self.products, other.products),
            (&mut self.differences_of_values, other.differences_of_values),
        ] {
            mine.iter_mut().zip(others).for_each(|(a, b)| *a += b);
        }
        self.differences.extend(other.differences);
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = |[compared, left_out]: [u64; 2]| format!("{compared} compared, {left_out} left out");
        writeln!(
            f,
            "derivatives: {} of {} programs, {} of them second ones, {} left out at edges",
            self.derivatives, self.programs, self.second, self.at_edges
        )?;
        writeln!(f, "elements: {}, {} of them bit for bit", pair(self.elements), self.exact)?;
        writeln!(f, "products of forward and reverse derivatives: {}", pair(self.products))?;
        write!(f, "differences of values: {}", pair(self.differences_of_values))
    }
}

/// Checks the derivatives of so many programs, of a seed and those that follow it, on so many threads, until there are too
/// many differences. `watch` is told of each program how many were begun before it, and what is wrong with its derivatives.
pub fn run(
    executors: &[Registered],
    first: u64,
    programs: u64,
    jobs: usize,
    most_differences: usize,
    watch: impl Fn(u64, &[Difference]) + Sync,
) -> Result<Found, Error> {
    let varied = Varied::of(executors)?;
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new(Found::default());
    let total_of = || total.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let done = next.fetch_add(1, Ordering::Relaxed);
                    if done >= programs {
                        break;
                    }
                    if done % PROGRAMS_IN_CACHES == 0 {
                        executors.iter().filter_map(Registered::present).for_each(|e| e.clear_cache());
                        varied.clear_caches();
                    }
                    let found = one(executors, &varied, first.wrapping_add(done));
                    watch(done, &found.differences);
                    let mut total = total_of();
                    total.add(found);
                    if total.differences.len() >= most_differences {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut found = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.differences.sort_by_key(|d| d.seed);
    Ok(found)
}

fn one(executors: &[Registered], varied: &Varied, seed: u64) -> Found {
    let kind = Kind::of(seed);
    let Ok(file) = parse_test_file("random.acc", &kind.program(seed)) else { return Found::default() };
    let Some(args) = file.runs.first().and_then(|r| r.arrays().ok()) else { return Found::default() };
    let args = points::at(kind, args, &mut Choices::seeded(!seed));
    check(executors, varied, &Sample { program: file.program, args }, kind, seed)
}

/// Checks the derivatives of a program at a point.
fn check(executors: &[Registered], varied: &Varied, sample: &Sample, kind: Kind, seed: u64) -> Found {
    let mut found = Found::default();
    let Sample { program, args } = sample;
    let Ok(values) = interpreted(program, args) else { return found };
    let (inputs, outputs) = (points::floats(args), points::floats(&values));
    if inputs == 0 || outputs == 0 || inputs > MAX_FLOATS {
        return found;
    }
    found.programs = 1;
    let mut numbers = Choices::seeded(seed ^ 0x5eed);
    let along = points::tangents(kind, args, &mut numbers);
    let by = points::tangents(kind, &values, &mut numbers);
    let mut orders = vec![(Order::Forward, along.clone()), (Order::Reverse, by.clone())];
    if inputs + outputs <= MAX_FLOATS_TWICE {
        let mode = if seed % 8 < 6 { Mode::Forward } else { Mode::Reverse };
        orders.push((Order::Second(mode), by.clone()));
    }
    // By executor: its tangents of the results and adjoints of the point.
    let mut both: Vec<[Option<Vec<ArrayData>>; 2]> = executors.iter().map(|_| [None, None]).collect();
    for (order, directions) in orders {
        let mut derivative =
            derivative_of(program, if order == Order::Forward { Mode::Forward } else { Mode::Reverse });
        let mut all: Vec<ArrayData> = args.iter().cloned().chain(directions).collect();
        if let Order::Second(mode) = order {
            let Ok(first) = interpreted(&Arc::new(derivative.clone()), &all) else { continue };
            derivative = derivative_of(&derivative, mode);
            let of = if mode == Mode::Forward { &all } else { &first };
            let more = points::tangents(kind, of, &mut numbers);
            all.extend(more);
        }
        let derivative = Arc::new(derivative);
        let Ok(want) = interpreted(&derivative, &all) else { continue };
        let differs = |executor: &str, why: String| Difference {
            seed,
            executor: executor.to_string(),
            order,
            why,
            sample: sample.clone(),
        };
        if order == Order::Forward && kind == Kind::Smooth {
            let tangents = &want[values.len()..];
            let differences = identities::differences_of_values(program, args, &along, tangents);
            if let Err(why) = differences.map(|n| add(&mut found.differences_of_values, n))
                && !edges::is_at_singular_slopes(&derivative, &want, |p| interpreted(p, &all).ok())
            {
                found.differences.push(differs(REFERENCE, why));
            }
        }
        for (e, both) in executors.iter().zip(&mut both) {
            let Some(executor) = e.present().filter(|_| e.name != REFERENCE) else { continue };
            found.derivatives += 1;
            found.second += u64::from(matches!(order, Order::Second(_)));
            match executor.run_untyped(&derivative, &all, &limits()) {
                Err(Error::Limit(_)) => {}
                Err(error) => found.differences.push(differs(e.name, error.to_string())),
                Ok(got) => {
                    match compare(kind, &want, &got) {
                        // Rounding decides what the function is there, and with it the derivative.
                        Err(d) if d.result < values.len() && same_values(&**executor, sample, kind, &got) => {
                            found.at_edges += 1;
                        }
                        Err(d)
                            if d.no_number
                                && (edges::is_at_edge(program, &derivative, &all, &want)
                                    || edges::is_at_singular_slopes(&derivative, &got, |p| {
                                        executor.run_untyped(p, &all, &limits()).ok()
                                    })) =>
                        {
                            found.at_edges += 1;
                        }
                        Err(d) => found.differences.push(differs(e.name, d.why)),
                        Ok(counted) => {
                            add(&mut found.elements, counted.elements);
                            found.exact += counted.exact;
                        }
                    }
                    if order != Order::Forward
                        && let Some(why) = varied.difference(e.name, seed, (&derivative, &all), &got, &limits())
                    {
                        found.differences.push(differs(e.name, why));
                    }
                    let which = match order {
                        Order::Forward => 0,
                        Order::Reverse => 1,
                        Order::Second(_) => continue,
                    };
                    both[which] = got.get(values.len()..).map(<[ArrayData]>::to_vec);
                }
            }
        }
    }
    for (e, both) in executors.iter().zip(&both) {
        if let [Some(tangents), Some(adjoints)] = both {
            match identities::products([tangents, &by], [&along, adjoints]) {
                Ok(n) => add(&mut found.products, n),
                Err(why) => found.differences.push(Difference {
                    seed,
                    executor: e.name.to_string(),
                    order: Order::Reverse,
                    why,
                    sample: sample.clone(),
                }),
            }
        }
    }
    found
}

/// Whether the function alone has the values on an executor that it has beside its derivative.
fn same_values(executor: &dyn Executor, sample: &Sample, kind: Kind, got: &[ArrayData]) -> bool {
    let own = executor.run_untyped(&sample.program, &sample.args, &limits());
    own.is_ok_and(|own| {
        kind != Kind::Dyadic && got.len() >= own.len() && compare(kind, &own, &got[..own.len()]).is_ok()
    })
}

/// The program of a difference made small, as a test file.
pub fn minimised(executors: &[Registered], d: &Difference) -> Result<String, Error> {
    /// Enough for a program of the generator's size.
    const MAX_ATTEMPTS: usize = 1500;
    let varied = Varied::of(executors)?;
    let differs = |s: &Sample| {
        let found = check(executors, &varied, s, Kind::of(d.seed), d.seed);
        found.differences.iter().any(|new| new.executor == d.executor && new.order == d.order)
    };
    Ok(shrink(&d.sample, MAX_ATTEMPTS, differs).text())
}

fn add(to: &mut [u64; 2], more: [u64; 2]) {
    to.iter_mut().zip(more).for_each(|(a, b)| *a += b);
}

fn limits() -> RunLimits {
    RunLimits::none().timeout(TIME)
}

fn interpreted(program: &Arc<Program>, args: &[ArrayData]) -> Result<Vec<ArrayData>, Error> {
    Interpreter::new().run_untyped(program, args, &limits())
}
