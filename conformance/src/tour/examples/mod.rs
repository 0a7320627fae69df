//! The programs: links to the examples of acc-array, whose `main` is not used here.
#![allow(dead_code, reason = "an example's main and its input are its own")]

pub(super) mod black_scholes;
#[path = "digits/main.rs"]
pub mod digits;
pub(super) mod dot;
pub(super) mod histogram;
pub(super) mod kmeans;
pub(super) mod life;
pub(super) mod mandelbrot;
pub(super) mod matmul;
pub(super) mod saxpy;
pub(super) mod segmented_sums;
pub(super) mod sobel;
