//! Gradients against differences of the loss.

use super::grad::grad;
use crate::ad::float;
use crate::api::{Acc, Arrays, Compiled, IntoAcc, Point, Real, Run, Scalar};
use crate::data::{ArrayData, Lit, ScalarType, unlinear_index};
use crate::error::Error;
use crate::eval::eval_cast;
use crate::exec::Backend;
use std::fmt;

/// So many numbers of a point are compared at most, spread evenly.
const MAX_COMPARED: usize = 100;

/// What [`check_grad`] found of a gradient.
///
/// ```
/// use acc_core::prelude::*;
/// let at = Vector::from([0.5f64, -1.5]);
/// let report = check_grad(&Interpreter::new(), &at, |xs| xs.map(|x| x.abs().sin()).sum())?;
/// assert_eq!((report.compared, report.numbers, report.at_edges), (2, 2, 0));
/// println!("{report}");
/// # Ok::<(), GradError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct GradReport {
    /// How many numbers of the point were compared.
    pub compared: usize,
    /// How many there are.
    pub numbers: usize,
    /// How many were left out, since the loss has an edge there: differences to either side are not the same.
    pub at_edges: usize,
    /// That of the numbers whose derivative is furthest from the difference.
    pub worst: Option<Worst>,
}

/// A number of a point, and two values of its derivative.
///
/// ```
/// use acc_core::prelude::*;
/// let at = (Vector::from([1.0f64, 2.0]), Scalar::scalar(3.0));
/// let loss = |(xs, y): (Acc<Vector<f64>>, Acc<Scalar<f64>>)| xs.map(|x| x * &y).sum();
/// // The derivative by `y` is the sum of `xs`, which is 3 as well: here both are right.
/// let gradient = |(xs, y): (Acc<Vector<f64>>, Acc<Scalar<f64>>)| (xs.map(|_| y.the()), y.clone());
/// assert!(check_grad_of(&Interpreter::new(), &at, loss, gradient)?.worst.is_some());
/// let elsewhere = (Vector::from([1.0f64, 2.0]), Scalar::scalar(5.0));
/// let Err(GradError::Wrong(report)) = check_grad_of(&Interpreter::new(), &elsewhere, loss, gradient) else {
///     panic!("5 is taken for 3");
/// };
/// assert_eq!(report.worst.map(|w| (w.array, w.index, w.gradient)), Some((1, vec![], 5.0)));
/// # Ok::<(), GradError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Worst {
    /// Which array of the point, from left to right.
    pub array: usize,
    /// Which element of it.
    pub index: Vec<usize>,
    /// Which of the element's scalars.
    pub leaf: usize,
    /// The derivative by the gradient.
    pub gradient: f64,
    /// The derivative by differences of the loss.
    pub difference: f64,
    /// How far they may be apart, for the rounding of the loss and what the differences leave open.
    pub tolerance: f64,
}

impl Worst {
    /// The distance in parts of what is allowed.
    fn excess(&self) -> f64 {
        let distance = (self.gradient - self.difference).abs();
        if distance.is_nan() { f64::INFINITY } else { distance / self.tolerance }
    }
}

impl fmt::Display for GradReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GradReport { compared, numbers, at_edges, worst } = self;
        write!(f, "{compared} of {numbers} numbers compared, {at_edges} left out at edges")?;
        if let Some(Worst { array, index, leaf, gradient, difference, tolerance }) = worst {
            let distance = (gradient - difference).abs();
            write!(f, "; furthest off: array {array}, element {index:?}, scalar {leaf}: the gradient is {gradient}")?;
            write!(f, " and differences are {difference:.6}, {distance:.1e} apart where {tolerance:.1e} is allowed")?;
        }
        Ok(())
    }
}

/// Why a gradient was found to be no good.
///
/// ```
/// use acc_core::prelude::*;
/// let at = Vector::from([1.0f64, 2.0, 3.0]);
/// let wrong = check_grad_of(&Interpreter::new(), &at, |xs| xs.map(|x| x * x * x).sum(), |xs| xs.map(|x| x * x));
/// assert!(wrong.unwrap_err().to_string().contains("element [2], scalar 0: the gradient is 9 and differences are 27.000000"));
/// ```
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum GradError {
    /// The loss or the gradient has no value there.
    #[error(transparent)]
    Run(#[from] Error),
    /// The gradient is not that of the loss.
    #[error("the gradient is not the loss's: {0}")]
    Wrong(GradReport),
}

/// Compares the gradient of a loss with differences of the loss at points nearby. A gradient of this language's own making
/// needs no such test, but one with a rule that you wrote does.
///
/// Differences are taken to both sides of a number, in two steps, and extrapolated; at most 100 numbers of the point are
/// compared, spread evenly. Losses of doubles are compared to about six digits, of `f32` to two.
///
/// ```
/// use acc_core::prelude::*;
/// let xs = Vector::from([1.0f64, 2.0, 4.0]);
/// let at = (Vector::from([0.5f64, -0.25, 2.0]), Scalar::scalar(0.125));
/// let report = check_grad(&Interpreter::new(), &at, |(w, b)| {
///     w.zip_with(use_(&xs), |w, x| w * x).sum().zip_with(b, |y, b| (y + b).tanh())
/// })?;
/// assert_eq!(report.compared, 4);
/// # Ok::<(), GradError>(())
/// ```
pub fn check_grad<B: Backend, A: Point, E: Real, R: IntoAcc<Scalar<E>>>(
    backend: &B,
    at: &A,
    f: impl Fn(A::Acc) -> R,
) -> Result<GradReport, GradError> {
    check_grad_of(backend, at, &f, |a: A::Acc| grad::<A, E, R>(a, &f).into_acc())
}

/// Compares a gradient that you wrote with differences of the loss: see [`check_grad`].
///
/// ```
/// use acc_core::prelude::*;
/// let at = Vector::from([1.0f32, 2.0, 4.0]);
/// let norm = |xs: Acc<Vector<f32>>| xs.map(|x| x * x).sum().map(|s| s.sqrt());
/// let report = check_grad_of(&Interpreter::new(), &at, norm, |xs| {
///     let length = norm(xs.clone());
///     xs.map(|x| x / &length)
/// })?;
/// assert_eq!(report.compared, 3);
/// # Ok::<(), GradError>(())
/// ```
pub fn check_grad_of<B: Backend, A: Point, E: Real, R: IntoAcc<Scalar<E>>, G: IntoAcc<A::Tan>>(
    backend: &B,
    at: &A,
    f: impl Fn(A::Acc) -> R,
    gradient: impl FnOnce(A::Acc) -> G,
) -> Result<GradReport, GradError> {
    let gradient: Compiled<B, (A,), A::Tan> = backend.compile(|a: Acc<A>| gradient(Arrays::unlift(a)).into_acc())?;
    let loss: Compiled<B, (A,), Scalar<E>> = backend.compile(|a: Acc<A>| f(Arrays::unlift(a)).into_acc())?;
    let mut slopes = parts(&gradient.call((at,))?).iter().flat_map(numbers).collect::<Vec<f64>>().into_iter();
    let at = parts(at);
    let loss = |at: &[ArrayData]| -> Result<f64, Error> {
        let value = loss.call((&A::from_parts(&mut at.iter().cloned())?,))?;
        Ok(parts(&value).iter().flat_map(numbers).next().unwrap_or(f64::NAN))
    };
    let here = loss(&at)?;
    let all: usize = at.iter().map(|a| numbers(a).count()).sum();
    let every = all.div_ceil(MAX_COMPARED).max(1);
    let mut report = GradReport { compared: 0, numbers: all, at_edges: 0, worst: None };
    let mut seen = 0usize;
    for (array, of) in at.iter().enumerate() {
        for (position, leaf, x) in floats(of) {
            let slope = slopes.next().unwrap_or(f64::NAN);
            let left_out = !seen.is_multiple_of(every);
            seen += 1;
            if left_out {
                continue;
            }
            let epsilon = epsilon(x.ty).max(epsilon_of::<E>());
            let moved = |by: f64| -> Result<f64, Error> {
                let mut at = at.clone();
                at[array] = with_leaf(of, position, leaf, float(x.ty, number(x) + by))?;
                loss(&at)
            };
            match difference(here, number(x), epsilon, moved)? {
                None => report.at_edges += 1,
                Some((difference, open)) => {
                    report.compared += 1;
                    let index = unlinear_index(of.shape(), position).into_iter().map(|i| i as usize).collect();
                    // A number far less than the gradient's greatest has fewer digits.
                    let tolerance = open + epsilon.powf(0.4) * (difference.abs() + 1e-3);
                    let this = Worst { array, index, leaf, gradient: slope, difference, tolerance };
                    if report.worst.as_ref().is_none_or(|w| w.excess() < this.excess()) {
                        report.worst = Some(this);
                    }
                }
            }
        }
    }
    match &report.worst {
        Some(worst) if worst.excess() > 1.0 => Err(GradError::Wrong(report)),
        _ => Ok(report),
    }
}

/// The derivative at `x` of a function with this value there, by differences, and how far it may be off; none where the
/// function has an edge. `moved` is the function so far from `x`.
fn difference(
    here: f64,
    x: f64,
    epsilon: f64,
    moved: impl Fn(f64) -> Result<f64, Error>,
) -> Result<Option<(f64, f64)>, Error> {
    // The fourth power of the step, which is what is left after the extrapolation, is as much as rounding by the step.
    let step = epsilon.powf(0.2) * x.abs().max(1.0) / 2.0;
    let at = |h: f64| -> Result<[f64; 2], Error> {
        let (above, below) = (moved(h)?, moved(-h)?);
        // To both sides together, and how they differ.
        Ok([(above - below) / (2.0 * h), (above - 2.0 * here + below) / h])
    };
    let ([whole, bend], [half, less_bend]) = (at(step)?, at(step / 2.0)?);
    let extrapolated = (4.0 * half - whole) / 3.0;
    let rounding = 8.0 * epsilon * here.abs().max(f64::MIN_POSITIVE) / step;
    let open = (half - whole).abs() / 4.0 + rounding;
    // A bend that does not become less with the step is an edge.
    let edge = less_bend.abs() > 0.75 * bend.abs() && less_bend.abs() > 20.0 * (rounding + epsilon.powf(0.4));
    Ok((!edge).then_some((extrapolated, open)))
}

fn parts<A: Arrays>(a: &A) -> Vec<ArrayData> {
    let mut out = Vec::new();
    a.push_parts(&mut out);
    out
}

/// The floats of an array: the element's position, which leaf of the element it is, and the number.
fn floats(a: &ArrayData) -> impl Iterator<Item = (usize, usize, Lit)> + '_ {
    let elements = (0..a.size()).filter_map(|k| Some((k, a.element(k)?)));
    let leaves = elements.flat_map(|(k, e)| e.into_iter().enumerate().map(move |(leaf, l)| (k, leaf, l)));
    leaves.filter(|(_, _, l)| l.ty.is_float())
}

fn numbers(a: &ArrayData) -> impl Iterator<Item = f64> + '_ {
    floats(a).map(|(_, _, l)| number(l))
}

fn number(l: Lit) -> f64 {
    eval_cast(l, ScalarType::F64).ok().and_then(|l| l.get()).unwrap_or(f64::NAN)
}

/// The distance of 1 and the next number of a float type.
fn epsilon(ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F16 => f64::from(half::f16::EPSILON),
        ScalarType::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

fn epsilon_of<E: Real>() -> f64 {
    E::ty().leaves().iter().map(|ty| epsilon(*ty)).fold(f64::EPSILON, f64::max)
}

/// The array with another scalar in an element.
fn with_leaf(a: &ArrayData, position: usize, leaf: usize, to: Lit) -> Result<ArrayData, Error> {
    let elements: Vec<Vec<Lit>> = (0..a.size())
        .filter_map(|k| {
            let mut element: Vec<Lit> = a.element(k)?.into_iter().collect();
            if k == position {
                element[leaf] = to;
            }
            Some(element)
        })
        .collect();
    ArrayData::from_leaves(a.shape().iter().copied(), a.elt().clone(), elements)
        .map_err(|e| Error::defect("check_grad", e.to_string()))
}
