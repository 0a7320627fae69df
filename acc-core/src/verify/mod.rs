//! The verifier: the rules that every program obeys. A verified program never makes a backend panic.
//!
//! * **V1** Every array and every scalar value is defined once, before its uses, in the same block or region or one
//!   around it; ids are below the length of the type table.
//! * **V2** Parameters and results of functions have the types that the operation asks for.
//! * **V3** Scalar nodes: the number and types of operands and results fit the operation.
//! * **V4** Array statements: ranks and element types of operands and results fit the operation.
//! * **V5** Regions: the condition is a `bool`; branches yield the node's result types; a loop's test and step take
//!   the state's types, the test yields one `bool`, the step the state's types. The same for blocks. A
//!   foreign function's fallback takes its arguments' types and yields the results'.
//! * **V6** Extent, index and shape functions yield one `i64` per dimension; closed functions have no parameters.
//! * **V7** Windows of stencils have one odd extent per dimension; slice specifications and schedules fit the ranks.
//! * **V8** Ranks are at most [`MAX_RANK`].
//! * **V9** A derivative: the point has the types of the function's parameters; tangents and adjoints are given and yielded
//!   for the arrays with a float in their elements, of types [`ArrayType::tangent`](crate::ir::ArrayType::tangent); at most
//!   [`MAX_NESTED_DERIVATIVES`] are inside one another.
//! * **V10** A function with rules takes its arguments' types and yields the results'. A forward rule takes arguments, residuals and
//!   tangents of arguments and yields tangents of the results; a reverse rule takes residuals and adjoints of the results and
//!   yields adjoints of the arguments; one that stands alone is linear in them ([`nonlinear`](crate::ad::nonlinear)). Partial
//!   derivatives of a scalar function are of arguments and results; there is one for each pair of a float result and argument.

mod block;
mod scalar;

pub use scalar::{Code, Params, Rules, code};

use crate::data::ScalarType;
use crate::error::{Error, VerifyError};
use crate::ir::{ArrayId, Loc, Names, Program};
use crate::limits::RunLimits;

/// The highest rank of an array.
pub const MAX_RANK: usize = 9;

/// The most derivatives that may be inside one another: the work and the size of what they become double with each.
pub const MAX_NESTED_DERIVATIVES: usize = 16;

/// The most scalars that a stencil's window may hold.
pub const MAX_WINDOW: usize = 1 << 20;

/// Checks every rule; `pass` names the pass that made the program, if one did.
pub fn verify(program: &Program, pass: Option<&'static str>) -> Result {
    unlimited(block::program(program, &RunLimits::none())).map_err(|mut e| {
        e.pass = pass;
        e
    })
}

/// The outcome of a check without limits.
pub fn unlimited<T>(checked: Checked<T>) -> Result<T> {
    checked.map_err(|failure| match failure {
        Failure::Broken(e) => e,
        Failure::Stopped(e) => unreachable!("there are no limits, but: {e}"),
    })
}

/// Checks every rule, until a deadline passes or the run is cancelled.
pub fn verify_within(program: &Program, limits: &RunLimits) -> std::result::Result<(), Error> {
    block::program(program, limits).map_err(|failure| match failure {
        Failure::Broken(e) => Error::Verify(e),
        Failure::Stopped(e) => e,
    })
}

/// The outcome of a check.
pub type Result<T = ()> = std::result::Result<T, Box<VerifyError>>;

/// Why a check did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// A rule is broken.
    Broken(Box<VerifyError>),
    /// A limit was reached.
    Stopped(Error),
}

/// The outcome of a part of a check.
pub type Checked<T = ()> = std::result::Result<T, Failure>;

/// Where a check stands: the statement that an error is reported for.
#[derive(Clone)]
pub struct Site {
    op: &'static str,
    loc: Loc,
    names: Names,
}

impl Site {
    /// In an operation, of a program whose arrays have no names.
    pub fn new(op: &'static str, loc: Loc) -> Site {
        Site { op, loc, names: Names::default() }
    }

    /// An error: this rule is broken.
    pub fn fail<T>(&self, rule: &'static str, message: impl Into<String>) -> Checked<T> {
        let error = VerifyError { rule, op: self.op, loc: self.loc.clone(), message: message.into(), pass: None };
        Err(Failure::Broken(Box::new(error)))
    }
    /// An array in a message.
    fn array(&self, a: ArrayId) -> String {
        self.names.show(a)
    }
    /// An error of this rule unless it holds.
    pub fn check(&self, ok: bool, rule: &'static str, message: impl FnOnce() -> String) -> Checked {
        if ok { Ok(()) } else { self.fail(rule, message()) }
    }
    /// An error of this rule unless these types are those that are wanted.
    pub fn types(&self, rule: &'static str, what: &str, got: &[ScalarType], want: &[ScalarType]) -> Checked {
        self.check(got == want, rule, || format!("{what}: types {got:?} where {want:?} are wanted"))
    }
}
