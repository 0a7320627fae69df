//! The forms in which programs are written and read: text, graphs, the documentation.

mod graphs;
mod pages;
mod text_form;
