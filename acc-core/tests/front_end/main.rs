//! The typed front end, held against the interpreter and the core IR that it makes.

mod caching;
mod composed;
mod elements;
mod forms;
mod laziness;
mod literals;
mod mistakes;
mod programs;
mod ranks;
mod resources;
mod result_types;
mod sharing;
mod stencils;
mod support;
