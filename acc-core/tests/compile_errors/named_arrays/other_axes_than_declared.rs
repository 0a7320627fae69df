use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn layer(x: &Named<(Batch, Feature), f32>) -> Named<Hidden, f32> {
    x.map(|x| x + 1.0)
}

fn main() {
    let _ = layer;
}
