//! Bounds of indices that are affine sums over axes, such as those of sliding windows: one comparison of each bound
//! proves that all are in range.

use crate::kernel::{Body, Op};
use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::nest::Axis;
use crate::llvm::emit::text::{Operand, put};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// Factors and extents below these limits cannot overflow in a sum of a few products.
const FACTOR_LIMIT: u64 = 1 << 20;
const EXTENT_LIMIT: i64 = 1 << 40;
/// Axes and uniform terms of a sum; longer sums are checked lane by lane.
const MAX_TERMS: usize = 4;

/// An offset plus multiples of axes and of uniform values.
#[derive(Clone, Default)]
pub(crate) struct AffineSum {
    offset: i64,
    axes: Vec<(usize, i64)>,
    bases: Vec<(Val, i64)>,
}

impl AffineSum {
    fn add(&self, other: &AffineSum, times: i64) -> Option<AffineSum> {
        let mut out = self.clone();
        out.offset = out.offset.checked_add(other.offset.checked_mul(times)?)?;
        merge(&mut out.axes, &other.axes, times)?;
        merge(&mut out.bases, &other.bases, times)?;
        let small = |f: i64| f.unsigned_abs() < FACTOR_LIMIT;
        let few = out.axes.len() + out.bases.len() <= MAX_TERMS;
        (few && out.axes.iter().all(|t| small(t.1)) && small(out.offset / EXTENT_LIMIT)).then_some(out)
    }
}

fn merge<T: Copy + PartialEq>(to: &mut Vec<(T, i64)>, from: &[(T, i64)], times: i64) -> Option<()> {
    for &(term, factor) in from {
        let factor = factor.checked_mul(times)?;
        match to.iter_mut().find(|(t, _)| *t == term) {
            Some((_, f)) => *f = f.checked_add(factor)?,
            None => to.push((term, factor)),
        }
    }
    Some(())
}

/// The integers among the values of a body's outermost region that are such sums.
pub(crate) fn affine_sums(body: &Body) -> HashMap<Val, AffineSum> {
    let mut of: HashMap<Val, AffineSum> = HashMap::new();
    for (axis, &p) in body.region.params.iter().enumerate() {
        of.insert(p, AffineSum { axes: vec![(axis, 1)], ..AffineSum::default() });
    }
    for (v, l) in body.consts.iter().filter(|(_, l)| l.ty == ScalarType::I64) {
        of.insert(*v, AffineSum { offset: i64::from_bits64(l.bits), ..AffineSum::default() });
    }
    for n in &body.region.nodes {
        let [v] = n.results[..] else { continue };
        if body.ty(v) != ScalarType::I64 {
            continue;
        }
        let constant = |v: &Val| of.get(v).filter(|s| s.axes.is_empty() && s.bases.is_empty()).map(|s| s.offset);
        let sum = match &n.op {
            Op::Prim(PrimOp::AddP, x) => of.get(&x[0]).zip(of.get(&x[1])).and_then(|(a, b)| a.add(b, 1)),
            Op::Prim(PrimOp::SubP, x) => of.get(&x[0]).zip(of.get(&x[1])).and_then(|(a, b)| a.add(b, -1)),
            Op::Prim(PrimOp::MulP, x) => match (constant(&x[0]), constant(&x[1])) {
                (_, Some(c)) => of.get(&x[0]).and_then(|a| AffineSum::default().add(a, c)),
                (Some(c), None) => of.get(&x[1]).and_then(|a| AffineSum::default().add(a, c)),
                (None, None) => None,
            },
            _ => None,
        };
        match sum {
            Some(sum) => {
                of.insert(v, sum);
            }
            None if body.uniform[v.index()] => {
                of.insert(v, AffineSum { bases: vec![(v, 1)], ..AffineSum::default() });
            }
            None => {}
        }
    }
    of
}

impl Emitter<'_> {
    /// The least and the greatest value of an affine sum; none if it is no sum, or part of it is not computed yet. Axes
    /// that are not bound yet have `ranges`: the first index and the one after the last.
    pub(crate) fn bounds_of_affine(
        &mut self,
        v: Val,
        ranges: &dyn Fn(&mut Self, usize) -> Option<[Operand; 2]>,
    ) -> Option<[Operand; 2]> {
        let sum = self.facts.affine_sums.get(&v).filter(|s| !s.axes.is_empty())?.clone();
        if !sum.bases.iter().all(|(v, _)| self.is_written(Some(*v))) {
            return None;
        }
        let mut ends = [sum.offset, sum.offset].map(Operand::int);
        let mut add = |e: &mut Self, factor: i64, values: [Operand; 2]| {
            let values = if factor < 0 { [values[1].clone(), values[0].clone()] } else { values };
            for (end, value) in ends.iter_mut().zip(values) {
                let term = put!(e.code.f, "mul i64 {value}, {factor}");
                *end = put!(e.code.f, "add i64 {end}, {term}");
            }
        };
        for (v, factor) in sum.bases {
            let value = self.scope.scalar(v);
            add(self, factor, [value.clone(), value]);
        }
        for (axis, factor) in sum.axes {
            match ranges(self, axis) {
                Some([first, end]) => {
                    let vast = put!(self.code.f, "icmp sgt i64 {end}, {EXTENT_LIMIT}");
                    self.code.f.bail_out_if(&vast);
                    let last = put!(self.code.f, "sub i64 {end}, 1");
                    add(self, factor, [first, last]);
                }
                None => {
                    let (Axis::Uniform(at) | Axis::Lanes(at)) = self.scope.axes[axis].clone();
                    add(self, factor, [at.clone(), at]);
                }
            }
        }
        Some(ends)
    }
}
