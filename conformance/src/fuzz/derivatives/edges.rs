//! Points at which an executor's derivative may be no number although the interpreter's is one.
//!
//! The interpreter multiplies tangents, from the point to the results, also where it computes adjoints; executors multiply
//! adjoints from the results to the point. Where a zero and an infinity are both among the factors, the order decides. That is
//! so beside a slope that is infinite, and where an array holds an infinity (`docs/SEMANTICS.md`). What a branch contributes
//! that is not taken is no such case: the function has a slope there, and has the same one nearby.

use super::infinities::has_infinities;
use super::moved_operands::moved_operands;
use super::points::{nearby, numbers};
use super::{Arc, ArrayData, Program, interpreted};

/// How far the derivative at a point nearby may be off, in parts of the greatest number, where there is no edge.
const MAX_CHANGE: f64 = 0.05;

/// Whether fewer of a derivative's numbers are infinite or none than these, once the functions in it are evaluated beside the
/// points at which they have no finite slope.
pub(super) fn is_at_singular_slopes(
    derivative: &Program,
    got: &[ArrayData],
    run: impl Fn(&Arc<Program>) -> Option<Vec<ArrayData>>,
) -> bool {
    let others = |all: &[ArrayData]| all.iter().flat_map(numbers).filter(|x| !x.is_finite()).count();
    moved_operands(derivative).into_iter().any(|p| run(&Arc::new(p)).is_some_and(|moved| others(&moved) < others(got)))
}

/// Whether a derivative, with the interpreter's results at the first arguments, is another one nearby, or one of a program that
/// computes with infinities.
pub(super) fn is_at_edge(
    program: &Arc<Program>,
    derivative: &Arc<Program>,
    all: &[ArrayData],
    want: &[ArrayData],
) -> bool {
    let point = &all[..program.body.params.len()];
    has_infinities(program, point)
        || [1e-3, -1e-3].iter().any(|step| is_another(derivative, all, point.len(), *step, want))
}

fn is_another(derivative: &Arc<Program>, all: &[ArrayData], point: usize, step: f64, want: &[ArrayData]) -> bool {
    let there: Vec<ArrayData> = nearby(&all[..point], step).into_iter().chain(all[point..].iter().cloned()).collect();
    let Ok(got) = interpreted(derivative, &there) else { return true };
    let greatest = want.iter().flat_map(numbers).map(f64::abs).filter(|x| x.is_finite()).fold(1.0, f64::max);
    let mut pairs = want.iter().flat_map(numbers).zip(got.iter().flat_map(numbers));
    let same_shapes = want.iter().map(ArrayData::shape).eq(got.iter().map(ArrayData::shape));
    !same_shapes || pairs.any(|(x, y)| x.is_finite() && (!y.is_finite() || (x - y).abs() > MAX_CHANGE * greatest))
}
