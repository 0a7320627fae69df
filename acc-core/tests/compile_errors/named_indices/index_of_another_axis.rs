use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let x: Named<(Batch, Feature), f32> = Named::of(fill((2, 3), 1.0));
    let _: Named<(Batch, Hidden), f32> = each(|(b, h)| x.at((b, h)));
}
