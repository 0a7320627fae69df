//! `#[derive(Elt)]`: structs and enums as array elements. `#[derive(Arrays)]`: structs of arrays. `tensor!` and `einsum!`:
//! expressions by indices.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arrays;
mod enums;
mod structs;
mod tensor;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, GenericParam, Generics, Ident, Visibility, parse_quote};

/// Makes a struct or an enum an element type. All fields must be element types.
///
/// A struct is a product of its fields. Beside the implementation it makes a struct `<Name>Exp` with the same fields as
/// expressions, which closures receive, with field access, patterns and functional update (`..p`) as usual.
///
/// An enum is a tag (`u8`) and the fields of all its variants side by side. Closures receive an `Exp<Name>`; the macro
/// makes an enum `<Name>Exp` with the same variants, whose fields are expressions: to build a value, and to take one
/// apart with `match_`.
#[proc_macro_derive(Elt)]
pub fn derive_elt(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input, &quote!(::acc_core))
}

/// Makes a struct of arrays what array functions take and yield, as tuples of arrays are: the parameters of a model, say. It
/// has 1 to 16 named fields, arrays or structs and tuples of them.
///
/// Beside the implementation it makes a struct `<Name>Acc` with the same fields as array expressions, which closures receive.
/// It can be the point of a derivative; its tangents are a tuple of those of its fields.
#[proc_macro_derive(Arrays)]
pub fn derive_arrays(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    arrays_of(input, &quote!(::acc_core))
}

/// [`Arrays`](macro@Arrays) for crates that depend on `acc-array` alone.
#[doc(hidden)]
#[proc_macro_derive(FacadeArrays)]
pub fn derive_facade_arrays(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    arrays_of(input, &quote!(::acc_array::__core))
}

/// What `tensor!` of acc-core passes on, its path first.
#[doc(hidden)]
#[proc_macro]
pub fn tensor_of(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    tensor::tensor(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// What `einsum!` of acc-core passes on, its path first.
#[doc(hidden)]
#[proc_macro]
pub fn einsum_of(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    tensor::einsum(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn arrays_of(input: proc_macro::TokenStream, core: &TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    arrays::expand(&input, core).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// [`Elt`](macro@Elt) for crates that depend on `acc-array` alone, which has it under that name.
#[doc(hidden)]
#[proc_macro_derive(FacadeElt)]
pub fn derive_facade_elt(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(input, &quote!(::acc_array::__core))
}

fn derive(input: proc_macro::TokenStream, core: &TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input, core).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// What the macro writes; `core` is the path of acc-core in the crate that uses it.
fn expand(input: &DeriveInput, core: &TokenStream) -> syn::Result<TokenStream> {
    match &input.data {
        Data::Struct(data) => structs::expand(input, data, core),
        Data::Enum(data) => enums::expand(input, data, core),
        Data::Union(_) => Err(syn::Error::new_spanned(&input.ident, "#[derive(Elt)] works on structs and enums")),
    }
}

/// The most components of a tuple of tangents.
const MAX_TANGENTS: usize = 16;

/// The type's tangents: a tuple of those of its components, if tuples have as many.
fn tangents(parts: &Parts<'_>, types: &[TokenStream]) -> TokenStream {
    let Parts { core, name, generics, .. } = parts;
    let mut generics = generics.clone();
    for p in generics.type_params_mut() {
        p.bounds.push(parse_quote!(#core::api::TangentElt));
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let tangent = if types.len() > MAX_TANGENTS {
        quote!(#core::api::TangentOf<Self>)
    } else {
        quote!((#(<#types as #core::api::TangentElt>::Tan,)*))
    };
    quote! {
        impl #impl_generics #core::api::TangentElt for #name #type_generics #where_clause {
            type Tan = #tangent;
        }
        impl #impl_generics #core::api::HasFloat for #name #type_generics #where_clause {}
    }
}

/// What structs and enums have in common.
struct Parts<'a> {
    /// The path of acc-core.
    core: &'a TokenStream,
    name: &'a Ident,
    /// The name of the type of expressions.
    exp: Ident,
    vis: &'a Visibility,
    /// The type's parameters, bound to be element types.
    generics: Generics,
}

fn parts<'a>(input: &'a DeriveInput, core: &'a TokenStream) -> syn::Result<Parts<'a>> {
    let mut generics = input.generics.clone();
    for p in &mut generics.params {
        match p {
            GenericParam::Type(t) => t.bounds.push(parse_quote!(#core::api::Elt)),
            GenericParam::Lifetime(l) => {
                return Err(syn::Error::new_spanned(l, "array elements own their data: no lifetimes"));
            }
            GenericParam::Const(_) => {}
        }
    }
    Ok(Parts { core, name: &input.ident, exp: format_ident!("{}Exp", input.ident), vis: &input.vis, generics })
}
