use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let x: Named<(Batch, Feature), f32> = Named::of(fill((2, 2), 1.0));
    let _: Named<(Batch, Feature), f32> = each(|(b, f): (Ix<Batch>, Ix<Feature>)| b.eq(f).then_else(x.at((b, f)), 0.0));
}
