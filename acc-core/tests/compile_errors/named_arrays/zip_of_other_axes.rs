use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let x: Named<(Batch, Feature), f32> = Named::of(fill((2, 3), 1.0));
    let y: Named<(Batch, Hidden), f32> = Named::of(fill((2, 3), 1.0));
    let _ = x.zip_with(&y, |x, y| x + y);
}
