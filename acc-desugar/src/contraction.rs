//! Contractions: sums along the innermost axis of products of two arrays that are replicated, transposed or both.
//!
//! `C[b.., m.., n..] = sum over k of A[..] * B[..]`, where every axis of the index space indexes `A`, `B` or both, each
//! index of an operand is an axis of its own, and the innermost axis, which is summed, indexes both. Matrix products,
//! batched and transposed ones included, products of matrices with vectors, and dot products are of this form however
//! they are written: [`contraction`] follows values through `map`, `zip_with`, `replicate`, axis permutations and reads
//! at an index.

use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Block, Fun, PrimOp, Program, ScalarOp, Stmt, Val};
use std::collections::HashMap;

/// A factor of a contraction: a leaf of an array, its dimensions indexed by distinct axes of the index space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factor {
    /// The array.
    pub array: ArrayId,
    /// The leaf of its elements.
    pub leaf: u32,
    /// For each of its dimensions the axis of the space that indexes it.
    pub axes: Vec<usize>,
}

/// A sum of products over the innermost axis of an index space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contraction {
    /// The array that is summed: it has the extents of the index space.
    pub space: ArrayId,
    /// The rank of the index space; its last axis is summed.
    pub rank: usize,
    /// The factors, the one that the first free axis indexes first.
    pub factors: [Factor; 2],
    /// The type of all numbers.
    pub ty: ScalarType,
}

impl Contraction {
    /// The axes that index the first factor but not the second, the second but not the first, and both, the summed one
    /// left out.
    pub fn roles(&self) -> [Vec<usize>; 3] {
        let [a, b] = &self.factors;
        let axes = |keep: &dyn Fn(bool, bool) -> bool| {
            (0..self.rank - 1).filter(|k| keep(a.axes.contains(k), b.axes.contains(k))).collect::<Vec<_>>()
        };
        [axes(&|a, b| a && !b), axes(&|a, b| !a && b), axes(&|a, b| a && b)]
    }
}

/// The statements of a program by the arrays they define.
pub struct Definitions<'a> {
    of: HashMap<ArrayId, &'a Stmt>,
}

impl<'a> Definitions<'a> {
    /// Of all blocks.
    pub fn new(p: &'a Program) -> Definitions<'a> {
        fn block<'a>(b: &'a Block, of: &mut HashMap<ArrayId, &'a Stmt>) {
            for s in &b.stmts {
                s.op.blocks().into_iter().for_each(|b| acc_core::grow_stack(|| block(b, of)));
                of.extend(s.results.iter().map(|r| (*r, s)));
            }
        }
        let mut of = HashMap::new();
        block(&p.body, &mut of);
        Definitions { of }
    }

    /// The statement that defines an array; none if it is a parameter.
    pub fn get(&self, a: ArrayId) -> Option<&'a Stmt> {
        self.of.get(&a).copied()
    }
}

/// What a statement contracts, if it does.
///
/// ```
/// use acc_desugar::contraction::{Definitions, contraction};
/// let program = acc_core::text::parse("p.acc", "
///     program(a: [2]f32, x: [1]f32) {
///       rows: [2]f32 = replicate(x, axes: [fixed, all], extents: || extent(a, 0))
///       products: [2]f32 = zip_with(a, rows, f: |%p: f32, %q: f32| mul(%p, %q))
///       y: [1]f32 = fold(products, f: |%p: f32, %q: f32| add(%p, %q), init: || 0.0f32)
///       yield y
///     }")?;
/// let product = contraction(&program, &Definitions::new(&program), &program.body.stmts[2]).unwrap();
/// assert_eq!(product.factors[0].axes, [0, 1]);
/// assert_eq!(product.factors[1].axes, [1]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn contraction(p: &Program, defs: &Definitions<'_>, s: &Stmt) -> Option<Contraction> {
    let ArrayOp::Fold { f, init: Some(_), xs } = &s.op else { return None };
    if !is_sum(f) {
        return None;
    }
    let rank = p.ty(*xs).rank;
    let index: Vec<usize> = (0..rank).collect();
    let (left, right) = product(p, defs, *xs, &index, DEPTH)?;
    let ty = f.ty(*f.body.results.first()?);
    let both = left.axes.contains(&(rank - 1)) && right.axes.contains(&(rank - 1));
    let all = (0..rank).all(|k| left.axes.contains(&k) || right.axes.contains(&k));
    if !both || !all || !ty.is_num() || !has_distinct(&left.axes) || !has_distinct(&right.axes) {
        return None;
    }
    let first_free = (0..rank - 1).find(|k| left.axes.contains(k) != right.axes.contains(k));
    let swap = first_free.is_some_and(|k| right.axes.contains(&k));
    let factors = if swap { [right, left] } else { [left, right] };
    Some(Contraction { space: *xs, rank, factors, ty })
}

/// Statements that a value is followed through at most.
const DEPTH: usize = 32;

fn has_distinct(axes: &[usize]) -> bool {
    axes.iter().enumerate().all(|(k, a)| !axes[..k].contains(a))
}

/// Whether a function adds its two parameters.
fn is_sum(f: &Fun) -> bool {
    let ([a, b], [node], [r]) = (&f.body.params[..], &f.body.nodes[..], &f.body.results[..]) else { return false };
    let adds = matches!(&node.op, ScalarOp::Prim(PrimOp::AddP, v) if v[..] == [*a, *b] || v[..] == [*b, *a]);
    adds && node.results[..] == [*r]
}

/// The factors of an element whose one leaf is a product.
fn product(p: &Program, defs: &Definitions<'_>, a: ArrayId, index: &[usize], depth: usize) -> Option<(Factor, Factor)> {
    let s = defs.of.get(&a).filter(|_| depth > 0)?;
    match &s.op {
        ArrayOp::Map { f, .. } | ArrayOp::Generate { f, .. } => {
            let v = value(f, *f.body.results.first()?);
            let Some(Value::Node(ScalarOp::Prim(PrimOp::MulP, v))) = v else {
                // A map that hands a leaf on.
                let Some(Value::Param(k)) = v else { return None };
                let (source, 0) = operand(p, s, k)? else { return None };
                return product(p, defs, source, index, depth - 1);
            };
            let factor = |v: &Val| read(p, defs, s, f, *v, index, depth);
            Some((factor(v.first()?)?, factor(v.get(1)?)?))
        }
        ArrayOp::Replicate { .. } | ArrayOp::Backpermute { .. } => {
            let (source, index) = moved(s, index)?;
            product(p, defs, source, &index, depth - 1)
        }
        _ => None,
    }
}

/// Where a value of a function comes from.
enum Value<'f> {
    Param(usize),
    Node(&'f ScalarOp),
}

fn value(f: &Fun, v: Val) -> Option<Value<'_>> {
    if let Some(k) = f.body.params.iter().position(|p| *p == v) {
        return Some(Value::Param(k));
    }
    f.body.nodes.iter().find(|n| n.results.contains(&v)).map(|n| Value::Node(&n.op))
}

/// The operand of a map that a parameter of its function is a leaf of, and which.
fn operand(p: &Program, s: &Stmt, param: usize) -> Option<(ArrayId, u32)> {
    let ArrayOp::Map { xs, indexed, .. } = &s.op else { return None };
    let rank = if *indexed { p.ty(*s.results.first()?).rank } else { 0 };
    let mut left = param.checked_sub(rank)?;
    for x in xs {
        let leaves = p.ty(*x).elt.leaves().len();
        if left < leaves {
            return Some((*x, left as u32));
        }
        left -= leaves;
    }
    None
}

/// A value of the function of a map or generate as a read of an array.
fn read(
    p: &Program,
    defs: &Definitions<'_>,
    s: &Stmt,
    f: &Fun,
    v: Val,
    index: &[usize],
    depth: usize,
) -> Option<Factor> {
    match value(f, v)? {
        Value::Param(k) => {
            let (array, leaf) = operand(p, s, k)?;
            Some(source(p, defs, Factor { array, leaf, axes: index.to_vec() }, depth - 1))
        }
        Value::Node(ScalarOp::Index { array, leaves, index: at }) => {
            let node = f.body.nodes.iter().find(|n| n.results.contains(&v))?;
            let leaf = *leaves.get(node.results.iter().position(|r| *r == v)?)?;
            let axis = |v: &Val| index.get(f.body.params.iter().position(|p| p == v)?).copied();
            let axes = at.iter().map(axis).collect::<Option<Vec<usize>>>()?;
            Some(source(p, defs, Factor { array: *array, leaf, axes }, depth - 1))
        }
        Value::Node(_) => None,
    }
}

/// The array that a factor is really read from: through replications, axis permutations and maps that hand leaves on.
fn source(p: &Program, defs: &Definitions<'_>, factor: Factor, depth: usize) -> Factor {
    let Some(s) = defs.of.get(&factor.array).filter(|_| depth > 0) else { return factor };
    let next = match &s.op {
        ArrayOp::Replicate { .. } | ArrayOp::Backpermute { .. } => {
            moved(s, &factor.axes).map(|(array, axes)| Factor { array, leaf: factor.leaf, axes })
        }
        ArrayOp::Map { f, .. } => match f.body.results.get(factor.leaf as usize).and_then(|v| value(f, *v)) {
            Some(Value::Param(k)) => {
                operand(p, s, k).map(|(array, leaf)| Factor { array, leaf, axes: factor.axes.clone() })
            }
            Some(Value::Node(_)) | None => None,
        },
        _ => None,
    };
    match next {
        Some(next) => source(p, defs, next, depth - 1),
        None => factor,
    }
}

/// The source of a replication or of an axis permutation, and the axes that index it.
fn moved(s: &Stmt, index: &[usize]) -> Option<(ArrayId, Vec<usize>)> {
    match &s.op {
        ArrayOp::Replicate { axes, xs, .. } => {
            let kept = axes.iter().zip(index).filter(|(a, _)| **a == Axis::All).map(|(_, k)| *k);
            Some((*xs, kept.collect()))
        }
        ArrayOp::Backpermute { index: f, xs, .. } => {
            let axis = |v: &Val| index.get(f.body.params.iter().position(|p| p == v)?).copied();
            Some((*xs, f.body.results.iter().map(axis).collect::<Option<Vec<usize>>>()?))
        }
        _ => None,
    }
}
