//! Test files: a program with inputs and what is expected of it.

use super::cursor::Cursor;
use super::header::{self, HeaderWord};
use super::lexer::{Source, Tok, Token};
use super::structure::{Structure, structure};
use super::{Data, data, parser};
use crate::data::ArrayData;
use crate::error::{Error, Fault};
use crate::ir::{ArrayType, Program};
use crate::{memory, timeline};
use std::collections::HashMap;
use std::sync::Arc;

/// A test file. Its grammar is in `docs/TEXT.md`.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// The components it covers (`component:`), by their ids.
    pub components: Vec<String>,
    /// The edge cases it covers (`case:`), by their ids.
    pub cases: Vec<String>,
    /// The executors it is for (`executors:`); all if empty.
    pub executors: Vec<String>,
    /// All words of the header, with their places.
    pub header: Vec<HeaderWord>,
    /// The program; not verified.
    pub program: Arc<Program>,
    /// The names of the program's parameters.
    pub params: Vec<String>,
    /// What is expected of the code that executors make of the program.
    pub structures: Vec<Structure>,
    /// The runs, in order.
    pub runs: Vec<Run>,
}

/// One run of a test file's program.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The line where it starts, from 1.
    pub line: u32,
    /// One array per parameter.
    pub args: Vec<Data>,
    /// What is expected.
    pub expect: Expect,
    /// How near floats must be, if the file says so.
    pub tolerance: Option<Tolerance>,
    /// The time the run may take, in milliseconds, if it is limited.
    pub deadline_ms: Option<u64>,
}

impl Run {
    /// The arrays of the parameters, made if a rule gives them; an error if there is no memory for them.
    pub fn arrays(&self) -> Result<Vec<ArrayData>, Error> {
        let array =
            |(position, data): (usize, &Data)| data.array().map_err(|error| Error::Argument { position, error });
        self.args.iter().enumerate().map(array).collect()
    }
}

/// What is expected of a run.
#[derive(Clone, Debug)]
pub enum Expect {
    /// These results.
    Values(Vec<Data>),
    /// The interpreter's results, whatever they are.
    Agree,
    /// A fault of this kind (see [`Fault::kind`]), at this line if one is given.
    Fault {
        /// The kind.
        kind: String,
        /// The line of the operation that faults.
        line: Option<u32>,
    },
    /// That the deadline stops it.
    Stopped,
}

/// How near a float must be to the expected one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// At most so many units in the last place.
    Ulp(u64),
    /// At most this absolute difference.
    Absolute(f64),
    /// At most this difference, relative to the greater magnitude.
    Relative(f64),
}

/// Reads a test file.
pub fn parse_test_file(file_name: &str, text: &str) -> Result<TestFile, Error> {
    let (header, lines) = header::header(&Source { file: Arc::from(file_name), text })?;
    let mut c = Cursor::new(file_name, text, lines)?;
    let (program, params) = parser::program(&mut c)?;
    let types: Vec<&ArrayType> = program.param_types().collect();
    let inputs = params.iter().zip(types).enumerate().map(|(k, (name, ty))| (&name[..], (k, ty))).collect();
    let (mut structures, mut runs, mut names) = (Vec::new(), Vec::new(), HashMap::new());
    while *c.peek() != Tok::End {
        if c.eat_word("structure") {
            let structure = structure(&mut c)?;
            memory::push(&mut structures, structure)?;
            continue;
        }
        let run = run(&mut c, &program, &params, &inputs, &mut names)?;
        memory::push(&mut runs, run)?;
    }
    let of = |key| header.iter().filter(|w| w.key == key).map(|w| w.word.clone()).collect::<Vec<_>>();
    let (components, cases, executors) = (of("component"), of("case"), of("executors"));
    Ok(TestFile { components, cases, executors, header, program: Arc::new(program), params, structures, runs })
}

/// Reads a test file and verifies its program. An error of either is shown where it is in the text.
pub fn verified_test_file(file_name: &str, text: &str) -> Result<TestFile, Error> {
    let file = timeline::pass("parse", || parse_test_file(file_name, text))?;
    match timeline::pass("verify", || crate::verify::verify(&file.program, None)) {
        Ok(()) => Ok(file),
        Err(e) if e.loc.file() == Some(file_name) => {
            let message = format!("{}: {} (rule {})", e.op, e.message, e.rule);
            Err(error_at(file_name, text, (e.loc.line(), e.loc.col()), message))
        }
        Err(e) => Err(Error::Verify(e)),
    }
}

/// An error at a place of a text: line and column, counted from 1.
pub fn error_at(file_name: &str, text: &str, at: (u32, u32), message: impl Into<String>) -> Error {
    Source { file: Arc::from(file_name), text }.error(at.0, at.1, message)
}

/// `run "name" { inputs, expectations }`. `inputs` has the position and the type of each parameter, and `names` the lines
/// of the runs that have a name.
fn run(
    c: &mut Cursor<'_>,
    program: &Program,
    params: &[String],
    inputs: &HashMap<&str, (usize, &ArrayType)>,
    names: &mut HashMap<String, u32>,
) -> Result<Run, Error> {
    let start = c.token().clone();
    c.expect_word("run")?;
    let token = c.token().clone();
    let name = if let Tok::Str(_) = c.peek() { Some(c.string("a name")?) } else { None };
    if let Some(name) = &name
        && let Some(line) = names.insert(name.clone(), start.line)
    {
        return c.error_at(&token, format!("the run at line {line} has this name already"));
    }
    c.expect('{')?;
    let mut args: Vec<Option<Data>> = vec![None; params.len()];
    let (mut values, mut expect, mut tolerance, mut deadline_ms) = (Vec::new(), None, None, None);
    while !c.eat('}') {
        if c.is_word_before('=') {
            let (name, token) = c.word("an input")?;
            c.expect('=')?;
            let Some(&(k, ty)) = inputs.get(&name[..]) else {
                return c.error_at(&token, format!("the program has no parameter `{name}`"));
            };
            if args[k].replace(input(c, ty, &token)?).is_some() {
                return c.error_at(&token, format!("the run has a value for `{name}` already"));
            }
        } else if c.eat_word("expect") {
            match expectation(c)? {
                None => values.push(data::array(c)?),
                Some(e) => expect = Some(e),
            }
        } else if c.eat_word("within") {
            tolerance = Some(self::tolerance(c)?);
        } else if c.eat_word("deadline") {
            deadline_ms = Some(c.natural("milliseconds")?);
            c.expect_word("ms")?;
        } else {
            return c.expected("an input `name = ...`, `expect`, `within`, `deadline` or `}`");
        }
        c.eat(';');
    }
    let mut all = Vec::new();
    for (arg, param) in args.into_iter().zip(params) {
        match arg {
            Some(a) => all.push(a),
            None => return c.error_at(&start, format!("the run has no value for the parameter `{param}`")),
        }
    }
    let expect = match expect {
        Some(_) if !values.is_empty() => return c.error_at(&start, "the run expects values and something else"),
        Some(e) => e,
        None if values.len() == program.body.results.len() => Expect::Values(values),
        None => {
            let want = program.body.results.len();
            let message = format!("the program yields {want} arrays, but {} are expected", values.len());
            return c.error_at(&start, message);
        }
    };
    Ok(Run { name, line: start.line, args: all, expect, tolerance, deadline_ms })
}

/// An input must have its parameter's type.
fn input(c: &mut Cursor<'_>, want: &ArrayType, token: &Token) -> Result<Data, Error> {
    let a = data::array(c)?;
    if want.rank == a.shape().len() && want.elt == *a.elt() {
        return Ok(a);
    }
    let (rank, elt) = (a.shape().len(), a.elt());
    c.error_at(token, format!("the parameter has type {want}, but the value has type [{rank}]{elt}"))
}

/// An expectation other than values.
fn expectation(c: &mut Cursor<'_>) -> Result<Option<Expect>, Error> {
    if c.eat_word("agree") {
        return Ok(Some(Expect::Agree));
    }
    if c.eat_word("stopped") {
        return Ok(Some(Expect::Stopped));
    }
    if !c.eat_word("fault") {
        return Ok(None);
    }
    let (kind, token) = c.word("the kind of fault")?;
    if !Fault::KINDS.contains(&&kind[..]) {
        return c.error_at(&token, format!("there is no such fault; there are: {}", Fault::KINDS.join(", ")));
    }
    let line = if c.eat_word("at") {
        c.expect_word("line")?;
        Some(c.natural("a line")?)
    } else {
        None
    };
    Ok(Some(Expect::Fault { kind, line }))
}

fn tolerance(c: &mut Cursor<'_>) -> Result<Tolerance, Error> {
    if c.eat_word("abs") {
        return Ok(Tolerance::Absolute(difference(c)?));
    }
    if c.eat_word("rel") {
        return Ok(Tolerance::Relative(difference(c)?));
    }
    let n = c.natural("`abs`, `rel` or a number of units in the last place")?;
    c.expect_word("ulp")?;
    Ok(Tolerance::Ulp(n))
}

/// A difference that two equal numbers have at most.
fn difference(c: &mut Cursor<'_>) -> Result<f64, Error> {
    match c.peek() {
        Tok::Number(n, None) if !n.starts_with('-') => c.natural("a difference"),
        _ => c.expected("a difference, 0 or more"),
    }
}
