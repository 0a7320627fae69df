//! The text form of programs: printer, parser and test files. The grammar is in `docs/TEXT.md`.
//!
//! ```
//! let program = acc_core::text::parse("double.acc", "
//!     program(xs: [1]i64) {
//!       ys: [1]i64 = map(xs, f: |%x: i64| mul(%x, 2i64))
//!       yield ys
//!     }")?;
//! let text = program.to_string();
//! assert_eq!(acc_core::text::parse("again.acc", &text)?, program);
//! # Ok::<(), acc_core::Error>(())
//! ```

mod cursor;
mod data;
mod lexer;
mod literal;
mod number;
mod parser;
mod printer;
mod scalar;
mod test_file;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::ir::Program;
use lexer::Tok;

pub use data::show_array;
pub use number::canonical;
pub use test_file::{Expect, Run, TestFile, Tolerance, parse_test_file, verified_test_file};

/// Reads a program. What it reads is well formed as text but not verified: see [`verify`](crate::verify::verify).
///
/// `file_name` is for messages, and for the source locations of operations that say none.
pub fn parse(file_name: &str, text: &str) -> Result<Program, Error> {
    let mut c = cursor::Cursor::new(file_name, text, 0)?;
    let (program, _) = parser::program(&mut c)?;
    match c.peek() {
        Tok::End => Ok(program),
        _ => c.expected("the end of the text after the program"),
    }
}
