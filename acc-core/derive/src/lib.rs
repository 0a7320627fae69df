//! `#[derive(Elt)]`: structs as array elements.
