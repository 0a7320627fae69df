//! What derivatives are made of: the partial derivatives of primitive operations, and how tangents go through them.
//!
//! One table serves the interpreter, which computes with it, and the passes that write the code of derivatives: both give
//! an [`Arithmetic`].

mod activity;
mod capture;
mod code;
mod dual;
mod linear;
mod partials;
#[cfg(test)]
mod tests;
mod whole;

pub use activity::{ActiveValues, Activity, active_in_region, active_values, has_partials};
pub use capture::{active_capture, captured};
pub use code::{Code, defined, sure, used_from_around};
pub use dual::{ArrayTangents, Dual, NoArrays, Tangent, Tangents};
pub use linear::{Place, nonlinear};
pub use partials::{Arithmetic, Partial, float, partial, scaled, tangent};
pub use whole::derivative_of;
