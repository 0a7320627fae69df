use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let _: Named<(Batch, Feature), f32> = Named::of(fill(6, 1.0f32));
}
