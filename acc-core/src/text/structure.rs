//! What a test file says about the code that an executor makes of its program: `structure native { kernels 2 }`.

use super::cursor::Cursor;
use super::lexer::Token;
use crate::error::Error;
use std::fmt::{self, Display, Formatter};

/// The structure of the code that an executor makes, or what is expected of it. Which executors and counts there are is for
/// whoever compares it to say.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// The executor.
    pub executor: Word,
    /// How many there are of something: `kernels 2`.
    pub counts: Vec<(Word, u64)>,
    /// All kernels in order; nothing is said of them if there are none.
    pub kernels: Vec<KernelShape>,
}

/// What a kernel computes over which axes: `kernel map, fold over parallel, reduce reads contiguous, uniform`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelShape {
    /// The operations whose results it stores.
    pub stores: Vec<String>,
    /// Its axes, the outermost first.
    pub axes: Vec<String>,
    /// How each of its reads moves through its array along the innermost axis; nothing is said of them if there are none.
    pub reads: Vec<String>,
}

impl KernelShape {
    /// Whether a kernel is as this one says.
    fn describes(&self, made: &KernelShape) -> bool {
        let reads = self.reads.is_empty() || self.reads == made.reads;
        self.stores == made.stores && self.axes == made.axes && reads
    }
}

/// A word and where it is, counted from 1.
#[derive(Clone, Debug, Default)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Its line.
    pub line: u32,
    /// Its column.
    pub col: u32,
}

impl From<&str> for Word {
    /// A word that is in no text.
    fn from(text: &str) -> Word {
        Word { text: text.to_string(), ..Word::default() }
    }
}

impl From<(String, Token)> for Word {
    fn from((text, Token { line, col, .. }): (String, Token)) -> Word {
        Word { text, line, col }
    }
}

impl Structure {
    /// Compares what is expected with what an executor makes: as many of each that is counted here, and the same kernels if
    /// they are listed. The error says what differs.
    pub fn compare(&self, made: &Structure) -> Result<(), String> {
        let mut wrong = Vec::new();
        for (name, want) in &self.counts {
            match made.counts.iter().find(|(w, _)| w.text == name.text) {
                Some((_, got)) if got == want => {}
                Some((_, got)) => wrong.push(format!("{} {got}, not {want}", name.text)),
                None => wrong.push(format!("`{}` is not counted", name.text)),
            }
        }
        let mut pairs = self.kernels.iter().zip(&made.kernels);
        let same = self.kernels.len() == made.kernels.len() && pairs.all(|(want, got)| want.describes(got));
        if !self.kernels.is_empty() && !same {
            wrong.push(format!("other kernels than expected, which are\n{self}"));
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{}; the program becomes\n{made}", wrong.join("; "))) }
    }
}

impl Display for Structure {
    /// As it is written in a test file.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "structure {} {{", self.executor.text)?;
        for (n, (name, number)) in self.counts.iter().enumerate() {
            write!(f, "{}{} {number}", if n == 0 { " " } else { "; " }, name.text)?;
        }
        for KernelShape { stores, axes, reads } in &self.kernels {
            write!(f, "\n  kernel {}", stores.join(", "))?;
            if !axes.is_empty() {
                write!(f, " over {}", axes.join(", "))?;
            }
            if !reads.is_empty() {
                write!(f, " reads {}", reads.join(", "))?;
            }
        }
        f.write_str(if self.kernels.is_empty() { " }" } else { "\n}" })
    }
}

/// `structure NAME { items }`, after its first word.
pub(super) fn structure(c: &mut Cursor<'_>) -> Result<Structure, Error> {
    let mut out = Structure { executor: c.word("an executor")?.into(), ..Structure::default() };
    c.expect('{')?;
    while !c.eat('}') {
        let (word, token) = c.word("`kernel`, something that is counted, or `}`")?;
        if word == "kernel" {
            let stores = words(c)?;
            let axes = if c.eat_word("over") { words(c)? } else { Vec::new() };
            let reads = if c.eat_word("reads") { words(c)? } else { Vec::new() };
            out.kernels.push(KernelShape { stores, axes, reads });
        } else if out.counts.iter().any(|(w, _)| w.text == word) {
            return c.error_at(&token, format!("there is a number of `{word}` already"));
        } else {
            out.counts.push(((word, token).into(), c.natural("a number")?));
        }
        c.eat(';');
    }
    Ok(out)
}

/// Words between commas.
fn words(c: &mut Cursor<'_>) -> Result<Vec<String>, Error> {
    let mut out = Vec::new();
    loop {
        out.push(c.word("a word")?.0);
        if !c.eat(',') {
            return Ok(out);
        }
    }
}
