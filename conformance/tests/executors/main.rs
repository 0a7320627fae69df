//! What all executors have to do beside the test programs.

mod compile_once;
mod matrix;
mod without_checks;
