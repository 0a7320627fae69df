//! Programs of categories that are in neither of the other tables: rows that are normalised and sorted, blocks of pixels,
//! floats that become positions, and calendars.

use crate::kernels::matrix;
use crate::row::{Facts, row};
use crate::thesis::{Rows, below, floats, t, table, ti};
use acc_core::prelude::*;
use tch::{Kind, Tensor};

/// Year, month and day of a number of days since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn date(days: Exp<i64>) -> (Exp<i64>, Exp<i64>, Exp<i64>) {
    let z = days + 719_468;
    let era = z.div_floor(146_097);
    let doe = z - era * 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (yoe * 365 + yoe / 4 - yoe / 100);
    let mp = (doy * 5 + 2) / 153;
    let month = mp.lt(10).then_else(mp + 3, mp - 9);
    (yoe + era * 400 + month.le(2).then_else(1i64, 0), month, doy - (mp * 153 + 2) / 5 + 1)
}

fn date_by_hand(days: &Tensor) -> Vec<Tensor> {
    let quotient = |x: &Tensor, n: i64| x.divide_scalar_mode(n, "trunc");
    let z = days + 719_468;
    let era = z.divide_scalar_mode(146_097, "floor");
    let doe = z - &era * 146_097;
    let yoe = quotient(&(&doe - quotient(&doe, 1460) + quotient(&doe, 36_524) - quotient(&doe, 146_096)), 365);
    let doy = doe - (&yoe * 365 + quotient(&yoe, 4) - quotient(&yoe, 100));
    let mp = quotient(&(&doy * 5 + 2), 153);
    let month = (&mp + 3).where_self(&mp.lt(10), &(&mp - 9));
    let year = yoe + era * 400 + month.le(2).to_kind(Kind::Int64);
    vec![year, month, doy - quotient(&(mp * 153 + 2), 5) + 1]
}

/// All rows.
pub(crate) fn rows() -> Rows {
    let mut out: Rows = Vec::new();
    table! { out, [1_000_000];
        "everyday", "softmax of rows", 1e-5, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| {
                let greatest = m.maximum();
                let powers = m.imap(|(i, _), x| (x - greatest.index(i)).exp());
                let sums = powers.sum();
                powers.imap(|(i, _), x| x / sums.index(i))
            },
            (m,), move || vec![x.softmax(-1, Kind::Float)];
        "everyday", "means of 2 by 2", 1e-5, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| {
                let (rows, columns) = m.shape();
                generate((rows / 2, columns / 2, 2, 2), |(i, j, a, b)| m.index((i * 2 + a, j * 2 + b))).sum().sum().map(|s| s * 0.25)
            },
            (m,), move || { let two = [2i64, 2]; vec![x.unsqueeze(0).unsqueeze(0).avg_pool2d(two.as_slice(), two.as_slice(), [0i64, 0].as_slice(), false, true, None::<i64>).squeeze()] };
        "everyday", "differences of neighbours", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| { let n = xs.length(); generate(n, |i| xs.index((i + 1).min(n - 1)) - xs.index((i - 1).max(0))) },
            (Vector::from(xs),), move || {
                let n = x.numel() as i64;
                let next = Tensor::cat(&[x.narrow(0, 1, n - 1), x.narrow(0, n - 1, 1)], 0);
                vec![next - Tensor::cat(&[x.narrow(0, 0, 1), x.narrow(0, 0, n - 1)], 0)]
            };
        "everyday", "rows sorted", 0.0, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| m.sort(), (m,), move || vec![x.sort(-1, false).0];
        "everyday", "5 greatest of rows", 0.0, |n| { let (m, x) = matrix(n.isqrt()); }
            |m: Acc<Matrix<f32>>| m.top_k(5), (m,), move || { let (greatest, at) = x.topk(5, -1, true, true); vec![greatest, at] };
        "everyday", "histogram of floats", 0.0, |n| { let xs = floats(n); let x = t(&xs); }
            |xs: Acc<Vector<f32>>| fill(xs.length(), 1i64).permute(fill(64, 0i64), |a, b| a + b, |i| Some((xs.index(i) * 64.0).to::<i64>().min(63))),
            (Vector::from(xs),), move || vec![(&x * 64.0).to_kind(Kind::Int64).clamp_max(63).bincount(None::<Tensor>, 64)];
        "everyday", "dates of days", 0.0, |n| { let days = below(n, 40_000); let x = ti(&days); }
            |days: Acc<Vector<i64>>| days.map(date), (Vector::from(days),), move || date_by_hand(&x);
    }
    out
}
