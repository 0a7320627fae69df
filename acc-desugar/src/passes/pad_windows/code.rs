//! The functions of a padded array, and of what reads it.

use super::reads::{Along, Choice, Padded};
use acc_core::ad::Code;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Fun, Loc, Node, PrimOp, Read, ScalarOp, Val};
use smallvec::smallvec;

/// The closed function that gives the extents of what such an operation computes.
pub(super) fn shape_of(op: &ArrayOp, rank: usize, loc: &Loc) -> Option<Fun> {
    let xs = match op {
        ArrayOp::Generate { shape, .. } => return Some(shape.clone()),
        ArrayOp::Map { xs, .. } => xs,
        _ => return None,
    };
    let mut c = Code::new([], loc);
    let (first, others) = xs.split_first()?;
    let least = |axis: usize| {
        let n = c.extent(*first, axis);
        others.iter().fold(n, |n, x| {
            let m = c.extent(*x, axis);
            c.two(PrimOp::MinP, n, m)
        })
    };
    let extents: Vec<Val> = (0..rank).map(least).collect();
    Some(c.done(extents))
}

/// The function from a point to the least and the greatest index of each axis of windows, if it reads nothing and has no fault.
pub(super) fn index_of(f: &Fun, rank: usize, of: &Padded, loc: &Loc) -> Option<Fun> {
    let mut c = Code::of_function(f, loc);
    c.set_params(f.body.params[..rank].to_vec());
    f.body.nodes.iter().for_each(|n| c.push(n.clone()));
    let index = c.done(of.windows().flat_map(|(_, _, ends)| ends));
    let is_divisor = |v: &Val| index.body.literal(*v).is_some_and(|l| l.bits as i64 > 0);
    let is_partial = |n: &Node| match &n.op {
        ScalarOp::Prim(p, args) if p.is_partial() => !args.get(1).is_some_and(is_divisor),
        op => op.is_partial(),
    };
    (!index.body.nodes.iter().any(is_partial)).then_some(index)
}

/// The least and the greatest index of each axis of windows, over points of these extents.
pub(super) fn ends_of(c: &mut Code, of: &Padded, extents: &[Val], index: &Fun) -> Vec<[Val; 2]> {
    let (zero, one) = (c.int(0), c.int(1));
    let last: Vec<Val> = extents.iter().map(|n| c.two(PrimOp::SubP, *n, one)).collect();
    let mut at = |steps: &[(usize, i64)], result: usize, sign: i64| {
        let is_last = |axis: usize| steps.iter().any(|(of, step)| *of == axis && step * sign > 0);
        let point: Vec<Val> = last.iter().enumerate().map(|(k, n)| if is_last(k) { *n } else { zero }).collect();
        c.inline(index, &point)[result]
    };
    of.windows().enumerate().map(|(k, (_, steps, _))| [at(steps, 2 * k, -1), at(steps, 2 * k + 1, 1)]).collect()
}

/// The extents of the padded array.
pub(super) fn extents_of(of: &Padded, shape: &Fun, index: &Fun, loc: &Loc) -> Fun {
    let mut c = Code::new([], loc);
    let mut extents: Vec<Val> = (0..of.along.len()).map(|axis| c.extent(of.reads[0].array, axis)).collect();
    let ends = c.inline(shape, &[]);
    let (zero, one) = (c.int(0), c.int(1));
    for ((axis, ..), [least, greatest]) in of.windows().zip(ends_of(&mut c, of, &ends, index)) {
        let way = c.two(PrimOp::SubP, greatest, least);
        let all = c.two(PrimOp::AddP, way, one);
        extents[axis] = c.two(PrimOp::MaxP, all, zero);
    }
    c.done(extents)
}

/// The elements of the padded array, for reads at points of this shape.
pub(super) fn elements_of(of: &Padded, shape: &Fun, index: &Fun, ty: ScalarType, loc: &Loc) -> Fun {
    let Choice { array, leaf, other, .. } = of.reads[0];
    let mut c = Code::of_index(of.along.len(), loc);
    let mut at = c.params();
    let mut inside = None;
    let extents = c.inline(shape, &[]);
    for ((axis, ..), [least, _]) in of.windows().zip(ends_of(&mut c, of, &extents, index)) {
        at[axis] = c.two(PrimOp::AddP, at[axis], least);
        let here = c.within_axis(&array, axis, at[axis]);
        inside = Some(inside.map_or(here, |inside| c.two(PrimOp::AndP, inside, here)));
    }
    let inside = inside.unwrap_or_else(|| c.truth(true));
    let read = |c: &mut Code| c.emit_all(ScalarOp::Index(Read::new(array, smallvec![leaf], at.clone())), &[ty]);
    let element = c.branch(inside, &[ty], read, |c| vec![c.literal(other)]);
    c.done(element)
}

/// The function of points, which reads the padded array.
pub(super) fn reading(of: &Padded, f: &Fun, shape: &Fun, padded: ArrayId, loc: &Loc) -> Fun {
    let mut c = Code::of_function(f, loc);
    let extents = c.inline(shape, &[]);
    for (k, node) in f.body.nodes.iter().enumerate() {
        let Some(read) = of.reads.iter().find(|r| r.node == k) else {
            c.push(node.clone());
            continue;
        };
        let mut index = read.index.clone();
        for (axis, along) in of.along.iter().enumerate() {
            let Along::Window { steps, least, .. } = along else { continue };
            let from_least = read.at[axis].base() - of.reads[*least].at[axis].base();
            index[axis] = steps.iter().fold(c.int(from_least), |sum, (axis, step)| {
                let mut along = f.body.params[*axis];
                if *step < 0 {
                    let (n, one) = (extents[*axis], c.int(1));
                    let last = c.two(PrimOp::SubP, n, one);
                    along = c.two(PrimOp::SubP, last, along);
                }
                let step = c.int(step.abs());
                let term = c.two(PrimOp::MulP, along, step);
                c.two(PrimOp::AddP, sum, term)
            });
        }
        let op = ScalarOp::Index(Read::new(padded, smallvec![0], index));
        c.push(Node { results: node.results.clone(), op, loc: node.loc.clone() });
    }
    c.done(f.body.results.iter().copied())
}
