use acc_core::prelude::*;

fn main() {
    struct P {
        x: f32,
    }
    let _ = generate(3, |_| P { x: 1.0 });
}
