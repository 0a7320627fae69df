//! Rules for the sources, packages and scripts of this repository.

mod architecture;
mod dependencies;
#[cfg(feature = "libtorch")]
mod downstream_crate;
#[cfg(target_os = "linux")]
mod libtorch_script;
mod map;
mod words;
