//! The reference interpreter: the accuracy of its functions, and the limits of its runs.

mod complex_functions;
mod limits;
