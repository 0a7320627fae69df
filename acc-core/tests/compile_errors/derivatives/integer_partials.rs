use acc_core::prelude::*;

fn main() {
    let xs = use_(&Vector::from([1i64, 2]));
    let _ = xs.map(|n| with_partials((n, n.to::<f64>()), |(_, x)| x, |(n, x), _| (n, x)));
}
