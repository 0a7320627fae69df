//! The code of an expression.

use super::axes::{extent, statements, tuple};
use super::{Axis, Kind, MAX_RANK, Piece, Reduction, Tensor};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Result};

/// The array of an expression; faults call the operation by this name.
pub(super) fn expand(core: &TokenStream, macro_name: &str, t: &Tensor) -> Result<TokenStream> {
    let mut code = statements(core, macro_name, t)?;
    for (k, r) in t.reductions.iter().enumerate() {
        let name = reduced(k);
        let array = reduction(core, t, r)?;
        code.extend(quote! { let #name = #array; });
    }
    let free: Vec<&Ident> = t.free.iter().map(|axis| &axis.name).collect();
    let whole = match &t.body[..] {
        [Piece::Reduction(k)] if t.reductions[*k].around.iter().eq(free.iter().copied()) => Some(reduced(*k)),
        _ => None,
    };
    let result = match whole {
        Some(name) => quote!(#name),
        None if free.is_empty() => {
            let body = tokens(t, &t.body);
            quote_spanned!(t.span => #core::api::unit(#body))
        }
        None => generate(core, t, t.span, &free, &t.body)?,
    };
    Ok(quote! {
        #core::api::tensor_scope(&#macro_name, || { #code #result })
    })
}

fn reduced(k: usize) -> Ident {
    format_ident!("__reduced_{k}", span = Span::call_site())
}

/// The results of a reduction, by the axes around it.
fn reduction(core: &TokenStream, t: &Tensor, r: &Reduction) -> Result<TokenStream> {
    let own = r.axes.iter().map(|axis: &Axis| &axis.name);
    let axes: Vec<&Ident> = r.around.iter().chain(own).collect();
    let terms = generate(core, t, r.span, &axes, &r.term)?;
    Ok(match &r.kind {
        Kind::Method(method) => {
            let method = Ident::new(method, r.span);
            let folds = r.axes.iter().map(|_| quote_spanned!(r.span => .#method()));
            quote!(#terms #(#folds)*)
        }
        Kind::Fold { init, operator } => quote_spanned!(r.span => #terms.fold(#init, #operator)),
    })
}

fn generate(core: &TokenStream, t: &Tensor, span: Span, axes: &[&Ident], body: &[Piece]) -> Result<TokenStream> {
    if axes.len() > MAX_RANK {
        let names: Vec<String> = axes.iter().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "this is over the {} axes {}, and arrays have at most {MAX_RANK}: compute a part of it by a `tensor!` before",
            axes.len(),
            names.join(", ")
        );
        return Err(Error::new(span, message));
    }
    let (extents, index, body) = (tuple(axes.iter().map(|a| extent(a))), tuple(axes), tokens(t, body));
    // An element need not depend on every index.
    Ok(quote_spanned!(span => #core::api::generate(#extents, |#index| {
        let _ = (#(&#axes),*);
        #body
    })))
}

/// The scalar code of an expression.
fn tokens(t: &Tensor, pieces: &[Piece]) -> TokenStream {
    pieces.iter().map(|piece| one(t, piece)).collect()
}

fn one(t: &Tensor, piece: &Piece) -> TokenStream {
    match piece {
        Piece::Token(token) => token.clone().into(),
        Piece::Group(delimiter, span, inside) => {
            let mut group = Group::new(*delimiter, tokens(t, inside));
            group.set_span(*span);
            TokenTree::from(group).into()
        }
        Piece::Read(k) => {
            let read = &t.reads[*k];
            let array = &read.array;
            if read.index.is_empty() {
                return quote_spanned!(read.span => #array.the());
            }
            let index = tuple(read.index.iter().map(|index| tokens(t, &index.pieces)));
            quote_spanned!(read.span => #array.index(#index))
        }
        Piece::Reduction(k) => {
            let (name, around) = (reduced(*k), &t.reductions[*k].around);
            if around.is_empty() {
                return quote!(#name.the());
            }
            let index = tuple(around);
            quote!(#name.index(#index))
        }
    }
}
