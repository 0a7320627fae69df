//! What is known while a closure over named axes runs: how long axes are, which reads are in bounds, which folds there are.

use super::axis::Name;
use crate::api::{Elt, Exp};
use crate::builder::{self, AccOp, AccRef, ExpOp, ExpRef, Frozen, lift};
use crate::data::EltType;
use crate::error::BuildError;
use crate::ir::{ArrayOp, Loc};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// An operation of folds, on scalar expressions.
#[derive(Clone)]
pub(super) struct Operation {
    /// What a fold of nothing is, if it is something.
    pub(super) neutral: Option<Rc<dyn Fn() -> ExpRef>>,
    pub(super) combine: Rc<dyn Fn(ExpRef, ExpRef) -> ExpRef>,
}

/// A fold over named axes. It is built as a loop; where it can be, it becomes a fold of an array.
pub(super) struct Fold {
    /// The loop's result.
    pub(super) result: ExpRef,
    /// What is folded.
    pub(super) term: ExpRef,
    pub(super) ty: EltType,
    /// The indices that are folded over, outermost first.
    pub(super) over: Vec<(Name, ExpRef)>,
    pub(super) operation: Operation,
    pub(super) loc: Loc,
}

/// How long an axis is.
struct Size {
    name: Name,
    /// The axis of an array, and where that was read first.
    bound: Option<(AccRef, u32, Loc)>,
    /// Expressions that stand for the size until it is known.
    waiting: Vec<ExpRef>,
}

struct Scope {
    loc: Loc,
    /// The indices of the closure, and those of the folds around, outermost first.
    open: Vec<(Name, ExpRef)>,
    sizes: Vec<Size>,
    /// Arrays that were read, and what is read of them: the same, once their sizes are found right.
    checked: HashMap<AccRef, AccRef>,
    /// Expressions that are indices.
    indices: HashSet<ExpRef>,
    /// Reads at indices, which are in bounds.
    inside: HashSet<ExpRef>,
    /// Inner ones first, each with the indices around it.
    folds: Vec<(Fold, Vec<(Name, ExpRef)>)>,
}

thread_local! {
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

/// The innermost scope. Nothing is built while it is borrowed.
fn with<R>(f: impl FnOnce(&mut Scope) -> R) -> Option<R> {
    SCOPES.with(|scopes| scopes.borrow_mut().last_mut().map(f))
}

/// An open scope; it ends when this goes.
pub(super) struct Open(usize);

impl Drop for Open {
    fn drop(&mut self) {
        // Arrays go when nothing is borrowed. While the thread ends there is no scope left.
        let gone = SCOPES.try_with(|scopes| scopes.borrow_mut().split_off(self.0));
        drop(gone);
    }
}

/// Opens a scope for a closure.
pub(super) fn open(loc: &Loc) -> Open {
    SCOPES.with(|scopes| {
        let mut scopes = scopes.borrow_mut();
        scopes.push(Scope {
            loc: loc.clone(),
            open: Vec::new(),
            sizes: Vec::new(),
            checked: HashMap::new(),
            indices: HashSet::new(),
            inside: HashSet::new(),
            folds: Vec::new(),
        });
        Open(scopes.len() - 1)
    })
}

/// Whether a closure over named axes runs.
pub(super) fn is_open() -> bool {
    SCOPES.with(|scopes| !scopes.borrow().is_empty())
}

/// Indices are known from here on.
pub(super) fn enter(indices: &[(Name, ExpRef)]) {
    with(|scope| {
        scope.indices.extend(indices.iter().map(|(_, ix)| *ix));
        scope.open.extend_from_slice(indices);
    });
}

/// The innermost `count` indices are out of reach.
pub(super) fn leave(count: usize) {
    with(|scope| scope.open.truncate(scope.open.len().saturating_sub(count)));
}

/// Takes note of a fold that is built.
pub(super) fn add(fold: Fold) {
    with(|scope| {
        let around = scope.open.clone();
        scope.folds.push((fold, around));
    });
}

impl Scope {
    fn size(&mut self, name: &Name) -> &mut Size {
        let at = self.sizes.iter().position(|size| size.name == *name).unwrap_or_else(|| {
            self.sizes.push(Size { name: name.clone(), bound: None, waiting: Vec::new() });
            self.sizes.len() - 1
        });
        &mut self.sizes[at]
    }
}

fn extent(array: &AccRef, axis: u32, loc: &Loc) -> Exp<i64> {
    Exp::raw(builder::push(ExpOp::Extent(array.clone(), axis), i64::ty(), loc))
}

/// How long an axis is: an expression that is replaced when the first array with the axis is read.
pub(super) fn size(name: &Name, loc: &Loc) -> Exp<i64> {
    if let Some((array, axis, _)) = with(|scope| scope.size(name).bound.clone()).flatten() {
        return extent(&array, axis, loc);
    }
    let closure = with(|scope| scope.loc.clone()).unwrap_or_else(|| loc.clone());
    let unbound = BuildError::UnboundAxis { name: name.text.clone(), closure, used: loc.clone() };
    let waiting = builder::push(ExpOp::Poison(Arc::new(unbound)), i64::ty(), loc);
    with(|scope| scope.size(name).waiting.push(waiting));
    Exp::raw(waiting)
}

/// An array with these axes is used: it says how long axes are of which nothing else does, and yields the array to be read
/// in its place, which has the right size or is a fault.
pub(super) fn bind(array: &AccRef, names: &[Name], loc: &Loc) -> AccRef {
    if !is_open() {
        return array.clone();
    }
    if let Some(checked) = with(|scope| scope.checked.get(array).cloned()).flatten() {
        return checked;
    }
    let mut checked = array.clone();
    for (axis, name) in names.iter().enumerate() {
        let axis = axis as u32;
        match with(|scope| scope.size(name).bound.clone()).flatten() {
            Some((first, at, read)) => checked = same_size(&checked, (array, axis), (&first, at, &read), name, loc),
            None => {
                let waiting = with(|scope| {
                    let size = scope.size(name);
                    size.bound = Some((array.clone(), axis, loc.clone()));
                    std::mem::take(&mut size.waiting)
                });
                waiting.into_iter().flatten().for_each(|r| lift::replace_by_extent(r, array, axis));
            }
        }
    }
    with(|scope| scope.checked.insert(array.clone(), checked.clone()));
    checked
}

/// The array, if this axis of it is as long as that of the array which was read first.
fn same_size(
    xs: &AccRef,
    (own, axis): (&AccRef, u32),
    (first, at, read): (&AccRef, u32, &Loc),
    name: &Name,
    loc: &Loc,
) -> AccRef {
    if (own, axis) == (first, at) {
        return xs.clone();
    }
    let ok = builder::closed(loc.clone(), || {
        let (its, first) = (extent(own, axis, loc), extent(first, at, loc));
        let parts = [its.eq(first).r, its.r, first.r];
        builder::tuple(&parts, EltType::tuple([bool::ty(), i64::ty(), i64::ty()]), loc)
    });
    let place = read.to_string().replace(['{', '}'], "");
    let message = format!("axis {} is {{}} here, but {{}} in the array read at {place}", name.text);
    let op = ArrayOp::Check { ok, message: message.into(), xs: xs.clone() };
    AccRef::new(AccOp::Op(op), xs.ty.clone(), loc.clone())
}

/// The second of two arrays with the same axes, if it is as long along each as the first.
pub(super) fn of_one_size(first: &AccRef, second: &AccRef, names: &[Name], loc: &Loc) -> AccRef {
    (0u32..)
        .zip(names)
        .fold(second.clone(), |xs, (axis, name)| same_size(&xs, (second, axis), (first, axis, loc), name, loc))
}

/// Reads an element of an array with these axes.
pub(super) fn read(array: &AccRef, names: &[Name], index: &[ExpRef], ty: EltType, loc: &Loc) -> ExpRef {
    let array = bind(array, names, loc);
    let at = match index {
        [one] => *one,
        _ => builder::tuple(index, EltType::index(index.len()), loc),
    };
    let element = builder::element(&array, at, ty, loc);
    // An index of another name would not be of this type.
    with(|scope| {
        if index.iter().all(|ix| scope.indices.contains(ix)) {
            scope.inside.insert(element);
        }
    });
    element
}

/// Makes folds of arrays of the folds built so far, where it changes nothing but when they are computed. `roots` are what is
/// certainly needed of the closure. The results are the arrays, each with where its element is read.
pub(super) fn resolve(roots: &[ExpRef]) -> Vec<(ExpRef, AccRef, Vec<ExpRef>)> {
    let folds = with(|scope| std::mem::take(&mut scope.folds)).unwrap_or_default();
    let bodies = folds.iter().map(|(fold, _)| (fold.result, fold.term)).collect();
    let certain = lift::certain(roots, &bodies);
    let mut arrays = Vec::new();
    for (fold, around) in folds {
        let Some((indices, inside)) = with(|scope| (scope.indices.clone(), scope.inside.clone())) else { break };
        let parts = lift::parts(fold.term, &indices, &inside);
        let certain = certain.contains(&fold.result);
        if parts.foreign || !certain && (parts.partial || parts.computed) {
            continue;
        }
        // What may fault is computed for each element that needs it; other things once for all that they depend on.
        let around: Vec<_> = around.into_iter().filter(|(_, ix)| parts.partial || parts.indices.contains(ix)).collect();
        if around.len() + fold.over.len() > MAX_RANK {
            continue;
        }
        let array = folded(&fold, &around);
        let at: Vec<ExpRef> = around.iter().map(|(_, ix)| *ix).collect();
        lift::replace_by_element(fold.result, &array, &at);
        with(|scope| scope.inside.insert(fold.result));
        arrays.push((fold.result, array, at));
    }
    arrays
}

/// The highest rank of arrays.
const MAX_RANK: usize = 9;

/// The fold as one of an array over the indices around it and its own.
fn folded(fold: &Fold, around: &[(Name, ExpRef)]) -> AccRef {
    let (loc, ty) = (&fold.loc, &fold.ty);
    let all: Vec<_> = around.iter().chain(&fold.over).collect();
    let params: Vec<ExpRef> = all.iter().map(|(_, ix)| *ix).collect();
    let shape = shape(all.iter().map(|(name, _)| name), loc);
    let f = lift::lifted(&params, fold.term, loc);
    let array = |op, rank| AccRef::new(AccOp::Op(op), builder::AccType::array(rank, ty.clone()), loc.clone());
    let terms = array(ArrayOp::Generate { shape, f }, all.len());
    (0..fold.over.len()).fold(terms, |xs, done| {
        let combine = &fold.operation.combine;
        let f = builder::lambda(vec![ty.clone(), ty.clone()], loc.clone(), |p| combine(p[0], p[1]));
        let init = fold.operation.neutral.as_ref().map(|neutral| builder::closed(loc.clone(), || neutral()));
        array(ArrayOp::Fold { f, init, xs }, all.len() - done - 1)
    })
}

/// The extents of axes with these names.
pub(super) fn shape<'a>(names: impl Iterator<Item = &'a Name>, loc: &Loc) -> Frozen {
    builder::closed(loc.clone(), || {
        let sizes: Vec<_> = names.map(|name| size(name, loc).r).collect();
        match sizes[..] {
            [one] => one,
            _ => builder::tuple(&sizes, EltType::index(sizes.len()), loc),
        }
    })
}
