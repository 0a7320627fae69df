//! Softmax and losses, dropout, steps of optimisers.

use super::{Case, case, gradient, host, numbers};
use crate::compare::Near;
use acc_core::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("networks/softmax", "", |t| {
            let scores = use_(&Matrix::from([[0.0f64, 0.0], [1000.0, -1000.0]]));
            t.gives(scores.softmax(), Matrix::from([[0.5, 0.5], [1.0, 0.0]]));
            let logs = Matrix::from([[-(2f64.ln()), -(2f64.ln())], [0.0, -2000.0]]);
            t.gives_within(scores.log_softmax(), logs, Near::Relative(1e-12));
            t.gives(fill((2, 0), 1.0f32).softmax(), host((2, 0), [0f32; 0]));
            let xs: Matrix<f64> = host((3, 4), numbers(8, 12));
            gradient(t, &xs, |xs| xs.softmax().imap(|(i, j), p| p * p * (i + j).to::<f64>()).sum().sum());
            gradient(t, &xs, |xs| xs.log_softmax().imap(|(i, j), p| p * (i + j * j).to::<f64>()).sum().sum());
        }),
        case("networks/cross-entropy", "", |t| {
            let scores = use_(&Matrix::from([[0.0f64, 0.0], [1000.0, 0.0]]));
            let losses = Vector::from([2f64.ln(), 1000.0]);
            t.gives_within(scores.cross_entropy(&Vector::from([0u8, 1])), losses, Near::Relative(1e-12));
            t.faults(scores.cross_entropy(&Vector::from([0i32, 2])), "index_out_of_bounds");
            t.gives(fill((0, 2), 1.0f32).cross_entropy(fill(0, 0i64)), Vector::from([0f32; 0]));
            let xs: Matrix<f64> = host((3, 4), numbers(9, 12));
            let classes = Vector::from([3i64, 0, 1]);
            gradient(t, &xs, |xs| xs.cross_entropy(&classes).sum());
        }),
        case("networks/dropout", "", |t| {
            let kept = fill((20, 50), 1.0f32).dropout(7u64, 0.25);
            t.agrees(kept.clone());
            let Some(kept) = t.run(kept) else { return };
            t.check(kept.iter().all(|x| x == 0.0 || x == 1.0 / 0.75), "elements are dropped or scaled");
            let count = kept.iter().filter(|x| *x > 0.0).count();
            t.check((690..810).contains(&count), &format!("{count} of 1000 are kept"));
            t.gives(fill(3, 2.0f64).dropout(7u64, 0.0), Vector::from([2.0; 3]));
            t.gives(fill(0, 2.0f64).dropout(7u64, 0.5), Vector::from([0.0; 0]));
            gradient(t, &Vector::from([1.0, 2.0, 3.0, 4.0]), |xs| xs.dropout(3u64, 0.5).map(|x| x * x).sum());
        }),
        case("networks/optimisers", "", |t| {
            let (w, b) = (Matrix::from([[1.0f64, 2.0]]), Vector::from([3.0f64]));
            let (gw, gb) = (Matrix::from([[0.5, -0.5]]), Vector::from([1.0]));
            t.gives(sgd_step((&w, &b), (&gw, &gb), 0.5), (Matrix::from([[0.75, 2.25]]), Vector::from([2.5])));
            let (velocity, of_b) = (Matrix::from([[1.0, 1.0]]), Vector::from([0.0]));
            let stepped = momentum_step((&w, &b), (&gw, &gb), (&velocity, &of_b), 0.5, 0.5);
            let want =
                ((Matrix::from([[0.5, 2.0]]), Vector::from([2.5])), (Matrix::from([[1.0, 0.0]]), Vector::from([1.0])));
            t.gives(stepped, want);
            let adam = Adam { rate: 0.5, ..Adam::default() };
            let zero = Vector::from([0.0]);
            let (stepped, _) = adam.step(&b, &gb, (&zero, &zero), 1);
            // Of the first step it is the sign of the gradient that counts.
            t.gives_within(stepped, Vector::from([2.5]), Near::Relative(1e-7));
            let none = Vector::from([0f32; 0]);
            t.gives(sgd_step(&none, &none, 0.5), none.clone());
        }),
    ]
}
