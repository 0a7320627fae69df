//! Structs of arrays.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, Ident};

/// The most components of a tuple of arrays.
const MAX_FIELDS: usize = 16;

/// What the macro writes; `core` is the path of acc-core in the crate that uses it.
pub(crate) fn expand(input: &DeriveInput, core: &TokenStream) -> syn::Result<TokenStream> {
    let wrong = |what: &str| Err(syn::Error::new_spanned(&input.ident, what));
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            Fields::Unnamed(_) | Fields::Unit => return wrong("#[derive(Arrays)] works on structs with named fields"),
        },
        Data::Enum(_) | Data::Union(_) => return wrong("#[derive(Arrays)] works on structs with named fields"),
    };
    if !input.generics.params.is_empty() {
        return wrong("#[derive(Arrays)] works on structs without parameters");
    }
    if fields.is_empty() || fields.len() > MAX_FIELDS {
        return wrong("#[derive(Arrays)] works on structs of 1 to 16 arrays");
    }
    let (name, vis, acc) = (&input.ident, &input.vis, format_ident!("{}Acc", input.ident));
    let members: Vec<&Ident> = fields.iter().filter_map(|f| f.ident.as_ref()).collect();
    let types: Vec<_> = fields.iter().map(|f| &f.ty).collect();
    let visibilities: Vec<_> = fields.iter().map(|f| &f.vis).collect();
    let positions: Vec<usize> = (0..members.len()).collect();
    let docs =
        format!("What array functions receive for arguments of type [`{name}`]: one array expression per field.");
    Ok(quote! {
        #[doc = #docs]
        #[allow(missing_docs, reason = "the fields are those of the type")]
        #[derive(::core::clone::Clone)]
        #vis struct #acc { #(#visibilities #members: #core::api::AccOf<#types>),* }

        impl #core::api::Arrays for #name {
            type Acc = #acc;
            fn ty() -> #core::builder::AccType {
                #core::builder::AccType::Tuple(::std::vec![#(<#types as #core::api::Arrays>::ty()),*])
            }
            #[track_caller]
            fn unlift(a: #core::api::Acc<Self>) -> Self::Acc {
                #acc { #(#members: #core::api::component::<Self, #types>(&a, #positions)),* }
            }
            fn from_parts(
                parts: &mut dyn ::core::iter::Iterator<Item = #core::data::ArrayData>,
            ) -> ::core::result::Result<Self, #core::Error> {
                ::core::result::Result::Ok(#name { #(#members: <#types as #core::api::Arrays>::from_parts(parts)?),* })
            }
            fn push_parts(&self, out: &mut ::std::vec::Vec<#core::data::ArrayData>) {
                #(#core::api::Arrays::push_parts(&self.#members, out);)*
            }
        }
        impl #core::api::Diff for #name {
            type Tan = (#(<#types as #core::api::Diff>::Tan,)*);
        }
        impl #core::api::Point for #name {}
        #[diagnostic::do_not_recommend]
        impl #core::api::IntoAcc<#name> for #acc {
            #[track_caller]
            fn into_acc(self) -> #core::api::Acc<#name> {
                #core::api::build_arrays(::std::vec![#(#core::api::erase_acc::<#types>(self.#members)),*])
            }
        }
        #[diagnostic::do_not_recommend]
        impl #core::api::IntoAcc<#name> for &#acc {
            #[track_caller]
            fn into_acc(self) -> #core::api::Acc<#name> {
                #core::api::IntoAcc::into_acc(::core::clone::Clone::clone(self))
            }
        }
        #[diagnostic::do_not_recommend]
        impl #core::api::IntoAcc<#name> for &#name {
            #[track_caller]
            fn into_acc(self) -> #core::api::Acc<#name> {
                #core::api::embedded(self)
            }
        }
    })
}
