use acc_core::prelude::*;

fn main() {
    let x = unit(1.0f32);
    let n = 3i32;
    let _ = x.replicate(n);
    let _ = x.replicate((n, 3));
}
