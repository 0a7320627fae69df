use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let x: Named<Batch, f32> = Named::of(fill(2, 1.0));
    let _: Named<Batch, f32> = each(|b: Ix<Batch>| x.at(b + 1));
}
