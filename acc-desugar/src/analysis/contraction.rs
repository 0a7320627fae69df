//! Contractions: sums along the innermost axis of products of two values that are replicated, transposed or both.
//!
//! `C[b.., m.., n..] = sum over k of A[..] * B[..]`, where the innermost axis of the index space, which is summed, indexes
//! both `A` and `B`. Matrix products, batched and transposed ones included, products of matrices with vectors, and dot
//! products are of this form however they are written. `product` is the rule, for whatever says where its values come
//! from (`Source`): the arrays of a program, followed through `map`, `zip_with`, `replicate`, axis permutations and reads
//! at an index ([`contraction`]), and the tensors of a graph, also those that are no arrays (`graph::rules::contract`).

use super::extents::Extents;
use crate::analysis::operators::reductions;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Axis, Block, Fun, PrimOp, Program, Read, ScalarOp, Stmt, Val};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::collections::HashMap;

/// For each dimension of a value the axis of an index space that indexes it; none if its extent is 1.
pub(crate) type Axes = SmallVec<[Option<usize>; 4]>;

/// A value over an index space.
pub(crate) struct View<V> {
    pub value: V,
    pub axes: Axes,
}

impl<V> View<V> {
    /// A value over an index space of its own rank.
    pub(crate) fn whole(value: V, rank: usize) -> View<V> {
        View { value, axes: (0..rank).map(Some).collect() }
    }

    /// The same over the space that indexes the dimensions of its own one by these axes.
    pub(crate) fn within(self, outer: &Axes) -> View<V> {
        let axes = self.axes.into_iter().map(|a| a.and_then(|a| outer.get(a).copied().flatten())).collect();
        View { value: self.value, axes }
    }
}

/// What the elements of a value are.
pub(crate) enum Origin<V> {
    /// Those of another value.
    Moved(View<V>),
    /// Those of another value, where they are in bounds.
    Read(View<V>),
    /// Products of those of two values.
    Product([View<V>; 2]),
}

/// Something that says where its values come from.
pub(crate) trait Source {
    /// A value over an index space of its own.
    type Value: Copy;

    /// What the elements of a value are, if they are something that contractions are made of. Views are over the value's
    /// own space.
    fn origin(&self, v: Self::Value) -> Option<Origin<Self::Value>>;
}

/// A product whose factors both vary along the innermost axis of an index space, and so what a sum along it contracts.
pub(crate) struct Product<V> {
    /// The values that the product was followed through, the one that is summed first.
    pub path: Vec<V>,
    /// Over the space of that.
    pub factors: [View<V>; 2],
}

/// The product that a value is, if a sum of it along the innermost of its axes is a contraction.
pub(crate) fn product<S: Source>(source: &S, summed: View<S::Value>) -> Option<Product<S::Value>> {
    let inner = summed.axes.last().copied()?;
    let (path, factors) = followed(source, summed, |v| match source.origin(v) {
        Some(Origin::Product(factors)) => Some(factors),
        // Where it is out of bounds there is no product.
        Some(Origin::Moved(_) | Origin::Read(_)) | None => None,
    })?;
    factors.iter().all(|x| x.axes.contains(&inner)).then_some(Product { path, factors })
}

/// The two values that `end` says one is made of whose elements a value has, over its space, and the values that it was
/// followed through.
pub(crate) fn followed<S: Source>(
    source: &S,
    from: View<S::Value>,
    end: impl Fn(S::Value) -> Option<[View<S::Value>; 2]>,
) -> Option<(Vec<S::Value>, [View<S::Value>; 2])> {
    let (mut at, mut path) = (from, Vec::new());
    while path.len() < MAX_FOLLOWED_VALUES {
        path.push(at.value);
        if let Some(parts) = end(at.value) {
            return Some((path, parts.map(|x| x.within(&at.axes))));
        }
        let Origin::Moved(x) = source.origin(at.value)? else { return None };
        at = x.within(&at.axes);
    }
    None
}

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
    program: &'a Program,
    of: HashMap<ArrayId, &'a Stmt>,
    extents: OnceCell<Extents>,
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
        Definitions { program: p, of, extents: OnceCell::new() }
    }

    /// The statement that defines an array; none if it is a parameter.
    pub fn get(&self, a: ArrayId) -> Option<&'a Stmt> {
        self.of.get(&a).copied()
    }

    /// The extents of all arrays.
    fn extents(&self) -> &Extents {
        self.extents.get_or_init(|| Extents::new(self.program))
    }
}

/// What a statement contracts, if it does.
///
/// ```
/// use acc_desugar::analysis::contraction::{Definitions, contraction};
/// let program = acc_core::text::parse("p.acc", "
///     program(a: [2]f32, x: [1]f32) {
///       rows: [2]f32 = replicate(x, axes: [fixed, all], extents: || extent(a, 0))
///       products: [2]f32 = zip_with(a, rows, f: |%p: f32, %q: f32| mul(%p, %q))
///       y: [1]f32 = fold(products, f: |%p: f32, %q: f32| add(%p, %q), init: || 0.0f32)
///       yield y
///     }")?;
/// let product = contraction(&Definitions::new(&program), &program.body.stmts[2]).unwrap();
/// assert_eq!(product.factors[0].axes, [0, 1]);
/// assert_eq!(product.factors[1].axes, [1]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn contraction(defs: &Definitions<'_>, s: &Stmt) -> Option<Contraction> {
    let ArrayOp::Fold { f, init: Some(_), xs } = &s.op else { return None };
    let (Some([PrimOp::AddP]), Some(ty)) = (reductions(f).as_deref(), f.result_types().next()) else { return None };
    let rank = defs.program.ty(*xs).rank;
    let found = product(defs, View::whole(Element::Leaf(*xs, 0), rank))?;
    let [Some(left), Some(right)] = found.factors.map(|x| factor(defs, x)) else { return None };
    let all = (0..rank).all(|k| left.axes.contains(&k) || right.axes.contains(&k));
    if !all || !ty.is_num() || !has_distinct(&left.axes) || !has_distinct(&right.axes) {
        return None;
    }
    let first_free = (0..rank - 1).find(|k| left.axes.contains(k) != right.axes.contains(k));
    let swap = first_free.is_some_and(|k| right.axes.contains(&k));
    let factors = if swap { [right, left] } else { [left, right] };
    Some(Contraction { space: *xs, rank, factors, ty })
}

/// How many values one is followed through.
const MAX_FOLLOWED_VALUES: usize = 32;

fn has_distinct(axes: &[usize]) -> bool {
    axes.iter().enumerate().all(|(k, a)| !axes[..k].contains(a))
}

/// The array whose leaf a factor is, as far back as there is one and reads of it are in bounds.
fn factor(defs: &Definitions<'_>, x: View<Element>) -> Option<Factor> {
    let mut at = x;
    for _ in 0..MAX_FOLLOWED_VALUES {
        match defs.origin(at.value) {
            Some(Origin::Moved(x)) => at = x.within(&at.axes),
            Some(Origin::Read(x)) => {
                at = x.within(&at.axes);
                break;
            }
            Some(Origin::Product(_)) | None => break,
        }
    }
    let Element::Leaf(array, leaf) = at.value else { return None };
    Some(Factor { array, leaf, axes: at.axes.into_iter().collect::<Option<_>>()? })
}

/// A scalar for each point of the index space of a statement.
#[derive(Clone, Copy)]
pub(crate) enum Element {
    /// A leaf of the elements of an array.
    Leaf(ArrayId, u32),
    /// A value of the function of the `map` or `generate` that defines an array.
    Inner(ArrayId, Val),
}

impl Source for Definitions<'_> {
    type Value = Element;

    fn origin(&self, x: Element) -> Option<Origin<Element>> {
        let (a, leaf) = match x {
            Element::Leaf(a, leaf) => (a, leaf),
            Element::Inner(a, v) => return self.inner(a, v),
        };
        match &self.get(a)?.op {
            ArrayOp::Map { f, .. } | ArrayOp::Generate { f, .. } => self.inner(a, *f.body.results.get(leaf as usize)?),
            ArrayOp::Replicate { axes, xs, .. } => {
                let kept = axes.iter().enumerate().filter(|(_, a)| **a == Axis::All).map(|(k, _)| Some(k));
                Some(Origin::Moved(View { value: Element::Leaf(*xs, leaf), axes: kept.collect() }))
            }
            ArrayOp::Backpermute { index, xs, .. } => self.read(a, *xs, leaf, index, &index.body.results),
            // Not an element of another array at an index that moves with this one's.
            _ => None,
        }
    }
}

impl Definitions<'_> {
    /// A value of the function of the `map` or `generate` that defines an array.
    fn inner(&self, a: ArrayId, v: Val) -> Option<Origin<Element>> {
        let (ArrayOp::Map { f, .. } | ArrayOp::Generate { f, .. }) = &self.get(a)?.op else { return None };
        let rank = self.program.ty(a).rank;
        if let Some(k) = f.body.params.iter().position(|p| *p == v) {
            return Some(Origin::Moved(View::whole(self.operand(a, k)?, rank)));
        }
        let node = f.body.definition(v)?;
        if let ScalarOp::Index(Read { array, leaves, index, .. }) = &node.op {
            let leaf = *leaves.get(node.results.iter().position(|r| *r == v)?)?;
            return self.read(a, *array, leaf, f, index);
        }
        let ScalarOp::Prim(PrimOp::MulP, factors) = &node.op else { return None };
        let [x, y] = factors[..] else { return None };
        Some(Origin::Product([x, y].map(|v| View::whole(Element::Inner(a, v), rank))))
    }

    /// A leaf of an array, read for the elements of another one at an index that a function of it has.
    fn read(&self, reader: ArrayId, array: ArrayId, leaf: u32, f: &Fun, index: &[Val]) -> Option<Origin<Element>> {
        let axis = |v: &Val| f.body.params.iter().position(|p| p == v);
        let axes = index.iter().map(axis).collect::<Option<SmallVec<[usize; 4]>>>()?;
        let (own, others) = (self.extents().of(reader), self.extents().of(array));
        let inside = axes.iter().zip(others).all(|(axis, extent)| own.get(*axis) == Some(extent));
        let view = View { value: Element::Leaf(array, leaf), axes: axes.into_iter().map(Some).collect() };
        Some(if inside { Origin::Moved(view) } else { Origin::Read(view) })
    }

    /// The leaf that a parameter of the function of the `map` that defines an array is.
    fn operand(&self, a: ArrayId, param: usize) -> Option<Element> {
        let ArrayOp::Map { xs, indexed, .. } = &self.get(a)?.op else { return None };
        let indices = if *indexed { self.program.ty(a).rank } else { 0 };
        let mut left = param.checked_sub(indices)?;
        for x in xs {
            let leaves = self.program.ty(*x).elt.leaves().len();
            if left < leaves {
                return Some(Element::Leaf(*x, left as u32));
            }
            left -= leaves;
        }
        None
    }
}
