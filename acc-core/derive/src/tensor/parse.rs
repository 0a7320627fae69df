//! Reads and reductions in the tokens of an expression; everything else is the user's Rust.

use super::{Axis, Index, Kind, Piece, Read, Reduction, Sum, Tensor, by_commas};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use std::collections::HashSet;
use syn::{Error, Result};

/// Reductions over all elements by methods of arrays.
const METHODS: [(&str, &str); 6] =
    [("sum", "sum"), ("product", "product"), ("min", "minimum"), ("max", "maximum"), ("all", "and"), ("any", "or")];

/// `[i, j in 0..n] expression`
pub(super) fn tensor(input: TokenStream) -> Result<Tensor> {
    let mut tokens = input.into_iter();
    let Some(TokenTree::Group(axes)) = tokens.next().filter(|t| is_group(t, Delimiter::Bracket)) else {
        return Err(Error::new(
            Span::call_site(),
            "the axes of the result come first, in brackets: `tensor!([i, j] ..)`",
        ));
    };
    let free = self::axes(&axes)?;
    let body: TokenStream = tokens.collect();
    if body.is_empty() {
        return Err(Error::new(axes.span(), "the expression of an element is missing after the axes of the result"));
    }
    of(free, body, axes.span())
}

/// An expression with these axes of the result.
pub(super) fn of(free: Vec<Axis>, body: TokenStream, span: Span) -> Result<Tensor> {
    let mut p = Parser { open: Vec::new(), reads: Vec::new(), reductions: Vec::new() };
    p.enter(&free)?;
    let body = p.pieces(body)?;
    Ok(Tensor { free, body, reads: p.reads, reductions: p.reductions, called: Vec::new(), span })
}

struct Parser {
    /// The axes that are open, outermost first.
    open: Vec<Ident>,
    reads: Vec<Read>,
    reductions: Vec<Reduction>,
}

impl Parser {
    fn enter(&mut self, axes: &[Axis]) -> Result<()> {
        for axis in axes {
            if self.open.contains(&axis.name) {
                let message = format!("`{}` is an axis here already: give this one another name", axis.name);
                return Err(Error::new(axis.name.span(), message));
            }
            self.open.push(axis.name.clone());
        }
        Ok(())
    }

    fn pieces(&mut self, tokens: TokenStream) -> Result<Vec<Piece>> {
        let mut out: Vec<Piece> = Vec::new();
        let mut tokens = tokens.into_iter().peekable();
        while let Some(t) = tokens.next() {
            let index = match (&t, tokens.peek()) {
                (TokenTree::Ident(_), Some(TokenTree::Group(g))) if g.delimiter() == Delimiter::Bracket => g.clone(),
                _ => {
                    out.push(match t {
                        TokenTree::Group(g) => Piece::Group(g.delimiter(), g.span(), self.pieces(g.stream())?),
                        t => Piece::Token(t),
                    });
                    continue;
                }
            };
            let TokenTree::Ident(name) = t else { continue };
            tokens.next();
            let after_dot = matches!(out.last(), Some(Piece::Token(TokenTree::Punct(p))) if p.as_char() == '.');
            if after_dot {
                let message = format!("an array that is read has a plain name: `let {name} = &..;` before `tensor!`");
                return Err(Error::new(name.span(), message));
            }
            let is_reduction = name == "fold" || METHODS.iter().any(|(word, _)| name == word);
            let term = tokens.peek().filter(|t| is_group(t, Delimiter::Parenthesis)).cloned();
            match (is_reduction, term) {
                (true, Some(TokenTree::Group(term))) => {
                    tokens.next();
                    let reduction = self.reduction(name, &index, &term)?;
                    self.reductions.push(reduction);
                    out.push(Piece::Reduction(self.reductions.len() - 1));
                }
                (true, _) => {
                    let message = format!("`{name}[..]` is followed by its term in parentheses: `{name}[k](a[k])`");
                    return Err(Error::new(name.span(), message));
                }
                (false, _) => {
                    let read = self.read(name, &index)?;
                    self.reads.push(read);
                    out.push(Piece::Read(self.reads.len() - 1));
                }
            }
        }
        Ok(out)
    }

    fn read(&mut self, array: Ident, index: &Group) -> Result<Read> {
        let span = array.span().join(index.span()).unwrap_or_else(|| array.span());
        let mut all = Vec::new();
        for part in by_commas(index.stream()) {
            let sum = sum(part.clone());
            all.push(Index { pieces: self.pieces(part)?, sum });
        }
        Ok(Read { array, index: all, span })
    }

    fn reduction(&mut self, name: Ident, axes: &Group, term: &Group) -> Result<Reduction> {
        let span = name.span();
        let axes = self::axes(axes)?;
        if axes.is_empty() {
            return Err(Error::new(span, format!("`{name}` is over at least one axis: `{name}[k](a[k])`")));
        }
        let (kind, term) = match METHODS.iter().find(|(word, _)| name == word) {
            Some((_, method)) => (Kind::Method(method), term.stream()),
            None => fold(span, &axes, term)?,
        };
        let mentioned = identifiers(term.clone());
        let around: Vec<Ident> = self.open.iter().filter(|a| mentioned.contains(&a.to_string())).cloned().collect();
        let outer = self.open.len();
        self.enter(&axes)?;
        let term = self.pieces(term)?;
        self.open.truncate(outer);
        Ok(Reduction { kind, axes, term, around, span })
    }
}

/// The initial value, the operator and the term of `fold[k](init, |a, b| .., term)`.
fn fold(span: Span, axes: &[Axis], term: &Group) -> Result<(Kind, TokenStream)> {
    let form = "`fold[k](init, |a, b| .., term)`, over one axis";
    let parts = by_commas(term.stream());
    match (&parts[..], axes) {
        ([init, operator, term], [_]) => {
            Ok((Kind::Fold { init: init.clone(), operator: operator.clone() }, term.clone()))
        }
        _ => Err(Error::new(span, format!("a fold is written {form}"))),
    }
}

/// `i, j in 0..n`
fn axes(group: &Group) -> Result<Vec<Axis>> {
    by_commas(group.stream()).into_iter().map(axis).collect()
}

fn axis(tokens: TokenStream) -> Result<Axis> {
    let form = "an axis is a name, `k`, or a name with its extent, `k in 0..n`";
    let mut tokens = tokens.into_iter();
    let name = match tokens.next() {
        Some(TokenTree::Ident(name)) if name != "_" => name,
        other => return Err(Error::new(other.map_or_else(Span::call_site, |t| t.span()), form)),
    };
    match tokens.next() {
        None => return Ok(Axis { name, extent: None }),
        Some(TokenTree::Ident(word)) if word == "in" => {}
        Some(other) => return Err(Error::new(other.span(), form)),
    }
    let zero = matches!(tokens.next(), Some(TokenTree::Literal(zero)) if zero.to_string() == "0");
    let dot = |t: Option<TokenTree>| matches!(t, Some(TokenTree::Punct(p)) if p.as_char() == '.');
    let dots = dot(tokens.next()) && dot(tokens.next());
    let extent: TokenStream = tokens.collect();
    if !zero || !dots || extent.is_empty() {
        return Err(Error::new(name.span(), form));
    }
    Ok(Axis { name, extent: Some(extent) })
}

/// A sum of names, of products of a number and a name, and of numbers.
fn sum(tokens: TokenStream) -> Option<Sum> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut sum = Sum::default();
    let is_plus = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == '+');
    for term in tokens.split(is_plus) {
        let number = |t: &TokenTree| match t {
            TokenTree::Literal(l) => l.to_string().parse::<u64>().ok(),
            _ => None,
        };
        match term {
            [TokenTree::Ident(name)] => sum.terms.push((1, name.clone())),
            [n] => sum.constant = sum.constant.checked_add(number(n)?)?,
            [TokenTree::Ident(name), TokenTree::Punct(times), n]
            | [n, TokenTree::Punct(times), TokenTree::Ident(name)]
                if times.as_char() == '*' =>
            {
                sum.terms.push((number(n).filter(|n| *n > 0)?, name.clone()));
            }
            _ => return None,
        }
    }
    Some(sum)
}

/// The identifiers in tokens, at any depth.
fn identifiers(tokens: TokenStream) -> HashSet<String> {
    let mut out = HashSet::new();
    for t in tokens {
        match t {
            TokenTree::Ident(name) => {
                out.insert(name.to_string());
            }
            TokenTree::Group(g) => out.extend(identifiers(g.stream())),
            _ => {}
        }
    }
    out
}

fn is_group(t: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(t, TokenTree::Group(g) if g.delimiter() == delimiter)
}
