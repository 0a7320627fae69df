//! Options of the native executor.

use crate::lower::Settings;
use crate::{Compile, Tune};
use acc_desugar::{KEPT_STATES, Rules};

/// How a backend compiles and runs programs.
///
/// ```
/// use acc_core::prelude::*;
/// use backend_native::{Native, Options};
/// let native = Native::with(Options::new().threads(2).checks(false))?;
/// assert_eq!(native.run(generate(4, |i| i).sum())?.value(), 6);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The number of its own threads, including the calling one, or one per processor for 0; without it, the backend
    /// uses the global thread pool, with one thread per processor.
    pub threads: Option<usize>,
    /// The simplification rules.
    pub rules: Rules,
    /// Whether producers are fused into consumers.
    pub fuse: bool,
    /// Whether an index out of bounds is an error. Otherwise it stands for some index in bounds: programs that would have
    /// stopped yield unspecified values instead. Nothing outside of arrays is ever read or written.
    ///
    /// Programs without such errors run the same code either way, which tests indices once for a row or a vector. One that
    /// meets such an error is run again, by the tile executor and without optimisation.
    pub checks: bool,
    /// Whether machine code may round less often than the language says. Results depend on the processor then, and on whether
    /// a kernel [is compiled](Compile); not on the number of threads.
    ///
    /// * A product that is added to something, or taken away from it, may be rounded once, with the sum (`fusedMultiplyAdd`
    ///   of IEEE 754): the sum is that of the exact product. Where the product alone is too large for its type, the sum need
    ///   not be: in `f32`, `2 * 3e38 - 3e38` is `3e38`, and without the option an infinity; `2 * 3e38` and minus infinity is
    ///   minus infinity, and NaN without it. Where the product alone is too small for its type, a sum with a zero keeps the
    ///   product's sign. NaN and infinite operands yield what they do without the option.
    /// * What is divided by a square root may be multiplied with an estimate of the root's reciprocal: the quotient is off by
    ///   at most 4 units in the last place. NaN, infinities and the signs of zeros are what they are without the option, but
    ///   for a quotient so near the greatest number of its type that those units decide whether it is an infinity.
    ///
    /// What is computed of such a number may differ by any amount, as after any other rounding: where `x * y + z` is 0 with
    /// two roundings, it is some small number of either sign with one, so that `1 / sqrt(x * y + z)` is NaN and no infinity.
    pub relaxed: bool,
    /// Whether kernels are compiled to machine code.
    pub compile: Compile,
    /// How many states of an array loop (`awhile`) its reverse derivative keeps at a time, beside the first one: 8, if nothing
    /// else is said. With fewer, steps are computed again more often; results are the same.
    pub kept_states: usize,
    /// Whether runs use the loops that search found fastest for the extents of their arguments. Results are the same.
    pub tune: Tune,
}

impl Options {
    /// The options of [`Native::new`](crate::Native::new).
    pub fn new() -> Options {
        Options::default()
    }

    /// With `n` threads of its own; 0: one per processor.
    #[must_use]
    pub fn threads(self, threads: impl Into<Option<usize>>) -> Options {
        Options { threads: threads.into(), ..self }
    }

    /// With these rules of simplification.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Options {
        Options { rules, ..self }
    }

    /// With or without fusion.
    #[must_use]
    pub fn fuse(self, fuse: bool) -> Options {
        Options { fuse, ..self }
    }

    /// With or without [checks of indices](Options#structfield.checks).
    #[must_use]
    pub fn checks(self, checks: bool) -> Options {
        Options { checks, ..self }
    }

    /// With or without [relaxed arithmetic](Options#structfield.relaxed).
    #[must_use]
    pub fn relaxed(self, relaxed: bool) -> Options {
        Options { relaxed, ..self }
    }

    /// With or without machine code, compiled when needed or in the background.
    #[must_use]
    pub fn compile(self, compile: Compile) -> Options {
        Options { compile, ..self }
    }

    /// With room for so many [states of loops](Options#structfield.kept_states).
    #[must_use]
    pub fn kept_states(self, kept_states: usize) -> Options {
        Options { kept_states, ..self }
    }

    /// With or without [tuning](Tune).
    #[must_use]
    pub fn tune(self, tune: Tune) -> Options {
        Options { tune, ..self }
    }

    pub(crate) fn settings(&self) -> Settings {
        let &Options { fuse, checks, relaxed, kept_states, .. } = self;
        Settings { fuse, checks, relaxed, kept_states }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: None,
            rules: Rules::all(),
            fuse: true,
            checks: true,
            relaxed: false,
            compile: Compile::default(),
            kept_states: KEPT_STATES,
            tune: Tune::default(),
        }
    }
}
