//! `einsum!("ij,jk->ik", a, b)`: sums of products by a text of letters, as in NumPy.

use super::{Axis, after_path, by_commas, expand, parse};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, LitStr, Result};

/// The letters of operands and of the result.
struct Letters {
    operands: Vec<Vec<char>>,
    result: Vec<char>,
}

/// Expands `einsum!`; the first token, before a comma, is the path of acc-core.
pub(crate) fn einsum(input: TokenStream) -> Result<TokenStream> {
    let (core, input) = after_path(input)?;
    let mut parts = by_commas(input).into_iter();
    let Some(text) = parts.next() else {
        return Err(Error::new(Span::call_site(), "`einsum!` is written `einsum!(\"ij,jk->ik\", a, b)`"));
    };
    let text: LitStr = syn::parse2(text)?;
    let operands: Vec<TokenStream> = parts.collect();
    let letters = letters(&text)?;
    // Letters are no variables of the user's.
    let span = text.span().resolved_at(Span::mixed_site());
    if letters.operands.len() != operands.len() {
        let (said, given) = (letters.operands.len(), operands.len());
        let message = format!("the text is about {said} arrays, and {given} after it");
        return Err(Error::new(span, message));
    }
    let names: Vec<Ident> =
        (0..operands.len()).map(|k| format_ident!("__operand_{k}", span = Span::call_site())).collect();
    let mut called: Vec<(Ident, String)> = Vec::new();
    let mut code = TokenStream::new();
    for ((k, name), operand) in names.iter().enumerate().zip(&operands) {
        let words = operand.to_string();
        let is_name = syn::parse2::<Ident>(operand.clone()).is_ok();
        called.push((name.clone(), if is_name { format!("`{words}`") } else { format!("operand {}", k + 1) }));
        code.extend(quote! { let #name = &#operand; });
    }
    // From the left: what the products so far have is summed over the letters that nothing after them has.
    let mut so_far: Option<(Ident, Vec<char>)> = None;
    for (k, (name, own)) in names.iter().zip(&letters.operands).enumerate() {
        let Some((product, of_product)) = so_far else {
            so_far = Some((name.clone(), own.clone()));
            continue;
        };
        let is_last = k + 1 == names.len();
        let is_needed =
            |c: &char| letters.result.contains(c) || letters.operands[k + 1..].iter().any(|o| o.contains(c));
        let mut kept: Vec<char> = Vec::new();
        for c in of_product.iter().chain(own).filter(|c| is_needed(c)) {
            if !kept.contains(c) {
                kept.push(*c);
            }
        }
        if is_last {
            kept.clone_from(&letters.result);
        }
        let array = contraction(&core, &[(&product, &of_product), (name, own)], &kept, &called, span)?;
        let next = format_ident!("__product_{k}", span = Span::call_site());
        code.extend(quote! { let #next = #array; });
        called.push((next.clone(), "the product of the operands before".to_string()));
        so_far = Some((next, kept));
    }
    let Some((last, of_last)) = so_far else {
        return Err(Error::new(span, "there is no array: `einsum!(\"ij,jk->ik\", a, b)`"));
    };
    let result = match names.len() {
        1 => contraction(&core, &[(&last, &of_last)], &letters.result, &called, span)?,
        _ => quote!(#last),
    };
    Ok(quote!({ #code #result }))
}

/// The sum of products of one or two arrays over the letters that the result does not have.
fn contraction(
    core: &TokenStream,
    factors: &[(&Ident, &Vec<char>)],
    result: &[char],
    called: &[(Ident, String)],
    span: Span,
) -> Result<TokenStream> {
    let name = |c: &char| Ident::new(&format!("__{c}"), span);
    let reads = factors.iter().map(|(array, letters)| {
        let index = letters.iter().map(name);
        quote!(#array[#(#index),*])
    });
    let mut body = reads.reduce(|product, read| quote!(#product * #read)).unwrap_or_default();
    let mut summed: Vec<Ident> = Vec::new();
    for c in factors.iter().flat_map(|(_, letters)| letters.iter()) {
        if !result.contains(c) && !summed.contains(&name(c)) {
            summed.push(name(c));
        }
    }
    if !summed.is_empty() {
        body = quote!(sum[#(#summed),*](#body));
    }
    let free = result.iter().map(|c| Axis { name: name(c), extent: None }).collect();
    let mut t = parse::of(free, body, span)?;
    t.called = called.to_vec();
    expand::expand(core, "einsum!", &t)
}

fn letters(text: &LitStr) -> Result<Letters> {
    let wrong = |message: String| Error::new(text.span(), message);
    let all: String = text.value().chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(c) = all.replace("->", "").chars().find(|c| !c.is_ascii_alphabetic() && *c != ',') {
        return Err(wrong(match c {
            '.' => "`...` is not known here: a rank is known, so that every axis has a letter".to_string(),
            c => format!("`{c}` is no index: indices are letters, as in \"ij,jk->ik\""),
        }));
    }
    let (operands, result) = match all.split_once("->") {
        Some((operands, result)) => (operands, Some(result)),
        None => (&all[..], None),
    };
    let operands: Vec<Vec<char>> = operands.split(',').map(|o| o.chars().collect()).collect();
    let count = |c: char| operands.iter().flatten().filter(|o| **o == c).count();
    let result: Vec<char> = match result {
        Some(result) => result.chars().collect(),
        // As NumPy has it: the letters that occur once, in alphabetical order.
        None => {
            let mut once: Vec<char> = operands.iter().flatten().copied().filter(|c| count(*c) == 1).collect();
            once.sort_unstable();
            once
        }
    };
    for (k, c) in result.iter().enumerate() {
        if count(*c) == 0 {
            return Err(wrong(format!("the result has the index `{c}`, which no array has")));
        }
        if result[..k].contains(c) {
            return Err(wrong(format!("the result has the index `{c}` twice")));
        }
    }
    Ok(Letters { operands, result })
}
