//! Shared benchmark programs.
