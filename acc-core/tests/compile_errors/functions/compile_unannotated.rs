use acc_core::prelude::*;

fn main() {
    let _ = Interpreter::new().compile(|a, b| a.zip_with(&b, |x: Exp<f32>, y: Exp<f32>| x * y));
}
