//! What a case checks on one executor.

use crate::REFERENCE;
use crate::compare::{Near, compare};
use crate::{bound, runner};
use acc_core::api::{Arrays, IntoAcc, IntoExp};
use acc_core::data::ArrayData;
use acc_core::exec::Executor;
use acc_core::ir::Program;
use acc_core::prelude::{Acc, Vector, use_};
use acc_core::text::{canonical, parse};
use acc_core::{Elt, Error, Exp, Interpreter};
use std::fmt::Debug;
use std::panic::Location;
use std::sync::Arc;

/// The outcome of the checks of a case, or of the runs of a test file, on one executor.
#[derive(Default, Debug)]
pub struct Outcome {
    /// What went wrong, and where it was checked.
    pub failures: Vec<String>,
    /// Whether a result with elements was compared, or a fault found to be the expected one.
    pub value: bool,
    /// Whether an empty argument or result took part, or a shape was looked at.
    pub shape: bool,
}

impl Outcome {
    /// Takes note of a run that gave what was expected of it.
    pub fn saw(&mut self, args: &[ArrayData], results: &[ArrayData]) {
        self.value |= results.iter().any(|r| r.size() > 0);
        self.shape |= args.iter().chain(results).any(|a| a.size() == 0);
    }
}

/// The executor under test, and what was found so far.
pub struct Check<'a> {
    executor: &'a dyn Executor,
    outcome: Outcome,
    checks: usize,
}

/// A program that ran: what is needed to judge its results.
struct Ran {
    built: acc_core::builder::Built,
    results: Result<Vec<ArrayData>, Error>,
}

impl<'a> Check<'a> {
    /// Runs a case on an executor.
    pub fn run_case(case: &super::Case, executor: &'a dyn Executor) -> Outcome {
        let mut check = Check { executor, outcome: Outcome::default(), checks: 0 };
        let end = runner::caught(|| (case.run)(&mut check));
        let Check { mut outcome, checks, .. } = check;
        if let Err(panic) = end {
            outcome.failures.push(format!("panic: {panic}"));
        } else if checks == 0 {
            outcome.failures.push("the case checks nothing".into());
        }
        outcome
    }

    /// The name of the executor, for the rare check that holds on one alone.
    pub fn executor_name(&self) -> &'static str {
        self.executor.name()
    }

    #[track_caller]
    fn note(&mut self, result: Result<(), String>) {
        self.checks += 1;
        if let Err(e) = result {
            let at = Location::caller();
            self.outcome.failures.push(format!("{}:{}: {e}", at.file(), at.line()));
        }
    }

    fn start<A: Arrays>(&self, program: impl IntoAcc<A>) -> Result<Ran, Error> {
        let built = program.into_acc().program()?;
        // Once is enough: what the language has, its text form has.
        if self.executor.name() == REFERENCE {
            let text = built.program.to_string();
            let read = parse("case", &text).map_err(|e| Error::defect("text", e.to_string()))?;
            if canonical(&read) != canonical(&built.program) {
                let message = format!("the text reads back as another program:\n{text}\n{read}");
                return Err(Error::defect("text", message));
            }
        }
        let results = runner::run(self.executor, &built.program, &built.embedded, None);
        Ok(Ran { built, results })
    }

    fn compared(&mut self, ran: &Ran, want: &[ArrayData], near: Option<Near>) -> Result<(), String> {
        let results = ran.results.as_ref().map_err(|e| format!("results are expected, but the run fails: {e}"))?;
        if results.len() != want.len() {
            return Err(format!("{} results where {} are expected", results.len(), want.len()));
        }
        let near = match near {
            Some(near) => near,
            None => bound::of_program(&ran.built.program, &ran.built.embedded)?,
        };
        for (k, (got, want)) in results.iter().zip(want).enumerate() {
            compare(got, want, near).map_err(|e| format!("result {k}: {e}"))?;
        }
        self.outcome.saw(&ran.built.embedded, results);
        Ok(())
    }

    fn judged<A: Arrays>(&mut self, program: impl IntoAcc<A>, want: &A, near: Option<Near>) -> Result<(), String> {
        let ran = self.start(program).map_err(|e| format!("the program cannot be built: {e}"))?;
        let mut parts = Vec::new();
        want.push_parts(&mut parts);
        self.compared(&ran, &parts, near)
    }

    /// The program gives this result: exactly, but for floats within the bound of what the program computes.
    #[track_caller]
    pub fn gives<A: Arrays>(&mut self, program: impl IntoAcc<A>, want: A) {
        let judged = self.judged(program, &want, None);
        self.note(judged);
    }

    /// The program gives this result, its floats as near as stated.
    #[track_caller]
    pub fn gives_within<A: Arrays>(&mut self, program: impl IntoAcc<A>, want: A, near: Near) {
        let judged = self.judged(program, &want, Some(near));
        self.note(judged);
    }

    /// The program gives what the interpreter gives.
    #[track_caller]
    pub fn agrees<A: Arrays>(&mut self, program: impl IntoAcc<A>) {
        let program: Acc<A> = program.into_acc();
        let judged = self.start(&program).map_err(|e| format!("the program cannot be built: {e}")).and_then(|ran| {
            let want = runner::run(&Interpreter::new(), &ran.built.program, &ran.built.embedded, None)
                .map_err(|e| format!("the interpreter fails: {e}"))?;
            self.compared(&ran, &want, None)
        });
        self.note(judged);
    }

    /// The program fails with a fault of this kind (see [`Fault::kind`](acc_core::Fault::kind)).
    #[track_caller]
    pub fn faults<A: Arrays>(&mut self, program: impl IntoAcc<A>, kind: &str) {
        let judged = match self.start(program).and_then(|ran| ran.results.map(|r| (ran.built.embedded, r))) {
            Ok(_) => Err(format!("the fault {kind} is expected, but the run succeeds")),
            Err(Error::Fault { fault, .. }) if fault.kind() == kind => {
                self.outcome.value = true;
                Ok(())
            }
            Err(e) => Err(format!("the fault {kind} is expected, not: {e}")),
        };
        self.note(judged);
    }

    /// The program cannot be built, and its error's message contains this.
    #[track_caller]
    pub fn rejected<A: Arrays>(&mut self, program: impl IntoAcc<A>, message: &str) {
        let judged = match program.into_acc().program() {
            Ok(_) => Err(format!("an error with `{message}` is expected, but the program can be built")),
            Err(e) if e.to_string().contains(message) => {
                self.outcome.value = true;
                Ok(())
            }
            Err(e) => Err(format!("an error with `{message}` is expected, not: {e}")),
        };
        self.note(judged);
    }

    /// The program's result, to be looked at with [`Check::equal`] and [`Check::check`]; a failure if there is none.
    #[track_caller]
    pub fn run<A: Arrays>(&mut self, program: impl IntoAcc<A>) -> Option<A> {
        let result = self.start(program).and_then(|ran| {
            let results = ran.results?;
            self.outcome.saw(&ran.built.embedded, &results);
            A::from_parts(&mut results.into_iter())
        });
        match result {
            Ok(a) => {
                self.note(Ok(()));
                Some(a)
            }
            Err(e) => {
                self.note(Err(format!("results are expected, but the run fails: {e}")));
                None
            }
        }
    }

    /// The program's first result has this shape: a shape test.
    #[track_caller]
    pub fn shape<A: Arrays>(&mut self, program: impl IntoAcc<A>, want: impl AsRef<[usize]>) {
        let (want, ran) = (want.as_ref(), self.start(program));
        let judged = match ran.and_then(|ran| ran.results) {
            Ok(results) => match results.first().map(ArrayData::shape) {
                Some(got) if got == want => {
                    self.outcome.shape = true;
                    Ok(())
                }
                got => Err(format!("shape {got:?} where {want:?} is expected")),
            },
            Err(e) => Err(format!("results are expected, but the run fails: {e}")),
        };
        self.note(judged);
    }

    /// A scalar function gives these results for these arguments, and an empty array for none.
    #[track_caller]
    pub fn maps<X: Elt, Y: Elt, R: IntoExp<Y>>(&mut self, f: impl Fn(X::Exp) -> R, pairs: &[(X, Y)]) {
        self.maps_judged(f, pairs, None);
    }

    /// A scalar function gives results as near as stated for these arguments, and an empty array for none.
    #[track_caller]
    pub fn maps_within<X: Elt, Y: Elt, R: IntoExp<Y>>(
        &mut self,
        f: impl Fn(X::Exp) -> R,
        pairs: &[(X, Y)],
        near: Near,
    ) {
        self.maps_judged(f, pairs, Some(near));
    }

    #[track_caller]
    fn maps_judged<X: Elt, Y: Elt, R: IntoExp<Y>>(
        &mut self,
        f: impl Fn(X::Exp) -> R,
        pairs: &[(X, Y)],
        near: Option<Near>,
    ) {
        let xs: Vector<X> = pairs.iter().map(|(x, _)| x.clone()).collect();
        let ys: Vector<Y> = pairs.iter().map(|(_, y)| y.clone()).collect();
        let judged = self.judged(use_(&xs).map(&f), &ys, near);
        self.note(judged);
        let (none, nothing): (Vector<X>, Vector<Y>) = (Vector::from_iter([]), Vector::from_iter([]));
        let judged = self.judged(use_(&none).map(&f), &nothing, near);
        self.note(judged);
    }

    /// As [`Check::maps`], of functions of two arguments.
    #[track_caller]
    pub fn maps2<X: Elt, Y: Elt, Z: Elt, R: IntoExp<Z>>(
        &mut self,
        f: impl Fn(X::Exp, Y::Exp) -> R,
        triples: &[(X, Y, Z)],
    ) {
        self.maps_judged(|(x, y)| f(x, y), &paired(triples), None);
    }

    /// As [`Check::maps_within`], of functions of two arguments.
    #[track_caller]
    pub fn maps2_within<X: Elt, Y: Elt, Z: Elt, R: IntoExp<Z>>(
        &mut self,
        f: impl Fn(X::Exp, Y::Exp) -> R,
        triples: &[(X, Y, Z)],
        near: Near,
    ) {
        self.maps_judged(|(x, y)| f(x, y), &paired(triples), Some(near));
    }

    /// An untyped program gives these results.
    #[track_caller]
    pub fn runs(&mut self, program: &Program, args: &[ArrayData], want: &[ArrayData]) {
        let results = runner::run(self.executor, &Arc::new(program.clone()), args, None);
        let judged = match &results {
            Ok(results) if results == want => {
                self.outcome.saw(args, results);
                Ok(())
            }
            Ok(results) => Err(format!("{results:?} where {want:?} is expected")),
            Err(e) => Err(format!("results are expected, but the run fails: {e}")),
        };
        self.note(judged);
    }

    /// Something that must hold.
    #[track_caller]
    pub fn check(&mut self, holds: bool, what: &str) {
        self.outcome.value |= holds;
        self.note(if holds { Ok(()) } else { Err(format!("does not hold: {what}")) });
    }

    /// Two host values that must be equal.
    #[track_caller]
    pub fn equal<T: PartialEq + Debug>(&mut self, got: T, want: T) {
        let equal = got == want;
        self.outcome.value |= equal;
        self.note(if equal { Ok(()) } else { Err(format!("{got:?} where {want:?} is expected")) });
    }

    /// As [`Check::maps`]; the function says the argument's type, so that numbers among the arguments need not.
    #[track_caller]
    pub fn table<P: Argument, Y: Elt, R: IntoExp<Y>>(&mut self, f: impl Fn(P) -> R, rows: &[(P::Elt, Y)]) {
        self.maps_judged::<P::Elt, Y, R>(f, rows, None);
    }

    /// As [`Check::maps_within`]; the function says the argument's type.
    #[track_caller]
    pub fn table_within<P: Argument, Y: Elt, R: IntoExp<Y>>(
        &mut self,
        f: impl Fn(P) -> R,
        rows: &[(P::Elt, Y)],
        near: Near,
    ) {
        self.maps_judged::<P::Elt, Y, R>(f, rows, Some(near));
    }

    /// As [`Check::table`], of functions of two arguments.
    #[track_caller]
    pub fn table2<P: Argument, Q: Argument, Z: Elt, R: IntoExp<Z>>(
        &mut self,
        f: impl Fn(P, Q) -> R,
        rows: &[(P::Elt, Q::Elt, Z)],
    ) {
        self.maps2(f, rows);
    }

    /// As [`Check::table_within`], of functions of two arguments.
    #[track_caller]
    pub fn table2_within<P: Argument, Q: Argument, Z: Elt, R: IntoExp<Z>>(
        &mut self,
        f: impl Fn(P, Q) -> R,
        rows: &[(P::Elt, Q::Elt, Z)],
        near: Near,
    ) {
        self.maps2_within(f, rows, near);
    }
}

/// What a scalar function receives: an expression, or a tuple of these.
pub trait Argument {
    /// Of elements of this type.
    type Elt: Elt<Exp = Self>;
}
impl<T: Elt<Exp = Exp<T>>> Argument for Exp<T> {
    type Elt = T;
}
impl<A: Argument, B: Argument> Argument for (A, B)
where
    (A, B): IntoExp<(A::Elt, B::Elt)> + Copy,
{
    type Elt = (A::Elt, B::Elt);
}

/// Two arguments as one.
fn paired<X: Clone, Y: Clone, Z: Clone>(triples: &[(X, Y, Z)]) -> Vec<((X, Y), Z)> {
    triples.iter().cloned().map(|(x, y, z)| ((x, y), z)).collect()
}
