//! The text form of programs: printer, parser and test files. The grammar is in `docs/TEXT.md`.
//!
//! Scalar functions of any dialect are printed by [`Printer`] and read by [`FunParser`], what differs by the dialect's [`Syntax`]:
//! the kernels of an executor have a text form by the same code.
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
mod header;
mod lexer;
mod literal;
mod number;
mod parser;
mod printer;
mod scalar;
mod schedule;
mod scopes;
mod structure;
mod test_file;
#[cfg(test)]
mod tests;

use crate::data::{Lit, ScalarType};
use crate::error::Error;
use crate::ir::{ArrayType, Program};
use crate::timeline;
use lexer::Tok;

pub use cursor::Cursor;
pub use data::{Data, show_array};
pub use header::HeaderWord;
pub use lexer::Token;
pub use number::canonical;
pub use scalar::{FunParser, Parsed, Printer, Syntax, Tables};
pub use schedule::{one_loop, schedule_of};

pub use structure::{KernelShape, Structure, Word};
pub use test_file::{Expect, Run, TestFile, Tolerance, error_at, parse_test_file, verified_test_file};

/// Reads a program, which is not verified yet: see [`verify`](crate::verify::verify).
///
/// `file_name` is for messages, and for the source locations of operations that say none.
pub fn parse(file_name: &str, text: &str) -> Result<Program, Error> {
    timeline::pass("parse", || parse_whole(file_name, text, "the program", |c| Ok(parser::program(c)?.0)))
}

/// Reads a whole text: `what` is in it, and nothing else.
pub fn parse_whole<T>(
    file_name: &str,
    text: &str,
    what: &str,
    read: impl FnOnce(&mut Cursor<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut c = Cursor::new(file_name, text, 0)?;
    let found = read(&mut c)?;
    match c.peek() {
        Tok::End => Ok(found),
        _ => c.expected(&format!("the end of the text after {what}")),
    }
}

/// A literal as text, without its type: [`parse_literal`] gives the same bits.
pub fn show_literal(literal: Lit) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = literal::write_lit(&mut out, literal);
    out
}

/// Reads a literal of a type: `1.5`, `-3`, `true`, `'x'`, `nan(0x7fc00001)`.
pub fn parse_literal(ty: ScalarType, text: &str) -> Result<Lit, Error> {
    parse_whole("literal", text, "the literal", |c| c.literal(ty))
}

/// Reads the type of an array: `[2](f32, i64)`.
pub fn parse_array_type(text: &str) -> Result<ArrayType, Error> {
    parse_whole("type", text, "the type", |c| c.array_type())
}
