//! Smaller inputs.

use super::{Proposal, Sample};
use acc_core::data::{ArrayData, Lit, linear_index, unlinear_index};

/// How many values are neither 0 nor 1.
pub(super) fn oddness(args: &[ArrayData]) -> u64 {
    let leaves = |a: &ArrayData| (0..a.size()).filter_map(|k| a.element(k)).flatten().collect::<Vec<Lit>>();
    let odd = |l: &Lit| if *l == Lit::zero(l.ty) { 0 } else { 1 + u64::from(*l != Lit::one(l.ty)) };
    args.iter().flat_map(leaves).map(|l| odd(&l)).sum()
}

/// What to do with an axis or an element.
#[derive(Clone, Copy)]
enum Edit {
    /// Keep so many of an axis.
    Keep(fn(usize) -> usize),
    /// Make a value 0 or 1.
    Value(fn(Lit) -> Lit),
}

const AXIS: [Edit; 4] =
    [Edit::Keep(|_| 0), Edit::Keep(|_| 1), Edit::Keep(|n| n / 2), Edit::Keep(|n| n.saturating_sub(1))];
const VALUE: [Edit; 2] = [Edit::Value(|l| Lit::zero(l.ty)), Edit::Value(|l| Lit::one(l.ty))];

/// Proposals: less of every axis of every input, then simpler values, of all elements at first.
pub(super) fn proposals(s: &Sample, at: usize) -> Proposal {
    let mut at = at;
    for (k, a) in s.args.iter().enumerate() {
        let axes = a.rank() * AXIS.len();
        if at < axes {
            let Edit::Keep(keep) = AXIS[at % AXIS.len()] else { return Some(None) };
            let axis = at / AXIS.len();
            let mut shape = a.shape().to_vec();
            shape[axis] = keep(shape[axis]).min(shape[axis]);
            return Some(changed(s, k, shape, |_, l| l));
        }
        at -= axes;
        // All values, and each of the first few alone.
        let values = VALUE.len() * (1 + a.size().min(40));
        if at < values {
            let Edit::Value(f) = VALUE[at % VALUE.len()] else { return Some(None) };
            let which = at / VALUE.len();
            return Some(changed(
                s,
                k,
                a.shape().to_vec(),
                |position, l| {
                    if which == 0 || position + 1 == which { f(l) } else { l }
                },
            ));
        }
        at -= values;
    }
    None
}

/// The input with another shape, which is nowhere larger, and its values changed.
fn changed(s: &Sample, k: usize, shape: Vec<usize>, f: impl Fn(usize, Lit) -> Lit) -> Option<Sample> {
    let a = &s.args[k];
    let size: usize = shape.iter().product();
    let elements: Option<Vec<Vec<Lit>>> = (0..size)
        .map(|at| {
            let from = linear_index(a.shape(), &unlinear_index(&shape, at))?;
            Some(a.element(from)?.into_iter().map(|l| f(from, l)).collect())
        })
        .collect();
    let mut args = s.args.clone();
    args[k] = ArrayData::from_leaves(shape, a.elt().clone(), elements?).ok()?;
    Some(Sample { program: s.program.clone(), args })
}
