use acc_core::prelude::*;

fn main() {
    let m = use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]]));
    let _ = m.stencil(Edge::Clamp, |s| s[(-1, 0)] + s[(1, 0)]);
}
