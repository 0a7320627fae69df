//! Enums: a tag and the fields of all variants side by side.

use crate::{Parts, parts, tangents};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{DataEnum, DeriveInput, Fields, Ident, Type, Variant};

/// A variant with names for its fields.
struct Case<'a> {
    variant: &'a Variant,
    /// One name per field, to bind it to.
    names: Vec<Ident>,
    types: Vec<&'a Type>,
    /// The component of the element type where the fields start; the tag is component 0.
    start: usize,
}

impl Case<'_> {
    /// The variant of enum `of`, with a value for each field: an expression, or a pattern.
    fn with(&self, of: &Ident, values: &[TokenStream]) -> TokenStream {
        let ident = &self.variant.ident;
        match &self.variant.fields {
            Fields::Named(fields) => {
                let members = fields.named.iter().map(|f| &f.ident);
                quote!(#of::#ident { #(#members: #values),* })
            }
            Fields::Unnamed(_) => quote!(#of::#ident(#(#values),*)),
            Fields::Unit => quote!(#of::#ident),
        }
    }

    fn pattern(&self, of: &Ident) -> TokenStream {
        let names: Vec<TokenStream> = self.names.iter().map(|n| quote!(#n)).collect();
        self.with(of, &names)
    }
}

fn cases(data: &DataEnum) -> Vec<Case<'_>> {
    let mut start = 1;
    let mut cases = Vec::new();
    for variant in &data.variants {
        let names: Vec<Ident> = (0..variant.fields.len()).map(|i| format_ident!("field{}", start + i)).collect();
        let types = variant.fields.iter().map(|f| &f.ty).collect();
        let next = start + names.len();
        cases.push(Case { variant, names, types, start });
        start = next;
    }
    cases
}

pub(crate) fn expand(input: &DeriveInput, data: &DataEnum, core: &TokenStream) -> syn::Result<TokenStream> {
    let common = parts(input, core)?;
    let cases = cases(data);
    let components = cases.iter().flat_map(|c| c.types.iter().map(|t| t.to_token_stream()));
    let tangents = tangents(&common, &std::iter::once(quote!(u8)).chain(components).collect::<Vec<_>>());
    let Parts { core, name, exp, vis, generics } = common;
    let Some(last) = cases.len().checked_sub(1).filter(|last| *last < 256) else {
        let message = "an enum that is an array element has 1 to 256 variants: its tag is a `u8`";
        return Err(syn::Error::new_spanned(name, message));
    };
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let count = cases.len();
    let tags: Vec<u8> = (0..=last as u8).collect();
    let numbers: Vec<usize> = (0..last).collect();
    let types: Vec<&Type> = cases.iter().flat_map(|c| &c.types).copied().collect();
    let fields: Vec<&Ident> = cases.iter().flat_map(|c| &c.names).collect();

    let variants = cases.iter().map(|c| {
        let (ident, types) = (&c.variant.ident, &c.types);
        match &c.variant.fields {
            Fields::Named(f) => {
                let members = f.named.iter().map(|f| &f.ident);
                quote!(#ident { #(#members: #core::api::ExpOf<#types>),* })
            }
            Fields::Unnamed(_) => quote!(#ident(#(#core::api::ExpOf<#types>),*)),
            Fields::Unit => quote!(#ident),
        }
    });
    let patterns: Vec<TokenStream> = cases.iter().map(|c| c.pattern(name)).collect();
    let exp_patterns: Vec<TokenStream> = cases.iter().map(|c| c.pattern(&exp)).collect();

    // Per case: its own fields as they are, those of the others as zeros.
    let each_field = |own: &dyn Fn(&Ident, &Type) -> TokenStream, other: &dyn Fn(&Type) -> TokenStream| {
        let of_case = |case: &Case<'_>| -> Vec<TokenStream> {
            let range = case.start..case.start + case.names.len();
            let field = |(i, (n, t)): (usize, (&&Ident, &&Type))| {
                if range.contains(&(i + 1)) { own(n, t) } else { other(t) }
            };
            fields.iter().zip(&types).enumerate().map(field).collect()
        };
        cases.iter().map(of_case).collect::<Vec<_>>()
    };
    let writes = each_field(
        &|n, t| quote!(<#t as #core::api::Elt>::write(#n, out);),
        &|t| quote!(#core::api::write_zeros::<#t>(out);),
    );
    let parts = each_field(&|n, t| quote!(#core::api::erase::<#t>(#n)), &|t| quote!(#core::api::erase_zero::<#t>()));

    let projections: Vec<TokenStream> = cases
        .iter()
        .map(|c| {
            let project = |(i, t): (usize, &&Type)| {
                let component = (c.start + i) as u32;
                quote!(#core::api::project::<_, #t>(e, #component))
            };
            c.with(&exp, &c.types.iter().enumerate().map(project).collect::<Vec<_>>())
        })
        .collect();
    let (last_projection, projections) = (&projections[last], &projections[..last]);
    let (last_pattern, first_patterns) = (&patterns[last], &patterns[..last]);
    let first_tags = &tags[..last];

    let docs =
        format!("The variants of [`{name}`] with expressions as fields: to build an expression, or to match one.");
    Ok(quote! {
        #[doc = #docs]
        #[allow(missing_docs, reason = "the fields are those of the type")]
        #vis enum #exp #impl_generics #where_clause { #(#variants),* }

        #tangents

        // Not derived: the fields are expressions, which are `Copy` whatever the type parameters are.
        impl #impl_generics ::core::clone::Clone for #exp #type_generics #where_clause {
            fn clone(&self) -> Self { *self }
        }
        impl #impl_generics ::core::marker::Copy for #exp #type_generics #where_clause {}

        impl #impl_generics #core::api::Elt for #name #type_generics #where_clause {
            type Exp = #core::api::Exp<Self>;
            fn ty() -> #core::data::EltType {
                #core::data::EltType::tuple([
                    <u8 as #core::api::Elt>::ty(),
                    #(<#types as #core::api::Elt>::ty()),*
                ])
            }
            fn unlift(e: #core::api::Exp<Self>) -> #core::api::Exp<Self> { e }
            fn write(&self, out: &mut dyn ::core::ops::FnMut(#core::data::Lit)) {
                match self {
                    #(#patterns => {
                        <u8 as #core::api::Elt>::write(&#tags, out);
                        #(#writes)*
                    })*
                }
            }
            fn read(leaves: &mut dyn ::core::ops::FnMut() -> #core::data::Lit) -> Self {
                let tag = <u8 as #core::api::Elt>::read(leaves);
                #(let #fields = <#types as #core::api::Elt>::read(leaves);)*
                match tag {
                    #(#first_tags => #first_patterns,)*
                    _ => #last_pattern,
                }
            }
        }
        impl #impl_generics #core::api::SumElt for #name #type_generics #where_clause {
            type Case = #exp #type_generics;
            const CASES: usize = #count;
            fn is_case(e: #core::api::Exp<Self>, k: usize) -> #core::api::Exp<bool> {
                #core::api::tag_is(e, k)
            }
            fn case(e: #core::api::Exp<Self>, k: usize) -> Self::Case {
                let _ = e;
                match k {
                    #(#numbers => #projections,)*
                    _ => #last_projection,
                }
            }
        }
        #[diagnostic::do_not_recommend]
        impl #impl_generics #core::api::IntoExp<#name #type_generics> for #exp #type_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> #core::api::Exp<#name #type_generics> {
                match self {
                    #(#exp_patterns => #core::api::build_struct(&[
                        #core::api::erase::<u8>(#core::api::constant(#tags)),
                        #(#parts),*
                    ]),)*
                }
            }
        }
        #[diagnostic::do_not_recommend]
        impl #impl_generics #core::api::IntoExp<#name #type_generics> for #name #type_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> #core::api::Exp<#name #type_generics> {
                #core::api::constant(self)
            }
        }
    })
}
