use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = xs.map(|x| {
        std::thread::spawn(move || x + 1.0);
        x
    });
}
