//! A position in the tokens of a text, and the small pieces of grammar that everything shares.

use super::lexer::{Source, Tok, Token};
use super::literal::{read_lit, read_nan};
use crate::data::{EltType, Lit, Prim, ScalarType};
use crate::error::Error;
use crate::grow_stack;
use crate::ir::{ArrayType, Loc};
use crate::memory;
use crate::verify::MAX_RANK;
use std::sync::Arc;

/// How deep a text may nest: beyond it the passes' own recursion would be at risk.
const MAX_DEPTH: usize = 4000;

/// A position in the tokens of a text.
pub struct Cursor<'a> {
    source: Source<'a>,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &str, text: &'a str, skip: usize) -> Result<Cursor<'a>, Error> {
        let source = Source { file: Arc::from(file), text };
        let tokens = super::lexer::tokens(&source, skip)?;
        Ok(Cursor { source, tokens, at: 0, depth: 0 })
    }

    /// The next token, for messages about it.
    pub fn token(&self) -> &Token {
        // The last token is the end of the text, and `at` never passes it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn peek(&self) -> &Tok {
        &self.token().tok
    }

    fn peek_second(&self) -> &Tok {
        self.peek_at(1)
    }

    /// The token so many places on.
    fn peek_at(&self, ahead: usize) -> &Tok {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].tok
    }

    pub(super) fn next(&mut self) -> Token {
        let t = self.token().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        t
    }

    /// An error at a token.
    pub fn error_at<T>(&self, t: &Token, message: impl Into<String>) -> Result<T, Error> {
        Err(self.source.error(t.line, t.col, message))
    }

    /// An error at the next token, naming it and what was expected in its place.
    pub fn expected<T>(&self, what: &str) -> Result<T, Error> {
        self.error_at(self.token(), format!("expected {what}, found {}", self.peek().describe()))
    }

    /// Where the next token stands.
    pub fn here(&self) -> Loc {
        self.source.loc(self.token())
    }

    /// One level of nesting.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.enter()?;
        let result = grow_stack(|| f(self));
        self.leave();
        result
    }

    /// Goes one level of nesting deeper; an error if that is too deep.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return self.error_at(self.token(), format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        Ok(())
    }

    /// Leaves the level that [`enter`](Cursor::enter) began.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Whether this character is next.
    pub fn is(&self, c: char) -> bool {
        *self.peek() == Tok::Punct(c)
    }

    /// Passes over this character, if it is next.
    pub fn eat(&mut self, c: char) -> bool {
        let found = self.is(c);
        if found {
            self.next();
        }
        found
    }

    /// Passes over this character, which must be next.
    pub fn expect(&mut self, c: char) -> Result<(), Error> {
        if self.eat(c) { Ok(()) } else { self.expected(&format!("`{c}`")) }
    }

    /// Whether this word is next.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Tok::Word(w) if w == word)
    }

    /// The next word.
    pub fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Tok::Word(w) => Some(w),
            Tok::Scalar(_) | Tok::Number(..) | Tok::Char(_) | Tok::Str(_) | Tok::Punct(_) | Tok::End => None,
        }
    }

    /// Whether a number without a type is next.
    pub fn is_number(&self) -> bool {
        matches!(self.peek(), Tok::Number(_, None))
    }

    /// Whether the next token is a number, followed by this character.
    pub fn is_number_before(&self, c: char) -> bool {
        self.is_number() && *self.peek_second() == Tok::Punct(c)
    }

    /// Whether the next token is a word, followed by this character.
    pub fn is_word_before(&self, c: char) -> bool {
        matches!(self.peek(), Tok::Word(_)) && *self.peek_second() == Tok::Punct(c)
    }

    /// Passes over this word, if it is next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    /// Passes over this word, which must be next.
    pub fn expect_word(&mut self, word: &str) -> Result<(), Error> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Reads a word; `what` says in the error which one was expected.
    pub fn word(&mut self, what: &str) -> Result<(String, Token), Error> {
        let t = self.token().clone();
        match &t.tok {
            Tok::Word(w) => {
                self.next();
                Ok((w.clone(), t.clone()))
            }
            _ => self.expected(what),
        }
    }

    /// Reads a string.
    pub fn string(&mut self, what: &str) -> Result<String, Error> {
        match self.peek().clone() {
            Tok::Str(s) => {
                self.next();
                Ok(s)
            }
            _ => self.expected(what),
        }
    }

    /// Reads a number.
    pub fn natural<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, Error> {
        let found = match self.peek() {
            Tok::Number(n, None) => n.parse().ok(),
            _ => None,
        };
        match found {
            Some(n) => {
                self.next();
                Ok(n)
            }
            None => self.expected(what),
        }
    }

    /// Items with commas between them and perhaps one at the end, up to and including `close`.
    pub fn list<T>(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut out = Vec::new();
        while !self.eat(close) {
            memory::push(&mut out, item(self)?)?;
            if !self.eat(',') && !self.is(close) {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
        Ok(out)
    }

    /// Reads a scalar type.
    pub fn scalar_type(&mut self) -> Result<ScalarType, Error> {
        let found = match self.peek() {
            Tok::Word(w) => ScalarType::from_name(w),
            _ => None,
        };
        match found {
            Some(t) => {
                self.next();
                Ok(t)
            }
            None => self.expected("a scalar type (i8 ... i64, u8 ... u64, f16, f32, f64, bool, char)"),
        }
    }

    pub(super) fn elt_type(&mut self) -> Result<EltType, Error> {
        if self.eat('(') {
            return self.nested(|c| Ok(EltType::tuple(c.list(')', Self::elt_type)?)));
        }
        match self.peek() {
            Tok::Word(w) if ScalarType::from_name(w).is_some() => Ok(self.scalar_type()?.into()),
            _ => self.expected("an element type, as in `f32` or `(i64, bool)`"),
        }
    }

    pub(super) fn array_type(&mut self) -> Result<ArrayType, Error> {
        self.expect('[')?;
        let token = self.token().clone();
        let rank = self.natural("a rank")?;
        if rank > MAX_RANK {
            return self.error_at(&token, format!("rank {rank} is above {MAX_RANK}"));
        }
        self.expect(']')?;
        Ok(ArrayType { rank, elt: self.elt_type()? })
    }

    /// Whether a literal with its own type stands here.
    pub(super) fn is_typed_literal(&self) -> bool {
        match self.peek() {
            Tok::Number(..) | Tok::Char(_) => true,
            Tok::Word(w) => {
                matches!(&w[..], "true" | "false")
                    || (ScalarType::from_name(w).is_some() && *self.peek_second() == Tok::Punct('('))
            }
            Tok::Scalar(_) | Tok::Str(_) | Tok::Punct(_) | Tok::End => false,
        }
    }

    /// A literal that says its type itself: `1.5f32`, `true`, `'x'`, `f32(nan)`.
    pub(super) fn typed_literal(&mut self) -> Result<Lit, Error> {
        if let Tok::Word(w) = self.peek()
            && let Some(ty) = ScalarType::from_name(w)
        {
            self.next();
            self.expect('(')?;
            let l = self.literal(ty)?;
            self.expect(')')?;
            return Ok(l);
        }
        let ty = match self.peek() {
            Tok::Number(_, Some(suffix)) => ScalarType::from_name(suffix),
            Tok::Char(_) => Some(ScalarType::Char),
            Tok::Word(_) => Some(ScalarType::Bool),
            Tok::Number(_, None) | Tok::Scalar(_) | Tok::Str(_) | Tok::Punct(_) | Tok::End => None,
        };
        match ty {
            Some(ty) => self.literal(ty),
            None => self.expected("a literal with its type, as in `1i64`, `2.5f32`, `true` or `f32(nan)`"),
        }
    }

    /// A literal of a known type, which it may name again.
    pub(super) fn literal(&mut self, ty: ScalarType) -> Result<Lit, Error> {
        let t = self.token().clone();
        let lit = match &t.tok {
            Tok::Number(_, Some(s)) if s != ty.name() => {
                return self.error_at(&t, format!("a literal of type {s} where {ty} is wanted"));
            }
            Tok::Number(n, _) => read_lit(n, ty),
            Tok::Char(c) if ty == ScalarType::Char => Ok(c.lit()),
            Tok::Word(w) if w == ty.name() => return self.typed_literal(),
            // A node that defines nothing may follow: `() = ..`
            Tok::Word(w)
                if w == "nan" && *self.peek_second() == Tok::Punct('(') && *self.peek_at(2) != Tok::Punct(')') =>
            {
                self.next();
                self.next();
                let lit = match self.peek() {
                    Tok::Number(bits, None) => read_nan(bits, ty),
                    other => Err(format!("expected the bits of a NaN, as in `0x7fc00001`, found {}", other.describe())),
                };
                let lit = lit.or_else(|m| self.error_at(self.token(), m))?;
                self.next();
                self.expect(')')?;
                return Ok(lit);
            }
            Tok::Word(w) => read_lit(w, ty),
            Tok::Char(_) | Tok::Scalar(_) | Tok::Str(_) | Tok::Punct(_) | Tok::End => {
                return self.expected(&format!("a value of type {ty}"));
            }
        };
        let lit = lit.or_else(|m| self.error_at(&t, m))?;
        self.next();
        Ok(lit)
    }

    /// A source location, if one is written here.
    pub fn location(&mut self) -> Result<Option<Loc>, Error> {
        if !self.eat('@') {
            return Ok(None);
        }
        if self.eat('?') {
            return Ok(Some(Loc::unknown()));
        }
        let file = self.string("a file name in quotes, or `?`")?;
        self.expect(':')?;
        let line = self.natural("a line")?;
        self.expect(':')?;
        let col = self.natural("a column")?;
        Ok(Some(Loc::new(Arc::from(file), line, col)))
    }
}
