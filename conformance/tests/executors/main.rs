//! What all executors have to do beside the test programs.

mod compile_once;
mod derivatives;
mod matrix;
mod named;
mod tensor;
mod without_checks;
