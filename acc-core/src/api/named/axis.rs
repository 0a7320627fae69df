//! Names of axes, and tuples of names.

use super::index::{Ix, Place};
use crate::api::{DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8, DIM9, Shape};
use std::any::TypeId;
use std::marker::PhantomData;

/// A type that names an axis, made by [`axes!`](crate::axes).
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Day);
/// fn first<A: Axis>(xs: &Named<A, f32>) -> Acc<Scalar<f32>> {
///     xs.plain().slice(0)
/// }
/// let xs: Named<Day, f32> = Named::of(&Vector::from([1.5, 2.5]));
/// assert_eq!(Interpreter::new().run(first(&xs))?.value(), 1.5);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the name of an axis",
    note = "`axes!(Batch, Feature);` makes names"
)]
pub trait Axis: 'static {
    /// The name, for messages.
    fn name() -> String;
}

/// Types that name axes: `axes!(Batch, Feature);`, or `axes!(pub Batch, Feature);` for other modules, too.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Batch, Feature);
/// let m = Named::<(Batch, Feature), i32>::of(&Matrix::from([[1, 2], [3, 4]]));
/// let sums: Named<Batch, i32> = each(|b| total(|f| m.at((b, f))));
/// assert_eq!(Interpreter::new().run(sums.plain())?.to_vec(), [3, 7]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[macro_export]
macro_rules! axes {
    ($visibility:vis $($Name:ident),+ $(,)?) => { $(
        #[doc = concat!("The axis `", stringify!($Name), "`.")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $visibility enum $Name {}
        impl $crate::api::Axis for $Name {
            fn name() -> ::std::string::String {
                ::std::string::String::from(stringify!($Name))
            }
        }
    )+ };
}

/// The axis of the pairs of indices over two axes, in row-major order: what [`flat`](crate::api::Acc::flat) makes of two.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// let m = Named::<(Row, Column), i32>::of(&Matrix::from([[1, 2], [3, 4]]));
/// let pixels: Named<Pair<Row, Column>, i32> = m.flat();
/// assert_eq!(Interpreter::new().run(pixels.plain())?.to_vec(), [1, 2, 3, 4]);
/// # Ok::<(), acc_core::Error>(())
/// ```
pub struct Pair<A, B>(PhantomData<fn() -> (A, B)>);

impl<A: Axis, B: Axis> Axis for Pair<A, B> {
    fn name() -> String {
        format!("({}, {})", A::name(), B::name())
    }
}

/// A name as a value.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    pub(super) id: TypeId,
    pub(super) text: String,
}

impl Name {
    fn of<A: Axis>() -> Name {
        Name { id: TypeId::of::<A>(), text: A::name() }
    }
}

/// The axes of an array: a name, or a tuple of up to nine, outermost first.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// fn rank<Ax: Axes>(_: &Named<Ax, i32>) -> usize {
///     Ax::Shape::RANK
/// }
/// let m = Named::<(Row, Column), i32>::of(fill((2, 3), 1));
/// assert_eq!(rank(&m), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not the axes of an array",
    note = "axes are a name made by `axes!`, or a tuple of up to nine names"
)]
pub trait Axes: 'static {
    /// The shape of arrays with these axes.
    type Shape: Shape;
    /// The index of an element: an [`Ix`] for each name.
    type Ix: Indices<Axes = Self>;
    #[doc(hidden)]
    fn names() -> Vec<Name>;
}

/// An index of an element of an array with named axes: an [`Ix`], or a tuple of these.
///
/// ```
/// use acc_core::prelude::*;
/// axes!(Row, Column);
/// fn diagonal<E: Elt>(m: &Named<(Row, Column), E>, i: Exp<i64>) -> E::Exp {
///     m.at((Ix::of(i), Ix::of(i)))
/// }
/// let m = Named::<(Row, Column), i32>::of(&Matrix::from([[1, 2], [3, 4]]));
/// assert_eq!(Interpreter::new().run(generate(2, |i| diagonal(&m, i)))?.to_vec(), [1, 4]);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index over named axes",
    note = "it is an `Ix`, as the closures of `each` and `total` get it, or a tuple of these"
)]
pub trait Indices: Copy {
    /// The axes.
    type Axes: Axes<Ix = Self>;
    #[doc(hidden)]
    fn of_places(places: &mut dyn Iterator<Item = Place>) -> Self;
    #[doc(hidden)]
    fn places(self) -> Vec<Place>;
}

impl<A: Axis> Axes for A {
    type Shape = DIM1;
    type Ix = Ix<A>;
    fn names() -> Vec<Name> {
        vec![Name::of::<A>()]
    }
}
impl<A: Axis> Indices for Ix<A> {
    type Axes = A;
    fn of_places(places: &mut dyn Iterator<Item = Place>) -> Self {
        Ix::at_place(places.next())
    }
    fn places(self) -> Vec<Place> {
        vec![self.place()]
    }
}

macro_rules! tuples {
    ($($Sh:ty: $($A:ident $i:tt)*;)*) => { $(
        impl<$($A: Axis),*> Axes for ($($A,)*) {
            type Shape = $Sh;
            type Ix = ($(Ix<$A>,)*);
            fn names() -> Vec<Name> {
                vec![$(Name::of::<$A>()),*]
            }
        }
        #[allow(clippy::unused_unit, reason = "of the empty tuple, too")]
        impl<$($A: Axis),*> Indices for ($(Ix<$A>,)*) {
            type Axes = ($($A,)*);
            fn of_places(_places: &mut dyn Iterator<Item = Place>) -> Self {
                ($(Ix::<$A>::at_place(_places.next()),)*)
            }
            fn places(self) -> Vec<Place> {
                vec![$(self.$i.place()),*]
            }
        }
    )* };
}
tuples! {
    DIM0: ;
    DIM1: A 0;
    DIM2: A 0 B 1;
    DIM3: A 0 B 1 C 2;
    DIM4: A 0 B 1 C 2 D 3;
    DIM5: A 0 B 1 C 2 D 3 E 4;
    DIM6: A 0 B 1 C 2 D 3 E 4 F 5;
    DIM7: A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    DIM8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
    DIM9: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8;
}
