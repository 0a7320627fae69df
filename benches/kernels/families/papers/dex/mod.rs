//! The benchmarks of Paszke, Johnson, Duvenaud, Vytiniotis, Radul, Johnson, Ragan-Kelley, Maclaurin: Getting to the Point
//! (2021), which are of Rodinia and Parboil.

mod hotspot;
mod mri;
mod pathfinder;
mod stencil;
mod wavefront;

use crate::row::Row;

pub fn rows() -> Vec<Box<dyn Fn() -> Row>> {
    [hotspot::rows(), pathfinder::rows(), mri::rows(), stencil::rows()].into_iter().flatten().collect()
}
