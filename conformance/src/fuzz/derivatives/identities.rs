//! What holds between derivatives, and between a derivative and the values of its function.

use super::points::{moved, numbers};
use super::{Arc, ArrayData, Program, interpreted};
use acc_core::data::ScalarType;

/// How near two sums of products must be, in parts of the sum of their magnitudes, by the coarsest type of float among them.
fn tolerance(all: &[&[ArrayData]]) -> f64 {
    let leaves = all.iter().flat_map(|arrays| arrays.iter()).flat_map(|a| a.elt().leaves());
    leaves.fold(1e-9, |t: f64, ty| match ty {
        ScalarType::F16 => t.max(0.1),
        ScalarType::F32 => t.max(1e-3),
        _ => t,
    })
}

/// The sum of products of two directions, that of their magnitudes, and the greatest factor.
fn product([a, b]: [&[ArrayData]; 2]) -> [f64; 3] {
    let pairs = a.iter().flat_map(numbers).zip(b.iter().flat_map(numbers));
    pairs.fold([0.0, 0.0, 0.0], |[sum, magnitudes, greatest], (x, y)| {
        [sum + x * y, magnitudes + (x * y).abs(), greatest.max(x.abs()).max(y.abs())]
    })
}

/// Beyond this a number says nothing about a sum that it is part of.
const MAX_FACTOR: f64 = 1e4;

/// The tangents of the results times their adjoints is the tangents of the point times its adjoints: whether that was
/// compared or left out, since a number is infinite or huge.
pub(super) fn products(results: [&[ArrayData]; 2], point: [&[ArrayData]; 2]) -> Result<[u64; 2], String> {
    let ([forward, m, f], [reverse, n, g]) = (product(results), product(point));
    if !(forward.is_finite() && reverse.is_finite() && f.max(g) < MAX_FACTOR) {
        return Ok([0, 1]);
    }
    let scale = 1.0 + m + n + f + g;
    if (forward - reverse).abs() > tolerance(&[&results[..], &point[..]].concat()) * scale {
        return Err(format!("tangents times adjoints are {forward} for the results and {reverse} for the point"));
    }
    Ok([1, 0])
}

/// The first step of differences.
const STEP: f64 = 1e-3;

/// Tangents against differences of the values at points along the direction, extrapolated to steps of length 0: how many
/// were compared, and left out. An element is left out where the function has an edge or bends too much for the steps to
/// agree: differences to either side, or of different steps, are different there.
pub(super) fn differences_of_values(
    program: &Arc<Program>,
    args: &[ArrayData],
    along: &[ArrayData],
    tangents: &[ArrayData],
) -> Result<[u64; 2], String> {
    let count: usize = tangents.iter().map(|t| numbers(t).count()).sum();
    let at = |step: f64| -> Option<Vec<f64>> {
        let values = interpreted(program, &moved(args, along, step)).ok()?;
        let values: Vec<f64> = values.iter().flat_map(numbers).collect();
        (values.len() == count).then_some(values)
    };
    let steps = [STEP, STEP / 2.0, STEP / 4.0];
    let all = steps.iter().flat_map(|h| [*h, -h]).chain([0.0]).map(at).collect::<Option<Vec<_>>>();
    let Some([a, b, c, d, e, f, here]) = all.and_then(|all| <[Vec<f64>; 7]>::try_from(all).ok()) else {
        return Ok([0, count as u64]);
    };
    let mut counted = [0; 2];
    for (k, tangent) in tangents.iter().flat_map(numbers).enumerate() {
        let central = |plus: &[f64], minus: &[f64], h: f64| (plus[k] - minus[k]) / (2.0 * h);
        let [first, second, third] = [central(&a, &b, steps[0]), central(&c, &d, steps[1]), central(&e, &f, steps[2])];
        let (coarse, fine) = ((4.0 * second - first) / 3.0, (4.0 * third - second) / 3.0);
        let sides = [(e[k] - here[k]) / steps[2], (here[k] - f[k]) / steps[2]];
        // Rounding of the values, and what is left of the steps.
        let rounding = 1e-11 * here[k].abs() / steps[2];
        let spread = (coarse - fine).abs();
        let scale = 1.0 + fine.abs();
        let smooth = spread < 1e-5 * scale && (sides[0] - sides[1]).abs() < 0.05 * scale && rounding < 1e-5 * scale;
        counted[usize::from(!smooth)] += 1;
        if smooth && (tangent.is_nan() || (tangent - fine).abs() > 10.0 * spread + rounding + 1e-6 * scale) {
            return Err(format!("the tangent {k} is {tangent}, but differences of values are {fine}"));
        }
    }
    Ok(counted)
}
