//! Tokens of the text form.

use crate::error::{Error, ParseError};
use crate::ir::Loc;
use crate::memory;
use std::sync::Arc;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tok {
    /// A word: a keyword, a name, a type, `-inf`.
    Word(String),
    /// A scalar's name, without its `%`.
    Scalar(String),
    /// A number as written, and the type that is written right behind it, if any.
    Number(String, Option<String>),
    /// A string.
    Str(String),
    /// A character.
    Char(char),
    /// Punctuation.
    Punct(char),
    /// The end of the text.
    End,
}

impl Tok {
    /// As an error message shows it.
    pub(super) fn describe(&self) -> String {
        match self {
            Tok::Word(w) => format!("`{w}`"),
            Tok::Scalar(n) => format!("`%{n}`"),
            Tok::Number(n, t) => format!("`{n}{}`", t.as_deref().unwrap_or_default()),
            Tok::Str(s) => format!("{s:?}"),
            Tok::Char(c) => format!("{c:?}"),
            Tok::Punct(c) => format!("`{c}`"),
            Tok::End => "the end of the text".into(),
        }
    }
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub struct Token {
    pub(super) tok: Tok,
    pub(super) line: u32,
    pub(super) col: u32,
}

/// The text that is read, for positions and messages.
pub(super) struct Source<'a> {
    pub(super) file: Arc<str>,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(&self, line: u32, col: u32, message: impl Into<String>) -> Error {
        let source_line = self.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().to_string();
        Error::Parse(Box::new(ParseError {
            file: self.file.to_string(),
            line,
            col,
            message: message.into(),
            source_line,
        }))
    }

    pub(super) fn loc(&self, t: &Token) -> Loc {
        Loc::new(self.file.clone(), t.line, t.col)
    }
}

/// Cuts a text into tokens, the last of which is [`Tok::End`]; the first `skip` lines are passed over.
pub(super) fn tokens(source: &Source<'_>, skip: usize) -> Result<Vec<Token>, Error> {
    let mut out = Vec::new();
    let mut end = (1, 1);
    for (k, text) in source.text.lines().enumerate() {
        let line = u32::try_from(k + 1).unwrap_or(u32::MAX);
        end = (line, text.chars().count() as u32 + 1);
        if k < skip {
            continue;
        }
        let mut lexer = Lexer { chars: text.chars().collect(), at: 0 };
        while let Some(start) = lexer.next_start() {
            let col = start as u32 + 1;
            let tok = lexer.token().map_err(|(at, message)| source.error(line, at as u32 + 1, message))?;
            memory::push(&mut out, Token { tok, line, col })?;
        }
    }
    out.push(Token { tok: Tok::End, line: end.0, col: end.1 });
    Ok(out)
}

/// Whether a character only separates others. The byte order mark is one: editors put it at the beginning of a file.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// One line; no token spans two.
struct Lexer {
    chars: Vec<char>,
    at: usize,
}

type Result2<T> = Result<T, (usize, String)>;

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Passes over space and comments.
    fn next_start(&mut self) -> Option<usize> {
        while self.peek(0).is_some_and(is_space) {
            self.at += 1;
        }
        let comment = self.peek(0) == Some('/') && self.peek(1) == Some('/');
        (self.at < self.chars.len() && !comment).then_some(self.at)
    }

    fn word(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn token(&mut self) -> Result2<Tok> {
        let start = self.at;
        let Some(c) = self.peek(0) else { return Ok(Tok::End) };
        let digit_follows = self.peek(1).is_some_and(|c| c.is_ascii_digit());
        if c.is_ascii_digit() || (c == '-' && digit_follows) {
            return Ok(self.number());
        }
        if c.is_alphabetic() || c == '_' {
            return Ok(Tok::Word(self.word()));
        }
        self.at += 1;
        match c {
            '%' => {
                let name = self.word();
                if name.is_empty() {
                    Err((start, "expected a scalar's name after `%`".into()))
                } else {
                    Ok(Tok::Scalar(name))
                }
            }
            '-' if self.peek(0) == Some('i') => Ok(Tok::Word(format!("-{}", self.word()))),
            '"' => {
                let mut s = String::new();
                loop {
                    match self.peek(0) {
                        None => return Err((start, "the string does not end on its line".into())),
                        Some('"') => break,
                        Some(_) => s.push(self.escaped()?),
                    }
                }
                self.at += 1;
                Ok(Tok::Str(s))
            }
            '\'' => {
                let c = self.escaped()?;
                if self.peek(0) != Some('\'') {
                    return Err((self.at, "expected `'` after the character".into()));
                }
                self.at += 1;
                Ok(Tok::Char(c))
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ':' | '=' | '.' | '@' | '?' | ';' | '*' | '+' => {
                Ok(Tok::Punct(c))
            }
            _ => Err((start, format!("unexpected character {c:?}"))),
        }
    }

    fn number(&mut self) -> Tok {
        let start = self.at;
        self.at += 1;
        if self.chars[start] == '0' && self.peek(0) == Some('x') {
            return Tok::Number(self.chars[start..start + 1].iter().collect::<String>() + &self.word(), None);
        }
        let digits = |l: &mut Lexer| {
            while l.peek(0).is_some_and(|c| c.is_ascii_digit() || c == '_') {
                l.at += 1;
            }
        };
        digits(self);
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            digits(self);
        }
        let signed = usize::from(matches!(self.peek(1), Some('-' | '+')));
        if matches!(self.peek(0), Some('e' | 'E')) && self.peek(1 + signed).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1 + signed;
            digits(self);
        }
        let number = self.chars[start..self.at].iter().filter(|&&c| c != '_').collect();
        let suffix = self.word();
        Tok::Number(number, (!suffix.is_empty()).then_some(suffix))
    }

    /// A character of a string or character literal, with the escapes of Rust.
    fn escaped(&mut self) -> Result2<char> {
        let start = self.at;
        let Some(c) = self.peek(0) else { return Err((start, "expected a character".into())) };
        self.at += 1;
        if c != '\\' {
            return Ok(c);
        }
        let kind = self.peek(0);
        self.at += 1;
        Ok(match kind {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('0') => '\0',
            Some(c @ ('\\' | '\'' | '"')) => c,
            Some('u') if self.peek(0) == Some('{') => {
                self.at += 1;
                let digits = self.word();
                let c = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                match c {
                    Some(c) if self.peek(0) == Some('}') => {
                        self.at += 1;
                        c
                    }
                    _ => return Err((start, "expected a code point, as in `\\u{3bb}`".into())),
                }
            }
            _ => return Err((start, "unknown escape".into())),
        })
    }
}
