use acc_core::prelude::*;

fn main() {
    let n = 3i64;
    let _ = fill(n, 1.0);
}
