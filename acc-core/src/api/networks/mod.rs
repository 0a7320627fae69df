//! What networks are made of beside products and convolutions: softmax and losses, dropout, steps of optimisers.

pub(in crate::api) mod dropout;
pub(in crate::api) mod optimisers;
pub(in crate::api) mod softmax;
