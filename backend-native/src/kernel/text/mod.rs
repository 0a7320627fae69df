//! The text form of kernels: see `docs/TEXT.md`. Their bodies have that of scalar functions.

mod parse;
mod print;
mod scalar;
#[cfg(test)]
mod tests;

use super::{Kernel, verify};
use acc_core::Error;
use acc_core::text;
use std::fmt::{self, Display, Formatter};

/// Kernels as text, as [`Explanation::kernel_ir`](crate::Explanation::kernel_ir) writes them.
///
/// Those of a program in text form are read back. Those of one from the typed API may name combinators (`op: transpose`), where
/// only array operations are read.
///
/// ```
/// let kernels = backend_native::Kernels::parse("double.acc", "
///     kernel(parallel) {
///       element: |%i: i64| {
///         %x: f32 = a0[i0]
///         %y: f32 = add(%x, %x)
///         yield %y
///       }
///       a1 = store(op: map, values: [0])
///     }")?;
/// kernels.verify()?;
/// assert!(format!("{kernels:#}").contains("%2: f32 = add(%1, %1)"));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Kernels(Vec<Kernel>);

impl Kernels {
    /// Whether a text is one of kernels, and not of a program.
    pub fn are_in(text: &str) -> bool {
        let is_code = |l: &&str| !l.is_empty() && !l.starts_with("//");
        match text.lines().map(str::trim_start).find(is_code) {
            Some(line) => line.starts_with("kernel"),
            None => text.contains(NONE),
        }
    }

    /// Reads kernels, which are not verified yet. `file_name` is for messages, and for the source locations of operations that
    /// say none.
    pub fn parse(file_name: &str, text: &str) -> Result<Kernels, Error> {
        text::parse_whole(file_name, text, "the kernels", parse::kernels).map(Kernels)
    }

    /// Checks what kernels obey; the error names the rule, and the place in the text.
    pub fn verify(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(verify).map_err(Error::Verify)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// What is printed where there are none.
const NONE: &str = "// no kernels";

/// Prints the text form. `{:#}` leaves out the source locations.
impl Display for Kernels {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(f, "{NONE}");
        }
        self.0.iter().try_for_each(|k| k.fmt(f))
    }
}

impl From<Kernel> for Kernels {
    fn from(kernel: Kernel) -> Kernels {
        Kernels(vec![kernel])
    }
}

impl FromIterator<Kernels> for Kernels {
    fn from_iter<I: IntoIterator<Item = Kernels>>(all: I) -> Kernels {
        Kernels(all.into_iter().flat_map(|k| k.0).collect())
    }
}
