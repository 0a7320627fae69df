//! The reference interpreter: what programs mean.
//!
//! Sequential and bounds-checked; written to be obviously right, not to be fast. Every other executor is held to it.
//!
//! * Array statements are evaluated on demand, each at most once per run of its block. What is certainly needed is
//!   evaluated in program order; what only a branch, a loop or an element needs is evaluated when it is first reached.
//! * Elements are computed in row-major order (a scan from the right: from its last element), for each the scalar
//!   nodes in their order. The first fault met ends the run.
//! * A program with derivatives is computed with jets (`jet.rs`), numbers with tangents; any other with plain scalars.
//! * Scalar code that depends on no parameter is evaluated once per launch, when it is first reached.

mod derivative;
mod jet;
mod launch;
mod machine;
mod number;
mod ruled;
mod scalar;
mod sort;
mod stencil;
#[cfg(test)]
mod tests;

use crate::data::{ArrayData, Lit};
use crate::error::{Error, Fault};
use crate::exec::{Backend, ProgramCache};
use crate::ir::{ArrayId, Fun, Loc, Program};
use crate::limits::RunLimits;
use number::{Number, Values};
use std::sync::Arc;

pub use launch::shape_of_extents;

/// The reference interpreter. Clones share their cache of prepared programs.
///
/// ```
/// use acc_core::data::{ArrayData, EltType, Prim, ScalarType};
/// use acc_core::interp::Interpreter;
/// use acc_core::{Executor, RunLimits, text};
///
/// let program = text::parse("sum.acc", "
///     program(xs: [1]i64) {
///       total: [0]i64 = fold(xs, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
///       yield total
///     }")?;
/// let i64s = EltType::Scalar(ScalarType::I64);
/// let xs = ArrayData::from_leaves([3], i64s, [1i64, 2, 3].map(|x| [x.lit()])).unwrap();
/// let result = Interpreter::new().run_untyped(&program.into(), &[xs], &RunLimits::none())?;
/// assert_eq!(result[0].element(0).unwrap()[..], [6i64.lit()]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Interpreter(Arc<ProgramCache<Prepared>>);

/// A program prepared for the interpreter: the program itself.
pub struct Prepared {
    program: Arc<Program>,
    /// Whether it has derivatives.
    derivatives: bool,
}

impl Interpreter {
    /// An interpreter with an empty cache.
    pub fn new() -> Interpreter {
        Interpreter::default()
    }
}

impl Backend for Interpreter {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        NAME
    }

    fn cache(&self) -> &ProgramCache<Prepared> {
        &self.0
    }

    fn prepare(&self, program: &Arc<Program>, _limits: &RunLimits) -> Result<Prepared, Error> {
        Ok(Prepared { program: program.clone(), derivatives: program.has_derivatives() })
    }

    fn execute(&self, program: &Prepared, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        // Programs without derivatives are computed without tangents.
        if program.derivatives {
            machine::Machine::<jet::Jet>::new(&program.program, limits).run(args)
        } else {
            machine::Machine::<Lit>::new(&program.program, limits).run(args)
        }
    }
}

/// The values of a closed function (one without parameters) of the array operation `op` that stands at `loc`.
///
/// `arrays` gives the arrays that it reads, when they are first read. Backends evaluate extents, initial values and
/// conditions with it.
pub fn eval_closed(
    fun: &Fun,
    op: &'static str,
    loc: &Loc,
    arrays: &mut dyn FnMut(ArrayId) -> Result<ArrayData, Error>,
    limits: &RunLimits,
) -> Result<Vec<Lit>, Error> {
    struct Closed<'a> {
        arrays: &'a mut dyn FnMut(ArrayId) -> Result<ArrayData, Error>,
        ticker: Ticker<'a>,
    }
    impl Host<Lit> for Closed<'_> {
        fn array(&mut self, a: ArrayId) -> Result<Values<Lit>, Error> {
            Ok(Values::plain((self.arrays)(a)?))
        }
        fn tick(&mut self) -> Result<(), Error> {
            self.ticker.tick()
        }
        fn pause(&mut self) -> Result<(), Error> {
            self.ticker.limits.check()
        }
    }
    let mut host = Closed { arrays, ticker: Ticker::new(limits) };
    Ok(scalar::Launch::new(fun, op, loc).call([], &mut host)?.into_vec())
}

const NAME: &str = "interpreter";

/// What scalar code needs of the program around it.
trait Host<N: Number> {
    /// An array, evaluated now if nobody needed it before.
    fn array(&mut self, a: ArrayId) -> Result<Values<N>, Error>;
    /// Call for every step of work: looks at the limits every so many steps.
    fn tick(&mut self) -> Result<(), Error>;
    /// Call between long steps, of up to some milliseconds: looks at the limits.
    fn pause(&mut self) -> Result<(), Error>;
}

/// Looks at the limits every so many steps.
struct Ticker<'a> {
    limits: &'a RunLimits,
    left: u32,
}

impl<'a> Ticker<'a> {
    fn new(limits: &'a RunLimits) -> Ticker<'a> {
        Ticker { limits, left: 0 }
    }

    fn tick(&mut self) -> Result<(), Error> {
        if self.left == 0 {
            self.limits.check()?;
            self.left = 1000;
        }
        self.left -= 1;
        Ok(())
    }
}

/// The error for a state that no verified program reaches.
fn internal(message: impl Into<String>) -> Error {
    Error::defect(NAME, message)
}

fn fault(fault: Fault, op: &'static str, loc: &Loc) -> Error {
    Error::Fault { fault, op, loc: loc.clone() }
}
