//! Structs: products of their fields.

use crate::{Parts, parts, tangents};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DataStruct, DeriveInput, Fields, Index, Member};

pub(crate) fn expand(input: &DeriveInput, data: &DataStruct, core: &TokenStream) -> syn::Result<TokenStream> {
    let parts = parts(input, core)?;
    let tangents = tangents(&parts, &data.fields.iter().map(|f| f.ty.to_token_stream()).collect::<Vec<_>>());
    let Parts { core, name, exp, vis, generics } = parts;
    let members: Vec<Member> = data
        .fields
        .iter()
        .enumerate()
        .map(|(i, f)| f.ident.clone().map_or(Member::Unnamed(Index::from(i)), Member::Named))
        .collect();
    let types: Vec<_> = data.fields.iter().map(|f| &f.ty).collect();
    let visibilities: Vec<_> = data.fields.iter().map(|f| &f.vis).collect();
    let positions: Vec<u32> = (0..members.len() as u32).collect();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();

    let docs = format!("What closures receive for elements of type [`{name}`]: one expression per field.");
    let declaration = match &data.fields {
        Fields::Named(_) => {
            quote!(#vis struct #exp #impl_generics #where_clause { #(#visibilities #members: #core::api::ExpOf<#types>),* })
        }
        Fields::Unnamed(_) => {
            quote!(#vis struct #exp #impl_generics (#(#visibilities #core::api::ExpOf<#types>),*) #where_clause;)
        }
        Fields::Unit => quote!(#vis struct #exp #impl_generics #where_clause;),
    };
    Ok(quote! {
        #[doc = #docs]
        #[allow(missing_docs, reason = "the fields are those of the type")]
        #declaration

        #tangents

        // Not derived: the fields are expressions, which are `Copy` whatever the type parameters are.
        impl #impl_generics ::core::clone::Clone for #exp #type_generics #where_clause {
            fn clone(&self) -> Self { *self }
        }
        impl #impl_generics ::core::marker::Copy for #exp #type_generics #where_clause {}

        impl #impl_generics #core::api::Elt for #name #type_generics #where_clause {
            type Exp = #exp #type_generics;
            fn ty() -> #core::data::EltType {
                #core::data::EltType::tuple([#(<#types as #core::api::Elt>::ty()),*])
            }
            #[track_caller]
            fn unlift(e: #core::api::Exp<Self>) -> Self::Exp {
                let _ = e;
                #exp { #(#members: #core::api::project::<_, #types>(e, #positions)),* }
            }
            fn write(&self, out: &mut dyn ::core::ops::FnMut(#core::data::Lit)) {
                let _ = &out;
                #(#core::api::Elt::write(&self.#members, out);)*
            }
            fn read(leaves: &mut dyn ::core::ops::FnMut() -> #core::data::Lit) -> Self {
                let _ = &leaves;
                #name { #(#members: <#types as #core::api::Elt>::read(leaves)),* }
            }
        }
        #[diagnostic::do_not_recommend]
        impl #impl_generics #core::api::IntoExp<#name #type_generics> for #exp #type_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> #core::api::Exp<#name #type_generics> {
                #core::api::build_struct(&[#(#core::api::erase::<#types>(self.#members)),*])
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
