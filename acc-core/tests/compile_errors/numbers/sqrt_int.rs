use acc_core::prelude::*;

fn main() {
    let n = use_(&Vector::from([1i32, 2]));
    let _ = n.map(|x| x.sqrt());
}
