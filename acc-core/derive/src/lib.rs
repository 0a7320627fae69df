//! `#[derive(Elt)]`: structs as array elements.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, GenericParam, Index, Member, parse_quote};

/// Makes a struct an element type: a product of its fields.
///
/// Beside the implementation it makes a struct `<Name>Exp` with the same fields as expressions, which closures
/// receive, with field access, patterns and functional update (`..p`) as usual. All fields must be element types.
#[proc_macro_derive(Elt)]
pub fn derive_elt(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(input: DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(
            &input.ident,
            "#[derive(Elt)] works on structs; for choices use Option<T> or an integer tag",
        ));
    };
    let (name, vis) = (&input.ident, &input.vis);
    let exp = format_ident!("{name}Exp");
    let members: Vec<Member> = data
        .fields
        .iter()
        .enumerate()
        .map(|(i, f)| f.ident.clone().map_or(Member::Unnamed(Index::from(i)), Member::Named))
        .collect();
    let types: Vec<_> = data.fields.iter().map(|f| &f.ty).collect();
    let visibilities: Vec<_> = data.fields.iter().map(|f| &f.vis).collect();
    let positions: Vec<u32> = (0..members.len() as u32).collect();

    let mut generics = input.generics.clone();
    for p in &mut generics.params {
        match p {
            GenericParam::Type(t) => t.bounds.push(parse_quote!(::acc_core::api::Elt)),
            GenericParam::Lifetime(l) => {
                return Err(syn::Error::new_spanned(l, "array elements own their data: no lifetimes"));
            }
            GenericParam::Const(_) => {}
        }
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();

    let docs = format!("What closures receive for elements of type [`{name}`]: one expression per field.");
    let declaration = match &data.fields {
        Fields::Named(_) => {
            quote!(#vis struct #exp #impl_generics #where_clause { #(#visibilities #members: ::acc_core::api::ExpOf<#types>),* })
        }
        Fields::Unnamed(_) => {
            quote!(#vis struct #exp #impl_generics (#(#visibilities ::acc_core::api::ExpOf<#types>),*) #where_clause;)
        }
        Fields::Unit => quote!(#vis struct #exp #impl_generics #where_clause;),
    };
    Ok(quote! {
        #[doc = #docs]
        #[allow(missing_docs)]
        #declaration

        // Not derived: the fields are expressions, which are `Copy` whatever the type parameters are.
        impl #impl_generics ::core::clone::Clone for #exp #type_generics #where_clause {
            fn clone(&self) -> Self { *self }
        }
        impl #impl_generics ::core::marker::Copy for #exp #type_generics #where_clause {}

        impl #impl_generics ::acc_core::api::Elt for #name #type_generics #where_clause {
            type Exp = #exp #type_generics;
            fn ty() -> ::acc_core::data::EltType {
                ::acc_core::data::EltType::tuple([#(<#types as ::acc_core::api::Elt>::ty()),*])
            }
            #[track_caller]
            fn unlift(e: ::acc_core::api::Exp<Self>) -> Self::Exp {
                let _ = e;
                #exp { #(#members: ::acc_core::api::project::<_, #types>(e, #positions)),* }
            }
            fn write(&self, out: &mut dyn ::core::ops::FnMut(::acc_core::data::Lit)) {
                let _ = &out;
                #(::acc_core::api::Elt::write(&self.#members, out);)*
            }
            fn read(leaves: &mut dyn ::core::ops::FnMut() -> ::acc_core::data::Lit) -> Self {
                let _ = &leaves;
                #name { #(#members: <#types as ::acc_core::api::Elt>::read(leaves)),* }
            }
        }
        impl #impl_generics ::acc_core::api::IntoExp<#name #type_generics> for #exp #type_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> ::acc_core::api::Exp<#name #type_generics> {
                ::acc_core::api::build_struct(&[#(::acc_core::api::erase::<#types>(self.#members)),*])
            }
        }
        impl #impl_generics ::acc_core::api::IntoExp<#name #type_generics> for #name #type_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> ::acc_core::api::Exp<#name #type_generics> {
                ::acc_core::api::constant(self)
            }
        }
    })
}
