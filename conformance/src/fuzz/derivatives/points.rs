//! Points of derivatives, and the directions along which they are taken.

use super::Kind;
use crate::fuzz::Choices;
use acc_core::data::{ArrayData, EltType, Lit, Prim, ScalarType};

/// Numbers at least so large are no ordinary ones.
const ORDINARY: f64 = 100.0;

/// How many floats these arrays hold.
pub(super) fn floats(all: &[ArrayData]) -> usize {
    let one = |a: &ArrayData| a.size() * a.elt().leaves().iter().filter(|t| t.is_float()).count();
    all.iter().map(one).sum()
}

/// The point for a program with these inputs.
pub(super) fn at(kind: Kind, inputs: Vec<ArrayData>, numbers: &mut Choices) -> Vec<ArrayData> {
    if kind != Kind::Ordinary {
        return inputs;
    }
    let mut ordinary = |x: f64| match x.abs() < ORDINARY && (x == 0.0 || x.abs() > 1.0 / ORDINARY) {
        true => x,
        false => numbers.below(65) as f64 / 8.0 - 4.0,
    };
    inputs.iter().map(|a| with_floats(a, &mut ordinary)).collect()
}

/// Small numbers, as the tangents or adjoints of the arrays among these that have floats.
pub(super) fn tangents(kind: Kind, of: &[ArrayData], numbers: &mut Choices) -> Vec<ArrayData> {
    let mut number = || match kind {
        Kind::Dyadic => numbers.below(5) as f64 - 2.0,
        _ => numbers.below(9) as f64 / 2.0 - 2.0,
    };
    let floats = of.iter().filter(|a| a.elt().has_float());
    floats.map(|a| filled(a.shape(), &a.elt().tangent(), &mut number)).collect()
}

fn filled(shape: &[usize], elt: &EltType, number: &mut dyn FnMut() -> f64) -> ArrayData {
    let size: usize = shape.iter().product();
    let mut element = || elt.leaves().iter().map(|ty| acc_core::ad::float(*ty, number())).collect::<Vec<Lit>>();
    let elements: Vec<Vec<Lit>> = (0..size).map(|_| element()).collect();
    match ArrayData::from_leaves(shape.iter().copied(), elt.clone(), elements) {
        Ok(data) => data,
        Err(e) => unreachable!("as many elements as the shape has: {e}"),
    }
}

/// The point so far along a direction.
pub(super) fn moved(args: &[ArrayData], along: &[ArrayData], step: f64) -> Vec<ArrayData> {
    let mut along = along.iter();
    let array = |a: &ArrayData| {
        let da = if a.elt().has_float() { along.next() } else { None };
        let mut tangents = da.into_iter().flat_map(numbers);
        with_floats(a, &mut |x| x + step * tangents.next().unwrap_or(0.0))
    };
    args.iter().map(array).collect()
}

/// A point near this one: all its numbers a little greater, or less.
pub(super) fn nearby(args: &[ArrayData], step: f64) -> Vec<ArrayData> {
    args.iter().map(|a| with_floats(a, &mut |x| x + step * (1.0 + x.abs()))).collect()
}

/// The array with other floats.
fn with_floats(a: &ArrayData, f: &mut dyn FnMut(f64) -> f64) -> ArrayData {
    let mut leaf = |l: Lit| float(l).map_or(l, |x| acc_core::ad::float(l.ty, f(x)));
    let elements: Vec<Vec<Lit>> =
        (0..a.size()).filter_map(|k| a.element(k)).map(|e| e.into_iter().map(&mut leaf).collect()).collect();
    ArrayData::from_leaves(a.shape().iter().copied(), a.elt().clone(), elements).unwrap_or_else(|_| a.clone())
}

/// All floats of an array, in order.
pub(super) fn numbers(a: &ArrayData) -> impl Iterator<Item = f64> + '_ {
    (0..a.size()).filter_map(|k| a.element(k)).flatten().filter_map(float)
}

/// The value of a float; none of what is no float.
pub(super) fn float(l: Lit) -> Option<f64> {
    match l.ty {
        ScalarType::F16 => acc_core::eval::eval_cast(l, ScalarType::F64).ok().and_then(|l| l.get()),
        ScalarType::F32 => Some(f64::from(f32::from_bits64(l.bits))),
        ScalarType::F64 => Some(f64::from_bits64(l.bits)),
        _ => None,
    }
}
