use acc_core::prelude::*;

fn main() {
    let zs = use_(&Vector::from([Complex::new(1.0f64, 2.0)]));
    let _ = zs.map(|z| z * z.re());
    let _ = zs.map(|z| z.re() * z);
}
