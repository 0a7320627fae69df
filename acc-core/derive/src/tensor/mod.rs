//! `tensor!` and `einsum!`: expressions over the elements of arrays, by indices.
//!
//! An expression becomes `generate`, each reduction in it `generate` with an axis more for each index and then a fold; what
//! stands around a reduction is a `generate` of its own, which reads its results.

mod axes;
mod einsum;
mod expand;
mod parse;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};

pub(crate) use einsum::einsum;

/// The greatest rank of arrays.
const MAX_RANK: usize = 9;

/// Expands `tensor!`; the first token, before a comma, is the path of acc-core.
pub(crate) fn tensor(input: TokenStream) -> syn::Result<TokenStream> {
    let (core, input) = after_path(input)?;
    let parsed = parse::tensor(input)?;
    expand::expand(&core, "tensor!", &parsed)
}

/// An axis, perhaps with its extent.
#[derive(Clone)]
struct Axis {
    name: Ident,
    /// The `n` of `i in 0..n`.
    extent: Option<TokenStream>,
}

/// An expression over axes.
struct Tensor {
    /// The axes of the result.
    free: Vec<Axis>,
    body: Vec<Piece>,
    /// All reads and reductions in it, inner ones before those around them.
    reads: Vec<Read>,
    reductions: Vec<Reduction>,
    /// How messages call arrays that have no name of the user's.
    called: Vec<(Ident, String)>,
    span: Span,
}

/// A part of an expression.
enum Piece {
    Token(TokenTree),
    Group(proc_macro2::Delimiter, Span, Vec<Piece>),
    /// By number.
    Read(usize),
    Reduction(usize),
}

/// `a[i, j + p]`
struct Read {
    array: Ident,
    index: Vec<Index>,
    span: Span,
}

/// An index along one axis.
struct Index {
    pieces: Vec<Piece>,
    /// If it is a sum of multiples of names and of a number.
    sum: Option<Sum>,
}

/// A sum of multiples of names, and a number.
#[derive(Default)]
struct Sum {
    terms: Vec<(u64, Ident)>,
    constant: u64,
}

/// `sum[k, l](..)`
struct Reduction {
    kind: Kind,
    axes: Vec<Axis>,
    term: Vec<Piece>,
    /// The axes around it that its term mentions, outermost first.
    around: Vec<Ident>,
    span: Span,
}

enum Kind {
    /// A method of arrays.
    Method(&'static str),
    /// By an initial value and an operator.
    Fold { init: TokenStream, operator: TokenStream },
}

/// The path of acc-core, which the macros of that crate pass first, and what is after it.
fn after_path(input: TokenStream) -> syn::Result<(TokenStream, TokenStream)> {
    let mut tokens = input.into_iter();
    let is_comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
    let path: TokenStream = tokens.by_ref().take_while(|t| !is_comma(t)).collect();
    Ok((path, tokens.collect()))
}

/// What is between commas, but for those between the parameters of a closure.
fn by_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts: Vec<Vec<TokenTree>> = vec![Vec::new()];
    let mut in_parameters = false;
    for t in tokens {
        let is = |c: char| matches!(&t, TokenTree::Punct(p) if p.as_char() == c);
        let begins = parts.last().is_some_and(|part| match &part[..] {
            [] => true,
            [TokenTree::Ident(word)] => word == "move",
            _ => false,
        });
        in_parameters ^= is('|') && (begins || in_parameters);
        if is(',') && !in_parameters {
            parts.push(Vec::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(t);
        }
    }
    if parts.last().is_some_and(Vec::is_empty) {
        parts.pop();
    }
    parts.into_iter().map(TokenStream::from_iter).collect()
}
