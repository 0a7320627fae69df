//! Indices over named axes.

use super::axis::{Axis, Name};
use super::scope;
use crate::api::{Elt, Exp, ExpEq, ExpOrd, IntoExp, IxPart, NumScalar, TangentElt, lift, some};
use crate::builder::{ExpRef, cond};
use crate::data::{EltType, Lit};
use crate::ir::Loc;
use std::fmt;
use std::marker::PhantomData;
use std::ops;

/// An index over the axis `A`, in scalar code: what the closures of [`each`](crate::api::each),
/// [`total`](crate::api::total) and their like get. Arithmetic makes plain integers of it.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Day);
/// let xs = Named::<Day, i64>::of(&Vector::from([5, 6, 7]));
/// let weighted: Acc<Scalar<i64>> = unit(total(|d: Ix<Day>| xs.at(d) * (d + 1)));
/// assert_eq!(Interpreter::new().run(weighted)?.value(), 38);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Ix<A> {
    place: Place,
    _axis: PhantomData<fn() -> A>,
}

/// A position along an axis.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Place(pub(super) Exp<i64>);

impl<A> Clone for Ix<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A> Copy for Ix<A> {}
impl<A: Axis> fmt::Debug for Ix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an index over {}", A::name())
    }
}

impl<A: Axis> Ix<A> {
    #[track_caller]
    pub(super) fn at_place(place: Option<Place>) -> Self {
        // As many are given as there are axes.
        Ix { place: place.unwrap_or_else(|| Place(lift(0i64))), _axis: PhantomData }
    }
    pub(super) fn place(self) -> Place {
        self.place
    }

    /// The position, from 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = Named::<Day, i64>::of(&Vector::from([5, 6]));
    /// let even: Named<Day, i64> = each(|d: Ix<Day>| d.position().even().then_else(xs.at(d), 0));
    /// assert_eq!(Interpreter::new().run(even.plain())?.to_vec(), [5, 0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn position(self) -> Exp<i64> {
        self.place.0
    }

    /// The position as another type of numbers.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = Named::<Day, f64>::of(&Vector::from([5.0, 6.0]));
    /// let later: Named<Day, f64> = each(|d: Ix<Day>| xs.at(d) + d.to::<f64>());
    /// assert_eq!(Interpreter::new().run(later.plain())?.to_vec(), [5.0, 7.0]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn to<T: NumScalar>(self) -> Exp<T> {
        self.place.0.to()
    }

    /// How many indices the axis has, as the arrays say that are read in the closure.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = Named::<Day, i64>::of(&Vector::from([5, 6, 7]));
    /// let reversed: Named<Day, i64> = each(|d: Ix<Day>| xs.at(d.with(d.count() - 1 - d)));
    /// assert_eq!(Interpreter::new().run(reversed.plain())?.to_vec(), [7, 6, 5]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn count(self) -> Exp<i64> {
        scope::size(&name::<A>(), &Loc::caller())
    }

    /// An index over the same axis, of a position: see [`of`](Ix::of).
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = Named::<Day, i64>::of(&Vector::from([5, 6, 7]));
    /// let first: Named<Day, i64> = each(|d: Ix<Day>| xs.at(d) - xs.at(d.with(0i64)));
    /// assert_eq!(Interpreter::new().run(first.plain())?.to_vec(), [0, 1, 2]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn with(self, position: impl IntoExp<i64>) -> Self {
        Self::of(position)
    }

    /// An index of a position, which is looked at where the index is used: what is no position of the axis is a fault there.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Color);
    /// let names = Named::<Color, char>::of(&Vector::from(['r', 'g', 'b']));
    /// let some = generate(2, |i| names.at(Ix::of(i + 1)));
    /// assert_eq!(Interpreter::new().run(some)?.to_vec(), ['g', 'b']);
    /// assert!(Interpreter::new().run(unit(names.at(Ix::of(3)))).is_err());
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn of(position: impl IntoExp<i64>) -> Self {
        Self::at_place(Some(Place(position.into_exp())))
    }

    /// An index of a position, if it is one of the axis, as the arrays say that are read in the closure.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = Named::<Day, i64>::of(&Vector::from([5, 6, 7]));
    /// let before: Named<Day, i64> = each(|d: Ix<Day>| {
    ///     let last = Ix::<Day>::checked(d - 1);
    ///     xs.at(d) - last.match_(|last| match last {
    ///         Some(last) => xs.at(last),
    ///         None => lift(0),
    ///     })
    /// });
    /// assert_eq!(Interpreter::new().run(before.plain())?.to_vec(), [5, 1, 1]);
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    #[track_caller]
    pub fn checked(position: impl IntoExp<i64>) -> Exp<Option<Index<A>>> {
        let (position, loc) = (position.into_exp(), Loc::caller());
        let inside = position.ge(0) & position.lt(scope::size(&name::<A>(), &loc));
        let (some, none) = (some(Self::of(position)), crate::api::none::<Index<A>>());
        Exp::raw(cond(inside.r, some.r, none.r, Option::<Index<A>>::ty(), &loc))
    }
}

fn name<A: Axis>() -> Name {
    use super::axis::Axes;
    A::names().swap_remove(0)
}

macro_rules! comparisons {
    ($($op:ident $of:ident $what:literal $a:literal $b:literal;)*) => {
        impl<A: Axis> Ix<A> { $(
            #[doc = concat!("Whether this index ", $what, " another one over the same axis.")]
            ///
            /// ```
            /// use acc_core::prelude::*;
            /// axes!(Day);
            #[doc = concat!("let met = generate(2, |i| Ix::<Day>::of(i).", stringify!($op), "(Ix::of(1)));")]
            #[doc = concat!("assert_eq!(Interpreter::new().run(met)?.to_vec(), [", $a, ", ", $b, "]);")]
            /// # Ok::<(), acc_core::Error>(())
            /// ```
            #[track_caller]
            pub fn $op(self, other: Ix<A>) -> Exp<bool> {
                i64::$of(self.position(), other.position())
            }
        )* }
    };
}
comparisons! {
    eq equal "equals" "false" "true";
    ne different "differs from" "true" "false";
    lt less "comes before" "true" "false";
    le less_or_equal "comes before or equals" "true" "true";
    gt more "comes after" "false" "false";
    ge more_or_equal "comes after or equals" "false" "true";
}

macro_rules! arithmetic {
    ($($Op:ident $op:ident),*) => { $(
        impl<A: Axis, B: Axis> ops::$Op<Ix<B>> for Ix<A> {
            type Output = Exp<i64>;
            #[track_caller]
            fn $op(self, other: Ix<B>) -> Exp<i64> {
                ops::$Op::$op(self.position(), other.position())
            }
        }
        impl<A: Axis> ops::$Op<Exp<i64>> for Ix<A> {
            type Output = Exp<i64>;
            #[track_caller]
            fn $op(self, other: Exp<i64>) -> Exp<i64> {
                ops::$Op::$op(self.position(), other)
            }
        }
        impl<A: Axis> ops::$Op<i64> for Ix<A> {
            type Output = Exp<i64>;
            #[track_caller]
            fn $op(self, other: i64) -> Exp<i64> {
                ops::$Op::$op(self.position(), other)
            }
        }
        impl<A: Axis> ops::$Op<Ix<A>> for Exp<i64> {
            type Output = Exp<i64>;
            #[track_caller]
            fn $op(self, other: Ix<A>) -> Exp<i64> {
                ops::$Op::$op(self, other.position())
            }
        }
        impl<A: Axis> ops::$Op<Ix<A>> for i64 {
            type Output = Exp<i64>;
            #[track_caller]
            fn $op(self, other: Ix<A>) -> Exp<i64> {
                ops::$Op::$op(self, other.position())
            }
        }
    )* };
}
arithmetic!(Add add, Sub sub, Mul mul, Div div, Rem rem);

impl<A: Axis> IxPart for Ix<A> {
    fn part(self) -> Exp<i64> {
        self.position()
    }
}

/// An index over the axis `A` as an element of arrays: in scalar code it is an [`Ix`].
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Point, Cluster);
/// let nearest: Vector<Index<Cluster>> = [1, 0, 1].map(Index::of).into_iter().collect();
/// let nearest: Named<Point, _> = Named::of(&nearest);
/// let centres = Named::<Cluster, f32>::of(&Vector::from([0.5, 2.5]));
/// let of_points: Named<Point, f32> = each(|p| centres.at(nearest.at(p)));
/// assert_eq!(Interpreter::new().run(of_points.plain())?.to_vec(), [2.5, 0.5, 2.5]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Index<A> {
    position: i64,
    _axis: PhantomData<fn() -> A>,
}

impl<A> Index<A> {
    /// That of a position.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// assert_eq!(Index::<Day>::of(3).position(), 3);
    /// ```
    pub fn of(position: i64) -> Self {
        Index { position, _axis: PhantomData }
    }
    /// The position, from 0.
    ///
    /// ```
    /// use acc_core::prelude::*;
    /// axes!(Day);
    /// let xs = Named::<Day, i64>::of(&Vector::from([5, 3, 7]));
    /// let (least, at) = least_at(|d| xs.at(d));
    /// let at: Index<Day> = Interpreter::new().run(unit(at))?.value();
    /// assert_eq!(at.position(), 1);
    /// # let _ = least;
    /// # Ok::<(), acc_core::Error>(())
    /// ```
    pub fn position(self) -> i64 {
        self.position
    }
}
impl<A> Clone for Index<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A> Copy for Index<A> {}
impl<A> PartialEq for Index<A> {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}
impl<A> Eq for Index<A> {}
impl<A> fmt::Debug for Index<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)
    }
}

impl<A: Axis> Elt for Index<A> {
    type Exp = Ix<A>;
    fn ty() -> EltType {
        i64::ty()
    }
    fn unlift(e: Exp<Self>) -> Ix<A> {
        Ix::at_place(Some(Place(Exp::raw(e.r))))
    }
    fn write(&self, out: &mut dyn FnMut(Lit)) {
        self.position.write(out);
    }
    fn read(leaves: &mut dyn FnMut() -> Lit) -> Self {
        Index::of(i64::read(leaves))
    }
}
impl<A: Axis> TangentElt for Index<A> {
    type Tan = ();
}
#[diagnostic::do_not_recommend]
impl<A: Axis> IntoExp<Index<A>> for Ix<A> {
    fn into_exp(self) -> Exp<Index<A>> {
        Exp::raw(self.place.0.r)
    }
}

impl Place {
    pub(super) fn of(r: ExpRef) -> Place {
        Place(Exp::raw(r))
    }
}
