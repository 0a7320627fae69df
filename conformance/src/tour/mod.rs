//! Eleven programs that a user would recognise, in the typed API, on an image and a set of points.
//!
//! They are examples of acc-array. The command line shows them (`acc tour`, `acc export --program NAME`), the benches time
//! them.

mod examples;
pub mod input;
pub mod picture;
mod programs;

use crate::compare::Near;
use acc_core::api::AccFn;
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::{Error, RunLimits};
use acc_desugar::{Rules, pass, pipeline};
use std::sync::Arc;

pub use examples::digits;
pub use input::Input;
pub use picture::Picture;

/// A program of the tour with its arguments.
pub struct Example {
    /// The name on the command line, and of its files.
    pub name: &'static str,
    /// What it computes.
    pub what: String,
    /// The program.
    pub program: Arc<Program>,
    /// Its arguments.
    pub args: Vec<ArrayData>,
    /// How near the floats of its results must be to those of the interpreter.
    pub near: Near,
    /// The results as a picture.
    pub picture: Option<fn(&[ArrayData]) -> Option<Picture>>,
}

/// All programs, on this input. Their structure is the same for every input.
pub fn examples(input: &Input) -> Result<Vec<Example>, Error> {
    Ok(vec![
        programs::dot()?,
        programs::saxpy()?,
        programs::equalise(input)?,
        programs::sobel(input)?,
        programs::mandelbrot()?,
        programs::life(input)?,
        programs::matmul()?,
        programs::kmeans(input)?,
        programs::segmented_sums()?,
        programs::black_scholes()?,
        programs::digits()?,
    ])
}

/// A program from an array function and its arguments.
fn example<Args, Out>(
    name: &'static str,
    what: String,
    f: impl AccFn<Args, Out>,
    mut args: Vec<ArrayData>,
    near: Near,
) -> Result<Example, Error> {
    let built = acc_core::builder::build(&f.build())?;
    args.extend(built.embedded);
    Ok(Example { name, what, program: built.program, args, near, picture: None })
}

/// A program whose derivatives are ordinary statements. The interpreter computes those of a gradient one number of the
/// point after the other, which takes as many times as long as there are numbers.
pub fn differentiated(program: Arc<Program>) -> Result<Arc<Program>, Error> {
    let (rules, limits) = (Rules::all(), RunLimits::none());
    let settings = backend_native::pass_settings(&rules, &limits);
    let expanded = match pass::until(pipeline::NATIVE, "differentiate", &program, &settings) {
        Some(stage) => stage?.into_program().map(|p| Arc::new(p.into_owned())),
        None => None,
    };
    Ok(expanded.unwrap_or(program))
}

/// Numbers that look random and are the same everywhere: the fraction of `k` times the golden ratio, from 0 to 1.
fn scatter(n: usize) -> impl Iterator<Item = f64> {
    (1..=n).map(|k| (k as f64 * 0.618_033_988_749_894_9).fract())
}

/// A host array of the tour that cannot be made.
fn tour_error(e: acc_core::data::ShapeError) -> Error {
    Error::defect("tour", e.to_string())
}
