//! Arrays that are accumulated: functions of named indices that add to elements wherever they like.

use super::array::{Named, NamedArray};
use super::axis::{Axes, Indices};
use super::index::Place;
use super::scope;
use crate::api::types::shape::parts_of;
use crate::api::{Acc, Elt, Exp, ExpOrd, IntoAcc, IntoExp, Num, Shape, constant};
use crate::builder::{self, AccOp, AccRef, AccType, ExpRef, Frozen, lift};
use crate::data::EltType;
use crate::ir::{ArrayOp, Loc};
use std::marker::PhantomData;

/// What the closure of [`accumulate`] changes: an array with the axes `Ax`.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Bin, Sample);
/// fn count(out: &mut Out<Bin, i64>, bin: Ix<Bin>) {
///     out.add(bin, 1)
/// }
/// let xs: Named<Sample, i64> = Named::of(&Vector::from([0, 2, 2]));
/// let counts = accumulate(&Named::<Bin, i64>::of(fill(3, 0)), |s, out| count(out, Ix::of(xs.at(s))));
/// assert_eq!(Interpreter::new().run(counts.plain())?.to_vec(), [1, 0, 2]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Out<Ax, E> {
    changes: Vec<Change>,
    _array: PhantomData<fn() -> (Ax, E)>,
}

/// A change of one element for each index.
struct Change {
    combine: Frozen,
    /// Whether there is one; always, if there is no condition.
    condition: Option<ExpRef>,
    at: Vec<ExpRef>,
    value: ExpRef,
    loc: Loc,
}

macro_rules! changes {
    ($($op:ident $op_if:ident $Class:ident $init:literal $want:literal $what:literal |$new:ident, $old:ident| $combine:expr;)*) => { $(
        impl<Ax: Axes, E: $Class> Out<Ax, E> {
            #[doc = concat!("The element at an index becomes ", $what, ".")]
            ///
            /// ```
            /// use acc_core::prelude::*;
            /// axes!(Bin, Sample);
            /// let xs: Named<Sample, i64> = Named::of(&Vector::from([2, 7, 3]));
            #[doc = concat!("let bins: Named<Bin, i64> = Named::of(fill(2, ", $init, "));")]
            #[doc = concat!("let out = accumulate(&bins, |s, out| out.", stringify!($op), "(Ix::of(xs.at(s) % 2), xs.at(s)));")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(out.plain())?.to_vec(), ", $want, ");")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            pub fn $op(&mut self, at: Ax::Ix, value: impl IntoExp<E>) {
                self.change(None, at, value.into_exp(), |$new, $old| $combine);
            }

            #[doc = concat!("Where a condition holds, the element at an index becomes ", $what, "; elsewhere the index and the value are not evaluated.")]
            ///
            /// ```
            /// use acc_core::prelude::*;
            /// axes!(Bin, Sample);
            /// let xs: Named<Sample, i64> = Named::of(&Vector::from([2, 7, 3, -9]));
            #[doc = concat!("let bins: Named<Bin, i64> = Named::of(fill(2, ", $init, "));")]
            #[doc = concat!("let out = accumulate(&bins, |s, out| out.", stringify!($op_if), "(xs.at(s).gt(0), Ix::of(xs.at(s) % 2), xs.at(s)));")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(out.plain())?.to_vec(), ", $want, ");")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            pub fn $op_if(&mut self, condition: impl IntoExp<bool>, at: Ax::Ix, value: impl IntoExp<E>) {
                self.change(Some(condition.into_exp().r), at, value.into_exp(), |$new, $old| $combine);
            }
        }
    )* };
}
changes! {
    add add_if Num "0" "[2, 10]" "the sum of it and the value" |new, old| E::add(new, old);
    multiply multiply_if Num "1" "[2, 21]" "the product of it and the value" |new, old| E::mul(new, old);
    raise raise_if ExpOrd "0" "[2, 7]" "the greater of it and the value" |new, old| E::greater(new, old);
    lower lower_if ExpOrd "9" "[2, 3]" "the lesser of it and the value" |new, old| E::lesser(new, old);
    put put_if Elt "0" "[2, 3]" "the value, the last one where several indices meet" |new, _old| new;
}

impl<Ax: Axes, E: Elt> Out<Ax, E> {
    #[track_caller]
    fn change(
        &mut self,
        condition: Option<ExpRef>,
        at: Ax::Ix,
        value: Exp<E>,
        combine: impl FnOnce(Exp<E>, Exp<E>) -> Exp<E>,
    ) {
        let loc = Loc::caller();
        let combine =
            builder::lambda(vec![E::ty(), E::ty()], loc.clone(), |p| combine(Exp::raw(p[0]), Exp::raw(p[1])).r);
        let at = at.places().into_iter().map(|place| place.0.r).collect();
        self.changes.push(Change { combine, condition, at, value: value.r, loc });
    }
}

/// A copy of an array, changed for each index over some axes: `f` gets the index and what it may change. How long the axes
/// are say the arrays that it reads, and `into`. Changes that are written one after the other are made one after the other,
/// each for all indices; where elements meet, they are combined in the order of the indices, and sums of floats may
/// associate in another order.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Sample, Cluster, Feature);
/// let x: Named<(Sample, Feature), f32> = Named::of(&Matrix::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]));
/// let cluster: Vector<Index<Cluster>> = [0, 1, 0].map(Index::of).into_iter().collect();
/// let cluster: Named<Sample, _> = Named::of(&cluster);
/// let sums: Named<(Cluster, Feature), f32> = Named::of(fill((2, 2), 0.0));
/// let sums = accumulate(&sums, |(s, f), out| out.add((cluster.at(s), f), x.at((s, f))));
/// assert_eq!(Interpreter::new().run(sums.plain())?, Matrix::from([[6.0, 8.0], [3.0, 4.0]]));
/// # Ok::<(), acc_core::Error>(())
/// ```
#[track_caller]
pub fn accumulate<Ax: Axes, E: Elt, I: Indices>(
    into: impl IntoAcc<NamedArray<Ax, E>>,
    f: impl FnOnce(I, &mut Out<Ax, E>),
) -> Named<Ax, E> {
    let (loc, into) = (Loc::caller(), into.into_acc().node);
    let names = <I::Axes as Axes>::names();
    let rank = names.len();
    let _scope = scope::open(&loc);
    let into = scope::bind(&into, &Ax::names(), &loc);
    let mut made = Vec::new();
    // The closure's own frame goes with this function; what is frozen in it stays.
    let frozen = builder::lambda(vec![EltType::index(rank)], loc.clone(), |p| {
        let own: Vec<ExpRef> = parts_of(p[0], rank).into_iter().map(|i| i.r).collect();
        let indices: Vec<_> = names.iter().cloned().zip(own.iter().copied()).collect();
        scope::enter(&indices);
        let mut out = Out { changes: Vec::new(), _array: PhantomData };
        f(I::of_places(&mut own.iter().map(|r| Place::of(*r))), &mut out);
        let always = |change: &Change| match change.condition {
            Some(condition) => vec![condition],
            None => change.at.iter().copied().chain([change.value]).collect(),
        };
        let certain: Vec<ExpRef> = out.changes.iter().flat_map(always).collect();
        scope::resolve(&certain);
        made = out.changes.into_iter().map(|change| made_of::<Ax, E>(change, &own)).collect();
        builder::zero(&<()>::ty(), &loc)
    });
    let shape = match frozen {
        Ok(_) => scope::shape(names.iter(), &loc),
        Err(mistake) => Err(mistake),
    };
    let changed = made.into_iter().fold(into, |defaults, (value, target, combine, at)| {
        let xs = ArrayOp::Generate { shape: shape.clone(), f: value };
        let xs = AccRef::new(AccOp::Op(xs), AccType::array(rank, E::ty()), at.clone());
        let op = ArrayOp::Permute { combine, defaults, target, xs };
        AccRef::new(AccOp::Op(op), AccType::array(Ax::Shape::RANK, E::ty()), at)
    });
    Acc::raw(changed)
}

/// The functions of a change: its value, its target, and how they are combined.
fn made_of<Ax: Axes, E: Elt>(change: Change, own: &[ExpRef]) -> (Frozen, Frozen, Frozen, Loc) {
    let Change { combine, condition, at, value, loc } = change;
    let index = EltType::index(Ax::Shape::RANK);
    let target = EltType::tuple([u8::ty(), index.clone()]);
    let at = match at[..] {
        [one] => one,
        _ => builder::tuple(&at, index.clone(), &loc),
    };
    let some = builder::tuple(&[constant(1u8).r, at], target.clone(), &loc);
    let (to, value) = match condition {
        None => (some, value),
        Some(condition) => {
            let (none, nothing) = (builder::zero(&target, &loc), builder::zero(&E::ty(), &loc));
            let value = builder::cond(condition, value, nothing, E::ty(), &loc);
            (builder::cond(condition, some, none, target, &loc), value)
        }
    };
    (lift::lifted(own, value, &loc), lift::lifted(own, to, &loc), combine, loc)
}
