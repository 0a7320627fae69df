use acc_core::prelude::*;

fn main() {
    let _ = use_(&Vector::from(vec![1usize, 2]));
}
