//! Half-precision floats: `f16`.

use super::{Case, case};
use acc_core::prelude::*;

fn h(x: f32) -> f16 {
    f16::from_f32(x)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("half/E-TY-14-arithmetic", "E-TY-14 REX-11", |t| {
            t.table2(
                |x: Exp<f16>, y: Exp<f16>| (x + y, x - y, x * y, x / y),
                &[
                    (h(1.0), h(3.0), (h(4.0), h(-2.0), h(3.0), h(0.333_251_95))),
                    (h(2048.0), h(1.0), (h(2048.0), h(2047.0), h(2048.0), h(2048.0))),
                    (h(65504.0), h(32.0), (f16::INFINITY, h(65472.0), f16::INFINITY, h(2047.0))),
                ],
            );
            t.table(|x: Exp<f64>| x.to::<f16>(), &[(70000.0, f16::INFINITY), (1.0 / 3.0, h(0.333_251_95))]);
            t.table(|x: Exp<f16>| bitcast::<_, u16>(x), &[(h(1.0), 0x3c00), (f16::NEG_ZERO, 0x8000)]);
        }),
        case("half/E-TY-14-folds-and-scans-accumulate-in-f32", "E-TY-14 FLD-01 SCN-01", |t| {
            let xs = Vector::from([h(1.0), h(2.0), h(3.5)]);
            t.gives(use_(&xs).sum(), Scalar::scalar(h(6.5)));
            t.gives(use_(&xs).scanl(h(0.0), |a, b| a + b), Vector::from([h(0.0), h(1.0), h(3.0), h(6.5)]));
            // Of 3000 ones a sum in f16 stops at 2048; of 70000 ones it overflows.
            t.gives_within(fill(3000, h(1.0)).sum(), Scalar::scalar(h(3000.0)), crate::compare::Near::Exact);
            t.gives_within(fill(70_000, h(1.0)).sum(), Scalar::scalar(f16::INFINITY), crate::compare::Near::Exact);
            let pairs = fill(3000, (h(1.0), 1i32)).fold((h(0.5), 0), |(a, n), (b, m)| (a + b, n + m));
            t.gives_within(pairs, Scalar::scalar((h(3000.0), 3000)), crate::compare::Near::Exact);
            t.gives(fill((2, 0), h(1.0)).sum(), Vector::from([h(0.0), h(0.0)]));
        }),
    ]
}
