use acc_core::prelude::*;

fn main() {
    let _ = Vector::from(vec![(1, 2.0), (3, 4.0)]);
}
