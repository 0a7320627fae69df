use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1.0f32, 2.0]));
    let _ = xs.stencil(Edge::Function(|i: Exp<i64>| i.to::<f32>()), |s: Stencil3<f32>| s[-1]);
}
