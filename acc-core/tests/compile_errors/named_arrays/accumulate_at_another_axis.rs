use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let x: Named<(Batch, Feature), f32> = Named::of(fill((2, 3), 1.0));
    let zeros: Named<Feature, f32> = Named::of(fill(3, 0.0));
    let _ = accumulate(&zeros, |(b, f), out| out.add(b, x.at((b, f))));
}
