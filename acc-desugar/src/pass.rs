//! Passes, and what runs them.
//!
//! A pass takes a program to another one, or to the next representation of it. Which passes run in which order is listed
//! in [`pipeline`](crate::pipeline). [`run`] is what runs them: it records a span for each in the timeline, looks at the
//! limits between them, and verifies what each makes, so that a defect is reported with the name of the pass that has it.

use crate::fuse::Fusion;
use crate::graph::{self, Graph};
use crate::settings::Settings;
use acc_core::ir::Program;
use acc_core::{Error, timeline};
use std::borrow::Cow;
use std::sync::OnceLock;

/// A pass.
#[derive(Debug)]
pub struct Pass {
    /// Its name: `acc print --after NAME` shows what it makes, and timelines have a span of this name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What holds of what it takes: the rules of a verifier, by their numbers, and what only passes before it make sure of.
    pub before: &'static str,
    /// What holds of what it makes.
    pub after: &'static str,
    pub(crate) run: Run,
}

/// What runs a pass.
#[derive(Debug)]
pub(crate) enum Run {
    /// From a program to a program. It borrows one that it does not change.
    Program(for<'p> fn(&'p Program, &Settings<'_>) -> Result<Cow<'p, Program>, Error>),
    /// Passes from programs to programs, repeated until none of them changes anything, at most so many times.
    Repeat(&'static [Pass], usize),
    /// From a program to another representation.
    Translate(for<'p> fn(Cow<'p, Program>, &Settings<'_>) -> Result<Stage<'p>, Error>),
    /// From a graph to a graph.
    Graph(fn(Graph, &Settings<'_>) -> Result<Graph, Error>),
    /// To what an executor runs: in the executor's crate.
    Executor,
}

/// A program between two passes, in one of its representations.
#[derive(Debug)]
pub enum Stage<'p> {
    /// The core IR.
    Program(Cow<'p, Program>),
    /// The core IR, and which statements become one kernel.
    Fused(Cow<'p, Program>, Box<Fusion>),
    /// A graph of tensor operations.
    Graph(Graph),
}

impl<'p> Stage<'p> {
    /// The program, where it still is one.
    pub fn into_program(self) -> Option<Cow<'p, Program>> {
        match self {
            Stage::Program(p) | Stage::Fused(p, _) => Some(p),
            Stage::Graph(_) => None,
        }
    }

    /// Applies the verifier of the representation.
    fn verify(&self, pass: &'static str) -> Result<(), Error> {
        match self {
            Stage::Program(p) => verify_program(p, pass),
            Stage::Fused(p, fusion) => fusion.verify(p).map_err(|e| broken(pass, e)),
            Stage::Graph(g) => graph::verify(g)
                .and_then(|()| graph::verify_shapes(g, &graph::Shapes::of(g)))
                .map_err(|e| broken(pass, e)),
        }
    }
}

/// Whether what passes make is verified: in debug builds, and where the environment says `ACC_VERIFY=1`.
pub fn verifies() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    cfg!(any(debug_assertions, test)) || *ASKED.get_or_init(|| std::env::var_os("ACC_VERIFY").is_some_and(|v| v == "1"))
}

fn verify_program(p: &Program, pass: &'static str) -> Result<(), Error> {
    acc_core::verify::verify(p, Some(pass)).map_err(Error::Verify)
}

fn broken(pass: &'static str, message: impl std::fmt::Display) -> Error {
    Error::defect("verifier", format!("after the pass `{pass}`: {message}"))
}

/// Runs passes on a verified program, in order, up to the one that an executor's crate runs.
pub fn run<'p>(passes: &[Pass], program: &'p Program, settings: &Settings<'_>) -> Result<Stage<'p>, Error> {
    let mut stage = Stage::Program(Cow::Borrowed(program));
    for pass in passes {
        settings.limits.check()?;
        stage = match (&pass.run, stage) {
            (Run::Executor, stage) => return Ok(stage),
            (Run::Translate(translate), Stage::Program(p)) => pass.stage(|| translate(p, settings))?,
            (Run::Graph(rewrite), Stage::Graph(g)) => pass.stage(|| rewrite(g, settings).map(Stage::Graph))?,
            (_, Stage::Program(p)) => Stage::Program(pass.program(p, settings)?),
            (_, _) => return Err(broken(pass.name, "its input is another representation")),
        };
    }
    Ok(stage)
}

/// Runs the pass of an executor's crate that makes what the executor runs, and verifies that.
pub fn finish<T>(
    pass: &'static str,
    settings: &Settings<'_>,
    run: impl FnOnce() -> Result<T, Error>,
    verify: impl FnOnce(&T) -> Result<(), String>,
) -> Result<T, Error> {
    settings.limits.check()?;
    let made = timeline::pass(pass, run)?;
    if verifies() {
        verify(&made).map_err(|e| broken(pass, e))?;
    }
    Ok(made)
}

impl Pass {
    /// The passes that it consists of.
    pub fn parts(&self) -> &'static [Pass] {
        match self.run {
            Run::Repeat(passes, _) => passes,
            Run::Program(_) | Run::Translate(_) | Run::Graph(_) | Run::Executor => &[],
        }
    }

    /// Runs a pass to a representation other than a program.
    fn stage<'p>(&self, run: impl FnOnce() -> Result<Stage<'p>, Error>) -> Result<Stage<'p>, Error> {
        let made = timeline::pass(self.name, run)?;
        if verifies() {
            made.verify(self.name)?;
        }
        Ok(made)
    }

    /// Runs a pass from a program to a program.
    fn program<'p>(&self, p: Cow<'p, Program>, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
        let changed = match self.run {
            Run::Program(run) => match timeline::pass(self.name, || run(&p, settings))? {
                Cow::Borrowed(_) => return Ok(p),
                Cow::Owned(changed) => changed,
            },
            Run::Repeat(passes, times) => {
                let _span = timeline::span(timeline::Kind::Pass, || self.name);
                return repeat(passes, times, p, settings);
            }
            Run::Translate(_) | Run::Graph(_) | Run::Executor => return Err(broken(self.name, "it makes no program")),
        };
        if verifies() {
            verify_program(&changed, self.name)?;
        }
        Ok(Cow::Owned(changed))
    }
}

fn repeat<'p>(
    passes: &[Pass],
    times: usize,
    mut p: Cow<'p, Program>,
    settings: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    for _ in 0..times {
        let before = p.clone();
        for pass in passes {
            settings.limits.check()?;
            p = pass.program(p, settings)?;
        }
        if p == before {
            break;
        }
    }
    Ok(p)
}

/// Passes, each before the ones that it consists of.
pub fn with_parts(passes: &'static [Pass]) -> impl Iterator<Item = &'static Pass> {
    passes.iter().flat_map(|p| std::iter::once(p).chain(p.parts()))
}

/// Runs passes up to the one of this name, a part of a pass once; `None` if there is none, or the executor's crate runs it.
pub fn until<'p>(
    passes: &[Pass],
    name: &str,
    program: &'p Program,
    settings: &Settings<'_>,
) -> Option<Result<Stage<'p>, Error>> {
    let part_of = |p: &Pass| p.parts().iter().position(|part| part.name == name);
    let last = passes.iter().position(|p| p.name == name || part_of(p).is_some())?;
    match (part_of(&passes[last]), &passes[last].run) {
        (None, Run::Executor) => None,
        (None, _) => Some(run(&passes[..=last], program, settings)),
        (Some(part), _) => Some(run(&passes[..last], program, settings).and_then(|stage| match stage {
            Stage::Program(p) => repeat(&passes[last].parts()[..=part], 1, p, settings).map(Stage::Program),
            other => Ok(other),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pass, Run, Stage, run, until, with_parts};
    use crate::pipeline::{GRAPH, NATIVE};
    use crate::settings::{Rules, Settings};
    use acc_core::ir::Program;
    use acc_core::text::parse;
    use acc_core::{Error, RunLimits};
    use std::borrow::Cow;

    const PROGRAM: &str = "program(xs: [1]i64) {
        ys: [1]i64 = map(xs, f: |%x: i64| add(%x, mul(%x, 1i64)))
        zs: [1]i64 = map(ys, f: |%x: i64| add(%x, 2i64))
        s: [0]i64 = fold1(zs, f: |%x: i64, %y: i64| add(%x, %y))
        yield s
      }";

    fn tested<T>(test: impl FnOnce(&Program, &Settings<'_>) -> T) -> T {
        test(&parse("p.acc", PROGRAM).unwrap(), &Settings::new(&Rules::all(), &RunLimits::none()))
    }

    fn pass(name: &'static str, run: Run) -> Pass {
        Pass { name, what: "", before: "", after: "", run }
    }

    fn without_a_statement<'p>(p: &'p Program, _: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
        let mut p = p.clone();
        p.body.stmts.remove(0);
        Ok(Cow::Owned(p))
    }

    #[test]
    fn a_pass_that_breaks_a_program_is_named() {
        let broken = [
            pass("fine", Run::Program(|p, _| Ok(Cow::Borrowed(p)))),
            pass("guilty", Run::Program(without_a_statement)),
        ];
        let error = tested(|p, s| run(&broken, p, s).unwrap_err().to_string());
        assert!(error.contains("guilty") && error.contains("V1"), "{error}");
        let repeated = tested(|p, s| run(&[pass("all", Run::Repeat(BROKEN, 2))], p, s).unwrap_err().to_string());
        assert!(repeated.contains("guilty") && repeated.contains("V1"), "{repeated}");
    }

    const BROKEN: &[Pass] =
        &[Pass { name: "guilty", what: "", before: "", after: "", run: Run::Program(without_a_statement) }];

    #[test]
    fn a_fusion_that_forgets_a_statement_is_a_defect() {
        let forgets = pass(
            "forgets",
            Run::Translate(|p, settings| {
                let mut fusion = crate::fuse::fuse(&p, settings)?;
                fusion.kernels.clear();
                Ok(Stage::Fused(p, Box::new(fusion)))
            }),
        );
        let error = tested(|p, s| run(&[forgets], p, s).unwrap_err().to_string());
        assert!(error.contains("after the pass `forgets`: F1"), "{error}");
    }

    #[test]
    fn every_pass_can_be_the_last() {
        for passes in [NATIVE, GRAPH] {
            let mut names = std::collections::HashSet::new();
            for Pass { name, run, .. } in with_parts(passes) {
                assert!(names.insert(name), "{name} is the name of two passes");
                let stage = tested(|p, s| until(passes, name, p, s).map(|stage| stage.map(|_| ())));
                match run {
                    Run::Executor => assert_eq!(stage, None, "{name}"),
                    Run::Program(_) | Run::Repeat(..) | Run::Translate(_) | Run::Graph(_) => {
                        assert_eq!(stage, Some(Ok(())), "{name}")
                    }
                }
            }
            assert!(matches!(passes.last(), Some(Pass { run: Run::Executor, .. })));
            assert!(tested(|p, s| until(passes, "none", p, s).is_none()));
        }
    }
}
