use acc_core::prelude::*;

#[derive(Elt, Clone)]
enum Never {}

fn main() {}
