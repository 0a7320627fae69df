use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let nearest: Named<Batch, Index<Hidden>> = Named::of(fill(2, Ix::<Hidden>::of(0)));
    let x: Named<Feature, f32> = Named::of(fill(2, 1.0));
    let _: Named<Batch, f32> = each(|b| x.at(nearest.at(b)));
}
