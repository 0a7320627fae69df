//! What must hold of a random program.
//!
//! Every executor gives what the interpreter gives. Beside that, one variation of how a program is compiled and run is
//! drawn for each program, under which the same must hold.
//!
//! Faults: where the interpreter has a result, everybody has it. Where it has a fault, an executor that simplifies or
//! fuses may have found that nobody needs the value; one that does neither has a fault, too. Flattening always keeps an
//! array's extents apart from its columns, and drops columns that nobody needs, with what they would have checked.

use super::generate::Mode;
use super::interval::{self, Zeros};
use super::{Choices, schedules};
use crate::compare::{Near, compare};
use crate::executors::{REFERENCE, Registered};
use crate::runner;
use acc_core::data::ArrayData;
use acc_core::grow_stack;
use acc_core::ir::{Block, CountedLoop, Fun, Program, ScalarOp};
use acc_core::text::{Run, TestFile, canonical, parse};
use acc_core::{Error, Executor, Interpreter};
use acc_desugar::{RULES, Rules};
use backend_native::{Compile, Native, Options};
use std::sync::Arc;

/// How long a program may run; far beyond what one needs that the generator makes.
const DEADLINE_MS: u64 = 20_000;

/// The executors that evaluate whatever is needed, and all of it, unless they are told to simplify or fuse. Their
/// results are the same, bit for bit. Where functions with rules are written in the place of their calls, though, it shows which
/// of their arguments nobody needs.
const EVALUATE_ALL: [&str; 2] = ["native", "native-tile"];

/// The executors that have 0 for subnormal numbers.
const FLUSH: [&str; 1] = ["xla"];

/// Threads of the native executors that are compared.
pub(super) const THREADS: [usize; 3] = [1, 2, 7];

/// How many numbers of a variation stand for random schedules.
const SCHEDULED: usize = 4;

/// Another way to compile and run a program, with the same results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variation {
    /// None.
    Plain,
    /// This rule of simplification is off.
    RuleOff(&'static str),
    /// All rules, and fusion, are off.
    AllOff,
    /// The native executor has so many threads.
    Threads(usize),
    /// The program is printed and read again.
    Reread,
    /// The compiled program runs on other extents.
    OtherExtents,
    /// Results, and arrays that they are made of, have random schedules, drawn from this seed.
    Scheduled(u64),
}

impl std::fmt::Display for Variation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Variation::Plain => write!(f, "as it is"),
            Variation::RuleOff(rule) => write!(f, "without the rule {rule}"),
            Variation::AllOff => write!(f, "without simplification and fusion"),
            Variation::Threads(n) => write!(f, "on {n} threads"),
            Variation::Reread => write!(f, "printed and read again"),
            Variation::OtherExtents => write!(f, "on other extents"),
            Variation::Scheduled(seed) => write!(f, "with the schedules of seed {seed}"),
        }
    }
}

impl Variation {
    /// The variation that a number stands for: each is as likely as the next.
    pub fn draw(number: u64) -> Variation {
        let all = RULES.len() + THREADS.len() + SCHEDULED + 4;
        match (number % all as u64) as usize {
            0 => Variation::AllOff,
            1 => Variation::Reread,
            2 | 3 => Variation::OtherExtents,
            n if n < 4 + THREADS.len() => Variation::Threads(THREADS[n - 4]),
            n if n < 4 + THREADS.len() + SCHEDULED => Variation::Scheduled(number),
            n => Variation::RuleOff(RULES[n - 4 - THREADS.len() - SCHEDULED].name),
        }
    }
}

/// What was found of one program.
#[derive(Default)]
pub struct Findings {
    /// The interpreter had a result in the first run.
    pub valid: bool,
    /// The leaves of all elements that executors were to be compared at.
    pub elements: u64,
    /// Those of them left out, since their values are not stable.
    pub excluded: u64,
    /// The kinds of the schedules that arrays had.
    pub schedules: Vec<&'static str>,
    /// A defect: the executor, the variation, and what differs.
    pub differences: Vec<(String, Variation, String)>,
    /// The program has functions with rules.
    has_rules: bool,
}

/// Executors, kept from program to program.
pub struct Oracle {
    executors: Vec<Registered>,
    threads: Vec<(usize, &'static str, Native)>,
    deadline_ms: u64,
}

impl Oracle {
    /// The same with less patience: a program that is being made small may come not to end.
    pub fn impatient(&self) -> Oracle {
        Oracle { executors: self.executors.clone(), threads: self.threads.clone(), deadline_ms: 500 }
    }

    /// Holds these executors to the interpreter.
    pub fn new(executors: Vec<Registered>) -> Result<Oracle, Error> {
        let mut threads = Vec::new();
        for (name, compile) in [("native", Compile::Now), ("native-tile", Compile::Never)] {
            if executors.iter().any(|e| e.name == name && e.present().is_some()) {
                for n in THREADS {
                    let options = Options::new().threads(n).compile(compile);
                    threads.push((n, name, Native::with(options)?));
                }
            }
        }
        Ok(Oracle { executors, threads, deadline_ms: DEADLINE_MS })
    }

    /// Drops the programs that executors keep: no program of a seed comes again.
    pub fn clear_caches(&self) {
        self.executors.iter().filter_map(Registered::present).for_each(|e| e.clear_cache());
        self.threads.iter().for_each(|(.., native)| native.clear_cache());
    }

    /// Checks a program whose file has a run, or a second one on other extents.
    pub fn check<'f>(&self, file: &'f TestFile, mode: Mode, variation: Variation) -> Findings {
        let mut found = Findings { has_rules: file.program.has_rules(), ..Findings::default() };
        let [run, others @ ..] = &file.runs[..] else { return found };
        let execute = |executor: &dyn Executor, program: &Arc<Program>, run: &Run| {
            runner::run(executor, program, &run.arrays()?, Some(self.deadline_ms))
        };
        let reference = |run: &'f Run| reference(file, run, mode, execute(&Interpreter::new(), &file.program, run));
        let want = reference(run);
        found.valid = want.is_ok();
        let mut native: Option<Result<Vec<ArrayData>, Error>> = None;
        for registered in &self.executors {
            let Some(executor) = registered.present() else { continue };
            if registered.name == REFERENCE {
                continue;
            }
            let got = execute(&**executor, &file.program, run);
            if EVALUATE_ALL.contains(&registered.name) {
                if let Some(other) = &native {
                    found.judge_bits(registered.name, other, &got);
                }
                native = Some(got.clone());
            }
            found.judge(registered.name, Variation::Plain, &want, &got);
            match variation {
                Variation::OtherExtents => {
                    for other in others {
                        let got = execute(&**executor, &file.program, other);
                        found.judge(registered.name, variation, &reference(other), &got);
                    }
                }
                Variation::RuleOff(_) | Variation::AllOff => {
                    if let Some(varied) = varied(registered.name, variation) {
                        found.judge(registered.name, variation, &want, &execute(&*varied, &file.program, run));
                    }
                }
                Variation::Plain | Variation::Threads(_) | Variation::Reread | Variation::Scheduled(_) => {}
            }
        }
        match variation {
            Variation::Threads(n) => {
                for (_, name, native) in self.threads.iter().filter(|(threads, ..)| *threads == n) {
                    found.judge(name, variation, &want, &execute(native, &file.program, run));
                }
            }
            Variation::Reread => {
                let text = file.program.to_string();
                let outcome = match parse("printed", &text) {
                    Ok(again) if canonical(&again) == canonical(&file.program) => Ok(Arc::new(again)),
                    Ok(again) => Err(format!("reads back as\n{again}")),
                    Err(e) => Err(e.to_string()),
                };
                match outcome {
                    Ok(again) => {
                        found.judge(REFERENCE, variation, &want, &execute(&Interpreter::new(), &again, run));
                    }
                    Err(e) => found.differences.push((REFERENCE.into(), variation, e)),
                }
            }
            Variation::Scheduled(seed) => {
                let (program, schedules) = schedules::scheduled(&file.program, &mut Choices::seeded(seed));
                if !schedules.is_empty() {
                    found.schedules = schedules;
                    let program = Arc::new(program);
                    let all = self.threads.iter().map(|(_, name, native)| (*name, execute(native, &program, run)));
                    let all: Vec<_> = all.collect();
                    for (name, got) in &all {
                        found.judge(name, variation, &want, got);
                        found.judge_bits(name, &all[0].1, got);
                    }
                }
            }
            Variation::Plain | Variation::RuleOff(_) | Variation::AllOff | Variation::OtherExtents => {}
        }
        found
    }
}

/// The correct results: the interpreter's results, and in the tolerant mode the intervals around them.
struct Reference<'f> {
    program: &'f Program,
    run: &'f Run,
    results: Vec<ArrayData>,
    /// In the tolerant mode; without results if not even the shapes are stable.
    intervals: Option<Intervals>,
}

#[derive(Default)]
struct Intervals {
    results: Vec<interval::Bounds>,
    may_fault: bool,
}

fn reference<'f>(
    file: &'f TestFile,
    run: &'f Run,
    mode: Mode,
    results: Result<Vec<ArrayData>, Error>,
) -> Result<Reference<'f>, Error> {
    let mut reference = Reference { program: &file.program, run, results: results?, intervals: None };
    if mode == Mode::Tolerant || adds_up_in_loops(&file.program.body) {
        reference.intervals = Some(reference.within(Zeros::Exact));
    }
    Ok(reference)
}

impl Reference<'_> {
    /// Where the results of every correct executor lie that computes floats next to 0 like this.
    fn within(&self, zeros: Zeros) -> Intervals {
        match self.run.arrays().ok().and_then(|args| interval::evaluate(self.program, &args, zeros)) {
            Some(e) => Intervals { results: e.results, may_fault: e.may_fault },
            None => Intervals { results: Vec::new(), may_fault: true },
        }
    }

    /// Whether an executor may decide otherwise than the interpreter, and meet a fault there.
    fn may_fault(&self, executor: &str) -> bool {
        self.intervals.as_ref().is_some_and(|i| i.may_fault)
            || FLUSH.contains(&executor) && self.within(Zeros::Flushed).may_fault
    }

    fn leaves(&self) -> u64 {
        self.results.iter().map(leaves_of).sum()
    }
}

/// Whether a counted loop adds up floats, which executors may do in any order.
fn adds_up_in_loops(block: &Block) -> bool {
    let adds_up = |f: &Fun| {
        let mut found = false;
        f.body.visit(0, &mut |n, _| {
            if let ScalarOp::While { test, step, .. } = &n.op {
                found |= CountedLoop::of(f, test, step).is_some_and(|counted| counted.rounds(f, step));
            }
        });
        found
    };
    block.stmts.iter().any(|s| {
        s.op.funs().iter().any(|(_, f)| adds_up(f))
            || s.op.blocks().into_iter().any(|b| grow_stack(|| adds_up_in_loops(b)))
    })
}

/// An executor that compiles in another way.
fn varied(name: &str, variation: Variation) -> Option<Box<dyn Executor>> {
    let (rules, fuse) = match variation {
        Variation::RuleOff(rule) => (Rules::all().without(rule)?, true),
        Variation::AllOff => (Rules::none(), false),
        Variation::Plain
        | Variation::Threads(_)
        | Variation::Reread
        | Variation::OtherExtents
        | Variation::Scheduled(_) => return None,
    };
    match name {
        "native" | "native-tile" => {
            let compile = if name == "native" { Compile::Now } else { Compile::Never };
            let native = Native::with(Options::new().rules(rules).fuse(fuse).compile(compile)).ok()?;
            Some(Box::new(native))
        }
        #[cfg(feature = "libtorch")]
        "graph" => {
            let options = backend_graph::Options::new().rules(rules);
            backend_graph::Libtorch::with(options).ok().map(|torch| Box::new(torch) as Box<dyn Executor>)
        }
        _ => None,
    }
}

impl Findings {
    fn judge(
        &mut self,
        executor: &str,
        variation: Variation,
        want: &Result<Reference<'_>, Error>,
        got: &Result<Vec<ArrayData>, Error>,
    ) {
        let differs = match (want, got) {
            (Ok(want), Ok(got)) => self.equal(executor, want, got),
            (Ok(want), Err(Error::Fault { .. })) if want.may_fault(executor) => {
                // None of these results can be compared.
                self.elements += want.leaves();
                self.excluded += want.leaves();
                Ok(())
            }
            (Ok(_), Err(e)) => Err(format!("fails, where the interpreter has a result: {e}")),
            (Err(Error::Fault { .. }), Err(Error::Fault { .. })) => Ok(()),
            (Err(Error::Fault { fault, .. }), Ok(_))
                if variation == Variation::AllOff && EVALUATE_ALL.contains(&executor) && !self.has_rules =>
            {
                Err(format!("has a result, where the interpreter has a fault: {fault}"))
            }
            (Err(Error::Fault { .. }), Ok(_)) => Ok(()),
            (Err(Error::Fault { .. }), Err(e)) => Err(format!("fails, but with no fault: {e}")),
            (Err(e), _) => {
                let why = format!("fails, but with no fault: {e}");
                return self.differences.push((REFERENCE.into(), Variation::Plain, why));
            }
        };
        if let Err(why) = differs {
            self.differences.push((executor.to_string(), variation, why));
        }
    }

    /// Two executors that must give the same bits.
    fn judge_bits(
        &mut self,
        executor: &str,
        want: &Result<Vec<ArrayData>, Error>,
        got: &Result<Vec<ArrayData>, Error>,
    ) {
        let differs = match (want, got) {
            (Ok(want), Ok(got)) => want
                .iter()
                .zip(got)
                .enumerate()
                .find_map(|(k, (w, g))| compare(g, w, Near::Exact).err().map(|e| format!("result {k}: {e}"))),
            (want, got) => (want.as_ref().err() != got.as_ref().err()).then(|| format!("{want:?} and {got:?}")),
        };
        if let Some(why) = differs {
            let why = format!("other bits than the other native executor: {why}");
            self.differences.push((executor.to_string(), Variation::Plain, why));
        }
    }

    fn equal(&mut self, executor: &str, want: &Reference<'_>, got: &[ArrayData]) -> Result<(), String> {
        let mut excluded = compared(&want.results, want.intervals.as_ref(), got);
        if excluded.is_err() && FLUSH.contains(&executor) {
            excluded = compared(&want.results, Some(&want.within(Zeros::Flushed)), got);
        }
        self.elements += want.leaves();
        self.excluded += excluded?;
        Ok(())
    }
}

/// Holds results to the correct ones, or to intervals: how many leaves are left out.
fn compared(want: &[ArrayData], intervals: Option<&Intervals>, got: &[ArrayData]) -> Result<u64, String> {
    if want.len() != got.len() {
        return Err(format!("{} results where {} are expected", got.len(), want.len()));
    }
    if intervals.is_some_and(|i| i.results.is_empty()) {
        return Ok(want.iter().map(leaves_of).sum());
    }
    let mut excluded = 0;
    for (k, (w, g)) in want.iter().zip(got).enumerate() {
        let named = |e| format!("result {k}: {e}");
        match intervals.and_then(|i| i.results.get(k)) {
            None => compare(g, w, Near::Exact).map_err(named)?,
            Some(bounds) => excluded += bounds.compare(g).map_err(named)?,
        }
    }
    Ok(excluded)
}

/// How many scalars an array holds.
fn leaves_of(a: &ArrayData) -> u64 {
    (a.size() * a.columns().len()) as u64
}
