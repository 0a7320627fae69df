use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden);

fn main() {
    let nearest: Named<Batch, Index<Hidden>> = Named::of(fill(2, Ix::<Hidden>::of(0)));
    let _ = grad(&nearest, |n| unit(total(|b| n.at(b).to::<f32>())));
}
