//! How long axes are: as long as the arrays that are read along them.

use super::{Axis, MAX_RANK, Read, Sum, Tensor};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::collections::HashMap;
use syn::{Error, Result};

/// Where an axis of an array is, as a variable of the code.
pub(super) fn array_extent(array: &Ident, axis: usize) -> Ident {
    format_ident!("__extent_{axis}_of_{array}", span = Span::call_site())
}

/// The variable that holds the extent of an axis.
pub(super) fn extent(name: &Ident) -> Ident {
    format_ident!("__extent_of_{name}", span = Span::call_site())
}

/// Statements that take the arrays, in their order of first use, and the extents of all axes, and check extents of one name
/// against each other.
pub(super) fn statements(core: &TokenStream, macro_name: &str, t: &Tensor) -> Result<TokenStream> {
    let mut out = TokenStream::new();
    let mut arrays: Vec<&Read> = Vec::new();
    for read in &t.reads {
        if read.index.len() > MAX_RANK {
            return Err(Error::new(read.span, format!("arrays have at most {MAX_RANK} axes")));
        }
        match arrays.iter().find(|first| first.array == read.array) {
            Some(first) if first.index.len() != read.index.len() => {
                let (array, first, here) = (&read.array, first.index.len(), read.index.len());
                let message = format!("`{array}` is read by {here} indices here, and by {first} before");
                return Err(Error::new(read.span, message));
            }
            Some(_) => {}
            None => arrays.push(read),
        }
    }
    for read in arrays {
        let (array, rank) = (&read.array, format_ident!("DIM{}", read.index.len()));
        let extents = (0..read.index.len()).map(|axis| array_extent(array, axis));
        let extents = tuple(extents);
        out.extend(quote_spanned! { array.span() =>
            let #array = #core::api::tensor_operand::<#core::api::#rank, _>(&#array);
            let #extents = #array.shape();
        });
    }
    out.extend(known(core, macro_name, t)?);
    Ok(out)
}

/// The extents of the axes.
fn known(core: &TokenStream, macro_name: &str, t: &Tensor) -> Result<TokenStream> {
    let mut out = TokenStream::new();
    let all: Vec<&Axis> = t.free.iter().chain(t.reductions.iter().flat_map(|r| &r.axes)).collect();
    // By name; with where its extent comes from, if it is an array's.
    let mut found: HashMap<String, Option<(&Ident, usize)>> = HashMap::new();
    for axis in &all {
        if let Some(n) = &axis.extent {
            let extent = extent(&axis.name);
            out.extend(quote! { let #extent = #core::api::IxPart::part(#n); });
            found.insert(axis.name.to_string(), None);
        }
    }
    for read in &t.reads {
        for (k, index) in read.index.iter().enumerate() {
            let Some(name) = index.sum.as_ref().and_then(alone) else { continue };
            if !all.iter().any(|axis| axis.name == *name) {
                continue;
            }
            let (own, of_axis) = (array_extent(&read.array, k), extent(name));
            match found.get(&name.to_string()) {
                Some(None) => {}
                Some(Some((first, at))) if (*first, *at) == (&read.array, k) => {}
                Some(Some((first, _))) => {
                    let array = &read.array;
                    let message = format!(
                        "{macro_name}: axis `{}` is {{}} in {}, but {{}} in {}",
                        name.to_string().trim_start_matches("__"),
                        called(t, first),
                        called(t, array)
                    );
                    out.extend(quote_spanned! { read.span =>
                        let #array = #array.check_with(#of_axis.eq(#own), #message, &[#of_axis, #own]);
                    });
                }
                None => {
                    out.extend(quote! { let #of_axis = #own; });
                    found.insert(name.to_string(), Some((&read.array, k)));
                }
            }
        }
    }
    // Those of which a sum with others is an index.
    while let Some((axis, code)) = next_deduced(core, t, &all, &found) {
        let of_axis = extent(&axis.name);
        out.extend(quote! { let #of_axis = #code; });
        found.insert(axis.name.to_string(), None);
    }
    match all.iter().find(|axis| !found.contains_key(&axis.name.to_string())) {
        Some(axis) => {
            let name = &axis.name;
            let message =
                format!("no array is read at `{name}` alone, so that it has no extent: write `{name} in 0..n`");
            Err(Error::new(name.span(), message))
        }
        None => Ok(out),
    }
}

/// An axis whose extent follows from those that are known, and that extent: of `2 * y + p`, which is an index along an axis of
/// `D` elements, `y` has `(D - 1 - (P - 1)) / 2 + 1` ones.
fn next_deduced<'t>(
    core: &TokenStream,
    t: &Tensor,
    all: &[&'t Axis],
    found: &HashMap<String, Option<(&Ident, usize)>>,
) -> Option<(&'t Axis, TokenStream)> {
    for read in &t.reads {
        for (k, index) in read.index.iter().enumerate() {
            let Some(sum) = &index.sum else { continue };
            let is_known = |name: &Ident| found.contains_key(&name.to_string());
            let mut unknown = sum.terms.iter().filter(|(_, name)| !is_known(name));
            let (Some((step, name)), None) = (unknown.next(), unknown.next()) else { continue };
            let Some(axis) = all.iter().find(|axis| axis.name == *name) else { continue };
            let own = array_extent(&read.array, k);
            let constant = i64::try_from(sum.constant).ok()?;
            let step = i64::try_from(*step).ok()?;
            let mut last = quote!(#own);
            if constant > 0 {
                last = quote!((#last - #constant));
            }
            for (times, other) in sum.terms.iter().filter(|(_, other)| is_known(other)) {
                let (of_other, times) = (extent(other), i64::try_from(*times).ok()?);
                last = match times {
                    1 => quote!((#last - #of_other + 1i64)),
                    _ => quote!((#last - (#of_other - 1i64) * #times)),
                };
            }
            if step > 1 {
                last = quote!((#core::api::Exp::<i64>::div_floor(#last - 1i64, #step) + 1i64));
            }
            return Some((axis, last));
        }
    }
    None
}

/// The name that stands alone.
fn alone(sum: &Sum) -> Option<&Ident> {
    match &sum.terms[..] {
        [(1, name)] if sum.constant == 0 => Some(name),
        _ => None,
    }
}

fn called(t: &Tensor, array: &Ident) -> String {
    let own = t.called.iter().find(|(a, _)| a == array);
    own.map_or_else(|| format!("`{array}`"), |(_, words)| words.clone())
}

/// A tuple as indices are written: of one component it is that.
pub(super) fn tuple<T: quote::ToTokens>(parts: impl IntoIterator<Item = T>) -> TokenStream {
    let parts: Vec<T> = parts.into_iter().collect();
    match &parts[..] {
        [one] => quote!(#one),
        parts => quote!((#(#parts),*)),
    }
}
