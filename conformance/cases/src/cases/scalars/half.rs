//! Half-precision floats: `f16`.

use crate::cases::{Case, case};
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
        case("half/operators-of-folds-that-look-at-bits", "E-TY-14 FLD-01", |t| {
            let xs = Vector::from([h(1.5), h(-2.0), h(0.25)]);
            let bits = [h(1.5), h(-2.0), h(0.25)].iter().fold(0, |a, x| a ^ x.to_bits());
            let xor = |a: Exp<f16>, b: Exp<f16>| bitcast::<u16, f16>(bitcast::<_, u16>(a) ^ bitcast::<_, u16>(b));
            t.gives(use_(&xs).fold(h(0.0), xor), Scalar::scalar(f16::from_bits(bits)));
            // A sum by way of a loop, a branch and a read of an array of f16.
            let table = use_(&xs);
            let picked = use_(&xs).fold1(|a, b| {
                let steps = while_::<(f16, i32), _, _>((a, 0), |(_, n)| n.lt(3), |(a, n)| (a + h(0.5), n + 1)).0;
                b.lt(h(0.0)).then_else(table.index(0) + steps - h(3.0) + b, steps - h(1.5) + b)
            });
            t.gives(picked, Scalar::scalar(h(-0.25)));
            t.gives(use_(&Vector::<f16>::from_iter([])).fold(h(2.5), xor), Scalar::scalar(h(2.5)));
        }),
        case(
            "half/every-value",
            "E-TY-14 REX-11 NUM-05 NUM-06 NUM-07 RFR-03 RFR-04 RFR-05 RFR-06 FLO-16 CNV-02",
            |t| {
                let all: Vector<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
                let all = use_(&all);
                t.agrees(all.map(|x| (-x, x.abs(), x.signum(), x.floor(), x.ceil(), x.round(), x.trunc(), x.sqrt())));
                t.agrees(all.map(|x| {
                    (x.to::<i8>(), x.to::<u16>(), x.to::<i64>(), x.to::<u64>(), x.to::<f32>(), x.to::<f64>())
                }));
                t.agrees(
                    all.map(|x| {
                        (x.is_nan(), x.is_infinite(), x.is_denormalized(), x.exponent(), x.to_rational::<i64>())
                    }),
                );
                // Against every other one, far apart.
                let others = generate(65_536, |i| bitcast::<u16, f16>((i * 40_503).to::<u16>()));
                t.agrees(all.zip_with(&others, |x, y| (x + y, x - y, x * y, x / y, x % y, x.min(y), x.max(y))));
                t.agrees(all.zip_with(&others, |x, y| (x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y))));
                // Between neighbours: the middle, a little less and a little more.
                let middles = all.map(|x| {
                    let next = bitcast::<u16, f16>(bitcast::<f16, u16>(x) + 1);
                    let middle = (x.to::<f64>() + next.to::<f64>()) / 2.0;
                    let little = middle * 2f64.powi(-50);
                    (middle, middle - little, middle + little)
                });
                t.agrees(middles.map(|(a, b, c)| (a.to::<f16>(), b.to::<f16>(), c.to::<f16>())));
                t.agrees(middles.map(|(a, b, c)| {
                    (a.to::<f32>().to::<f16>(), b.to::<f32>().to::<f16>(), c.to::<f32>().to::<f16>())
                }));
                t.gives(fill(0, h(1.0)).map(|x| -x), Vector::<f16>::from_iter([]));
            },
        ),
    ]
}
