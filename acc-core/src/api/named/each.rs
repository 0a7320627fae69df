//! Arrays from functions of named indices.

use super::array::Named;
use super::axis::{Axes, Indices};
use super::index::Place;
use super::scope;
use crate::api::types::acc::closed_ix;
use crate::api::types::shape::parts_of;
use crate::api::{Acc, Elt, IntoExp, IntoIx, Shape};
use crate::builder::{self, AccOp, AccRef, AccType, Building, ExpRef, Frozen, lift};
use crate::data::EltType;
use crate::ir::{ArrayOp, Loc};
use std::collections::HashSet;

/// An array of the axes that its type names, each element from its index. How long the axes are say the arrays that the
/// closure reads; two sizes of one name are a fault, and a name of which no array is read is an error.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Inner, Column);
/// let a: Named<(Row, Inner), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
/// let b: Named<(Inner, Column), i32> = Named::of(&Matrix::from([[0, 1], [1, 0]]));
/// let product: Named<(Row, Column), i32> = each(|(r, c)| total(|i| a.at((r, i)) * b.at((i, c))));
/// assert_eq!(Interpreter::new().run(product.plain())?, Matrix::from([[2, 1], [4, 3]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn each<Ax, I, E, R>(f: impl FnOnce(I) -> R) -> Named<Ax, E>
where
    Ax: Axes<Ix = I>,
    I: Indices<Axes = Ax>,
    E: Elt,
    R: IntoExp<E>,
{
    made::<Ax, E>(None, |places| f(I::of_places(places)).into_exp().r)
}

/// [`each`] of the axes with these extents, for axes that no array has.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Image, Row, Tap);
/// let images = use_(&Matrix::from([[1, 2, 3, 4], [5, 6, 7, 9]]));
/// let filter: Named<Tap, i32> = Named::of(&Vector::from([-1, 0, 1]));
/// let (n, h) = images.shape();
/// let slopes: Named<(Image, Row), i32> = each_of((n, h - 2), |(n, r)| {
///     total(|t: Ix<Tap>| images.index((n, r + t)) * filter.at(t))
/// });
/// assert_eq!(Interpreter::new().run(slopes.plain())?, Matrix::from([[2, 2], [2, 3]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn each_of<Ax, I, E, R>(extents: impl IntoIx<Ax::Shape>, f: impl FnOnce(I) -> R) -> Named<Ax, E>
where
    Ax: Axes<Ix = I>,
    I: Indices<Axes = Ax>,
    E: Elt,
    R: IntoExp<E>,
{
    let shape = closed_ix::<Ax::Shape>(&Loc::caller(), extents);
    made::<Ax, E>(Some(shape), |places| f(I::of_places(places)).into_exp().r)
}

/// Opens a scope of arrays with these axes, of given extents.
pub(super) fn bind_extents(shape: &Frozen, rank: usize, names: &[super::axis::Name], loc: &Loc) {
    // An array that is only measured.
    let unit = builder::lambda(vec![EltType::index(rank)], loc.clone(), |_| builder::zero(&<()>::ty(), loc));
    let op = AccOp::Op(ArrayOp::Generate { shape: shape.clone(), f: unit });
    scope::bind(&AccRef::new(op, AccType::array(rank, <()>::ty()), loc.clone()), names, loc);
}

#[track_caller]
fn made<Ax: Axes, E: Elt>(
    given: Option<Frozen>,
    f: impl FnOnce(&mut dyn Iterator<Item = Place>) -> ExpRef,
) -> Named<Ax, E> {
    let (loc, rank, names) = (Loc::caller(), Ax::Shape::RANK, Ax::names());
    let _scope = scope::open(&loc);
    if let Some(shape) = &given {
        bind_extents(shape, rank, &names, &loc);
    }
    let mut direct = None;
    let f = builder::lambda(vec![EltType::index(rank)], loc.clone(), |p| {
        let own: Vec<ExpRef> = parts_of(p[0], rank).into_iter().map(|i| i.r).collect();
        let indices: Vec<_> = names.iter().cloned().zip(own.iter().copied()).collect();
        scope::enter(&indices);
        let result = f(&mut own.iter().map(|r| Place::of(*r)));
        let arrays = scope::resolve(&[result]).into_iter().filter(|(_, _, at)| *at == own);
        direct = of_elements(result, &own, arrays.map(|(r, array, _)| (r, array)).collect(), &loc);
        result
    });
    match direct {
        Some(Direct::Itself(array)) => return Acc::raw(array),
        Some(Direct::Map(map)) if f.is_ok() => return Acc::new(AccOp::Op(map), loc),
        Some(Direct::Map(_)) | None => {}
    }
    let shape = given.unwrap_or_else(|| scope::shape(names.iter(), &loc));
    Acc::new(AccOp::Op(ArrayOp::Generate { shape, f }), loc)
}

/// An array whose elements are made of those of arrays at the same index.
enum Direct {
    Itself(AccRef),
    Map(ArrayOp<Building>),
}

/// The elements that are read of these arrays, each at the index of the result.
fn of_elements(result: ExpRef, own: &[ExpRef], arrays: Vec<(ExpRef, AccRef)>, loc: &Loc) -> Option<Direct> {
    if let Some((_, array)) = arrays.iter().find(|(element, _)| *element == result) {
        return Some(Direct::Itself(array.clone()));
    }
    let known = own.iter().copied().chain(arrays.iter().map(|(element, _)| *element)).collect();
    let used = lift::parts(result, &known, &HashSet::new()).indices;
    let arrays: Vec<_> = arrays.into_iter().filter(|(element, _)| used.contains(element)).collect();
    if arrays.is_empty() {
        return None;
    }
    let indexed = own.iter().any(|ix| used.contains(ix));
    let index = if indexed { own } else { &[] };
    let params: Vec<ExpRef> = index.iter().copied().chain(arrays.iter().map(|(element, _)| *element)).collect();
    let f = lift::lifted(&params, result, loc);
    Some(Direct::Map(ArrayOp::Map { f, xs: arrays.into_iter().map(|(_, array)| array).collect(), indexed }))
}
