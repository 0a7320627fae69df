//! Sums of products: matrix products of some kind.

use super::views::{moved_with, varying};
use super::windows::are_zero_outside;
use crate::analysis::contraction::{Product, View, followed, product};
use crate::graph::builder::Builder;
use crate::graph::{Op, ReduceOp, Value, Values};
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::PrimOp;

/// What sums of rows are made of.
enum Terms {
    Product(Product<Value>),
    /// Sums or differences of two products, and the views that they were followed through.
    Two(PrimOp, Vec<Value>, Box<[Product<Value>; 2]>),
}

/// A sum of products, or of sums or differences of two products.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Reduce(ReduceOp::Sum, rows) = *op else { return None };
    if let Some(summed) = summed_again(b, rows) {
        return Some(summed);
    }
    if let Some(guarded) = guarded(b, rows) {
        return Some(guarded);
    }
    Some(match terms(b, rows)? {
        Terms::Product(product) => contracted(b, &[], product),
        Terms::Two(p, path, products) => {
            let sums = (*products).map(|product| contracted(b, &path, product));
            b.prim(p, &sums)
        }
    })
}

/// The sum of a contraction along one more axis, along which both factors vary.
fn summed_again(b: &mut Builder, rows: Value) -> Option<Value> {
    let mut checked = Vec::new();
    let contraction = b.unchecked(rows, &mut checked);
    let Op::Contract { left, right, mask, axes } = *b.def(contraction)? else { return None };
    let axis = b.rank(left) as u32 - axes - 1;
    if [left, right].iter().any(|x| b.axes(*x) >> axis & 1 == 0) {
        return None;
    }
    let sums = b.contract(left, right, mask, axes + 1);
    Some(b.after_checks(sums, checked))
}

/// The sum of products that are 0 where a condition fails, if wherever it fails one of the factors is 0, too.
fn guarded(b: &mut Builder, rows: Value) -> Option<Value> {
    let mut checked = Vec::new();
    let (mut chosen, mut path) = (b.unchecked(rows, &mut checked), Vec::new());
    loop {
        chosen = match b.def(chosen) {
            // What has all extents is repeated along none.
            Some(Op::Broadcast(x, _)) if b.axes(*x) == b.axes(chosen) => *x,
            Some(Op::Transpose(x, _)) => {
                path.push(chosen);
                *x
            }
            _ => break,
        };
        chosen = b.unchecked(chosen, &mut checked);
    }
    let Op::Where(mask, then, zero) = *b.def(chosen)? else { return None };
    if !is_zero(b, zero) || b.rank(mask) != b.rank(rows) || !matches!(b.scalar(rows), ScalarType::F32 | ScalarType::F64)
    {
        return None;
    }
    let product = b.unchecked(then, &mut checked);
    let Op::Prim(PrimOp::MulP, args) = b.def(product)? else { return None };
    let [x, y] = args[..] else { return None };
    if [x, y].iter().any(|f| b.rank(*f) != b.rank(rows)) {
        return None;
    }
    if !are_zero_outside(b, &[x, y], mask) {
        return None;
    }
    let moved = path.iter().rev().fold(Values::from_slice(&[x, y, mask]), |xs, v| moved_with(b, *v, &xs));
    let [left, right, mask] = moved[..] else { return None };
    let inner = b.rank(rows) - 1;
    if [left, right].iter().any(|f| b.axes(*f) >> inner & 1 == 0) {
        return None;
    }
    // The sums wait for the checks, and not the factors: these need not be there in the end.
    let sums = b.contract(left, right, Some(mask), 1);
    Some(b.after_checks(sums, checked))
}

/// Whether a tensor is the literal zero, repeated or not.
pub(super) fn is_zero(b: &Builder, mut v: Value) -> bool {
    while let Some(Op::Broadcast(x, _) | Op::InsertAxes(x, _)) = b.def(v) {
        v = *x;
    }
    b.constant_of(v).is_some_and(|l| l == Lit::zero(l.ty))
}

/// A reduction of rows. One that will be a contraction does not count as having the whole extents, since its factors do not
/// have them: where they are needed the graph repeats it to them.
pub(crate) fn reduce(b: &mut Builder, with: ReduceOp, rows: Value) -> Value {
    let reduced = b.reduce(with, rows);
    if with == ReduceOp::Sum && terms(b, rows).is_some() {
        b.set_unsettled(reduced);
    }
    reduced
}

/// Whether a reduction computes no tensor of the extents of `rows`: it is of views, or will be a contraction of factors that
/// are. `is_view` is asked about tensors that vary along all axes of the rows.
pub(crate) fn is_light(b: &Builder, with: ReduceOp, rows: Value, is_view: &dyn Fn(Value) -> bool) -> bool {
    let rank = b.rank(rows);
    let light = |path: &[Value], product: &Product<Value>| {
        let repeated = path.iter().chain(&product.path).any(|v| matches!(b.def(*v), Some(Op::Broadcast(..))));
        product.factors.iter().all(|x| {
            let varies = repeated || x.axes.iter().flatten().count() == rank;
            !varies || !repeated && is_view(x.value)
        })
    };
    match (with == ReduceOp::Sum).then(|| terms(b, rows)).flatten() {
        Some(Terms::Product(product)) => light(&[], &product),
        Some(Terms::Two(_, path, products)) => products.iter().all(|product| light(&path, product)),
        None => b.axes(rows) != (1 << rank) - 1 || is_view(rows),
    }
}

fn terms(b: &Builder, rows: Value) -> Option<Terms> {
    if !matches!(b.scalar(rows), ScalarType::F32 | ScalarType::F64) {
        return None;
    }
    match product(b, View::whole(rows, b.rank(rows))) {
        Some(product) => Some(Terms::Product(product)),
        None => two_products(b, rows),
    }
}

/// The two products whose sums or differences rows are, as those of complex numbers are, if all factors vary along fewer
/// axes than the rows: each product is then a matrix product. Of other products differences are summed as they are, which
/// loses less where the products are nearly the same.
fn two_products(b: &Builder, rows: Value) -> Option<Terms> {
    let rank = b.rank(rows);
    let (path, terms) = followed(b, View::whole(rows, rank), |v| match b.def(v) {
        Some(Op::Prim(PrimOp::AddP | PrimOp::SubP, args)) => {
            let [x, y] = args[..] else { return None };
            let all = [x, y].iter().all(|x| b.rank(*x) == b.rank(v));
            all.then(|| [x, y].map(|x| varying(b, x)))
        }
        _ => None,
    })?;
    let Some(Op::Prim(p, _)) = b.def(*path.last()?) else { return None };
    let [Some(left), Some(right)] = terms.map(|x| product(b, x)) else { return None };
    let mut factors = left.factors.iter().chain(&right.factors);
    let fewer = factors.all(|x| x.axes.iter().flatten().count() < rank || repeats(b, x.value));
    fewer.then(|| Terms::Two(*p, path, Box::new([left, right])))
}

/// Whether a tensor is a part of one that repeats along an axis.
fn repeats(b: &Builder, mut v: Value) -> bool {
    loop {
        v = match b.def(v) {
            Some(Op::InsertAxes(..)) => return true,
            Some(Op::Broadcast(x, shape)) if b.axes(*x).count_ones() < shape.len() as u32 => return true,
            Some(Op::Broadcast(x, _) | Op::Transpose(x, _) | Op::Slice { x, .. }) => *x,
            Some(Op::Checked { .. }) => b.beneath_checks(v),
            _ => return false,
        };
    }
}

/// The sum of a product behind the views in `path`, the last one first: the factors are viewed in the same way instead.
fn contracted(b: &mut Builder, path: &[Value], product: Product<Value>) -> Value {
    let mut factors: Values = product.factors.into_iter().map(|x| x.value).collect();
    // The checks first: these stand where they are, before the views that are made now.
    for v in path.iter().chain(&product.path).rev() {
        factors = b.checked_with(*v, &factors);
    }
    for v in path.iter().chain(&product.path).rev() {
        factors = moved_with(b, *v, &factors);
    }
    b.contract(factors[0], factors[1], None, 1)
}
