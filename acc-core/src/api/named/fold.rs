//! Folds over named indices: sums, extremes, questions about all and any.

use super::axis::{Axes, Axis, Indices};
use super::index::{Index, Ix, Place};
use super::scope::{self, Fold, Operation};
use crate::api::arrays::reduce::extremes::earlier;
use crate::api::{Elt, Exp, ExpOrd, Extremes, IntoExp, Num, constant, lift};
use crate::builder::{self, ExpRef};
use crate::data::EltType;
use crate::ir::Loc;
use std::rc::Rc;

impl Operation {
    fn new<E: Elt>(neutral: Option<fn() -> Exp<E>>, combine: impl Fn(Exp<E>, Exp<E>) -> Exp<E> + 'static) -> Operation {
        Operation {
            neutral: neutral.map(|neutral| Rc::new(move || neutral().r) as Rc<dyn Fn() -> ExpRef>),
            combine: Rc::new(move |a, b| combine(Exp::raw(a), Exp::raw(b)).r),
        }
    }
}

/// The sum over all indices of one axis, or of a tuple of axes: 0 over none.
///
/// The terms are those of an array, one axis more for each index, which is folded: a product of matrices is recognised as
/// such, and what does not depend on an index of the closure around is computed once for all of its indices. Inside of a
/// branch, and where it depends on the state of a loop, a sum of what may fault is a loop.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
/// let of_columns: Named<Column, i32> = each(|c| total(|r| m.at((r, c))));
/// let all = unit(total(|(r, c)| m.at((r, c))));
/// let (of_columns, all) = Interpreter::new().run((of_columns.plain(), all))?;
/// assert_eq!((of_columns.to_vec(), all.value()), (vec![4, 6], 10));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn total<I: Indices, E: Num, R: IntoExp<E>>(f: impl FnOnce(I) -> R) -> Exp<E> {
    folded(&Operation::new::<E>(Some(|| constant(E::from_i64(0))), |a, b| E::add(a, b)), f)
}

/// The greatest value over all indices of one axis, or of a tuple of axes; NaN if there is one; over none the least value of
/// the type.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
/// let greatest: Named<Column, i32> = each(|c| most(|r| m.at((r, c))));
/// assert_eq!(Interpreter::new().run(greatest.plain())?.to_vec(), [3, 4]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn most<I: Indices, E: Extremes + Elt<Exp = Exp<E>>, R: IntoExp<E>>(f: impl FnOnce(I) -> R) -> Exp<E> {
    folded(&Operation::new::<E>(Some(|| constant(E::LEAST)), |a, b| E::greater(a, b)), f)
}

/// The least value over all indices of one axis, or of a tuple of axes; NaN if there is one; over none the greatest value of
/// the type.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
/// assert_eq!(Interpreter::new().run(unit(least(|(r, c)| m.at((r, c)))))?.value(), 1);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn least<I: Indices, E: Extremes + Elt<Exp = Exp<E>>, R: IntoExp<E>>(f: impl FnOnce(I) -> R) -> Exp<E> {
    folded(&Operation::new::<E>(Some(|| constant(E::GREATEST)), |a, b| E::lesser(a, b)), f)
}

/// Whether something holds of all indices of one axis, or of a tuple of axes.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
/// let large: Named<Row, bool> = each(|r| all(|c| m.at((r, c)).gt(2)));
/// assert_eq!(Interpreter::new().run(large.plain())?.to_vec(), [false, true]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn all<I: Indices, R: IntoExp<bool>>(f: impl FnOnce(I) -> R) -> Exp<bool> {
    folded(&Operation::new::<bool>(Some(|| constant(true)), |a, b| a & b), f)
}

/// Whether something holds of some index of one axis, or of a tuple of axes.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let m: Named<(Row, Column), i32> = Named::of(&Matrix::from([[1, 2], [3, 4]]));
/// let two: Named<Row, bool> = each(|r| any(|c| m.at((r, c)).eq(2)));
/// assert_eq!(Interpreter::new().run(two.plain())?.to_vec(), [true, false]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn any<I: Indices, R: IntoExp<bool>>(f: impl FnOnce(I) -> R) -> Exp<bool> {
    folded(&Operation::new::<bool>(Some(|| constant(false)), |a, b| a | b), f)
}

/// The least value over the indices of an axis, and the first index that has it; the first NaN if there is one. The axis
/// has an index: over none there is a fault, or, inside of a branch or a loop, an unspecified result.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Point, Centre);
/// let xs: Named<Point, f32> = Named::of(&Vector::from([0.5, 7.0]));
/// let centres: Named<Centre, f32> = Named::of(&Vector::from([8.0, 1.0]));
/// let nearest: Named<Point, Index<Centre>> = each(|p| least_at(|c| (xs.at(p) - centres.at(c)).abs()).1);
/// assert_eq!(Interpreter::new().run(nearest.plain())?.to_vec(), [1, 0].map(Index::of));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn least_at<A: Axis, E: ExpOrd, R: IntoExp<E>>(f: impl FnOnce(Ix<A>) -> R) -> (E::Exp, Ix<A>) {
    extreme_at(|b, a| b.lt(a), f)
}

/// The greatest value over the indices of an axis, and the first index that has it: see [`least_at`].
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Image, Class);
/// let scores: Named<(Image, Class), f32> = Named::of(&Matrix::from([[0.5, 0.7], [0.9, 0.2]]));
/// let guesses: Named<Image, Index<Class>> = each(|i| most_at(|c| scores.at((i, c))).1);
/// assert_eq!(Interpreter::new().run(guesses.plain())?.to_vec(), [1, 0].map(Index::of));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn most_at<A: Axis, E: ExpOrd, R: IntoExp<E>>(f: impl FnOnce(Ix<A>) -> R) -> (E::Exp, Ix<A>) {
    extreme_at(|b, a| b.gt(a), f)
}

#[track_caller]
fn extreme_at<A: Axis, E: ExpOrd, R: IntoExp<E>>(
    better: fn(Exp<E>, Exp<E>) -> Exp<bool>,
    f: impl FnOnce(Ix<A>) -> R,
) -> (E::Exp, Ix<A>) {
    let operation = Operation::new::<(E, i64)>(None, move |a, b| {
        lift(earlier(better, (a.proj(0), a.proj(1)), (b.proj(0), b.proj(1))))
    });
    let best: Exp<(E, i64)> = folded(&operation, |ix: Ix<A>| (f(ix).into_exp(), ix.position()));
    (best.proj::<E>(0).unlift(), best.proj::<Index<A>>(1).unlift())
}

/// The fold, in the scope of the closure around, or else in one of its own.
#[track_caller]
fn folded<I: Indices, E: Elt, R: IntoExp<E>>(operation: &Operation, f: impl FnOnce(I) -> R) -> Exp<E> {
    let loc = Loc::caller();
    let alone = (!scope::is_open()).then(|| scope::open(&loc));
    // Where scalar code is around, it may not need the result.
    let certain = !builder::in_scalar_code();
    let mut f = Some(f);
    let mut term = |places: &[ExpRef]| {
        let mut places = places.iter().map(|r| Place::of(*r));
        f.take().map(|f| f(I::of_places(&mut places)).into_exp().r)
    };
    let result = looped(&<I::Axes as Axes>::names(), operation, &E::ty(), &loc, &mut term);
    if alone.is_some() {
        scope::resolve(if certain { std::slice::from_ref(&result) } else { &[] });
    }
    Exp::raw(result)
}

/// A fold as loops within each other, one for each name, of which the scope takes note.
fn looped(
    names: &[super::axis::Name],
    operation: &Operation,
    ty: &EltType,
    loc: &Loc,
    term: &mut dyn FnMut(&[ExpRef]) -> Option<ExpRef>,
) -> ExpRef {
    let mut made = None;
    let mut innermost = |indices: &[ExpRef], so_far: ExpRef| {
        let over: Vec<_> = names.iter().cloned().zip(indices.iter().copied()).collect();
        scope::enter(&over);
        // The loops' closures run once.
        let term = term(indices).unwrap_or(so_far);
        scope::leave(over.len());
        made = Some((over, term));
        let both = (operation.combine)(so_far, term);
        if operation.neutral.is_some() {
            return both;
        }
        let first = indices.iter().map(|ix| Exp::<i64>::raw(*ix).eq(0)).reduce(|a, b| a & b);
        first.map_or(both, |first| builder::cond(first.r, term, both, ty.clone(), loc))
    };
    let init = operation.neutral.as_ref().map_or_else(|| builder::zero(ty, loc), |neutral| neutral());
    let result = nested(names, &mut Vec::new(), init, ty, loc, &mut innermost);
    if let Some((over, term)) = made {
        scope::add(Fold { result, term, ty: ty.clone(), over, operation: operation.clone(), loc: loc.clone() });
    }
    result
}

/// Counted loops over these axes, within each other, that pass a value on.
fn nested(
    names: &[super::axis::Name],
    indices: &mut Vec<ExpRef>,
    value: ExpRef,
    ty: &EltType,
    loc: &Loc,
    innermost: &mut dyn FnMut(&[ExpRef], ExpRef) -> ExpRef,
) -> ExpRef {
    let Some((name, inner)) = names.split_first() else { return innermost(indices, value) };
    let state = EltType::tuple([i64::ty(), ty.clone()]);
    let count = |r: ExpRef| Exp::<i64>::raw(builder::proj(r, 0, i64::ty(), loc));
    let step = builder::loop_body(state.clone(), loc, |p| {
        indices.push(count(p).r);
        let next = nested(inner, indices, builder::proj(p, 1, ty.clone(), loc), ty, loc, innermost);
        builder::tuple(&[(count(p) + 1).r, next], state.clone(), loc)
    });
    let test = builder::loop_body(state.clone(), loc, |p| count(p).lt(scope::size(name, loc)).r);
    let init = builder::tuple(&[lift(0i64).r, value], state.clone(), loc);
    builder::proj(builder::while_loop(init, test, step, state, loc), 1, ty.clone(), loc)
}
