use acc_core::prelude::*;

fn main() {
    let xs = use_(&[Some(1.0f32), None].into_iter().collect::<Vector<_>>());
    let _ = xs.map(|x| x.match_(|x| match x {
        Some(x) => x,
        None => 0.0,
    }));
}
